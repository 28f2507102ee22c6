#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# filtered.bats - a program under the filter of system calls that containers have from their start (the whole
# list that Docker's documentation names): it behaves as usual, counts are exact, missing data is reported.

load helper

setup_file()
{
	gcc -D_GNU_SOURCE -O1 -o "$T/container_filter" "$ROOT/test/behave/programs/container_filter.c"
	"$T/container_filter" true || skip "no filters of system calls here"
	compile inside <<-'EOF'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
		static volatile unsigned long sink;
		static void step(void)
		{
			pthread_mutex_lock(&mutex);
			free(malloc(1 + sink++ % 100));
			pthread_mutex_unlock(&mutex);
		}
		static void *run(void *argument)
		{
			for (int i = 0; i < 1000; i++)
				step();
			return argument;
		}
		static void spin(void)
		{
			for (long i = 0; i < 200000000; i++)
				sink += (unsigned long)i;
		}
		int main(void)
		{
			pthread_t threads[3];
			int status;
			for (int i = 0; i < 3; i++)
				pthread_create(&threads[i], NULL, run, NULL);
			for (int i = 0; i < 3; i++)
				pthread_join(threads[i], NULL);
			if (fork() == 0) {
				step();
				_exit(3);
			}
			wait(&status);
			spin();
			printf("child %d\n", WEXITSTATUS(status));
			return 5;
		}
	EOF
}

# is_right COMMAND... - output, status and counts of the program, which COMMAND starts.
is_right()
{
	rm -f "$T/report"
	run env HOTPATH_REPORT=functions-timing,alloc,functions-cpu,offcpu HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/report" "$T/container_filter" "$@"
	echo "$output"
	[ "$status" = 5 ]
	[ "$output" = "child 3" ]
	report_comes "$T/report"
	counts_in "$T/report" >"$T/counts"
	cat "$T/counts"
	grep -qx "step 3001" "$T/counts"
	grep -qx "run 3" "$T/counts"
}

@test "filtered: as in a container, counts are exact and refusals are reported" {
	is_right env HOTPATH_CPU=perf "$HP_RUN" "$T/inside"
	grep -q "perf_event_open is not permitted by a seccomp filter" "$T/report"
	is_right env LD_PRELOAD="$HP_LIB" "$T/inside"
}

@test "filtered: as in a container, timers take requested samples" {
	is_right "$HP_RUN" "$T/inside"
	grep -q '"source":"timer"' "$T/report"
	grep -q '"spin"' "$T/report"
}
