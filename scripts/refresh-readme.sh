#!/bin/sh
# SPDX-License-Identifier: MIT
#
# refresh-readme.sh - puts the demo's current report into README.md, between the
# two marks.  Needs a build and the products of `make
# demo`.

cd "$(dirname "$0")/.." || exit 1
B=${B:-build}
report=$(mktemp) || exit 1
trap 'rm -f "$report"' EXIT
COLUMNS=80 HOTPATH_OUTPUT_PATH=$report HOTPATH_PERCENTILES=50,95 HOTPATH_LIMIT=8 \
	"$B/hotpath-run" "$B/demo/lua" test/examples/demo.lua 10 >/dev/null || exit
awk -v report="$report" '
	/^<!-- demo -->/ {
		print
		print ""
		while ((getline line < report) > 0)
			print line == "" ? "" : "    " line
		print ""
		skip = 1
	}
	/^<!-- end of demo -->/ { skip = 0 }
	!skip { print }
' README.md >README.md.new && mv README.md.new README.md
