#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# empty.bats - an empty section says why, and the same in every view: there was nothing, it was not
# recorded, it cannot be recorded here, or it is lost.

load helper

setup_file()
{
	# A thread that locks, after 65,536 calls of different functions by different paths, and a lock of each of 4,096
	# mutexes: their small records fill what is too little for those of calls.
	compile late <<-'END'
		#include <pthread.h>
		#include <unistd.h>
		#define EACH(X) X(a) X(b) X(c) X(d) X(e) X(f) X(g) X(h) X(i) X(j) X(k) X(l) X(m) X(n) X(o) X(p)
		typedef void step(unsigned path);
		#define DECLARE(x) step x;
		EACH(DECLARE)
		#define PLACE(x) x,
		static step *const all[] = { EACH(PLACE) };
		#define DEFINE(x) __attribute__((noinline)) void x(unsigned path) { if (path) all[path % 16](path / 16); }
		EACH(DEFINE)
		static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
		static pthread_mutex_t others[4096];
		static void *locks(void *unused)
		{
			for (int n = 0; n < 100; n++) {
				pthread_rwlock_rdlock(&lock);
				pthread_rwlock_unlock(&lock);
			}
			return unused;
		}
		int main(void)
		{
			pthread_t thread;
			for (unsigned n = 0; n < 65536; n++)
				a(n);
			for (int n = 0; n < 4096; n++) {
				pthread_mutex_lock(&others[n]);
				pthread_mutex_unlock(&others[n]);
			}
			pthread_create(&thread, NULL, locks, NULL);
			return pthread_join(thread, NULL);
		}
	END
}

teardown_file()
{
	eventually helpers_are_gone
}

# record SETTING... - the run is $BATS_TEST_TMPDIR/run.
record()
{
	env HOTPATH_SEGMENT_PATH="$BATS_TEST_TMPDIR/run" HOTPATH_OUTPUT_FORMAT=none HOTPATH_KEEP=0 "$@" \
		LD_PRELOAD="$HP_LIB" "$T/late"
}

# says SECTION TEXT - the table, JSON, HTTP and MCP have this message.
says()
{
	local name=${1//-/_} url pid
	"$HP_BUILD/hotpath" report "$BATS_TEST_TMPDIR/run" -r "$1" >"$BATS_TEST_TMPDIR/table"
	tr '\n' ' ' <"$BATS_TEST_TMPDIR/table" | grep -F "$2"
	"$HP_BUILD/hotpath" report "$BATS_TEST_TMPDIR/run" -r "$1" -f json | jq -r ".$name.message" | grep -F "$2"
	SECTION=$name python3 "$ROOT/test/behave/mcp_client.py" message "$HP_BUILD/hotpath" mcp "$BATS_TEST_TMPDIR/run" |
		grep -F "$2"
	url=$(serve "$BATS_TEST_TMPDIR/run")
	curl -s -m 20 "${url%/}/$name" | jq -r '.message // .error' | grep -F "$2"
	for pid in "$T"/serve.*.pid; do
		kill "$(cat "$pid")"
		rm "$pid"
	done
}

@test "empty: there was nothing" {
	record HOTPATH_REPORT=barriers
	says barriers "none was used"
}

@test "empty: it was not recorded" {
	record HOTPATH_REPORT=threads
	says mutexes "locks were not recorded: HOTPATH_REPORT did not ask for them"
}

@test "empty: it cannot be recorded here" {
	record HOTPATH_REPORT=functions-cpu HOTPATH_CPU=off
	says functions-cpu "HOTPATH_CPU=off"
}

@test "empty: it is lost, because the calls before it filled the segment" {
	record HOTPATH_REPORT=rw_locks,mutexes,functions-timing
	[ "$("$HP_BUILD/hotpath" report "$BATS_TEST_TMPDIR/run" -r rw_locks -f json | jq '.rw_locks.raw[0].read_count')" = 100 ]
	rm "$BATS_TEST_TMPDIR/run"
	record HOTPATH_REPORT=rw_locks,mutexes,functions-timing HOTPATH_SEGMENT_SIZE=1M
	says rw_locks "some may be lost: the segment was full"
}
