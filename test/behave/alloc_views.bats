#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# alloc_views.bats - what is made of recorded allocations: exports, columns of the threads.

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

@test "views: nothing to export is told" {
	HOTPATH_REPORT=threads HOTPATH_SEGMENT_PATH=$T/segment LD_PRELOAD=$HP_LIB "$T/paths" peak
	run exported folded-bytes
	[ "$status" = 1 ]
	[[ "$output" == *"nothing to export: nothing was allocated"* ]]
}

# The threads were looked at before they ended.
watched()
{
	rm -f "$T/report"
	HOTPATH_REPORT=threads,alloc-sites HOTPATH_THREADS_INTERVAL_MS=10 LD_PRELOAD=$HP_LIB "$T/hold"
	[ "$(jq -r '.threads.raw[].name' "$T/report" | grep -cx 'giver\|taker')" = 2 ]
}

@test "views: threads say what they allocated and freed, whoever allocated it" {
	eventually watched
	[ "$(jq -r '.threads.raw[] | select(.name == "giver" or .name == "taker")
		| "\(.name) \(.alloc_bytes) \(.dealloc_bytes) \(.mem_diff)"' "$T/report" | sort | xargs)" = \
"giver 7500 500 7000 taker 1 7001 -7000" ]
	[ "$(jq -r '.threads.data[] | select(.name == "taker") | .mem_diff' "$T/report")" = "-6.8 KB" ]
}
