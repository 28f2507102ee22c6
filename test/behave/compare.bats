#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# compare.bats - `hotpath compare`: two versions of one program, whose difference is known.

load helper

hotpath=$HP_BUILD/hotpath

# once NAME [FLAG]... - compiles a version, runs it, and keeps the run as $T/NAME.hp.gz.
once()
{
	local name=$1
	shift

	compile "$name" "$@" <"$ROOT/test/behave/programs/compared.c"
	HOTPATH_OUTPUT_FORMAT=none "$HP_RUN" "$T/$name"
	mv "$XDG_STATE_HOME"/hotpath/*"-$name-"*.hp.gz "$T/$name.hp.gz"
}

setup_file()
{
	once before
	once after -DSLOWER
	"$hotpath" report -f json -n 0 "$T/before.hp.gz" >"$T/before.json"
	"$hotpath" report -f json -n 0 "$T/after.hp.gz" >"$T/after.json"
}

# asked JQ [ARGUMENT]... - of the comparison in JSON.
asked()
{
	local query=$1
	shift

	"$hotpath" compare -n 0 -f json "$@" | jq -c "$query"
}

@test "compare: what grew, what is new, and what stayed" {
	asked '.sections.functions_timing.rows[] | [.name, .verdict]' "$T/before.hp.gz" "$T/after.hp.gz" >"$T/told"
	cat "$T/told"
	grep -qx '\["main","more"\]' "$T/told"
	grep -qx '\["changed","more"\]' "$T/told"
	grep -qx '\["added","new"\]' "$T/told"
	run grep steady "$T/told"
	[ "$status" -eq 1 ]
	# The other way round.
	asked '.sections.functions_timing.rows[] | [.name, .verdict]' "$T/after.hp.gz" "$T/before.hp.gz" >"$T/told"
	grep -qx '\["changed","less"\]' "$T/told"
	grep -qx '\["added","gone"\]' "$T/told"
}

@test "compare: bytes are exact" {
	# 20 calls of changed, 10 blocks each: of 1000 bytes, then of 2000.
	run asked '.sections.functions_alloc.rows[] | select(.name == "changed") | [.a, .b, .change, .change_error, .calls_a, .calls_b]' \
		"$T/before.hp.gz" "$T/after.hp.gz"
	echo "$output"
	[ "$output" = "[200000,400000,200000,0,200,200]" ]
}

@test "compare: call paths are matched without their lines" {
	run asked '.sections.alloc_sites.rows | map([.name, .verdict, .change])' "$T/before.hp.gz" "$T/after.hp.gz"
	echo "$output"
	[ "$output" = '[["changed ← main","more",200000]]' ]
}

@test "compare: reports in JSON say the same as runs, and a run beside itself has no change" {
	asked '.sections' "$T/before.hp.gz" "$T/after.hp.gz" >"$T/runs"
	asked '.sections' "$T/before.json" "$T/after.hp.gz" >"$T/mixed"
	cmp "$T/runs" "$T/mixed"
	run "$hotpath" compare --fail-above 0 "$T/after.json" "$T/after.hp.gz"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output != *"changed beyond"* && $output == *"no change beyond the error"* ]]
}

@test "compare: exit status for a build server" {
	run "$hotpath" compare --fail-above 50 "$T/before.hp.gz" "$T/after.hp.gz"
	echo "$output"
	[ "$status" -eq 3 ]
	[[ $output == *"grew by more than 50 %"* ]]
	run "$hotpath" compare --fail-above 50 "$T/after.hp.gz" "$T/before.hp.gz"
	[ "$status" -eq 0 ]
	# Noise enough explains everything but bytes, and rows that are small do not fail.
	run "$hotpath" compare --noise 1000 --fail-above 50 --least 101 "$T/before.hp.gz" "$T/after.hp.gz"
	[ "$status" -eq 0 ]
}

@test "compare: what a report left out is not said to be gone" {
	"$hotpath" report -f json -n 1 "$T/after.hp.gz" >"$T/short.json"
	asked '.sections.functions_timing.rows[] | select(.name == "changed") | [.verdict, .b]' \
		"$T/before.hp.gz" "$T/short.json" >"$T/told"
	cat "$T/told"
	[ "$(cat "$T/told")" = '["unknown",null]' ]
}

@test "compare: what is wrong is said in one line" {
	echo '{"a": 1}' >"$T/no.json"
	for wrong in "$T/no.json" "$T/before.c" /nonexistent/run; do
		run "$hotpath" compare "$T/before.hp.gz" "$wrong"
		echo "$output"
		[ "$status" -eq 1 ]
		[ "${#lines[@]}" -eq 1 ]
		[[ $output == *"${wrong##*/}"* ]]
	done
	for wrong in "--noise=x" "--limit=-1" "--format=xml" "--fail-above=-3"; do
		run "$hotpath" compare "$wrong" a b
		echo "$output"
		[ "$status" -eq 2 ]
		[ "${#lines[@]}" -eq 1 ]
	done
	run "$hotpath" compare a
	[ "$status" -eq 2 ]
}
