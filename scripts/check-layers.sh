#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-layers.sh [ROOT] - includes between the folders point one way, down the
# flow of the data, and are written from the root of the tree.
#
# The table says for each folder whose headers it may include besides its own.
# report/command/main.c holds the table of sub-commands and may name live/ too.

root=${1:-$(dirname "$0")/..}
cd "$root" || exit 2

allowed()
{
	case $1 in
	include) echo "" ;;
	util) echo "" ;;
	segment) echo "util" ;;
	unwind) echo "util" ;;
	preload) echo "include util segment unwind" ;;
	sampler) echo "util segment unwind" ;;
	report) echo "util segment" ;;
	live) echo "util segment report" ;;
	esac
}

find include util segment unwind preload sampler report live -name '*.[ch]' 2>/dev/null | sort |
	while read -r file; do
		folder=${file%%/*}
		may=" $folder $(allowed "$folder") "
		[ "$file" = report/command/main.c ] && may="$may live "
		sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1/p' "$file" |
			while read -r header; do
				case $header in
				*/*) ;;
				*) echo "$file: \"$header\" is not written from the root" && continue ;;
				esac
				case $may in
				*" ${header%%/*} "*) ;;
				*) echo "$file: may not include \"$header\" (allowed:$may)" ;;
				esac
			done
	done | {
		! grep .
	}
