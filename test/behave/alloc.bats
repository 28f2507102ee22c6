#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# alloc.bats - every allocation is counted, on the path it was made on, and the program does not notice.

load helper

setup_file()
{
	local name
	for name in family threads paths reply exchange turns rising; do
		gcc -D_GNU_SOURCE -g -O1 -o "$T/$name" "$ROOT/test/behave/programs/alloc_$name.c" -lpthread
	done
	g++ -g -O1 -std=c++17 -o "$T/stl" "$ROOT/test/behave/programs/alloc_stl.cc"
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_LIMIT=0 HOTPATH_KEEP=0
	rm -f "$T/report"
}

# profiled COMMAND... - prints the same as without the library.
profiled()
{
	local status=0 bare=0
	"$@" >"$T/bare" 2>&1 || bare=$?
	LD_PRELOAD=$HP_LIB "$@" >"$T/out" 2>"$T/err" || status=$?
	cat "$T/err"
	[ $status = $bare ] && [ ! -s "$T/err" ] && diff "$T/bare" "$T/out"
}

# totals KEY... - numbers of the report's alloc_sites.
totals()
{
	python3 -c 'import json, sys
sites = json.load(open(sys.argv[1]))["alloc_sites"]
print(*[sites[key] for key in sys.argv[2:]])' "$T/report" "$@"
}

# memcheck COMMAND... - "ALLOCS FREES BYTES LEFT_BLOCKS LEFT_BYTES", as valgrind counts them.
memcheck()
{
	valgrind --run-libc-freeres=no --run-cxx-freeres=no --log-file="$T/valgrind" "$@" >/dev/null
	tr -d , <"$T/valgrind" | awk '
		/total heap usage/ { a = $5; f = $7; b = $9 }
		/in use at exit/ { left = $6; blocks = $9 }
		END { print a, f, b, blocks, left }'
}

all="allocated_count freed_count allocated_bytes live_count live_bytes"

@test "alloc: every allocation function, with the program's own counts" {
	profiled "$T/family" 200
	[ "allocs $(totals allocated_count) frees $(totals freed_count) bytes $(totals allocated_bytes)" = "$(cat "$T/out")" ]
	[ "$(totals without_path paths_incomplete cache_mismatches strange_frees)" = "0 0 0 0" ]
}

@test "alloc: a C program's totals are valgrind's" {
	profiled "$T/family" 50 kindly
	echo "$(totals $all) | $(memcheck "$T/family" 50 kindly)"
	[ "$(totals $all)" = "$(memcheck "$T/family" 50 kindly)" ]
}

@test "alloc: a C++ program's totals are valgrind's, allocations of libraries before main included" {
	profiled "$T/stl"
	echo "$(totals $all) | $(memcheck "$T/stl")"
	[ "$(totals $all)" = "$(memcheck "$T/stl")" ]
}

@test "alloc: counts of threads, blocks freed by others, threads that end" {
	profiled "$T/threads" 8 2000
	[ "allocs $(totals allocated_count) bytes $(totals allocated_bytes) left $(totals live_count) $(totals live_bytes)" = "$(python3 - "$T/out" "$T/report" <<-'END'
	import json, sys
	# The C library manages the threads' own memory: its blocks are subtracted.
	said = dict(zip(*[iter(open(sys.argv[1]).read().split())] * 2))
	sites = json.load(open(sys.argv[2]))["alloc_sites"]
	other = [s for s in sites["raw"] if not any(f["function"] in ("make", "churn") for f in s["frames"])]
	count, size = int(said["allocs"]), int(said["bytes"])
	live, live_size = int(said["left"]), int(said["left_bytes"])
	print("allocs", count + sum(s["count"] for s in other), "bytes", size + sum(s["total_bytes"] for s in other),
	      "left", live + sum(s["live_count"] for s in other), live_size + sum(s["live_bytes"] for s in other))
	END
	)" ]
	[ "$(totals cache_mismatches)" = 0 ]
}

@test "alloc: a block at the address of one that another thread freed is not that one" {
	LD_PRELOAD=$HP_LIB "$T/reply" 8000 >"$T/out" 2>"$T/err"
	[ ! -s "$T/err" ]
	# Else nothing was tested.
	[ "$(cat "$T/out")" -gt 800 ]
	run python3 - "$T/report" <<-'END'
	import json, sys
	for site in json.load(open(sys.argv[1]))["alloc_sites"]["raw"]:
	    name = site["frames"][0]["function"]
	    if name in ("request", "reply", "scratch"):
	        print(name, site["count"], site["total_bytes"], site["frees"], site["freed_bytes"], site["live_count"])
	END
	[ "$(sort <<<"$output")" = "reply 8000 512000 7000 448000 1000
request 8000 512000 8000 512000 0
scratch 8000 2400000 8000 2400000 0" ]
	[ "$(totals strange_frees)" = 0 ]
}

@test "alloc: threads that exchange blocks at random: each function's blocks and bytes, made and freed" {
	LD_PRELOAD=$HP_LIB "$T/exchange" 8 40000 >"$T/out" 2>"$T/err"
	[ ! -s "$T/err" ]
	python3 - "$T/report" <<-'END' | diff "$T/out" -
	import json, sys
	keys = ("count", "total_bytes", "frees", "freed_bytes")
	rows = json.load(open(sys.argv[1]))["alloc_sites"]["raw"]
	for name in ("by_malloc", "by_calloc", "by_aligned", "by_memalign", "by_null", "by_realloc", "by_array"):
	    print(name, *(sum(row[key] for row in rows if row["frames"][0]["function"] == name) for key in keys))
	END
	[ "$(totals strange_frees cache_mismatches)" = "0 0" ]
}

# per_path REPORT - "COUNT BYTES function function ..." up to main, for sites that run under main.
per_path()
{
	python3 - "$1" <<-'END'
	import json, sys
	for site in json.load(open(sys.argv[1]))["alloc_sites"]["raw"]:
	    names = [frame["function"] for frame in site["frames"]]
	    if "main" in names:
	        print(site["count"], site["total_bytes"], *names[:names.index("main") + 1])
	END
}

@test "alloc: counts per call path are the program's, alloca and recursion included" {
	profiled "$T/paths" 3000
	per_path "$T/report" | sort >"$T/ours"
	sort "$T/out" | diff - "$T/ours"
	[ "$(totals cache_mismatches paths_incomplete)" = "0 0" ]
}

@test "alloc: every hit of the path cache is verified by a second walk" {
	export HOTPATH_ALLOC_PROVE=1
	for program in "paths 300" "threads 4 300" "stl" "family 20"; do
		profiled "$T/"$program
		echo "$program: $(totals cache_proofs cache_mismatches)"
		[ "$(totals cache_mismatches)" = 0 ]
		[ "$(totals cache_proofs)" -gt 0 ]
	done
}

@test "alloc: forked children count their own, and free their parent's blocks" {
	profiled "$T/threads" fork 20
	[ "$(python3 -c 'import json, sys
for s in json.load(open(sys.argv[1]))["alloc_sites"]["raw"]:
    if s["live_count"] < 0 or s["live_bytes"] < 0 or s["peak_bytes"] < 0: print(s)' "$T/report")" = "" ]
	[ "$(per_path "$T/report" | awk '$3 == "in_child" { print $1, $2 }')" = "2000 200000" ]
}

@test "alloc: peaks per path are from the moment of the process's peak" {
	profiled "$T/paths" peak
	[ "$(python3 -c 'import json, sys
for s in json.load(open(sys.argv[1]))["alloc_sites"]["raw"]:
    if s["frames"][0]["function"] in ("high", "low", "late"):
        print(s["frames"][0]["function"], s["peak_bytes"], s["live_bytes"])' "$T/report" | sort | xargs)" = "high 1000000 0 late 0 300000 low 0 0 low 5000 0" ]
	[ "$(totals peak_bytes)" -ge 1005000 ]
	[ "$(totals peak_bytes)" -lt 1105000 ]
}

@test "alloc: a peak to which threads that were quiet before contribute" {
	local count
	for count in 1 2 9; do
		rm -f "$T/report"
		LD_PRELOAD=$HP_LIB "$T/turns" $count >"$T/out" 2>"$T/err"
		[ ! -s "$T/err" ]
		# A step of 4 KiB or more for each thread (preload/heap/peak.c); the C library has blocks of the threads' own.
		python3 - "$T/report" $count "$(cat "$T/out")" <<-'END'
		import json, sys
		sites, count, wanted = json.load(open(sys.argv[1]))["alloc_sites"], int(sys.argv[2]), int(sys.argv[3])
		filled = sum(row["peak_bytes"] for row in sites["raw"] if row["frames"][0]["function"] == "fill")
		slack = count * max(4096, wanted // 256 // count) if count > 1 else 0
		print(sites["peak_bytes"], filled, wanted, slack)
		assert wanted - slack <= filled <= wanted
		assert wanted - slack <= sites["peak_bytes"] <= wanted + 20000 + 1000 * count
		END
	done
}

@test "alloc: a peak of threads that allocate at the same moment" {
	local count
	for count in 2 2 2 4; do
		rm -f "$T/report"
		LD_PRELOAD=$HP_LIB "$T/rising" $count 400 >"$T/out" 2>"$T/err"
		[ ! -s "$T/err" ]
		python3 - "$T/report" $count "$(cat "$T/out")" <<-'END'
		import json, sys
		sites, count, wanted = json.load(open(sys.argv[1]))["alloc_sites"], int(sys.argv[2]), int(sys.argv[3])
		held = sum(row["peak_bytes"] for row in sites["raw"] if row["frames"][0]["function"] == "hold")
		slack = count * max(4096, wanted // 256 // count)
		print(sites["peak_bytes"], held, wanted, slack)
		assert wanted - slack <= held <= wanted
		assert wanted - slack <= sites["peak_bytes"] <= wanted + 20000 + 1000 * count
		END
	done
}

@test "alloc: a section that is not requested, or is excluded from auto, records nothing" {
	local list

	for list in threads auto,-alloc-sites,-functions-alloc,-direct-maps; do
		HOTPATH_REPORT=$list HOTPATH_SEGMENT_PATH=$T/segment profiled "$T/family" 100
		HOTPATH_REPORT=alloc-sites "$HP_BUILD/hotpath" report "$T/segment"
		[ "$(totals allocated_count)" = 0 ]
		rm "$T/segment"
	done
	HOTPATH_REPORT=auto,-alloc-sites,-functions-alloc,-direct-maps,leaks HOTPATH_SEGMENT_PATH=$T/segment profiled "$T/family" 100
	HOTPATH_REPORT=alloc-sites "$HP_BUILD/hotpath" report "$T/segment"
	[ "$(totals allocated_count)" -gt 0 ]
}

@test "alloc: HOTPATH_ALLOC_DEPTH truncates paths, with a note" {
	HOTPATH_ALLOC_DEPTH=3 profiled "$T/paths" 3000
	[ "$(totals paths_cut)" -gt 0 ]
	# Four of the five depths of deep() look the same then.
	[ "$(python3 -c 'import json, sys
for s in json.load(open(sys.argv[1]))["alloc_sites"]["raw"]:
    if [f["function"] for f in s["frames"]] == ["leaf", "deep", "deep", "(deeper callers)"]: print(s["count"])' "$T/report")" = 2400 ]
}

@test "alloc: requested alone, the CPU is not sampled and threads are not scanned: \"all\" is a word" {
	HOTPATH_REPORT=alloc-sites,functions-alloc HOTPATH_SEGMENT_PATH=$T/segment profiled "$T/stl"
	HOTPATH_REPORT=functions-cpu,threads "$HP_BUILD/hotpath" report "$T/segment"
	[ "$(python3 -c 'import json, sys
said = json.load(open(sys.argv[1]))
print(said["functions_cpu"]["source"], said["threads"]["thread_count"])' "$T/report")" = "none 0" ]
}
