#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# asking.bats - users' command lines: misspelt words, orders, filters, where to go
# next.

load helper

setup_file()
{
	gunzip -c "$ROOT/test/golden/surface/run.hp.gz" >"$T/surface.hp"
	gunzip -c "$ROOT/test/golden/choose/run.hp.gz" >"$T/choose.hp"
}

ask()
{
	"$HP_BUILD/hotpath" report "$@" "$T/surface.hp"
}

# raw SECTION KEY OPTION... - the values of that key in the section's rows, in order.
raw()
{
	local section=$1 key=$2
	shift 2
	ask -f json -n 0 --report "$section" "$@" 2>/dev/null |
		jq -r --arg key "$key" ".${section//-/_}.raw[] | .[\$key]"
}

@test "misspelt words: the nearest one is named" {
	run -2 ask --fokus x
	[ "$output" = "hotpath report: unknown option --fokus; the nearest is --focus; see hotpath report --help" ]
	run -2 "$HP_BUILD/hotpath" repot
	[ "$output" = "hotpath: no command 'repot'; the nearest is 'report'; see hotpath --help" ]
	run -2 "$HP_BUILD/hotpath" help stakcs
	[[ $output == *"the nearest is 'stacks'"* ]]
	run -2 ask --report functions-cup
	[ "$output" = "hotpath report: --report: no section 'functions-cup'; the nearest is 'functions-cpu'; hotpath help sections lists all" ]
	HOTPATH_REPROT=x run ask
	[[ $output == *"HOTPATH_REPROT: unknown variable, ignored; the nearest is HOTPATH_REPORT"* ]]
	run -2 ask --sort peek --report alloc-sites
	[ "$output" = "hotpath report: --sort: no column 'peek'; the nearest is 'peak'; columns: call-path, count, peak, left, total" ]
	run -2 ask --sort peek
	[ "$output" = "hotpath report: --sort: no column 'peek'; the nearest is 'peak'; choose a section to see its columns" ]
}

@test "a bad value: the message names the option that was used" {
	run -2 ask -n x
	[ "$output" = "hotpath report: -n: 'x' is not allowed; a number, 0 = all" ]
	run -2 ask --limit=x
	[ "$output" = "hotpath report: --limit: 'x' is not allowed; a number, 0 = all" ]
	run -125 "$HP_RUN" -n x true
	[ "$output" = "hotpath run: -n: 'x' is not allowed; a number, 0 = all" ]
	HOTPATH_LIMIT=x run ask
	[[ $output == *"HOTPATH_LIMIT: 'x' is not allowed"* ]]
}

# is_sorted - numbers on stdin, one a line, from the largest down; there are at least two different ones.
is_sorted()
{
	grep -v null >"$T/numbers"
	[ "$(sort -u "$T/numbers" | wc -l)" -ge 2 ] && sort -c -n -r "$T/numbers"
}

@test "sort: any column of a table, by its title or its key" {
	raw alloc-sites peak_bytes --sort peak | is_sorted
	raw alloc-sites count --sort count | is_sorted
	raw functions-timing p95_ns --sort p95 | is_sorted
	raw functions-timing self_ns --sort self | is_sorted
	raw functions-timing avg_ns --sort avg | is_sorted
	raw mutexes acquire_avg_ns --sort held-avg | is_sorted
	[ "$(raw functions-timing name --sort name)" = "$(raw functions-timing name --sort name | LC_ALL=C sort)" ]
	# The order decides which rows a limit leaves.
	largest=$(raw alloc-sites peak_bytes | sort -n -r | head -1)
	[ "$(ask -f json -n 1 --report alloc-sites --sort peak | jq .alloc_sites.raw[0].peak_bytes)" = "$largest" ]
	# An invalid word from the environment is reported, and the report is printed anyway.
	HOTPATH_SORT=weight run -0 ask --report mutexes
	[[ $output == *"HOTPATH_SORT: no column 'weight'; the nearest is "* ]]
	[[ $output == *"Mutex wait"* ]]
}

@test "focus: waits are filtered, too" {
	name=$(raw offcpu name | head -1)
	[ "$(raw offcpu name | sort -u | wc -l)" -ge 2 ]
	[ "$(raw offcpu name --focus "$name" | sort -u)" = "$name" ]
}

@test "cpu: inclusive rows have functions without time of their own" {
	raw functions-cpu name | sort >"$T/own"
	raw functions-cpu name --inclusive | sort >"$T/inclusive"
	[ "$(comm -13 "$T/own" "$T/inclusive" | wc -l)" -ge 1 ]
	[ "$(comm -23 "$T/own" "$T/inclusive" | wc -l)" = 0 ]
}

@test "threads: no thread of an ended process is shown as sleeping" {
	run ! grep -q Sleeping <(ask -n 0 --report threads)
	raw threads name | grep -q .
	[ "$(ask -f json -n 0 --report threads | jq -r '.threads.data[].status' | sort -u)" = Exited ]
}

@test "help: five questions, and each command is one" {
	"$HP_BUILD/hotpath" help >"$T/help"
	sed -n '/^Five questions:/,/^$/p' "$T/help" >"$T/tour"
	[ "$(grep -c '?$' "$T/tour")" = 5 ]
	for command in $(grep -o 'hotpath [a-z]*' "$T/tour" | cut -d' ' -f2 | sort -u); do
		"$HP_BUILD/hotpath" --help | grep -q "^  $command "
	done
}

@test "debuginfod: the report asks the servers of DEBUGINFOD_URLS, a program's end does not" {
	python3 -c 'import ctypes; ctypes.CDLL("libdebuginfod.so.1")' 2>/dev/null || skip "no libdebuginfod here"
	compile served -O1 <<-'END'
		__attribute__((noinline)) void work(void)
		{
			asm volatile("");
		}
		int main(void)
		{
			work();
			return 0;
		}
	END
	id=$(readelf -n "$T/served" | sed -n 's/.*Build ID: //p')
	[ "$id" ] || skip "no build id"
	mkdir -p "$T/www/buildid/$id"
	objcopy --only-keep-debug "$T/served" "$T/www/buildid/$id/debuginfo"
	strip --strip-debug "$T/served"
	python3 - "$T/www" "$T/port" 2>"$T/asked" 3>&- <<-'END' &
		import functools, http.server, os, sys
		server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(
		    http.server.SimpleHTTPRequestHandler, directory=sys.argv[1]))
		open(sys.argv[2] + ".new", "w").write(str(server.server_port))
		os.rename(sys.argv[2] + ".new", sys.argv[2])
		server.serve_forever()
	END
	server=$!
	eventually test -s "$T/port"
	export DEBUGINFOD_URLS="http://127.0.0.1:$(<"$T/port")" DEBUGINFOD_CACHE_PATH=$T/cache
	HOTPATH_CPU=off HOTPATH_SEGMENT_PATH=$T/served.segment "$HP_RUN" "$T/served" 2>"$T/end"
	end=$(grep -c GET "$T/asked" || true)
	DEBUGINFOD_URLS='' "$HP_BUILD/hotpath" report -f json "$T/served.segment" >"$T/without.json"
	"$HP_BUILD/hotpath" report -f json "$T/served.segment" >"$T/with.json"
	kill "$server"
	[ "$end" = 0 ]
	grep -q "GET /buildid/$id/debuginfo" "$T/asked"
	[ "$(jq '[.functions_timing.data[].location.line | numbers] | length' "$T/without.json")" = 0 ]
	[ "$(jq '[.functions_timing.data[].location.line | numbers] | length' "$T/with.json")" = 2 ]
}

@test "JSON: reports and answers over HTTP match the committed schema" {
	python3 "$ROOT/test/behave/answers.py" "$ROOT/doc/reference/answers.schema.json" "$HP_BUILD/hotpath" \
		"$T/surface.hp" "$T/choose.hp"
}

@test "paths: rows of equal names show the lines that differ" {
	ask --report alloc-sites >"$T/sites"
	rows=$(grep -c '^basket shop.c:48 ← shelve' "$T/sites")
	[ "$rows" -ge 2 ]
	[ "$(grep '^basket shop.c:48 ← shelve' "$T/sites" | sed 's/  .*//' | sort -u | wc -l)" = "$rows" ]
}
