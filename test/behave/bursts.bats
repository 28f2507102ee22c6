#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# bursts.bats - a program that switches all the time: its short waits are recorded in bursts, with their
# error, and its long ones as usual.

load helper

setup_file()
{
	compile turns -fno-instrument-functions <<-'EOF'
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/resource.h>
		#include <time.h>
		#include <unistd.h>
		static int there[2], back[2];
		static volatile int is_over;
		static long switches, naps;
		static double slept;
		static double now(void)
		{
			struct timespec t;
			clock_gettime(CLOCK_MONOTONIC, &t);
			return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
		}
		static void count(void)
		{
			struct rusage use;
			getrusage(RUSAGE_THREAD, &use);
			__atomic_fetch_add(&switches, use.ru_nvcsw, __ATOMIC_SEQ_CST);
		}
		__attribute__((noinline)) static char get_turn(int fd)
		{
			char c = 0;
			return read(fd, &c, 1) < 0 ? 0 : c;
		}
		static void *other(void *unused)
		{
			for (char c = 'x'; c == 'x';) {
				c = get_turn(there[0]);
				if (write(back[1], &c, 1) < 0)
					return NULL;
			}
			count();
			return unused;
		}
		__attribute__((noinline)) static void nap(void)
		{
			double from = now();
			nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
			slept += now() - from;
			naps++;
		}
		static void *napper(void *unused)
		{
			while (!is_over)
				nap();
			return unused;
		}
		int main(int argc, char **argv)
		{
			pthread_t a, b;
			long turns = 0;
			double length = argc > 1 ? strtod(argv[1], NULL) : 1.5;
			if (pipe(there) || pipe(back))
				return 1;
			pthread_create(&a, NULL, other, NULL);
			pthread_create(&b, NULL, napper, NULL);
			double begin = now();
			while (now() < begin + length) {
				if (write(there[1], "x", 1) != 1)
					return 1;
				get_turn(back[0]);
				turns++;
			}
			if (write(there[1], "q", 1) != 1)
				return 1;
			pthread_join(a, NULL);
			count();
			is_over = 1;
			pthread_join(b, NULL);
			printf("turns, switches, naps, slept = %ld, %ld, %ld, %.9f\n", turns, switches, naps,
			       slept);
			return 0;
		}
	EOF
	# Two threads yield to each other on one CPU.
	compile yields -fno-instrument-functions <<-'EOF'
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <sched.h>
		#include <time.h>
		static double now(void)
		{
			struct timespec t;
			clock_gettime(CLOCK_MONOTONIC, &t);
			return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
		}
		static void *yield(void *end)
		{
			while (now() < *(double *)end)
				sched_yield();
			return NULL;
		}
		int main(void)
		{
			double end = now() + 1.2;
			cpu_set_t one;
			pthread_t threads[2];
			CPU_ZERO(&one);
			CPU_SET(sched_getcpu(), &one);
			sched_setaffinity(0, sizeof(one), &one);
			for (int i = 0; i < 2; i++)
				pthread_create(&threads[i], NULL, yield, &end);
			for (int i = 0; i < 2; i++)
				pthread_join(threads[i], NULL);
			return 0;
		}
	EOF
	# Two processes take turns for a while; meanwhile a third one is forked and computes. Then only naps.
	compile phases -fno-instrument-functions <<-'EOF'
		#include <stdio.h>
		#include <sys/resource.h>
		#include <sys/wait.h>
		#include <time.h>
		#include <unistd.h>
		static int there[2], back[2];
		static double now(void)
		{
			struct timespec t;
			clock_gettime(CLOCK_MONOTONIC, &t);
			return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
		}
		static double used(void)
		{
			struct rusage u;
			getrusage(RUSAGE_SELF, &u);
			return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
			       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
		}
		__attribute__((noinline)) static void born_work(void)
		{
			static volatile unsigned long n;
			while (used() < 0.3)
				for (int i = 0; i < 100000; i++)
					n++;
		}
		static void other(void)
		{
			char c;
			while (read(there[0], &c, 1) == 1 && c == 'x' && write(back[1], &c, 1) == 1)
				;
			_exit(0);
		}
		static void turns_until(double end)
		{
			char c;
			while (now() < end && write(there[1], "x", 1) == 1 && read(back[0], &c, 1) == 1)
				;
		}
		__attribute__((noinline)) static double late_nap(void)
		{
			double from = now();
			nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
			return now() - from;
		}
		int main(void)
		{
			double begin = now(), slept = 0;
			pid_t child;
			if (pipe(there) || pipe(back))
				return 1;
			if (fork() == 0)
				other();
			turns_until(begin + 0.6);
			if ((child = fork()) == 0) {
				born_work();
				_exit(0);
			}
			turns_until(begin + 1.2);
			if (write(there[1], "q", 1) != 1)
				return 1;
			while (wait(NULL) > 0)
				;
			for (int i = 0; i < 1000; i++)
				slept += late_nap();
			printf("%.9f\n", slept);
			return 0;
		}
	EOF
}

# "waits, blocked ns, error ns" of a function, and the truth: names in a Python condition.
holds()
{
	python3 - "$T/json" "$T/truth" "$1" <<-'EOF'
		import json, sys
		answer = json.load(open(sys.argv[1]))
		a, lost = answer["offcpu"], answer.get("functions_cpu", {}).get("lost_count", 0)
		turns, switches, naps, slept = eval(open(sys.argv[2]).read().split("=")[1])
		class Row:
		    def __init__(self, name):
		        rows = [r for r in a["raw"] if r["name"].endswith(name)]
		        self.waits = sum(r["waits"] for r in rows)
		        self.ns = sum(r["blocked_ns"] for r in rows)
		        self.error = max((r["blocked_high_ns"] - r["blocked_ns"] for r in rows if "blocked_high_ns" in r), default=0)
		fast, slow = Row("get_turn"), Row("nap")
		print(fast.__dict__, slow.__dict__, turns, switches, naps, slept, {k: v for k, v in a.items() if k not in ("data", "raw")})
		sys.exit(0 if eval(sys.argv[3]) else 1)
	EOF
}

@test "short waits are counted with their error, long ones are exact" {
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/turns" >"$T/truth"
	python3 -c 'import json; exit(not json.load(open("'"$T/json"'")).get("offcpu", {}).get("burst_count"))' ||
		skip "$(cat "$T/truth"): too few switches on this machine, or no switch records"
	# Records are lost on a busy machine, before bursts start.
	holds "slow.waits + lost >= naps * 0.95 and slow.waits <= naps + 1"
	holds "abs(slow.ns / 1e9 * naps / slow.waits - slept) < 0.05 * slept"
	holds "fast.error > 0"
	holds "0.5 * switches < fast.waits < 2 * switches"
	holds "a['burst_taken_ns'] < a['burst_covered_ns'] / 2"
	"$HP_BUILD/hotpath" report -r offcpu >"$T/table"
	cat "$T/table"
	tr '\n' ' ' <"$T/table" | grep -q 'threads switched so often that waits below 1 ms were recorded for'
	grep -q '^~ estimated: waits below 1 ms' "$T/table"
}

@test "a run that ends before its first burst says that short waits are missing" {
	for i in {1..8}; do
		HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/turns" 0.15 >"$T/truth"
		python3 - "$T/json" "$T/truth" <<-'EOF'
			import json, sys
			a = json.load(open(sys.argv[1])).get("offcpu", {})
			switches = int(open(sys.argv[2]).read().split("=")[1].split(",")[1])
			waits = sum(r["waits"] for r in a.get("raw", []))
			print(switches, waits, {k: v for k, v in a.items() if k not in ("data", "raw")})
			told = {"burst_missed_ns", "burst_count", "lost_count"} & a.keys()
			sys.exit(bool(waits and waits < switches / 2 and not told))
		EOF
		grep -q '"burst_missed_ns"' "$T/json" || continue
		HOTPATH_REPORT=short "$HP_BUILD/hotpath" report >"$T/text"
		grep -q '^note *waits below 1 ms are missing for' "$T/text"
		return
	done
}

@test "requested by name, every wait is recorded" {
	HOTPATH_REPORT=offcpu HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/turns" >"$T/truth"
	python3 -c 'import json; exit(not json.load(open("'"$T/json"'")).get("offcpu", {}).get("raw"))' ||
		skip "no switch records here"
	holds "'burst_count' not in a"
	holds "fast.error == 0"
}

@test "waits alone are recorded in bursts, too, and samples alone are those of the CPUs" {
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/turns" >"$T/truth"
	python3 -c 'import json; exit(not json.load(open("'"$T/json"'")).get("functions_cpu", {}).get("is_by_cpu"))' ||
		skip "$(cat "$T/truth"): too few switches on this machine, or CPUs may not be sampled"
	HOTPATH_REPORT=auto,-offcpu,-bound HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/turns"
	python3 -c 'import json; exit(not json.load(open("'"$T/json"'"))["functions_cpu"].get("is_by_cpu"))'
	HOTPATH_REPORT=auto,-functions-cpu,-bound HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" \
		"$HP_RUN" "$T/turns" >"$T/truth"
	holds "a['burst_count'] and fast.error > 0"
	# Notes are lost, or bursts count for others, where the helper has no processor.
	holds "naps / 2 < slow.waits < naps * 2"
	holds "abs(slow.ns / 1e9 * naps / slow.waits - slept) < 0.1 * slept"
}

@test "bursts of many switches are short, even if none is a wait" {
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/yields"
	python3 - "$T/json" <<-'EOF' || skip "too few switches on this machine, or no switch records"
		import json, sys
		a = json.load(open(sys.argv[1])).get("offcpu", {})
		print({k: v for k, v in a.items() if k.startswith("burst")})
		sys.exit(a.get("burst_count", 0) < 5)
	EOF
	python3 -c 'import json; a = json.load(open("'"$T/json"'"))["offcpu"]; exit(a["burst_taken_ns"] * 7 > a["burst_covered_ns"])'
}

@test "when it no longer switches often, all waits are counted, and processes started meanwhile are known" {
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_LIMIT=0 HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/phases" >"$T/truth"
	python3 -c 'import json; exit(not json.load(open("'"$T/json"'")).get("offcpu", {}).get("burst_count"))' ||
		skip "too few switches on this machine, or no switch records"
	python3 - "$T/json" "$T/truth" <<-'EOF'
		import json, sys
		a = json.load(open(sys.argv[1]))
		slept = float(open(sys.argv[2]).read())
		naps = [r for r in a["offcpu"]["raw"] if r["name"].endswith("late_nap")]
		work = [r for r in a["functions_cpu"]["raw"] if "born_work" in r["name"]]
		print(slept, naps, work)
		# The first naps may still be sampled.
		waits, blocked = (sum(r[of] for r in naps) for of in ("waits", "blocked_ns"))
		assert abs(waits - 1000) <= 50
		assert abs(blocked / waits / (slept * 1e6) - 1) < 0.05
		assert 0.1e9 < sum(r["inclusive_ns"] for r in work) < 0.5e9	# of 0.3
	EOF
}

# A process that is traced does not end for its parent until the tracer lets go: as if it had no
# processor to end on. Returns 1 if nothing was traced.
run_with_traced_report()
{
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/turns" >"$T/truth" 3>&- &
	python3 - "XDG_STATE_HOME=$XDG_STATE_HOME" <<-'EOF' || { wait; return 1; }
		import ctypes, os, sys, time
		def is_it(pid):
		    try:
		        return (b"--ready" in open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")
		                and sys.argv[1].encode() in open(f"/proc/{pid}/environ", "rb").read().split(b"\0"))
		    except OSError:
		        return False
		end = time.monotonic() + 1
		found = []
		while not found and time.monotonic() < end:
		    found = [pid for pid in os.listdir("/proc") if pid.isdigit() and is_it(pid)]
		PTRACE_SEIZE = 0x4206
		if not found or ctypes.CDLL(None).ptrace(PTRACE_SEIZE, int(found[0]), None, None):
		    sys.exit(1)
		time.sleep(1.8)
	EOF
	wait
}

@test "the helper does not wait until the prepared report has ended" {
	local try
	for try in 1 2 3; do
		run_with_traced_report || skip "no prepared report, or it may not be traced"
		python3 -c 'import json; exit(not json.load(open("'"$T/json"'")).get("offcpu", {}).get("burst_count"))' ||
			skip "too few switches on this machine, or no switch records"
		# A busy machine, too, may keep the helper from reading, but not each time.
		if holds "slow.waits >= naps * 0.8"; then
			return
		fi
	done
	return 1
}

# The CPUs' events of the session's first moments are replaced by the threads' in the middle of it.
@test "starts: samples and waits are complete while events of threads replace those of the CPUs" {
	compile first -fno-instrument-functions <<-'EOF'
		#include <pthread.h>
		#include <stdio.h>
		#include <time.h>
		static double cpu(clockid_t clock)
		{
			struct timespec t;
			clock_gettime(clock, &t);
			return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
		}
		__attribute__((noinline)) static void first_work(void)
		{
			static volatile unsigned long n;
			while (cpu(CLOCK_THREAD_CPUTIME_ID) < 0.6)
				for (int i = 0; i < 10000; i++)
					n++;
		}
		__attribute__((noinline)) static void first_nap(void)
		{
			nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
		}
		static void *work(void *unused)
		{
			first_work();
			return unused;
		}
		int main(void)
		{
			pthread_t thread;
			pthread_create(&thread, NULL, work, NULL);
			double begin = cpu(CLOCK_MONOTONIC);
			for (int i = 0; i < 120; i++)
				first_nap();
			double slept = cpu(CLOCK_MONOTONIC) - begin;
			pthread_join(thread, NULL);
			printf("%f %f\n", cpu(CLOCK_PROCESS_CPUTIME_ID), slept);
			return 0;
		}
	EOF
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_LIMIT=0 HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/first" >"$T/truth"
	python3 -c 'import json; a = json.load(open("'"$T/json"'")); exit(not all(a.get(k, {}).get("raw") for k in ("functions_cpu", "offcpu")))' ||
		skip "no samples or waits here"
	python3 - "$T/json" "$T/truth" <<-'EOF'
		import json, sys
		a = json.load(open(sys.argv[1]))
		cpu, slept = map(float, open(sys.argv[2]).read().split())
		samples = a["functions_cpu"]
		naps = [r for r in a["offcpu"]["raw"] if r["name"].endswith("first_nap")]
		print(cpu, slept, samples.get("is_by_cpu_first"), samples["total_samples"], naps)
		assert abs(samples["total_samples"] / 1e6 / cpu - 1) < 0.15
		# Before the events are opened, up to 5 ms after the start, one or two are missed.
		waits, blocked = (sum(r[of] for r in naps) for of in ("waits", "blocked_ns"))
		assert 110 <= waits <= 120
		assert 0.9 < blocked / 1e9 / slept <= 1
	EOF
}

@test "starts: children that start by the hundreds have samples" {
	compile children -fno-instrument-functions <<-'EOF'
		#include <stdio.h>
		#include <sys/mman.h>
		#include <sys/wait.h>
		#include <time.h>
		#include <unistd.h>
		static double used(void)
		{
			struct timespec t;
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
			return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
		}
		__attribute__((noinline)) static void child_work(void)
		{
			static volatile unsigned long n;
			while (n < 1500000)
				n++;
		}
		int main(void)
		{
			double *sum = mmap(NULL, sizeof(*sum), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
			for (int i = 0; i < 500; i++) {
				if (fork() == 0) {
					double before = used();
					child_work();
					*sum += used() - before;
					_exit(0);
				}
				wait(NULL);
			}
			printf("%f\n", *sum);
			return 0;
		}
	EOF
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_LIMIT=0 HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/children" >"$T/truth"
	python3 -c 'import json; exit(not json.load(open("'"$T/json"'")).get("functions_cpu", {}).get("is_by_cpu"))' ||
		skip "not by CPU: no permission, or other processes are busy"
	python3 - "$T/json" "$T/truth" <<-'EOF'
		import json, sys
		samples = json.load(open(sys.argv[1]))["functions_cpu"]
		used = float(open(sys.argv[2]).read())
		work = sum(r["inclusive_ns"] for r in samples["raw"] if r["name"].endswith("child_work"))
		missed = samples.get("unsampled_ns", 0)
		print(used, work, samples["sample_count"], missed)
		assert 0.5 < (work + missed) / 1e9 / used and work / 1e9 / used < 1.6	# of some 100 samples
		assert work / 1e9 / used > 0.1
	EOF
}
