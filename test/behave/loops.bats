#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Event loops: which threads are loops, and whether their figures match the program's own.

load helper

setup_file()
{
	gcc -g -O1 -o "$T/loops" -DHOTPATH -I"$ROOT/include" "$ROOT/test/behave/programs/loops.c" -lpthread
	mode epoll
	gcc -g -O1 -finstrument-functions -o "$T/hooked" -DHOTPATH -I"$ROOT/include" "$ROOT/test/behave/programs/loops.c" -lpthread
	HOTPATH_LOOP_LAG_MS=10 HOTPATH_REPORT=runtime,timing HOTPATH_CPU=off HOTPATH_OUTPUT_PATH="$T/hooked.txt" \
		HOTPATH_SEGMENT_PATH="$T/hooked.segment" LD_PRELOAD="$HP_LIB" "$T/hooked" epoll >"$T/hooked.said"
	HOTPATH_REPORT=runtime HOTPATH_OUTPUT_FORMAT=json "$HP_BUILD/hotpath" report "$T/hooked.segment" \
		>"$T/hooked.json"
	mode timers
	mode client
	mode clients
	mode named
	mode ticks
	mode timerfd
	mode remote
	mode handler
	mode threads
}

# mode MODE - the program's output to $T/MODE.said, the report to $T/MODE.json
mode()
{
	HOTPATH_REPORT=runtime HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/$1.json" \
		LD_PRELOAD="$HP_LIB" "$T/loops" "$1" >"$T/$1.said"
}

own()
{
	sed -n "s/^$2 //p" "$T/$1.said"
}

# reported MODE EXPRESSION - evaluates it on the section, `a`, and its rows with plain numbers, `r`
reported()
{
	python3 -c 'import json, sys
a = json.load(open(sys.argv[1]))["tokio_runtime"]
r = a["raw"]
print(eval(sys.argv[2]))' "$T/$1.json" "$2"
}

@test "waits and events of a loop are the program's own" {
	[ "$(reported epoll 'len(r)')" = 1 ]
	[ "$(reported epoll 'r[0]["waits"]')" = "$(own epoll waits)" ]
	[ "$(reported epoll 'r[0]["events"]')" = "$(own epoll events)" ]
	[ "$(reported epoll 'r[0]["park_count"]')" = "$(own epoll waits)" ]
	[ "$(reported epoll 'r[0]["busy_spans"]')" = 499 ]
}

@test "the longest busy span is the program's stall" {
	local most around stall

	most=$(reported epoll 'r[0]["busy_max_ns"]')
	stall=$(own epoll stall_ns)
	around=$(own epoll around_ns)
	# On a busy machine another stall may be longer; one this long is in the list.
	[ "$most" -ge $((stall - stall / 500)) ]
	[ "$(reported epoll "any($stall * 0.998 <= s['duration_ns'] <= $around * 1.002 for s in r[0]['longest_spans'])")" = True ]
}

@test "the call that made a busy span long is named" {
	[ "$(reported hooked "[s['what'] for s in r[0]['longest_spans'] if s['duration_ns'] >= $(own hooked stall_ns) * 0.998 and s.get('known_by') == 'call'][:1]")" = "['stall']" ]
}

@test "a span above HOTPATH_LOOP_LAG_MS is reported" {
	grep -E "^[0-9]+ busy spans? above 10.00 ms, the longest " "$T/hooked.txt"
}

# Up to its end: of its thread, of its epoll instance, of the program.
@test "busy and waiting time add up to the loop's life" {
	local mode sum least most

	gcc -O1 -g -Wall -Wextra -Werror -o "$T/loop_ends" "$ROOT/test/behave/programs/loop_ends.c" -lpthread
	for mode in thread cancel close exit kill children; do
		HOTPATH_REPORT=runtime HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/$mode.json" \
			LD_PRELOAD="$HP_LIB" "$T/loop_ends" "$mode" >"$T/$mode.said" || [ "$mode" = kill ]
		sum=$(reported "$mode" 'sum(x["busy_ns"] + x["wait_ns"] for x in r)')
		least=$(own "$mode" least) most=$(own "$mode" most)
		[ "$most" != 0 ] || most=$(reported "$mode" 'a["current_elapsed_ns"]')
		echo "$mode: $least <= $sum <= $most"
		[ "$sum" -ge $((least - least / 500)) ]
		[ "$sum" -le $((most + most / 500)) ]
	done
	[ "$(reported exit 'r[0]["after_last_wait_ns"] in [s["duration_ns"] for s in r[0]["longest_spans"] if "is_last" in s]')" = True ]
	[ "$(reported exit 'r[0]["after_last_wait_ns"] >= 19900000')" = True ]
	[ "$(reported cancel 'r[0]["after_last_wait_ns"]')" = 0 ]
}

@test "no two rows of loops have the same name" {
	gcc -O0 -g -Wall -Wextra -Werror -o "$T/loop_names" "$ROOT/test/behave/programs/loop_names.c" -lpthread
	for width in 80 120; do
		COLUMNS=$width HOTPATH_REPORT=runtime HOTPATH_CPU=off "$HP_RUN" "$T/loop_names" >"$T/names.$width" 2>&1
		sed -n '/^Loop .* Waits/,/^$/s/ \{2,\}.*//p' "$T/names.$width" | sed 1d | sort >"$T/names"
		[ "$(grep -c . "$T/names")" = 10 ]
		[ -z "$(uniq -d "$T/names")" ]
	done
	grep -E '^worker:[0-9]+ \(' "$T/names"
}

@test "descriptors: added, and removed when closed" {
	[ "$(reported epoll 'r[0]["descriptors_added"]')" = 2 ]
	[ "$(reported epoll 'r[0]["descriptors"]')" = 2 ]
}

@test "a busy span after a wait that ended by its timeout is said to be woken by it" {
	COLUMNS=120 HOTPATH_REPORT=runtime HOTPATH_CPU=off HOTPATH_OUTPUT_PATH="$T/timeout.txt" LD_PRELOAD="$HP_LIB" "$T/loops" lag >"$T/timeout.said"
	grep -E '^loops .* woken by +a timeout$' "$T/timeout.txt"
	run ! grep 'a timeout' "$T/hooked.txt"
}

@test "timeouts that expire make a loop, and are not early" {
	[ "$(reported timers 'len(r)')" = 1 ]
	[ "$(reported timers 'r[0]["timeouts"]')" = 40 ]
	[ "$(reported timers 'r[0]["timeouts_late_avg_ns"] > 0')" = True ]
	[ "$(reported timers 'r[0]["timeouts_late_max_ns"] >= r[0]["timeouts_late_avg_ns"]')" = True ]
}

@test "timers of one length with work in between make a loop, too" {
	[ "$(reported ticks '[(x["waits"], x["park_count"], x["timeouts"]) for x in r]')" = "[(80, 40, 40)]" ]
}

@test "timerfds: reads, missed expirations and lateness are the program's own" {
	[ "$(reported timerfd 'len(r)')" = 1 ]
	[ "$(reported timerfd 'r[0]["timer_reads"]')" = "$(own timerfd timer_reads)" ]
	[ "$(reported timerfd 'r[0]["timers_missed"]')" = "$(own timerfd timer_missed)" ]
	[ "$(own timerfd timer_missed)" -ge 4 ]
	local sum

	sum=$(reported timerfd 'round(r[0]["timers_late_avg_ns"] * r[0]["timer_reads"])')
	# The mean is rounded.
	[ "$sum" -ge $(($(own timerfd timer_least_ns) - 80)) ]
	[ "$sum" -le $(($(own timerfd timer_most_ns) + 80)) ]
	[ "$(reported timerfd 'r[0]["timers_late_max_ns"] >= 4000000')" = True ]
}

@test "a timerfd alone makes a loop" {
	compile alone -O1 -g -fno-instrument-functions <<-'END'
		#include <stdint.h>
		#include <sys/epoll.h>
		#include <sys/timerfd.h>
		#include <unistd.h>
		int main(void)
		{
			struct itimerspec each = { { 0, 100000 }, { 0, 100000 } };
			int queue = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
			struct epoll_event event = { .events = EPOLLIN };
			uint64_t count;
			timerfd_settime(timer, 0, &each, NULL);
			epoll_ctl(queue, EPOLL_CTL_ADD, timer, &event);
			for (int i = 0; i < 50; i++)
				if (epoll_wait(queue, &event, 1, -1) != 1 || read(timer, &count, 8) != 8) return 1;
			return 0;
		}
	END
	HOTPATH_REPORT=runtime HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/alone.json" \
		LD_PRELOAD="$HP_LIB" "$T/alone"
	[ "$(reported alone '[(x["waits"], x["timer_reads"]) for x in r]')" = "[(50, 50)]" ]
}

@test "loops: a table that would be wider than the terminal leaves out columns" {
	local width

	for width in 80 200; do
		COLUMNS=$width HOTPATH_REPORT=runtime HOTPATH_CPU=off "$HP_RUN" "$T/alone" >"$T/alone.$width" 2>&1
	done
	grep -qE '^Loop .* Mean .* P95 .* Timers +Missed' "$T/alone.200"
	grep -qE '^Loop .* Timers +Missed' "$T/alone.80"
	run ! grep -E '^Loop .* Mean ' "$T/alone.80"
	[ "$(LC_ALL=C.UTF-8 wc -L <"$T/alone.80")" -le 80 ]
}

@test "waits that another thread ended are counted, and not those that the loop ended itself" {
	[ "$(reported remote '[(x["waits"], x["woken_remote"]) for x in r]')" = "[(301, 200)]" ]
	[ "$(reported remote 'a["remote_schedule_count"]')" = 200 ]
	[ "$(reported epoll 'r[0]["woken_remote"]')" = 0 ]
}

# Threads that are idle in a condition or for a semaphore while another one serves the loop are not busy; a thread without a successor is.
@test "several threads at one epoll instance have one stall, and waits for conditions of a single one are busy" {
	gcc -O1 -g -Wall -Wextra -Werror -o "$T/turns" "$ROOT/test/behave/programs/loop_turns.c" -lpthread
	for how in '' semaphores mutex; do
		HOTPATH_REPORT=runtime HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/turns.json" \
			LD_PRELOAD="$HP_LIB" "$T/turns" $how >"$T/turns.said"
		python3 - "$T/turns.json" "$(own turns stalled_ns)" "$(own turns blocked_ns)" <<-'END' || return
			import json, sys
			rows = json.load(open(sys.argv[1]))["tokio_runtime"]["raw"]
			own = sorted(int(text) for text in sys.argv[2:])
			spans = sorted(s["duration_ns"] for r in rows for s in r["longest_spans"])
			assert len(rows) == 3, rows
			# Both are 200 ms; on a busy machine other spans are longer than usual, too.
			assert sum(s > 150e6 for s in spans) == 2, spans
			assert all(0.95 * b <= a <= 1.25 * b for a, b in zip(spans[-2:], own)), (spans, own)
			# The idle threads waited for most of that time.
			assert min(r["busy_ns"] for r in rows) < 100e6 <= max(r["wait_ns"] for r in rows), rows
		END
	done
}

# As boost.asio does: the eventfd is never read, and wakes the loop when it is registered again.
@test "waits that another thread ended by registering an eventfd again are counted" {
	compile again -O1 -g -fno-instrument-functions -pthread <<-'END'
		#include <pthread.h>
		#include <semaphore.h>
		#include <stdint.h>
		#include <sys/epoll.h>
		#include <sys/eventfd.h>
		#include <unistd.h>
		static int queue, stays;
		static sem_t turn;
		static int again(void)
		{
			struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.ptr = &stays };
			return epoll_ctl(queue, EPOLL_CTL_MOD, stays, &event);
		}
		static void *other(void *unused)
		{
			for (int i = 0; i < 60; i++) {
				while (sem_wait(&turn) != 0)
					;
				if (again()) _exit(5);
			}
			return unused;
		}
		int main(void)
		{
			int read_too = eventfd(0, 0);
			struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.ptr = &stays };
			uint64_t one = 1;
			pthread_t thread;
			queue = epoll_create1(0), stays = eventfd(1, 0);
			epoll_ctl(queue, EPOLL_CTL_ADD, stays, &event);
			event = (struct epoll_event){ .events = EPOLLIN, .data.ptr = &read_too };
			epoll_ctl(queue, EPOLL_CTL_ADD, read_too, &event);
			if (epoll_wait(queue, &event, 1, -1) != 1) return 2;
			sem_init(&turn, 0, 0);
			pthread_create(&thread, NULL, other, NULL);
			for (int i = 0; i < 180; i++) {
				if (i % 3 == 0) sem_post(&turn);
				else if (i % 3 == 1 ? again() : write(read_too, &one, 8) != 8) return 3;
				if (epoll_wait(queue, &event, 1, -1) != 1) return 4;
				if (event.data.ptr == &read_too && read(read_too, &one, 8) != 8) return 6;
			}
			return pthread_join(thread, NULL);
		}
	END
	HOTPATH_REPORT=runtime HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/again.json" \
		LD_PRELOAD="$HP_LIB" "$T/again"
	[ "$(reported again '[(x["waits"], x["woken_remote"]) for x in r if x["waits"] > 100]')" = "[(180, 60)]" ]
}

# With EPOLLEXCLUSIVE, an eventfd is in the instance of each thread.
@test "waits that another thread ended by an eventfd in several instances are counted" {
	compile exclusive -O1 -g -fno-instrument-functions -pthread <<-'END'
		#include <pthread.h>
		#include <stdatomic.h>
		#include <stdint.h>
		#include <stdio.h>
		#include <sys/epoll.h>
		#include <sys/eventfd.h>
		#include <unistd.h>
		static int shared;
		static atomic_int left = 100, woken;
		static pthread_barrier_t together;
		static void *serve(void *unused)
		{
			struct epoll_event event = { .events = EPOLLIN | EPOLLEXCLUSIVE, .data.fd = shared };
			int queue = epoll_create1(0), own = eventfd(0, 0);
			uint64_t one;
			epoll_ctl(queue, EPOLL_CTL_ADD, shared, &event);
			event = (struct epoll_event){ .events = EPOLLIN, .data.fd = own };
			epoll_ctl(queue, EPOLL_CTL_ADD, own, &event);
			pthread_barrier_wait(&together);
			for (int waits = 0; waits < 20 || atomic_load(&left) > 0; waits++)
				if (epoll_wait(queue, &event, 1, 1) == 1 && read(shared, &one, 8) == 8) {
					atomic_fetch_add(&woken, 1);
					atomic_fetch_sub(&left, 1);
				}
			epoll_wait(queue, &event, 1, 1);
			pthread_barrier_wait(&together);
			return unused;
		}
		int main(void)
		{
			pthread_t threads[2];
			uint64_t one = 1;
			shared = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK);
			pthread_barrier_init(&together, NULL, 2);
			for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, serve, NULL);
			for (int i = 0; i < 100; i++) {
				if (write(shared, &one, 8) != 8) return 2;
				usleep(100);
			}
			for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
			printf("woken %d\n", woken);
			return 0;
		}
	END
	HOTPATH_REPORT=runtime HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/exclusive.json" \
		LD_PRELOAD="$HP_LIB" "$T/exclusive" >"$T/exclusive.said"
	[ "$(reported exclusive 'sum(x["woken_remote"] for x in r)')" = "$(own exclusive woken)" ]
}

@test "a pipe that a loop reads whatever wakes it is no wake-up by another thread" {
	compile beside -O1 -g -fno-instrument-functions -pthread <<-'END'
		#include <pthread.h>
		#include <stdint.h>
		#include <sys/epoll.h>
		#include <sys/eventfd.h>
		#include <unistd.h>
		static int beside[2];
		static void *fill(void *unused) { for (int i = 0; i < 60; i++) if (write(beside[1], "x", 1) != 1) break; return unused; }
		int main(void)
		{
			int queue = epoll_create1(0), own = eventfd(0, 0), other = eventfd(0, 0);
			struct epoll_event event = { .events = EPOLLIN, .data.fd = own };
			uint64_t one = 1;
			pthread_t thread;
			char byte;
			if (pipe(beside)) return 2;
			epoll_ctl(queue, EPOLL_CTL_ADD, own, &event);
			event.data.fd = other;
			epoll_ctl(queue, EPOLL_CTL_ADD, other, &event);
			pthread_create(&thread, NULL, fill, NULL);
			pthread_join(thread, NULL);
			for (int i = 0; i < 60; i++) {
				if (write(i % 2 ? own : other, &one, 8) != 8 || epoll_wait(queue, &event, 1, -1) != 1) return 3;
				if (read(event.data.fd, &one, 8) != 8 || read(beside[0], &byte, 1) != 1) return 4;
			}
			return 0;
		}
	END
	HOTPATH_REPORT=runtime,channels HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/beside.json" \
		LD_PRELOAD="$HP_LIB" "$T/beside"
	[ "$(reported beside '[(x["waits"], x["woken_remote"]) for x in r]')" = "[(60, 0)]" ]
}

@test "a long busy span is named by samples, and by the wait in it" {
	local what

	for what in lua nap; do
		HOTPATH_REPORT=runtime,functions-cpu,offcpu HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/$what.json" \
			LD_PRELOAD="$HP_LIB" "$T/loops" "$what" >"$T/$what.said"
	done
	jq -e '.functions_cpu.data[] | select(.name | endswith("opcode"))' "$T/lua.json" >"$T/sampled" || skip "nothing may be sampled here"
	[ "$(own lua cpu_ms)" -ge 200 ] || skip "the processor was someone else's"
	[ "$(reported lua "[(s['what'], s['known_by']) for s in r[0]['longest_spans'] if s['duration_ns'] >= 300000000]")" = "[('script', 'samples')]" ]
	jq -e '.offcpu.data[] | select(.name == "napping")' "$T/nap.json" >"$T/sampled" || skip "no waits are recorded here"
	[ "$(reported nap "[(s['what'], s['known_by']) for s in r[0]['longest_spans'] if s['duration_ns'] >= 300000000]")" = "[('napping', 'samples')]" ]
}

# Three others have the same processor: the script has a quarter of it.
@test "a long busy span is named if the thread had little of a core" {
	local cpu i

	cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
	for i in 1 2 3; do
		taskset -c "$cpu" timeout 100 bash -c 'while :; do :; done' 3>&- &
		echo $! >"$T/beside-$i.pid"
	done
	HOTPATH_REPORT=runtime,functions-cpu,offcpu HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/crowded.json" \
		LD_PRELOAD="$HP_LIB" taskset -c "$cpu" "$T/loops" lua >"$T/crowded.said"
	pids_end
	jq -e '.functions_cpu.data[] | select(.name | endswith("opcode"))' "$T/crowded.json" >"$T/sampled" || skip "nothing may be sampled here"
	[ "$(own crowded cpu_ms)" -ge 60 ] || skip "the processor was someone else's"
	# Without a core, another span may be as long.
	reported crowded "[s for s in r[0]['longest_spans'] if s['duration_ns'] >= 300000000]"
	[ "$(reported crowded "('script', 'samples') in [(s.get('what'), s['known_by'].split()[-1]) for s in r[0]['longest_spans'] if s['duration_ns'] >= 300000000]")" = True ]
}

@test "if nothing is sampled, a line says why a long busy span has no name" {
	HOTPATH_REPORT=runtime HOTPATH_OUTPUT_PATH="$T/nameless.txt" LD_PRELOAD="$HP_LIB" "$T/loops" nap >"$T/nameless.said"
	tr '\n' ' ' <"$T/nameless.txt" | grep -E 'what ran in [1-9][0-9]* spans? above 50.00 ms is not known: CPU samples and waits were not recorded \(HOTPATH_REPORT='
	run ! grep 'what ran in' "$T/hooked.txt"
}

@test "a client that polls for one answer is not a loop" {
	[ "$(reported client 'len(r)')" = 0 ]
	[ "$(reported client 'a["message"]')" = "no thread waits for several descriptors again and again" ]
}

@test "a thread that polls its connections one at a time is not a loop" {
	[ "$(own clients waits)" = 200 ]
	[ "$(reported clients 'len(r)')" = 0 ]
}

@test "HOTPATH_LOOP declares a waiting place a loop, and names it" {
	[ "$(reported named '[(x["label"], x["waits"]) for x in r]')" = "[('answers', 200)]" ]
}

@test "a long busy span of a loop that mostly waits is a finding" {
	HOTPATH_LOOP_LAG_MS=10 HOTPATH_REPORT=findings HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/lag.json" LD_PRELOAD="$HP_LIB" "$T/hooked" lag >"$T/lag.said"
	jq -r '.findings[] | select(.rule == "loop-lag") | .text' "$T/lag.json" >"$T/lag.text"
	grep -F "Take stall out of event loop hooked" "$T/lag.text"
}

@test "a long busy span is a marker in the profile for Firefox" {
	HOTPATH_CPU=auto HOTPATH_SEGMENT_PATH="$T/sampled.segment" "$HP_RUN" "$T/hooked" epoll >"$T/sampled.said"
	HOTPATH_LOOP_LAG_MS=10 "$HP_BUILD/hotpath" report --export firefox -o "$T/firefox" "$T/sampled.segment" ||
		skip "nothing may be sampled here"
	python3 - "$T/firefox" "$(own sampled stall_ns)" <<'END'
import gzip, json, sys
profile, stall_ms = json.load(gzip.open(sys.argv[1])), int(sys.argv[2]) / 1e6
found = [(m["endTime"][i] - m["startTime"][i], data["what"])
         for m in (t["markers"] for t in profile["threads"]) for i, data in enumerate(m["data"]) if data["type"] == "LoopBusy"]
assert any(took >= stall_ms * 0.998 and what == "stall" for took, what in found), found
assert all(took >= 10 for took, _ in found), found
END
}

@test "node: busy and idle time are those of its eventLoopUtilization" {
	command -v node >/dev/null || skip "no node here"
	# It is killed after its own reading, so its end is later, possibly by much.
	HOTPATH_SEGMENT_PATH="$T/node.segment" HOTPATH_CPU=off LD_PRELOAD="$HP_LIB" run node -e '
		const { performance } = require("perf_hooks"), now = () => performance.now();
		let ticks = 0, first, timer = setInterval(() => {
			const begin = now();
			first = first || performance.eventLoopUtilization();
			while (now() - begin < 3);
			if (++ticks < 20) return;
			const all = performance.eventLoopUtilization();
			require("fs").writeSync(1, [all.active, all.idle, first.active, now() - begin].join(" ") + "\n");
			process.kill(process.pid, "SIGKILL");
		}, 5);'
	HOTPATH_REPORT=runtime HOTPATH_OUTPUT_FORMAT=json "$HP_BUILD/hotpath" report "$T/node.segment" >"$T/node.json"
	# Until its first wait, and in the open callback, node counts time as active that nobody
	# else sees.
	python3 - "$T/node.json" $output <<'END'
import json, sys
active, idle, first, last = map(float, sys.argv[2:6])
loop = next(r for r in json.load(open(sys.argv[1]))["tokio_runtime"]["raw"] if "uv_run" in r["label"] or "node" in r["label"])
busy, waited = (loop["busy_ns"] - loop["after_last_wait_ns"]) / 1e6, loop["wait_ns"] / 1e6
assert abs(waited - idle) <= max(idle / 100, 5), (waited, idle)
assert active - first - last - max(active / 100, 5) <= busy <= active + max(active / 100, 5), (busy, active, first, last)
END
}

@test "polls of a signal handler do not disturb the loop that it interrupts" {
	[ "$(reported handler 'r[0]["events"]')" = "$(own handler events)" ]
	[ "$(reported handler 'r[0]["waits"]')" = "$(own handler waits)" ]
}

@test "each thread is its own loop, and the client beside them is not one" {
	[ "$(reported threads 'len(r)')" = 2 ]
	[ "$(reported threads 'len({x["tid"] for x in r})')" = 2 ]
	[ "$(reported threads '[x["waits"] for x in r]')" = "[500, 500]" ]
	[ "$(reported threads 'a["num_workers"]')" = 2 ]
}

@test "loops that look the same are series of their own for Prometheus" {
	local url

	HOTPATH_REPORT=runtime HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=none HOTPATH_SEGMENT_PATH="$T/alike.seg" \
		LD_PRELOAD="$HP_LIB" "$T/loops" threads >"$T/alike.said"
	url=$(serve "$T/alike.seg")
	curl -s "${url}metrics" >"$T/alike.metrics"
	pids_end
	[ "$(grep -c '^hotpath_loop_waits_total{.*} 500$' "$T/alike.metrics")" = 2 ]
	[ -z "$(sed -n '/^[^#]/s/ [^ ]*$//p' "$T/alike.metrics" | sort | uniq -d)" ]
}

@test "the crate's fields are those of the rows" {
	[ "$(reported epoll 'a["workers"][0]["park_count"] == r[0]["park_count"]')" = True ]
	[ "$(reported epoll 'abs(a["workers"][0]["busy_duration_ms"] - r[0]["busy_ns"] / 1e6) <= 1')" = True ]
	[ "$(reported epoll 'a["io_driver_ready_count"] == r[0]["events"]')" = True ]
	[ "$(reported epoll '"steal_count" in a["workers"][0]')" = False ]
}

@test "a running loop is shown over HTTP" {
	local pid url

	HOTPATH_METRICS_PORT=0 LD_PRELOAD="$HP_LIB" "$T/loops" wait >"$T/wait.said" 2>/dev/null 3>&- &
	pid=$!
	eventually grep up "$T/wait.said"
	url=$(serve "$pid")
	curl -s "${url}tokio_runtime" >"$T/wait.json"
	# Under our name, and under the crate's.
	curl -s "${url}metrics" >"$T/wait.metrics"
	grep -x 'hotpath_tokio_workers 1' "$T/wait.metrics"
	grep -x 'hotpath_tokio_worker_parks_total{worker="0"} 500' "$T/wait.metrics"
	grep '^hotpath_loop_parks_total{.*} 500$' "$T/wait.metrics"
	kill "$pid"
	wait "$pid" || true
	pids_end
	python3 -c 'import json, sys
a = json.load(open(sys.argv[1]))
assert a["num_workers"] == 1, a
assert a["workers"][0]["park_count"] == 500, a
assert a["raw"][0]["state"] == "busy", a' "$T/wait.json"
}

# It is counted when the wait ends, which never happens.
@test "the busy span before a wait that never ends is counted" {
	local pid

	HOTPATH_REPORT=runtime HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=none HOTPATH_SEGMENT_PATH="$T/last.segment" \
		LD_PRELOAD="$HP_LIB" "$T/loops" last >"$T/last.said" 3>&- &
	pid=$!
	eventually grep up "$T/last.said"
	eventually grep "^State:.S" "/proc/$pid/status"
	kill -9 "$pid"
	wait "$pid" || true
	HOTPATH_REPORT=runtime HOTPATH_OUTPUT_FORMAT=json "$HP_BUILD/hotpath" report "$T/last.segment" >"$T/last.json"
	[ "$(reported last "r[0]['waits']")" = 500 ]
	[ "$(reported last "len([s for s in r[0]['longest_spans'] if s['duration_ns'] >= $(own last last_ns)]) >= 1")" = True ]
	[ "$(reported last "r[0]['busy_ns'] >= $(own last last_ns) + 20000000")" = True ]
	[ "$(reported last "r[0]['state']")" = waiting ]
}

@test "loops: names of loops and locks cannot write to the terminal" {
	gcc -DHOTPATH -I"$ROOT" -o "$T/named" -x c - <<-'END'
		#include <poll.h>
		#include <pthread.h>
		#include <unistd.h>
		#include "include/hotpath.h"
		static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
		int main(void)
		{
			int fds[2];
			char byte = 0;
			struct pollfd one = { .events = POLLIN };
			if (pipe(fds) != 0)
				return 1;
			one.fd = fds[0];
			HOTPATH_LOCK(&lock, "bad\033[31m\nend");
			pthread_mutex_lock(&lock);
			pthread_mutex_unlock(&lock);
			HOTPATH_LOOP("evil\033[31m\033]0;title\007\nend");
			for (int i = 0; i < 20 && write(fds[1], &byte, 1) == 1 && poll(&one, 1, 1000) == 1; i++)
				if (read(fds[0], &byte, 1) != 1)
					return 1;
			return 0;
		}
	END
	for format in table json; do
		HOTPATH_KEEP=0 HOTPATH_REPORT=all HOTPATH_OUTPUT_FORMAT=$format HOTPATH_OUTPUT_PATH=$T/named.$format "$HP_RUN" "$T/named"
		grep -q 'evil?\[31m' "$T/named.$format"
		grep -q 'bad?\[31m' "$T/named.$format"
		LC_ALL=C run -1 grep -c -P '\x1b|\x07|\\u001b' "$T/named.$format"
	done
}
