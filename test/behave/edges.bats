#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# edges.bats - numbers at their edges: counters of 32 bits that are full, bytes beyond 2^63, clocks that go back.

load helper

setup_file()
{
	local program
	for program in edges_busy edges_full; do
		compile "$program" <"$ROOT/test/behave/programs/$program.c"
	done
	gcc -O1 -Wall -shared -fPIC -o "$T/edges_back.so" "$ROOT/test/behave/programs/edges_back.c"
	compile edges_maps -fno-instrument-functions <<-'EOF'
		#define _GNU_SOURCE
		#include <sys/mman.h>
		/* 140 000 times 64 TiB, which are never touched: 2^63 and something more. */
		int main(void)
		{
			for (int i = 0; i < 140000; i++) {
				void *p = mmap(0, 1ul << 46, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
				if (p == MAP_FAILED)
					return 1;
				munmap(p, 1ul << 46);
			}
			return 0;
		}
	EOF
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/report HOTPATH_REPORT=all
	cd "$BATS_TEST_TMPDIR"
}

# Filling them would take hours or days: the segment is a file, so the test sets them.
@test "edges: 32-bit counters saturate or carry" {
	mkfifo input
	HOTPATH_SEGMENT_PATH=$PWD/segment LD_PRELOAD=$HP_LIB "$T/edges_full" <input >out 2>err 3>&- &
	program=$!
	exec 7>input
	eventually grep up out
	/usr/bin/python3 "$ROOT/test/behave/edges.py" get segment >before
	cat before
	[ "$(cut -d' ' -f1 before | xargs)" = "closed instances rare tail timeouts untold" ]
	/usr/bin/python3 "$ROOT/test/behave/edges.py" set segment >set
	[ "$(cut -d' ' -f2 set | sort -u)" = 4294967293 ]
	echo x >&7
	exec 7>&-
	wait "$program" || status=$?
	[ "$status" = 3 ]
	report_comes report err
	/usr/bin/python3 "$ROOT/test/behave/edges.py" get segment >after
	cat after err
	[ ! -s err ]
	for name in instances timeouts untold; do
		grep -x "$name 4294967295" after
	done
	# When the last counted one ends, closed ones are no longer counted.
	[ "$(awk '/^closed/ { print ($2 <= 4294967295) }' after)" = 1 ]
	for name in rare tail; do
		[ "$(awk -v name=$name '$1 == name { print ($2 > 4294967296 && $2 < 4294980000) }' after)" = 1 ]
	done
}

@test "edges: bytes beyond 2^63" {
	LD_PRELOAD=$HP_LIB "$T/edges_maps" || skip "64 TiB cannot be reserved here"
	report_comes report
	python3 - <<-'EOF'
		import json
		maps = json.load(open("report"))["direct_maps"]
		assert maps["mapped_bytes"] == maps["unmapped_bytes"] + maps["live_bytes"], maps
		assert 0 <= maps["mapped_bytes"] - (140000 << 46) < 1 << 30, maps["mapped_bytes"]
		row = max(maps["raw"], key=lambda row: row["total_bytes"])
		assert row["count"] == 140000 and abs(row["total_bytes"] - (140000 << 46)) < 1 << 11, row
		assert row["live_bytes"] == 0 and row["percent_total"] <= 10000, row
	EOF
}

@test "edges: if a clock goes back, everything is counted, and times are possible" {
	for timing in adaptive exact; do
		rm -f report
		status=0
		HOTPATH_TIMING=$timing LD_PRELOAD="$T/edges_back.so $HP_LIB" "$T/edges_busy" >out 2>err || status=$?
		[ "$status $(cat out)" = "3 done" ]
		report_comes report err
		cat err
		[ ! -s err ]
		counts_in report >counts
		cat counts
		diff - <(sort counts) <<-'WANTED'
			deep 153
			edges_busy::main 1
			inner 120153
			outer 60000
			work 3
		WANTED
		python3 "$ROOT/test/behave/edges.py" possible report
	done
}

@test "edges: runs are kept separately whatever the clock shows" {
	export XDG_STATE_HOME=$PWD/state
	for _ in 1 2 3; do
		HOTPATH_OUTPUT_PATH= HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD="$T/edges_back.so $HP_LIB" "$T/edges_busy" || true
	done
	are_three()
	{
		[ "$("$HP_BUILD/hotpath" list | grep -c edges_busy)" = 3 ]
	}
	eventually are_three
}
