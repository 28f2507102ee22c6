#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# storm.bats - libraries that come and go all day, at each other's addresses.

load helper

setup_file()
{
	local letter
	compile storm_load -ldl -rdynamic <"$ROOT/test/behave/programs/storm_load.c"
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

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/report HOTPATH_REPORT=all HOTPATH_LIMIT=0
	cd "$BATS_TEST_TMPDIR"
}

# run_storm ARGS... - what the program said is in `said`, how full the segment is in $used.
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

@test "storm: plugins of several threads at each other's addresses: counts, bytes and locks are each one's own" {
	local rounds=300 few
	[ -z "$HP_TEST_FULL" ] || rounds=20000
	run_storm plugins "$T" 4 $((rounds / 3))
	few=$used
	run_storm plugins "$T" 4 $rounds
	grep shared said
	# What is loaded again at an address where it was before takes no room.
	echo "$few, then $used"
	[ $((used - few)) -lt 3000000 ]
}

@test "storm: one thread: what comes back takes no room" {
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
