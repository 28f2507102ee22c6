#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# http.bats - a running program's figures over HTTP: routes, refusals, clients that misbehave.

load helper

setup_file()
{
	# Threads that lock, allocate and call until they are killed; it prints "up" when
	# it is ready.
	compile shop <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t prices = PTHREAD_RWLOCK_INITIALIZER;
__attribute__((noinline)) long price(long n) { long sum = 0; for (long i = 0; i < n; i++) sum += i * i; return sum; }
__attribute__((noinline)) void *basket(void) { return malloc(100); }
__attribute__((noinline)) void sell(void)
{
	pthread_mutex_lock(&stock);
	pthread_rwlock_rdlock(&prices);
	price(20000);
	pthread_rwlock_unlock(&prices);
	pthread_mutex_unlock(&stock);
	free(basket());
	usleep(1000);
}
static void *work(void *unused) { for (;;) sell(); return unused; }
int main(void)
{
	pthread_t thread;
	for (int i = 0; i < 2; i++) pthread_create(&thread, NULL, work, NULL);
	sell();
	puts("up");
	fflush(stdout);
	work(NULL);
}
END
	LD_PRELOAD=$HP_LIB "$T/shop" >"$T/shop.out" 2>/dev/null 3>&- &
	echo $! >"$T/shop.pid"
	eventually grep up "$T/shop.out"
	serve "$(cat "$T/shop.pid")" HOTPATH_PROFILE_DIR="$T/profiles" >"$T/url"
}

teardown_file()
{
	pids_end
}

setup()
{
	url=$(cat "$T/url")
	pid=$(cat "$T/shop.pid")
}

# get PATH [CURL OPTION...] - prints the body; the status is in $T/status.
get()
{
	local path=$1
	shift
	curl -s -m 20 -o "$BATS_TEST_TMPDIR/body" -w '%{http_code}' "$@" "${url%/}$path" >"$T/status"
	# Checked like a report in a file.
	[ "$path" != /report ] || cp "$BATS_TEST_TMPDIR/body" "$(mktemp "$BATS_TEST_TMPDIR/report.XXXXXX")"
	cat "$BATS_TEST_TMPDIR/body"
}

status_is()
{
	[ "$(cat "$T/status")" = "$1" ] || { echo "status $(cat "$T/status")"; return 1; }
}

# query EXPRESSION - of the JSON `a` on stdin, by Python; prints it.
query()
{
	python3 -c "import json, sys; a = json.load(sys.stdin); print($1)"
}

@test "http: the default report as text, in the width that was asked for" {
	get "/report.txt?columns=70" >"$BATS_TEST_TMPDIR/report"
	grep -q '^\[hotpath\] .* so far$' "$BATS_TEST_TMPDIR/report"
	grep -q '^What to do' "$BATS_TEST_TMPDIR/report"
	get "/answers?columns=70" | query '"\n".join(row["line"] for row in a["data"])' >"$BATS_TEST_TMPDIR/lines"
	grep -q '^What to do' "$BATS_TEST_TMPDIR/lines"
	LC_ALL=C.UTF-8 run -1 grep -E '^.{71}' "$BATS_TEST_TMPDIR/report"
}

@test "http: every route answers, and answers JSON" {
	get /routes | query '"\n".join(r["path"] for r in a["routes"] if r["method"] == "GET" and "pprof" not in r["path"] and r["path"] not in ("/metrics", "/report.html", "/report.txt"))' >"$BATS_TEST_TMPDIR/paths"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/paths")" -ge 30 ]
	mkdir "$BATS_TEST_TMPDIR/answers"
	while read -r path; do
		get "${path/\{id\}/1}" >"$BATS_TEST_TMPDIR/answers/${path//\//_}"
		echo "$path $(cat "$T/status")"
		case $path in
		*/logs | /tokio_runtime) ;;
		/stacks) status_is 403 ;;	# wants a token
		/functions_cpu) ;;	# 404 if sampling is not permitted
		*) status_is 200 ;;
		esac
	done <"$BATS_TEST_TMPDIR/paths"
	python3 - "$BATS_TEST_TMPDIR/answers" <<-'END'
		import json, pathlib, sys
		answers = sorted(pathlib.Path(sys.argv[1]).iterdir())
		assert len(answers) >= 30
		for answer in answers:
		    print(answer.name)
		    json.loads(answer.read_text())
	END
}

@test "http: the figures are the program's, and keep changing" {
	[ "$(get /profiler_status | query 'a["pid"]')" = "$pid" ]
	sells()
	{
		get /functions_timing | query 'next(r["calls"] for r in a["raw"] if r["name"] == "sell")'
	}
	first=$(sells)
	[ "$first" -ge 1 ]
	more()
	{
		[ "$(sells)" -gt "$first" ]
	}
	eventually more
	[ "$(get /threads | query 'a["thread_count"]')" = 3 ]
	get /functions_alloc | query '[r["name"] for r in a["raw"]]' | grep basket
	get /mutexes | query 'a["data"][0]["count"] > 0' | grep True
}

@test "http: data and raw are the same rows in the same order" {
	get /functions_timing | query '[r["id"] for r in a["data"]] == [r["id"] for r in a["raw"]]' | grep True
	get "/functions_timing?limit=2" | query '(len(a["data"]), len(a["raw"]), a["included_count"])' | grep "(2, 2, 2)"
}

@test "http: logs of a function, the newest first" {
	id=$(get /functions_timing | query 'next(r["id"] for r in a["raw"] if r["name"] == "price")')
	get "/functions_timing/$id/logs" >"$BATS_TEST_TMPDIR/logs"
	query 'a["function_name"]' <"$BATS_TEST_TMPDIR/logs" | grep price
	query '[l["invocation"] for l in a["logs"]] == list(range(a["total_invocations"], a["total_invocations"] - len(a["logs"]), -1))' \
		<"$BATS_TEST_TMPDIR/logs" | grep True
	query 'a["raw"] == sorted(a["raw"], key=lambda c: -c["start_ns"])' <"$BATS_TEST_TMPDIR/logs" | grep True
}

@test "http: allocations of single calls of a function, the newest first" {
	id=$(get /functions_alloc | query 'next(r["id"] for r in a["raw"] if r["name"] == "basket")')
	get "/functions_alloc/$id/logs" >"$BATS_TEST_TMPDIR/logs"
	query '{(l["bytes"], l["alloc_count"]) for l in a["logs"]}, len(a["logs"]) > 2' \
		<"$BATS_TEST_TMPDIR/logs" | grep -Fx "{('100 B', 1)} True"
	# Averages exclude allocations of running calls.
	get /functions_alloc | query '[r["avg"] for r in a["raw"] if r["name"] == "shop::main"], [r["avg"] for r in a["data"] if r["name"] == "shop::main"]' |
		grep -Fx "[None] ['-']"
	# A call in progress has been counted, and has not allocated yet.
	query '[l["invocation"] for l in a["logs"]] == list(range(a["logs"][0]["invocation"], a["logs"][0]["invocation"] - len(a["logs"]), -1))' \
		<"$BATS_TEST_TMPDIR/logs" | grep True
	get /threads >"$BATS_TEST_TMPDIR/threads"
	query '{l["thread_id"] for l in a["logs"]} <= {r["os_tid"] for r in json.load(open("'"$BATS_TEST_TMPDIR/threads"'"))["raw"]}' \
		<"$BATS_TEST_TMPDIR/logs" | grep True
}

@test "http: ids stay the same while rows change places" {
	ids()
	{
		for list in functions_timing functions_alloc mutexes; do
			get "/$list" | query 'sorted((r.get("name", r.get("source")), r["id"]) for r in a["data"])'
		done
	}
	ids >"$BATS_TEST_TMPDIR/first"
	grep sell "$BATS_TEST_TMPDIR/first"
	for _ in 1 2 3; do
		elapsed=$(get /profiler_status | query 'a["uptime_ns"]')
		later()
		{
			[ "$(get /profiler_status | query 'a["uptime_ns"]')" -gt "$elapsed" ]
		}
		eventually later
		ids | diff "$BATS_TEST_TMPDIR/first" -
	done
}

@test "http: missing things get an error in JSON" {
	get /nope | query 'a["error"]' | grep "Not found"
	status_is 404
	get /functions_timing/4000000/logs | query 'a["error"]' | grep "4000000 not found"
	status_is 404
	get /functions_timing/99999999999999999999/logs | query 'a["error"]'
	status_is 404
	get /functions_timing/-1/logs | query 'a["error"]'
	status_is 404
	get /tokio_runtime | query '"hint" in a' | grep True
	status_is 404
	get /functions_cpu/snapshot | query 'a["error"]' | grep POST
	status_is 405
	get /threads -X POST -d x | query 'a["error"]' | grep GET
	status_is 405
	get "/threads?$(printf 'x%.0s' {1..600})" | query 'a["error"]'
	status_is 414
}

@test "http: pages of other origins get nothing" {
	get /threads -H "Origin: http://evil.example"
	status_is 403
	get /threads -H "Origin: null"
	status_is 403
	get /threads -H "Sec-Fetch-Site: cross-site"
	status_is 403
	get /functions_cpu/snapshot -X POST -H "Origin: http://evil.example"
	status_is 403
	get /threads -H "Host: evil.example"
	status_is 403
	get /threads -H "Host: evil.example:80"
	status_is 403
	host=${url#http://}
	get /threads -H "Origin: http://${host%/}" >/dev/null
	status_is 200
	get /threads -H "Host: localhost:6770" >/dev/null
	status_is 200
	get /threads -H "Host: [::1]:6770" >/dev/null
	status_is 200
}

@test "http: a token is accepted bare and as Bearer, and nothing else is" {
	url=$(serve "$pid" HOTPATH_METRICS_AUTH_TOKEN=s3cret)
	for header in X: "Authorization: wrong" "Authorization: s3cre" "Authorization: s3crett" "Authorization: Bearer" \
		"Authorization: Bearer s3cretx" "Authorization: Basic s3cret"; do
		get /threads -H "$header" | query 'a["error"]' | grep Unauthorized
		status_is 401
		get /nope -H "$header" >/dev/null
		status_is 401
	done
	for header in "Authorization: s3cret" "Authorization: Bearer s3cret" "Authorization: bearer s3cret"; do
		get /threads -H "$header" >/dev/null
		status_is 200
	done
}

@test "http: beyond this machine a token is needed" {
	run "$HP_BUILD/hotpath" serve "$pid" --port 0 --bind 0.0.0.0
	[ "$status" = 1 ]
	[[ $output == *HOTPATH_METRICS_AUTH_TOKEN* ]]
	[ "${#lines[@]}" = 1 ]
	run "$HP_BUILD/hotpath" serve "$pid" --port 0 --bind nowhere
	[ "$status" -ne 0 ]
	[[ $output == *nowhere* ]]
	HOTPATH_METRICS_AUTH_TOKEN="a b" run "$HP_BUILD/hotpath" serve "$pid" --port 0
	[ "$status" = 1 ]
	[[ $output == *blanks* ]]
}

@test "http: another user of the machine sees nothing without the token" {
	[ "$(id -u)" = 0 ] || skip "needs to be root"
	chmod 755 "$T" "$BATS_RUN_TMPDIR" 2>/dev/null || true
	run setpriv --reuid 65534 --clear-groups curl -s -m 20 "${url}threads"
	[[ $output == *"Another user"* ]]
	url=$(serve "$pid" HOTPATH_METRICS_AUTH_TOKEN=s3cret)
	run setpriv --reuid 65534 --clear-groups curl -s -m 20 -H "Authorization: s3cret" "${url}threads"
	[[ $output == *thread_count* ]]
}

# crowd PORT CONNECTIONS - as another user: this many simultaneous connections, kept alive by a byte
# now and then. In its own shell, which it replaces.
crowd()
{
	exec setpriv --reuid 65534 --clear-groups /usr/bin/python3 - "$@" <<'END'
import resource, selectors, socket, sys, time
port, count = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
sockets = []
def fill():
    while len(sockets) < count:
        s = socket.socket()
        s.settimeout(5)
        try:
            s.connect(("127.0.0.1", port))
            s.sendall(b"GET /threads HTTP/1.1\r\nHost: localhost\r\nA: ")
        except OSError:
            s.close()
            return
        s.setblocking(False)
        sockets.append(s)
fill()
print("full", flush=True)
while True:
    for s in sockets[:]:
        try:
            s.send(b"x")
        except BlockingIOError:
            pass
        except OSError:
            s.close()
            sockets.remove(s)
    fill()
    time.sleep(0.1)
END
}

@test "http: 400 connections of another user do not delay the owner" {
	[ "$(id -u)" = 0 ] || skip "needs to be root"
	url=$(serve "$pid")
	port=${url##*:}
	crowd "${port%/}" 400 >"$T/crowd" 3>&- &
	crowd=$!
	eventually grep -q full "$T/crowd"
	for _ in $(seq 10); do
		curl -s -m 20 -o /dev/null -w '%{http_code}\n' "${url}profiler_status" || true
	done >"$T/owner"
	kill $crowd
	wait $crowd || true
	cat "$T/owner"
	[ "$(grep -c 200 "$T/owner")" = 10 ]
}

@test "http: a client that sends a byte now and then is closed in the end" {
	[ -n "$HP_TEST_FULL" ] || skip "HP_TEST_FULL=1 runs it: half a minute"
	url=$(serve "$pid")
	port=${url##*:}
	timeout 100 python3 - "${port%/}" <<'END'
import socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"GET /threads HTTP/1.1\r\nA: ")
try:
    while True:
        s.sendall(b"x")
        time.sleep(0.5)
except OSError:
    pass
END
}

@test "http: a busy port is replaced" {
	port=${url##*:}
	out=$(mktemp "$T/serve.XXXXXX")
	"$HP_BUILD/hotpath" serve "$pid" --port "${port%/}" >"$out" 2>"$out.err" 3>&- &
	echo $! >"$out.pid"
	eventually grep -q '^http' "$out"
	grep "busy" "$out.err"
	[ "$(cat "$out")" != "$url" ]
	url=$(cat "$out") get /threads >/dev/null
	status_is 200
}

# is_in STATE PID - as the kernel calls it: T is stopped, S sleeps.
is_in()
{
	grep -q "^State:.$1" "/proc/$2/status"
}

@test "http: a server that was stopped for a while continues" {
	url=$(serve "$pid")
	server=$(cat "$(grep -l -x "$url" "$T"/serve.?????? | head -n 1).pid")
	kill -STOP "$server"
	eventually is_in T "$server"
	kill -CONT "$server"
	eventually is_in S "$server"
	[ "$(get /profiler_status | query 'a["pid"]')" = "$pid" ]
}

@test "http: a finished run can be served, too" {
	"$HP_RUN" --format none "$HP_BUILD/examples/basic" >/dev/null 2>&1
	url=$(serve basic)
	get /functions_timing | query 'a["raw"][0]["name"]' | grep main
	get /profiler_status | query 'a["is_live"]' | grep False
	# What profiling cost is the report's interval, not only what the hooks did.
	"$HP_BUILD/hotpath" report basic -f json | query '{k: v for k, v in a["summary"].items() if "profiling_" in k}' >"$T/cost.report"
	get /profiler_status | query '{k: v for k, v in a.items() if "profiling_" in k}' >"$T/cost.live"
	grep -q profiling_cost_low_ns "$T/cost.live"
	diff "$T/cost.report" "$T/cost.live"
}

@test "http: an empty list says so" {
	local name
	for name in sql http server io; do
		get "/$name" | query 'a["message"]' | grep -x 'this version of hotpath does not record it'
	done
}

# fits VERSION - every list and log has the shape that the crate's own server of this version has.
fits()
{
	local shapes=$ROOT/test/behave/shapes/$1.json name id failed=0
	for name in functions_timing functions_alloc functions_cpu threads channels streams futures rw_locks \
		mutexes sql http server io debug profiler_status; do
		[ "$1" = 0.30 ] || [[ " sql http server io functions_cpu " != *" $name "* ]] || continue
		get "/$name" >"$BATS_TEST_TMPDIR/answer"
		[ "$name" != functions_cpu ] || [ "$(cat "$T/status")" = 200 ] || continue
		python3 "$ROOT/test/behave/shape.py" check "$shapes" "$name" <"$BATS_TEST_TMPDIR/answer" || failed=1
	done
	id=$(get /functions_timing | query 'next(r["id"] for r in a["raw"] if r["name"] == "price")')
	get "/functions_timing/$id/logs" |
		python3 "$ROOT/test/behave/shape.py" check "$shapes" functions_timing_ID_logs || failed=1
	id=$(get /functions_alloc | query 'next(r["id"] for r in a["raw"] if r["name"] == "basket")')
	get "/functions_alloc/$id/logs" |
		python3 "$ROOT/test/behave/shape.py" check "$shapes" functions_alloc_ID_logs || failed=1
	get /nope | python3 "$ROOT/test/behave/shape.py" check "$shapes" error_404 || failed=1
	return $failed
}

@test "http: the server listens at localhost by its name" {
	url=$(serve "$pid" HOTPATH_METRICS_BIND=localhost)
	[[ $url == http://127.0.0.1:* ]]
	get /profiler_status | query 'a["pid"]' | grep -x "$pid"
}

@test "http: answers have the shape of the crate's, 0.30" {
	fits 0.30
}

@test "http: answers have the shape of the crate's, 0.18, on request" {
	url=$(serve "$pid" HOTPATH_API=0.18)
	fits 0.18
	get /functions_timing | query '"sampled_calls" in a["data"][0]' | grep False
}

@test "http: an answer in another shape is detected" {
	get /functions_timing | sed 's/"calls":\([0-9]*\)/"calls":"\1"/' >"$BATS_TEST_TMPDIR/answer"
	run python3 "$ROOT/test/behave/shape.py" check "$ROOT/test/behave/shapes/0.30.json" functions_timing \
		<"$BATS_TEST_TMPDIR/answer"
	[ "$status" = 1 ]
	get /functions_timing | sed 's/"calls":\([0-9]*\)/"calls":\1,"p50":null/' >"$BATS_TEST_TMPDIR/answer"
	run python3 "$ROOT/test/behave/shape.py" check "$ROOT/test/behave/shapes/0.30.json" functions_timing \
		<"$BATS_TEST_TMPDIR/answer"
	[ "$status" = 1 ]
}

@test "http: a snapshot of the samples: 202, 409 while it is taken, then ready" {
	get /functions_cpu >/dev/null
	[ "$(cat "$T/status")" = 200 ] || skip "nothing may be sampled here"
	# Several at once: the first one is taken, and meanwhile the others are refused.
	u=${url}functions_cpu/snapshot
	curl -s -m 20 -Z --parallel-immediate -X POST -w '\n%{http_code}\n' \
		"$u" "$u" "$u" "$u" "$u" "$u" | tee "$BATS_TEST_TMPDIR/said" |
		grep -x '[0-9]*' | sort | uniq -c >"$BATS_TEST_TMPDIR/statuses"
	grep "in progress" "$BATS_TEST_TMPDIR/said"
	grep -E '^ +[12] 202$' "$BATS_TEST_TMPDIR/statuses"
	grep -E '409$' "$BATS_TEST_TMPDIR/statuses"
	ready()
	{
		[ "$(get /functions_cpu | query 'a["status"]')" = ready ]
	}
	eventually ready
	get /functions_cpu >"$BATS_TEST_TMPDIR/first"
	query 'a["report"]["total_count"] >= len(a["report"]["data"]) >= 1' <"$BATS_TEST_TMPDIR/first" | grep True
	# It does not change, while the other figures do.
	goes_on()
	{
		get /functions_cpu | query 'a["now"]["total_elapsed_ns"] > a["report"]["total_elapsed_ns"] + 10**9' | grep True
	}
	eventually goes_on
	get /functions_cpu | query 'a["report"]' | diff - <(query 'a["report"]' <"$BATS_TEST_TMPDIR/first")
	# The next one has what was added since.
	curl -s -m 20 -X POST "$u" | grep capturing
	is_next()
	{
		get /functions_cpu >"$BATS_TEST_TMPDIR/next" || return
		[ "$(query 'a["status"], a["captured_at_ms"]' <"$BATS_TEST_TMPDIR/next")" != \
			"$(query '"ready", a["captured_at_ms"]' <"$BATS_TEST_TMPDIR/first")" ] || return
		[ "$(query 'a["status"]' <"$BATS_TEST_TMPDIR/next")" = ready ]
	}
	eventually is_next
	python3 - "$BATS_TEST_TMPDIR" <<'END'
import json, sys
first, next_ = (json.load(open(f"{sys.argv[1]}/{name}")) for name in ("first", "next"))
for key in "total_samples", "total_elapsed_ns":
    assert first["report"][key] > 0, key
    assert first["report"][key] + next_["report"][key] <= next_["now"][key], (key, first["report"][key], next_["report"][key], next_["now"][key])
END
	# The crate's console opens the file with its viewer.
	path=$(query 'a["report"]["profile_path"]' <"$BATS_TEST_TMPDIR/next")
	[ "$path" = "$(query 'a["current_session_path"]' <"$BATS_TEST_TMPDIR/next")/hp.json.gz" ]
	gzip -dc "$path" | query 'len(a["threads"]) > 0' | grep True
}

@test "http: a snapshot whose profile became a pipe is taken nevertheless, without it" {
	get /functions_cpu >/dev/null
	[ "$(cat "$T/status")" = 200 ] || skip "nothing may be sampled here"
	# A server of its own: the others wait for an answer if this one hangs.
	url=$(serve "$pid" HOTPATH_PROFILE_DIR="$BATS_TEST_TMPDIR/profiles")
	taken()
	{
		get /functions_cpu >"$BATS_TEST_TMPDIR/snapshot" || return
		[ "$(query 'a["status"], a.get("captured_at_ms", 0) > '"$1" <"$BATS_TEST_TMPDIR/snapshot")" = "ready True" ]
	}
	get /functions_cpu/snapshot -X POST >/dev/null
	eventually taken 0
	path=$(query 'a["report"]["profile_path"]' <"$BATS_TEST_TMPDIR/snapshot")
	rm "$path"
	mkfifo "$path"
	last=$(query 'a["captured_at_ms"]' <"$BATS_TEST_TMPDIR/snapshot")
	get /functions_cpu/snapshot -X POST >/dev/null
	eventually taken "$last"
	[ "$(query 'a["report"]["profile_path"]' <"$BATS_TEST_TMPDIR/snapshot")" = /debug/pprof/profile ]
}

@test "http: stacks are those of the process that was asked for, or of none" {
	url=$(serve "$pid" HOTPATH_METRICS_AUTH_TOKEN=s3cret)
	for asked in abc -1 0 "" 0x1 "%20$pid" "$pid%0a" "$pid;1" 4294967296 99999999999999999999; do
		echo "$asked"
		get "/stacks?pid=$asked" -H "Authorization: s3cret" | query 'a["error"]'
		status_is 400
	done
	for asked in 1 $$; do
		get "/stacks?pid=$asked" -H "Authorization: s3cret" | query 'a["error"]' | grep "not a running process"
		status_is 404
	done
}

@test "http: profiles for pprof" {
	for path in heap allocs mutex profile "profile?seconds=1"; do
		get "/debug/pprof/$path" >"$BATS_TEST_TMPDIR/profile"
		[[ $path != profile* || $(cat "$T/status") = 200 ]] || continue
		status_is 200
		python3 - "$BATS_TEST_TMPDIR/profile" "$path" <<'END'
import gzip, sys
texts = gzip.open(sys.argv[1]).read()
wanted = {"heap": b"basket", "allocs": b"basket", "mutex": b"contentions"}.get(sys.argv[2], b"price")
assert wanted in texts, sys.argv
END
	done
	command -v go >/dev/null && [ -n "$HP_TEST_FULL" ] || return 0
	PPROF_TMPDIR=$T go tool pprof -top "${url}debug/pprof/allocs" 2>/dev/null | grep basket
}

@test "http: metrics for Prometheus, of the same figures" {
	# The kernel charges ticks of some ms; a program that has just started has none.
	charged()
	{
		get /metrics | grep -c '^hotpath_thread_cpu_seconds_total{.*"\(user\|sys\)".*} .*[1-9]' | grep -v -x '[01]'
	}
	eventually charged
	get /functions_timing | query 'next(r["calls"] for r in a["raw"] if r["name"] == "sell")' >"$BATS_TEST_TMPDIR/before"
	# An answer is kept for a moment.
	newer()
	{
		get /metrics -D "$BATS_TEST_TMPDIR/head" >"$BATS_TEST_TMPDIR/metrics" || return
		metric=$(sed -n 's/^hotpath_function_calls_total{function="sell"} //p' "$BATS_TEST_TMPDIR/metrics")
		[ "$metric" -ge "$(cat "$BATS_TEST_TMPDIR/before")" ]
	}
	eventually newer
	status_is 200
	grep -i '^content-type: text/plain; version=0.0.4; charset=utf-8' "$BATS_TEST_TMPDIR/head"
	get /metrics -H "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5" \
		-D "$BATS_TEST_TMPDIR/head2" >"$BATS_TEST_TMPDIR/openmetrics"
	grep -i '^content-type: application/openmetrics-text' "$BATS_TEST_TMPDIR/head2"
	[ "$(tail -n 1 "$BATS_TEST_TMPDIR/openmetrics")" = "# EOF" ]
	# The answers may be of different moments, a second apart.
	passed()
	{
		metric=$(sed -n 's/^hotpath_function_calls_total{function="sell"} //p' "$BATS_TEST_TMPDIR/metrics")
		[ "$(get /functions_timing | query 'next(r["calls"] for r in a["raw"] if r["name"] == "sell")')" -ge "$metric" ]
	}
	eventually passed
	python3 - "$BATS_TEST_TMPDIR" <<'END'
import re, sys
folder = sys.argv[1]
series, buckets = {}, {}
for line in open(folder + "/metrics"):
    if line.startswith("#"):
        continue
    name, labels, value = re.fullmatch(r'([a-z_]+)(\{.*\})? ([0-9.e+-]+)\n', line).groups()
    assert (name, labels) not in series, line
    series[name, labels] = float(value)
    if name.endswith("_bucket"):
        plain, bound = re.fullmatch(r'(.*?),?le="([^"]*)"\}', labels).groups()
        buckets.setdefault((name[:-7], plain), []).append((float(bound), float(value)))
for (name, labels), list_ in buckets.items():
    assert [b for b, _ in list_] == sorted(b for b, _ in list_), name
    assert [v for _, v in list_] == sorted(v for _, v in list_), name
    assert list_[-1] == (float("inf"), series[name + "_count", labels + "}"]), name
calls = series["hotpath_function_calls_total", '{function="sell"}']
assert calls >= float(open(folder + "/before").read())
assert ("hotpath_mutex_acquisitions_total", '{source="",label="stock",iter="0"}') in series
assert series["hotpath_threads", None] >= 1
name, labels = "hotpath_function_alloc_bytes", '{function="basket"}'
# Blocks are read after calls, while the program runs.
assert series[name + "_count", labels] >= series["hotpath_function_calls_total", labels]
assert 99 <= series[name + "_sum", labels] / series[name + "_count", labels] <= 101
cpu = {mode: sum(v for (n, labels), v in series.items() if n == "hotpath_thread_cpu_seconds_total" and mode in labels)
       for mode in ("user", "sys")}
assert cpu["user"] > 0 and cpu["sys"] > 0, cpu
END
	if command -v promtool >/dev/null; then
		# The crate's names of gauges are as they are.
		run promtool check metrics <"$BATS_TEST_TMPDIR/metrics"
		run -1 grep -v "^hotpath_gauge[a-z_]* metric name should not include type 'gauge'$" <<<"$output"
	fi
}

@test "http: slow, broken or hostile clients delay nobody else" {
	port=${url##*:}
	timeout 100 python3 - "${port%/}" <<'END'
import http.client, json, socket, sys, time
port = int(sys.argv[1])

def ask(path="/profiler_status"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())

def send(data):
    s = socket.create_connection(("127.0.0.1", port), timeout=60)
    try:
        s.sendall(data)
        return s, s.recv(64)
    except OSError:     # it need not listen to the end
        return s, b""

half = [socket.create_connection(("127.0.0.1", port)) for _ in range(50)]
for s in half:
    s.sendall(b"GET /threads HT")
assert ask()[0] == 200
line = b"GET /threads HTTP/1.1\r\nHost: localhost\r\n"
for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20, b"\x00" * 1000, b"GET\r\n\r\n",
             b"GET " + b"/x" * 100000 + b" HTTP/1.1\r\n\r\n", line + b"A: " + b"b" * 5000000 + b"\r\n\r\n",
             line + b"A: b\r\n" * 20000 + b"\r\n", line + b"Content-Length: 99999999999999999999\r\n\r\n",
             b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
             b"POST /functions_cpu/snapshot HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
             b"GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n"):
    s, got = send(data)
    assert b" 200 " not in got, (data[:40], got)
    s.close()
assert ask()[0] == 200
# A body that is never complete, and many clients that connect and leave.
s, got = send(b"GET /threads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n" + b"x" * 3000000)
s.close()
for _ in range(300):
    s = socket.create_connection(("127.0.0.1", port))
    s.sendall(b"GET /report HTTP/1.1\r\nHost: localhost\r\n\r\n")
    s.close()
# Until the server has noticed that they left, it is full, and either reports that at
# once or hangs up.
for _ in range(60):
    try:
        status, said = ask()
    except ConnectionError as error:
        status, said = 503, error
    if status != 503:
        break
    time.sleep(1)   # Retry-After
assert status == 200 and said["pid"], (status, said)
print("pid", said["pid"])
END
	[ "$(get /profiler_status | query 'a["pid"]')" = "$pid" ]
	kill -0 "$pid"
}

@test "http: the CPU time of a session never decreases, with many short threads and processes" {
	compile churn -O1 -lpthread <<-'END'
		#include <pthread.h>
		#include <stdio.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static volatile unsigned long sink;
		static void *burn(void *turns)
		{
			for (unsigned long i = 0; i < (unsigned long)turns; i++)
				sink += i;
			usleep(20000);
			return NULL;
		}
		int main(void)
		{
			puts("up");
			fflush(stdout);
			for (;;) {
				pthread_t threads[60];
				pid_t child = fork();
				if (child == 0) {
					burn((void *)3000000ul);
					_exit(0);
				}
				for (int i = 0; i < 60; i++)
					pthread_create(&threads[i], NULL, burn, (void *)100000ul);
				for (int i = 0; i < 60; i++)
					pthread_join(threads[i], NULL);
				waitpid(child, NULL, 0);
			}
		}
	END
	# So that rows of ended threads are folded soon.
	HOTPATH_THREADS_INTERVAL_MS=10 HOTPATH_METRICS_SERVER_OFF=1 LD_PRELOAD=$HP_LIB "$T/churn" >"$T/churn.out" 2>/dev/null 3>&- &
	churn=$!
	eventually grep up "$T/churn.out"
	url=$(serve "$churn")
	# Until it has grown six times, or thirty with HP_TEST_FULL.
	run timeout 300 python3 - "$url" "${HP_TEST_FULL:+30}" <<-'END'
		import json, sys, urllib.request
		seen = [0]
		while len(seen) <= int(sys.argv[2] or 6):
		    with urllib.request.urlopen(sys.argv[1].rstrip("/") + "/profiler_status", timeout=60) as answer:
		        cpu = json.load(answer)["cpu_ns"]
		    assert cpu >= seen[-1], (cpu, seen)
		    if cpu != seen[-1]:
		        seen.append(cpu)
	END
	kill -9 "$churn"
	echo "$output"
	[ "$status" = 0 ]
}
