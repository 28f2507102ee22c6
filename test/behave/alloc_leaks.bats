#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# alloc_leaks.bats - which of the blocks that are left nothing points to: memcheck's definitely and indirectly lost.

load helper

setup_file()
{
	g++ -g -O1 -std=c++17 -fno-builtin -w -o "$T/lost" "$ROOT/test/behave/programs/alloc_lost.cc" -lpthread
	g++ -g -O1 -std=c++17 -o "$T/stl" "$ROOT/test/behave/programs/alloc_stl.cc"
	gcc -D_GNU_SOURCE -g -O1 -o "$T/family" "$ROOT/test/behave/programs/alloc_family.c"
	gcc -D_GNU_SOURCE -g -O1 -o "$T/threads" "$ROOT/test/behave/programs/alloc_threads.c" -lpthread
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_LIMIT=0 HOTPATH_KEEP=0
	export HOTPATH_REPORT=leaks
	rm -f "$T/report"
}

# as_memcheck REGEX COMMAND...
as_memcheck()
{
	local functions=$1
	shift
	"$@" >"$T/bare"
	LD_PRELOAD=$HP_LIB "$@" >"$T/out"
	diff "$T/bare" "$T/out" || return
	valgrind -q --leak-check=full --show-leak-kinds=all --num-callers=200 --run-libc-freeres=no \
		--run-cxx-freeres=no --xml=yes --xml-file="$T/memcheck" "$@" >"$T/out" 2>&1
	python3 "$ROOT/test/behave/compare_leaks.py" "$T/memcheck" "$T/report" "$functions" || return
	[ "$(jq .leaks.leak_scans "$T/report")" -ge 1 ]
}

own='keep_.*|lose_.*|tree|in_thread|main'

@test "leaks: lost lists, trees and circles, ends of blocks; kept in data, on the stack, thread-local, by their middle" {
	# A stale pointer that either scan finds keeps a block by chance.
	up_to_3 as_memcheck "$own" "$T/lost"
	[ "$(jq .leaks.lost_count "$T/report")" -ge 80 ]
}

@test "leaks: in the arena of an ended thread" {
	as_memcheck "$own" "$T/lost" thread
	[ "$(jq .leaks.lost_count "$T/report")" -ge 200 ]
}

@test "leaks: of programs that were written for other tests" {
	as_memcheck 'main' "$T/stl"
	as_memcheck 'main' "$T/family" 20
	as_memcheck 'make|churn|main' "$T/threads" 3 200
}

@test "leaks: of other projects' programs" {
	as_memcheck 'none' perl -e 'my %h; $h{$_} = [1 .. 5] for 1 .. 500; my $x = {}; $x->{a} = $x; print 1'
	[ "$(jq .leaks.lost_count "$T/report")" -gt 10 ]
	as_memcheck 'none' ls -l /etc
	! command -v lua5.4 >/dev/null ||
		as_memcheck 'none' lua5.4 -e 'local t = {} for i = 1, 1000 do t[i] = {i} end os.exit(0, false)'
}

@test "leaks: not reported while another thread runs, with a note" {
	LD_PRELOAD=$HP_LIB "$T/lost" beside >"$T/out"
	[ "$(jq '.leaks.leak_scans, .leaks.raw[0].lost_count' "$T/report" | xargs)" = "null null" ]
	HOTPATH_OUTPUT_FORMAT=table LD_PRELOAD=$HP_LIB "$T/lost" beside >"$T/out"
	grep "reachability unknown: other threads were running at the end" "$T/report"
}

@test "leaks: no cost unless requested" {
	HOTPATH_REPORT=alloc-sites,leaks LD_PRELOAD=$HP_LIB "$T/lost" >"$T/out"
	[ "$(jq '.leaks.leak_scans' "$T/report")" = 1 ]
	HOTPATH_REPORT=all LD_PRELOAD=$HP_LIB "$T/lost" >"$T/out"
	[ "$(jq '.leaks.leak_scans' "$T/report")" = null ]
	[ "$(jq '.leaks.live_count' "$T/report")" -gt 200 ]
}
