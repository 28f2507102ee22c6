#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# accuracy.bats - reported times are true, on the real clock: against a build of the library
# that logs every duration (preload/call/truth.c), and against the same program with hooks that
# do nothing, those of the C library.  (virtual.bats has the same on a clock of the program's own.)
#
# Other users share the processors, and a neighbour's burst looks like an error: a measuring
# case fails only after three tries.  The bounds on
# estimates in `make test` catch a gross fault on any machine; the cases of
# HP_TEST_FULL check the figures of doc/internals/design.md, which need a quiet one.

load helper

setup_file()
{
	local source=$ROOT/test/behave/programs/accuracy.c

	make_as_built -C "$ROOT" B="$HP_BUILD" "$HP_BUILD/truth/libhotpath.so"
	gcc -O2 -g -no-pie -finstrument-functions -o "$T/accuracy" "$source" -lm
	gcc -O2 -g -no-pie -o "$T/plain" "$source" -lm
}

# report FILE TIMING LIBRARY SHAPE CALLS... - runs the program, with its report in FILE.
report()
{
	local file=$1 timing=$2 library=$3
	shift 3

	HOTPATH_REPORT=functions-timing HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$file \
		HOTPATH_FUNCTIONS_LIMIT=0 HOTPATH_LOGS_LIMIT=0 HOTPATH_PERCENTILES=50,90,95,99,99.9 \
		HOTPATH_TIMING=$timing HOTPATH_BIN=$HP_BUILD HOTPATH_TRUTH_PATH=$T/truth \
		LD_PRELOAD=$library "$T/accuracy" "$@" >"$T/said"
}

judge()
{
	"$ROOT/test/behave/judge.py" "$@"
}

# With HP_TEST_FULL the figures are always shown.
up_to_3()
{
	local try status=1

	for try in 1 2 3; do
		echo "try $try: $*" >"$T/judged"
		"$@" >>"$T/judged" && status=0
		cat "$T/judged"
		[ -z "$HP_TEST_FULL" ] || sed 's/^/# /' "$T/judged" >&3
		[ $status != 0 ] || return 0
	done
	return 1
}

# percentiles SHAPE - of the function with that name.
percentiles()
{
	report "$T/r.json" exact "$HP_BUILD/truth/libhotpath.so" "$1" 1000000 &&
		judge percentiles "$T/truth" "$T/r.json" "$T/accuracy" "$1"
}

scale()
{
	report "$T/r.json" adaptive "$HP_BUILD/truth/libhotpath.so" mix 2000000 &&
		judge scale "$T/truth" "$T/r.json" "$T/accuracy" "$T/said"
}

# intervals RUNS - at least 94 % of the rows of all runs lie inside.
intervals()
{
	local i in all hits=0 rows=0

	for ((i = 0; i < $1; i++)); do
		report "$T/r.json" adaptive "$HP_BUILD/truth/libhotpath.so" mix 1000000 || return
		read -r in all < <(judge inside "$T/truth" "$T/r.json" "$T/accuracy")
		hits=$((hits + in)) rows=$((rows + all))
	done
	echo "$hits of $rows rows inside their interval"
	[ "$rows" -gt 0 ] && [ $((hits * 100)) -ge $((rows * 94)) ]
}

stalls()
{
	report "$T/r.json" adaptive "$HP_LIB" stall "$1" && judge stall "$T/r.json" "$T/said" "$1"
}

waits()
{
	report "$T/r.json" adaptive "$HP_LIB" wait "$1" && judge wait "$T/r.json" "$T/said" "$1"
}

# cpu_ns PROGRAM CALLS STEPS - CPU time that its parent() takes without us.
cpu_ns()
{
	"$T/$1" parent "${@:2}" | sed -n 's/.*CPU \([0-9]*\) ns$/\1/p'
}

# steps_of NS - steps that a call of NS ns has to do on this machine.
steps_of()
{
	local i ns least=999999999999

	for i in 1 2 3; do
		ns=$(cpu_ns plain 200000 200)
		[ "$ns" -lt "$least" ] && least=$ns
	done
	echo $(($1 * 200 * 200000 / least))
}

# cost TIMING STEPS - one of five turns of the program without and with the library.
cost()
{
	local i ns least=999999999999 calls=1000000

	for i in 1 2 3 4 5; do
		ns=$(cpu_ns accuracy $calls "$2")
		[ "$ns" -lt "$least" ] && least=$ns
		report "$T/r.json" "$1" "$HP_LIB" parent $calls "$2" || return
		judge cost "$least" "$T/said" "$T/r.json" && return
	done
	return 1
}

# parent STEPS ALLOWED_PERCENT - five turns of the program without and with the library.
parent()
{
	local i ns least=999999999999 calls=10000000

	for i in 1 2 3 4 5; do
		ns=$(cpu_ns accuracy $calls "$1")
		[ "$ns" -lt "$least" ] && least=$ns
		report "$T/r$i.json" adaptive "$HP_LIB" parent $calls "$1" || return
	done
	judge parent "$least" "$2" "$T"/r[1-5].json
}

@test "a share above 100 % is explained above the table, and only then" {
	compile shares <<-'EOF'
		#include <pthread.h>
		#include <unistd.h>
		__attribute__((noinline)) void *sleeps(void *unused) { usleep(100000); return unused; }
		int main(int argc, char **argv)
		{
			pthread_t threads[4];
			(void)argv;
			for (int i = 0; i < argc; i++)
				pthread_create(&threads[i], NULL, sleeps, NULL);
			for (int i = 0; i < argc; i++)
				pthread_join(threads[i], NULL);
			return 0;
		}
	EOF
	HOTPATH_REPORT=functions-timing "$HP_RUN" "$T/shares" 2>"$T/one"
	HOTPATH_REPORT=functions-timing "$HP_RUN" "$T/shares" two three four 2>"$T/four"
	cat "$T/one" "$T/four"
	grep -Eq '^sleeps .* [34][0-9]{2}\.[0-9]+%' "$T/four"
	tr '\n' ' ' <"$T/four" | grep -q "wall time, as shares of main's: several threads make more than 100%"
	grep -Eq '^sleeps .* [0-9]{1,2}\.[0-9]+%' "$T/one"
	run ! grep -q 'several threads' "$T/one"
}

@test "percentiles: exact, of two durations, are those of the logged ones" {
	up_to_3 percentiles bimodal
}

@test "percentiles: exact, of a heavy tail, are those of the logged ones" {
	up_to_3 percentiles tail
}

@test "adaptive: totals of functions that matter are of the right order" {
	up_to_3 scale
}

# They are sampled after the first 64 calls, if they are known to be short.
empty_is_sampled()
{
	HOTPATH_REPORT=functions-timing HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/r.json \
		HOTPATH_FUNCTIONS_LIMIT=0 HOTPATH_LOGS_LIMIT=0 "$HP_RUN" "$T/cold"
	judge sampled "$T/r.json" 50
}

@test "adaptive: waiting for our own data is not the time of 8000 empty functions" {
	gcc -O2 -g -o "$T/cold" "$ROOT/test/behave/programs/cold.c"
	up_to_3 empty_is_sampled
}

@test "adaptive: 94 % of the printed intervals hold the truth" {
	only_in_full
	up_to_3 intervals 20
}

@test "adaptive: rare stalls in a child are neither lost nor multiplied" {
	local calls=1000000

	[ -z "$HP_TEST_FULL" ] || calls=10000000
	up_to_3 stalls $calls
}

@test "adaptive: rare stalls of a function itself are neither lost nor multiplied" {
	up_to_3 waits 1000000
}

@test "most of our cost is subtracted from a parent of short calls" {
	cost adaptive 0
	cost exact 0
	cost exact 20
}

@test "our cost does not show: a parent of calls of 100 ns" {
	only_in_full
	up_to_3 parent "$(steps_of 100)" 7
}

@test "our cost does not show: a parent of calls of 20 ns" {
	only_in_full
	up_to_3 parent "$(steps_of 20)" 30
}

# No budget is set; the deviation is printed.
@test "our cost does not show: a parent of calls of next to nothing" {
	only_in_full
	run parent 0 1000000
	echo "# ${lines[-1]}" >&3
	[ "$status" -eq 0 ]
}
