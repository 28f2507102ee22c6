#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-format.sh - the sources are as .clang-format says, where clang-format is
# there to say so; and no line that is ours ends in blanks.

cd "$(dirname "$0")/.." || exit 2
status=0
tmp=$(mktemp) || exit 2
trap 'rm -f "$tmp"' EXIT
if git grep -n -I -E '[[:blank:]]+$' -- '*.[ch]' '*.cc' scripts test Makefile; then
	echo "check-format: lines that end in blanks"
	status=1
fi
# clang-format cannot keep the tab before a comment at the end of a line.
normal()
{
	sed 's#\([^[:blank:]]\)[[:blank:]]\{1,\}\(/[/*]\)#\1 \2#' "$1"
}

if command -v clang-format >/dev/null; then
	for file in $(git ls-files -- '*.[ch]' '*.cc'); do
		normal "$file" >"$tmp"
		clang-format --assume-filename="$file" <"$tmp" |
			diff -u --label "$file" --label "$file, formatted" "$tmp" - || status=1
	done
else
	echo "check-format: no clang-format here; not checked"
fi
exit $status
