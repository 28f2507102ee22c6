#!/bin/bash
# SPDX-License-Identifier: MIT
#
# waits_programs.sh [PROGRAM...] - the cost of recording locks, channels, waits and event loops for
# programs with several threads or processes, and the results.
#
#   none      without the library
#   async     the sections of event loops, pools, streams, futures and values, and no others
#   waits     the sections of locks and channels, and no others
# default   with the sections recorded by default
#
# sqlite (four connections in one process), glib (GThreadPool, GAsyncQueue), python (threads, a queue, a
# lock): processor time; redis (io-threads), nginx (one worker), node (http), memcached (two workers),
# postgres (pgbench, read only): µs
# per request, measured by the client. Alternating, ROUNDS (5) of each: the minimum, and on a second
# line the medians with the quartiles of the runs without the library, which show the variation of
# such runs. LOOK=DIR keeps a report of each there.
# Budgets: waits 1.03 x none; redis and nginx by default 1.05 x none, which is 0.95 of their throughput.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
work=$(mktemp -d /tmp/waits.XXXXXX) || exit
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
sections=mutexes,rw_locks,conds,sems,barriers,file_locks,lock_order,waits,waiting,channels

async=tokio_runtime,streams,futures,debug
# with KIND COMMAND... - becomes the command.
with()
{
	export HOTPATH_OUTPUT_FORMAT=none
	case $1 in
	async) export LD_PRELOAD=$lib HOTPATH_REPORT=$async HOTPATH_CPU=off ;;
	waits) export LD_PRELOAD=$lib HOTPATH_REPORT=$sections ;;
	default) export LD_PRELOAD=$lib ;;
	look) export LD_PRELOAD=$lib HOTPATH_REPORT=$sections,thread-states HOTPATH_OUTPUT_FORMAT=table \
		HOTPATH_OUTPUT_PATH=$look HOTPATH_LIMIT=12 ;;
	esac
	shift
	exec "$@"
}

until_it_answers()
{
	for _ in {1..500}; do
		"$@" >/dev/null 2>&1 && return
		sleep 0.02
	done
}

python='
import queue, threading, time
jobs, lock, total = queue.Queue(50), threading.Lock(), 0
def work():
    global total
    while True:
        job = jobs.get()
        if job is None:
            return
        n = sum(i * i for i in range(job % 100 + 50))
        with lock:
            total += n
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads:
    t.start()
for i in range(30000):
    jobs.put(i)
for t in threads:
    jobs.put(None)
for t in threads:
    t.join()
print("%.3f" % time.process_time())
'

redis()
{
	local pid

	(with "$1" redis-server --port 0 --unixsocket "$work/redis" --save '' --dir "$work" --io-threads 3 \
		--io-threads-do-reads yes) >/dev/null 2>&1 &
	pid=$!
	until_it_answers redis-cli -s "$work/redis" ping
	redis-benchmark -s "$work/redis" -n "${REQUESTS:-20000}" -c 20 -P 4 -t set,get --csv 2>/dev/null |
		awk -F '"' '$4 + 0 { us += 1e6 / $4; n++ } END { if (n) printf "%.3f", us / n }'
	redis-cli -s "$work/redis" shutdown nosave >/dev/null 2>&1
	wait $pid 2>/dev/null
}

nginx()
{
	local pid

	(with "$1" /usr/sbin/nginx -p "$work" -c "$work/conf") >/dev/null 2>&1 &
	pid=$!
	until_it_answers curl -sf "http://127.0.0.1:$port/f"
	ab -q -k -c 16 -n "${REQUESTS:-20000}" "http://127.0.0.1:$port/f" 2>/dev/null |
		awk '/^Requests per second/ { printf "%.3f", 1e6 / $4 }'
	kill -QUIT $pid
	wait $pid 2>/dev/null
}

node_server='require("http").createServer((q, a) => a.end("some text\n")).listen(+process.argv[1], "127.0.0.1")'

node()
{
	local pid node_port=$((20000 + $$ % 20000))

	(with "$1" node -e "$node_server" "$node_port") >/dev/null 2>&1 &
	pid=$!
	until_it_answers curl -sf "http://127.0.0.1:$node_port/"
	ab -q -k -c 16 -n "${REQUESTS:-20000}" "http://127.0.0.1:$node_port/" 2>/dev/null |
		awk '/^Requests per second/ { printf "%.3f", 1e6 / $4 }'
	kill $pid
	wait $pid 2>/dev/null
}

memcached()
{
	local pid

	(with "$1" memcached -u "$(id -un)" -t 2 -s "$work/memcached") >/dev/null 2>&1 &
	pid=$!
	until_it_answers "$out/waits_memcached" "$work/memcached" 16
	"$out/waits_memcached" "$work/memcached" "${REQUESTS:-200000}"
	kill $pid
	wait $pid 2>/dev/null
}

# Its server refuses to be root.
as_postgres=()
[ "$(id -u)" != 0 ] || as_postgres=(setpriv --reuid=postgres --regid=postgres --clear-groups)

prepare_postgres()
{
	postgres_bin=$(dirname "$(readlink -f "$(command -v postgres)")")
	mkdir "$work/pg"
	[ "$(id -u)" != 0 ] || chown postgres: "$work/pg"
	"${as_postgres[@]}" "$postgres_bin/initdb" -D "$work/pg/data" -A trust -N >/dev/null 2>&1 || return
	served none pgbench -q -i -s 2
}

# served KIND CLIENT... - the server, while the client runs.
served()
{
	local pid

	(with "$1" "${as_postgres[@]}" "$postgres_bin/postgres" -D "$work/pg/data" -k "$work/pg" -c listen_addresses= \
		-c shared_buffers=64MB) >/dev/null 2>&1 &
	pid=$!
	shift
	until_it_answers "${as_postgres[@]}" "$postgres_bin/pg_isready" -h "$work/pg"
	"${as_postgres[@]}" "$@" -h "$work/pg" postgres 2>/dev/null
	"${as_postgres[@]}" "$postgres_bin/pg_ctl" -D "$work/pg/data" -m fast -w stop >/dev/null 2>&1
	wait $pid 2>/dev/null
}

# Its figure, which is also kept for the medians.
once()
{
	run "$1" | tee -a "$work/$1.all"
}

run()
{
	local kind=${1#*.}

	case $1 in
	sqlite.*) (with "$kind" "$out/waits_sqlite" 4 10000) 2>/dev/null ;;
	glib.*) (with "$kind" "$out/waits_glib" 60000) 2>/dev/null ;;
	python.*) (with "$kind" /usr/bin/python3 -c "$python") 2>/dev/null ;;
	redis.*) redis "$kind" ;;
	nginx.*) nginx "$kind" ;;
	node.*) node "$kind" ;;
	memcached.*) memcached "$kind" ;;
	postgres.*)
		served "$kind" pgbench -n -S -c 4 -j 2 -T "${SECONDS_EACH:-3}" |
			awk '/^tps = / { printf "%.3f", 1e6 / $3 }'
		;;
	esac
}

# median PROGRAM KIND... - medians, and the first kind's quartiles relative to its median.
median()
{
	local name=$1 none kind

	for kind in "${@:2}"; do
		grep -oE '[0-9]+\.[0-9]{3}' "$work/$name.$kind.all" >"$work/$name.$kind.list"
	done
	none=$work/$name.none.list
	printf '%-10s%9.2f %-3s%10s x%10s x%10s x   [%s, %s]\n' '  median' "$(quantile "$none" 1 0.5)" '' \
		"$(reckon "$(quantile "$work/$name.async.list" 1 0.5) / $(quantile "$none" 1 0.5)" %.3f)" \
		"$(reckon "$(quantile "$work/$name.waits.list" 1 0.5) / $(quantile "$none" 1 0.5)" %.3f)" \
		"$(reckon "$(quantile "$work/$name.default.list" 1 0.5) / $(quantile "$none" 1 0.5)" %.3f)" \
		"$(reckon "$(quantile "$none" 1 0.25) / $(quantile "$none" 1 0.5)" %.3f)" \
		"$(reckon "$(quantile "$none" 1 0.75) / $(quantile "$none" 1 0.5)" %.3f)"
}

# row PROGRAM UNIT - if it exists.
row()
{
	local name=$1

	turns "${ROUNDS:-5}" "$name.none" "$name.async" "$name.waits" "$name.default"
	[ -n "${least[$name.none]}" ] || { echo "skipped: $name"; return; }
	printf '%-10s%9.2f %-3s%10s x%10s x%10s x\n' "$name" "${least[$name.none]}" "$2" \
		"$(reckon "${least[$name.async]} / ${least[$name.none]}" %.3f)" \
		"$(reckon "${least[$name.waits]} / ${least[$name.none]}" %.3f)" \
		"$(reckon "${least[$name.default]} / ${least[$name.none]}" %.3f)"
	median "$name" none async waits default
	[ -z "$LOOK" ] || { look=$LOOK/$name.txt; once "$name.look" >/dev/null; }
}

printf '%-10s%13s%12s%12s%12s\n' program none async waits default
for program in "${@:-sqlite glib python redis nginx node memcached postgres}"; do
	for name in $program; do
		case $name in
		sqlite) compile -o "$out/waits_sqlite" test/bench/waits_sqlite.c -lsqlite3 -lpthread && row sqlite s ;;
		glib)
			# shellcheck disable=SC2046
			compile -o "$out/waits_glib" test/bench/waits_glib.c $(pkg-config --cflags --libs glib-2.0) &&
				row glib s
			;;
		python) have /usr/bin/python3 && row python s ;;
		redis) have redis-server && have redis-benchmark && row redis µs ;;
		nginx) have /usr/sbin/nginx && have ab && have curl && prepare_nginx && row nginx µs ;;
		node) have node && have ab && have curl && row node µs ;;
		memcached)
			have memcached && compile -o "$out/waits_memcached" test/bench/waits_memcached.c && row memcached µs
			;;
		postgres) have postgres && have pgbench && prepare_postgres && row postgres µs ;;
		*) echo "waits_programs.sh: no program '$name': sqlite, glib, python, redis, nginx, node, memcached, postgres" >&2; exit 2 ;;
		esac
	done
done
