#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# alloc_calls.bats - allocations by calls of instrumented functions.

load helper

setup_file()
{
	gcc -D_GNU_SOURCE -g -O1 -finstrument-functions -o "$T/calls" "$ROOT/test/behave/programs/alloc_calls.c" -lpthread
	gcc -D_GNU_SOURCE -g -O1 -o "$T/plain" "$ROOT/test/behave/programs/alloc_calls.c" -lpthread
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_LIMIT=0 HOTPATH_KEEP=0
	export HOTPATH_PERCENTILES=0,50,100 HOTPATH_REPORT=functions-alloc
	rm -f "$T/report"
}

# rows KEY... - "NAME VALUE ..." of each function, sorted.
rows()
{
	python3 -c 'import json, sys
for row in json.load(open(sys.argv[1]))["functions_alloc"]["raw"]:
    print(row["name"].split("::")[-1], *[row.get(key) for key in sys.argv[2:]])' "$T/report" "$@" | sort
}

@test "calls: own blocks and bytes, with callees, and percentiles of each function" {
	LD_PRELOAD=$HP_LIB "$T/calls"
	# Functions that never allocate have no row.  leaf: sizes 1..1000 and their doubles.
	[ "$(rows calls count total_bytes inclusive_count inclusive_bytes p0 p50 p100)" = \
"grows 1 2 4000 2 4000 4000 4000 4000
leaf 2000 2000 1501500 2000 1501500 1 $(rows p50 | sed -n 's/leaf //p') 2000
main 1 1 1000 4014 1807100 1000 1000 1000
middle 1000 2000 300000 4000 1801500 300 300 300
nested 10 10 100 10 100 10 10 10
shrinks 1 1 500 1 500 500 500 500" ]
	# The median of 1..1000 and 2, 4, ..2000 is 668.
	p50=$(rows p50 | sed -n 's/leaf //p')
	[ "$p50" -ge 662 ]
	[ "$p50" -le 674 ]
	[ "$(jq -r '.functions_alloc.data[] | select(.name == "middle")
		| "\(.calls) \(.avg) \(.p100) \(.total)"' "$T/report")" = "1000 300 B 300 B 300.0 KB" ]
}

@test "calls: with callees, recursive calls are counted one by one, the total once" {
	HOTPATH_ALLOC_CUMULATIVE=1 LD_PRELOAD=$HP_LIB "$T/calls"
	# nested: 10, 20, .. 100 bytes, 550 in 10 calls.
	[ "$(rows calls avg total p0 p100 | grep -v leaf)" = \
"grows 1 4000 4000 4000 4000
main 1 1807100 1807100 1807100 1807100
middle 1000 1802 1801500 303 3300
nested 10 55 100 10 100
shrinks 1 500 500 500 500" ]
}

@test "calls: blocks instead of bytes" {
	HOTPATH_ALLOC_METRIC=count LD_PRELOAD=$HP_LIB "$T/calls"
	[ "$(rows calls avg total p0 p100)" = \
"grows 1 2 2 2 2
leaf 2000 1 2000 1 1
main 1 1 1 1 1
middle 1000 2 2000 2 2
nested 10 1 10 1 1
shrinks 1 1 1 1 1" ]
	[ "$(jq -r .functions_alloc.profiling_mode "$T/report")" = alloc-count ]
}

@test "calls: the highest net amount of a call, callees included, never below 0" {
	HOTPATH_ALLOC_METRIC=bytes-max LD_PRELOAD=$HP_LIB "$T/calls"
	# middle: 300 and leaf's i, or 2 i.  grows: a realloc frees the old block.
	[ "$(rows calls total p0 p100)" = \
"grows 1 3000 3000 3000
leaf 2000 2000 1 2000
main 1 3500 3500 3500
middle 1000 2000 301 2000
nested 10 100 10 100" ]
	HOTPATH_ALLOC_METRIC=count-max LD_PRELOAD=$HP_LIB "$T/calls"
	[ "$(rows calls total p0 p100)" = \
"grows 1 1 1 1
leaf 2000 1 1 1
main 1 11 11 11
middle 1000 3 3 3
nested 10 10 1 10" ]
}

@test "calls: the last ones of each function, with bytes and blocks" {
	LD_PRELOAD=$HP_LIB "$T/calls"
	[ "$(jq -c '.functions_alloc.raw[] | select(.name == "middle").last_calls
		| [length, .[0].bytes, .[0].alloc_count, .[0].inclusive_bytes, .[49].inclusive_bytes]' "$T/report")" = "[50,300,2,3300,3153]" ]
	HOTPATH_LOGS_LIMIT=3 LD_PRELOAD=$HP_LIB "$T/calls"
	[ "$(jq -c '.functions_alloc.raw[] | select(.name == "leaf").last_calls | map(.bytes)' "$T/report")" = "[2000,1000,1998]" ]
}

@test "calls: left by longjmp or the end of a thread" {
	LD_PRELOAD=$HP_LIB "$T/calls" jump
	# After the jump the next block is not charged to the call that was left.
	[ "$(rows calls count total_bytes inclusive_bytes | grep '^after\|^leaf\|^jumps')" = "after 10 10 70 70
leaf 11 11 460 460" ]
	[ "$(rows count | sed -n 's/^run_jumps //p')" -ge 10 ]
	# Each block has an owner.
	[ "$(rows count | awk '{ sum += $2 } END { print sum }')" = "$(jq .functions_alloc.allocated_count "$T/report")" ]
	HOTPATH_ALLOC_CUMULATIVE=1 LD_PRELOAD=$HP_LIB "$T/calls" jump
	[ "$(rows total | sed -n 's/^jumps //p')" = 400 ]
	# The thread's end may load a library.
	[ "$(rows total | sed -n 's/^ends //p')" -ge 60 ]
}

@test "calls: calls in progress when the program is killed count, too" {
	LD_PRELOAD=$HP_LIB "$T/calls" kill || true
	report_comes "$T/report"
	[ "$(rows calls count total_bytes inclusive_bytes)" = \
"dies 3 3 150 159
leaf 1 1 9 9" ]
	rm "$T/report"
	HOTPATH_ALLOC_CUMULATIVE=1 LD_PRELOAD=$HP_LIB "$T/calls" kill || true
	report_comes "$T/report"
	[ "$(rows total)" = "dies 159
leaf 9
main 159" ]
}

@test "calls: a program that is not instrumented has functions by its call paths" {
	LD_PRELOAD=$HP_LIB "$T/plain"
	[ "$(rows count total_bytes inclusive_bytes calls)" = \
"grows 2 4000 4000 None
leaf 2000 1501500 1501500 None
main 1 1000 1807100 None
middle 2000 300000 1801500 None
nested 10 100 100 None
shrinks 1 500 500 None" ]
	# And so has one that is, if it is asked.
	HOTPATH_REPORT=alloc-callers LD_PRELOAD=$HP_LIB "$T/calls"
	[ "$(jq -r '.alloc_callers.raw[] | select(.name == "middle") | "\(.count) \(.total_bytes) \(.inclusive_bytes)"' "$T/report")" = "2000 300000 1801500" ]
}

@test "calls: a note says that averages and percentiles cover different calls" {
	compile seldom <<-'EOF'
		#include <stdlib.h>
		static void *kept;
		__attribute__((noinline)) static void add(int i)
		{
			if (i % 100)
				return;
			free(kept);
			kept = malloc(5000);
		}
		int main(void)
		{
			for (int i = 0; i < 10000; i++)
				add(i);
			free(kept);
			return 0;
		}
	EOF
	HOTPATH_REPORT=functions-alloc HOTPATH_OUTPUT_FORMAT=table HOTPATH_OUTPUT_PATH="$T/table" "$HP_RUN" "$T/seldom"
	cat "$T/table"
	grep -q '^Avg covers all calls, percentiles cover those that allocate' "$T/table"
}
