#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-generated.sh [--write] [BUILD] - checks that generated tables in
# documents, and the schema of JSON, match the code: tables are those between `<!-- NAME: ... -->` and `<!-- end
# -->` in doc/. With --write it regenerates them.

cd "$(dirname "$0")/.." || exit 2
write=
[ "$1" != --write ] || { write=1; shift; }
build=${1:-build}
status=0
fresh=$(mktemp) || exit 2
trap 'rm -f "$fresh" "$fresh.table"' EXIT

# table NAME - prints the table from the code
table()
{
	case $1 in
	sections) "$build/hotpath" help --sections-markdown ;;
	*) echo "check-generated: no table '$1'" >&2; return 1 ;;
	esac
}

for file in $(grep -rl --include=*.md "^<!-- [a-z]*: scripts/check-generated.sh" doc); do
	name=$(sed -n 's/^<!-- \([a-z]*\): scripts.check-generated.sh.*/\1/p' "$file")
	table "$name" >"$fresh.table" || exit 2
	sed -e "/^<!-- $name: /r $fresh.table" -e "/^<!-- $name: /,/^<!-- end -->/{ /^<!-- /!d; }" "$file" >"$fresh"
	cmp -s "$file" "$fresh" && continue
	if [ "$write" ]; then
		cat "$fresh" >"$file"
	else
		echo "$file: table '$name' differs from the code; scripts/check-generated.sh --write"
		diff -u "$file" "$fresh" | tail -n +3
		status=1
	fi
done

schema=doc/reference/answers.schema.json
"$build/hotpath-live" schema >"$fresh" || exit 2
if ! cmp -s "$schema" "$fresh"; then
	if [ "$write" ]; then
		cat "$fresh" >"$schema"
	else
		echo "$schema: differs from the code; scripts/check-generated.sh --write"
		status=1
	fi
fi
exit $status
