#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# sane.bats - times of a real program under adaptive timing are possible ones.

load helper

# Every time is within the run, and none is negative.  The programs have one thread.
possible()
{
	python3 - "$1" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
section = report["functions_timing"]
elapsed = section["total_elapsed_ns"]
bad = 0
for row in section["raw"]:
    times = {key: value for key, value in row.items()
             if key.endswith("_ns") and isinstance(value, (int, float))}
    for key, value in times.items():
        if value < 0 or (value > elapsed and "high" not in key and "error" not in key):
            print(row["name"], key, value)
            bad += 1
print(len(section["raw"]), "functions,", bad, "impossible times")
sys.exit(bad != 0)
END
}

@test "times are possible: lua, adaptive and exact" {
	source=$(debian_source lua5.4 2>&1) || skip "$source"
	"$ROOT/scripts/build-program" lua5.4 "$source" "$T/lua" -O2 -g -finstrument-functions
	for timing in adaptive exact; do
		HOTPATH_TIMING=$timing HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/$timing.json \
			HOTPATH_FUNCTIONS_LIMIT=0 "$HP_RUN" "$T/lua" "$ROOT/test/examples/demo.lua" 3 >/dev/null
		possible "$T/$timing.json"
	done
}

@test "times are possible: C++" {
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/stl.json HOTPATH_FUNCTIONS_LIMIT=0 \
		"$HP_RUN" "$HP_BUILD/examples/stl" >/dev/null
	possible "$T/stl.json"
}

@test "options: an error names the command and its help" {
	for command in run report compare list flags doctor serve console mcp; do
		run ! --separate-stderr "$HP_BUILD/hotpath" $command --bogus
		[[ $stderr == "hotpath $command: unknown option --bogus;"*" see hotpath $command --help" ]]
	done
	run ! --separate-stderr "$HP_BUILD/hotpath" report -f
	[ "$stderr" = "hotpath report: missing value for -f; see hotpath report --help" ]
	run ! --separate-stderr "$HP_BUILD/hotpath-run" -Z
	[ "$stderr" = "hotpath run: unknown option -Z; see hotpath run --help" ]
}
