#!/bin/sh
# SPDX-License-Identifier: MIT
#
# format.sh FILE... - puts sources into the form that check-format.sh wants:
# clang-format's, with the tab before a comment at the end of a line.

for file; do
	tmp=$(mktemp) || exit
	sed 's#\([^[:blank:]]\)[[:blank:]]\{1,\}\(/[/*]\)#\1 \2#' "$file" |
		clang-format --assume-filename="$file" |
		sed 's#\([^[:blank:]]\) \(/\*.*\*/\)$#\1\t\2#' >"$tmp" && cat "$tmp" >"$file"
	rm -f "$tmp"
done
