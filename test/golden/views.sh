# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# views.sh - the reports that are kept for each case, how each is made; shared
# by golden.bats and scripts/refresh-golden.sh.

golden_place=/tmp/hotpath-golden
golden_build=${HP_BUILD:-$PWD/build}
views="table-80.txt table-120.txt all.json"

unpack()
{
	name=$(basename "$1")
	mkdir -p "$golden_place" && [ -O "$golden_place" ] &&
		gzip -dc "$1/program.gz" >"$golden_place/$name.new" &&
		mv "$golden_place/$name.new" "$golden_place/$name" &&
		gzip -dc "$1/segment.gz" >"$golden_place/$name.segment"
}

# view VIEW CASE - on stdout.  The version is not what is tested.
view()
{
	name=$(basename "$2")
	case $1 in
	table-*.txt)
		columns=${1#table-}
		COLUMNS=${columns%.txt} HOTPATH_REPORT=all "$golden_build/hotpath" report \
			"$golden_place/$name.segment"
		;;
	all.json)
		sections=all
		[ "$name" != stl ] || sections=functions-timing,threads	# its tree is long
		HOTPATH_REPORT=$sections HOTPATH_OUTPUT_FORMAT=json-pretty HOTPATH_PERCENTILES=0,50,95,99.9,100 \
			HOTPATH_LIMIT=5 "$golden_build/hotpath" report "$golden_place/$name.segment" |
			sed '/"version":/d'
		;;
	esac
}
