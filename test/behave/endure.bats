#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# endure.bats - stress on a session, or a helper that is gone for a while: storms of short processes, a helper
# that does not run or is of another version, a second copy of the library, clocks of another time namespace.

load helper

setup_file()
{
	compile tiny <<-'EOF'
		#include <stdlib.h>
		static __attribute__((noinline)) void *one(void) { return malloc(100); }
		int main(void) { void *volatile p = one(); free(p); return 0; }
	EOF
	# Works, waits for its input, works again.
	compile works <<-'EOF'
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		static volatile long sum;
		static __attribute__((noinline)) void work(long i)
		{
			void *volatile p = malloc(10);
			sum += i;
			free(p);
		}
		int main(void)
		{
			char byte;

			for (long i = 0; i < 20000; i++)
				work(i);
			if (read(0, &byte, 1) != 1)
				return 1;
			for (long i = 0; i < 10000; i++)
				work(i);
			printf("%ld\n", sum);
			fflush(stdout);
			return 3;
		}
	EOF
	cat >"$T/storm.mk" <<-'EOF'
		.RECIPEPREFIX = >
		N := $(shell seq $(COUNT))
		all: $(addprefix t,$(N))
		> @grep VmHWM /proc/$$(od -An -t u4 -j 200 -N 4 $(SEGMENT) | tr -d ' ')/status >$(OUT)
		> @od -An -t u8 -j 64 -N 16 $(SEGMENT) >>$(OUT)
		> @du -k $(SEGMENT) >>$(OUT)
		t%:
		> @$(TINY)
	EOF
}

# Each process is counted, and leaves only counts: 525 bytes in the segment, 1 kB in the helper.
@test "endure: a storm of short processes is folded" {
	local count=400 used refused

	[ -z "$HP_TEST_FULL" ] || count=10000
	cd "$BATS_TEST_TMPDIR"
	HOTPATH_SEGMENT_PATH=$PWD/segment HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$PWD/report HOTPATH_REPORT=all \
		LD_PRELOAD=$HP_LIB make -s -j2 -f "$T/storm.mk" COUNT=$count SEGMENT="$PWD/segment" OUT="$PWD/out" TINY="$T/tiny"
	report_comes report
	cat out
	[ "$(counts_in report | grep -v make)" = "main $count"$'\n'"one $count" ]
	python3 - report "$count" <<-'EOF'
		import json, sys
		report = json.load(open(sys.argv[1]))
		lost = {k: v for k, v in report["summary"].items() if k.startswith("lost_") and v}
		assert not lost and report["summary"]["refused_chunks"] == 0, report["summary"]
		one = [r for r in report["functions_alloc"]["raw"] if r["name"] == "one"]
		assert one[0]["total_bytes"] == 100 * int(sys.argv[2]), one
	EOF
	read -r used refused < <(sed -n 2p out)
	[ "$refused" = 0 ]
	[ "$used" -lt $((4000000 + count * 1000)) ]
	[ "$(awk '/VmHWM/ { print $2 }' out)" -lt $((20000 + count)) ]
}

# Their stacks are unmapped at once, so the loader finally frees the allocations that their creator
# made for them.
@test "endure: detached threads that allocate nothing leave nothing" {
	compile detached <<-'EOF'
		#include <pthread.h>
		#include <semaphore.h>
		static sem_t done;
		static void *nothing(void *arg) { sem_post(&done); return arg; }
		int main(int argc, char **argv)
		{
			pthread_attr_t attributes;
			pthread_t thread;

			(void)argv;
			sem_init(&done, 0, 0);
			pthread_attr_init(&attributes);
			pthread_attr_setstacksize(&attributes, 64 << 20);
			pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
			for (int i = 0; i < (argc > 1 ? 4000 : 500); i++) {
				while (pthread_create(&thread, &attributes, nothing, NULL) != 0)
					;
				sem_wait(&done);
			}
		}
	EOF
	local used=()
	for many in '' x; do
		HOTPATH_SEGMENT_PATH=$T/many HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$HP_LIB "$T/detached" $many
		used+=("$(od -An -t u8 -j 64 -N 8 "$T/many" | tr -d ' ')")
		rm "$T/many"
	done
	echo "${used[@]}"
	# Where the machine is busy many end at once, each with a record for that time: 3500 times 2.7 KB would
	# be 9 MB.
	[ $((used[1] - used[0])) -lt 2000000 ]
}

@test "endure: the program or its helper is killed at any moment: the report is complete and correct" {
	unset HOTPATH_EXIT_WAIT_MS	# waits for a helper that was killed before it started
	compile kept_count <<-'EOF'
		#include <fcntl.h>
		#include <stdint.h>
		#include <sys/mman.h>
		static __attribute__((noinline)) void work(void) { __asm__ volatile(""); }
		int main(int argc, char **argv)
		{
			volatile uint64_t *words = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
							open(argv[argc - 1], O_RDWR), 0);
			while (!words[1]) {
				work();
				words[0]++;
			}
			return 3;
		}
	EOF
	python3 "$ROOT/test/behave/kills.py" "$HP_BUILD" "$T/kept_count" "$([ -n "$HP_TEST_FULL" ] && echo 1000 || echo 20)"
}

# The pid of the helper of a segment.
helper_of()
{
	local pid

	[ -s "$1" ] && pid=$(od -An -t u4 -j 200 -N 4 "$1" | tr -d ' ') && [ "$pid" != 0 ] && echo "$pid"
}

# begin - starts `works`, whose input is descriptor 7; $helper is its helper.
begin()
{
	cd "$BATS_TEST_TMPDIR"
	mkfifo input
	(
		HOTPATH_SEGMENT_PATH=$PWD/segment HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$PWD/report \
			HOTPATH_REPORT=all LD_PRELOAD=$HP_LIB "$T/works" <input >out 2>err 3>&- || echo "status $?" >>out
	) &
	program=$!
	exec 7>input
	eventually helper_of segment
	helper=$(helper_of segment)
}

is_all_there()
{
	report_comes report err
	cat err out
	[ ! -s err ]
	[ "$(cat out)" = "249985000"$'\n'"status 3" ]
	[ "$(counts_in report)" = "work 30000"$'\n'"works::main 1" ]
	python3 -c '
import json
report = json.load(open("report"))
work = [r for r in report["functions_alloc"]["raw"] if r["name"] == "work"][0]
assert work["total_bytes"] == 300000, work
assert report["threads"]["raw"][0]["cpu_ns"] > 0
'
}

# A helper that stayed stopped would keep the next tests waiting.
teardown()
{
	[ -z "$helper" ] || kill -CONT "$helper" 2>/dev/null || :
	reports_are_possible
}

@test "endure: a helper is stopped and continued" {
	begin
	kill -STOP "$helper"
	eventually is_stopped "$helper"
	echo x >&7
	exec 7>&-
	# The program has finished its work, all of it without the helper.
	eventually [ -s out ]
	kill -CONT "$helper"
	wait "$program"
	is_all_there
}

@test "endure: a helper is stopped when the program ends" {
	unset HOTPATH_EXIT_WAIT_MS
	begin
	kill -STOP "$helper"
	eventually is_stopped "$helper"
	echo x >&7
	exec 7>&-
	wait "$program"
	[ ! -s report ]
	grep "^hotpath: the report takes longer than 5 s" err
	kill -CONT "$helper"
	is_all_there
}

@test "endure: a program is stopped and continued" {
	begin
	local pid
	pid=$(pgrep -P "$program" works)
	kill -STOP "$pid"
	eventually is_stopped "$pid"
	echo x >&7
	exec 7>&-
	[ ! -s out ]
	kill -CONT "$pid"
	wait "$program"
	is_all_there
}

# other_version PART... - another version has another segment format: copies get another magic number.
other_version()
{
	mkdir -p "$BATS_TEST_TMPDIR/bin"
	cp "$HP_BUILD"/hotpath* "$BATS_TEST_TMPDIR/bin"
	cd "$BATS_TEST_TMPDIR/bin"
	python3 - "$@" <<-'EOF'
		import sys
		for name in sys.argv[1:]:
		    data = open(name, "rb").read()
		    assert b"HOTPATH1" in data
		    open(name, "wb").write(data.replace(b"HOTPATH1", b"HOTPATH0"))
	EOF
}

@test "endure: exit waits for the report for the configured time" {
	export HOTPATH_EXIT_WAIT_MS=50
	begin
	kill -STOP "$helper"
	echo x >&7
	exec 7>&-
	wait "$program"
	[ ! -s report ]
	grep "^hotpath: the report takes longer than HOTPATH_EXIT_WAIT_MS; it will be in" err
	kill -CONT "$helper"
	is_all_there
}

@test "endure: a helper of another version says so, and the report is printed" {
	unset HOTPATH_EXIT_WAIT_MS
	other_version hotpath-sampler
	HOTPATH_BIN=$BATS_TEST_TMPDIR/bin LD_PRELOAD=$HP_LIB run "$T/tiny"
	echo "$output"
	[ "$status" = 0 ]
	[ "$(grep -c '^hotpath-sampler: ' <<<"$output")" = 1 ]
	[[ $output == *"hotpath-sampler: no segment of this version"* ]]
	grep -qE '^one +1 ' <<<"$output"
}

@test "endure: a report command of another version says so" {
	other_version hotpath hotpath-report.so
	HOTPATH_BIN=$BATS_TEST_TMPDIR/bin LD_PRELOAD=$HP_LIB run "$T/tiny"
	[ "$status" = 0 ]
	[ "$output" = "hotpath: the segment is not a hotpath segment" ]
}

@test "endure: two copies of the library" {
	cd "$BATS_TEST_TMPDIR"
	mkdir copy
	cp "$HP_BUILD"/hotpath* "$HP_LIB" copy
	for both in "$HP_LIB:$PWD/copy/libhotpath.so" "$PWD/copy/libhotpath.so:$HP_LIB"; do
		rm -f report
		HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$PWD/report LD_PRELOAD=$both "$T/works" <<<x >out || status=$?
		[ "$status" = 3 ]
		[ "$(cat out)" = 249985000 ]
		report_comes report
		[ "$(counts_in report)" = "work 30000"$'\n'"works::main 1" ]
	done
}

@test "endure: clocks of another time namespace" {
	unshare --time --monotonic 100000 --fork true 2>/dev/null || skip "no time namespaces here"
	cd "$BATS_TEST_TMPDIR"
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$PWD/report LD_PRELOAD=$HP_LIB \
		unshare --time --monotonic 100000 --boottime 200000 --fork "$T/works" <<<x >out || status=$?
	[ "$status" = 3 ]
	report_comes report
	[ "$(counts_in report | grep -v unshare)" = "main 1"$'\n'"work 30000" ]
	# Nothing was profiled in the 27 hours between the two clocks.
	python3 -c '
import json
report = json.load(open("report"))
main = [r for r in report["functions_timing"]["raw"] if r["name"].endswith("main")][0]
assert 0 < main["total_ns"] <= report["summary"]["wall_ns"] < 3600 * 10**9, report["summary"]
assert all(t["life_ns"] < 3600 * 10**9 for t in report["threads"]["raw"])
'
}

@test "endure: its processors are changed while it runs" {
	[ "$(nproc)" -gt 1 ] || skip "one processor"
	begin
	local pid cpus
	pid=$(pgrep -P "$program" works)
	# Descriptors that may be ours, if 0 is possible.
	cpus=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0))[:2])')
	for cpu in $cpus $cpus $cpus; do
		taskset -apc "$cpu" "$pid" >/dev/null
		taskset -apc "$cpu" "$helper" >/dev/null
	done
	echo x >&7
	exec 7>&-
	wait "$program"
	is_all_there
}

# As when a program loses the rights to its session and starts a new one.
@test "endure: several sessions write one file: the last writer wins" {
	cd "$BATS_TEST_TMPDIR"
	for _ in {1..10}; do
		for program in "$T/tiny" "$T/works" "$T/tiny"; do
			HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$PWD/report LD_PRELOAD=$HP_LIB "$program" <<<x >/dev/null &
		done
		wait
		eventually helpers_are_gone
		python3 -m json.tool report >/dev/null
	done
}

# 2^31 events take minutes to count: the segment is a file, so its counters are set to just below
# that.
@test "endure: counters of 32 and of 31 bits are exceeded, and nothing is lost" {
	export HOTPATH_TIMING=exact
	begin
	eventually sh -c "python3 $ROOT/test/behave/wraps.py sum segment | grep -q '^20000 '"
	read -r calls cells < <(python3 "$ROOT/test/behave/wraps.py" set segment)
	[ "$calls" = $(((1 << 32) - 5000)) ]
	echo x >&7
	exec 7>&-
	wait "$program"
	report_comes report err
	# The counter of the last timed call before the change comes after it.
	read -r calls_after cells_after < <(python3 "$ROOT/test/behave/wraps.py" sum segment)
	echo "$calls $cells, then $calls_after $cells_after"
	[ "$calls_after" = $(((1 << 32) + 5000)) ]
	[ $((cells_after - cells)) -ge 10000 ]
	[ $((cells_after - cells)) -le 10001 ]
	[ "$(counts_in report | grep '^work ')" = "work $calls_after" ]
}

# A process whose record is left in a segment is dead, and another program has its number.
@test "endure: a reused pid is not confused" {
	unshare --pid --net --fork --mount-proc sh -c 'echo 4000 >/proc/sys/kernel/ns_last_pid' 2>/dev/null ||
		skip "numbers of processes cannot be chosen here"
	compile other <<-'EOF'
		#include <stdio.h>
		#include <unistd.h>
		static __attribute__((noinline)) void others(void) { __asm__ volatile(""); }
		int main(void)
		{
			char byte;

			others();
			puts("up");
			fflush(stdout);
			return read(0, &byte, 1) == 1;
		}
	EOF
	cat >"$BATS_TEST_TMPDIR/scene" <<-'EOF'
		cd "$BATS_TEST_TMPDIR"
		hotpath=$HP_BUILD/hotpath
		mkfifo first second
		export HOTPATH_OUTPUT_FORMAT=json
		echo 4000 >/proc/sys/kernel/ns_last_pid
		HOTPATH_SEGMENT_PATH=$PWD/segment HOTPATH_OUTPUT_PATH=$PWD/report LD_PRELOAD=$HP_LIB "$T/works" <first &
		dead=$!
		exec 7>first
		until [ -s segment ] && [ "$(od -An -t u4 -j 200 -N 4 segment)" -gt 0 ] &&
			"$hotpath" report segment -f json | grep -q '"work"'; do sleep 0.02; done
		# Nobody is left to report that it ended.
		kill -9 $(od -An -t u4 -j 200 -N 4 segment) $dead
		wait $dead
		# The same number, a program that is not profiled.
		echo $((dead - 1)) >/proc/sys/kernel/ns_last_pid
		sleep 1000 &
		plain=$!
		echo "plain $((plain == dead))"
		"$hotpath" list 2>/dev/null | grep running || echo "none runs"
		"$hotpath" report --session $plain
		"$hotpath" report segment -f json | grep -o '"name": *"works::main"\|"name": *"work"' | sort -u
		kill -9 $plain
		wait $plain
		touch out
		# And a profiled one.
		echo $((dead - 1)) >/proc/sys/kernel/ns_last_pid
		LD_PRELOAD=$HP_LIB "$T/other" <second >out 2>/dev/null &
		other=$!
		exec 8>second
		until grep -q up out; do sleep 0.02; done
		echo "other $((other == dead))"
		"$hotpath" list 2>/dev/null | grep running | grep -ow "other\|works"
		"$hotpath" report --session $other -f json | grep -o '"name": *"others"\|"name": *"work"' | sort -u
		"$hotpath" report segment -f json | grep -o '"name": *"others"\|"name": *"work"' | sort -u
		exec 8>&-
		wait $other
	EOF
	# Sessions are found by names in the network namespace, which hides those of others.
	run unshare --pid --net --fork --mount-proc bash "$BATS_TEST_TMPDIR/scene"
	echo "$output"
	diff - <(grep -v Killed <<<"$output") <<-'WANTED'
		plain 1
		none runs
		hotpath: session 4001: there is none; hotpath list shows running ones
		"name":"work"
		"name":"works::main"
		other 1
		other
		"name":"others"
		"name":"work"
	WANTED
}
