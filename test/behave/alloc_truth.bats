#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# alloc_truth.bats - reported call paths against the findings of valgrind's tools.

load helper

setup_file()
{
	gcc -D_GNU_SOURCE -g -O1 -o "$T/paths" "$ROOT/test/behave/programs/alloc_paths.c"
	g++ -g -O1 -std=c++17 -o "$T/stl" "$ROOT/test/behave/programs/alloc_stl.cc"
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_LIMIT=0 HOTPATH_KEEP=0
	rm -f "$T/report"
}

# same_as_dhat COMMAND...
same_as_dhat()
{
	valgrind --tool=dhat --num-callers=500 --run-libc-freeres=no --run-cxx-freeres=no \
		--dhat-out-file="$T/dhat" --log-file="$T/valgrind" "$@" >/dev/null || return
	LD_PRELOAD=$HP_LIB "$@" >/dev/null && python3 "$ROOT/test/behave/compare_dhat.py" "$T/dhat" "$T/report"
}

@test "truth: each C call path's blocks and bytes, allocated and left, and the peak, are DHAT's" {
	same_as_dhat "$T/paths" 300
	same_as_dhat "$T/paths" peak
}

@test "truth: the same in C++, with exceptions and inlined functions" {
	same_as_dhat "$T/stl"
}

@test "truth: the peak is massif's" {
	valgrind --tool=massif --peak-inaccuracy=0.0 --run-libc-freeres=no --log-file="$T/valgrind" \
		--massif-out-file="$T/massif" "$T/stl" >/dev/null
	LD_PRELOAD=$HP_LIB "$T/stl" >/dev/null
	theirs=$(sed -n 's/^mem_heap_B=//p' "$T/massif" | sort -n | tail -n 1)
	ours=$(jq .alloc_sites.peak_bytes "$T/report")
	echo "massif $theirs, ours $ours"
	[ $((theirs * 99)) -le $((ours * 100)) ] && [ $((ours * 99)) -le $((theirs * 100)) ]
}
