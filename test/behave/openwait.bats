#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# openwait.bats - a wait in progress is shown while it lasts, and once: by the program's own clock, never
# more.

load helper

setup_file()
{
	compile holds -fno-instrument-functions <<-'EOF'
		#include <pthread.h>
		#include <stdio.h>
		#include <time.h>
		#include <unistd.h>
		static int ends[2];
		static long long now_ns(void)
		{
			struct timespec t;
			clock_gettime(CLOCK_MONOTONIC_RAW, &t);
			return t.tv_sec * 1000000000LL + t.tv_nsec;
		}
		__attribute__((noinline)) static long reads(void)
		{
			char c;
			return read(ends[0], &c, 1);
		}
		static void *waits(void *argument)
		{
			long long from = now_ns();
			reads();
			printf("%lld\n", now_ns() - from);
			return argument;
		}
		/* A line lets it go on; the end of the input ends the program in the middle of the wait. */
		int main(void)
		{
			pthread_t thread;
			char c;
			(void)!pipe(ends);
			for (int i = 0; i < 30; i++)	/* meanwhile the counters are opened */
				nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
			pthread_create(&thread, NULL, waits, NULL);
			if (read(0, &c, 1) <= 0)
				return 7;
			(void)!write(ends[1], "x", 1);
			pthread_join(thread, NULL);
			return 0;
		}
	EOF
	# Waits before any counter is open: counters open 5 ms after the start, unless they are
	# requested.
	compile early -fno-instrument-functions <<-'EOF'
		#include <stdio.h>
		#include <time.h>
		#include <unistd.h>
		__attribute__((noinline)) static long reads(void)
		{
			char c;
			return read(0, &c, 1);
		}
		int main(void)
		{
			struct timespec from, to;
			clock_gettime(CLOCK_MONOTONIC_RAW, &from);
			long got = reads();
			clock_gettime(CLOCK_MONOTONIC_RAW, &to);
			printf("%lld\n", (to.tv_sec - from.tv_sec) * 1000000000LL + to.tv_nsec - from.tv_nsec);
			return got < 0;
		}
	EOF
	folder_for_all holds early
}

teardown_file()
{
	rm -rf "$(cat "$T/other")"
	eventually helpers_are_gone
}

# begin [ENV...] - starts the program, its input is a pipe that descriptor 7 writes to; sets $root.
begin()
{
	other=$(cat "$T/other")
	rm -f "$other/json" "$T/input"
	mkfifo "$T/input"
	# shellcheck disable=SC2086
	HOTPATH_REPORT=${SECTIONS:-offcpu} HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json HOTPATH_KEEP=0 \
		HOTPATH_OUTPUT_PATH="$other/json" HOTPATH_BIN="$other" \
		$AS env LD_PRELOAD="$other/libhotpath.so" "$other/${PROGRAM:-holds}" <"$T/input" >"$T/took" 3>&- &
	root=$!
	exec 7>"$T/input"
	eventually asked "'offcpu' in r"
	! asked "'not permitted' in str(r)" || skip "perf_event_open is not for us here"
}

# held - prints the blocked time and the number of waits in the pipe, from JSON on stdin.
held()
{
	python3 -c '
import json, sys
raw = (json.load(sys.stdin).get("offcpu") or {}).get("raw") or []
rows = [r for r in raw if r["name"] in ("reads", sys.argv[1])]
print(sum(r["blocked_ns"] for r in rows), sum(r["waits"] for r in rows))' "${1:-reads}"
}

live()
{
	# shellcheck disable=SC2086
	$AS "$(cat "$T/other")/hotpath" report --session "$root" -f json
}

# asked CONDITION - evaluates it on the live answer `r`.
asked()
{
	live | python3 -c 'import json, sys; r = json.load(sys.stdin); sys.exit(not eval(sys.argv[1]))' "$1"
}

# grew BLOCKED - a live answer has more; it becomes $blocked.
grew()
{
	read -r now count < <(live | held) && [ "$now" -gt "$1" ] && [ "$count" -eq 1 ] && blocked=$now
}

# The wait is seen to grow, three times.
grows()
{
	local round
	blocked=0
	for round in 1 2 3; do
		eventually grew "$blocked"
	done
}

# After the program's end: the report, with at least the values seen before.
ends()
{
	wait "$root" || true
	report_comes "$other/json"
	read -r whole count < <(held <"$other/json")
	echo "seen $blocked, in the end $whole, $count waits; by its own clock: $(cat "$T/took")"
	[ "$count" -eq 1 ]
	[ "$whole" -ge "$blocked" ]
}

# The wait that ends by itself: its length is the one on the program's own clock.
whole_wait()
{
	begin
	grows
	echo >&7
	exec 7>&-
	ends
	took=$(cat "$T/took")
	[ "$whole" -le "$took" ]
}

@test "open waits: one grows, and is counted once with its full length" {
	whole_wait
}

@test "open waits: an ordinary user sees the same" {
	[ "$(id -u)" = 0 ] || skip "only root can become somebody else"
	AS="setpriv --reuid=65534 --regid=65534 --clear-groups" whole_wait
}

@test "open waits: one that began before the counters were open is included" {
	PROGRAM=early SECTIONS=auto whole_wait
}

@test "open waits: an ordinary user sees that one, too" {
	[ "$(id -u)" = 0 ] || skip "only root can become somebody else"
	PROGRAM=early SECTIONS=auto AS="setpriv --reuid=65534 --regid=65534 --clear-groups" whole_wait
}

@test "open waits: the time in the end is right within 2 %" {
	only_in_full
	for try in 1 2 3; do
		whole_wait
		[ $((whole * 100)) -lt $((took * 98)) ] || return 0
	done
	return 1
}

@test "open waits: a program that is killed meanwhile has it in its report" {
	begin
	grows
	kill -KILL "$root"
	exec 7>&-
	ends
}

@test "open waits: a program that ends by itself meanwhile has it in its report" {
	begin
	grows
	exec 7>&-
	ends
}
