#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# golden.bats - recorded segments are reported as they were when someone looked;
# scripts/refresh-golden.sh rewrites the expected output.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
HP_BUILD=${HP_BUILD:-$ROOT/build}
while IFS= read -r variable; do
	unset "$variable"
done < <(compgen -e HOTPATH_)
unset NO_COLOR CLICOLOR_FORCE COLUMNS DEBUGINFOD_URLS
. "$ROOT/test/golden/views.sh"

# same CASE - compares all its views. Only one run of the tests at a time, since another's programs
# may differ.
same()
{
	mkdir -p "$golden_place"
	exec 9<"$golden_place"
	flock 9
	unpack "$ROOT/test/golden/$1" || skip "$golden_place belongs to someone else"
	for one in $views; do
		view "$one" "$1" >"$BATS_TEST_TMPDIR/$one"
		diff -u --label "$one, expected" --label "$one, now" "$ROOT/test/golden/$1/$one" \
			"$BATS_TEST_TMPDIR/$one"
	done
}

@test "golden: basic" {
	same basic
}

@test "golden: threads" {
	same threads
}

@test "golden: C++ names" {
	same stl
}

@test "golden: samples, waits, and what functions are bound by" {
	same choose
}

@test "golden: all sections" {
	same surface
}

@test "golden: the numbers of each report can all be true at once" {
	python3 "$ROOT/test/behave/possible.py" "$ROOT"/test/golden/*/all.json
}

# A line of a table is at most as long as the terminal is wide.
@test "golden: no line is too wide" {
	for file in "$ROOT"/test/golden/*/table-*.txt "$ROOT"/test/golden/*/short-*.txt; do
		columns=${file##*-}
		LC_ALL=C awk -v most="${columns%.txt}" '{ line = $0
			gsub(/[\200-\277]/, "", line)
			if (length(line) > most) { print FILENAME ": " $0; bad = 1 } } END { exit bad }' "$file"
	done
}
