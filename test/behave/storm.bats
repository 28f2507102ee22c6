#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# storm.bats - objects that come and go all day: libraries at each other's addresses, threads, files, pipes,
# processes.

load helper

setup_file()
{
	local letter
	compile storm_load -ldl -rdynamic <"$ROOT/test/behave/programs/storm_load.c"
	compile endure_all -ldl <"$ROOT/test/behave/programs/endure_all.c"
	for letter in a b c d e f g h; do
		gcc -O1 -g -finstrument-functions -shared -fPIC -DLETTER=$letter \
			-DSIZE=$((($(printf %d "'$letter") - 96) * 100)) -o "$T/$letter.so" \
			"$ROOT/test/behave/programs/storm_plugin.c" -lpthread
	done
	for letter in A B C; do
		g++ -O1 -g -finstrument-functions -fno-gnu-unique -shared -fPIC -DLETTER=$letter \
			-o "$T/$letter.so" "$ROOT/test/behave/programs/storm_object.cc"
	done
	g++ -O1 -g -finstrument-functions -fno-gnu-unique -shared -fPIC -DLETTER=D "-DOTHER=\"$T/A.so\"" \
		-o "$T/D.so" "$ROOT/test/behave/programs/storm_object.cc"
}

# all_day ROUNDS [SECONDS] - creates and ends everything that a program may; the figures of
# growth.py are in `growth`.
all_day()
{
	local status=0 pid

	HOTPATH_SEGMENT_PATH=$PWD/segment LD_PRELOAD=$HP_LIB "$T/endure_all" "$T/a.so" "${2:-0}" "$1" >said 2>err 3>&- &
	pid=$!
	if [ -n "$2" ]; then
		eventually [ -s segment ]
		/usr/bin/python3 "$ROOT/test/behave/growth.py" segment $pid $(($2 / 20)) 19 >growth
	fi
	wait $pid || status=$?
	[ "$status" = 0 ]
	used=$(od -An -t u8 -j 64 -N 8 segment | tr -d ' ')
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/report HOTPATH_REPORT=all HOTPATH_LIMIT=0
	cd "$BATS_TEST_TMPDIR"
}

# run_storm ARGS... - the program's output is in `said`, the fill of the segment is in
# $used.
run_storm()
{
	rm -f report segment
	HOTPATH_SEGMENT_PATH=$PWD/segment LD_PRELOAD=$HP_LIB "$T/storm_load" "$@" >said 2>err
	report_comes report err
	cat err
	[ ! -s err ]
	used=$(od -An -t u8 -j 64 -N 8 segment | tr -d ' ')
	python3 "$ROOT/test/behave/storm.py" report said
}

@test "storm: plugins of several threads reuse addresses: each has its own counts, bytes and locks" {
	local rounds=300 few
	[ -z "$HP_TEST_FULL" ] || rounds=20000
	run_storm plugins "$T" 4 $((rounds / 3))
	few=$used
	run_storm plugins "$T" 4 $rounds
	grep shared said
	# A library loaded again at its old address takes no room.
	echo "$few, then $used"
	[ $((used - few)) -lt 3000000 ]
}

@test "storm: one thread: a library that returns takes no further room" {
	local few
	run_storm plugins "$T" 1 200
	few=$used
	run_storm plugins "$T" 1 2000
	echo "$few, then $used"
	[ $((used - few)) -lt 300000 ]
}

@test "storm: libraries with constructors, destructors, and objects of threads" {
	run_storm objects "$T" 4 $((${HP_TEST_FULL:+1} + 0 ? 300 : 15))
	grep shared said
	grep -E '^left_[A-C] [1-9]' said
}

@test "storm: closed by an atexit handler, in another namespace, in a destructor" {
	run_storm ends "$T"
	[ "$(grep -cE '^(outer_[ab]|(made|gone)_[AD]) [1-9]' said)" = 6 ]
}

# Up to 4096 thread records are kept per process: 64 bytes each.
@test "storm: short-lived threads, files, pipes, libraries and processes take no room" {
	local few
	export HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=none
	all_day 300
	few=$used
	rm segment
	all_day 1500
	echo "$few, then $used, of $(cat said) rounds"
	[ $((used - few)) -lt 500000 ]
}

# With all sections on; only the moments of samples and waits still grow, up to an eighth of the segment.
@test "storm: ten minutes of all that, and neither program nor helper grows" {
	only_in_full
	all_day 100 600
	cat growth
	python3 - growth <<-'EOF'
		import sys
		lines = [list(map(int, line.split())) for line in open(sys.argv[1])]
		early, late = lines[4], lines[-1]
		assert late[1] - early[1] < 100 << 20, "segment"
		for column, name, slack in ((2, "program", 1000), (3, "helper", 3000), (4, "descriptors", 60)):
		    assert late[column] - early[column] < slack, name
	EOF
	report_comes report err
	python3 - report "$(cat said)" <<-'EOF'
		import json, sys
		report, rounds = json.load(open(sys.argv[1])), int(sys.argv[2])
		calls = {row["name"]: row["calls"] for row in report["functions_timing"]["raw"]}
		wanted = {"round_of_all": rounds, "thread": 3 * rounds, "locks": 4 * rounds, "outer_a": rounds,
			  "through": 2 * rounds, "processes": (rounds + 9) // 10, "forked": (rounds + 9) // 10}
		assert {name: calls[name] for name in wanted} == wanted, calls
	EOF
}

@test "storm: a program that executes itself all day reuses its own record" {
	local many=500 few
	[ -z "$HP_TEST_FULL" ] || many=10000
	compile again <<-'EOT'
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		static __attribute__((noinline)) void image(void) { free(malloc(10)); }
		int main(int argc, char **argv)
		{
			char left[20];

			image();
			snprintf(left, sizeof(left), "%d", atoi(argv[argc - 1]) - 1);
			if (atoi(left) > 0)
				execl(argv[0], argv[0], left, (char *)0);
			return 3;
		}
	EOT
	# Moments of samples are not checked here.
	export HOTPATH_CPU=off
	for n in 50 $many; do
		rm -f report segment
		HOTPATH_SEGMENT_PATH=$PWD/segment LD_PRELOAD=$HP_LIB run "$T/again" $n
		[ "$status" = 3 ]
		report_comes report
		[ "$(counts_in report | xargs)" = "again::main $n image $n" ]
		few=${few:-$(od -An -t u8 -j 64 -N 8 segment)}
	done
	used=$(od -An -t u8 -j 64 -N 8 segment)
	echo "$few, then $used"
	# The program's place in memory is another one in each image: 64 bytes.
	[ $((used - few)) -lt $((100000 + 100 * many)) ]
	# The kernel counts on from image to image, so one thread's CPU time is at most the run's, but for its start.
	python3 -c '
import json
summary = json.load(open("report"))["summary"]
assert 0 < summary["cpu_ns"] <= 1.1 * summary["wall_ns"], summary'
}
