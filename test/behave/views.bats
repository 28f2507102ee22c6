#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# views.bats - output for people: the flame-graph page, functions side by side, source lines.

load helper

# A name that becomes an element of the page unless it is escaped.
EVIL='</script><b id=evil>'

setup_file()
{
	compile work -O2 -g <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		static volatile unsigned long sink;
		__attribute__((noinline)) void spin(long n)
		{
			for (long i = 0; i < n; i++)
				sink += (unsigned long)i * 7;
		}
		__attribute__((noinline)) void keep(size_t size)
		{
			char *p = malloc(size);
			sink += (unsigned long)p;
		}
		__attribute__((noinline)) void outer(long n)
		{
			spin(n);
			keep(1000);
		}
		int main(void)
		{
			for (int i = 0; i < 50; i++)
				outer(1000000);
			keep(50000);
			return 0;
		}
	END
	objcopy --redefine-sym "spin=$EVIL" "$T/work"
}

# page NAME [VARIABLE=VALUE...] - runs the program, writes the page $T/NAME.html.
page()
{
	local name=$1
	shift
	env "$@" HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/json" HOTPATH_LIMIT=0 "$HP_RUN" "$T/work"
	"$HP_BUILD/hotpath" report --export flamegraph -o "$T/$name.html"
}

# graphs NAME EXPRESSION - of the checked page, with g["cpu"]["own"]["main"].
graphs()
{
	python3 "$ROOT/test/behave/check_flame.py" "$T/$1.html" >"$T/graphs" || return
	python3 - "$T/graphs" "$T/json" "$2" <<-'END'
		import json, sys
		g = {one["key"]: one for one in map(json.loads, open(sys.argv[1]))}
		r = json.load(open(sys.argv[2]))
		print(eval(sys.argv[3]))
	END
}

@test "flame graph: one page with the figures of the report, names escaped" {
	page plain HOTPATH_CPU=off HOTPATH_REPORT=functions-timing,functions-alloc,alloc-sites,calltree
	[ "$(graphs plain "list(g)")" = "['time', 'bytes', 'blocks', 'peak', 'left']" ]
	[ "$(graphs plain "g['bytes']['own']['keep']")" = 100000 ]
	[ "$(graphs plain "(g['blocks']['own']['keep'], g['left']['own']['keep'])")" = "(51, 100000)" ]
	[ "$(graphs plain "'$EVIL' in g['time']['own']")" = True ]
	# Own times of the tree, each rounded.
	[ "$(graphs plain "abs(g['time']['whole'] - sum(n['self_ns'] for n in r['calltree']['tree'])) < 100")" = True ]
	# Text shown from it is not an element of the page.
	run -1 grep '<b id=evil>' "$T/plain.html"
	run ! "$HP_BUILD/hotpath" report --export folded
	[[ $output == *"nothing to export: "* ]]
}

@test "flame graph: CPU as the collapsed stacks have it" {
	page cpu HOTPATH_CPU=auto HOTPATH_REPORT=functions-cpu
	"$HP_BUILD/hotpath" report --export folded -o "$T/folded" 2>"$T/err" || skip "$(cat "$T/err")"
	sum=$(awk '{ sum += $NF } END { print sum }' "$T/folded")
	# Each line is cut to whole microseconds.
	lines=$(wc -l <"$T/folded")
	graphs cpu "(g['cpu']['whole'], $sum, $lines)"
	[ "$(graphs cpu "0 <= g['cpu']['whole'] / 1000 - $sum <= $lines + 1")" = True ]
	[ "$(graphs cpu "g['cpu']['own']['$EVIL'] > 0.5 * g['cpu']['whole']")" = True ]
}

# in_browser NAME SCRIPT - the page's DOM after the script ran in it; the script's result is its title.
in_browser()
{
	sed 's|</body>||; s|</html>||' "$T/$1.html" >"$T/$1-driven.html"
	printf '<script>document.title = JSON.stringify((() => { %s })());</script></body></html>\n' "$2" \
		>>"$T/$1-driven.html"
	timeout 60 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
		--disable-background-networking --disable-component-update --disable-sync \
		--user-data-dir="$T/chromium" --window-size=1000,800 --dump-dom \
		"file://$T/$1-driven.html" 2>"$T/chromium.err" >"$T/dom"
	sed -n 's|.*<title>\(.*\)</title>.*|\1|p' "$T/dom"
}

@test "flame graph: click, search and keys work in a browser" {
	command -v chromium >/dev/null || skip "no chromium here; make test-all installs it"
	page seen HOTPATH_CPU=off HOTPATH_REPORT=functions-timing,functions-alloc,alloc-sites,calltree
	result=$(in_browser seen '
		const boxes = () => [...document.querySelectorAll(".hpf-box")];
		const named = (name) => boxes().find((b) => b.getAttribute("aria-label").startsWith(name + ":"));
		const key = (key) => document.activeElement.dispatchEvent(
			new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
		const search = document.querySelector("input[type=search]"), said = [];
		const type = (text) => { search.value = text; search.dispatchEvent(new Event("input")); };
		const graph = (key) => document.querySelector(`button[data-graph=${key}]`).click();
		const wide = (name) => Math.round(parseFloat(named(name).style.width));
		const before = wide("outer");
		graph("bytes");
		said.push(wide("outer") < before * 0.6);	// half of the bytes are not its
		named("outer").click();
		said.push(wide("outer") === wide("all threads"), !!named("keep"));
		key("ArrowDown");
		said.push(document.activeElement.textContent);
		key("Escape");
		said.push(wide("outer") < before * 0.6);
		type("keep");
		said.push(document.querySelector("[role=status]").textContent);
		said.push(boxes().filter((b) => b.classList.contains("hpf-match")).length);
		type("/^(/");
		said.push(document.querySelector("[role=status]").textContent);
		type("<b id");
		graph("time");
		said.push(named("<\/script><b id=evil>").textContent, document.getElementById("evil"));
		return said;')
	echo "$result"
	[ "$result" = '[true,true,true,"keep",true,"2 found, 100.00% together",2,"nothing found","&lt;/script&gt;&lt;b id=evil&gt;",null]' ]
}

@test "flame graph: a graph without data is reported" {
	gcc -x c -o "$T/empty" - <<<'int main(void) { return 0; }'
	HOTPATH_REPORT=threads HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=none "$HP_RUN" "$T/empty"
	run "$HP_BUILD/hotpath" report --export flamegraph
	[ "$status" -eq 1 ]
	[[ "$output" == *"nothing to export: "* ]]
}

# lines EXPRESSION - of the annotated lines of `spinner`, by their text.
lines()
{
	python3 - "$T/lines.json" "$1" <<-'END'
		import json, sys
		raw = json.load(open(sys.argv[1]))["annotate"]["raw"]
		by = {" ".join(row["source"].split()): row for row in raw}
		all_samples = sum(row["self_samples"] for row in raw)
		def few(samples):
		    return samples <= all_samples / 50
		def many(samples):	# of the lines of this function, or of its callees
		    return samples >= max(10, all_samples / 5)
		print(eval(sys.argv[2]))
	END
}

@test "annotate: samples are at the lines that work, and at those that call" {
	needs_samples
	compile spinner -O1 -g -fno-instrument-functions <<-'END'
		#include <time.h>
		static volatile unsigned long sink;
		static inline __attribute__((always_inline)) void inlined(long n)
		{
			for (long i = 0; i < n; i++)
				sink += 3;
		}
		__attribute__((noinline)) static void callee(long n)
		{
			for (long i = 0; i < n; i++)
				sink += 5;
		}
		__attribute__((noinline)) static void spinner(long n)
		{
			sink = 1;
			inlined(n);	/* inlined */
			callee(n);	/* called */
			for (long i = 0; i < n; i++)
				sink += 7;	/* itself */
			sink = 2;
		}
		int main(void)
		{
			do	/* in thirds of the CPU time */
				spinner(3000000);
			while (clock() < CLOCKS_PER_SEC * 6 / 10);
			return 0;
		}
	END
	HOTPATH_REPORT=functions-cpu "$HP_RUN" "$T/spinner" 2>/dev/null
	"$HP_BUILD/hotpath" report --annotate spinner -f json >"$T/lines.json"
	lines "raw"
	[ "$(lines "sum(r['inclusive_ns'] for r in raw) >= 0.99 * sum(r['self_ns'] for r in raw)")" = True ]
	# The call's line has its callee's time, and no self time; inlined code has the
	# same.
	[ "$(lines "few(by['callee(n); /* called */']['self_samples'])")" = True ]
	[ "$(lines "many(by['callee(n); /* called */']['inclusive_samples'])")" = True ]
	[ "$(lines "few(by['inlined(n); /* inlined */']['self_samples'])")" = True ]
	[ "$(lines "many(by['inlined(n); /* inlined */']['inclusive_samples'])")" = True ]
	[ "$(lines "many(sum(r['self_samples'] for r in raw if r['line'] in (by['sink += 7; /* itself */']['line'], by['sink += 7; /* itself */']['line'] - 1)))")" = True ]
	[ "$(lines "'return 0;' in by")" = False ]
	# Without the source, and for a function that does not exist.
	mv "$T/spinner.c" "$T/away.c"
	"$HP_BUILD/hotpath" report --annotate spinner 2>"$T/err" >"$T/table"
	grep -q "spinner.c: No such file or directory: lines are shown without their text" "$T/err"
	grep -q "^annotate - spinner, spinner.c" "$T/table"
	run "$HP_BUILD/hotpath" report --annotate nowhere
	[ "$status" -eq 1 ]
	[[ "$output" == *"no function with samples matches 'nowhere'"* ]]
}

@test "annotate: a function's own time is that of the section cpu, including called libraries" {
	needs_samples
	compile scanner -O1 -g <<-'END'
		#include <string.h>
		#include <time.h>
		static char text[100000];
		__attribute__((noinline)) unsigned long scanner(void)
		{
			unsigned long sum = 0;
			for (int i = 0; i < 200; i++)
				sum += strlen(text + i);	/* here */
			return sum;
		}
		int main(void)
		{
			unsigned long sum = 0;
			memset(text, 'x', sizeof(text) - 1);
			do
				sum += scanner();
			while (clock() < CLOCKS_PER_SEC / 4);
			return sum == 1;
		}
	END
	HOTPATH_REPORT=functions-cpu "$HP_RUN" "$T/scanner" 2>/dev/null
	"$HP_BUILD/hotpath" report --annotate scanner -f json >"$T/lines.json"
	"$HP_BUILD/hotpath" report --report functions-cpu -f json >"$T/cpu.json"
	own=$(jq '[.functions_cpu.raw[] | select(.name == "scanner") | .self_samples] | add' "$T/cpu.json")
	[ "$own" -ge 20 ]
	[ "$(lines "sum(r['self_samples'] for r in raw)")" = "$own" ]
	[ "$(lines "many(by['sum += strlen(text + i); /* here */']['self_samples'])")" = True ]
}

# Samples need permission from the kernel; without it, the section says why.
needs_samples()
{
	HOTPATH_REPORT=bound HOTPATH_CPU=perf HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/may.json" \
		"$HP_RUN" "$T/work"
	[ "$(python3 -c "import json; print(bool(json.load(open('$T/may.json'))['bound']['raw']))")" = True ] ||
		skip "$(python3 -c "import json; print(json.load(open('$T/may.json'))['bound']['message'])")"
}

bound_is_right()
{
	HOTPATH_REPORT=bound,functions-alloc HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$1" >/dev/null
	python3 - "$T/json" <<-'END'
		import json, sys
		rows = {row["name"]: row for row in json.load(open(sys.argv[1]))["bound"]["raw"]}
		for name, row in rows.items():
		    print(name, row)
		assert rows["compute"]["bound"] == "cpu"
		assert rows["allocate"]["bound"] == "allocation"
		assert rows["allocate"]["blocks"] == 400000, rows["allocate"]
		assert rows["allocate"]["allocator_ns"] <= rows["allocate"]["cpu_ns"]
		# Each wait is at least as long as requested, except those that began before the
		# counters.
		for name, on, least in (("wait_a_bit", "sleep", 8), ("wait_for_lock", "lock", 8)):
		    assert rows[name]["bound"] == "waiting", rows[name]
		    assert rows[name]["blocked_on_ns"][on] >= 9 * least * 1e6 * 0.9, rows[name]
		assert rows["wait_for_answer"]["blocked_on_ns"]["pipe"] > 0
		assert rows["hold"]["bound"] == "waiting"
		assert rows["hold"]["blocked_on_ns"]["sleep"] >= 9 * 18e6
	END
}

# A thread without a processor for 12 ms no longer waits for the lock, so one try may miss, but
# not all.
in_one_of_4()
{
	local try

	for try in 1 2 3 4; do
		"$@" && return
	done
	return 1
}

@test "bound: functions that wait, work and allocate, each with its word" {
	needs_samples
	gcc -O2 -g -finstrument-functions -o "$T/choose" "$ROOT/test/examples/choose.c" -lpthread
	in_one_of_4 bound_is_right "$T/choose"
	# Compiled without hooks: the same except for wall time.
	gcc -O2 -g -o "$T/plain" "$ROOT/test/examples/choose.c" -lpthread
	in_one_of_4 bound_is_right "$T/plain"
}

@test "bound: without samples it is omitted, and on request it says why" {
	HOTPATH_CPU=off "$HP_RUN" "$T/work" 2>"$T/table"
	run -1 grep "^bound - " "$T/table"
	HOTPATH_CPU=off HOTPATH_REPORT=bound "$HP_RUN" "$T/work" 2>"$T/table"
	grep -A 1 "^bound - " "$T/table" | grep -q "^HOTPATH_CPU=off"
}

# message SECTION [REPORT OPTION...] - why the newest run has no row there.
message()
{
	"$HP_BUILD/hotpath" report -r "$1" -f json | jq -r ".${1//-/_}.message"
}

@test "empty tables: what was not recorded is not called unused" {
	HOTPATH_REPORT=threads "$HP_RUN" "$T/work" >/dev/null 2>&1
	[[ "$(message mutexes)" == "locks were not recorded: "* ]]
	[[ "$(message waits)" == "locks were not recorded: "* ]]
	[[ "$(message channels)" == "channels were not recorded: "* ]]
	[[ "$(message alloc-sites)" == "allocations were not recorded: "* ]]
	"$HP_BUILD/hotpath" report -r mutexes | grep 'locks were not recorded: HOTPATH_REPORT did not ask'
	# For each section, in one report: only threads were requested.
	sections=$("$HP_BUILD/hotpath" help --sections-markdown | sed -n 's/^| `\([a-z-]*\)`.*/\1/p' | paste -sd ,)
	"$HP_BUILD/hotpath" report -r "$sections" -f json >"$T/each.json"
	jq -r 'to_entries[] | select(.value.message? // "" | startswith("threads were not")) | .key' "$T/each.json" >"$T/wrong"
	[ ! -s "$T/wrong" ]
	[[ "$(message streams)" == "streams were not recorded: "* ]]
	HOTPATH_REPORT=mutexes,channels "$HP_RUN" "$T/work" >/dev/null 2>&1
	[ "$(message mutexes)" = "none was used" ]
	[[ "$(message channels)" == "nothing was sent "* ]]
	[[ "$(message threads)" == "threads were not recorded: "* ]]
	[[ "$(message alloc-sites)" == "allocations were not recorded: "* ]]
	HOTPATH_REPORT=alloc-sites "$HP_RUN" true >/dev/null 2>&1
	[[ "$(message direct-maps)" != "allocations were not recorded: "* ]]
	# The same for a segment kept as a file.
	HOTPATH_REPORT=mutexes HOTPATH_SEGMENT_PATH="$T/segment" "$HP_RUN" "$T/work" >/dev/null 2>&1
	"$HP_BUILD/hotpath" report "$T/segment" -r channels | grep 'channels were not recorded: '
	"$HP_BUILD/hotpath" report "$T/segment" -r mutexes | grep 'none was used'
}
