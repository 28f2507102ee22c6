#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# maps.bats - mappings made by a program itself: whose each page is, as the program's own
# table says.

load helper

setup_file()
{
	gcc -g -O1 -o "$T/maps" "$ROOT/test/behave/programs/maps.c" -lpthread -ldl
	printf 'int nothing;\n' | gcc -shared -fPIC -o "$T/library.so" -x c -
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_LIMIT=0 HOTPATH_KEEP=0
	export HOTPATH_REPORT=direct-maps
	rm -f "$T/report"
}

# run_maps WHAT... - the program's output is in $T/out, the report's in $T/ours.
run_maps()
{
	LD_PRELOAD=$HP_LIB "$T/maps" "$@" >"$T/out" 2>"$T/err" || { cat "$T/err"; return 1; }
	[ ! -s "$T/err" ] || { cat "$T/err"; return 1; }
	python3 "$ROOT/test/behave/maps.py" "$T/report" | sort >"$T/ours"
}

# matches WHAT... - the program's own account of its maps matches the report.
matches()
{
	run_maps "$@" || return
	sort "$T/out" | diff - "$T/ours"
	[ "$(jq '.direct_maps.is_cut_short, .direct_maps.lost_calls' "$T/report" | xargs)" = "false 0" ]
}

@test "maps: parts unmapped, mapped over and moved: each page belongs to its mapper" {
	for seed in 1 2 3 4 5 6; do
		matches random $seed 3000
	done
}

@test "maps: brk and sbrk" {
	LD_PRELOAD=$HP_LIB "$T/maps" break >"$T/out"
	python3 "$ROOT/test/behave/maps.py" "$T/report" | diff "$T/out" -
}

@test "maps: threads, and maps that one unmaps for another" {
	matches threads 3000
}

# Their maps, bytes, and the rest of them, over all paths.
sums()
{
	awk '{ for (i = 2; i <= NF; i++) sum[i] += $i } END { print sum[2], sum[3], sum[4], sum[5] }' "$1"
}

# A handler that interrupts its thread while that builds a path has none: its map is counted in
# <other>.
@test "maps: signal handlers that map" {
	run_maps signal 3000
	diff <(sort "$T/out") "$T/ours" || true
	[ "$(sums "$T/out")" = "$(sums "$T/ours")" ]
	others=$(awk '$1 == "<other>" { count = $2 } END { print count + 0 }' "$T/ours")
	[ $((others * 100)) -le "$(sums "$T/ours" | cut -d ' ' -f 1)" ]
	[ "$(jq '.direct_maps.is_cut_short, .direct_maps.lost_calls' "$T/report" | xargs)" = "false 0" ]
}

@test "maps: a handler that jumps out of our code at most ends the figures, not the program" {
	LD_PRELOAD=$HP_LIB timeout 100 "$T/maps" jump 3000 >"$T/out"
	[ "$(cat "$T/out")" = "done" ]
	[ "$(jq '.direct_maps.live_bytes <= 16384 or .direct_maps.is_cut_short' "$T/report")" = true ]
}

@test "maps: a forked child has none of its parent's" {
	matches fork
}

@test "maps: kinds are distinguished; a library's maps, and the C library's, are not the program's" {
	LD_PRELOAD=$HP_LIB "$T/maps" kinds "$T/library.so" >"$T/out"
	jq -r '.direct_maps.raw[] | "\(.frames[0].function) \(.kind)"' "$T/report" | sort >"$T/ours"
	sort "$T/out" | diff - "$T/ours"
	[ "$(jq '.direct_maps.raw[] | select(.kind == "reserved").total_bytes' "$T/report")" = 1099511627776 ]
}

@test "maps: as many as strace sees from the program itself" {
	command -v strace >/dev/null || skip "no strace here"
	strace -f -e trace=mmap,mremap -o "$T/with" "$T/maps" random 9 1000 >/dev/null
	strace -f -e trace=mmap,mremap -o "$T/without" "$T/maps" random 9 0 >/dev/null
	LD_PRELOAD=$HP_LIB "$T/maps" random 9 1000 >/dev/null
	[ $(($(grep -c 'mmap\|mremap' "$T/with") - $(grep -c 'mmap\|mremap' "$T/without"))) = "$(jq .direct_maps.mapped_count "$T/report")" ]
}

@test "maps: none unless requested" {
	HOTPATH_REPORT=alloc-sites HOTPATH_SEGMENT_PATH=$T/segment LD_PRELOAD=$HP_LIB "$T/maps" random 1 50 >"$T/out"
	HOTPATH_REPORT=direct-maps "$HP_BUILD/hotpath" report "$T/segment"
	[ "$(jq .direct_maps.mapped_count "$T/report")" = 0 ]
}

@test "maps: another allocator's own maps are separate" {
	local name file count=0
	gcc -g -O1 -o "$T/blocks" -x c - <<-'END' -lpthread
	#include <pthread.h>
	#include <stdlib.h>
	#include <sys/mman.h>
	static void *work(void *data)
	{
		for (int i = 0; i < 1000; i++)
			free(malloc((size_t)(100000 + i)));
		return data;
	}
	int main(void)
	{
		pthread_t ids[4];
		void *volatile own = mmap(NULL, 40960, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		void *volatile large = malloc(50 << 20);
		for (int i = 0; i < 4; i++)
			pthread_create(&ids[i], NULL, work, NULL);
		for (int i = 0; i < 4; i++)
			pthread_join(ids[i], NULL);
		return !own || !large;
	}
	END
	for name in libjemalloc libtcmalloc_minimal libmimalloc; do
		file=$(found $name) || continue
		count=$((count + 1))
		LD_PRELOAD="$HP_LIB $file" "$T/blocks"
		echo "$file: $(jq -c '.direct_maps | [.mapped_bytes, .mapped_count, .live_bytes]' "$T/report")"
		[ "$(jq -c '.direct_maps | [.mapped_bytes, .mapped_count, .live_bytes]' "$T/report")" = "[40960,1,40960]" ]
		[ "$(jq '[.direct_maps.raw[] | select(.kind == "allocator").total_bytes] | add > 40000000' "$T/report")" = true ]
	done
	[ $count -gt 0 ] || skip "no allocator here"
}
