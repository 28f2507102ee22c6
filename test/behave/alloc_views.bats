#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# alloc_views.bats - views of recorded allocations: exports, columns of the threads.

load helper

setup_file()
{
	gcc -D_GNU_SOURCE -g -O1 -o "$T/paths" "$ROOT/test/behave/programs/alloc_paths.c"
	gcc -D_GNU_SOURCE -g -O1 -o "$T/hold" -x c - -lpthread <<-'END'
	#include <pthread.h>
	#include <stdlib.h>
	/* All are there until all have allocated: none takes another one's place. */
	static pthread_barrier_t barrier;
	static void *shared;
	static void *give(void *size)
	{
	    void *volatile once = malloc(500);
	    shared = malloc((size_t)size);
	    free(once);
	    pthread_barrier_wait(&barrier);
	    pthread_barrier_wait(&barrier);
	    return NULL;
	}
	static void *take(void *size)
	{
	    pthread_barrier_wait(&barrier);
	    void *volatile once = malloc(1);
	    free(once);
	    free(shared);
	    pthread_barrier_wait(&barrier);
	    return size;
	}
	int main(void)
	{
	    pthread_t threads[2];
	    pthread_barrier_init(&barrier, NULL, 2);
	    pthread_create(&threads[0], NULL, give, (void *)7000);
	    pthread_create(&threads[1], NULL, take, NULL);
	    pthread_setname_np(threads[0], "giver");
	    pthread_setname_np(threads[1], "taker");
	    pthread_join(threads[0], NULL);
	    pthread_join(threads[1], NULL);
	}
	END
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_LIMIT=0 HOTPATH_KEEP=0
	rm -f "$T/report"
}

# exported FORMAT - from the segment.
exported()
{
	env -u HOTPATH_OUTPUT_PATH "$HP_BUILD/hotpath" report --export "$1" "$T/segment"
}

@test "views: collapsed stacks of bytes, blocks, peak, temporary" {
	HOTPATH_SEGMENT_PATH=$T/segment LD_PRELOAD=$HP_LIB "$T/paths" 3000 >"$T/out"
	# Each line of the program is a line here, outermost function first; its paths are all of main.
	exported folded-bytes | sed -n 's/.*;main;//p' | awk '{ n = split($1, part, ";"); line = $2
		for (i = n; i; i--) line = line " " part[i]; print line, "main" }' | sort >"$T/ours"
	cut -d ' ' -f 2- "$T/out" | sort | diff - "$T/ours"
	exported folded-count | sed -n 's/.*;main;//p' | awk '{ sum += $NF } END { print sum }' >"$T/blocks"
	[ "$(cat "$T/blocks")" = "$(awk '{ sum += $1 } END { print sum }' "$T/out")" ]
	# Each of them is freed before the next allocation.
	[ "$(exported folded-temporary | sed -n 's/.*;main;//p' | awk '{ sum += $NF } END { print sum }')" = "$(cat "$T/blocks")" ]
	HOTPATH_SEGMENT_PATH=$T/segment LD_PRELOAD=$HP_LIB "$T/paths" peak
	[ "$(exported folded-peak | sed -n 's/.*;main;//p' | sort | xargs)" = "run_peak;high 1000000 run_peak;low 5000" ]
	[ "$(exported folded-live | sed -n 's/.*;main;//p')" = "run_peak;late 300000" ]
}

@test "views: a heap profile for pprof" {
	HOTPATH_SEGMENT_PATH=$T/segment LD_PRELOAD=$HP_LIB "$T/paths" peak
	exported pprof-heap >"$T/heap"
	gzip -t "$T/heap"
	[ "$(python3 "$ROOT/test/behave/read_pprof.py" "$T/heap" | grep ' main$')" = \
"1 1000000 0 0 1000000 high run_peak main
1 300000 1 300000 0 late run_peak main
1 5000 0 0 5000 low run_peak main
1 5000 0 0 0 low run_peak main" ]
	if command -v go >/dev/null; then
		go tool pprof -sample_index=alloc_space -top "$T/heap" 2>"$T/err" | grep -q " high$"
	fi
}

@test "views: an empty export is reported" {
	HOTPATH_REPORT=threads HOTPATH_SEGMENT_PATH=$T/segment LD_PRELOAD=$HP_LIB "$T/paths" peak
	run exported folded-bytes
	[ "$status" = 1 ]
	[[ "$output" == *"nothing to export: nothing was allocated"* ]]
}

# The threads were scanned before they ended.
watched()
{
	rm -f "$T/report"
	HOTPATH_REPORT=threads,alloc-sites HOTPATH_THREADS_INTERVAL_MS=10 LD_PRELOAD=$HP_LIB "$T/hold"
	[ "$(jq -r '.threads.raw[].name' "$T/report" | grep -cx 'giver\|taker')" = 2 ]
}

@test "views: each thread shows what it allocated and freed, whichever thread allocated it" {
	eventually watched
	[ "$(jq -r '.threads.raw[] | select(.name == "giver" or .name == "taker")
		| "\(.name) \(.alloc_bytes) \(.dealloc_bytes) \(.mem_diff)"' "$T/report" | sort | xargs)" = \
"giver 7500 500 7000 taker 1 7001 -7000" ]
	[ "$(jq -r '.threads.data[] | select(.name == "taker") | .mem_diff' "$T/report")" = "-7.0 KB" ]
}

# A third of some 1172 blocks is 391 +- 16: six times that deviation is not chance (1 in 500
# million).
@test "views: sizes and ages of sampled blocks match those of all, and sampling changes no count" {
	gcc -g -O1 -o "$T/drawn" "$ROOT/test/behave/programs/alloc_sampled.c"
	HOTPATH_REPORT=alloc-sizes,alloc-lives,alloc-sites HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/drawn.json \
		LD_PRELOAD=$HP_LIB "$T/drawn"
	python3 - "$T/drawn.json" <<-'END'
	import json, sys
	r = json.load(open(sys.argv[1]))
	totals = r["alloc_sites"]
	assert [totals[k] for k in ("allocated_count", "freed_count", "temporary_count", "allocated_bytes", "live_bytes", "peak_bytes")] == \
	    [300000, 300000, 100005, 107400000, 0, 20000100], totals
	sizes = {row["up_to_bytes"]: row["count_estimated"] for row in r["alloc_sizes"]["raw"]}
	assert {size for size, count in sizes.items() if count} == {32, 64, 1024}, sizes
	assert all(75000 < count < 125000 for count in sizes.values() if count), sizes
	lives = r["alloc_lives"]["raw"]
	assert lives[0]["count_estimated"] == 100005 and lives[0]["samples"] == 0
	# A class that ends above 30 ms may hold shorter lives, one that ends below cannot.
	kept = sum(row["count_estimated"] for row in lives[1:] if row["up_to_ns"] is None or row["up_to_ns"] > 30000000)
	assert 75000 < kept < 125000 + 20000, kept
	# Per path, if it has many: its own sizes only.
	by_size = {int(site["avg_bytes"]): [end for end, _ in site["drawn_sizes"]] for site in totals["raw"]}
	assert by_size == {24: [32], 50: [64], 1000: [1024]}, by_size
	END
}

@test "views: no byte is lost with blocks of 4 GiB, and sampled blocks that move and are freed by other threads" {
	gcc -D_GNU_SOURCE -g -O1 -o "$T/moved" -x c - -lpthread <<-'END'
	#include <pthread.h>
	#include <stdlib.h>
	static void *blocks[50000];
	static void *work(void *data)
	{
		for (int i = 0; i < 50000; i++)
			free(blocks[i]);
		return data;
	}
	int main(void)
	{
		pthread_t id;
		void *volatile large = malloc((size_t)5 << 30);
		large = large ? realloc(large, (size_t)6 << 30) : NULL;
		if (!large)
			return 3;
		free(large);
		for (int i = 0; i < 50000; i++)
			blocks[i] = realloc(malloc(10), 20);
		pthread_create(&id, NULL, work, NULL);
		pthread_join(id, NULL);
		return 0;
	}
	END
	HOTPATH_REPORT=alloc-sites HOTPATH_OUTPUT_FORMAT=json HOTPATH_LIMIT=0 HOTPATH_OUTPUT_PATH=$T/moved.json LD_PRELOAD=$HP_LIB "$T/moved" ||
		skip "6 GiB of addresses are not to be had here"
	[ "$(jq '[.alloc_sites.raw[] | select(.frames[0].function == "main" or .frames[0].function == "work") |
		.total_bytes - .freed_bytes, .live_count] | add' "$T/moved.json")" = 0 ]
	[ "$(jq '[.alloc_sites.raw[] | select(.frames[0].function == "main") | .freed_bytes] | add' "$T/moved.json")" = $(((11 << 30) + 50000 * 30)) ]
}

# steady - the bytes held over time, on a machine that lets the helper run.
steady()
{
	HOTPATH_REPORT=alloc-sites HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/steady.json \
		HOTPATH_THREADS_INTERVAL_MS=10 LD_PRELOAD=$HP_LIB "$T/steady"
	[ "$(jq '.alloc_sites.live_timeline | length >= 8 and any(.[]; .[1] > 5000000) and .[-1][1] == 5000000' "$T/steady.json")" = true ]
}

@test "views: bytes held over time, and left at the end" {
	gcc -g -O1 -o "$T/steady" -x c - <<-'END'
	#include <stdlib.h>
	#include <unistd.h>
	int main(void)
	{
		static char *volatile blocks[100];
		for (int i = 0; i < 100; i++, usleep(3000))
			blocks[i] = malloc(100000);
		for (int i = 50; i < 100; i++, usleep(3000))
			free(blocks[i]);
		usleep(300000);
		return 0;
	}
	END
	eventually steady
	[ "$(jq '.alloc_sites | .peak_bytes as $peak | [.live_timeline[] | .[1]] | all(. % 100000 == 0 and . <= $peak)' "$T/steady.json")" = true ]
	[ "$(jq '[.alloc_sites.live_timeline[] | .[0]] | . == sort' "$T/steady.json")" = true ]
}

@test "views: inlined callers are in a path like called ones" {
	gcc -g -O2 -o "$T/inlined" -x c - -lpthread <<-'END'
	#include <pthread.h>
	#include <stdlib.h>
	static inline void *parse(void) { return malloc(100); }
	static inline void *handle(void) { return parse(); }
	static void *worker(void *unused)
	{
	    for (int i = 0; i < 1000; i++) {
	        void *volatile block = handle();
	        free(block);
	    }
	    return unused;
	}
	int main(void)
	{
	    pthread_t thread;
	    return pthread_create(&thread, NULL, worker, NULL) || pthread_join(thread, NULL);
	}
	END
	run env -u HOTPATH_OUTPUT_PATH COLUMNS=120 HOTPATH_OUTPUT_FORMAT=table HOTPATH_REPORT=alloc-sites \
		"$HP_BUILD/hotpath-run" "$T/inlined"
	[ "$status" -eq 0 ]
	[[ "$output" =~ parse' '[^' ']*:3' ← handle ← worker ← start_thread' ]]
	# Nobody scanned the threads: their cause is unknown.
	[[ "$output" != *"blocked "* ]]
}

@test "alloc: blocks of no bytes have rows, so the rows sum up to the total" {
	gcc -g -O1 -o "$T/nothing" -x c - <<-'END'
	#include <stdlib.h>
	static void *volatile kept[3];
	__attribute__((noinline)) static void none(int i) { kept[i] = malloc(0); }
	__attribute__((noinline)) static void some(int i) { kept[i] = malloc(100); }
	int main(void)
	{
	    none(0);
	    none(1);
	    some(2);
	    free(kept[0]);
	}
	END
	HOTPATH_REPORT=alloc-sites,leaks "$HP_RUN" "$T/nothing" 2>/dev/null
	jq -c '.alloc_sites | [.allocated_count, [.raw[].count]]' "$T/report"
	[ "$(jq '.alloc_sites | .allocated_count == ([.raw[].count] | add)' "$T/report")" = true ]
	[ "$(jq '[.alloc_sites.raw[] | select(.total_bytes == 0) | .count] | add' "$T/report")" = 2 ]
	[ "$(jq '[.leaks.raw[] | select(.live_bytes == 0) | .live_count] | add' "$T/report")" = 1 ]
}

@test "views: calls on the same line show their addresses" {
	cat >"$T/line.cc" <<-'END'
		#include <vector>
		int main()
		{
			std::vector<long> a, b;
			for (long i = 0; i < 1000; i++) { a.push_back(i); b.push_back(i); }
			return a.size() == b.size() + 1;
		}
	END
	g++ -g -O2 -o "$T/line" "$T/line.cc"
	env -u HOTPATH_OUTPUT_PATH COLUMNS=120 HOTPATH_OUTPUT_FORMAT=table HOTPATH_REPORT=alloc-sites \
		"$HP_BUILD/hotpath-run" "$T/line" 2>"$T/text"
	cat "$T/text"
	[ "$(grep -c '^main .*:5 +0x[0-9a-f]* (vector::push_back)' "$T/text")" = 2 ]
	[ -z "$(sed -n 's/^\(main .*)\)  .*/\1/p' "$T/text" | sort | uniq -d)" ]
}
