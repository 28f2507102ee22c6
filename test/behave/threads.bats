#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# threads.bats - the table of threads: each thread's CPU time, also if no scan saw its
# end.

load helper

@test "threads: the CPU time of an ended thread is its total, not that of the last scan" {
	compile burners -fno-instrument-functions <<-'EOF'
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <stddef.h>
		#include <stdio.h>
		#include <time.h>
		#include <unistd.h>
		static void *burn(void *argument)
		{
			struct timespec t = { 0, 0 };
			while (!t.tv_sec && t.tv_nsec < 100000000)
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
			printf("%d %ld\n", gettid(), t.tv_sec * 1000000000L + t.tv_nsec);
			return argument;
		}
		int main(void)
		{
			for (int i = 0; i < 6; i++) {
				pthread_t thread;
				pthread_create(&thread, NULL, burn, NULL);
				pthread_join(thread, NULL);
			}
			return 0;
		}
	EOF
	# Scans are far apart: some threads are seen just after they began, some never.
	HOTPATH_REPORT=threads,thread-states HOTPATH_LIMIT=0 HOTPATH_THREADS_INTERVAL_MS=250 HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/burners" >"$T/said"
	jq -c '.threads.raw[] | [.os_tid, .pid, .status, .cpu_ns, .cpu_percent_avg]' "$T/json"
	python3 - "$T/json" "$T/said" <<-'EOF'
		import json, sys
		told = {t["os_tid"]: t["cpu_ns"] for t in json.load(open(sys.argv[1]))["threads"]["raw"] if t["os_tid"] != t["pid"]}
		said = {int(tid): int(ns) for tid, ns in map(str.split, open(sys.argv[2]))}
		print(told, said)
		assert told.keys() == said.keys() and len(said) == 6
		# Plus the time to report that and to end.
		assert all(said[tid] <= ns < 1.5 * said[tid] for tid, ns in told.items())
	EOF
}

@test "threads: none takes more than its lifetime" {
	compile brief -fno-instrument-functions <<-'EOF'
		#include <pthread.h>
		#include <stddef.h>
		static void *spin(void *argument)
		{
			for (volatile int i = 0; i < 1000; i++)
				;
			return argument;
		}
		int main(void)
		{
			for (int i = 0; i < 200; i++) {
				pthread_t thread;
				pthread_create(&thread, NULL, spin, NULL);
				pthread_join(thread, NULL);
			}
			return 0;
		}
	EOF
	HOTPATH_REPORT=threads,thread-states HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/brief"
	jq -c '[.threads.raw[] | .cpu_percent_avg] | max' "$T/json"
	[ "$(jq '[.threads.raw[] | select(.os_tid != .pid)] | length' "$T/json")" -eq 200 ]
	# The clocks differ by up to a thousandth: one is the kernel's, the other counted in ticks.
	[ "$(jq '[.threads.raw[] | select(.os_tid != .pid) | .cpu_percent_avg <= 100.1] | all' "$T/json")" = true ]
}

# It calls none of our functions before its end.
@test "threads: of a child that only forked, if nothing else is requested" {
	compile forked -fno-instrument-functions <<-'EOF'
		#include <sys/wait.h>
		#include <time.h>
		#include <unistd.h>
		int main(void)
		{
			struct timespec t = { 0, 0 };
			pid_t child = fork();
			if (child)
				return waitpid(child, NULL, 0) != child;
			while (!t.tv_sec && t.tv_nsec < 300000000)
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
			return 0;
		}
	EOF
	HOTPATH_REPORT=threads HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/forked"
	jq -c '.threads.raw[] | [.os_tid, .pid, .cpu_ns]' "$T/json"
	[ "$(jq '[.threads.raw[].pid] | unique | length' "$T/json")" -eq 2 ]
	[ "$(jq '[.threads.raw[].cpu_ns] | max > 0' "$T/json")" = true ]
}

@test "threads: each of thousands is counted, and a note gives the number without a row" {
	compile crowd -fno-instrument-functions <<-'EOF'
		#include <pthread.h>
		#include <stddef.h>
		static void *nothing(void *argument)
		{
			return argument;
		}
		int main(void)
		{
			pthread_attr_t large;

			pthread_attr_init(&large);
			pthread_attr_setstacksize(&large, (size_t)1 << 60);
			for (int i = 0; i < 4500; i++) {
				pthread_t thread;
				pthread_create(&thread, &large, nothing, NULL);	/* fails, and is none */
				if (pthread_create(&thread, NULL, nothing, NULL) == 0)
					pthread_join(thread, NULL);
			}
			return 0;
		}
	EOF
	HOTPATH_LIMIT=0 HOTPATH_SEGMENT_PATH="$T/segment" HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" \
		HOTPATH_REPORT=threads,thread-states "$HP_RUN" "$T/crowd"
	jq -c '[.summary.damaged, .threads.thread_count, .threads.unlisted_count, (.threads.raw | length)]' "$T/json"
	jq -e '.summary.damaged == false and .threads.thread_count == 4501' "$T/json"
	jq -e '.threads.unlisted_count + (.threads.raw | length) == 4501' "$T/json"
	jq -e '.thread_states.raw | length >= 2048' "$T/json"
	"$HP_BUILD/hotpath" report "$T/segment" >"$T/table"
	grep -E '^note +[0-9,]+ of 4,501 threads are not listed: a process has room for 4,096$' "$T/table"
}

# has_folded SEGMENT - the helper put rows of ended threads together: header.h, struct hp_recorded.
has_folded()
{
	[ "$(od -An -t u8 -j 1064 -N 8 "$1" | tr -d ' ')" -gt 0 ]
}

# Rounds of threads that wait until the next round, and some that end at once.
@test "threads: each is counted if the helper put some in one row, and did not see others" {
	compile rounds -fno-instrument-functions <<-'EOF'
		#include <poll.h>
		#include <pthread.h>
		#include <stdio.h>
		#define EACH 80
		static void *wait_for_end(void *nothing)
		{
			poll(NULL, 0, 300);
			return nothing;
		}
		static void *end(void *nothing) { return nothing; }
		int main(void)
		{
			pthread_t threads[2 * EACH];
			int count = 1;
			do {
				for (int i = 0; i < 2 * EACH; i++)
					count += pthread_create(&threads[i], NULL, i % 2 ? end : wait_for_end, NULL) == 0;
				for (int i = 0; i < 2 * EACH; i++)
					pthread_join(threads[i], NULL);
			} while (poll(&(struct pollfd){ 0, POLLIN, 0 }, 1, 0) == 0 && count < 4000 - 2 * EACH);
			printf("%d\n", count);
			return 0;
		}
	EOF
	mkfifo "$T/go"
	HOTPATH_LIMIT=0 HOTPATH_SEGMENT_PATH="$T/folded" HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" \
		HOTPATH_REPORT=threads "$HP_RUN" "$T/rounds" <"$T/go" >"$T/count" 3>&- &
	exec 8>"$T/go"
	until [ -s "$T/count" ] || has_folded "$T/folded" 2>/dev/null; do
		sleep 0.02
	done
	exec 8>&-
	wait $!
	cat "$T/count"
	jq -c '[.threads.thread_count, (.threads.raw | length), (.threads.raw | map(.threads) | add)]' "$T/json"
	jq -e --argjson count "$(cat "$T/count")" '.threads.thread_count == $count' "$T/json"
	jq -e --argjson count "$(cat "$T/count")" '(.threads.raw | map(.threads) | add) == $count' "$T/json"
	has_folded "$T/folded" || skip "no rows were put together"
}

@test "threads: a row's parts and its main activity have one base" {
	compile signalled <<-'EOF'
		#include <pthread.h>
		#include <stddef.h>
		#include <time.h>
		static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
		static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
		static int turn, end;
		static void *wait_turns(void *argument)
		{
			pthread_mutex_lock(&lock);
			while (!end) {
				while (!turn && !end)
					pthread_cond_wait(&change, &lock);
				turn = 0;
			}
			pthread_mutex_unlock(&lock);
			return argument;
		}
		static void *burn(void *argument)
		{
			for (volatile long i = 0; i < 400000000 && !end; i++)
				;
			return argument;
		}
		int main(void)
		{
			pthread_t threads[9];
			pthread_create(&threads[0], NULL, wait_turns, NULL);
			for (int i = 1; i < 9; i++)
				pthread_create(&threads[i], NULL, burn, NULL);
			for (int i = 0; i < 300; i++) {
				pthread_mutex_lock(&lock);
				turn = 1;
				pthread_cond_signal(&change);
				pthread_mutex_unlock(&lock);
				nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
			}
			pthread_mutex_lock(&lock);
			end = 1;
			pthread_cond_signal(&change);
			pthread_mutex_unlock(&lock);
			for (int i = 0; i < 9; i++)
				pthread_join(threads[i], NULL);
			return 0;
		}
	EOF
	HOTPATH_REPORT=thread-states,timing HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/signalled"
	python3 - "$T/json" <<-'EOF'
		import json, re, sys
		for row in json.load(open(sys.argv[1]))["thread_states"]["raw"]:
		    print({k: row[k] for k in ("name", "ran_percent", "ready_percent", "waited_percent", "mostly")})
		    parts = [row["ran_percent"], row["ready_percent"], row["waited_percent"]]
		    if row["life_ns"]:
		        parts.append(100 * row["unwatched_ns"] / row["life_ns"])
		    if None not in parts and row["mostly"]:
		        assert int(re.match(r"(\d+)%", row["mostly"])[1]) <= max(parts) + 1
	EOF
	# Eight computing threads take eight times as long as main.
	HOTPATH_REPORT=timing HOTPATH_OUTPUT_FORMAT=table HOTPATH_OUTPUT_PATH="$T/table" "$HP_RUN" "$T/signalled"
	head -20 "$T/table"
	grep -q 'timing: burn.* self, wall' "$T/table"
	grep -q 'several threads make more than 100%' "$T/table"
}

# A helper that scans once in an hour: what it saw of a thread was only its beginning.
rare_scans()
{
	HOTPATH_THREADS_INTERVAL_MS=3600000 HOTPATH_LIMIT=0 HOTPATH_REPORT=threads,thread-states,processes \
		HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$@" >"$T/out" || true
	cat "$T/out"
	report_comes "$T/json"
	jq -c '.thread_states.raw[] | [.os_tid, .life_ns, .ran_ns, .ready_ns, .waited_ns, .unwatched_ns, .mostly]' "$T/json"
}

@test "threads: after its last scan a thread is not taken for waiting, nor for ended" {
	compile busy -fno-instrument-functions <<-'EOF'
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <time.h>
		#include <unistd.h>
		static _Atomic int is_done;
		static long now(clockid_t clock)
		{
			struct timespec t;
			clock_gettime(clock, &t);
			return t.tv_sec * 1000000000L + t.tv_nsec;
		}
		static void *burn(void *argument)
		{
			long start = now(CLOCK_MONOTONIC);
			while (now(CLOCK_THREAD_CPUTIME_ID) < 400000000)
				;
			printf("%d %ld %ld\n", gettid(), now(CLOCK_MONOTONIC) - start, now(CLOCK_THREAD_CPUTIME_ID));
			fflush(stdout);
			is_done = 1;
			while (argument)
				pause();
			return argument;
		}
		int main(int argc, char **argv)
		{
			pthread_t thread;
			pthread_create(&thread, NULL, burn, argc > 1 ? argv : NULL);
			if (argc == 1)
				pthread_join(thread, NULL);
			while (!is_done)
				usleep(1000);
			return argc > 1 ? raise(atoi(argv[1])) : 0;
		}
	EOF
	for signal in "" 9 15; do
		rm -f "$T/json"
		rare_scans "$T/busy" ${signal:+"$signal"}
		python3 - "$T/json" "$T/out" <<-'EOF'
			import json, sys
			tid, life_ns, cpu_ns = map(int, open(sys.argv[2]).readline().split())
			report = json.load(open(sys.argv[1]))
			row, = (row for row in report["thread_states"]["raw"] if row["os_tid"] == tid)
			# It never waited until then; how much of the rest was spent ready is not known.
			assert row["life_ns"] >= 0.95 * life_ns, (row, life_ns)
			assert (row["waited_ns"] or 0) <= row["life_ns"] - life_ns + 0.1 * life_ns, (row, life_ns)
			other, = (row for row in report["threads"]["raw"] if row["os_tid"] == tid)
			assert abs(other["life_ns"] - row["life_ns"]) <= 2
			# The CPU time that no row has is stated.
			told = sum(row["cpu_ns"] or 0 for row in report["threads"]["raw"]) + report["threads"].get("missing_cpu_ns", 0)
			assert told >= 0.9 * report["summary"]["cpu_ns"], told
		EOF
	done
}

@test "threads: those that exec ended are listed" {
	compile again -fno-instrument-functions <<-'EOF'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		static _Atomic int is_running;
		static void *wait_for_ever(void *argument)
		{
			is_running = 1;
			while (argument)
				pause();
			return argument;
		}
		int main(int argc, char **argv)
		{
			char left[] = { (char)(argc > 1 ? argv[1][0] - 1 : '4'), 0 };
			pthread_t thread;
			pthread_create(&thread, NULL, wait_for_ever, argv);
			while (!is_running)
				usleep(1000);
			return left[0] >= '0' ? execl(argv[0], argv[0], left, NULL) : 0;
		}
	EOF
	HOTPATH_LIMIT=0 HOTPATH_REPORT=threads,thread-states HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" \
		"$HP_RUN" "$T/again"
	jq -c '.threads.raw[]' "$T/json"
	# Six images, each with a thread, and the first thread of them all.
	[ "$(jq '.threads.raw | length' "$T/json")" -eq 7 ]
	[ "$(jq '.threads.thread_count' "$T/json")" -eq 7 ]
	# What is not known is null, not 0.
	[ "$(jq '[.threads.raw[] | select(.cpu_ns == 0)] | length' "$T/json")" -eq 0 ]
}
