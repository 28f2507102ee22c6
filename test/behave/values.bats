#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# values.bats - HOTPATH_DBG, HOTPATH_VAL and gauges: the program behaves as it does without them, and the
# values shown are the computed ones.

load helper

PROGRAM=$ROOT/test/behave/programs/values.c
STRICT="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I$ROOT/include"

# same NAME COMPILER FLAGS... - one output without -DHOTPATH, with it, and with the library.
same()
{
	local name=$T/$1
	shift
	# shellcheck disable=SC2086
	"$@" $STRICT -o "$name.plain" "$PROGRAM" && "$@" $STRICT -DHOTPATH -o "$name" "$PROGRAM" || return
	"$name.plain" >"$name.expected"
	"$name" >"$name.out"
	cmp "$name.expected" "$name.out" || return
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$name.json LD_PRELOAD=$HP_LIB "$name" >"$name.out"
	cmp "$name.expected" "$name.out"
}

# shown FILE EXPRESSION - "VALUE COUNT MIN MAX" of an entry in a report.
shown()
{
	python3 - "$@" <<-'END'
		import json, sys
		for entry in json.load(open(sys.argv[1]))["debug"]["entries"]:
		    if entry["expression"] == sys.argv[2]:
		        print(entry["last_value"], entry["log_count"], entry.get("min", "-"), entry.get("max", "-"))
	END
}

@test "values: gcc, C" {
	same gcc gcc -x c -std=c11 -O1
	[ "$(shown "$T/gcc.json" "next_one()")" = "10 10 - -" ]
	[ "$(shown "$T/gcc.json" narrow)" = "-3 1 - -" ]
	[ "$(shown "$T/gcc.json" text)" = '"text" 1 - -' ]
	[ "$(shown "$T/gcc.json" bits.few)" = "5 1 - -" ]
	[ "$(shown "$T/gcc.json" huge)" = "1267650600228229401496703205376 1 - -" ]
	[ "$(shown "$T/gcc.json" wide)" = "0.5 1 - -" ]
	[ "$(shown "$T/gcc.json" pair)" = "(8 bytes) 1 - -" ]
	[ "$(shown "$T/gcc.json" last)" = '"text" 2 - -' ]
	[ "$(shown "$T/gcc.json" up)" = "1499.5 1001 2 2000" ]
	[ "$(shown "$T/gcc.json" set)" = "8 2 -3 8" ]
}

@test "values: clang, C" {
	same clang clang -x c -std=c99 -O1
	[ "$(shown "$T/clang.json" bits.many)" = "-9 1 - -" ]
	[ "$(shown "$T/clang.json" yes)" = "true 1 - -" ]
}

@test "values: C++ keeps lvalues, moves rvalues, and needs no copies" {
	same gxx g++ -x c++ -std=c++17 -O1
	[ "$(shown "$T/gxx.json" scoped::MANY)" = "200 1 - -" ]
	[ "$(shown "$T/gxx.json" 'name + "!"')" = '"strings!" 1 - -' ]
	[ "$(shown "$T/gxx.json" "HOTPATH_DBG(20) + HOTPATH_DBG(1)")" = "21 1 - -" ]
	same old g++ -x c++ -std=gnu++98 -O1
	[ "$(shown "$T/old.json" "counted(8)")" = "(4 bytes) 1 - -" ]
	same clangxx clang++ -x c++ -std=c++20 -O1
	[ "$(shown "$T/clangxx.json" nullptr)" = "0x0 1 - -" ]
}

@test "values: 8 threads, a forked child, and an invalid pointer" {
	compile many -DHOTPATH -I"$ROOT/include" -O2 <<-'END'
		#include <hotpath.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static void *change(void *unused)
		{
			for (int i = 0; i < 100000; i++)
				if (i % 2)
					HOTPATH_GAUGE_DEC("shared", 1);
				else
					HOTPATH_GAUGE_INC("shared", 2);
			return unused;
		}
		int main(void)
		{
			pthread_t threads[8];
			const char *nowhere = (const char *)16;
			for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, change, NULL);
			for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
			HOTPATH_VAL("nowhere", nowhere);
			for (int i = 0; i < 3; i++) HOTPATH_GAUGE_SET("own", i);
			if (fork() == 0) { HOTPATH_GAUGE_SET("own", 70); change(NULL); _exit(0); }
			wait(NULL);
			HOTPATH_GAUGE_INC("own", 1);
			return 0;
		}
	END
	HOTPATH_SEGMENT_PATH=$T/many.seg HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/many.json \
		LD_PRELOAD=$HP_LIB "$T/many"
	python3 - "$T/many.json" <<-'END'
		import json, sys
		rows = json.load(open(sys.argv[1]))["debug"]["entries"]
		shared = sorted((r["log_count"], r["last_value"], r["min"]) for r in rows if r["expression"].startswith("shared ["))
		assert shared[0] == (100000, "50000", "1"), shared
		# The first change is to 2; whether a change to 1 follows depends on the next
		# thread.
		assert shared[1][:2] == (800000, "400000") and shared[1][2] in ("1", "2"), shared
		own = sorted((r["log_count"], r["last_value"], r["max"]) for r in rows if r["expression"].startswith("own ["))
		assert own == [(1, "70", "70"), (4, "3", "3")], own
		assert [r["last_value"] for r in rows if r["expression"] == "nowhere"] == ["0x10 (no text)"]
		assert "live threads" in [r["expression"] for r in rows if r["source"] == "hotpath"]
	END
}

@test "values: logs and kinds over MCP" {
	[ -e "$T/many.seg" ] || skip "no run"
	python3 - "$HP_BUILD/hotpath" "$T/many.seg" <<-'END'
		import json, subprocess, sys
		server = subprocess.Popen([sys.argv[1], "mcp", sys.argv[2]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		def call(name, **arguments):
		    server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
		                                   "params": {"name": name, "arguments": arguments}}) + "\n")
		    server.stdin.flush()
		    return json.loads(server.stdout.readline())["result"]["structuredContent"]
		server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
		    {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}) + "\n")
		server.stdin.flush()
		server.stdout.readline()
		gauges = call("gauges")["data"]
		assert {g["entry_type"] for g in gauges} == {"gauge"}
		own = [g for g in gauges if g["expression"].startswith("own") and g["log_count"] == 4][0]
		logs = call("gauge_logs", gauge_id=own["id"])
		assert (logs["key"], logs["total_logs"]) == ("own", 4), logs
		assert [(l["index"], l["value"]) for l in logs["logs"]] == [(4, "3"), (3, "2"), (2, "1"), (1, "0")], logs
		value = call("val_entries")["data"][0]
		log = call("val_logs", debug_id=value["id"])["logs"][0]
		assert log["value"] == "0x10 (no text)" and log["source"].endswith("/many.c:21"), log
		assert call("dbg_entries")["data"] == []
		server.stdin.close()
		server.wait()
	END
}

# The helper scans the program now and then, so the figure follows.
@test "values: open descriptors are those that the kernel lists" {
	local pid url listed

	compile descriptors -O1 <<-'END'
		#include <fcntl.h>
		#include <stdio.h>
		#include <unistd.h>
		int main(void)
		{
			for (int i = 0; i < 120; i++)
				if (open("/dev/null", O_RDONLY) < 0)
					return 1;
			puts("up");
			fflush(stdout);
			for (;;)
				pause();
		}
	END
	HOTPATH_REPORT=debug HOTPATH_METRICS_PORT=0 LD_PRELOAD=$HP_LIB "$T/descriptors" \
		</dev/null >"$T/descriptors.said" 2>/dev/null 3>&- &
	pid=$!
	echo "$pid" >"$T/descriptors.pid"
	eventually grep up "$T/descriptors.said"
	listed=$(ls "/proc/$pid/fd" | wc -l)
	[ "$listed" -gt 120 ]
	is_reported()
	{
		"$HP_BUILD/hotpath" report -r debug -f json "$pid" | jq -e --arg listed "$listed" \
			'.debug.entries[] | select(.expression == "open descriptors") | .last_value == $listed and (.max | tonumber) >= ($listed | tonumber)'
	}
	eventually is_reported
	url=$(serve "$pid")
	# The server reads the program now and then.
	is_scraped()
	{
		curl -s "${url}metrics" >"$T/descriptors.metrics"
		grep -x "hotpath_gauge{key=\"open descriptors\"} $listed" "$T/descriptors.metrics"
	}
	eventually is_scraped
	grep -x "hotpath_value{key=\"open descriptors\",type=\"gauge\",source=\"hotpath\"} $listed" "$T/descriptors.metrics"
	pids_end
}
