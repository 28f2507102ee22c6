#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-format.sh - checks that sources follow .clang-format, if clang-format is
# installed, and that no line ends in blanks.

cd "$(dirname "$0")/.." || exit 2
status=0
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
if git grep -n -I -E '[[:blank:]]+$' -- '*.[ch]' '*.cc' scripts test Makefile; then
	echo "check-format: lines that end in blanks"
	status=1
fi
if ! command -v clang-format >/dev/null; then
	echo "check-format: no clang-format here; not checked"
	exit $status
fi
# All files at once: one process per file takes ten times as long.
mkdir "$tmp/is" "$tmp/formatted"
git ls-files -z --cached --others --exclude-standard -- '*.[ch]' '*.cc' .clang-format |
	xargs -0 cp --parents -t "$tmp/is"
# clang-format cannot keep the tab before a comment at the end of a line.
find "$tmp/is" -type f ! -name .clang-format -print0 |
	xargs -0 sed -i 's#\([^[:blank:]]\)[[:blank:]]\{1,\}\(/[/*]\)#\1 \2#'
cp -R "$tmp/is/." "$tmp/formatted"
(cd "$tmp/formatted" && find . -type f ! -name .clang-format -print0 | xargs -0 clang-format -i) || status=1
(cd "$tmp" && diff -ru is formatted) || status=1
exit $status
