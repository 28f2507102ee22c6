#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# locks.bats - reported locks match the program's own measurements, and the program does not
# notice: results, errors, output.

load helper

setup_file()
{
	local name
	for name in mutex cond others deadlock order; do
		gcc -D_GNU_SOURCE -g -O1 -o "$T/$name" "$ROOT/test/behave/programs/locks_$name.c" -lpthread
	done
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_LIMIT=0
	rm -f "$T/report" "$T/said"
}

# as_said PROGRAM WHAT PERCENT
as_said()
{
	LD_PRELOAD=$HP_LIB "$T/$1" "$2" >"$T/said" &&
		python3 "$ROOT/test/behave/locks.py" --near "$T/report" "$T/said" "$3"
}

# A preemption between the program's clock reading and ours counts in only one of them.
@test "locks: waits and holds match the program's measurements" {
	up_to_3 as_said mutex contended 25
	up_to_3 as_said mutex holds 25
}

@test "locks: waits and holds within 2 %, on a quiet machine" {
	only_in_full
	up_to_3 as_said mutex contended 2
	up_to_3 as_said mutex holds 2
}

@test "locks: every kind of mutex and every variant, counted exactly" {
	with_us mutex kinds
	lock_rows mutexes label count failed_tries timeouts >"$T/rows"
	diff - "$T/rows" <<-'END'
	adaptive 1000 0 0
	c11 2000 1000 0
	errorcheck 1001 0 0
	inherit 1000 0 0
	normal 1 1 2
	recursive 1000 0 0
	robust 2 0 0
	shared 1000 0 0
	END
}

@test "locks: a fast one is counted exactly, though few holds are timed" {
	with_us mutex hammer
	lock_rows mutexes label count >"$T/rows"
	grep -q '^busy 800000$' "$T/rows"
	[ "$(lock_rows mutexes sampled_count)" -lt 400000 ]
}

@test "locks: 100 000 short-lived ones are one row, and take no room" {
	export HOTPATH_SEGMENT_PATH=$T/many.segment
	with_us mutex many 100000
	lock_rows mutexes count objects label | tee "$T/rows"
	grep -q '^100000 100000 .*locks_mutex.c:[0-9]*×100,000$' "$T/rows"
	[ "$(wc -l <"$T/rows")" = 1 ]
	[ "$(du -k "$T/many.segment" | cut -f 1)" -lt 1024 ]
}

@test "locks: a wait is reported with its holder" {
	LD_PRELOAD=$HP_LIB "$T/mutex" contended >"$T/said"
	lock_rows waits object kind at holder | tee "$T/rows"
	grep -q '^contended mutex once (locks_mutex.c:[0-9]*) once (locks_mutex.c:[0-9]*)$' "$T/rows"
}

@test "locks: nothing is recorded that no section needs" {
	HOTPATH_REPORT=functions-timing,threads with_us mutex hammer
	run -1 grep mutexes "$T/report"
	HOTPATH_REPORT=functions-timing HOTPATH_SEGMENT_PATH=$T/off.segment LD_PRELOAD=$HP_LIB "$T/mutex" hammer
	HOTPATH_REPORT=mutexes "$HP_BUILD/hotpath" report --format=json "$T/off.segment" >"$T/report"
	[ -z "$(lock_rows mutexes label)" ]
}

@test "locks: a kept run names its locks after the program is deleted" {
	cp "$T/mutex" "$T/gone"
	unset HOTPATH_OUTPUT_PATH
	LD_PRELOAD=$HP_LIB "$T/gone" kinds >/dev/null 2>&1
	rm "$T/gone"
	HOTPATH_OUTPUT_PATH=$T/report "$HP_BUILD/hotpath" report gone
	lock_rows mutexes label | tr '\n' ' ' >"$T/rows"
	cat "$T/rows"
	grep -q '^adaptive c11 errorcheck ' "$T/rows"
}

@test "locks: waits for a condition, each ended by a signal" {
	with_us cond signals
	lock_rows waits object kind at | tee "$T/rows"
	grep -q '^ready cond consume (locks_cond.c:[0-9]*)$' "$T/rows"
	# One for each item, and each ends a hold and begins another one.
	[ "$(lock_rows conds label count signals)" = "ready 100 100" ]
}

@test "locks: timeouts of conditions, by every call that has one" {
	with_us cond timeouts
	lock_rows conds label count timeouts | tee "$T/rows"
	grep -q '^never 20 20$' "$T/rows"
	grep -q 'locks_cond.c:[0-9]* 10 10$' "$T/rows"
	lock_rows mutexes label count >"$T/rows"
	grep -q '^mutex 21$' "$T/rows"
}

@test "locks: a thread that is cancelled in a wait has its mutex, as without us" {
	with_us cond cancel
	[ "$(grep -c 'cleaned up' "$T/out")" = 20 ]
	[ -z "$(lock_rows waits object at | grep never)" ]
}

@test "locks: programs linked with the old condition variables get those" {
	with_us cond old
	[ "$(cat "$T/out")" = "no such version here" ] || lock_rows conds count timeouts signals | grep -q '^1 1 1$'
}

@test "locks: rwlocks, both sides, and return values" {
	with_us others rwlock
	lock_rows rw_locks label read_count write_count read_failed_tries write_failed_tries read_timeouts \
		write_timeouts read_contended | tee "$T/rows"
	grep -q '^rwlock 2001 1001 1 1 1 1 1$' "$T/rows"
	# The reader waited for the writer, some 50 ms.
	[ "$(lock_rows rw_locks read_wait_max_ns)" -gt 10000000 ]
	lock_rows waits object kind holder | grep -q '^rwlock rwlock read [a-z_]* (locks_others.c:[0-9]*)$'
}

@test "locks: spin locks" {
	with_us others spin
	lock_rows mutexes label count failed_tries type_name | grep -q '^spin 100001 1 pthread_spinlock_t$'
}

@test "locks: semaphores, and their errors" {
	with_us others sem
	lock_rows sems label count posts failed_tries timeouts | tee "$T/rows"
	grep -q '^sem 1003 1003 1 1$' "$T/rows"
	grep -q '^empty 1 1 0 0$' "$T/rows"
	[ "$(lock_rows sems label wait_max_ns | sed -n 's/^sem //p')" -gt 10000000 ]
}

@test "locks: barriers, and waits for threads" {
	with_us others barrier
	[ "$(lock_rows barriers label count)" = "barrier 300" ]
	lock_rows waits kind at | grep -q '^join [a-z_]* (locks_others.c:[0-9]*)$'
}

@test "locks: before main, after it, in children of fork and vfork" {
	with_us others fork
	# Constructor, main, vfork's child, ten in fork's child, and one after main.
	count=$(lock_rows mutexes label count)
	echo "$count"
	[ "$count" = "early 14" ] || [ "$count" = "early 13" ]
}

# killed SIGNAL WHAT - a run that hangs, then is killed; its report.
killed()
{
	rm -f "$T/said" "$T/report"
	"$HP_RUN" "$T/deadlock" $2 >"$T/said" 2>"$T/err" &
	eventually grep -q stuck "$T/said"
	eventually asleep "$T/deadlock"
	kill -s "$1" "$(pgrep -f "^$T/deadlock" | head -n 1)"
	wait $! || true
	eventually [ -s "$T/report" ]
}

# All its threads wait in the kernel.
asleep()
{
	local state
	for state in /proc/"$(pgrep -f "^$1" | head -n 1)"/task/*/stat; do
		[ "$(sed 's/.*) //; s/ .*//' "$state")" = S ] || return
	done
}

@test "locks: a deadlock is named, however the program is killed" {
	for signal in TERM KILL; do
		HOTPATH_OUTPUT_FORMAT=table killed $signal ""
		cat "$T/report"
		grep -q 'note      deadlock: thread [0-9]* waits for ' "$T/report"
		grep -q 'waits for first at backwards (locks_deadlock.c:[0-9]*),$' "$T/report"
		grep -q 'waits for second at forwards (locks_deadlock.c:[0-9]*),$' "$T/report"
		[ "$(grep -c 'which thread [0-9]* got at ' "$T/report")" = 2 ]
	done
	killed TERM self
	lock_rows waiting object kind cycle | grep -q '^first mutex 1$'
}

@test "locks: a hanging program shows who waits for whom" {
	"$HP_RUN" "$T/deadlock" >"$T/said" 2>"$T/err" &
	eventually grep -q stuck "$T/said"
	eventually asleep "$T/deadlock"
	pid=$(pgrep -f "^$T/deadlock" | head -n 1)
	HOTPATH_OUTPUT_FORMAT=table HOTPATH_OUTPUT_PATH= "$HP_BUILD/hotpath" report --waits --session "$pid" |
		tee "$T/asked"
	kill "$pid"
	wait $! || true
	grep -q 'note      deadlock: ' "$T/asked"
	grep -q '^waiting - ' "$T/asked"
}

@test "locks: locks that are taken in both orders are reported, once" {
	with_us order
	lock_rows lock_order first second at contrary_at | tee "$T/rows"
	[ "$(wc -l <"$T/rows")" = 1 ]
	grep -q -E '(first second|second first) .*forwards .*backwards|second first .*backwards .*forwards' "$T/rows"
}

@test "locks: an instrumented function that waits is named" {
	compile calls -D_GNU_SOURCE -I"$ROOT/test/behave/programs" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "asleep.h"
static pid_t tid;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
void waiter(void) { pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); }
void *thread(void *arg) { tid = gettid(); pthread_barrier_wait(&both); waiter(); return arg; }
int main(void)
{
	pthread_t other;
	pthread_barrier_init(&both, NULL, 2);
	pthread_mutex_lock(&mutex);
	pthread_create(&other, NULL, thread, NULL);
	pthread_barrier_wait(&both);
	until_asleep(getpid(), tid);
	pthread_mutex_unlock(&mutex);
	return pthread_join(other, NULL);
}
END
	with_us calls
	lock_rows waits object function holder | tee "$T/rows"
	grep -q '^mutex waiter main (calls.c:[0-9]*)$' "$T/rows"
}
