#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# compare.bats - `hotpath compare`: two versions of one program, whose difference is known.  Whether times are
# judged depends on how busy the machine is: their verdicts are tested on made-up runs, in
# report_compare_test.c.

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

# asked JQ [ARGUMENT]... - evaluates JQ on the comparison in JSON.
asked()
{
	local query=$1
	shift

	"$hotpath" compare -n 0 -f json "$@" | jq -c "$query"
}

# A row's figures, exact ones only.
COUNTS='select(.metric == "calls" or .metric == "blocks" or .metric == "bytes") | [.name, .metric, .verdict, .a, .b]'

@test "compare: one run a side compares counts exactly" {
	asked ".sections.functions_timing.rows[] | $COUNTS" "$T/before.hp.gz" "$T/after.hp.gz" >"$T/told"
	cat "$T/told"
	[ "$(cat "$T/told")" = "$(printf '%s\n' '["added","calls","new",0,1]' '["work","calls","more",20,21]')" ]
	# 20 calls of changed, 10 blocks each: of 1000 bytes, then of 2000.
	run asked ".sections.functions_alloc.rows[] | $COUNTS" "$T/before.hp.gz" "$T/after.hp.gz"
	echo "$output"
	[ "$output" = '["changed","bytes","more",200000,400000]' ]
	# The other way round.
	run asked '.sections.functions_timing.rows[] | select(.metric == "calls") | [.name, .verdict]' \
		"$T/after.hp.gz" "$T/before.hp.gz"
	echo "$output"
	[ "$output" = "$(printf '%s\n' '["added","gone"]' '["work","less"]')" ]
}

@test "compare: one run a side judges no times" {
	run asked '[.times_judged, ([.summary[], .sections[].rows[] | select(.unit == "ns" or .metric == null)
		| .verdict] | unique)]' "$T/before.hp.gz" "$T/after.hp.gz"
	echo "$output"
	[[ $output == '[false,['*'"not judged"'* ]]
	[[ $output != *more* ]]
	run -0 "$hotpath" compare "$T/before.hp.gz" "$T/after.hp.gz"
	[[ $output == *"Not judged: 1 run a side"* ]]
}

@test "compare: call paths are matched without their lines" {
	run asked ".sections.alloc_sites.rows[] | $COUNTS" "$T/before.hp.gz" "$T/after.hp.gz"
	echo "$output"
	[ "$output" = '["changed ← main","bytes","more",200000,400000]' ]
	run -0 "$hotpath" compare --all "$T/before.hp.gz" "$T/after.hp.gz"
	[[ $output == *"changed ← main"* ]]
}

@test "compare: reports in JSON give the same result as runs, and a run compared with itself has no change" {
	asked '.sections | del(.mutexes, .rw_locks, .channels, .leaks, .processes, .functions_cpu)' \
		"$T/before.hp.gz" "$T/after.hp.gz" >"$T/runs"
	asked '.sections | del(.mutexes, .rw_locks, .channels, .leaks, .processes, .functions_cpu)' \
		"$T/before.json" "$T/after.hp.gz" >"$T/mixed"
	cmp "$T/runs" "$T/mixed"
	run -0 "$hotpath" compare --fail-above 0 "$T/after.json" "$T/after.hp.gz"
	echo "$output"
	[[ $output == *"None of "*" counts differs."* ]]
}

@test "compare: alternating runs of commands with their own options" {
	run -0 "$hotpath" compare --runs=3 -f json -n 0 "$T/before" -n -- "$T/after" --runs=9
	echo "$output"
	[ "$(jq -c '[.a.runs, .b.runs, .times_judged]' <<<"$output")" = "[3,3,false]" ]
	[ "$(jq -c '[.a.name, .b.name]' <<<"$output")" = "[\"$T/before -n\",\"$T/after --runs=9\"]" ]
	[ "$(jq -c ".sections.functions_timing.rows[] | select(.name == \"work\") | $COUNTS" <<<"$output")" = \
		'["work","calls","more",20,21]' ]
	[ "$(jq -c '.sections.functions_timing.rows[] | select(.name == "work" and .metric == "calls") | .values_b' \
		<<<"$output")" = "[21,21,21]" ]
}

@test "compare: short runs get more samples a second, each pair at its own rate, unless one is set" {
	printf '#!/bin/sh\necho "$HOTPATH_CPU_HZ" >>"%s/rates"\n' "$T" >"$T/rate.sh"
	chmod +x "$T/rate.sh"
	run -0 "$hotpath" compare --runs=5 "$T/rate.sh" -- "$T/rate.sh"
	# First both without a pair, to read the files; then five pairs, around 8800.
	[ "$(head -2 "$T/rates" | tr '\n' ' ')" = "999 999 " ]
	[ "$(tail -n +3 "$T/rates" | uniq -c | awk '{print $1}' | tr '\n' ' ')" = "2 2 2 2 2 " ]
	tail -n +3 "$T/rates" | uniq | sort -n | awk '
		NR > 1 && $1 < last * 1.02 { exit bad = 1 }	# as different as this
		{ last = $1; if ($1 < 7040 || $1 > 10560) exit bad = 1; sum += $1 }
		END { exit bad || sum / NR < 8200 || sum / NR > 9400 }'
	rm "$T/rates"
	HOTPATH_CPU_HZ=77 run -0 "$hotpath" compare --runs=5 "$T/rate.sh" -- "$T/rate.sh"
	[ "$(uniq -c "$T/rates" | tr -s ' \n' ' ')" = " 12 77 " ]
}

@test "compare: comparing a binary with itself raises no alarm, on any machine" {
	run -0 "$hotpath" compare --runs=5 --fail-above 0 "$T/before" -- "$T/before"
	echo "$output"
	[[ $output == *"None of "*" counts differs."* ]]
	run -0 "$hotpath" compare --fail-above 0 "$T/before.hp.gz" "$T/before.json"
}

@test "compare: a command that cannot run gets one line, and nothing stays behind" {
	mkdir "$T/tmp"
	printf '#!/bin/sh\nkill -SEGV $$\n' >"$T/crashes"
	chmod +x "$T/crashes"
	for wrong in "$T/nothing" "$T/crashes"; do
		TMPDIR=$T/tmp run -1 "$hotpath" compare --runs=1 "$T/before" -- "$wrong"
		echo "$output"
		[ "${#lines[@]}" -eq 1 ]
		[[ $output == *"$wrong"* ]]
	done
	[ -z "$(ls -A "$T/tmp")" ]
}

@test "compare: lists of runs" {
	run asked '[.a.runs, .b.runs, .times_judged]' "$T/before.hp.gz" "$T/before.json" -- "$T/after.hp.gz"
	echo "$output"
	[ "$output" = "[2,1,false]" ]
	run -0 "$hotpath" compare "$T/before.hp.gz" "$T/before.hp.gz" -- "$T/after.hp.gz" -n 1
	[[ $output == *"before.hp.gz and 1 more, 2 runs"* ]]
}

@test "compare: exit status for a build server" {
	run -3 "$hotpath" compare --fail-above 50 "$T/before.hp.gz" "$T/after.hp.gz"
	echo "$output"
	[[ $output == *"grew by more than allowed"* ]]
	run -0 "$hotpath" compare --fail-above 50 "$T/after.hp.gz" "$T/before.hp.gz"
	# Small rows do not fail, and work is called 5 % more often.
	run -0 "$hotpath" compare --fail-above 50 --least 101 "$T/before.hp.gz" "$T/after.hp.gz"
	printf '%s\n' 'functions-timing added calls off' 'alloc * bytes +1M' >"$T/policy"
	run -0 "$hotpath" compare --policy "$T/policy" "$T/before.hp.gz" "$T/after.hp.gz"
	run -3 "$hotpath" compare --policy "$T/policy" --fail-above 4 "$T/before.hp.gz" "$T/after.hp.gz"
	echo 'alloc changed bytes 99%' >"$T/policy"
	run -3 "$hotpath" compare --policy "$T/policy" "$T/before.hp.gz" "$T/after.hp.gz"
}

@test "compare: Markdown" {
	run -0 "$hotpath" compare -f markdown "$T/before.hp.gz" "$T/after.hp.gz"
	echo "$output"
	[[ $output == *"| calls | work | 20 | 21 | +1 | +5.0% |  |"* ]]
	run -0 "$hotpath" compare -f markdown -o "$T/said.md" "$T/before.hp.gz" "$T/after.hp.gz"
	[ -z "$output" ]
	grep -q '^### hotpath compare' "$T/said.md"
}

@test "compare: a page with flame graphs of both" {
	"$hotpath" compare -f html -o "$T/said.html" "$T/before.hp.gz" "$T/after.hp.gz"
	grep -q '<td class="name">work</td><td>20</td><td>21</td>' "$T/said.html"
	sed -n 's/.*id="flame-data">//p' "$T/said.html" | sed 's/<\/script>.*//' >"$T/flame.json"
	# Each graph is drawn from both sides, and each box also shows the other side's value.
	jq -c '.graphs[] | select(.key == "time") | [.side, (.self | add), (.other | add)]' "$T/flame.json" >"$T/sums"
	cat "$T/sums"
	[ "$(wc -l <"$T/sums")" -eq 2 ]
	[ "$(jq -s -c '.[0][1] == .[1][2] and .[0][2] == .[1][1]' "$T/sums")" = true ]
	# A report in JSON has no call paths.
	"$hotpath" compare -f html "$T/before.json" "$T/after.json" >"$T/plain.html"
	grep -q '<td class="name">work</td>' "$T/plain.html"
	run ! grep flame-data "$T/plain.html"
}

@test "compare: rows omitted from a report are not called gone" {
	"$hotpath" report -f json -n 1 "$T/after.hp.gz" >"$T/short.json"
	asked '.sections.functions_timing.rows[] | select(.name == "changed" and .metric == "calls") | [.verdict, .b]' \
		"$T/before.hp.gz" "$T/short.json" >"$T/told"
	cat "$T/told"
	[ "$(cat "$T/told")" = '["unknown",null]' ]
}

@test "compare: sections that were not recorded are not called gone" {
	HOTPATH_REPORT=functions-timing HOTPATH_OUTPUT_FORMAT=none "$HP_RUN" "$T/before"
	mv "$XDG_STATE_HOME"/hotpath/*"-before-"*.hp.gz "$T/partly.hp.gz"
	run -0 "$hotpath" compare "$T/before.hp.gz" "$T/partly.hp.gz"
	echo "$output"
	[[ $output == *"functions-alloc: left out, not recorded in B."* ]]
	[[ $output != *gone* ]]
}

@test "compare: each error is one line" {
	echo '{"a": 1}' >"$T/no.json"
	for wrong in "$T/no.json" "$T/before.c" /nonexistent/run; do
		run -1 "$hotpath" compare "$T/before.hp.gz" "$wrong"
		echo "$output"
		[ "${#lines[@]}" -eq 1 ]
		[[ $output == *"${wrong##*/}"* ]]
	done
	for wrong in "--runs=0" "--limit=-1" "--format=xml" "--fail-above=-3" "--policy=/nonexistent"; do
		run -2 "$hotpath" compare "$wrong" a b
		echo "$output"
		[ "${#lines[@]}" -eq 1 ]
	done
	run -2 "$hotpath" compare a
	run -2 "$hotpath" compare a b c
	run -2 "$hotpath" compare a -- b -- c
	run -2 "$hotpath" compare --runs=2 a b
}
