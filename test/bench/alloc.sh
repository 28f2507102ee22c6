#!/bin/bash
# SPDX-License-Identifier: MIT
#
# alloc.sh - what recording every allocation costs: ns of a malloc/free pair
# below 8 and 30 frames, with 1, 2 and 8 threads, and whole programs.
#
#   plain      without a library
#   ours       libhotpath.so: counts, bytes, live, peak per full call path
#   depth 0    HOTPATH_ALLOC_DEPTH=0: the caller only
#   off        HOTPATH_REPORT=threads: nothing of it is recorded
#   heaptrack  heaptrack's library, its data to /dev/null
#
# One run each in turns, least of ROUNDS=5.  Budget over plain: one reading of the clock at 8
# frames, three at 30; the clock is measured in the same run.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
rounds=${ROUNDS:-5}
memory=$(mktemp -d) || exit
trap 'rm -rf "$memory"' EXIT
tracker=$(ls /usr/lib/*/heaptrack/libheaptrack_preload.so /usr/lib/heaptrack/libheaptrack_preload.so 2>/dev/null | head -n 1)
export HOTPATH_OUTPUT_FORMAT=none HOTPATH_KEEP=0

# under KIND COMMAND...
under()
{
	local kind=$1
	shift
	case $kind in
	ours) LD_PRELOAD=$lib "$@" ;;
	depth0) HOTPATH_ALLOC_DEPTH=0 LD_PRELOAD=$lib "$@" ;;
	off) HOTPATH_REPORT=threads LD_PRELOAD=$lib "$@" ;;
	heaptrack) LD_PRELOAD=$tracker DUMP_HEAPTRACK_OUTPUT=/dev/null "$@" ;;
	*) "$@" ;;
	esac
}

# once KIND - ns of a pair, or of a reading of the clock; or seconds of $line.
once()
{
	if [ ${#line[@]} -gt 0 ]; then
		wall under "$1" "${line[@]}"
	elif [ "$1" = clock ]; then
		"$out/alloc" clock
	else
		under "$1" "$out/alloc" "$frames" "$threads" 2>/dev/null
	fi
}

pairs()
{
	printf '%-8s%-8s%8s%8s%8s%8s%8s%10s   %s\n' frames threads clock plain ours 'depth 0' off \
		heaptrack 'more, in clock readings; heaptrack over ours'
	line=()
	for threads in 1 2 8; do
		for frames in 8 30; do
			# shellcheck disable=SC2086
			turns "$rounds" clock plain ours depth0 off $heaptrack
			printf '%-8s%-8s%8s%8s%8s%8s%8s%10s   %s  %s\n' "$frames" "$threads" \
				"${least[clock]}" "${least[plain]}" "${least[ours]}" \
				"${least[depth0]}" "${least[off]}" "${least[heaptrack]:--}" \
				"$(reckon "(${least[ours]} - ${least[plain]}) / ${least[clock]}")" \
				"$(reckon "(${least[heaptrack]:-x} - ${least[plain]}) / (${least[ours]} - ${least[plain]})" %.1f)"
		done
	done
}

program()
{
	local name=$1 kinds="plain ours"
	shift
	line=("$@")
	# shellcheck disable=SC2086
	turns "${PROGRAM_ROUNDS:-3}" $kinds $heaptrack
	printf '%-10s%10s%10s%12s\n' "$name" "$(reckon "${least[plain]} * 1000" %.0f)" \
		"$(ratio ours plain)" "$(ratio heaptrack plain)"
}

sources()
{
	cat >"$memory/queries.sql" <<'SQL'
create table item(id integer primary key, name text, price real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)
	insert into item select i, 'item ' || (i * 7919 % 10007), i % 97 / 7.0 from n;
create index by_name on item(name);
select count(*), sum(price), max(name) from item where name between 'item 2' and 'item 5';
select substr(name, 1, 7) as start, count(*), avg(price) from item group by start order by 2 limit 9;
SQL
	cat >"$memory/large.cc" <<'CC'
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
	g++ -E -std=c++17 "$memory/large.cc" -o "$memory/large.ii"
	cat >"$memory/parse.py" <<'PY'
import json, random
random.seed(1)
rows = [{"id": i, "name": "n%d" % i, "v": [random.random() for _ in range(10)]} for i in range(20000)]
print(len(json.loads(json.dumps(rows))))
PY
}

compile -o "$out/alloc" test/bench/alloc.c -lpthread || exit
heaptrack=
if [ -n "$tracker" ]; then heaptrack=heaptrack; else echo "skipped: no heaptrack here"; fi
pairs
echo
sources
printf '%-10s%10s%10s%12s   wall, least of %s, over plain\n' program 'plain ms' ours heaptrack "${PROGRAM_ROUNDS:-3}"
have sqlite3 && program sqlite3 sqlite3 :memory: ".read $memory/queries.sql"
program cc1plus "$(g++ -print-prog-name=cc1plus)" -quiet -O1 -fpreprocessed "$memory/large.ii" -o /dev/null
[ -x /usr/bin/python3 ] && PYTHONMALLOC=malloc program python3 /usr/bin/python3 "$memory/parse.py"
exit 0
