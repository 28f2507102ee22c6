#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# format.bats - segment/FORMAT.md says how to read a segment: a reader made from that page alone finds
# the same as the report.

load helper

# Leaves and their callers, recursion, threads, a forked child, a second image: everything that a
# segment can hold.
setup_file()
{
	compile shapes <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

volatile unsigned sink;

void leaf(void) { sink++; }
void slow(void) { for (volatile int i = 0; i < 3000; i++) sink += i; }
void branch(int n) { for (int i = 0; i < n; i++) leaf(); slow(); }
int depth(int n) { return n ? 1 + depth(n - 1) : 0; }
void *thread(void *arg) { branch(200000); depth(300); return arg; }

void child(void)
{
	branch(1000);
	_exit(0);
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	if (argc > 1) {
		branch(77);
		return 0;
	}
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 5; i++)
		depth(i * 1000);
	if (fork() == 0)
		child();
	wait(NULL);
	if (fork() == 0)
		execl(argv[0], argv[0], "again", (char *)NULL);
	wait(NULL);
	return 0;
}
END
}

# by_name SEGMENT PROGRAM - the reader's lines with names for addresses, main as the report calls it.
by_name()
{
	python3 "$ROOT/test/behave/read_format.py" "$1" >"$T/read.txt" || return
	nm "$2" | python3 -c '
import sys
names = {}
for line in sys.stdin:
    parts = line.split()
    if len(parts) == 3 and parts[1] in "tT":
        names[int(parts[0], 16)] = parts[2]
for line in open(sys.argv[1]):
    path, address, *numbers = line.split(" ")
    name = names.get(int(address, 16), address)
    print(sys.argv[2] + "::main" if name == "main" else name, *map(int, numbers))
' "$T/read.txt" "${2##*/}" | sort
}

# from_report REPORT - the same from the report; times of calls in progress are estimates, hence -.
from_report()
{
	python3 -c '
import json, sys
for r in json.load(open(sys.argv[1]))["functions_timing"]["raw"]:
    times = [r["inclusive_ns"], r["self_ns"], r["p50_ns"]]
    bounds = [r["inclusive_low_ns"], r["inclusive_high_ns"], r["self_low_ns"], r["self_high_ns"]]
    print(r["name"], r["calls"], *(times if r["running_calls"] == 0 else "---"), *bounds)
' "$1" | sort
}

# alike READ REPORT MOST - equal names and calls; percentiles within a bucket's width.  The report
# reconciles times within their errors, exact ones too, where a few ns too much or too little were
# subtracted for each hook: so a reading lies in its stated interval, or is up to MOST times as much or as
# little. An own time of 0 is a negative difference, where callees seem to take longer than their caller:
# only the report reconciles these. With a MOST of 1 slow() is equal but for rounding: few calls, so next to
# nothing to reconcile.
alike()
{
	python3 -c '
import sys
read, said = ([line.split() for line in open(path)] for path in sys.argv[1:3])
most = float(sys.argv[3])
assert [r[:2] for r in read] == [r[:2] for r in said], (read, said)
for r, s in zip(read, said):
    for i, share, low, high in (2, 0.001, 5, 6), (3, 0.001, 7, 8), (4, 0.02, 4, 4):
        if s[i] == "-":
            continue
        off = 20 + share * int(s[i])
        is_equal = most == 1 and r[0] == "slow"
        factor = most if i < 4 else 1
        least, greatest = (int(s[i]), int(s[i])) if is_equal else (int(s[low]) / factor, int(s[high]) * factor)
        if i == 3 and factor > 1 and int(r[i]) == 0:
            least = 0
        assert least - off <= int(r[i]) <= greatest + off, (r, s, i)
assert len(read) >= 5
' "$1" "$2" "$3"
}

# agrees MOST
agrees()
{
	export HOTPATH_SEGMENT_PATH=$T/shapes.segment HOTPATH_OUTPUT_FORMAT=json HOTPATH_PERCENTILES=50
	export HOTPATH_FUNCTIONS_LIMIT=0 HOTPATH_OUTPUT_PATH=$T/shapes.json
	rm -f "$T/shapes.json"
	LD_PRELOAD=$HP_LIB "$T/shapes"
	report_comes "$T/shapes.json"
	by_name "$T/shapes.segment" "$T/shapes" >"$T/read"
	from_report "$T/shapes.json" >"$T/said"
	diff "$T/read" "$T/said" || true
	alike "$T/read" "$T/said" "$1"
}

@test "a reader of FORMAT.md finds the report's figures, every call timed" {
	HOTPATH_TIMING=exact agrees 1
}

@test "a reader of FORMAT.md finds the report's figures, calls sampled" {
	agrees 2
	grep -q '^leaf 601077 ' "$T/read"
}

# Counted, and with times: it can be read while it is written.
many_leaves()
{
	by_name "$T/killed.segment" "$T/endless" >"$T/read" &&
		grep -q -E '^leaf [0-9]{5,} [0-9]{4,} ' "$T/read"
}

@test "a reader of FORMAT.md reads the segment of a killed program" {
	export HOTPATH_SEGMENT_PATH=$T/killed.segment HOTPATH_OUTPUT_FORMAT=none
	compile endless <<<'volatile int x; void leaf(void) { x++; } int main(void) { for (;;) leaf(); }'
	LD_PRELOAD=$HP_LIB "$T/endless" &
	eventually many_leaves
	kill -9 $!
	wait $! 2>/dev/null || true
	# The helper writes into it once more: how the program ended.
	eventually many_leaves
	cat "$T/read"
	grep -q '^endless::main 1 ' "$T/read"
}

# It is a sparse file of 1 GiB; several tries may be needed until the program has got that far.
@test "a reader of FORMAT.md needs only the memory of the used part of the segment" {
	HOTPATH_SEGMENT_PATH=$T/sparse.segment HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$HP_LIB "$T/shapes"
	[ "$(stat -c %s "$T/sparse.segment")" -ge $((1 << 30)) ]
	(
		ulimit -v 524288
		python3 "$ROOT/test/behave/read_format.py" "$T/sparse.segment"
	) >"$T/read"
	grep "/shapes 0x" "$T/read"
}

@test "a reader of FORMAT.md refuses files that are not segments" {
	head -c 5000 /dev/zero >"$T/zeroes"
	run python3 "$ROOT/test/behave/read_format.py" "$T/zeroes"
	[ "$status" = 1 ]
	[ "$output" = "not a segment" ]
}

# heaps_agree KIND COMMAND...
heaps_agree()
{
	local kind=$1
	shift
	rm -f "$T/h.segment" "$T/h.json"
	HOTPATH_REPORT=alloc-sites,direct-maps,alloc-sizes HOTPATH_ALLOC_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH=$T/h.json HOTPATH_SEGMENT_PATH=$T/h.segment LD_PRELOAD=$HP_LIB "$@" >/dev/null
	report_comes "$T/h.json"
	python3 "$ROOT/test/behave/read_heaps.py" "$T/h.segment" $kind >"$T/read"
	python3 - "$T/h.json" "$kind" >"$T/said" <<-'END'
	import json, sys
	r = json.load(open(sys.argv[1]))
	blocks = "count total_bytes frees freed_bytes temporary_count live_count live_bytes peak_bytes"
	maps = "count total_bytes freed_bytes live_ranges live_bytes peak_bytes"
	section, keys = ("direct_maps", maps) if sys.argv[2] else ("alloc_sites", blocks)
	for numbers in sorted([row[key] for key in keys.split()] for row in r[section]["raw"]):
	    print(*numbers)
	print("drawn", r["alloc_sizes"]["drawn_blocks"], r["alloc_sizes"]["drawn_freed"])
	END
	diff "$T/said" "$T/read"
}

@test "a reader of FORMAT.md finds the report's allocations, path by path: threads, forks, peaks, maps" {
	local name
	for name in paths threads; do
		gcc -D_GNU_SOURCE -g -O1 -o "$T/$name" "$ROOT/test/behave/programs/alloc_$name.c" -lpthread
	done
	gcc -g -O1 -o "$T/maps" "$ROOT/test/behave/programs/maps.c" -lpthread -ldl
	heaps_agree "" "$T/paths" 300
	heaps_agree "" "$T/paths" peak
	heaps_agree "" "$T/threads" 4 300
	heaps_agree "" "$T/threads" fork 5
	heaps_agree maps "$T/maps" random 3 500
	heaps_agree maps "$T/maps" threads 500
	[ "$(wc -l <"$T/read")" -gt 3 ]
}

# wide_heaps TIMES MODE - alloc_wide, run TIMES times by a shell: writes the bytes of each path, and the number of rules and
# of their addresses. No path of the shell has as many blocks.
wide_heaps()
{
	local times=$1 run="'$T/wide' $2 37;"
	rm -f "$T/h.segment"
	[ "$times" = 1 ] || run="$run$run$run"
	HOTPATH_REPORT=alloc-sites HOTPATH_OUTPUT_FORMAT=none HOTPATH_KEEP=0 HOTPATH_SEGMENT_PATH=$T/h.segment \
		LD_PRELOAD=$HP_LIB sh -c "$run :"
	python3 "$ROOT/test/behave/read_heaps.py" "$T/h.segment" >"$T/read"
	awk -v n="$times" '$1 == 37 * n { print $2 }' "$T/read" | sort -n | uniq -c | awk '{ print $1, $2 }' >"$T/paths"
	python3 "$ROOT/test/behave/read_heaps.py" "$T/h.segment" rules >"$T/rules"
	read -r rules distinct <"$T/rules"
}

# They have rules and known paths from the first, at other addresses.
@test "later processes of an executable have the paths of the first, and keep no rules again" {
	local rules distinct first size
	gcc -D_GNU_SOURCE -g -O1 -pie -fPIE -o "$T/wide" "$ROOT/test/behave/programs/alloc_wide.c"
	wide_heaps 3 paths
	for size in 1 2 3 4 5 6 7; do
		echo $((16384 / 7 + (size <= 16384 % 7))) $((37 * 3 * size))
	done >"$T/expected"
	diff "$T/expected" "$T/paths"
	wide_heaps 1 callers
	first=$rules
	[ "$first" -ge 1900 ]
	[ "$first" = "$distinct" ]
	wide_heaps 3 callers
	[ "$(cat "$T/paths")" = "2048 $((37 * 3 * 16))" ]
	[ "$rules" -le "$((first + 10))" ]
}

# A start that searched a page for each of them would take that many page faults.
@test "processes and objects of a segment lie side by side" {
	local name
	for name in a b c d e f; do cp "$(type -P sort)" "$T/$name"; done
	HOTPATH_KEEP=0 HOTPATH_OUTPUT_FORMAT=none HOTPATH_SEGMENT_PATH=$T/side.segment LD_PRELOAD=$HP_LIB \
		sh -c "for name in a b c d e f; do $T/\$name <$HP_LIB >$T/out; done; :"
	python3 - "$ROOT/test/behave" "$T/side.segment" <<-'END'
		import sys
		sys.path.insert(0, sys.argv[1])
		from read_format import Segment
		segment = Segment(sys.argv[2])
		places = [at for at, _ in segment.walk(segment.header("Q", 80), 192, 0)]
		places += [at for at, _ in segment.walk(segment.header("Q", 88), 128, 0)]
		assert len(places) >= 14, places
		pages = {at // 4096 for at in places}
		assert len(places) > 3 * len(pages), places
	END
}

# Its parent's clock tells it as a rule, and the kernel only where two ticks are possible. 300 children live at once.
@test "the start time of each forked child in a segment is the kernel's" {
	cat >"$T/starts.py" <<-'END'
		import os
		ends, children = os.pipe(), []
		for i in range(300):
		    if os.fork() == 0:
		        os.close(ends[1])
		        with open("/proc/self/stat") as f:
		            line = "%d %s\n" % (os.getpid(), f.read().rpartition(")")[2].split()[19])
		        os.write(1, line.encode())
		        os.read(ends[0], 1)
		        os._exit(0)
		os.close(ends[1])
		while True:
		    try:
		        os.wait()
		    except ChildProcessError:
		        break
	END
	HOTPATH_KEEP=0 HOTPATH_OUTPUT_FORMAT=none HOTPATH_SEGMENT_PATH=$T/starts.segment LD_PRELOAD=$HP_LIB \
		python3 "$T/starts.py" >"$T/starts"
	python3 - "$ROOT/test/behave" "$T/starts.segment" "$T/starts" <<-'END'
		import sys
		sys.path.insert(0, sys.argv[1])
		from read_format import Segment, field
		segment = Segment(sys.argv[2])
		found = {field(p, "I", 12): field(p, "Q", 136) for _, p in segment.walk(segment.header("Q", 80), 192, 0)}
		kernel = {int(pid): int(start) for pid, start in map(str.split, open(sys.argv[3]))}
		assert len(kernel) == 300 and len(set(kernel.values())) > 1, kernel
		assert all(found[pid] == start for pid, start in kernel.items()), (found, kernel)
	END
}
