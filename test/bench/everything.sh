#!/bin/bash
# SPDX-License-Identifier: MIT
#
# everything.sh - the cost of all recording for programs as installed.
#
#   none      without the library
# nothing   with a library that interposes the same functions and passes on at once: test/bench/nothing
#   off       with ours, told not to record
# default   with the sections recorded by default
#   all       HOTPATH_REPORT=all
#
# sqlite3, cc1plus, python3: processor time of the program, user and system, minimum of ROUNDS (5).
# redis, nginx: the minimum processor time of the server for the same requests, which bounds its
# throughput. All without printing a report. PROGRAMS="sqlite3 nginx" measures these only.
# Budgets (all relative to none): sqlite3 and cc1plus 1.20, redis and nginx 1.05, python3 1.40.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
work=$(mktemp -d /tmp/everything.XXXXXX) || exit
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

# with KIND COMMAND... - becomes the command.
with()
{
	export HOTPATH_OUTPUT_FORMAT=none
	case $1 in
	nothing) export LD_PRELOAD=$work/nothing.so ;;
	off) export LD_PRELOAD=$lib HOTPATH_SESSION=off ;;
	default) export LD_PRELOAD=$lib ;;
	all) export LD_PRELOAD=$lib HOTPATH_REPORT=all ;;
	esac
	shift
	exec "$@"
}

quietly()
{
	(with "$@") >/dev/null 2>&1
	:
}

# cpu KIND COMMAND... - seconds of user and system time.
cpu()
{
	local TIMEFORMAT='%3U %3S'

	{ time quietly "$@"; } 2>&1 | awk '{ printf "%.3f", $1 + $2 }'
}

# used PID - the same for a running process and its ended children, from its clock ticks.
used()
{
	awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) / hz }' "/proc/$1/stat"
}

queries()
{
	cat <<'SQL'
create table item(id integer primary key, name text, price real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000)
	insert into item select i, 'item ' || (i * 7919 % 10007), i % 97 / 7.0 from n;
create index by_name on item(name);
select count(*), sum(price), max(name) from item where name between 'item 2' and 'item 5';
select substr(name, 1, 7) as start, count(*), avg(price) from item group by start order by 2 limit 9;
select group_concat(upper(name)) from item where id % 3 = 0;
SQL
}

python='
import json
d = {str(i): [i, str(i) * 3, {"x": i}] for i in range(60000)}
for _ in range(3):
    s = json.dumps(d); d = json.loads(s)
class A:
    def __init__(self, n): self.n = [n]
print(sum(len(str(A(i).n)) for i in range(600000)), len(s))
'

until_it_answers()
{
	for _ in {1..500}; do
		"$@" >/dev/null 2>&1 && return
		sleep 0.02
	done
}

redis()
{
	local pid before

	(with "$1" redis-server --port 0 --unixsocket "$work/redis" --save '' --dir "$work") >/dev/null 2>&1 &
	pid=$!
	until_it_answers redis-cli -s "$work/redis" ping
	before=$(used $pid)
	redis-benchmark -s "$work/redis" -n 10000 -c 1 -P 1 -q -t set,get,lpush,hset >/dev/null 2>&1
	reckon "$(used $pid) - $before" %.3f
	redis-cli -s "$work/redis" shutdown nosave >/dev/null 2>&1
	wait $pid 2>/dev/null
}

nginx()
{
	local pid before

	(with "$1" /usr/sbin/nginx -p "$work" -c "$work/conf") >/dev/null 2>&1 &
	pid=$!
	until_it_answers curl -sf "http://127.0.0.1:$port/f"
	before=$(used $pid)
	ab -q -k -c 16 -n 60000 "http://127.0.0.1:$port/f" >/dev/null 2>&1
	reckon "$(used $pid) - $before" %.3f
	kill -QUIT $pid
	wait $pid 2>/dev/null
}

once()
{
	local kind=${1#*.}

	case $1 in
	sqlite3.*) cpu "$kind" sqlite3 :memory: ".read $work/queries" ;;
	cc1plus.*) cpu "$kind" "$(g++ -print-prog-name=cc1plus)" -quiet -O2 "$work/in.ii" -o /dev/null ;;
	python3.*) cpu "$kind" /usr/bin/python3 -c "$python" ;;
	redis.*) redis "$kind" ;;
	nginx.*) nginx "$kind" ;;
	esac
}

# row PROGRAM COMMAND... - if the commands exist.
row()
{
	local name=$1

	for command in "${@:2}"; do
		have "$command" || return
	done
	[ -z "$PROGRAMS" ] || [[ " $PROGRAMS " == *" $name "* ]] || return
	# shellcheck disable=SC2086
	turns "${ROUNDS:-5}" $(printf "$name.%s " none $kinds)
	printf '%-10s%9.2f s' "$name" "${least[$name.none]}"
	for kind in $kinds; do
		printf '%10s x' "$(ratio "$name.$kind" "$name.none")"
	done
	echo
}

queries >"$work/queries"
printf '#include <map>\n#include <regex>\n#include <string>\n#include <algorithm>\n#include <vector>\n%s\n' \
	'int f(std::map<std::string, std::vector<int>> &m) { std::sort(m["a"].begin(), m["a"].end()); return std::regex_match("x", std::regex("x*")); }' |
	g++ -E -x c++ - >"$work/in.ii"
prepare_nginx
kinds="nothing off default all"
test/bench/nothing "$lib" "$work/nothing.so" || kinds="off default all"
printf '%-10s%11s' program none
# shellcheck disable=SC2086
printf '%12s' $kinds
echo
row sqlite3 sqlite3
row cc1plus g++
row python3 /usr/bin/python3
row redis redis-server redis-benchmark
row nginx /usr/sbin/nginx ab curl
