#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# futures.bats - work that is started, polled and finished: counts and outcomes are those of the program, which
# behaves as without the library.

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
	local line
	"$T/futures" few >"$T/few.plain"
	recorded few few
	cmp "$T/few.plain" "$T/few.out"
	[ "$(of few job "call_count ready_count cancelled_count open_count total_polls")" = "4 3 1 0 10" ]
	[ "$(of few job "total_poll_alloc_bytes total_poll_alloc_count")" = "1000 10" ]
	[ "$(of few waits "call_count open_count ready_count total_polls")" = "3 3 0 2" ]
	[ "$(of few reused "call_count ready_count cancelled_count has_custom_label")" = "2 1 1 True" ]
	line=$(grep -n 'HOTPATH_FUTURE(&jobs.5.' "$ROOT/test/behave/programs/futures.c" | cut -d: -f1)
	[ "$(of few "programs/futures.c:$line" "call_count ready_count has_custom_label kind")" = "1 1 False future" ]
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

@test "futures: futures without room are counted and reported" {
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

# coroutines COMPILER NAME - one output without -DHOTPATH, with it, and with the library; counts are exact.
coroutines()
{
	local name=$T/$2
	"$1" -std=c++20 -O2 -g -Wall -Wextra -Werror -I"$ROOT/include" -o "$name.off" \
		"$ROOT/test/behave/programs/coroutines.cc" -pthread || return
	"$1" -std=c++20 -O2 -g -Wall -Wextra -Werror -DHOTPATH -I"$ROOT/include" -o "$name" \
		"$ROOT/test/behave/programs/coroutines.cc" -pthread || return
	"$name.off" >"$name.plain"
	"$name" >"$name.out" && cmp "$name.plain" "$name.out" || return
	HOTPATH_REPORT=futures,functions-alloc HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$name.json \
		LD_PRELOAD=$HP_LIB "$name" >"$name.out" && cmp "$name.plain" "$name.out" || return
	python3 - "$name.json" <<-'END'
		import json, sys
		rows = {r["label"].split("(")[0]: r for r in json.load(open(sys.argv[1]))["futures"]["data"]
		        if r["kind"] == "coroutine"}
		def check(name, *values):
		    keys = "call_count ready_count cancelled_count open_count total_polls".split()
		    found = tuple(rows[name][key] for key in keys)
		    assert found == values, (name, found, values)
		# 10 that are drained with 1 + n resumes each, 5 abandoned after two, one never
		# resumed.
		check("count_up", 16, 10, 6, 0, sum(range(2, 12)) + 10)
		check("throws_at", 1, 0, 1, 0, 2)
		# Without suspension there is one poll: outer waits for inner once.
		check("outer", 1, 1, 0, 0, 2)
		check("inner", 2, 2, 0, 0, 1 + 3 + 1)
		check("migrates", 200, 200, 0, 0, 200 * 51)
		# Promises without watch_initial and the like.
		check("spells", 6, 4, 2, 0, sum(1 + 2 * n for n in range(4)) + 1)
		check("link", 4, 4, 0, 0, 4 * 2 + 3)
		check("waits_for", 5, 5, 0, 0, 5 + 10)
		# A block for each item; the call's frame belongs to no poll.
		assert rows["count_up"]["total_poll_alloc_count"] == sum(range(11)) + 10, rows["count_up"]
		assert rows["count_up"]["location"]["file"].endswith("coroutines.cc")
	END
	# What cannot be watched does not compile, and says what is missing.
	sed -e '/^struct texts/,/^}/s/promise_type :/promise_type final :/' \
		"$ROOT/test/behave/programs/coroutines.cc" >"$name.cc"
	"$1" -std=c++20 -fsyntax-only -I"$ROOT/include" "$name.cc" || return
	run "$1" -std=c++20 -fsyntax-only -DHOTPATH -I"$ROOT/include" "$name.cc"
	[ "$status" -ne 0 ] && [[ $output == *"return watch_initial"* ]]
}

@test "futures: coroutines of gcc" {
	echo '#include <coroutine>' | g++ -std=c++20 -fsyntax-only -x c++ - || skip "g++ has no coroutines"
	coroutines g++ gcc
}

@test "futures: coroutines of clang" {
	echo '#include <coroutine>
	std::coroutine_handle<> handle;' | clang++ -std=c++20 -fsyntax-only -x c++ - || skip "clang++ has no coroutines"
	coroutines clang++ clang
}

@test "futures: threads as tasks, of C and of python" {
	compile tasks -O1 -fno-instrument-functions -pthread <<-'END'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		static void *work(void *unused) { free(malloc(1000)); return unused; }
		int main(void)
		{
			pthread_t threads[8];
			for (int round = 0; round < 25; round++) {
				for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, work, NULL);
				for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
			}
			pthread_attr_t large;
			pthread_attr_init(&large);
			pthread_attr_setstacksize(&large, 1UL << 46);
			printf("%d\n", pthread_create(&threads[0], &large, work, NULL) != 0);
			return 0;
		}
	END
	HOTPATH_REPORT=futures,functions-alloc HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/tasks.json \
		LD_PRELOAD=$HP_LIB "$T/tasks" >"$T/tasks.out"
	[ "$(cat "$T/tasks.out")" = 1 ]
	python3 - "$T/tasks.json" <<-'END'
		import json, sys
		rows = json.load(open(sys.argv[1]))["futures"]["data"]
		found = sorted((r["call_count"], r["ready_count"], r["cancelled_count"], r["open_count"], r["total_polls"])
		               for r in rows if r["kind"] == "thread")
		assert found == [(1, 0, 1, 0, 0), (200, 200, 0, 0, 200)], found
	END
	# A thread or a connection alone does not make the table appear.
	HOTPATH_OUTPUT_FORMAT=table LD_PRELOAD=$HP_LIB "$T/tasks" >"$T/tasks.out" 2>"$T/tasks.txt"
	run ! grep -q '^futures' "$T/tasks.txt"
	HOTPATH_REPORT=futures HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/python.json LD_PRELOAD=$HP_LIB \
		python3 - <<-'END'
		import concurrent.futures, threading
		barrier = threading.Barrier(5)
		with concurrent.futures.ThreadPoolExecutor(5) as pool:
		    list(pool.map(lambda n: barrier.wait(), range(5)))
	END
	python3 - "$T/python.json" <<-'END'
		import json, sys
		rows = [r for r in json.load(open(sys.argv[1]))["futures"]["data"] if r["kind"] == "thread"]
		assert sum(r["call_count"] for r in rows) == 5, rows
		assert sum(r["ready_count"] for r in rows) == 5, rows
		assert sum(r["queued_calls"] for r in rows) == 5, rows
	END
}

@test "futures: a std::thread has the name that the program knows" {
	cat >"$T/crew.cc" <<-'END'
		#include <thread>
		#include <vector>
		int main()
		{
			std::vector<std::thread> crew;
			for (int i = 0; i < 5; i++)
				crew.emplace_back([] {});
			for (std::thread &one : crew)
				one.join();
		}
	END
	g++ -std=c++11 -g -o "$T/crew" "$T/crew.cc" -pthread
	HOTPATH_REPORT=futures HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/crew.json "$HP_RUN" "$T/crew"
	jq -e '[.futures.raw[] | select(.kind == "thread") | .label, .call_count] == ["std::thread", 5]' "$T/crew.json"
}

@test "futures: POSIX AIO, and its cancellations" {
	gcc -O1 -g -Wall -Wextra -Werror -o "$T/aio" "$ROOT/test/behave/programs/aio.c" -lrt
	"$T/aio" "$T/aio.data" 100 >"$T/aio.plain"
	HOTPATH_REPORT=futures HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/aio.json \
		LD_PRELOAD=$HP_LIB "$T/aio" "$T/aio.data" 100 >"$T/aio.out"
	run -0 cat "$T/aio.plain"
	[[ "$output" == "112 started, "*" asked, 103 done, 9 cancelled" ]]
	read -r started _ asked _ <"$T/aio.out"
	python3 - "$T/aio.json" "$started" "$asked" <<-'END'
		import json, sys
		rows = [r for r in json.load(open(sys.argv[1]))["futures"]["data"] if r["kind"] == "aio"]
		sums = [sum(r[key] for r in rows) for key in ("call_count", "ready_count", "cancelled_count", "open_count")]
		assert sums == [int(sys.argv[2]), 103, 9, 0], (sums, rows)
		assert sum(r["total_polls"] for r in rows) == int(sys.argv[3]), rows
	END
	HOTPATH_WITHOUT=aio HOTPATH_REPORT=futures HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/aio.json \
		LD_PRELOAD=$HP_LIB "$T/aio" "$T/aio.data" 100 >"$T/aio.out"
	[ "$(jq '[.futures.data[] | select(.kind == "aio")] | length' "$T/aio.json")" = 0 ]
}

# uring MODE [COUNT] - runs requests with the library: uring.out, and sums over their rows: calls, ready, cancelled,
# open, lost, polls.
uring()
{
	echo '#include <liburing.h>' | gcc -fsyntax-only -xc - 2>/dev/null || skip "liburing's headers are not installed"
	[ -e "$T/uring" ] || gcc -O1 -g -Wall -Wextra -Werror -o "$T/uring" "$ROOT/test/behave/programs/uring.c" -luring
	"$T/uring" "$@" >"$T/uring.plain" || skip "no io_uring here: $(cat "$T/uring.plain")"
	HOTPATH_REPORT=futures,runtime HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/uring.json \
		LD_PRELOAD=$HP_LIB "$T/uring" "$@" >"$T/uring.out" || return
	cmp "$T/uring.plain" "$T/uring.out" || return
	python3 - "$T/uring.json" <<-'END'
		import json, sys
		rows = [r for r in json.load(open(sys.argv[1]))["futures"]["data"] if r["kind"] == "io_uring"]
		print(*(sum(r[key] for r in rows) for key in
		        "call_count ready_count cancelled_count open_count lost_count total_polls".split()))
	END
}

@test "futures: 128,000 requests to io_uring" {
	run -0 uring nops 128000
	[ "$output" = "128000 128000 0 0 0 0" ]
	# The same waits are an event loop.
	python3 - "$T/uring.json" <<-'END'
		import json, sys
		loops = json.load(open(sys.argv[1]))["tokio_runtime"]["raw"]
		assert [l["kind"] for l in loops] == ["io_uring"], loops
		assert loops[0]["events"] >= loops[0]["waits"] >= 4000, loops
	END
}

@test "futures: 128,000 requests that the kernel's thread polls for" {
	run -0 uring polled 128000
	[ "$output" = "128000 128000 0 0 0 0" ]
}

@test "futures: requests to io_uring with one number" {
	run -0 uring same 4000
	[ "$output" = "4000 4000 0 0 0 0" ]
}

@test "futures: many requests to io_uring at a time, from several places" {
	run -0 uring many 3000
	[ "$output" = "3000 3000 0 0 0 0" ]
}

@test "futures: requests to io_uring that are cancelled, or report several times" {
	run -0 uring cancel
	[ "$output" = "17 9 7 1 0 3" ]
	[ "$(cat "$T/uring.out")" = "1 open
17 begun, 16 ended, 7 cancelled" ]
}

@test "futures: requests to io_uring of which more end than the ring holds" {
	local calls ready lost kept
	run -0 uring unseen
	read -r calls ready _ open lost _ <<<"$output"
	read -r kept _ <"$T/uring.out"
	[ "$calls" = $((3 * kept)) ]
	# The kernel may be writing the oldest place.
	[ "$ready" -ge $((kept - 1)) ]
	[ "$open" = 0 ]
	[ $((ready + lost)) = "$calls" ]
}

@test "futures: HOTPATH_WITHOUT=uring" {
	export HOTPATH_WITHOUT=uring
	run -0 uring nops 3200
	[ "$output" = "0 0 0 0 0 0" ]
	python3 - "$T/uring.json" <<-'END'
		import json, sys
		assert json.load(open(sys.argv[1]))["tokio_runtime"]["raw"] == []
	END
}

@test "futures: tasks of GLib" {
	pkg-config --exists gio-2.0 || skip "GLib's headers are not installed"
	gcc -O1 -g -Wall -Wextra -Werror -o "$T/gtasks" "$ROOT/test/behave/programs/tasks.c" \
		$(pkg-config --cflags --libs gio-2.0)
	[ "$("$T/gtasks")" = "no luck, 7
20 results, 10 failures, 20 cancelled" ]
	HOTPATH_REPORT=futures HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/gtasks.json \
		LD_PRELOAD=$HP_LIB "$T/gtasks" >"$T/gtasks.out"
	[ "$(cat "$T/gtasks.out")" = "no luck, 7
20 results, 10 failures, 20 cancelled" ]
	HOTPATH_WITHOUT=glib HOTPATH_REPORT=futures HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/without.json \
		LD_PRELOAD=$HP_LIB "$T/gtasks" >"$T/gtasks.out"
	python3 - "$T/gtasks.json" "$T/without.json" <<-'END'
		import json, sys
		# GLib's own tasks begin in GLib.
		tasks = lambda file: [[r[key] for key in "call_count ready_count cancelled_count open_count".split()]
		                      for r in json.load(open(file))["futures"]["data"]
		                      if r["kind"] == "GTask" and "tasks.c" in r["label"]]
		assert tasks(sys.argv[1]) == [[50, 30, 20, 0]], tasks(sys.argv[1])
		assert tasks(sys.argv[2]) == [], tasks(sys.argv[2])
	END
}

# jobs_run NAME SETTING... - the report to $T/NAME.json, what the program says to $T/NAME.out
jobs_run()
{
	local name=$1
	shift
	env "$@" HOTPATH_REPORT=futures HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/$name.json" \
		LD_PRELOAD="$HP_LIB" "$T/jobs" >"$T/$name.out"
}

@test "futures: jobs of GThreadPools, if callbacks may be exchanged" {
	pkg-config --exists glib-2.0 || skip "GLib's headers are not installed"
	gcc -O1 -g -Wall -Wextra -Werror -o "$T/jobs" "$ROOT/test/behave/programs/jobs.c" \
		$(pkg-config --cflags --libs glib-2.0)
	"$T/jobs" >"$T/jobs-plain.out"
	jobs_run jobs-exchanged HOTPATH_LOOP_CALLBACKS=1
	jobs_run jobs-kept HOTPATH_LOOP_CALLBACKS=0
	jobs_run jobs-without HOTPATH_LOOP_CALLBACKS=1 HOTPATH_WITHOUT=glib
	python3 - "$T" <<-'END'
		import json, sys
		def said(name):
		    return {key: int(value) for key, value in map(str.split, open(f"{sys.argv[1]}/jobs-{name}.out"))}
		def rows(name):
		    report = json.load(open(f"{sys.argv[1]}/jobs-{name}.json"))["futures"]
		    return [r for r in report["raw"] if r["kind"] == "GThreadPool"]
		def sums(name):
		    return [sum(r[key] for r in rows(name)) for key in
		            "call_count ready_count cancelled_count open_count lost_count total_polls queued_calls".split()]
		own = said("exchanged")
		assert sums("exchanged") == [own["pushed"], own["ran"], own["dropped"], 0, 0, own["ran"], own["ran"]], sums("exchanged")
		assert sorted(r["call_count"] for r in rows("exchanged")) == [40, 50, 300, 400]
		# A pool has the program's function unless that was exchanged on request.
		assert [said(name)["own"] for name in ("plain", "exchanged", "kept", "without")] == [1, 0, 1, 1]
		assert rows("kept") == rows("without") == []
		assert all(said(name)["disorder"] == 0 for name in ("plain", "exchanged", "kept", "without"))
		assert len({said(name)["sum"] for name in ("plain", "exchanged", "kept", "without")}) == 1
	END
}

# uv_run NAME SETTING... - the report to $T/NAME.json, what the program says to $T/NAME.out
uv_run()
{
	local name=$1
	shift
	env "$@" HOTPATH_REPORT=futures HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/$name.json" \
		LD_PRELOAD="$HP_LIB" "$T/uv" >"$T/$name.out"
}

@test "futures: requests of libuv, if callbacks may be exchanged" {
	echo '#include <uv.h>' | gcc -fsyntax-only -xc - 2>/dev/null || skip "libuv's headers are not installed"
	gcc -O1 -g -Wall -Wextra -Werror -o "$T/uv" "$ROOT/test/behave/programs/uv.c" -luv
	"$T/uv" >"$T/uv-plain.out"
	uv_run uv-exchanged HOTPATH_LOOP_CALLBACKS=1
	uv_run uv-kept HOTPATH_LOOP_CALLBACKS=0
	uv_run uv-without HOTPATH_LOOP_CALLBACKS=1 HOTPATH_WITHOUT=uv
	python3 - "$T" <<-'END'
		import json, sys
		def said(name):
		    pairs = (line.split() for line in open(f"{sys.argv[1]}/uv-{name}.out"))
		    return {pair[0]: int(pair[-1]) for pair in pairs}
		def rows(name):
		    report = json.load(open(f"{sys.argv[1]}/uv-{name}.json"))["futures"]
		    return [r for r in report["raw"] if r["kind"] == "libuv"]
		own, found = said("exchanged"), rows("exchanged")
		sums = [sum(r[key] for r in found) for key in
		        "call_count ready_count cancelled_count open_count lost_count total_polls".split()]
		# Work without a second callback has ours.
		callbacks = own["after"] + own["files"] + own["names"] + 1
		assert sums == [own["started"], callbacks, own["cancelled"], 0, 0, own["worked"] + callbacks], (sums, own)
		assert sum(r["queued_calls"] for r in found) == callbacks
		# A request has the program's callbacks unless they were exchanged on request.
		assert [said(name)["own"] for name in ("plain", "exchanged", "kept", "without")] == [1, 0, 1, 1]
		assert rows("kept") == rows("without") == []
		same = [{**said(name), "own": 0} for name in ("plain", "exchanged", "kept", "without")]
		assert all(one == same[0] for one in same), same
	END
}

@test "futures: contexts of makecontext" {
	gcc -O1 -g -Wall -Wextra -Werror -o "$T/contexts" "$ROOT/test/behave/programs/contexts.c" -lpthread
	"$T/contexts" >"$T/contexts-plain.out"
	HOTPATH_REPORT=futures HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/contexts.json \
		LD_PRELOAD=$HP_LIB "$T/contexts" >"$T/contexts.out"
	cmp "$T/contexts-plain.out" "$T/contexts.out"
	grep -qx "errno 0" "$T/contexts.out"
	python3 - "$T/contexts.json" "$T/contexts.out" <<-'END'
		import json, sys
		own = {key: int(value) for key, value in map(str.split, open(sys.argv[2]))}
		rows = [r for r in json.load(open(sys.argv[1]))["futures"]["raw"] if r["kind"] == "context"]
		found = [sum(r[key] for r in rows) for key in
		         "call_count total_polls ready_count cancelled_count open_count lost_count".split()]
		assert found == [own["made"], own["resumed"] + own["linked"], own["returned"], own["replaced"],
		                 own["abandoned"], 0], (found, own)
		# The last poll of those that ended before a linked one is not timed.
		assert 0 < rows[0]["sampled_polls"] <= own["resumed"] + own["linked"]
	END
}

@test "futures: connections that are not made at once" {
	gcc -O1 -g -Wall -Wextra -Werror -o "$T/connects" "$ROOT/test/behave/programs/connects.c"
	HOTPATH_REPORT=futures HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/connects.json \
		LD_PRELOAD=$HP_LIB "$T/connects" >"$T/connects.out"
	python3 - "$T/connects.json" "$T/connects.out" <<-'END'
		import json, re, sys
		started, made, refused, given_up, in_vain = map(int, re.findall(r"\d+", open(sys.argv[2]).read()))
		rows = [r for r in json.load(open(sys.argv[1]))["futures"]["data"] if r["kind"] == "connect"]
		found = [sum(r[key] for r in rows) for key in
		         "call_count ready_count cancelled_count open_count total_polls".split()]
		assert started > 0 and refused > 0, started
		assert found == [started, made + refused, given_up, 0, in_vain], (found, open(sys.argv[2]).read())
	END
}
