#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Pools: which threads wait together for work, and whether their figures match the program's own.

load helper

setup_file()
{
	gcc -g -O1 -o "$T/pool" "$ROOT/test/behave/programs/pool.c" -pthread
	mode workers
	mode gate
	mode paths
	mode turns
}

# mode MODE - the program's output to $T/MODE.said, the report to $T/MODE.json
mode()
{
	HOTPATH_REPORT=pools HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/$1.json" \
		LD_PRELOAD="$HP_LIB" "$T/pool" "$1" >"$T/$1.said"
}

own()
{
	sed -n "s/^$2 //p" "$T/$1.said"
}

# reported MODE EXPRESSION - evaluates it on the rows with plain numbers, `r`
reported()
{
	python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))["pools"]["raw"]
print(eval(sys.argv[2]))' "$T/$1.json" "$2"
}

@test "workers, waits and signals of a pool are the program's own" {
	[ "$(reported workers 'len(r)')" = 1 ]
	[ "$(reported workers 'r[0]["workers"]')" = 4 ]
	[ "$(reported workers 'r[0]["waiting_workers"]')" = 0 ]
	[ "$(reported workers 'r[0]["wait_count"]')" = "$(own workers waits)" ]
	[ "$(reported workers 'r[0]["signals"]')" = "$(own workers signals)" ]
	[ "$(reported workers 'r[0]["label"]')" = wait_for_work ]
	[ "$(reported workers 'r[0]["condition"]')" = work ]
}

@test "idle and busy time of a pool are within what the program measured" {
	# Its clock and ours differ by less than a thousandth.
	[ "$(reported workers "$(own workers idle_least_ns) * 0.999 <= r[0]['idle_ns'] <= $(own workers around_ns) * 1.001")" = True ]
	[ "$(reported workers "r[0]['busy_ns'] >= $(own workers busy_ns) * 0.999")" = True ]
	[ "$(reported workers "$(own workers life_least_ns) * 0.999 <= r[0]['idle_ns'] + r[0]['busy_ns'] <= $(own workers life_ns) * 1.001")" = True ]
	[ "$(reported workers "abs(r[0]['busy_percent'] - 100 * r[0]['busy_ns'] / (r[0]['busy_ns'] + r[0]['idle_ns'])) < 0.01")" = True ]
}

@test "workers that wait when the program is killed are idle" {
	local pid out=$T/killed.json

	HOTPATH_REPORT=pools HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$out" \
		LD_PRELOAD="$HP_LIB" "$T/pool" killed >"$T/killed.said" &
	pid=$!
	eventually grep -q up "$T/killed.said"
	kill -KILL "$pid"
	wait "$pid" || true
	report_comes "$out"
	[ "$(reported killed '[(p["workers"], p["waiting_workers"], p["wait_count"]) for p in r]')" = "[(4, 4, $(own killed waits))]" ]
}

@test "threads that wait once for a start are no pool" {
	[ "$(reported gate 'len(r)')" = 0 ]
}

@test "threads that wait on one condition by several paths are no pool" {
	[ "$(own paths waits)" -ge 60 ]
	[ "$(reported paths 'len(r)')" = 0 ]
}

@test "how busy workers were is not stated if earlier threads' waits are in their records" {
	[ "$(reported turns 'len(r)')" = 1 ]
	[ "$(reported turns 'r[0]["wait_count"]')" = "$(own turns waits)" ]
	[ "$(reported turns 'r[0]["busy_ns"]')" = None ]
	[ "$(reported turns 'r[0]["busy_percent"]')" = None ]
}

@test "Python threads that wait for the interpreter's lock are no pool" {
	command -v python3 >/dev/null || skip "no python3"
	HOTPATH_REPORT=pools,conds HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/gil.json" \
		LD_PRELOAD="$HP_LIB" python3 -c '
import threading
def work():
    n = 0
    for i in range(2000000):
        n += i
threads = [threading.Thread(target=work) for _ in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]'
	[ "$(reported gil 'len(r)')" = 0 ]
}

@test "the table and metrics have pools, too" {
	HOTPATH_REPORT=pools HOTPATH_CPU=off HOTPATH_OUTPUT_PATH="$T/table.txt" HOTPATH_SEGMENT_PATH="$T/segment" \
		LD_PRELOAD="$HP_LIB" "$T/pool" workers >/dev/null
	grep -E '^Pool +Workers +(Waiting +)?Waits +Signals +Idle +Busy +Busy % +Woken in' "$T/table.txt"
	"$HP_BUILD/hotpath" serve "$T/segment" --port 0 >"$T/url" 3>&- &
	echo $! >"$T/server.pid"
	eventually grep -q '^http' "$T/url"
	curl -fsS -m 20 "$(sed "s,/*$,," "$T/url")/metrics" >"$T/metrics.txt"
	kill "$(cat "$T/server.pid")"
	grep -E '^hotpath_pool_workers\{pool="wait_for_work",condition="work".*\} 4$' "$T/metrics.txt"
}
