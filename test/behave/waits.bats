#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# waits.bats - waits of all kinds compared with other tools: the program's own clock, strace.

load helper

setup_file()
{
	gcc -D_GNU_SOURCE -g -O1 -o "$T/channel" "$ROOT/test/behave/programs/waits_channel.c" -lpthread
	gcc -x c -g -O1 -o "$T/busy" - -lpthread <<-'END'
	#include <pthread.h>
	pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER;
	int main(void)
	{
		for (int i = 0; i < 300000; i++) {
			pthread_mutex_lock(&busy);
			pthread_mutex_unlock(&busy);
		}
		return 0;
	}
	END
	gcc -D_GNU_SOURCE -g -O1 -o "$T/futex" "$ROOT/test/behave/programs/waits_futex.c" -lpthread
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_LIMIT=0
	rm -f "$T/report"
}

# The program's own figure for its function, and the sum of the rows of `waits` at it.
channel_times()
{
	local name count ns

	rm -f "$T/report"
	HOTPATH_REPORT=waits,channels LD_PRELOAD=$HP_LIB "$T/channel" >"$T/said" || return
	[ "$(wc -l <"$T/said")" = 2 ] || return
	while read -r name count ns; do
		near "$1" "$(lock_rows waits count total_ns at | awk -v at="$name" '$3 == at { n += $1 } END { print n }')" "$count" &&
			near "$1" "$(lock_rows waits count total_ns at | awk -v at="$name" '$3 == at { n += $2 } END { print n }')" "$ns" ||
			return
	done <"$T/said"
}

@test "waits: for messages and for room, as measured by the program" {
	up_to_3 channel_times 25
	lock_rows waits kind at >"$T/rows"
	grep -q '^pipe empty take_slowly ' "$T/rows"
	grep -q '^pipe full put_much ' "$T/rows"
}

@test "waits: for messages and for room within 2 %, on a quiet machine" {
	only_in_full
	up_to_3 channel_times 2
}

@test "waits: requested without channels, they still include those for channels" {
	HOTPATH_REPORT=waits LD_PRELOAD=$HP_LIB "$T/channel" >"$T/said"
	lock_rows waits kind | grep -q '^pipe empty$'
	HOTPATH_REPORT=threads LD_PRELOAD=$HP_LIB "$T/channel" >"$T/said"
	[ -z "$(lock_rows waits kind)" ]
}

@test "waits: a message that will never come, in a circle with a mutex" {
	HOTPATH_SEGMENT_PATH=$T/hang.segment HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$HP_LIB "$T/channel" hang >"$T/out" &
	local pid=$!

	eventually grep -q hangs "$T/out"
	eventually asleep $pid
	kill -9 $pid
	wait $pid || true
	eventually "$HP_BUILD/hotpath" report --waits "$T/hang.segment"
	HOTPATH_OUTPUT_FORMAT=table HOTPATH_OUTPUT_PATH=$T/text "$HP_BUILD/hotpath" report --waits "$T/hang.segment"
	cat "$T/text"
	grep -A3 '^note      perhaps a deadlock: thread' "$T/text" >"$T/note"
	grep -q 'waits for door at ask (waits_channel.c:' "$T/note"
	grep -q 'got at hang (waits_channel.c:' "$T/note"
	grep -q 'waits at take_slowly (waits_channel.c:.*pipe empty,$' "$T/note"
	grep -q 'into which thread [0-9]* sent last$' "$T/note"
}

# Both its threads wait in the kernel.
asleep()
{
	[ "$(cat /proc/"$1"/task/*/stat | sed 's/.*) //; s/ .*//' | sort | uniq -c | tr -d ' \n')" = 2S ]
}

# Time in waiting futex calls, according to strace, against waits for the mutex: each is one such
# call.
futex_times()
{
	rm -f "$T/report" "$T/calls"
	HOTPATH_REPORT=mutexes strace -f -T -e trace=futex -o "$T/calls" -E LD_PRELOAD="$HP_LIB" "$T/futex" >"$T/said" || return
	near "$1" "$(lock_rows mutexes label wait_total_ns | awk '$1 == "contended" { print $2 }')" \
		"$(python3 "$ROOT/test/behave/futex_time.py" "$T/calls" "$(cat "$T/said")")"
}

@test "waits: for a mutex, as strace finds them in the kernel" {
	command -v strace >/dev/null || skip "no strace here"
	up_to_3 futex_times 25
}

@test "waits: for a mutex within 2 % of strace, on a quiet machine" {
	only_in_full
	command -v strace >/dev/null || skip "no strace here"
	up_to_3 futex_times 2
}

@test "waits: the note on estimates is about locks, not functions" {
	HOTPATH_OUTPUT_FORMAT=table HOTPATH_REPORT=mutexes LD_PRELOAD=$HP_LIB "$T/busy"
	cat "$T/report"
	grep -q '^busy  *300,000 ' "$T/report"
	grep -q '^~ estimated: durations of short lock holds ' "$T/report"
	! grep -q 'short functions' "$T/report"
}

# The class's functions lie between, so a lookup finds no waiter.
@test "waits: for a std::mutex are its users', in a program that was not optimised" {
	g++ -g -O0 -I"$ROOT/test/behave/programs" -o "$T/classes" -x c++ - <<-'END' -lpthread
	#include <atomic>
	#include <mutex>
	#include <thread>
	#include "asleep.h"
	static std::mutex door;
	static std::atomic<int> is_there;
	static void enter()
	{
		is_there = gettid();
		std::lock_guard<std::mutex> hold(door);
	}
	static void keep(int milliseconds)
	{
		std::lock_guard<std::mutex> hold(door);
		std::thread thread(enter);
		while (!is_there)
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
		until_asleep(getpid(), is_there);
		std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
		thread.detach();
	}
	int main()
	{
		keep(100);
		std::lock_guard<std::mutex> hold(door);
	}
	END
	HOTPATH_OUTPUT_FORMAT=table HOTPATH_REPORT=waits,offcpu,bound LD_PRELOAD=$HP_LIB COLUMNS=120 "$T/classes"
	cat "$T/report"
	# Places are in the row, or below it if they have no room.
	grep -A2 '^door  *mutex ' "$T/report" | grep -q ' enter ('
	grep -A2 '^door  *mutex ' "$T/report" | grep -q ' keep ('
	! grep -E '__gthread|_Invoker|__invoke|lock_guard' "$T/report"
}

@test "waits: of a future, at the program's line, also if only waits are requested" {
	LANGUAGE=c++ CC=g++ compile future -O2 -fno-instrument-functions <<-'END'
	#include <chrono>
	#include <future>
	#include <thread>
	static int work()
	{
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
		return 1;
	}
	int main()
	{
		std::future<int> result = std::async(std::launch::async, work);
		return result.get() - 1;
	}
	END
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_REPORT=waits,thread-states LD_PRELOAD=$HP_LIB "$T/future"
	jq -c '.waits.raw[] | [.kind, .at, [.frames[].function]]' "$T/report"
	# pthread_once calls join, and a function of ours calls that.
	[ "$(jq '[.waits.raw[] | select(.kind == "join") | .frames[].function] | index("main") != null' "$T/report")" = true ]
	[ "$(jq '[.waits.raw[] | .frames[].function | select(. == "run")] | length' "$T/report")" -eq 0 ]
	HOTPATH_OUTPUT_FORMAT=table HOTPATH_REPORT=waits,thread-states LD_PRELOAD=$HP_LIB COLUMNS=160 "$T/future"
	cat "$T/report"
	grep -q ' join  *main (' "$T/report"
	grep -qE '^(future|thread_).*% .* main \(' "$T/report"
}

@test "waits: a condition or barrier for which threads wait still has a row" {
	compile forever -fno-instrument-functions <<-'END'
	#include <pthread.h>
	#include <semaphore.h>
	#include <stdio.h>
	#include <unistd.h>
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	static pthread_barrier_t alone;
	static sem_t empty;
	static void *wait_never(void *argument)
	{
		pthread_mutex_lock(&lock);
		for (;;)
			pthread_cond_wait(&never, &lock);
		return argument;
	}
	static void *wait_alone(void *argument)
	{
		pthread_barrier_wait(&alone);
		return argument;
	}
	static void *wait_empty(void *argument)
	{
		while (sem_wait(&empty) < 0)
			;
		return argument;
	}
	int main(void)
	{
		pthread_t threads[3];
		pthread_barrier_init(&alone, NULL, 2);
		sem_init(&empty, 0, 0);
		pthread_create(&threads[0], NULL, wait_never, NULL);
		pthread_create(&threads[1], NULL, wait_alone, NULL);
		pthread_create(&threads[2], NULL, wait_empty, NULL);
		for (;;)
			pause();
	}
	END
	HOTPATH_OUTPUT_FORMAT=table HOTPATH_OUTPUT_PATH=$T/forever.out HOTPATH_REPORT=conds,barriers,sems,waiting \
		LD_PRELOAD=$HP_LIB "$T/forever" 3>&- &
	local pid=$!
	all_wait()
	{
		"$HP_BUILD/hotpath" report --session $pid -r waiting -f table -o "$T/now"
		[ "$(grep -cE ' (cond|barrier|sem) ' "$T/now")" -eq 3 ]
	}
	eventually all_wait
	cat "$T/now"
	grep -q '^waiting - Threads that wait now' "$T/now"
	kill $pid
	wait $pid || :
	eventually grep -q '^waiting - Threads that were waiting at the end' "$T/forever.out"
	cat "$T/forever.out"
	# None has finished, so the longest is not known; it is not 0.
	grep -qE '^never .* - +-$' "$T/forever.out"
	grep -q '^alone ' "$T/forever.out"
	grep -q '^empty ' "$T/forever.out"
	run ! grep -q 'none was used' "$T/forever.out"
}
