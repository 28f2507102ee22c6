#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# futures.bats - work that is started, polled and finished: counts and outcomes are those of the program, which
# does what it does without the library.

load helper

setup_file()
{
	export T=$BATS_FILE_TMPDIR
	gcc -O1 -g -DHOTPATH -Wall -Wextra -Werror -I"$ROOT/include" -o "$T/futures" \
		"$ROOT/test/behave/programs/futures.c" -pthread
}

# recorded NAME ARGUMENTS... - runs the program with the library: NAME.out, NAME.json and NAME.seg.
recorded()
{
	local name=$T/$1
	shift
	HOTPATH_SEGMENT_PATH=$name.seg HOTPATH_REPORT=futures,functions-alloc HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH=$name.json LD_PRELOAD=$HP_LIB "$T/futures" "$@" >"$name.out"
}

# of NAME LABEL KEYS - values of a future in NAME.json.
of()
{
	python3 - "$T/$1.json" "$2" "$3" <<-'END'
		import json, sys
		rows = json.load(open(sys.argv[1]))["futures"]["data"]
		row = next(r for r in rows if r["label"] == sys.argv[2])
		print(*(row[key] for key in sys.argv[3].split()))
	END
}

@test "futures: states, results and a reused address" {
	"$T/futures" few >"$T/few.plain"
	recorded few few
	cmp "$T/few.plain" "$T/few.out"
	[ "$(of few job "call_count ready_count cancelled_count open_count total_polls")" = "4 3 1 0 10" ]
	[ "$(of few job "total_poll_alloc_bytes total_poll_alloc_count")" = "1000 10" ]
	[ "$(of few waits "call_count open_count ready_count total_polls")" = "3 3 0 2" ]
	[ "$(of few reused "call_count ready_count cancelled_count has_custom_label")" = "2 1 1 True" ]
	[ "$(of few programs/futures.c:85 "call_count ready_count has_custom_label kind")" = "1 1 False future" ]
}

@test "futures: logs over MCP" {
	[ -e "$T/few.seg" ] || skip "no run"
	python3 - "$HP_BUILD/hotpath" "$T/few.seg" <<-'END'
		import json, subprocess, sys
		server = subprocess.Popen([sys.argv[1], "mcp", sys.argv[2]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		def ask(method, **params):
		    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
		    server.stdin.flush()
		    return json.loads(server.stdout.readline())["result"]
		def call(name, **arguments):
		    return ask("tools/call", name=name, arguments=arguments)["structuredContent"]
		ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"})
		ids = {row["label"]: row["id"] for row in call("futures")["data"]}
		logs = call("future_logs", future_id=ids["job"])
		assert (logs["call_count"], logs["total_polls"]) == (4, 10), logs
		calls = [(c["id"], c["state"], c["poll_count"], c.get("result")) for c in logs["calls"]]
		assert calls == [(4, "cancelled", 1, None)] + [(n, "ready", 3, "3 polls") for n in (3, 2, 1)], calls
		first = logs["calls"][-1]
		assert first["max_poll_duration_ns"] <= first["total_poll_duration_ns"] <= first["duration_ns"], first
		assert (first["total_poll_alloc_bytes"], first["max_poll_alloc_bytes"]) == (300, 100), first
		server.stdin.close()
		server.wait()
	END
}

@test "futures: begun by one thread and ended by another" {
	recorded threads threads 4
	read -r polls _ ready _ cancelled _ <"$T/threads.out"
	[ "$(of threads "passed on" "call_count open_count total_polls ready_count cancelled_count lost_count")" = \
		"40000 0 $polls $ready $cancelled 0" ]
	[ "$(of threads "passed on" "sampled_polls queued_calls timed_calls")" = "$polls 40000 40000" ]
}

@test "futures: what finds no room is counted, and said" {
	recorded many many 40000
	read -r lost < <(of many many lost_count)
	[ "$lost" -gt 0 ]
	[ "$(of many many "call_count ready_count open_count")" = "40000 $((40000 - lost)) 0" ]
	HOTPATH_SEGMENT_PATH=$T/many.seg "$HP_BUILD/hotpath" report --report futures "$T/many.seg" >"$T/many.txt"
	grep -q "$(printf "%'d" "$lost")\|${lost:0:-3},${lost: -3} calls without room" "$T/many.txt"
}

@test "futures: a forked child has its own" {
	compile fork -DHOTPATH -I"$ROOT/include" -O2 <<-'END'
		#include <hotpath.h>
		#include <stdlib.h>
		#include <sys/wait.h>
		#include <unistd.h>
		int main(void)
		{
			static int a, b;
			HOTPATH_FUTURE(&a, "shared");
			for (int i = 0; i < 3; i++)
				if (fork() == 0) {
					HOTPATH_FUTURE_READY(&a, "not ours");
					HOTPATH_FUTURE(&b, "shared");
					HOTPATH_FUTURE_POLL(&b);
					HOTPATH_FUTURE_READY(&b, "ours");
					_exit(0);
				}
			while (wait(NULL) > 0);
			HOTPATH_FUTURE_CANCEL(&a);
			return 0;
		}
	END
	HOTPATH_REPORT=futures HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/fork.json LD_PRELOAD=$HP_LIB "$T/fork"
	[ "$(of fork shared "call_count ready_count cancelled_count open_count total_polls")" = "4 3 1 0 3" ]
}
