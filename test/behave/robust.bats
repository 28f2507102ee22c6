#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# robust.bats - live figures while helper, server, target and clients are killed, ports are taken and two
# sessions run; a client sees the same as the final report.

load helper

hotpath=$HP_BUILD/hotpath

setup_file()
{
	# Works until standard input ends, or for the given number of rounds; prints its actions.
	compile worker <<'END'
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;
static volatile long sum;
__attribute__((noinline)) void step(void)
{
	pthread_mutex_lock(&stock);
	for (int i = 0; i < 20000; i++) sum += i;
	pthread_mutex_unlock(&stock);
	free(malloc(100));
}
int main(void)
{
	struct pollfd in = { 0, POLLIN, 0 };
	long steps = 0;
	puts("up");
	fflush(stdout);
	for (; poll(&in, 1, 0) == 0 || !(in.revents & (POLLHUP | POLLIN)); steps++) step();
	printf("%ld\n", steps);
	return 7;
}
END
}

teardown_file()
{
	eventually helpers_are_gone
}

# start NAME [VARIABLE=VALUE]... - a worker with $T/NAME.{out,err,in,pid}; ends when its input does.
start()
{
	local name=$1
	shift
	rm -f "$T/$name".*
	mkfifo "$T/$name.in"
	env HOTPATH_METRICS_PORT=0 HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/$name.json" "$@" LD_PRELOAD="$HP_LIB" \
		"$T/worker" <"$T/$name.in" >"$T/$name.out" 2>"$T/$name.err" 3>&- &
	echo $! >"$T/$name.pid"
	exec 9>"$T/$name.in"
	eventually grep -q up "$T/$name.out"
	eventually grep -q 'live figures' "$T/$name.err"
}

port_of()
{
	sed -n 's|.*live figures: http://127.0.0.1:\([0-9]*\)/.*|\1|p' "$T/$1.err"
}

# server_of PORT / helper_of PORT - pids of a port's server and of its owner's helper.
server_of()
{
	python3 -c "
import sys
sys.path.insert(0, '$ROOT/test/bench')
import live
print(live.server_of($1))"
}

@test "robust: figures are fresh, and agree with the report at the end" {
	start agree
	python3 - "$(port_of agree)" "$T/seen" <<'END'
import json, sys, time, urllib.request
port, seen = sys.argv[1:]
def ask(route):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{route}", timeout=30) as answer:
        return json.load(answer)
def steps():
    return next(row["calls"] for row in ask("functions_timing")["raw"] if row["name"] == "step")
last = steps()
for _ in range(4):
    before = time.monotonic()
    while True:         # repeats the request until the figures change
        now = steps()
        if now != last:
            break
        # The program never stops, so an unchanged figure is stale. The limit is five times the
        # documented one, for busy machines.
        assert time.monotonic() - before < 5, "figures stand still"
    assert now > last, "figures go back"
    last = now
with open(seen, "w") as out:
    print(last, file=out)
END
	exec 9>&-
	report_comes "$T/agree.json"
	# exit() flushes stdout after the report: the program's last line may come later.
	eventually grep -qxE "[0-9]+" "$T/agree.out"
	steps=$(tail -n 1 "$T/agree.out")
	echo "seen $(cat "$T/seen"), done $steps"
	[ "$steps" -ge "$(cat "$T/seen")" ]
	[ "$(jq '.functions_timing.raw[] | select(.name == "step") | .calls' "$T/agree.json")" -eq "$steps" ]
}

# Names are found in the background: on a busy machine the first answer lacks them.
steps_are_shown()
{
	curl -s -m 20 "http://127.0.0.1:$1/functions_timing" | grep -q '"step"'
}

@test "robust: helper, server, client and program are killed in turn; the program does not notice the others" {
	rounds=$([ -n "$HP_TEST_FULL" ] && echo 200 || echo 4)
	for round in $(seq "$rounds"); do
		start victim
		pid=$(cat "$T/victim.pid") port=$(port_of victim)
		eventually steps_are_shown "$port"
		server=$(server_of "$port")
		helper=$(awk '{print $4}' "/proc/$server/stat")
		curl -s -m 20 --limit-rate 100 -o /dev/null "http://127.0.0.1:$port/report" 9>&- &
		client=$!
		case $((round % 4)) in
		0) kill -9 "$helper" ;;
		1) kill -9 "$server" ;;
		2) kill -9 "$client" ;;
		3) kill -9 "$pid" ;;
		esac
		if [ $((round % 4)) -eq 1 ]; then	# the next client starts another server
			eventually steps_are_shown "$port"
		fi
		exec 9>&-
		status=0
		wait "$pid" || status=$?
		kill -9 "$client" 2>/dev/null || true
		wait "$client" || true
		if [ $((round % 4)) -eq 3 ]; then
			[ "$status" -eq 137 ]
		else
			[ "$status" -eq 7 ] || { echo "round $round: status $status"; cat "$T/victim.err"; false; }
			[ "$(wc -l <"$T/victim.out")" -eq 2 ]
		fi
		eventually gone "$server"
		eventually gone "$helper"
	done
}

gone()
{
	[ ! -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status"
}

@test "robust: two sessions have one server each, and list shows them" {
	start one
	exec 8>&9
	start two
	for name in one two; do
		curl -s -m 20 "http://127.0.0.1:$(port_of $name)/profiler_status" >"$T/$name.status"
		[ "$(jq .pid "$T/$name.status")" -eq "$(cat "$T/$name.pid")" ]
		"$hotpath" list | grep " $(cat "$T/$name.pid") " | grep "port $(port_of $name)"
		curl -s -m 20 "http://127.0.0.1:$(port_of one)/sessions" | grep "\"pid\": *$(cat "$T/$name.pid")\b"
	done
	exec 8>&- 9>&-
	wait "$(cat "$T/one.pid")" || [ $? -eq 7 ]
	wait "$(cat "$T/two.pid")" || [ $? -eq 7 ]
}

@test "robust: ten thousand connections come and go" {
	connections=$([ -n "$HP_TEST_FULL" ] && echo 10000 || echo 1000)
	start crowd
	python3 - "$(port_of crowd)" "$connections" <<'END'
import socket, sys, urllib.request
port, count = int(sys.argv[1]), int(sys.argv[2])
held = []
for i in range(count):
    one = socket.socket()
    one.settimeout(5)
    try:
        one.connect(("127.0.0.1", port))
        one.send(b"GET /threads HTTP/1.1\r\nHost: loc" if i % 2 else b"\0\xff" * 50)
    except OSError:
        pass            # full: refused is an answer, too
    held.append(one)
    if len(held) > 300:
        held.pop(0).close()
for one in held:
    one.close()
with urllib.request.urlopen(f"http://127.0.0.1:{port}/threads", timeout=60) as answer:
    assert b"worker" in answer.read()
END
	exec 9>&-
	wait "$(cat "$T/crowd.pid")" || [ $? -eq 7 ]
	[ "$(wc -l <"$T/crowd.out")" -eq 2 ]
}

@test "robust: ten thousand connections at once, and a head of a hundred megabytes" {
	connections=$([ -n "$HP_TEST_FULL" ] && echo 10000 || echo 1500)
	start flood
	port=$(port_of flood)
	curl -s -m 20 -o /dev/null "http://127.0.0.1:$port/threads"
	server=$(server_of "$port")
	helper=$(awk '{print $4}' "/proc/$server/stat")
	python3 - "$port" "$connections" "$server" "$helper" <<'END'
import os, re, resource, socket, sys, urllib.request
port, count, server, helper = map(int, sys.argv[1:])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
count = min(count, hard - 100)

def files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))

def peak_mb(pid):
    return int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{pid}/status").read()).group(1)) / 1024

before = files(helper), peak_mb(helper), peak_mb(server)
held = []
for i in range(count):
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex(("127.0.0.1", port))
    held.append(one)
for i, one in enumerate(held):
    try:
        one.send(b"GET /threads HTTP/1.1\r\nHost: loc" if i % 2 else b"\0\xff" * 50)
    except OSError:
        pass            # full: refused is an answer, too
print(f"{count} at once: the server has {files(server)} files, {peak_mb(server):.0f} MB")
assert files(server) < 350, files(server)
for one in held:
    one.close()
huge = socket.create_connection(("127.0.0.1", port), timeout=60)
sent = 0
try:
    huge.sendall(b"GET /threads HTTP/1.1\r\nHost: localhost\r\nA: ")
    for sent in range(100):
        huge.sendall(b"b" * (1 << 20))
except OSError:
    pass                # it need not listen to the end
huge.close()
print(f"the server heard {sent} MB of a head, and has {peak_mb(server):.0f} MB")
assert peak_mb(server) < before[2] + 40, (before, peak_mb(server))
assert files(helper) <= before[0] and peak_mb(helper) <= before[1] + 2, (before, files(helper), peak_mb(helper))
with urllib.request.urlopen(f"http://127.0.0.1:{port}/threads", timeout=60) as answer:
    assert b"worker" in answer.read()
END
	[ "$(server_of "$port")" = "$server" ]
	exec 9>&-
	wait "$(cat "$T/flood.pid")" || [ $? -eq 7 ]
	[ "$(wc -l <"$T/flood.out")" -eq 2 ]
}

@test "robust: Prometheus scrapes for a minute, and its quantile equals ours" {
	[ -n "$HP_TEST_FULL" ] || skip "takes a minute; make test-all"
	command -v prometheus promtool >/dev/null || skip "no prometheus here"
	start scraped
	port=$(port_of scraped)
	mkdir -p "$T/prometheus"
	curl -s -m 20 "http://127.0.0.1:$port/metrics" >"$T/metrics"
	# The crate's names of gauges are as they are.
	run promtool check metrics <"$T/metrics"
	run -1 grep -v "^hotpath_gauge[a-z_]* metric name should not include type 'gauge'$" <<<"$output"
	web=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	cat >"$T/prometheus/p.yml" <<END
global: { scrape_interval: 1s }
scrape_configs: [{ job_name: app, static_configs: [{ targets: ["127.0.0.1:$port"] }] }]
END
	(cd "$T/prometheus" && exec prometheus --config.file=p.yml --storage.tsdb.path=data \
		--web.listen-address="127.0.0.1:$web" 9>&- 3>&- 2>log) &
	prometheus=$!
	python3 - "$web" "$port" <<'END'
import json, sys, time, urllib.parse, urllib.request
web, port = sys.argv[1:]
def value(query):
    url = f"http://127.0.0.1:{web}/api/v1/query?" + urllib.parse.urlencode({"query": query})
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            result = json.load(answer)["data"]["result"]
    except OSError:
        return None
    return float(result[0]["value"][1]) if result else None
end = time.monotonic() + 300
while (value("count_over_time(up[5m])") or 0) < 60:
    assert time.monotonic() < end, "Prometheus scrapes too seldom"
    time.sleep(1)
assert value("min_over_time(up[5m])") == 1, "a scrape failed"
told = value('histogram_quantile(0.95, hotpath_function_duration_seconds_bucket{function="step"})')
with urllib.request.urlopen(f"http://127.0.0.1:{port}/functions_timing") as answer:
    ours = next(row["p95_ns"] for row in json.load(answer)["raw"] if row["name"] == "step") / 1e9
buckets = [250e-9] + [b * 10 ** e for e in range(-6, 1) for b in (1, 3)] + [10]
def bucket(seconds):
    return sum(seconds > edge for edge in buckets)
print("quantile", told, "ours", ours)
assert abs(bucket(told) - bucket(ours)) <= 1, (told, ours)
END
	kill "$prometheus"
	wait "$prometheus" || true
	exec 9>&-
	wait "$(cat "$T/scraped.pid")" || [ $? -eq 7 ]
}
