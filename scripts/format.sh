#!/bin/sh
# SPDX-License-Identifier: MIT
#
# format.sh FILE... - formats sources for check-format.sh: with clang-format,
# but with a tab before trailing comments.

for file; do
	tmp=$(mktemp) || exit
	sed 's#\([^[:blank:]]\)[[:blank:]]\{1,\}\(/[/*]\)#\1 \2#' "$file" |
		clang-format --assume-filename="$file" |
		sed 's#\([^[:blank:]]\) \(/\*.*\*/\)$#\1\t\2#' >"$tmp" && cat "$tmp" >"$file"
	rm -f "$tmp"
done
