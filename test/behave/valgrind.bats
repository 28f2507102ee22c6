#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# valgrind.bats - helgrind and drd with our suppressions report the program's own races, and nothing of ours.

load helper

setup_file()
{
	compile races -fno-omit-frame-pointer <<-'EOF'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
		static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
		static int ends[2], ready;
		static long guarded, planted;
		static void use(int i)
		{
			char *block = malloc((size_t)(16 + i % 7 * 100));
			block[0] = (char)i;
			if (write(ends[1], block, 1) != 1 || read(ends[0], block, 1) != 1)
				abort();
			pthread_mutex_lock(&mutex);
			guarded++;
			pthread_mutex_unlock(&mutex);
			free(block);
		}
		static void *run(void *is_racy)
		{
			pthread_mutex_lock(&mutex);
			while (!ready)
				pthread_cond_wait(&changed, &mutex);
			pthread_mutex_unlock(&mutex);
			for (int i = 0; i < 30; i++)
				use(i);
			if (is_racy)
				planted++;
			return NULL;
		}
		static void *begin(void *is_racy)
		{
			pthread_t inner;
			if (pthread_create(&inner, NULL, run, is_racy) != 0)
				abort();
			pthread_join(inner, NULL);
			return NULL;
		}
		int main(int argc, char **argv)
		{
			pthread_t threads[3];
			(void)argv;
			if (pipe(ends) != 0)
				return 1;
			for (int i = 0; i < 3; i++)
				pthread_create(&threads[i], NULL, i ? begin : run, argc > 1 ? &planted : NULL);
			pthread_mutex_lock(&mutex);
			ready = 1;
			pthread_cond_broadcast(&changed);
			pthread_mutex_unlock(&mutex);
			for (int i = 0; i < 3; i++)
				pthread_join(threads[i], NULL);
			printf("%ld\n", guarded);
			return 0;
		}
	EOF
	PLANTED=$(grep -n 'planted++' "$T/races.c" | cut -d: -f1)
	export PLANTED
	export HOTPATH_REPORT=all HOTPATH_OUTPUT_FORMAT=none HOTPATH_KEEP=0
	gcc -g -O1 -o "$T/plain" "$T/races.c" -lpthread
}

# reported TOOL PROGRAM [ARGUMENT] - "FUNCTION (FILE:LINE)" of each error, from the log.
reported()
{
	local tool=$1
	shift
	[ "$(LD_PRELOAD=$HP_LIB valgrind --tool="$tool" -s --suppressions="$ROOT/scripts/package/hotpath.supp" \
		--log-file="$T/log" "$@")" = 90 ] || return
	grep -q 'ERROR SUMMARY' "$T/log" || return
	# The library was loaded: its own accesses were suppressed.
	grep -q "used_suppression: .*hotpath: memory of its own" "$T/log" || return
	grep -E -A3 'Possible data race|Conflicting (load|store)' "$T/log" |
		sed -n 's/^==[0-9]*==    at 0x[0-9A-F]*: //p' | sort -u
	! grep -E '^==[0-9]+== (Thread #[0-9]+:|Thread #[0-9]+ unlocked|.*lock order)' "$T/log"
}

# only_planted TOOL PROGRAM - nothing without the planted race, otherwise only that race.
only_planted()
{
	local found
	command -v valgrind >/dev/null || skip "no valgrind"
	found=$(reported "$1" "$2")
	[ -z "$found" ] || { echo "$found"; return 1; }
	found=$(reported "$1" "$2" racy)
	[ "$found" = "run (races.c:$PLANTED)" ] || { echo "$found"; tail -50 "$T/log"; return 1; }
}

@test "valgrind: helgrind reports the program's race and none in the library" {
	[ -n "$HP_TEST_FULL" ] || skip "HP_TEST_FULL=1 runs it: a minute, most of it for the segment's shadow memory"
	only_planted helgrind "$T/plain"
}

@test "valgrind: hotpath run passes the suppressions, and keeps the user's options" {
	command -v valgrind >/dev/null || skip "no valgrind"
	HOTPATH_SEGMENT_SIZE=16M VALGRIND_OPTS="--log-file=$T/quiet" \
		"$HP_BUILD/hotpath" run valgrind --tool=helgrind -q "$T/plain" >"$T/out"
	cat "$T/quiet"
	[ "$(cat "$T/out")" = 90 ]
	[ -f "$T/quiet" ]
	[ ! -s "$T/quiet" ]
}

@test "valgrind: so does drd" {
	[ -n "$HP_TEST_FULL" ] || skip "HP_TEST_FULL=1 runs it: a minute"
	only_planted drd "$T/plain"
}

@test "valgrind: both with a hook in each function" {
	[ -n "$HP_TEST_FULL" ] || skip "HP_TEST_FULL=1 runs it: minutes"
	only_planted helgrind "$T/races"
	only_planted drd "$T/races"
}
