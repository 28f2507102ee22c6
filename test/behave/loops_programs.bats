#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Event loops of programs and libraries as they are: whether they are found, and whether their events and longest
# busy spans are those that the program counts itself. Only with HP_TEST_FULL=1 (make test-all).

load helper

setup()
{
	[ -n "$HP_TEST_FULL" ] || skip "only with make test-all"
}

# recorded NAME COMMAND... - its report to $T/NAME.json, its output to $T/NAME.said
recorded()
{
	local name=$1
	shift

	HOTPATH_REPORT=runtime,functions-cpu HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/$name.json" \
		LD_PRELOAD="$HP_LIB" "$@" >"$T/$name.said"
}

# reported NAME EXPRESSION - of the rows, as `r`, and of the program's own numbers, as `own`
reported()
{
	python3 - "$T/$1.json" "$T/$1.said" "$2" <<-'END'
		import json, sys
		r = json.load(open(sys.argv[1]))["tokio_runtime"]["raw"]
		own = {k: int(v) for k, v in (line.split() for line in open(sys.argv[2]) if len(line.split()) == 2 and line.split()[1].isdigit())}
		print(eval(sys.argv[3]))
	END
}

# The program's stall is among the longest busy spans: as long as that, and not above by 5 %, or more by other work.
stall_is_there()
{
	reported "$1" "any(own['stalled_ns'] * 0.995 <= s['duration_ns'] <= own['stalled_ns'] * 1.05 + 2e6 for s in r[0]['longest_spans'])"
}

@test "libevent: a loop, its events are the calls of its callbacks, and a callback reads back unchanged" {
	gcc -O1 -g -o "$T/loop_event" "$ROOT/test/behave/programs/loop_event.c" -levent_core 2>"$T/cc" || skip "no libevent-dev here"
	"$T/loop_event" >"$T/plain"
	recorded event "$T/loop_event"
	[ "$(reported event 'len(r), r[0]["kind"], r[0]["events"] == own["called"], own["reads_back"]')" = "(1, 'libevent', True, 1)" ]
	[ "$(stall_is_there event)" = True ]
	[ "$(sed '/stalled/d' "$T/plain")" = "$(sed '/stalled/d' "$T/event.said")" ]
}

@test "GLib: a main loop by its name, its waits are the calls of its source, with its stall" {
	pkg-config --exists glib-2.0 || skip "GLib's headers are not installed"
	# shellcheck disable=SC2046
	gcc -O1 -g -Wall -Wextra -Werror -o "$T/loop_glib" "$ROOT/test/behave/programs/loop_glib.c" \
		$(pkg-config --cflags --libs glib-2.0)
	recorded glib "$T/loop_glib"
	[ "$(reported glib 'len(r), r[0]["kind"], r[0]["waits"] == own["called"] == 200')" = "(1, 'GLib', True)" ]
	# GLib also wakes itself, by a descriptor of its own.
	[ "$(reported glib 'own["called"] <= r[0]["events"] <= 2 * own["called"]')" = True ]
	[ "$(stall_is_there glib)" = True ]
}

@test "boost.asio: a loop, and at least as many events as calls of its handlers" {
	g++ -O1 -g -o "$T/loop_asio" "$ROOT/test/behave/programs/loop_asio.cc" -lpthread 2>"$T/cc" || skip "no libboost-dev here"
	recorded asio "$T/loop_asio"
	[ "$(reported asio 'len(r), r[0]["kind"], own["called"] <= r[0]["events"] <= own["called"] + 8')" = "(1, 'epoll', True)" ]
	[ "$(stall_is_there asio)" = True ]
}

@test "asyncio: a loop, woken by another thread, with its stall" {
	local python=/usr/bin/python3
	"$python" -c 'import asyncio' || skip "no asyncio here"
	cat >"$T/waits_loop.py" <<-'END'
		import asyncio, os, threading, time
		called = stalled = 0
		async def main():
		    global stalled
		    loop, done, got = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
		    ends = [os.pipe(), os.pipe()]
		    def readable(i):
		        global called, stalled
		        os.read(ends[i][0], 1)
		        called += 1
		        if called == 100:
		            begin = time.monotonic_ns()
		            while time.monotonic_ns() - begin < 50_000_000: pass
		            stalled = time.monotonic_ns() - begin
		        if called >= 200: done.set()
		        else: os.write(ends[1 - i][1], b"x")
		    for i in 0, 1: loop.add_reader(ends[i][0], readable, i)
		    def call():
		        for _ in range(50):
		            got.clear()
		            loop.call_soon_threadsafe(got.set)
		            got.wait()
		    thread = threading.Thread(target=call)
		    thread.start()
		    os.write(ends[0][1], b"x")
		    await done.wait()
		    await loop.run_in_executor(None, thread.join)
		asyncio.run(main())
		print("called", called)
		print("stalled_ns", stalled)
	END
	recorded asyncio "$python" "$T/waits_loop.py"
	[ "$(reported asyncio 'len(r), own["called"] <= r[0]["events"] <= own["called"] + 52')" = "(1, True)" ]
	[ "$(reported asyncio '0 < r[0]["woken_remote"] <= 52')" = True ]
	[ "$(stall_is_there asyncio)" = True ]
}

@test "redis: events are its reads, and a script's stall is the longest span and has a name" {
	command -v redis-server >/dev/null && command -v redis-cli >/dev/null || skip "no redis here"
	local pid reads socket
	socket=$(mktemp -d)/s
	HOTPATH_REPORT=runtime,functions-cpu,offcpu HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/redis.json" LD_PRELOAD="$HP_LIB" \
		redis-server --port 0 --unixsocket "$socket" --save "" --appendonly no --slowlog-log-slower-than 20000 \
		--dir "$T" >"$T/redis.log" 2>&1 3>&- &
	pid=$!
	eventually redis-cli -s "$socket" ping
	for ((i = 0; i < 2000; i++)); do echo "SET key$i $i"; done | redis-cli -s "$socket" >"$T/redis.sets"
	redis-cli -s "$socket" eval 'local x = 0; for i = 1, 20000000 do x = x + i % 7 end; return x' 0 >"$T/redis.eval"
	redis-cli -s "$socket" slowlog get 128 >"$T/redis.slow"
	reads=$(redis-cli -s "$socket" info stats | tr -d '\r' | sed -n 's/^total_reads_processed://p')
	redis-cli -s "$socket" shutdown nosave || true
	wait "$pid" || true
	rm -rf "${socket%/*}"
	printf 'reads %s\nstalled_ns %s000\n' "$reads" "$(sort -n "$T/redis.slow" | grep -E '^[0-9]{5,8}$' | tail -1)" >"$T/redis.said"
	[ "$(reported redis 'own["reads"] <= r[0]["events"] <= own["reads"] + 200')" = True ]
	[ "$(stall_is_there redis)" = True ]
	jq -e '.functions_cpu.data | length > 3' "$T/redis.json" >/dev/null || skip "nothing may be sampled here"
	[ "$(reported redis "[s['what'].startswith('lua') for s in r[0]['longest_spans'] if s['duration_ns'] >= own['stalled_ns'] * 0.995 and s.get('known_by') in ('samples', 'few samples')][:1]")" = "[True]" ]
}

@test "memcached: loops are its worker threads, and events its commands" {
	command -v memcached >/dev/null || skip "no memcached here"
	local pid socket
	socket=$(mktemp -d)/s
	chmod 777 "${socket%/*}"
	HOTPATH_REPORT=runtime HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/memcached.json" LD_PRELOAD="$HP_LIB" \
		memcached -u "$(id -un)" -t 2 -s "$socket" 2>"$T/memcached.log" 3>&- &
	pid=$!
	eventually test -S "$socket"
	/usr/bin/python3 - "$socket" >"$T/memcached.said" <<-'END'
		import socket, sys
		clients = []
		for _ in range(4):
		    client = socket.socket(socket.AF_UNIX); client.connect(sys.argv[1]); clients.append(client)
		for i in range(2000):
		    client = clients[i % 4]
		    client.sendall(b"set key%d 0 0 1\r\nx\r\n" % i)
		    assert client.recv(100) == b"STORED\r\n"
		clients[0].sendall(b"stats\r\n")
		text = b""
		while not text.endswith(b"END\r\n"): text += clients[0].recv(65536)
		stats = dict(line.split()[1:3] for line in text.decode().splitlines() if line.startswith("STAT "))
		print("sets", stats["cmd_set"]); print("threads", stats["threads"])
	END
	kill -INT "$pid"
	wait "$pid" || true
	rm -rf "${socket%/*}"
	[ "$(reported memcached 'own["sets"]')" = 2000 ]
	[ "$(reported memcached 'len([x for x in r if x["kind"] == "libevent" and x["events"] >= 500]) == own["threads"] == 2')" = True ]
	[ "$(reported memcached 'own["sets"] <= sum(x["events"] for x in r) <= own["sets"] + 60')" = True ]
}

@test "nginx: events are its requests and connections" {
	command -v nginx >/dev/null || skip "no nginx here"
	local pid port work=$T/nginx
	mkdir -p "$work"
	port=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	cat >"$work/conf" <<-END
		daemon off; master_process off; error_log $work/error.log; pid $work/pid;
		events { worker_connections 64; }
		http {
			access_log off; keepalive_requests 1000000;
			client_body_temp_path $work/t1; proxy_temp_path $work/t2; fastcgi_temp_path $work/t3;
			uwsgi_temp_path $work/t4; scgi_temp_path $work/t5;
			server { listen 127.0.0.1:$port; root $work; location /status { stub_status; } }
		}
	END
	echo hello >"$work/f"
	HOTPATH_REPORT=runtime HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/nginx.json" LD_PRELOAD="$HP_LIB" \
		nginx -c "$work/conf" 2>"$work/log" 3>&- &
	pid=$!
	eventually curl -s -o /dev/null "http://127.0.0.1:$port/f"
	/usr/bin/python3 - "$port" >"$T/nginx.said" <<-'END'
		import http.client, sys
		client = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
		def get(path):
		    client.request("GET", path); return client.getresponse().read().decode()
		for _ in range(500): get("/f")
		accepts, handled, requests = get("/status").splitlines()[2].split()
		print("accepts", accepts); print("requests", requests)
	END
	kill -QUIT "$pid"
	wait "$pid" || true
	[ "$(reported nginx 'len(r), own["requests"] <= r[0]["events"] <= own["requests"] + 2 * own["accepts"] + 5')" = "(1, True)" ]
}

@test "curl, psql and wget that wait for one answer are not loops" {
	local port pid tool
	/usr/bin/python3 - >"$T/port" 3>&- <<-'END' &
		import socket, time
		server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen(8)
		print(server.getsockname()[1], flush=True)
		while True:
		    client, _ = server.accept()
		    client.recv(65536)
		    time.sleep(0.3)
		    client.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok")
		    client.close()
	END
	pid=$!
	eventually test -s "$T/port"
	port=$(cat "$T/port")
	for tool in "curl -s" "wget -q -O -" "psql -w -h 127.0.0.1 -p"; do
		command -v "${tool%% *}" >/dev/null || continue
		case $tool in
		psql*) tool="$tool $port" ;;
		*) tool="$tool http://127.0.0.1:$port/" ;;
		esac
		# shellcheck disable=SC2086
		HOTPATH_REPORT=runtime,findings HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/client.json" \
			LD_PRELOAD="$HP_LIB" $tool >"$T/client.said" 2>&1 || true
		[ "$(jq '.tokio_runtime.raw | length' "$T/client.json")" = 0 ]
		[ "$(jq '[.findings[]? | select(.rule == "loop-lag")] | length' "$T/client.json")" = 0 ]
	done
	kill "$pid"
	wait "$pid" || true
}
