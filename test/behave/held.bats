#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# held.bats - what threads do while they hold a lock: waits and work, and neither before it.

load helper

setup_file()
{
	gcc -O2 -g -pthread -o "$BATS_FILE_TMPDIR/held" "$ROOT/test/behave/programs/held.c"
	gcc -O2 -g -pthread -o "$BATS_FILE_TMPDIR/digests" "$ROOT/test/behave/programs/digests.c"
}

# run_held NAME ARGUMENT...: the run's report is in NAME.json.
run_held()
{
	name=$1
	shift
	HOTPATH_REPORT=all "$HP_RUN" --output "$T/$name.json" --format json "$@" 2>/dev/null
	jq -e '.offcpu.raw | length > 0' "$T/$name.json" >/dev/null || skip "no waits are recorded here"
}

# share NAME FUNCTION: percent of its blocked time, except for table_lock itself, with that lock held.
share()
{
	jq -r --arg f "$2" '[.offcpu.raw[] | select(.name == $f and (.on != "lock" or $f != "visit"))] |
		([.[].held[]? | select(.lock == "table_lock") | .blocked_ns] | add // 0) * 100 /
		([.[].blocked_ns] | add // 1) | floor' "$T/$1.json"
}

@test "held: rows of waits name the lock that the threads held meanwhile" {
	cd "$T"
	for what in read write poll fsync connect lock; do
		run_held "in-$what" "$BATS_FILE_TMPDIR/held" $what
		run_held "out-$what" "$BATS_FILE_TMPDIR/held" $what outside
		echo "$what: $(share "in-$what" "by_$what") $(share "out-$what" "by_$what")"
		[ "$(share "in-$what" "by_$what")" -ge 80 ]
		[ "$(share "out-$what" "by_$what")" -le 5 ]
		jq -e --arg f "by_$what" '.offcpu.raw[] | select(.name == $f) | .held[]? |
			select(.lock == "table_lock") | .acquired_at | test("^visit")' "$T/in-$what.json"
	done
}

@test "held: a sleep with the lock held is a finding that was measured, one before it is none" {
	cd "$T"
	run_held in "$BATS_FILE_TMPDIR/held" sleep
	run_held out "$BATS_FILE_TMPDIR/held" sleep outside
	jq -r '.findings[] | .rule + " " + .confidence + " " + .text' in.json out.json
	jq -e '.findings[0] | .rule == "lock-across-io" and .confidence == "measured" and
		(.text | test("wait for a timer out of lock table_lock"))' in.json
	jq -e 'all(.findings[]; .rule != "lock-across-io")' out.json
}

@test "held: the work of a lock's holder is named, and work before it is not" {
	cd "$T"
	run_held in "$BATS_FILE_TMPDIR/digests" inside
	run_held out "$BATS_FILE_TMPDIR/digests" outside
	jq -r '.findings[] | .rule + " " + .text' in.json out.json
	jq -e 'all(.findings[]; .text | test("mostly in digest") | not)' out.json
	jq -e 'any(.findings[]; .rule == "lock-contention")' in.json ||
		skip "the threads hardly waited for each other"
	jq -e 'any(.findings[]; .text | test("insert .*holds it, mostly in digest, while"))' in.json
}
