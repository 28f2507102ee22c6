#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# virtual.bats - reported times are true, on a clock that the program makes itself: so the figures
# are strict, and the same on a slow machine, a busy one and any processor.

load helper

setup_file()
{
	gcc -D_GNU_SOURCE -O2 -g -finstrument-functions -rdynamic -o "$T/virtual" \
		"$ROOT/test/behave/programs/virtual.c" -lm
}

# The arm64 counter cannot be forbidden.
setup()
{
	[ "$(uname -m)" = x86_64 ] || skip "the library's clock can be replaced on x86-64 only"
}

# report TIMING SHAPE CALLS... - runs the program, with its report in $T/r.json.
report()
{
	local timing=$1
	shift

	HOTPATH_REPORT=functions-timing HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/r.json \
		HOTPATH_FUNCTIONS_LIMIT=0 HOTPATH_PERCENTILES=50,90,95,99,99.9 HOTPATH_TIMING=$timing \
		LD_PRELOAD=$HP_LIB "$T/virtual" "$@" >"$T/said"
}

judge()
{
	local command=$1
	shift

	"$ROOT/test/behave/judge.py" "$command" "$@" "$T/said" "$T/r.json"
}

# Without restartable sequences a counted call that was preempted goes unnoticed.
needs_switches()
{
	grep -q '^switches 1' "$T/said" || skip "no restartable sequences here"
}

@test "exact: every time is the true one" {
	report exact mix 300000
	judge known 0.5
}

@test "a recursive call is not added to the total again, whichever way it was reached" {
	report exact crossed 100000
	judge known 0.5
	report adaptive crossed 100000
	judge known 3
}

@test "exact: the percentiles of two durations" {
	report exact bimodal 300000
	judge ranks P50=1,P90=1,P95=1,P99=1,P99.9=1
}

@test "exact: the percentiles of a heavy tail" {
	report exact tail 300000
	judge ranks P50=1,P90=1,P95=1,P99=1,P99.9=1
}

# 10 000 sampled calls of the rarest estimated function, whose own times vary by a
# quarter.
@test "adaptive: totals are within 3 %" {
	report adaptive mix 1000000
	judge known 3
}

@test "adaptive: percentiles are those of the sampled calls" {
	report adaptive tail 1000000
	judge ranks P50=5,P90=8,P95=12
}

# All the early ones are timed, and fewer than that of the late ones.
@test "adaptive: a sampled call has the weight of those it represents" {
	report adaptive early 100000
	judge ranks P50=1,P90=1
}

@test "adaptive: the printed intervals hold the truth" {
	local i in all hits=0 rows=0

	for i in 1 2 3 4 5; do
		report adaptive mix 200000
		read -r in all < <(judge intervals)
		hits=$((hits + in)) rows=$((rows + all))
	done
	echo "$hits of $rows rows are inside their interval"
	[ $rows -ge 30 ]
	[ $((hits * 100)) -ge $((rows * 85)) ]
}

@test "adaptive: stalls in a child are neither lost nor multiplied" {
	for stalls in 10 500; do
		report adaptive stall 1000000 $stalls
		judge known 1
	done
}

@test "adaptive: stalls of a counted function itself are neither lost nor multiplied" {
	for stalls in 10 500; do
		report adaptive wait 1000000 $stalls
		needs_switches
		judge known 1
	done
}

# In every third run a stall is among the samples (one in 32), and would increase the total
# by half.
@test "adaptive: an unannounced stall is not multiplied" {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		report adaptive steal 100000 10
		judge known 18
	done
}

# As if it had been frozen, or stopped: the time is the program's, and not what hooks cost.
@test "time that passes while the library records a new path is the program's" {
	local timing noted told truth
	for timing in exact adaptive; do
		for noted in 1 2; do
			report $timing frozen 1 $noted
			truth=$(awk '$1 == "truth" { print $4 }' "$T/said")
			told=$(jq '.functions_timing.raw[] | select(.name == "frozen").inclusive_ns' "$T/r.json")
			near 2 "$told" "$truth"
		done
	done
}

# Rare slow calls, most of them untimed: in a function, in one of two, in the caller's own code.
@test "adaptive: intervals hold the time of slow calls that were not timed" {
	local runs=1 calls=2000000

	[ -z "$HP_TEST_FULL" ] || runs=300
	"$ROOT/test/behave/cover.py" "$T/virtual" "$HP_LIB" $runs $calls >"$T/covered" || status=1
	cat "$T/covered"
	[ -z "$HP_TEST_FULL" ] || sed 's/^/# /' "$T/covered" >&3
	[ "${status:-0}" = 0 ]
}
