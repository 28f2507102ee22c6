#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# cpuloss.bats - CPU time of threads that end before a sample is due: sampled where it can be, told where not.

load helper

setup_file()
{
	compile short -O2 -fno-instrument-functions -lpthread <<-'END'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/resource.h>
		#include <time.h>
		static volatile unsigned long sink;
		/* Half a ms of CPU time. */
		__attribute__((noinline)) static void brief(void)
		{
			struct timespec t;
			do {
				for (int i = 0; i < 1000; i++)
					sink += (unsigned long)i;
				clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
			} while (!t.tv_sec && t.tv_nsec < 500000);
		}
		static void *run(void *argument)
		{
			brief();
			return argument;
		}
		/* argv[1] threads, one after the other; prints the CPU time in seconds. */
		int main(int argc, char **argv)
		{
			struct rusage own;
			pthread_t thread;
			for (long i = 0; i < (argc > 1 ? atol(argv[1]) : 100); i++)
				if (pthread_create(&thread, NULL, run, NULL) || pthread_join(thread, NULL))
					return 1;
			getrusage(RUSAGE_SELF, &own);
			printf("%.6f\n", own.ru_utime.tv_sec + own.ru_stime.tv_sec +
						 (own.ru_utime.tv_usec + own.ru_stime.tv_usec) / 1e6);
			return 0;
		}
	END
	if HOTPATH_REPORT=functions-cpu HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/json "$HP_RUN" \
		bash -c 'for ((i = 0; i < 100000; i++)); do :; done' && grep -q '"source":.*"cpu-clock"' "$T/json"; then
		touch "$T/allowed"
	fi
}

setup()
{
	[ -e "$T/allowed" ] || skip "no samples by the kernel's clock here"
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/json
	cd "$BATS_TEST_TMPDIR"
}

# asked EXPRESSION - evaluates it on the section `c`.
asked()
{
	python3 -c "import json; c = json.load(open('json'))['functions_cpu']; print($1)"
}

@test "loss: CPU time without samples is in the title and in JSON, and is the rest of the total" {
	local other as=

	# A user who may only see their own threads must sample them thread by
	# thread.
	[ "$(id -u)" != 0 ] || as="setpriv --reuid=65534 --regid=65534 --clear-groups"
	# Other users cannot read the tests' folder.
	other=$(mktemp -d /tmp/hotpath-test.XXXXXX)
	cp "$HP_BUILD"/hotpath* "$HP_LIB" "$T/short" "$other" 2>/dev/null || true
	chmod -R a+rX "$other"
	chmod 777 "$other"
	HOTPATH_REPORT=functions-cpu HOTPATH_CPU_HZ=249 HOTPATH_KEEP=0 HOTPATH_OUTPUT_PATH=$other/json \
		HOTPATH_SEGMENT_PATH=$other/segment $as "$other/hotpath-run" "$other/short" 1200 >cpu
	mv "$other/json" "$other/segment" .
	rm -r "$other"
	asked "{k: v for k, v in c.items() if k not in ('data', 'raw')}, $(cat cpu)"
	[ "$(asked "c['source']")" = cpu-clock ] || skip "this user gets no samples"
	[ "$(asked "c.get('unsampled_ns', 0) > 0.5e9 * $(cat cpu)")" = True ]
	[ "$(asked "abs(c['unsampled_ns'] + c['total_samples'] * 1e3 - $(cat cpu) * 1e9) < 0.1e9 * $(cat cpu)")" = True ]
	HOTPATH_OUTPUT_PATH= HOTPATH_OUTPUT_FORMAT= "$HP_BUILD/hotpath" report -r functions-cpu segment >table
	cat table
	tr '\n' ' ' <table | grep -Eq 'of CPU time without|no sample was taken in [0-9.]+ [a-z]+ of CPU time'
}

# Root, or CAP_PERFMON, or a kernel that permits everybody.
sees_all()
{
	python3 - <<-'EOF'
		rights = next(int(line.split()[1], 16) for line in open("/proc/self/status") if line.startswith("CapEff"))
		everybody = int(open("/proc/sys/kernel/perf_event_paranoid").read()) < 1
		raise SystemExit(not (everybody or rights >> 38 & 1 or rights >> 21 & 1))
	EOF
}

@test "loss: with full permission, short threads are sampled in proportion to their CPU time, and no other process is" {
	local least=0.6 other

	sees_all || skip "CPUs as a whole may not be sampled here"
	[ -z "$HP_TEST_FULL" ] || least=0.8
	# Others' work on the same CPUs isn't the program's.
	while :; do :; done &
	other=$!
	HOTPATH_REPORT=functions-cpu HOTPATH_CPU_HZ=249 HOTPATH_LIMIT=0 "$HP_RUN" "$T/short" 4000 >cpu || true
	kill "$other"
	asked "{k: v for k, v in c.items() if k not in ('data', 'raw')}, $(cat cpu)"
	asked "c['raw'][:5]"
	[ "$(asked "$least < c['total_samples'] / 1e6 / $(cat cpu) < 1.15")" = True ]
	# Half a ms of each thread, minus the kernel's part of its start.
	[ "$(asked "0.8 < next(r['inclusive_samples'] for r in c['raw'] if r['name'] == 'brief') / c['sample_count'] * $(cat cpu) / 2 < 1.1")" = True ]
}
