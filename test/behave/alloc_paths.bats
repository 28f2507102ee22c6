#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# alloc_paths.bats - each answer of the path cache, and each walk that ended in an earlier one, walked again.

load helper

setup_file()
{
	gcc -D_GNU_SOURCE -g -O1 -o "$T/paths" "$ROOT/test/behave/programs/alloc_paths.c"
	g++ -g -O1 -std=c++17 -o "$T/stacks" "$ROOT/test/behave/programs/alloc_stacks.cc"
	gcc -D_GNU_SOURCE -g -O1 -o "$T/context" "$ROOT/test/behave/programs/alloc_context.c"
	gcc -D_GNU_SOURCE -g -O1 -o "$T/pairs" "$ROOT/test/behave/programs/alloc_pairs.c"
	gcc -D_GNU_SOURCE -g -O1 -o "$T/peaks" "$ROOT/test/behave/programs/alloc_peaks.c"
	gcc -D_GNU_SOURCE -g -O1 -o "$T/wide" "$ROOT/test/behave/programs/alloc_wide.c"
	gcc -D_GNU_SOURCE -g -O1 -o "$T/fibers" "$ROOT/test/behave/programs/alloc_fibers.c" -lpthread
	gcc -g -O1 -DMADE -fno-asynchronous-unwind-tables -fno-omit-frame-pointer -c -o "$T/made.o" \
		"$ROOT/test/behave/programs/alloc_made.c"
	gcc -g -O1 -fno-omit-frame-pointer -o "$T/made" "$ROOT/test/behave/programs/alloc_made.c" "$T/made.o" -lpthread
	# As node is linked: its segments are apart from each other.
	gcc -D_GNU_SOURCE -g -O1 -no-pie -Wl,-z,max-page-size=0x200000,-z,separate-code -o "$T/apart" \
		"$ROOT/test/behave/programs/alloc_paths.c"
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_LIMIT=0 HOTPATH_KEEP=0
	export HOTPATH_REPORT=alloc-sites
	rm -f "$T/report"
}

# sites EXPRESSION - of the report's alloc_sites, as `s`.
sites()
{
	python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))["alloc_sites"]
print(eval(sys.argv[2]))' "$T/report" "$1"
}

# proven COMMAND... - it prints the same as without the library, and no cached answer was wrong.
proven()
{
	"$@" >"$T/bare" 2>&1
	HOTPATH_ALLOC_PROVE=1 LD_PRELOAD=$HP_LIB timeout 120 "$@" >"$T/out" 2>&1
	cmp "$T/bare" "$T/out"
	echo "$1: $(sites '[s[k] for k in ("allocated_count", "cache_proofs", "cache_mismatches", "paths_incomplete", "paths_walked")]')"
	[ "$(sites 's["cache_mismatches"]')" = 0 ]
	[ "$(sites 's["cache_proofs"] >= 0.9 * s["allocated_count"]')" = True ]
}

# 99.5 % of the walks reached the outermost frame.
whole()
{
	[ "$(sites 's["paths_incomplete"] <= 0.005 * s["cache_proofs"]')" = True ]
}

@test "paths: alloca of two sizes below equal return addresses is distinguished" {
	proven "$T/paths" 300
	whole
}

# Nearly every answer comes from the cache.
cached()
{
	LD_PRELOAD=$HP_LIB "$@" >"$T/out"
	echo "$1: $(sites '[s[k] for k in ("allocated_count", "paths_walked", "paths_unproven")]')"
	[ "$(sites 's["paths_unproven"]')" = 0 ]
	[ "$(sites 's["paths_walked"] <= 0.1 * s["allocated_count"]')" = True ]
}

@test "paths: code without call frame information is followed by frame pointers, and cached" {
	proven "$T/made" 1000
	whole
	cached "$T/made" 2000
}

@test "paths: of an executable whose segments are apart from each other" {
	proven "$T/apart" 300
	whole
	cached "$T/apart" 300
}

@test "paths: a few that are hundreds of frames deep fit into the record of a new thread" {
	gcc -g -O1 -fno-optimize-sibling-calls -x c -o "$T/deep" - -lpthread <<-'EOF'
		#include <pthread.h>
		#include <stdlib.h>
		static void *volatile kept[64];
		static __attribute__((noinline)) int down(int depth, int place)
		{
			/* Two calls: paths of different places share only their first steps. */
			if (depth && place >> depth % 3 & 1) {
				down(depth - 1, place);
				return kept[0] != NULL;
			}
			if (depth)
				return down(depth - 1, place) + 2;
			kept[place] = malloc(24);
			return 0;
		}
		static void *run(void *data)
		{
			int first = *(int *)data;
			for (int i = 0; i < 8; i++)
				down(120, first + i);
			return NULL;
		}
		int main(void)
		{
			pthread_t threads[8];
			int places[8];
			for (int i = 0; i < 8; i++)
				pthread_create(&threads[i], NULL, run, (places[i] = 8 * i, &places[i]));
			for (int i = 0; i < 8; i++)
				pthread_join(threads[i], NULL);
			return 0;
		}
	EOF
	LD_PRELOAD=$HP_LIB "$T/deep"
	sites '[(row["count"], row["total_bytes"], len(row["frames"])) for row in s["raw"]]'
	[ "$(sites '[(row["count"], row["total_bytes"]) for row in s["raw"]].count((8, 192))')" = 8 ]
}

@test "paths: each of many is counted separately, even after the tables move into huge pages" {
	HOTPATH_LIMIT=20 LD_PRELOAD=$HP_LIB "$T/wide" paths 3
	[ "$(sites 's["total_count"] >= 1 << 14 and s["allocated_count"] >= 3 << 14')" = True ]
	[ "$(sites '(s["total_count"] - (1 << 14)) <= (s["allocated_count"] - (3 << 14))')" = True ]
	# The largest: 7 bytes each time.
	[ "$(sites '{(row["count"], row["total_bytes"]) for row in s["raw"] if row["name"].startswith("take")}')" = "{(3, 21)}" ]
	[ "$(sites 's["cache_mismatches"]')" = 0 ]
}

@test "paths: without them (HOTPATH_ALLOC_DEPTH=0) each caller is counted separately" {
	HOTPATH_ALLOC_DEPTH=0 LD_PRELOAD=$HP_LIB "$T/wide" callers 5
	python3 - "$T/report" <<-'END'
	import json, sys
	said = json.load(open(sys.argv[1]))["alloc_sites"]
	ours = [s for s in said["raw"] if s["frames"][0]["function"] == "callers"]
	assert len(ours) == 2048, len(ours)
	assert {(s["count"], s["total_bytes"], s["live_count"]) for s in ours} == {(5, 80, 5), (5, 80, 0)}
	assert sum(s["live_count"] for s in ours) == 1024 * 5
	END
}

# calls_of FUNCTION - of the library, in callgrind's last output.
calls_of()
{
	awk -v wanted="cfn=$1" '/^cfn=/ { is_it = $0 == wanted } /^calls=/ && is_it { sub(/^calls=/, ""); n += $1 }
		END { print n + 0 }' "$T/callgrind"
}

@test "paths: a new peak costs no further look-up" {
	HOTPATH_ALLOC_PROVE=0 LD_PRELOAD=$HP_LIB valgrind -q --tool=callgrind --compress-strings=no \
		--callgrind-out-file="$T/callgrind" "$T/peaks" 1000
	echo "$(calls_of hp_peak_look) peaks, $(calls_of hp_path_miss) paths missed"
	[ "$(calls_of hp_peak_look)" -ge 900 ]
	[ "$(calls_of hp_path_miss)" -ge 3 ]
	[ "$(calls_of hp_path_miss)" -le 300 ]
}

@test "paths: coroutines whose stacks are unmapped and used again smaller, and exceptions" {
	proven "$T/stacks" 300
	LD_PRELOAD=$HP_LIB "$T/stacks" 3000 >"$T/out"
	python3 - "$T/report" >"$T/ours" <<-'END'
	import json, sys
	count = {}
	for site in json.load(open(sys.argv[1]))["alloc_sites"]["raw"]:
	    names = [frame["function"].split("(")[0] for frame in site["frames"]]
	    for last in ("body_small", "body_large", "catcher"):
	        if last in names and "nested" not in names and names[0] == "leaf":
	            key = " ".join(names[:names.index(last) + 1])
	            count[key] = count.get(key, 0) + site["count"]
	for key, number in count.items():
	    print(number, key)
	END
	sort "$T/out" | diff - <(sort "$T/ours")
}

@test "paths: contexts of makecontext end where they began, handlers on a signal stack at main" {
	proven "$T/context" 50
	[ "$(sites 's["paths_incomplete"]')" = 0 ]
	LD_PRELOAD=$HP_LIB "$T/context" 3000 >"$T/out"
	[ "$(sites 's["paths_incomplete"]')" = 0 ]
	# None of the 48,000 blocks needs another walk: their stacks are known.
	[ "$(sites 's["paths_walked"] < 1000')" = True ]
	python3 - "$T/report" >"$T/ours" <<-'END'
	import json, sys
	count = dict.fromkeys(("shallow", "deep", "handler"), 0)
	last = {"shallow": "body", "deep": "body", "handler": "main"}
	for site in json.load(open(sys.argv[1]))["alloc_sites"]["raw"]:
	    names = [frame["function"] for frame in site["frames"]]
	    if names[0] == "take" and last[names[1]] in names:
	        count[names[1]] += site["count"]
	print(" ".join(f"{number} {name}" for name, number in count.items()))
	END
	diff "$T/out" "$T/ours"
}

@test "paths: of other projects' programs" {
	local cc1plus
	cc1plus=$(g++ -print-prog-name=cc1plus)
	echo '#include <utility>
	int main() { return std::pair<int, int>(0, 1).first; }' >"$T/small.cc"
	g++ -E "$T/small.cc" -o "$T/small.ii"
	[ -z "$HP_TEST_FULL" ] || { echo '#include <regex>' >"$T/small.cc"; g++ -E "$T/small.cc" -o "$T/small.ii"; }
	proven "$cc1plus" -quiet -O1 -fpreprocessed "$T/small.ii" -o /dev/null
	whole
	PYTHONMALLOC=malloc PYTHONHASHSEED=0 proven /usr/bin/python3 -c 'import json; print(len(json.loads(json.dumps([{"a": i} for i in range(3000)]))))'
	whole
	command -v sqlite3 >/dev/null || skip "no sqlite3 here"
	proven sqlite3 :memory: 'create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) insert into t select i, hex(i) from n; create index x on t(b); select count(*), max(b) from t;'
	whole
}

@test "paths: our own memory does not grow with the number of pairs" {
	local few=100000 many=3000000 before after
	[ -z "$HP_TEST_FULL" ] || many=1000000000
	before=$(LD_PRELOAD=$HP_LIB "$T/pairs" $few)
	after=$(LD_PRELOAD=$HP_LIB "$T/pairs" $many)
	[ "$(sites 's["allocated_count"]')" -ge $many ]
	echo "KiB resident: $before after $few pairs, $after after $many"
	[ $((after - before)) -le 512 ]
}

@test "paths: a fiber's stack is looked up once, not for each walk" {
	proven "$T/fibers"
	rm -f "$T/report"
	HOTPATH_CPU=off strace -f -qq -e trace=process_vm_readv -o "$T/trace" env LD_PRELOAD="$HP_LIB" "$T/fibers" >"$T/out"
	[ "$(cat "$T/out")" = 5000 ]
	echo "asked: $(wc -l <"$T/trace"), walked: $(sites 's["paths_walked"]')"
	[ "$(wc -l <"$T/trace")" -lt 500 ]
}

# Later processes of a session inherit unwinding rules, which another build's are not.
@test "paths: of another build with the same name and build-id in one session" {
	cd "$BATS_TEST_TMPDIR"
	for build in "old -DFRAME(n)=200+16*n" "frames -DFRAME(n)=200+16*(100-n)" \
		"code -DFRAME(n)=200+16*n -DEXTRA=room[2]=1"; do
		gcc -O1 -Wl,--build-id=0x00112233445566778899aabbccddeeff00112233 \
			-o $build "$ROOT/test/behave/programs/alloc_frames.c"
	done
	# As large, with each function at its place: only the frames differ.
	[ "$(size old)" = "$(size frames | sed 's/frames/old/')" ]
	for new in frames code; do
		cp old app
		"$HP_RUN" sh -c './app 1 1; ./app 1 1; ./app 1 1; cat $0 >app; ./app 7 1000; ./app 7 1000' $new
		python3 - "$T/report" <<'END'
import json, sys
s = json.load(open(sys.argv[1]))["alloc_sites"]
assert s["paths_incomplete"] == 0, s["paths_incomplete"]
whole = {}
for row in s["raw"]:
    names = [frame["function"] for frame in row["frames"]]
    if names[0] == "take" and names[2] == "main" and row["total_bytes"] >= 14000:
        whole[names[1]] = row["total_bytes"]
assert len(whole) == 90, sorted(whole)
END
	done
}
