#!/bin/bash
# SPDX-License-Identifier: MIT
#
# live.sh [PROGRAM...] - the cost of live views: the server's share of a core, the
# duration of answers, and the cost for the program itself.
#
#   python3, sqlite3, cc1plus   the programs of memory.sh, for longer; every call path counts
#   wide                        1 000 functions in 64 threads, then one thread that calls on
#
# For each: ms to the first answer; one route once a second, then each route once a second: the
# server's share of a core, percent; the slowest of these answers, ms; the server's own memory,
# MB. For wide also ms of each route's answer to a client without recent requests, the server's
# CPU time for it in ms, and 200 requests per second. EACH=1: also the share of each route alone.
#
# Then the CPU time, user and system, of a fixed piece of work of each of the three programs alone
# and with a client that requests each route every second, alternating, minimum of ROUNDS=5; only
# this part: live.sh pays.  SECONDS_EACH=10 for each share.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash && . test/bench/asked.bash || exit
seconds=${SECONDS_EACH:-10}
rounds=${ROUNDS:-5}
ask() { $python test/bench/live.py "$@"; }

sources()
{
	cat >"$work/parse.py" <<'PY'
import json, random, sys
random.seed(1)
rows = [{"id": i, "name": "n%d" % i, "v": [random.random() for _ in range(10)]} for i in range(20000)]
for _ in range(int(sys.argv[1])):
    json.loads(json.dumps(rows))
PY
	{
		cat <<'SQL'
create table item(id integer primary key, name text, price real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)
	insert into item select i, 'item ' || (i * 7919 % 10007), i % 97 / 7.0 from n;
create index by_name on item(name);
SQL
		for ((i = 0; i < 2000; i++)); do
			echo "select substr(name, 1, 7) as start, count(*), avg(price) from item group by start" \
				"order by 2 limit 9;"
		done
	} >"$work/queries.sql"
	# A class template in many sizes: some 100 000 call paths within half a minute.
	cat >"$work/large.cc" <<'CC'
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <vector>
template <int N> struct S {
	std::map<std::string, S<N - 1> *> m;
	std::vector<std::function<int(int)>> v;
	int f(int x)
	{
		std::regex r("a(b|c)*d");
		v.push_back([x](int y) { return x + y + N; });
		return (int)m.size() + v.back()(x) + std::regex_match("abcd", r) + S<N - 1>().f(x);
	}
};
template <> struct S<0> { int f(int) { return 0; } };
int main() { return S<2000>().f(1); }
CC
	g++ -E -std=c++17 "$work/large.cc" -o "$work/large.ii"
	compile -finstrument-functions -o "$work/wide" test/bench/wide.c -lpthread
}

# A fixed piece of work of some ten seconds.
piece_of()
{
	case $1 in
	python3) line=("$python" "$work/parse.py" 12) ;;
	sqlite3)
		have sqlite3 && head -n 64 "$work/queries.sql" >"$work/piece.sql" &&
			line=("$(command -v sqlite3)" :memory: ".read $work/piece.sql")
		;;
	*)
		sed 's/S<2000>/S<60>/' "$work/large.cc" >"$work/piece.cc"
		g++ -E -std=c++17 "$work/piece.cc" -o "$work/piece.ii" &&
			line=("$(g++ -print-prog-name=cc1plus)" -quiet -O1 -fpreprocessed "$work/piece.ii" -o /dev/null)
		;;
	esac
}

pays()
{
	local one

	for one in python3 sqlite3 cc1plus; do
		piece_of "$one" || continue
		printf '%-10s ' "$one"
		PYTHONMALLOC=malloc ask pays "$lib" "$rounds" "${line[@]}"
	done
}

command_of()
{
	case $1 in
	python3) line=("$python" "$work/parse.py" 1000000) ;;
	sqlite3) have sqlite3 && line=("$(command -v sqlite3)" :memory: ".read $work/queries.sql") ;;
	cc1plus) line=("$(g++ -print-prog-name=cc1plus)" -quiet -O1 -ftemplate-depth=3000 -fpreprocessed
		"$work/large.ii" -o /dev/null) ;;
	wide) line=("$work/wide" 60 $((6 * seconds + 240))) ;;
	*) false ;;
	esac
}

shares()
{
	local first one all memory

	first=$(ask first "$port" | cut -d ' ' -f 2)
	one=$(ask one "$port" "$seconds" functions_timing | sed -n 's/^server //p')
	all=$(ask routes "$port" "$seconds" | tee "$work/routes" | tail -n 1 | cut -d ' ' -f 2)
	memory=$(ask memory "$port" | cut -d ' ' -f 2)
	printf '%-10s %6s %8s %8s' "$1" "$first" "$one" "$all"
	awk -v memory="$memory" 'NF == 2 { next } { if ($3 > worst) worst = $3 }
		END { printf " %9.1f %9s\n", worst, memory }' "$work/routes"
	[ -z "$EACH" ] || ask each "$port" 5 | awk '{ printf "  %s: %s %%\n", $1, $2 }'
}

sources
if [ "$1" = pays ]; then
	pays
	exit
fi
printf '%-10s %6s %8s %8s %9s %9s\n' program 'first' 'one,%' 'all,%' 'worst,ms' 'memory,MB'
for name in "${@:-python3 sqlite3 cc1plus wide}"; do
	for one in $name; do
		command_of "$one" || continue
		start "live figures" "${line[@]}"
		sleep 5
		shares "$one"
		if [ "$one" = wide ]; then
			ask alone "$port" | awk '{ printf "  %s, not asked for lately: %s ms, CPU %s ms\n", $1, $2, $3 }'
			ask storm "$port" "$seconds" 200 | sed -n 's/^storm/  200 a second: median, p99, worst ms, rate:/p'
		fi
		stop
	done
done
[ $# -ne 0 ] || pays
