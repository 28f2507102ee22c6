#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# locks_holds.bats - how long locks are held, where few holds are long and most are too short to be timed
# each: the interval contains the program's measurement, and the longest hold is exact or marked as a
# bound.

load helper

setup_file()
{
	gcc -D_GNU_SOURCE -g -O1 -o "$T/holds" "$ROOT/test/behave/programs/locks_holds.c" -lpthread
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_LIMIT=0
	rm -f "$T/report" "$T/said"
}

# inside SHAPE - nine runs in ten are inside, so one in three must be.
inside()
{
	LD_PRELOAD=$HP_LIB "$T/holds" "$1" >"$T/said" &&
		python3 "$ROOT/test/behave/locks.py" --inside "$T/report" "$T/said"
}

@test "locks: few long holds among many short ones are in the interval" {
	up_to_3 inside rare
	python3 - "$T/report" <<-'END'
	import json, sys
	row = json.load(open(sys.argv[1]))["mutexes"]["raw"][0]
	assert row["sampled_count"] < row["count"], "not all are timed"
	END
}

# Each process measures the clock again: two readings may be one tick apart by chance.
@test "locks: holds of a few clock readings are sampled in every process" {
	for _ in {1..5}; do
		LD_PRELOAD=$HP_LIB "$T/holds" alike >"$T/said"
		[ "$(lock_rows mutexes sampled_count)" -lt 100000 ]
	done
}

@test "locks: long holds that others wait for are in the interval" {
	up_to_3 inside waited
}

@test "locks: a writer's long holds among those of readers are in the interval" {
	up_to_3 inside writer
}

@test "locks: long holds of a recursive mutex are in the interval" {
	up_to_3 inside recursive
}

@test "locks: holds during reads from a pipe are in the interval" {
	up_to_3 inside reading
}

# The end of a process is noticed somewhat later.
kept()
{
	LD_PRELOAD=$HP_LIB "$T/holds" kept "$1" >"$T/said" || :
	report_comes "$T/report" || return
	python3 - "$T/report" "$T/said" <<-'END' || return
	import json, sys
	row = json.load(open(sys.argv[1]))["mutexes"]["raw"][0]
	count, least, most, longest = map(int, open(sys.argv[2]).read().split()[1:])
	print(row, least, most, longest)
	assert row["count"] == count
	assert row["acquire_total_low_ns"] <= most and row["acquire_total_high_ns"] >= least
	assert row["acquire_total_ns"] > longest / 2, "the last hold is in the total"
	assert row["acquire_max_high_ns"] is None or row["acquire_max_high_ns"] >= longest * 0.95
	END
	rm "$T/report"
}

@test "locks: a hold that has not ended is in the total" {
	up_to_3 kept 0
	up_to_3 kept 200000
}

@test "locks: HOTPATH_TIMING=exact times every hold" {
	HOTPATH_TIMING=exact up_to_3 inside rare
	[ "$(lock_rows mutexes sampled_count)" = "$(lock_rows mutexes count)" ]
}

# The program's own times, in order, are the percentiles.
few()
{
	LD_PRELOAD=$HP_LIB HOTPATH_PERCENTILES=66,80,95 "$T/few" >"$T/said" || return
	python3 - "$T/report" "$T/said" <<-'END'
	import json, math, sys
	rows = {row["label"]: row for row in json.load(open(sys.argv[1]))["mutexes"]["raw"]}
	for line in open(sys.argv[2]):
	    name, *times = line.split()
	    times = [int(time) for time in times]
	    count = len(times) // 3 * 2
	    said = {"acquire": sorted(times[:count]), "wait": sorted([0] * (count // 2) + times[count:])}
	    for kind, values in said.items():
	        for percent in 66, 80, 95:
	            told = rows[name][f"{kind}_p{percent}_ns"]
	            value = values[math.ceil(count * percent / 100) - 1]
	            print(name, kind, percent, told, value)
	            assert abs(told - value) <= value / 10 + 1e6
	END
}

@test "locks: one, two and three waits and holds have the percentiles that the program measures" {
	gcc -g -O1 -o "$T/few" "$ROOT/test/behave/programs/locks_few.c" -lpthread
	up_to_3 few
}
