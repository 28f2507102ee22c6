#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# cpurate.bats - how often the program is interrupted for samples: at most the requested rate.

load helper

setup_file()
{
	compile busy -O2 -fno-instrument-functions <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/resource.h>
		#include <time.h>
		static volatile unsigned long sink;
		/* argv[1] ms of CPU, a nap in between; prints the seconds that it has used in the end, or how often it has
		   been switched. */
		int main(int argc, char **argv)
		{
			clock_t end = (argc > 1 ? atol(argv[1]) : 100) * CLOCKS_PER_SEC / 1000;
			nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
			while (clock() < end)
				for (int i = 0; i < 100000; i++)
					sink += (unsigned long)i;
			nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
			struct rusage used;
			getrusage(RUSAGE_SELF, &used);
			if (argc > 2)
				printf("%ld\n", used.ru_nvcsw + used.ru_nivcsw);
			else
				printf("%f\n", (double)clock() / CLOCKS_PER_SEC);
			return 0;
		}
	END
	# The helper as strace runs it: it is started so that no tracer of the program follows it.
	mkdir "$T/bin"
	ln -s "$HP_BUILD"/hotpath* "$T/bin"
	rm "$T/bin/hotpath-sampler"
	printf '#!/bin/sh\nexec strace -qq -e trace=perf_event_open -o "%s" "%s" "$@"\n' "$T/trace" \
		"$HP_BUILD/hotpath-sampler" >"$T/bin/hotpath-sampler"
	chmod +x "$T/bin/hotpath-sampler"
	if HOTPATH_REPORT=functions-cpu "$HP_RUN" "$T/busy" 60 2>&1 | grep -q "([0-9,]* samples"; then
		touch "$T/allowed"
	fi
}

setup()
{
	[ -e "$T/allowed" ] || skip "perf_event_open is refused here"
}

# opened VARIABLE=VALUE [MS] - the distinct events that the helper opens, as strace prints them.
opened()
{
	rm -f "$T/trace"
	env "$1" HOTPATH_BIN="$T/bin" HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" \
		"$T/busy" "${2:-300}" >"$T/cpu"
	[ -e "$T/trace" ] || echo "no trace"
	grep -o 'config=[A-Z_]*' "$T/trace" | sort -u | tr '\n' ' '
}

asked()
{
	python3 -c "import json, sys; a = json.load(open('$T/json')); print($1)"
}

@test "rate: requesting waits alone takes no samples" {
	local ms
	# On a busy machine the helper, with strace, may start after the last nap.
	for ms in 300 3000 30000; do
		[[ $(opened HOTPATH_REPORT=offcpu $ms) =~ SW_DUMMY ]]
		run -1 grep 'CPU_CLOCK\|CPU_CYCLES' "$T/trace"
		[ "$(asked "sum(r['waits'] for r in a['offcpu']['raw']) >= 1")" != True ] || break
	done
	[ "$(asked "sum(r['waits'] for r in a['offcpu']['raw']) >= 1")" = True ]
	[[ $(opened HOTPATH_REPORT=functions-cpu) =~ CPU_CLOCK|CPU_CYCLES ]]
}

@test "rate: nothing is opened for a report that does not show it" {
	for setting in HOTPATH_CPU=off HOTPATH_REPORT=threads HOTPATH_REPORT=auto,-functions-cpu,-offcpu; do
		[ "$(opened $setting)" = "" ]
	done
	[[ $(opened HOTPATH_REPORT=auto) =~ CPU_CLOCK|CPU_CYCLES ]]
}

@test "rate: with waits alone a function's bound is unknown, and samples are not called zero" {
	HOTPATH_REPORT=auto,-cpu "$HP_RUN" "$T/busy" 60 >"$T/cpu" 2>"$T/table"
	grep -q '^offcpu - ' "$T/table"
	run -1 grep '^bound - ' "$T/table"
	"$HP_BUILD/hotpath" report -r functions-cpu >"$T/table"
	cat "$T/table"
	grep -q 'HOTPATH_REPORT had no functions-cpu' "$T/table"
}

@test "rate: 999 Hz on request and at the start of other runs, or the rate that is set" {
	for case in functions-cpu: auto: functions-cpu:HOTPATH_CPU_HZ=500 auto:HOTPATH_CPU_HZ=500 auto:HOTPATH_CPU=perf; do
		env HOTPATH_REPORT="${case%%:*}" HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" \
			${case#*:} "$HP_RUN" "$T/busy" 400 >"$T/cpu"
		asked "a['functions_cpu']['frequency_hz'], a['functions_cpu'].get('frequency_first_hz')"
	done >"$T/rates"
	[ "$(tr '\n' ' ' <"$T/rates")" = "999 None 999 None 500 None 500 None 999 None " ]
}

@test "rate: after the first second of CPU time fewer samples represent the same time" {
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/busy" 2600 >"$T/cpu"
	asked "a['functions_cpu']['total_samples'], a['functions_cpu']['sample_count'], $(cat "$T/cpu")"
	[ "$(asked "a['functions_cpu']['frequency_hz'], a['functions_cpu']['frequency_first_hz']")" = "249 999" ]
	# Within the limits of late scans and a late start; the time without samples is reported, too.
	[ "$(asked "0.8 * $(cat "$T/cpu") <= a['functions_cpu']['total_samples'] / 1e6 + a['functions_cpu'].get('unsampled_ns', 0) / 1e9 <= 1.1 * $(cat "$T/cpu")")" = True ]
	[ "$(asked "a['functions_cpu']['sample_count'] <= 0.8 * 999 * $(cat "$T/cpu")")" = True ]
	# A busy machine loses timer ticks; then too few samples are left of the first second.
	[ "$(asked "a['functions_cpu']['sample_count'] >= 249 * 2.6")" = True ] || skip "this machine lost most samples"
	# Beside programs that switch often, this one may do so as well.
	[ "$(asked "a['functions_cpu'].get('frequency_low_hz')")" = None ] || skip "it had the rate of threads that switch"
	# Unequal weights make a sample worth less: the error is that of fewer samples.
	[ "$(asked "all(r['self_effective'] <= r['self_samples'] for r in a['functions_cpu']['raw'])")" = True ]
	[ "$(asked "max(r['self_effective'] / r['self_samples'] for r in a['functions_cpu']['raw'] if r['self_samples'] > 250) < 0.95")" = True ]
	# The kept run and its exports know.
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" "$HP_BUILD/hotpath" report -r functions-cpu
	[ "$(asked "a['functions_cpu']['frequency_first_hz']")" = 999 ]
	"$HP_BUILD/hotpath" report --export firefox -o "$T/first.json.gz"
	gzip -dc "$T/first.json.gz" | python3 -c '
import json, sys
a = json.load(sys.stdin)
weights = [w for t in a["threads"] for w in t["samples"]["weight"] or [] if t["samples"]["weightType"] == "tracing-ms" and "waits" not in t["name"]]
print(a["meta"]["interval"], min(weights), max(weights))
assert 0.9 < min(weights) < 1.1 and 3.9 < max(weights) < 4.2, (min(weights), max(weights))
assert 1.05 < a["meta"]["interval"] < 4'
}

@test "rate: the number of complete stacks covers samples, not waits" {
	local naps
	compile naps -O2 -fno-instrument-functions <<-'END'
		#include <stdlib.h>
		#include <time.h>
		int main(int argc, char **argv)
		{
			for (long i = argc > 1 ? atol(argv[1]) : 0; i > 0; i--)
				nanosleep(&(struct timespec){ 0, 100000 }, NULL);
			return 0;
		}
	END
	# Waits until there are more waits than samples, each with a stack.
	for naps in 300 3000 30000; do
		HOTPATH_REPORT=functions-cpu,offcpu HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/naps" $naps
		[ "$(asked "a['functions_cpu'].get('complete_count', 0) <= a['functions_cpu'].get('sample_count', 0)")" = True ]
		waits=$(asked "sum(r['waits'] for r in a['offcpu']['raw']) > 2 * a['functions_cpu'].get('sample_count', 0)")
		[ "$waits" != True ] || break
	done
	[ "$waits" = True ]
}

@test "rate: records lost in an ordinary user's small rings are counted, to the very end" {
	local helper counted

	[ "$(id -u)" = 0 ] || skip "only root can become somebody else"
	compile burns -O2 -fno-instrument-functions <<-'END'
		#include <fcntl.h>
		#include <stdio.h>
		#include <time.h>
		#include <unistd.h>
		static volatile unsigned long sink;
		static void burn(double seconds)
		{
			while ((double)clock() < seconds * CLOCKS_PER_SEC)
				for (int i = 0; i < 100000; i++)
					sink += (unsigned long)i;
		}
		int main(int argc, char **argv)
		{
			burn(0.4);
			fclose(fopen(argv[1], "w"));
			while (access(argv[3], F_OK) != 0)
				usleep(1000);
			burn(1.2);
			FILE *out = fopen(argv[2], "w");
			fprintf(out, "%f\n", (double)clock() / CLOCKS_PER_SEC);
			return fclose(out) + argc * 0;
		}
	END
	other=$(mktemp -d /tmp/hotpath-test.XXXXXX)
	cp "$HP_BUILD"/hotpath* "$HP_LIB" "$T/burns" "$other" 2>/dev/null || true
	chmod -R a+rX "$other"
	chmod 777 "$other"
	HOTPATH_CPU_HZ=4000 HOTPATH_REPORT=functions-cpu HOTPATH_OUTPUT_FORMAT=json HOTPATH_KEEP=0 \
		HOTPATH_OUTPUT_PATH="$other/json" HOTPATH_SEGMENT_PATH="$other/segment" setpriv --reuid=65534 \
		--regid=65534 --clear-groups "$other/hotpath-run" "$other/burns" "$other/begun" "$other/ended" "$other/go" &
	eventually [ -e "$other/begun" ]
	# From now on the rings stay unread, until their writers are gone.
	helper=$(od -An -t u4 -j 200 -N 4 "$other/segment" | tr -d ' ')
	kill -STOP "$helper"
	eventually is_stopped "$helper"
	touch "$other/go"
	eventually [ -s "$other/ended" ]
	kill -CONT "$helper"
	wait $!
	report_comes "$other/json"
	cp "$other/json" "$T/json"
	counted=$(asked "(a['functions_cpu'].get('sample_count', 0), a['functions_cpu'].get('lost_count', 0), $(cat "$other/ended") * a['functions_cpu']['frequency_hz'])")
	rm -rf "$other"
	echo "taken, lost, expected: $counted"
	[ "$(python3 -c "t, l, e = $counted; print(l > t / 2 and 0.6 * e < t + l < 1.15 * e)")" = True ]
}

@test "rate: a flood of stacks of waits leaves room for samples" {
	local helper
	compile floods -O2 -fno-instrument-functions <<-'END'
		#include <stdio.h>
		#include <time.h>
		#include <unistd.h>
		static volatile unsigned long sink;
		int main(int argc, char **argv)
		{
			double end;
			fclose(fopen(argv[1], "w"));
			while (access(argv[3], F_OK) != 0)
				usleep(1000);
			for (int i = 0; i < 3000; i++)
				nanosleep(&(struct timespec){ 0, 20000 }, NULL);
			end = (double)clock() / CLOCKS_PER_SEC + 0.2;
			while ((double)clock() / CLOCKS_PER_SEC < end)
				for (int i = 0; i < 100000; i++)
					sink += (unsigned long)i;
			FILE *out = fopen(argv[2], "w");
			fprintf(out, "%f\n", (double)clock() / CLOCKS_PER_SEC);
			return fclose(out) + argc * 0;
		}
	END
	HOTPATH_CPU_HZ=499 HOTPATH_REPORT=functions-cpu,offcpu HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/json" HOTPATH_SEGMENT_PATH="$T/segment" "$HP_RUN" "$T/floods" "$T/begun" \
		"$T/ended" "$T/go" &
	eventually [ -e "$T/begun" ]
	# The rings stay unread during the flood, and until all samples are taken.
	helper=$(od -An -t u4 -j 200 -N 4 "$T/segment" | tr -d ' ')
	samples_are_taken()
	{
		find /proc/"$helper"/fd -lname '*perf_event*' 2>/dev/null | grep -q .
	}
	eventually samples_are_taken || skip "no counters here"
	kill -STOP "$helper"
	eventually is_stopped "$helper"
	touch "$T/go"
	eventually [ -s "$T/ended" ]
	kill -CONT "$helper"
	wait $!
	report_comes "$T/json"
	asked "a['functions_cpu'].get('sample_count', 0), a['functions_cpu'].get('lost_count', 0), $(cat "$T/ended")"
	[ "$(asked "a['functions_cpu']['has_kernel']")" = True ] || skip "no stacks of waits here"
	grep -q 'CapEff:.*[4-7c-f]...$' /proc/self/status || skip "the rings of this user are limited"
	[ "$(asked "a['functions_cpu']['lost_count']")" = 0 ]
	[ "$(asked "a['functions_cpu']['total_samples'] / 1e6 > 0.6 * $(cat "$T/ended")")" = True ]
}

@test "rate: an ordinary user has samples from all CPUs, even if no memory may be locked" {
	local locked

	[ "$(id -u)" = 0 ] || skip "only root can become somebody else"
	other=$(mktemp -d /tmp/hotpath-test.XXXXXX)
	cp "$HP_BUILD"/hotpath* "$HP_LIB" "$T/busy" "$other" 2>/dev/null || true
	chmod -R a+rwX "$other"
	# A ring for each CPU: what one takes, the others lack.
	for locked in "$(ulimit -l)" 64 0; do
		(ulimit -l $locked && HOTPATH_REPORT=functions-cpu HOTPATH_OUTPUT_FORMAT=json HOTPATH_KEEP=0 \
			HOTPATH_OUTPUT_PATH="$other/json" setpriv --reuid=65534 --regid=65534 --clear-groups \
			"$other/hotpath-run" "$other/busy" 200)
		cp "$other/json" "$T/json"
		asked "a['functions_cpu'].get('sample_count', 0)"
	done >"$T/counts"
	rm -rf "$other"
	cat "$T/counts"
	grep -q '^[1-9]' "$T/counts" || skip "perf_event_open is not for ordinary users here"
	[ "$(grep -c '^[1-9]' "$T/counts")" = 3 ]
}

# After the first second of CPU time all threads get other events, and most of these have second rings.
@test "rate: of an ordinary user's many threads, those with second rings have their samples" {
	local as=
	[ "$(id -u)" != 0 ] || as="setpriv --reuid=65534 --regid=65534 --clear-groups"
	compile many_burn -O1 -fno-instrument-functions -Wl,--export-dynamic <<-'END'
		#include <pthread.h>
		#include <stdio.h>
		#include <time.h>
		static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
		static double ms(void)
		{
			struct timespec now;
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
			return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
		}
		__attribute__((noinline)) void burn_first(double end) { while (ms() < end) for (volatile int i = 0; i < 30000; i++); }
		__attribute__((noinline)) void burn_later(double end) { while (ms() < end) for (volatile int i = 0; i < 30000; i++); __asm__ volatile(""); }
		static void *work(void *nothing)
		{
			pthread_mutex_lock(&turn);
			burn_later(ms() + 12);
			pthread_mutex_unlock(&turn);
			return nothing;
		}
		int main(void)
		{
			pthread_t threads[150];
			double start;
			pthread_mutex_lock(&turn);
			for (int i = 0; i < 150; i++)
				if (pthread_create(&threads[i], NULL, work, NULL))
					return 7;
			burn_first(1200);
			start = ms();
			pthread_mutex_unlock(&turn);
			for (int i = 0; i < 150; i++)
				pthread_join(threads[i], NULL);
			printf("%.0f %.0f\n", ms() - start, ms());
			return 0;
		}
	END
	other=$(mktemp -d /tmp/hotpath-test.XXXXXX)
	cp "$HP_BUILD"/hotpath* "$HP_LIB" "$T/many_burn" "$other" 2>/dev/null || true
	chmod -R a+rwX "$other"
	HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json HOTPATH_KEEP=0 HOTPATH_OUTPUT_PATH="$other/json" $as \
		"$other/hotpath-run" "$other/many_burn" >"$T/truth"
	cp "$other/json" "$T/json"
	rm -rf "$other"
	cat "$T/truth"
	[ "$(asked "'raw' in a.get('functions_cpu', {})")" = True ] || skip "no samples here"
	python3 - "$T/json" "$T/truth" <<-'END'
		import json, sys
		samples = json.load(open(sys.argv[1]))["functions_cpu"]
		later, whole = map(float, open(sys.argv[2]).read().split())
		ns = {name: sum(row["inclusive_ns"] for row in samples["raw"] if row["name"].endswith(name)) for name in ("burn_first", "burn_later")}
		print(ns, samples["lost_count"], later, whole)
		# Of 12 ms of a thread, a period of 4 ms has no sample, and 32 threads have the first rings.
		assert 0.35 * later < ns["burn_later"] / 1e6 + 4 * samples["lost_count"] < 1.1 * later + 4 * samples["lost_count"]
	END
}

@test "rate: threads that switch often are sampled less often, for the same CPU time, with a note" {
	compile turns -O2 -fno-instrument-functions <<-'END'
		#include <stdio.h>
		#include <sys/resource.h>
		#include <sys/wait.h>
		#include <time.h>
		#include <unistd.h>
		/* A turn goes to and fro until this process has had so much CPU. */
		int main(void)
		{
			int to[2], from[2];
			struct rusage own, child;
			char turn = 0;
			if (pipe(to) || pipe(from))
				return 1;
			if (fork() == 0) {
				close(to[1]);
				while (read(to[0], &turn, 1) == 1)
					if (write(from[1], &turn, 1) != 1)
						break;
				return 0;
			}
			while (clock() < CLOCKS_PER_SEC * 12 / 10)
				if (write(to[1], &turn, 1) != 1 || read(from[0], &turn, 1) != 1)
					return 2;
			close(to[1]);
			wait(NULL);
			getrusage(RUSAGE_SELF, &own);
			getrusage(RUSAGE_CHILDREN, &child);
			printf("%.6f\n", own.ru_utime.tv_sec + own.ru_stime.tv_sec + child.ru_utime.tv_sec +
						 child.ru_stime.tv_sec +
						 (own.ru_utime.tv_usec + own.ru_stime.tv_usec + child.ru_utime.tv_usec +
						  child.ru_stime.tv_usec) / 1e6);
			return 0;
		}
	END
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/turns" >"$T/cpu"
	asked "a['functions_cpu']['source']" >"$T/source"
	grep -q clock "$T/source" || skip "the processor's counters have no timer"
	asked "{k: v for k, v in a['functions_cpu'].items() if k not in ('data', 'raw')}, $(cat "$T/cpu")"
	# With permission for all CPUs, CPUs are sampled once there are too many switches.
	if [ "$(asked "a['functions_cpu'].get('is_by_cpu')")" = True ]; then
		[ "$(asked "a['functions_cpu']['frequency_hz']")" = 249 ]
		[ "$(asked "a['functions_cpu']['total_samples'] / 1e6 < 1.2 * $(cat "$T/cpu")")" = True ]
		"$HP_BUILD/hotpath" report -r functions-cpu | tr '\n' ' ' | grep -q 'by CPU while threads switched often'
		return
	fi
	[ "$(asked "a['functions_cpu']['frequency_hz'], a['functions_cpu']['frequency_low_hz']")" = "249 49" ]
	# 249 per second, with late first scans, would be half as many again; each sample stands for
	# the time between two at its rate.
	[ "$(asked "a['functions_cpu']['sample_count'] < 170 * $(cat "$T/cpu")")" = True ]
	[ "$(asked "6000 < a['functions_cpu']['total_samples'] / a['functions_cpu']['sample_count'] < 20500")" = True ]
	[ "$(asked "a['functions_cpu']['total_samples'] / 1e6 < 1.2 * $(cat "$T/cpu")")" = True ]
	"$HP_BUILD/hotpath" report -r functions-cpu >"$T/table"
	cat "$T/table"
	tr '\n' ' ' <"$T/table" | grep -q 'at 49 Hz while threads switched often'
	# An explicit request gets the requested rate, and so does a computing
	# program.
	HOTPATH_CPU_HZ=249 HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/turns" >"$T/cpu"
	[ "$(asked "a['functions_cpu'].get('frequency_low_hz')")" = None ]
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/busy" 600 switches >"$T/switches"
	# Other programs may preempt it as often (HP_CALM_HZ is for 2500 switches per second of CPU
	# time).
	cat "$T/switches"
	[ "$(asked "a['functions_cpu'].get('frequency_low_hz')")" = None ] || [ "$(cat "$T/switches")" -ge 250 ]
}

@test "rate: requested samples of two threads that take turns: by CPU, or less often, each with its share" {
	compile pair -O2 -fno-instrument-functions -pthread <<-'END'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <time.h>
		#include <unistd.h>
		static int to[2], from[2];
		static volatile unsigned long sink;
		static double spent[2];
		static double clock_of(clockid_t clock)
		{
			struct timespec t;
			clock_gettime(clock, &t);
			return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
		}
		static void work(int loops)
		{
			for (int n = 0; n < loops; n++)
				sink += (unsigned long)n;
		}
		__attribute__((noinline)) static void *gives(void *unused)
		{
			char turn = 0;
			while (clock_of(CLOCK_PROCESS_CPUTIME_ID) < 1.2) {
				work(60000);
				if (write(to[1], &turn, 1) != 1 || read(from[0], &turn, 1) != 1)
					abort();
			}
			close(to[1]);
			spent[0] = clock_of(CLOCK_THREAD_CPUTIME_ID);
			return unused;
		}
		__attribute__((noinline)) static void *takes(void *unused)
		{
			char turn = 0;
			while (read(to[0], &turn, 1) == 1) {
				work(20000);
				if (write(from[1], &turn, 1) != 1)
					abort();
			}
			spent[1] = clock_of(CLOCK_THREAD_CPUTIME_ID);
			return unused;
		}
		int main(void)
		{
			pthread_t threads[2];
			if (pipe(to) || pipe(from) || pthread_create(&threads[0], NULL, gives, NULL) ||
			    pthread_create(&threads[1], NULL, takes, NULL))
				return 1;
			for (int i = 0; i < 2; i++)
				pthread_join(threads[i], NULL);
			printf("%.6f %.6f\n", spent[0], spent[1]);
			return 0;
		}
	END
	HOTPATH_REPORT=functions-cpu HOTPATH_CPU_INCLUSIVE=1 HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/pair" >"$T/cpu"
	asked "{k: v for k, v in a['functions_cpu'].items() if k not in ('data', 'raw')}"
	[ "$(asked "a['functions_cpu']['source']")" = cpu-clock ] || skip "the processor's counters have no timer"
	if [ "$(asked "a['functions_cpu']['has_kernel']")" = True ]; then
		[ "$(asked "a['functions_cpu'].get('is_by_cpu')")" = True ]
		[ "$(asked "a['functions_cpu']['frequency_hz']")" = 999 ]
	else
		[ "$(asked "a['functions_cpu']['frequency_low_hz']")" = 49 ]
	fi
	# The shares are those of the threads' clocks, within 3 points, the reported error and two errors by
	# chance. A virtual machine loses a good part of the ticks here, and the reported error contains that.
	cat >"$T/shares.py" <<-'END'
		import json, sys
		cpu = json.load(open(sys.argv[1]))["functions_cpu"]
		gives, takes = (float(word) for word in sys.argv[2:])
		rows = {r["name"]: r for r in cpu["raw"]}
		all_ns = rows["gives"]["inclusive_ns"] + rows["takes"]["inclusive_ns"]
		share, truth = rows["gives"]["inclusive_ns"] / all_ns, gives / (gives + takes)
		by_chance = (truth * (1 - truth) / cpu["sample_count"]) ** 0.5
		without = cpu.get("unsampled_ns", 0) / 1e9
		error = rows["gives"]["percent_error"] / 100
		print(share, truth, by_chance, error, all_ns / 1e9, without, gives + takes)
		assert abs(share - truth) < 0.03 + error + 2 * by_chance
		assert 0.9 * (gives + takes) < all_ns / 1e9 + without < 1.2 * (gives + takes)
	END
	# shellcheck disable=SC2046
	python3 "$T/shares.py" "$T/json" $(cat "$T/cpu")
}

@test "rate: many threads that each run for a moment have samples" {
	compile ring -O2 -fno-instrument-functions -pthread <<-'END'
		#include <pthread.h>
		#include <semaphore.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <time.h>
		#include <unistd.h>
		#define THREADS 100
		#define TURNS 150
		static sem_t turns[THREADS];
		static volatile unsigned long sink;
		static void *member(void *argument)
		{
			long i = (long)argument;
			for (int turn = 0; turn < TURNS; turn++) {
				sem_wait(&turns[i]);
				struct timespec end, now;
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
				do {
					for (int n = 0; n < 500; n++)
						sink += (unsigned long)n;
					clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
				} while ((now.tv_sec - end.tv_sec) * 1000000000L + now.tv_nsec - end.tv_nsec < 100000);
				if (turn == TURNS - 1 && i == THREADS - 1)
					exit(0);
				sem_post(&turns[(i + 1) % THREADS]);
			}
			pause();
			return NULL;
		}
		/* One thread runs at a time, 15 ms each in all; none ends before the process. */
		int main(void)
		{
			pthread_t threads[THREADS];
			for (long i = 0; i < THREADS; i++)
				sem_init(&turns[i], 0, i == 0);
			for (long i = 0; i < THREADS; i++)
				if (pthread_create(&threads[i], NULL, member, (void *)i))
					return 1;
			pause();
			return 0;
		}
	END
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$T/ring"
	asked "a['summary']['cpu_ns'], {k: v for k, v in a['functions_cpu'].items() if k not in ('data', 'raw')}"
	[ "$(asked "a['functions_cpu'].get('unsampled_ns', 0) < a['summary']['cpu_ns'] / 2")" = True ]
}
