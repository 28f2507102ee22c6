#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# cputimer.bats - samples by timers in the program: whose they are, when they are taken, and that the
# program cannot tell.

load helper

# Three quarters of the work in `heavy`, the rest in `light`; prints heavy's share of the CPU time.
setup_file()
{
	compile shares -O2 -fno-instrument-functions <<-'EOF'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/wait.h>
		#include <time.h>
		#include <unistd.h>
		static volatile unsigned long sink;
		static double cpu_ns(void)
		{
			struct timespec t;
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
			return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
		}
		__attribute__((noinline)) static void heavy(long n)
		{
			for (long i = 0; i < n; i++)
				sink += (unsigned long)i * 7;
		}
		__attribute__((noinline)) static void light(long n)
		{
			for (long i = 0; i < n; i++)
				sink += (unsigned long)i * 3;
		}
		__attribute__((noinline)) static void *run(void *argument)
		{
			double start = cpu_ns(), in_heavy = 0;
			unsigned seed = 1;
			do {	/* never the same time, or ticks would fall on the same place */
				double before = cpu_ns();
				long n = 100000 + rand_r(&seed) % 300000;
				heavy(3 * n);
				in_heavy += cpu_ns() - before;
				light(n);
			} while (cpu_ns() - start < *(double *)argument);
			printf("%.1f\n", 100 * in_heavy / (cpu_ns() - start));
			fflush(stdout);
			return NULL;
		}
		int main(int argc, char **argv)
		{
			double ns = 1e6 * atof(argv[1]);
			pthread_t thread;
			if (argc > 2 && *argv[2] == 't') {
				pthread_create(&thread, NULL, run, &ns);
				pthread_join(thread, NULL);
			} else if (argc > 2 && *argv[2] == 'f') {
				if (fork() == 0)
					_exit(run(&ns) != NULL);
				wait(NULL);
			} else if (argc > 2 && *argv[2] == 'e') {
				execl("/proc/self/exe", "shares", argv[1], NULL);
			} else {
				run(&ns);
			}
			return 0;
		}
	EOF
	gcc -O2 -o "$T/refuse" "$ROOT/test/behave/programs/refuse.c"
	gcc -O2 -g -o "$T/guest" "$ROOT/test/behave/programs/timer_guest.c" -lpthread
	printf '#include <sys/syscall.h>\nSYS_perf_event_open\n' | gcc -E -P - | tail -n 1 >"$T/number"
}

# refused COMMAND... - where perf_event_open is refused as in a container.
refused()
{
	"$T/refuse" "$(cat "$T/number")" "$@"
}

# value EXPRESSION - of the section in $T/json.
value()
{
	python3 - "$T/json" "$1" <<-'EOF'
		import json, sys
		cpu = json.load(open(sys.argv[1]))["functions_cpu"]
		rows = {row["name"]: row for row in cpu["raw"]}
		def part(name, key="self_ns"):
		    return 100 * rows.get(name, {}).get(key, 0) / max(1, cpu["total_samples"] * 1000)
		print(eval(sys.argv[2]))
	EOF
}

profile()
{
	HOTPATH_REPORT=functions-cpu HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/json" "$@" >"$T/share"
}

# At least one tick in 4 ms: 500 samples in 2 s, where 10 points are 5 sigma.
shares_are_right()
{
	local was
	was=$(cat "$T/share")
	value "(cpu['source'], cpu['sample_count'], part('heavy'), part('light'), $was)"
	[ "$(value "cpu['source']")" = timer ] &&
		[ "$(value "abs(part('heavy') - $was) < 10")" = True ] &&
		[ "$(value "abs(part('light') - (100 - $was)) < 10")" = True ]
}

@test "timer: requested samples are taken even if perf_event_open is refused" {
	profile refused "$HP_RUN" "$T/shares" 2000
	shares_are_right
	# For 2 s of CPU time; but on a busy processor a program that is preempted at most ticks
	# gets few of them.
	[ "$(value "0.1 < cpu['total_samples'] / 2e6 < 1.5")" = True ]
	[ "$(value "cpu['has_kernel']")" = False ]
}

@test "timer: the same with the library alone, and of a thread, a forked child, another image" {
	for how in thread fork exec; do
		HOTPATH_CPU=timer LD_PRELOAD=$HP_LIB profile "$T/shares" 1500 $how
		shares_are_right
	done
}

@test "timer: stacks are whole, without frame pointers" {
	for how in main thread; do
		HOTPATH_CPU=timer HOTPATH_CPU_INCLUSIVE=1 profile "$HP_RUN" "$T/shares" 800 $how
		[ "$(value "cpu['sample_count'] > 0")" = True ]
		[ "$(value "cpu['sample_count'] - cpu['complete_count'] <= max(1, 0.02 * cpu['sample_count'])")" = True ]
		[ "$(value "part('run', 'inclusive_ns') > 97")" = True ]
	done
}

@test "timer: the program cannot notice, whatever it does with signals and timers" {
	"$T/guest" >"$T/alone"
	HOTPATH_CPU=timer HOTPATH_REPORT=functions-cpu HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/json" LD_PRELOAD=$HP_LIB "$T/guest" >"$T/with"
	diff "$T/alone" "$T/with"
	grep -q "calls: 0 interrupted, 0 short" "$T/with"
	[ "$(value "cpu['source'] == 'timer' and cpu['sample_count'] > 0")" = True ]
}

@test "timer: threads that come and go leave none behind" {
	compile crowd -O2 -fno-instrument-functions <<-'EOF'
		#include <pthread.h>
		#include <stdio.h>
		static volatile unsigned long sink;
		static void *work(void *argument)
		{
			for (long i = 0; i < 50000; i++)
				sink += (unsigned long)i;
			return argument;
		}
		int main(void)
		{
			char line[256];
			int timers = 0;
			for (int round = 0; round < 200; round++) {
				pthread_t threads[8];
				for (int i = 0; i < 8; i++)
					pthread_create(&threads[i], NULL, work, NULL);
				for (int i = 0; i < 8; i++)
					pthread_join(threads[i], NULL);
			}
			FILE *in = fopen("/proc/self/timers", "r");
			while (in && fgets(line, sizeof(line), in))
				timers += line[0] == 'I';
			printf("%d\n", in ? timers : 1);
			return 0;
		}
	EOF
	HOTPATH_CPU=timer HOTPATH_SEGMENT_PATH=$T/segment HOTPATH_SEGMENT_SIZE=8M profile "$HP_RUN" "$T/crowd"
	[ "$(cat "$T/share")" = 1 ]
	# 1600 rings would be 100 MiB; freed ones are reused.
	[ "$(value "cpu['lost_count']")" = 0 ]
}

@test "timer: sampling stops when a program confines itself" {
	compile confined -O2 -fno-instrument-functions <<-'EOF'
		#include <linux/filter.h>
		#include <linux/seccomp.h>
		#include <stddef.h>
		#include <stdio.h>
		#include <sys/prctl.h>
		#include <sys/syscall.h>
		#include <time.h>
		#include <unistd.h>
		static volatile unsigned long sink;
		/* All but writing and leaving kills: also to return from a signal's handler. */
		static struct sock_filter steps[] = {
			{ BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr) },
			{ BPF_JMP | BPF_JEQ | BPF_K, 2, 0, SYS_write },
			{ BPF_JMP | BPF_JEQ | BPF_K, 1, 0, SYS_exit_group },
			{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS },
			{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
		};
		static void work(long n)
		{
			for (long i = 0; i < n; i++)
				sink += (unsigned long)i;
		}
		int main(void)
		{
			struct sock_fprog filter = { 5, steps };
			while (clock() < CLOCKS_PER_SEC / 4)
				work(1000000);
			prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
			if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
				return 1;
			work(100000000);
			(void)!write(1, "done\n", 5);
			_exit(7);
		}
	EOF
	run env HOTPATH_CPU=timer HOTPATH_REPORT=functions-cpu HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/confined"
	[ "$status" = 7 ]
	[ "$output" = done ]
	report_comes "$T/json"
	[ "$(value "part('work') > 80")" = True ]
}

@test "timer: none without a request, and no message" {
	refused strace -f -qq -e trace=timer_create,perf_event_open -o "$T/trace" \
		"$HP_RUN" "$T/shares" 300 2>"$T/table" >/dev/null
	run -1 grep timer_create "$T/trace"
	grep -A 8 "^cpu - " "$T/table" | tr '\n' ' ' | grep -q "HOTPATH_CPU=timer takes samples with timers"
	strace -f -qq -e trace=timer_create,perf_event_open -o "$T/trace" \
		"$HP_RUN" --cpu timer "$T/shares" 50 2>"$T/table" >/dev/null
	grep -q timer_create "$T/trace"
	run -1 grep perf_event_open "$T/trace"
}

@test "smoke: known shares are in the tables, and a missing table is reported" {
	HOTPATH_CPU=timer B=$HP_BUILD "$ROOT/scripts/smoke" >"$T/smoke"
	tail -n 1 "$T/smoke" | grep -q "^smoke: fine"
	run env HOTPATH_CPU=off B="$HP_BUILD" "$ROOT/scripts/smoke"
	[ "$status" = 1 ]
	[[ "$output" == *"smoke: the table cpu does not have heavy_work and light_work"* ]]
}

@test "timer: a report without names does not claim that the program had ended" {
	compile named <<-'EOF'
		#include <time.h>
		static volatile unsigned long sink;
		static void work(void)
		{
			while (clock() < CLOCKS_PER_SEC / 2)
				for (long i = 0; i < 1000000; i++)
					sink += (unsigned long)i;
		}
		int main(void)
		{
			work();
			return 0;
		}
	EOF
	strip "$T/named"
	HOTPATH_CPU=timer HOTPATH_REPORT=functions-cpu "$HP_RUN" "$T/named" 2>"$T/table"
	cat "$T/table"
	grep -Eq "[0-9] samples?, user code only, by timers" "$T/table"
	grep -q "no sample was attributed to an instrumented function" "$T/table"
	! grep -q "had ended before" "$T/table"
}

@test "timer: without libdw names are in the table, and missing parts are reported" {
	local libdw

	unshare --mount true 2>/dev/null || skip "no mount namespaces for this user"
	libdw=$(readlink -f "$(ldconfig -p | sed -n 's/.*libdw.so.1 .*=> //p' | head -n 1)")
	compile named <<-'EOF'
		#include <time.h>
		static volatile unsigned long sink;
		static void work(void)
		{
			while (clock() < CLOCKS_PER_SEC / 2)
				for (long i = 0; i < 1000000; i++)
					sink += (unsigned long)i;
		}
		int main(void)
		{
			work();
			return 0;
		}
	EOF
	echo none >"$T/none"
	HOTPATH_CPU=timer HOTPATH_REPORT=functions-cpu unshare --mount \
		sh -c "mount --bind '$T/none' '$libdw' && exec '$HP_RUN' '$T/named'" 2>"$T/table"
	cat "$T/table"
	grep -q "^work " "$T/table"
	grep -q "named needs libdw.so.1, package libdw1: names are missing" "$T/table"
}
