#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# cpu.bats - CPU samples: their owners, and the text without any.

load helper

# Three quarters of the work in `heavy`, one in code inlined into `light`.  A processor may need more
# for one of the two loops than for the other, so the program prints each one's share of its CPU time.
setup_file()
{
	compile known -O2 <<-'END' -fno-instrument-functions
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/wait.h>
		#include <time.h>
		#include <unistd.h>
		static volatile unsigned long sink;
		__attribute__((noinline)) static void work(long n)
		{
			for (long i = 0; i < n; i++)
				sink += (unsigned long)i * 7;
		}
		static inline __attribute__((always_inline)) void inlined(long n)
		{
			for (long i = 0; i < n; i++)
				sink += (unsigned long)i * 7;
		}
		__attribute__((noinline)) static void heavy(long n)
		{
			work(n);
			sink++;
		}
		__attribute__((noinline)) static void light(long n)
		{
			inlined(n);
			sink++;
		}
		static inline __attribute__((always_inline, no_instrument_function)) double cpu_ns(void)
		{
			struct timespec t;
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
			return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
		}
		__attribute__((noinline)) static void *run(void *argument)
		{
			double start = cpu_ns(), in_heavy = 0;
			do {
				double before = cpu_ns();
				heavy(750000);
				in_heavy += cpu_ns() - before;
				light(250000);
			} while (cpu_ns() - start < (double)(long)argument * 1e6);
			printf("%.1f\n", 100 * in_heavy / (cpu_ns() - start));
			fflush(stdout);
			return NULL;
		}
		int main(int argc, char **argv)
		{
			long ms = argc > 1 ? atol(argv[1]) : 300;
			pthread_t thread;
			if (argc > 2 && *argv[2] == 't') {
				pthread_create(&thread, NULL, run, (void *)ms);
				pthread_join(thread, NULL);
			} else if (argc > 2 && *argv[2] == 'f') {
				if (fork() == 0)
					_exit(run((void *)ms) != NULL);
				wait(NULL);
			} else {
				run((void *)ms);
			}
			return 0;
		}
	END
	sed 's/-fno-instrument-functions//' "$T/known.c" | gcc -x c -g -O2 \
		-finstrument-functions -o "$T/hooked" - -lpthread
	gcc -O2 -o "$T/refuse" "$ROOT/test/behave/programs/refuse.c"
	# One system call: perf_event_open of ourselves, user code only.
	compile allowed -fno-instrument-functions <<-'END'
		#include <linux/perf_event.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		int main(void)
		{
			struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
				.size = sizeof(attr), .config = PERF_COUNT_SW_CPU_CLOCK,
				.exclude_kernel = 1 };
			return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0;
		}
	END
}

# Where samples cannot be taken, the reason must be shown instead.
needs_perf()
{
	! "$T/allowed" || return 0
	HOTPATH_CPU=perf HOTPATH_REPORT=functions-cpu "$HP_RUN" "$T/known" 10 2>"$T/none"
	grep -q "perf_event_open" "$T/none" || { cat "$T/none"; return 1; }
	skip "perf_event_open is refused here; the report says so"
}

# value FILTER - of the JSON report in $T/json.
value()
{
	python3 - "$T/json" "$1" <<-'END'
		import json, sys
		cpu = json.load(open(sys.argv[1]))["functions_cpu"]
		rows = {row["name"]: row for row in cpu["raw"]}
		def part(name, key="self_ns"):
		    return 100 * rows.get(name, {}).get(key, 0) / max(1, cpu["total_samples"] * 1000)
		print(eval(sys.argv[2]))
	END
}

profile()
{
	HOTPATH_REPORT=functions-cpu HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$@" >"$T/share"
}

# Samples follow the CPU time: at 300 or more, 10 points are 4 sigma. The share is of both functions
# together: neither has the kernel's additional work on a busy machine.
shares_are_right()
{
	local was
	was=$(cat "$T/share")
	echo "$was"
	value "(part('work'), part('inlined'), part('heavy'), cpu['sample_count'])"
	[ "$(value "abs(100 * part('work') / max(1, part('work') + part('inlined')) - $was) < 10")" = True ]
	[ "$(value "part('work') + part('inlined') > 60")" = True ]
	[ "$(value "part('heavy') < 2")" = True ]
}

@test "cpu: a program that was not recompiled, by function, inlined ones too" {
	needs_perf
	profile "$T/known" 600
	shares_are_right
	[ "$(value "cpu['lost_count'] <= 0.1 * cpu['sample_count']")" = True ]	# if the helper has to wait
}

@test "cpu: of instrumented functions, the innermost one gets the sample" {
	needs_perf
	profile "$T/hooked" 600
	shares_are_right
	[ "$(value "len(rows) == len(cpu['raw'])")" = True ]
	[ "$(value "sorted(set(rows) - {'hooked::main', '[hotpath]'} - {'work', 'inlined', 'heavy', 'light', 'run'})")" = "[]" ]
}

@test "cpu: threads and forked processes are sampled from their start" {
	needs_perf
	profile "$T/known" 450 thread
	shares_are_right
	profile "$T/known" 450 fork
	shares_are_right
}

@test "cpu: without frame pointers, callers are found up to the first function" {
	needs_perf
	for how in main thread; do
		profile "$T/known" 450 $how
		[ "$(value "cpu['complete_count'] >= 0.98 * cpu['sample_count']")" = True ]
		HOTPATH_CPU_INCLUSIVE=1 "$HP_BUILD/hotpath" report -r functions-cpu -n 0 -f json \
			>"$T/json"
		value "(part('run', 'inclusive_ns'), part('heavy', 'inclusive_ns'))"
		[ "$(value "part('run', 'inclusive_ns') > 95")" = True ]
		[ "$(value "abs(part('heavy', 'inclusive_ns') - $(cat "$T/share")) < 10")" = True ]
	done
}

@test "cpu: the run is kept with the names of its samples" {
	needs_perf
	cp "$T/known" "$T/gone"
	profile "$T/gone" 450
	cp "$T/json" "$T/before"
	rm "$T/gone"
	"$HP_BUILD/hotpath" report -r functions-cpu -n 0 -f json >"$T/json"
	shares_are_right
	cmp <(python3 -c "import json; print(json.load(open('$T/before'))['functions_cpu'])") \
		<(python3 -c "import json; print(json.load(open('$T/json'))['functions_cpu'])")
}

@test "cpu: the table has the columns and the title of the crate" {
	needs_perf
	HOTPATH_REPORT=functions-cpu "$HP_RUN" "$T/known" 100 2>"$T/table"
	# Text in brackets continues below, where the line is too long.
	tr '\n' ' ' <"$T/table" |
		grep -q " cpu - CPU sampling attribution per function (exclusive). ([0-9,]* samples"
	grep -q "^Function  *Samples  *% Total" "$T/table"
	HOTPATH_CPU_INCLUSIVE=1 "$HP_BUILD/hotpath" report -r functions-cpu >"$T/table"
	grep -q "^cpu - CPU sampling attribution per function (inclusive)." "$T/table"
}

@test "cpu: off is reported" {
	HOTPATH_CPU=off HOTPATH_REPORT=functions-cpu "$HP_RUN" "$T/known" 1 2>"$T/table"
	[ "$(sed -n '/^cpu - /,$p' "$T/table" | head -n 4)" = "cpu - report unavailable
Error
$(printf '─%.0s' {1..80})
HOTPATH_CPU=off: no samples were taken" ]
}

@test "cpu: a filter that forbids perf_event_open is reported, and the rest of the report is complete" {
	number=$(printf '#include <sys/syscall.h>\nSYS_perf_event_open\n' | gcc -E -P - | tail -n 1)
	HOTPATH_CPU=perf HOTPATH_REPORT=functions-cpu,threads "$T/refuse" "$number" "$HP_RUN" "$T/known" 5 2>"$T/table"
	cat "$T/table"
	grep -A 3 "^cpu - report unavailable" "$T/table" | grep -q "^perf_event_open is not permitted"
	grep -q "^threads - " "$T/table"
}

@test "cpu: an invalid source is reported" {
	HOTPATH_CPU=magic run "$HP_RUN" true
	[[ "$output" == *"HOTPATH_CPU: 'magic' is not allowed; auto|perf|timer|samply|off"* ]]
}

# Waits of known number and minimum length, each with another cause.
waits_are_known()
{
	compile waits -fno-instrument-functions <<-'END' || return
		#include <pthread.h>
		#include <unistd.h>
		static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
		static int ends[2], ready[2];
		__attribute__((noinline)) static void sleeps(void)
		{
			for (int i = 0; i < 20; i++)
				usleep(10000);
		}
		__attribute__((noinline)) static void locks(void)
		{
			pthread_mutex_lock(&lock);
			pthread_mutex_unlock(&lock);
		}
		__attribute__((noinline)) static char reads(void)
		{
			char c = 0;
			return read(ends[0], &c, 1) < 0 ? 0 : c;
		}
		static void *hold(void *argument)
		{
			pthread_mutex_lock(&lock);
			(void)!write(ready[1], "x", 1);
			usleep(200000);
			pthread_mutex_unlock(&lock);
			usleep(300000);
			(void)!write(ends[1], "x", 1);
			return argument;
		}
		int main(void)
		{
			pthread_t thread;
			char c;
			(void)!pipe(ends);
			(void)!pipe(ready);
			/* Meanwhile the counters are opened. */
			for (int i = 0; i < 30; i++)
				usleep(10000);
			pthread_create(&thread, NULL, hold, NULL);
			(void)!read(ready[0], &c, 1);
			locks();
			reads();
			sleeps();
			pthread_join(thread, NULL);
			return 0;
		}
	END
	HOTPATH_REPORT=offcpu HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/json" "$@" "$HP_RUN" "$T/waits"
}

offcpu()
{
	python3 - "$T/json" "$1" <<-'END'
		import json, sys
		raw = json.load(open(sys.argv[1]))["offcpu"]["raw"]
		def of(name, on):
		    return next((r for r in raw if (r["name"], r["on"]) == (name, on)),
		                {"waits": 0, "blocked_ns": 0})
		print(eval(sys.argv[2]))
	END
}

# Counters are opened while the program runs, so on a busy machine a try may be too late for the
# first wait, but not every try is.
in_one_of_5()
{
	local try

	for try in 1 2 3 4 5; do
		"$@" && return
	done
	return 1
}

waits_have_places()
{
	waits_are_known env || return
	offcpu "raw" || return
	[ "$(offcpu "any(r['name'] == '<no stack>' and r['waits'] > 20 for r in raw)")" = False ] ||
		return 77
	[ "$(offcpu "of('sleeps', 'sleep')['waits']")" = 20 ] &&
		[ "$(offcpu "of('sleeps', 'sleep')['blocked_ns'] >= 200e6")" = True ] &&
		[ "$(offcpu "of('hold', 'sleep')['waits']")" = 2 ] &&
		[ "$(offcpu "of('hold', 'sleep')['blocked_ns'] >= 500e6")" = True ] &&
		[ "$(offcpu "of('locks', 'lock')['waits'] >= 1")" = True ] &&
		[ "$(offcpu "of('reads', 'pipe')['waits']")" = 1 ]
}

@test "cpu: waits, by function and cause" {
	local status=0

	needs_perf
	waits_have_places || status=$?
	[ $status != 77 ] || skip "the kernel may not be sampled here; the time has no place"
	[ $status = 0 ] || in_one_of_5 waits_have_places
}

# As a user who may not sample the kernel: 77 = nothing at all.
times_are_shown()
{
	HOTPATH_REPORT=offcpu HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json HOTPATH_KEEP=0 \
		HOTPATH_OUTPUT_PATH="$other/json" setpriv --reuid=65534 --regid=65534 \
		--clear-groups "$other/hotpath-run" "$other/waits"
	cp "$other/json" "$T/json"
	grep -q "not permitted" "$T/json" && return 77
	# 20 sleeps of 10 ms, 2 of 500 ms in total, and the other thread's waits for them.
	[ "$(offcpu "sum(r['blocked_ns'] for r in raw) >= 700e6 * 2 - 250e6")" = True ] &&
		[ "$(offcpu "sum(r['waits'] for r in raw) >= 24")" = True ]
}

@test "cpu: the helper and the report of a session inside this one are not the program" {
	needs_perf
	compile inner -fno-instrument-functions <<-'EOF'
		int main(void)
		{
			for (volatile long i = 0; i < 100000000; i++)
				;
			return 0;
		}
	EOF
	HOTPATH_REPORT=offcpu,cpu HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json HOTPATH_KEEP=0 \
		HOTPATH_OUTPUT_PATH="$T/outer" \
		"$HP_RUN" sh -c "HOTPATH_OUTPUT_PATH='$T/nested' '$HP_RUN' '$T/inner'; true"
	[ -s "$T/nested" ]
	python3 - "$T/outer" <<-'END'
		import json, sys
		report = json.load(open(sys.argv[1]))
		cpu = [row["name"] for row in report["functions_cpu"]["raw"]]
		waits = [(row["name"], row["on"]) for row in report["offcpu"]["raw"]]
		print(cpu, waits)
		assert "main" in cpu
		# The helper polls, its other threads wait from their start on.
		assert not [w for w in waits if w[1] == "poll" or w[0] in ("look_for_ever", "wait_for_end")]
	END
}

@test "cpu: an ordinary user also gets the time of waits" {
	local status=0

	needs_perf
	[ "$(id -u)" = 0 ] || skip "only root can become somebody else"
	# Other users cannot read the tests' folder.
	other=$(mktemp -d /tmp/hotpath-test.XXXXXX)
	waits_are_known env
	cp "$HP_BUILD"/hotpath* "$HP_LIB" "$T/waits" "$other" 2>/dev/null || true
	chmod -R a+rX "$other"
	chmod 777 "$other"
	times_are_shown || status=$?
	[ $status = 0 ] || [ $status = 77 ] || { in_one_of_5 times_are_shown && status=0; }
	rm -rf "$other"
	[ $status != 77 ] || skip "perf_event_open is not for ordinary users here"
	[ $status = 0 ]
}

# Each function's own time, in µs: "WORK INLINED".
work_of_report()
{
	value "(rows['work']['samples_us'], rows['inlined']['samples_us'])"
}

@test "cpu: exports have the numbers of the report" {
	needs_perf
	profile "$T/known" 300 thread
	numbers=$(work_of_report)
	"$HP_BUILD/hotpath" report --export folded -o "$T/folded"
	[ "$(python3 - "$T/folded" <<-'END'
		import sys
		own = {}
		for line in open(sys.argv[1]):
		    stack, number = line.rstrip("\n").rsplit(" ", 1)
		    name = stack.split(";")[-1]
		    own[name] = own.get(name, 0) + int(number)
		print((own["work"], own["inlined"]))
	END
	)" = "$numbers" ]
	grep -q ";run;heavy;work " "$T/folded"
	"$HP_BUILD/hotpath" report --export firefox -o "$T/profile.gz"
	python3 "$ROOT/test/behave/check_profile.py" "$T/profile.gz" >"$T/own"
	cat "$T/own"
	# The event holds each sample's time, so only the last part of a µs may differ.
	python3 - "$T/own" "$numbers" <<-'END'
		import ast, sys
		own = {name: int(number) for number, name in
		       (line.rstrip("\n").split(" ", 1) for line in open(sys.argv[1]))}
		work, inlined = ast.literal_eval(sys.argv[2])
		assert abs(own["work"] - work) <= work / 900, own
		assert abs(own["inlined"] - inlined) <= inlined / 900, own
	END
	"$HP_BUILD/hotpath" report --export pprof -o "$T/pprof"
	if command -v go >/dev/null; then
		go tool pprof -raw "$T/pprof" >"$T/raw"
		grep -q "cpu/nanoseconds" "$T/raw"
		go tool pprof -top "$T/pprof" 2>"$T/err" | grep -q " work$"
	fi
	gzip -t "$T/pprof"
}

@test "cpu: the time to make threads is their creator's" {
	needs_perf
	compile maker -D_GNU_SOURCE -fno-instrument-functions -lpthread <<-'END'
		#include <pthread.h>
		#include <stdio.h>
		#include <sys/resource.h>
		static void *nothing(void *unused) { return unused; }
		__attribute__((noinline)) static int makes(void)
		{
			pthread_t thread;
			return pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL);
		}
		static double seconds(int who)
		{
			struct rusage used;
			getrusage(who, &used);
			return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
			       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
		}
		int main(void)
		{
			for (int i = 0; seconds(RUSAGE_THREAD) < 0.3; i++)
				if (makes())
					return 1;
			printf("%f\n", seconds(RUSAGE_THREAD) / seconds(RUSAGE_SELF));
		}
	END
	HOTPATH_CPU_HZ=999 HOTPATH_OUTPUT_FORMAT=none "$HP_RUN" "$T/maker" >"$T/share"
	"$HP_BUILD/hotpath" report --export=folded >"$T/folded"
	# In the kernel for clone3, the C library has no information about its caller.
	awk -v truth="$(cat "$T/share")" '{ all += $NF } /;makes;/ { made += $NF } END {
		print made / all, truth
		exit !(made >= 0.7 * truth * all) }' "$T/folded"
}

@test "cpu: functions of the kernel are marked [k], and no others" {
	needs_perf
	compile reads -fno-instrument-functions <<-'END'
		#include <fcntl.h>
		#include <time.h>
		#include <unistd.h>
		static char room[1 << 20];
		__attribute__((noinline)) static unsigned long reads_zeros(int zeros)
		{
			unsigned long sum = 0;
			if (read(zeros, room, sizeof(room)) > 0)
				for (unsigned i = 0; i < sizeof(room); i++)
					sum += (unsigned char)room[i] * i;
			return sum;
		}
		int main(void)
		{
			struct timespec t = { 0, 0 };
			int zeros = open("/dev/zero", O_RDONLY);
			while (t.tv_sec == 0 && t.tv_nsec < 300000000) {
				reads_zeros(zeros);
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
			}
		}
	END
	HOTPATH_REPORT=functions-cpu "$HP_RUN" "$T/reads" 2>"$T/table"
	"$HP_BUILD/hotpath" report -r functions-cpu -f json >"$T/json"
	[ "$(jq .functions_cpu.has_kernel "$T/json")" = true ] || skip "the kernel may not be sampled here"
	cat "$T/table"
	# The kernel's names are in /proc/kallsyms if we may see it, and not in the program.
	# Long ones are shortened in the middle.
	sed -n 's/^\([^ …]*\) \[k\].*/\1/p' "$T/table" >"$T/marked"
	[ -s "$T/marked" ]
	grep -q '^reads_zeros  ' "$T/table"
	while read -r name; do
		grep -qE " $name(\.(isra|constprop|part|cold|llvm)[.0-9]*)*\$" /proc/kallsyms
	done <"$T/marked"
}

# Of 2,000,000 calls of quick() in real.c, 20 take 1 ms each, and hardly any of these are timed. Without
# samples their time may as well be the caller's, so that the interval begins at what the others took.
slow_calls_are_known()
{
	HOTPATH_REPORT=functions-timing,functions-cpu HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/real" periodic 2000000 1 >"$T/slow"
	python3 - "$T/json" "$T/slow" <<-'END'
		import json, sys
		report = json.load(open(sys.argv[1]))
		slow = {words[1]: int(words[2]) for words in map(str.split, open(sys.argv[2])) if words[0] == "slow"}
		quick = {row["name"]: row for row in report["functions_timing"]["raw"]}["quick"]
		print(slow["quick"], quick["inclusive_low_ns"], quick["inclusive_high_ns"])
		assert quick["inclusive_high_ns"] >= slow["quick"]
		assert quick["inclusive_low_ns"] >= 0.75 * slow["quick"]
	END
}

@test "cpu: samples tell whose the time of slow calls is that were not timed" {
	needs_perf
	gcc -O2 -g -finstrument-functions -o "$T/real" "$ROOT/test/bench/real.c"
	up_to_3 slow_calls_are_known
}

@test "cpu: an impossible export is reported" {
	run "$HP_BUILD/hotpath" report --export magic
	[ "$status" -eq 2 ]
	[[ "$output" == *"unknown format 'magic'; use firefox|flamegraph|folded|pprof"* ]]
	HOTPATH_CPU=off "$HP_RUN" "$T/known" 1 2>/dev/null
	run "$HP_BUILD/hotpath" report --export folded
	[ "$status" -eq 1 ]
	[[ "$output" == *"nothing to export: "*"HOTPATH_CPU=off"* ]]
}

# Our machines lack the processor's counters, so page faults replace cache misses (sampler/perf/count.h): the
# group, its values in samples, inherited by a thread, and the word in the table are the real ones.
@test "cpu: a function is called memory-bound only where counters show it" {
	needs_perf
	IFS=.- read -r major minor _ < <(uname -r)
	[ "$((major * 100 + minor))" -ge 612 ] || skip "Linux before 6.12 reads no groups of inherited events"
	cc -O1 -o "$T/faults" -xc - -lpthread <<-'END'
		#define _GNU_SOURCE
		#include <pthread.h>
		#include <sys/mman.h>
		#include <sys/resource.h>
		static volatile unsigned long sink;
		static double used(void)
		{
			struct rusage u;
			getrusage(RUSAGE_THREAD, &u);
			return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
		}
		__attribute__((noinline)) static void spins(void)
		{
			for (int i = 0; i < 1000000; i++)
				sink += (unsigned long)i;
		}
		__attribute__((noinline)) static void touches(void)
		{
			char *p = mmap(0, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			madvise(p, 4 << 20, MADV_NOHUGEPAGE);
			for (int i = 0; i < 4 << 20; i += 4096)
				p[i] = 1;
			sink += (unsigned long)p;
			munmap(p, 4 << 20);
		}
		static void *run(void *nothing)
		{
			while (used() < 0.3)
				spins();
			while (used() < 0.6)
				touches();
			return nothing;
		}
		int main(void)
		{
			pthread_t t;
			pthread_create(&t, 0, run, 0);
			return pthread_join(t, 0);
		}
	END
	for case in HOTPATH_TEST_COUNTS=1:True HOTPATH_LIMIT=0:False; do
		env HOTPATH_REPORT=bound,functions-cpu HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" \
			"${case%:*}" "$HP_RUN" "$T/faults"
		python3 - "$T/json" "${case#*:}" <<-'END'
			import json, sys
			rows = {row["name"]: row for row in json.load(open(sys.argv[1]))["bound"]["data"]}
			print(rows)
			assert rows["spins"]["bound"] == "CPU-bound"
			assert rows["touches"]["bound"].startswith("memory-bound") == (sys.argv[2] == "True")
		END
	done
}

@test "cpu: one figure for the cost of profiling, stand-ins included" {
	needs_perf
	compile stander -fno-instrument-functions <<-'EOF'
		#include <stdlib.h>
		int main(void)
		{
			for (volatile long i = 0; i < 20000000; i++)
				free(malloc(24));
			return 0;
		}
	EOF
	HOTPATH_CPU=perf HOTPATH_REPORT=cpu,functions-alloc HOTPATH_OUTPUT_FORMAT=table \
		HOTPATH_OUTPUT_PATH="$T/table" "$HP_RUN" "$T/stander"
	head -30 "$T/table"
	grep -Eq '^note +profiling cost [0-9.]+ (m|µ|n)?s ± [0-9.]+ (m|µ|n)?s \([0-9.]+% of CPU\); helper [0-9.]+ (m|µ|n)?s$' "$T/table"
	HOTPATH_CPU=perf HOTPATH_REPORT=cpu,functions-alloc HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/stander"
	python3 - "$T/json" <<-'END'
		import json, sys
		report = json.load(open(sys.argv[1]))
		summary = report["summary"]
		print(summary)
		# The program has no hooks. Most is the stand-ins', the rest interrupts and the start.
		low, high = summary["profiling_cost_low_ns"], summary["profiling_cost_high_ns"]
		assert summary["profiling_hooks_ns"] == 0
		assert 0 < low < high and report["functions_cpu"]["profiler_ns"] <= high
		assert abs(2 * summary["profiling_cost_ns"] - low - high) <= 4
		assert abs(2 * summary["profiling_cost_error_ns"] - (high - low)) <= 4
		assert 0 < summary["profiling_helper_ns"]
	END
}

# The program does nothing that we record, so no sample finds our code.
@test "cpu: interrupts and the start are part of what profiling cost" {
	needs_perf
	compile alone -fno-instrument-functions <<-'EOF'
		#include <time.h>
		int main(void)
		{
			while (clock() < CLOCKS_PER_SEC / 2)
				;
			return 0;
		}
	EOF
	HOTPATH_CPU=perf HOTPATH_REPORT=cpu HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" \
		"$HP_RUN" "$T/alone"
	python3 - "$T/json" <<-'END'
		import json, sys
		report = json.load(open(sys.argv[1]))
		summary, samples = report["summary"], report["functions_cpu"]["sample_count"]
		print(summary, samples)
		# No interrupt takes less than 0.3 us.
		assert 300 * samples < summary["profiling_cost_low_ns"] < summary["profiling_cost_high_ns"]
	END
	# Without samples only the start is known.
	HOTPATH_CPU=off HOTPATH_REPORT=threads HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" \
		"$HP_RUN" "$T/alone"
	python3 - "$T/json" <<-'END'
		import json, sys
		summary = json.load(open(sys.argv[1]))["summary"]
		print(summary)
		assert 0 < summary["profiling_cost_ns"] == summary["profiling_cost_low_ns"] <= summary["cpu_ns"]
		assert "profiling_cost_high_ns" not in summary
	END
	HOTPATH_CPU=off HOTPATH_REPORT=threads HOTPATH_OUTPUT_FORMAT=table HOTPATH_OUTPUT_PATH="$T/table" \
		"$HP_RUN" "$T/alone"
	grep -Eq '^note +profiling cost ≥[0-9.]+ (m|µ|n)?s \([0-9.]+% of CPU\)' "$T/table"
}
