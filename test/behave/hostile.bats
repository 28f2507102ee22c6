#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# hostile.bats - files that claim more than they hold.

load helper

setup_file()
{
	record_here
}

# record_here - the segment of a program with records of many kinds.
record_here()
{
	cat >"$T/many.c" <<-'END'
		#include <pthread.h>
		#include <stdlib.h>
		static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
		__attribute__((noinline)) int leaf(int i)
		{
			void *block = malloc((size_t)(24 + i % 100));
			pthread_mutex_lock(&mutex);
			pthread_mutex_unlock(&mutex);
			free(block);
			return i;
		}
		__attribute__((noinline)) int one(int i) { return leaf(i) + 1; }
		__attribute__((noinline)) int two(int i) { return one(i) + leaf(i); }
		static void *run(void *sum)
		{
			for (int i = 0; i < 20000; i++)
				*(int *)sum += one(i) + two(i);
			return NULL;
		}
		int main(void)
		{
			pthread_t threads[4];
			int sums[4] = { 0 };
			for (int i = 0; i < 4; i++)
				pthread_create(&threads[i], NULL, run, &sums[i]);
			for (int i = 0; i < 4; i++)
				pthread_join(threads[i], NULL);
			return 0;
		}
	END
	gcc -g -O1 -finstrument-functions -o "$T/many" "$T/many.c" -lpthread
	HOTPATH_KEEP=0 HOTPATH_REPORT=all HOTPATH_OUTPUT_PATH=/dev/null HOTPATH_SEGMENT_PATH=$T/segment \
		LD_PRELOAD=$HP_LIB "$T/many"
}

# bounded CLAIM [SEED LOOPS WIDE] - the cost of reading such a copy depends on its real
# contents, not on its claims.
bounded()
{
	local view
	"$ROOT/test/behave/hostile_file.py" "$T/segment" "$T/copy" "$@" || return
	for view in "-r all -n 0 --format=json" "--export=firefox -o $T/view" "--html -o $T/view"; do
		"$ROOT/test/behave/bounded.py" "$T/copy" "$T/segment" "$HP_BUILD/hotpath" report $view "$T/copy" ||
			return
	done
	rm -f "$T/copy" "$T/view"
}

@test "hostile: an undamaged file that claims 64 GiB costs only what it contains" {
	bounded $((64 << 30))
}

@test "hostile: endless lists in files that claim 1 GiB and 64 GiB" {
	bounded $((1 << 30)) 1 0.01 0
	bounded $((1 << 30)) 2 0.1 0
	bounded $((64 << 30)) 3 0.03 0
}

@test "hostile: records that claim to be as large as the file" {
	bounded $((64 << 30)) 122 0.01 0.01
	bounded $((1 << 30)) 124 0.01 0.001
	bounded $((1 << 30)) 5 0 0.05
}

@test "hostile: record counts as large as the file" {
	local seed
	# Each of them meets that of the threads in one of five.
	for seed in $(seq 201 208); do
		bounded $((1 << 30)) "$seed" 0 0.3
	done
}

@test "hostile: stacks of samples that are deeper than any that is recorded" {
	local view
	"$ROOT/test/behave/hostile_records.py" "$T/segment" "$T/copy" deep 12000
	for view in "-r all" "-r all --format=json" "--folded -o $T/view"; do
		"$ROOT/test/behave/bounded.py" "$T/copy" "$T/segment" "$HP_BUILD/hotpath" report $view "$T/copy"
	done
}

@test "hostile: very many locks, each at another place" {
	local view
	"$ROOT/test/behave/hostile_records.py" "$T/segment" "$T/copy" locks 20000
	for view in "-r all" "-r all -n 0 --format=json" "--html -o $T/view"; do
		"$ROOT/test/behave/bounded.py" "$T/copy" "$T/segment" "$HP_BUILD/hotpath" report $view "$T/copy"
	done
}

@test "hostile: names and texts of control characters" {
	local view
	"$ROOT/test/behave/hostile_records.py" "$T/segment" "$T/copy" texts | tee "$T/count"
	[ "$(cut -d ' ' -f 1 "$T/count")" -ge 4 ]
	for view in "" "-r all -n 0" "-r all -n 0 --format=json" --folded "--html -o $T/view"; do
		"$HP_BUILD/hotpath" report $view "$T/copy" >"$T/out" 2>"$T/err" || [ $? = 2 ]
		case $view in --html*) cat "$T/view" >>"$T/out" ;; esac
		# Tabulators and ends of lines are ours, in the page.
		run ! env LC_ALL=C grep -aP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]' "$T/out" "$T/err"
		iconv -f utf-8 -t utf-8 "$T/out" >/dev/null
	done
	"$HP_BUILD/hotpath" report -r all -n 0 --format=json "$T/copy" | python3 -c 'import json, sys; json.load(sys.stdin)'
}

@test "hostile: many other kinds of damage in a file that claims 64 GiB" {
	local seed
	[ -n "$HP_TEST_FULL" ] || skip "HP_TEST_FULL=1 runs it: minutes"
	for seed in $(seq 100); do
		bounded $((64 << 30)) "$seed" 0.01 0.01
		bounded $((64 << 30)) "$seed" 0.1 0.05
		bounded $((1 << 30)) "$seed" 0 0.3
	done
}

@test "hostile: a device or a folder in place of a file is refused at once, with one message" {
	local file
	for file in /dev/zero "$T"; do
		run timeout 20 "$HP_BUILD/hotpath" check "$file"
		[ "$output" = "hotpath check: $file: not a file" ]
		[ "$status" = 1 ]
	done
	# Said once, not by the library as well, and what was preloaded stays.
	run env LD_PRELOAD=libm.so.6 "$HP_BUILD/hotpath" run --segment "$T" sh -c 'echo "$LD_PRELOAD"'
	[ "$output" = "hotpath: not profiled: HOTPATH_SEGMENT_PATH: File exists; remove that file, or name another"$'\n'libm.so.6 ]
}
