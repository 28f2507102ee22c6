#!/bin/bash
# SPDX-License-Identifier: MIT
#
# memory.sh [PROGRAM...] - the cost of recording every allocation for whole
# programs: sqlite3, cc1plus on a large preprocessed file, python3 with
# PYTHONMALLOC=malloc.
#
#   plain      without a library
#   ours       libhotpath.so, allocations only: counts, bytes, live, peak per full call path
#   depth0     the same with HOTPATH_ALLOC_DEPTH=0: the caller only
#   off        HOTPATH_REPORT=threads: nothing of it is recorded
#   default    all that is recorded unasked: CPU samples, threads, locks, too
#   heaptrack  heaptrack's library, its data to /dev/null
#
# One run each, alternating, minimum of ROUNDS=3; wall time, CPU time of the program
# itself, its peak resident memory. The report is excluded and shown separately, with the
# segment's size.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
rounds=${ROUNDS:-3}
work=$(mktemp -d) || exit
segment=$work/segment
trap 'rm -rf "$work"' EXIT
tracker=$(ls /usr/lib/*/heaptrack/libheaptrack_preload.so /usr/lib/heaptrack/libheaptrack_preload.so 2>/dev/null | head -n 1)
export HOTPATH_OUTPUT_FORMAT=none HOTPATH_KEEP=0
declare -A wall cpu resident

sources()
{
	cat >"$work/queries.sql" <<'SQL'
create table item(id integer primary key, name text, price real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)
	insert into item select i, 'item ' || (i * 7919 % 10007), i % 97 / 7.0 from n;
create index by_name on item(name);
select count(*), sum(price), max(name) from item where name between 'item 2' and 'item 5';
select substr(name, 1, 7) as start, count(*), avg(price) from item group by start order by 2 limit 9;
SQL
	cat >"$work/large.cc" <<'CC'
#include <algorithm>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>
int main() { std::regex r("a(b|c)*d"); std::map<std::string, int> m; return std::regex_match("abcd", r) + m["x"]; }
CC
	g++ -E -std=c++17 "$work/large.cc" -o "$work/large.ii"
	cat >"$work/parse.py" <<'PY'
import json, random
random.seed(1)
rows = [{"id": i, "name": "n%d" % i, "v": [random.random() for _ in range(10)]} for i in range(20000)]
print(len(json.loads(json.dumps(rows))))
PY
}

# Sets `line`; false = the program is missing.
command_of()
{
	case $1 in
	sqlite3) have sqlite3 && line=("$(command -v sqlite3)" :memory: ".read $work/queries.sql") ;;
	cc1plus) line=("$(g++ -print-prog-name=cc1plus)" -quiet -O1 -fpreprocessed "$work/large.ii" -o /dev/null) ;;
	python3) [ -x /usr/bin/python3 ] && line=(/usr/bin/python3 "$work/parse.py") ;;
	*) false ;;
	esac
}

# measure COMMAND... - its wall seconds, CPU seconds and peak MB.
measure()
{
	python3 - "$@" <<'PY'
import os, sys, time
quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
environment = dict(os.environ, PYTHONMALLOC="malloc", PYTHONHASHSEED="0")
if "PRELOAD" in environment:
    environment["LD_PRELOAD"] = environment.pop("PRELOAD")
start = time.monotonic()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], environment, file_actions=quiet)
_, status, used = os.wait4(pid, 0)
print(time.monotonic() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
sys.exit(status != 0)
PY
}

under()
{
	case $1 in
	plain) measure "${line[@]}" ;;
	ours) PRELOAD=$lib HOTPATH_REPORT=alloc-sites,functions-alloc measure "${line[@]}" ;;
	depth0)
		PRELOAD=$lib HOTPATH_REPORT=alloc-sites,functions-alloc HOTPATH_ALLOC_DEPTH=0 \
			measure "${line[@]}"
		;;
	off) PRELOAD=$lib HOTPATH_REPORT=threads measure "${line[@]}" ;;
	default) PRELOAD=$lib measure "${line[@]}" ;;
	heaptrack) PRELOAD=$tracker DUMP_HEAPTRACK_OUTPUT=/dev/null measure "${line[@]}" ;;
	esac
}

lesser()
{
	reckon "$1 < ${2:-1e300} ? $1 : ${2:-0}" %.6g
}

round()
{
	local kind seconds used mb

	for kind in $kinds; do
		read -r seconds used mb < <(under "$kind") || continue
		wall[$kind]=$(lesser "$seconds" "${wall[$kind]}")
		cpu[$kind]=$(lesser "$used" "${cpu[$kind]}")
		resident[$kind]=$(lesser "$mb" "${resident[$kind]}")
	done
}

# The report stage, and the segment's size.
stage()
{
	local start

	LD_PRELOAD=$lib HOTPATH_REPORT=alloc-sites,functions-alloc HOTPATH_SEGMENT_PATH=$segment \
		PYTHONMALLOC=malloc "${line[@]}" >/dev/null 2>&1
	start=$EPOCHREALTIME
	HOTPATH_OUTPUT_FORMAT=table "$build/hotpath" report "$segment" >/dev/null 2>&1
	printf '%-10s%-11s%7s s; segment %s MB\n' "$1" report \
		"$(reckon "${EPOCHREALTIME/,/.} - ${start/,/.}")" "$(touched_mb "$segment")"
	rm -f "$segment"
}

program()
{
	local turn kind

	command_of "$1" || return
	wall=() cpu=() resident=()
	for ((turn = 0; turn < rounds; turn++)); do
		round
	done
	for kind in $kinds; do
		printf '%-10s%-11s%7s s %6s x%9s s %6s x%9s MB\n' "$1" "$kind" \
			"$(reckon "${wall[$kind]}" %.3f)" "$(reckon "${wall[$kind]} / ${wall[plain]}")" \
			"$(reckon "${cpu[$kind]}" %.3f)" "$(reckon "${cpu[$kind]} / ${cpu[plain]}")" \
			"$(reckon "${resident[$kind]}" %.1f)"
	done
	stage "$1"
}

kinds="plain ours depth0 off default"
if [ -n "$tracker" ]; then kinds="$kinds heaptrack"; else echo "skipped: no heaptrack here"; fi
[ -z "$KINDS" ] || kinds=$KINDS
sources
printf '%-10s%-11s%18s%20s%12s\n' program kind 'wall' 'CPU' resident
for name in "${@:-sqlite3 cc1plus python3}"; do
	for one in $name; do
		program "$one"
	done
done
