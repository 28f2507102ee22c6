#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# looks.bats - refreshes of a running program: each has the same figures as a first
# one, none is old, and the server answers whatever the number of idle connections.

load helper

setup_file()
{
	compile looks <"$ROOT/test/behave/programs/looks.c"
	export HOTPATH_KEEP=0 HOTPATH_OUTPUT_FORMAT=none
}

teardown_file()
{
	for pid in "$T"/*.pid; do
		[ ! -e "$pid" ] || kill "$(cat "$pid")" 2>/dev/null || true
	done
	eventually helpers_are_gone
}

# start_counting - the program that counts its calls, and a server; sets url.
start_counting()
{
	[ ! -e "$T/url" ] || { url=$(cat "$T/url"); return; }
	head -c 8 /dev/zero >"$T/counter"
	LD_PRELOAD=$HP_LIB "$T/looks" "$T/counter" >"$T/looks.out" 2>/dev/null 3>&- &
	echo $! >"$T/looks.pid"
	eventually grep -q up "$T/looks.out"
	"$HP_BUILD/hotpath" serve "$(cat "$T/looks.pid")" --port 0 >"$T/url.new" 3>&- &
	echo $! >"$T/serve.pid"
	eventually grep -q '^http' "$T/url.new"
	sed 's,/$,,' "$T/url.new" >"$T/url"
	url=$(cat "$T/url")
}

@test "looks: each refresh gives the result of a first reading" {
	# Threads that end and others that take their place, children, functions that come later,
	# recursion, longjmp, locks and memory; histograms are not requested at each refresh.
	run timeout 200 python3 "$ROOT/test/behave/looks.py" same "$HP_BUILD/hotpath" "${ROUNDS:-6}" \
		env "LD_PRELOAD=$HP_LIB" "$T/looks"
	echo "$output"
	[ "$status" = 0 ]
	[[ $output =~ same\ [0-9]+\ 3[0-9]{4}$ || -n $ROUNDS ]]
}

@test "looks: no answer is older than a second" {
	start_counting
	run -0 timeout 100 python3 "$ROOT/test/behave/looks.py" age "$url" "$T/counter" 5
}

@test "looks: beyond the limit a connection is refused at once" {
	local count=2000
	start_counting
	[ -z "$HP_TEST_FULL" ] || count=10000
	[ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -gt $((count + 100)) ] ||
		skip "no room for $count descriptors"
	ulimit -Sn $((count + 100))
	run -0 timeout 200 python3 "$ROOT/test/behave/looks.py" full "$url" 230
	[[ $output =~ full\ 230\ 0\ [0-9]+\ 503 ]]	# one more is accepted, and gets an answer
	run -0 timeout 200 python3 "$ROOT/test/behave/looks.py" full "$url" $count
	kill -0 "$(cat "$T/looks.pid")"
	kill -0 "$(cat "$T/serve.pid")"
}

@test "looks: a server that may open few files answers" {
	start_counting
	(ulimit -n 150; exec "$HP_BUILD/hotpath" serve "$(cat "$T/looks.pid")" --port 0 >"$T/few" 3>&-) &
	echo $! >"$T/few.pid"
	eventually grep -q '^http' "$T/few"
	run -0 timeout 200 python3 "$ROOT/test/behave/looks.py" full "$(sed 's,/$,,' "$T/few")" 300
	kill -0 "$(cat "$T/few.pid")"
}

@test "looks: calls that allocated are logged, the newest first" {
	start_counting
	compile spender <<'C'
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) void *spend(int n) { return malloc(n); }
int main(void) { for (int i = 1; i <= 100; i++) free(spend(1000 * i)); puts("up"); fflush(stdout); getchar(); return 0; }
C
	mkfifo "$T/go"
	exec 7<>"$T/go"
	LD_PRELOAD=$HP_LIB "$T/spender" <&7 >"$T/spender.out" 2>/dev/null 3>&- 7>&- &
	echo $! >"$T/spender.pid"
	eventually grep -q up "$T/spender.out"
	"$HP_BUILD/hotpath" serve "$(cat "$T/spender.pid")" --port 0 >"$T/spent" 3>&- 7>&- &
	echo $! >"$T/spent.pid"
	eventually grep -q '^http' "$T/spent"
	run -0 python3 - "$(cat "$T/spent")" <<'P'
import json, sys, urllib.request
get = lambda path: json.load(urllib.request.urlopen(sys.argv[1] + path))
row = next(row for row in get("functions_alloc")["data"] if row["name"] == "spend")
logs = get(f"functions_alloc/{row['id']}/logs")
assert logs["function_name"] == "spend" and logs["total_invocations"] == 100, logs
assert len(logs["logs"]) == 50, len(logs["logs"])
assert [call["invocation"] for call in logs["logs"]] == list(range(100, 50, -1)), logs
assert all(call["alloc_count"] == 1 for call in logs["logs"])
assert logs["logs"][0]["bytes"].startswith("100.0 KB"), logs["logs"][0]
P
	exec 7>&-
}
