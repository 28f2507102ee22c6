#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# faults.bats - system calls of the library, of the helper and of the report that fail, one in each run:
# the program behaves as it does without us, and either a report or a reason follows.

load helper

setup_file()
{
	compile victim <<-'EOF'
		/* A program with a bit of everything that is recorded, and an output that is always the same. */
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>
		#include <sys/wait.h>

		static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
		static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
		static long sum;
		static int turn;

		static void *work(void *argument)
		{
			for (int i = 0; i < 1000; i++) {
				char *block = malloc(10 + i % 100);
				memset(block, i, 10);
				pthread_mutex_lock(&lock);
				sum += block[3] + i;
				pthread_mutex_unlock(&lock);
				free(block);
			}
			pthread_mutex_lock(&lock);
			turn++;
			pthread_cond_signal(&ready);
			pthread_mutex_unlock(&lock);
			return argument;
		}

		int main(void)
		{
			pthread_t threads[3];
			int ends[2];
			char text[6] = "";
			pid_t child;
			int status;

			for (int i = 0; i < 3; i++)
				pthread_create(&threads[i], NULL, work, NULL);
			pthread_mutex_lock(&lock);
			while (turn < 3)
				pthread_cond_wait(&ready, &lock);
			pthread_mutex_unlock(&lock);
			for (int i = 0; i < 3; i++)
				pthread_join(threads[i], NULL);
			if (pipe(ends) < 0 || write(ends[1], "hello", 5) != 5 || read(ends[0], text, 5) != 5)
				return 1;
			child = fork();
			if (child == 0) {
				free(malloc(100));
				_exit(7);
			}
			waitpid(child, &status, 0);
			printf("%s %ld %d\n", text, sum, WEXITSTATUS(status));
			fflush(stdout);
			return 3;
		}
	EOF
	gcc -g -O1 -finstrument-functions -o "$T/faults" "$ROOT/test/behave/programs/faults.c" -lpthread -ldl -lrt
	gcc -g -O1 -finstrument-functions -o "$T/interrupt" "$ROOT/test/behave/programs/interrupt.c" -lpthread -ldl
	gcc -g -O1 -finstrument-functions -I"$ROOT/include" -DHOTPATH -o "$T/faults_more" \
		"$ROOT/test/behave/programs/faults_more.c" -lpthread -ldl
	echo 'int plug(int i) { return i + 1; }' | gcc -shared -fPIC -finstrument-functions -x c -o "$T/plugin.so" -
	make_as_built -C "$ROOT" B="$HP_BUILD" faulty
}

# scenes NAMES - those of sites.py that `make test` has time for.
scenes()
{
	[ -n "$HP_TEST_FULL" ] || echo "$1"
}

# some PARTS - every Nth call fails.
some()
{
	if [ -n "$HP_TEST_FULL" ]; then echo 1; else echo "$1"; fi
}

strace_works()
{
	strace -k -o "$T/nothing" true 2>/dev/null || skip "strace cannot trace, or tells no stacks, here"
}

@test "faults: calls of the library fail, and the program continues" {
	strace_works
	unset HOTPATH_EXIT_WAIT_MS	# it continues if the helper does not start
	python3 "$ROOT/test/behave/faults.py" target "$HP_BUILD" "$T/victim" "$(some 8)"
}

@test "faults: calls of the helper and the report fail, and the program continues" {
	strace_works
	unset HOTPATH_EXIT_WAIT_MS
	python3 "$ROOT/test/behave/faults.py" helper "$HP_BUILD" "$T/victim" "$(some 40)"
}

# sites MODE [STEP [PART...]] - the places of the library, the helper and the report (test/fault/sites.py).
sites()
{
	[ "$(uname -m)" = x86_64 ] || skip "test/fault knows the calls of x86-64 only"
	unset HOTPATH_EXIT_WAIT_MS
	FAULTS_PLUGIN=$T/plugin.so python3 "$ROOT/test/fault/sites.py" "$HP_BUILD" "$T/faults" "$@"
}

@test "faults: each request for memory or to the kernel is refused, once and always" {
	SITES_SCENES=$(scenes "threads memory channels") sites once+always "$(some 32)"
}

# Each is refused forever: facts that a wait would have shown must be
# requested.
@test "faults: the helper ends with its program where its waits are refused" {
	SITES_SCENES=threads SITES_ONLY='^(epoll_wait|epoll_ctl|futex|eventfd|eventfd_read|eventfd_write|pidfd_open|poll|waitid) |at sampler/end' \
		sites always 1 hotpath-sampler
}

@test "faults: the program, or its helper, is killed at a place of ours" {
	SITES_SCENES=$(scenes "threads processes") sites killed "$(some 32)" libhotpath.so hotpath-sampler
}

@test "faults: all memory is refused from some moment on" {
	SITES_SCENES=$(scenes "locks") sites memory "$(if [ -n "$HP_TEST_FULL" ]; then echo 40; else echo 6; fi)" libhotpath.so
}

@test "faults: ends, jumps, forks and cancels in the midst of our work" {
	local rounds=660 seed=$((RANDOM * 32768 + RANDOM))
	[ -z "$HP_TEST_FULL" ] || rounds=22000
	echo "seed $seed"
	"$T/interrupt" $rounds $seed "$T/bare.counts" >"$T/bare"
	HOTPATH_REPORT=all HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/interrupt.json \
		LD_PRELOAD=$HP_LIB "$T/interrupt" $rounds $seed "$T/counts" >"$T/out"
	diff "$T/bare" "$T/out"
	[ "$(awk '{ sum += $NF } END { print sum }' "$T/out")" = $rounds ]
	report_comes "$T/interrupt.json"
	python3 "$ROOT/test/behave/interrupt.py" "$T/interrupt.json" "$T/counts" $rounds
	# A longjmp out of a hook leaves only some of its counters updated.
	rm "$T/interrupt.json"
}

@test "faults: a full tmpfs under the record kills nothing" {
	unshare -m true 2>/dev/null || skip "no mount namespaces here"
	[ "$(uname -m)" = x86_64 ] || skip "refuses memfd_create by its number on x86-64"
	unset HOTPATH_EXIT_WAIT_MS
	gcc -O2 -o "$T/refuse" "$ROOT/test/behave/programs/refuse.c"
	unshare -m --propagation private "$ROOT/test/behave/full_tmpfs.bash" "$T" "$HP_LIB" "$(if [ -n "$HP_TEST_FULL" ]; then
		echo 50; else echo 1; fi)" 1m 4m 16m
}
