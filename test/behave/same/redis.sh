# SPDX-License-Identifier: MIT
# redis.sh [benchmark] - a server that saves in the background, answers, and is shut down.
port=$((20000 + $$ % 20000))
redis-server --port $port --save '' --dir "$PWD" --loglevel warning --io-threads 2 \
	--unixsocket "$PWD/s" >log 2>&1 &
server=$!
ask() { redis-cli -s "$PWD/s" "$@"; }
# How often it is polled depends on the machine: these are ignored.
quietly() { (unset LD_PRELOAD; exec "$@"); }
asked() { quietly redis-cli -s "$PWD/s" "$@"; }
shortly() { quietly sleep 0.02; }
for _ in {1..500}; do [ "$(asked ping 2>/dev/null)" = PONG ] && break; shortly; done
if [ "$1" = benchmark ]; then
	redis-benchmark -s "$PWD/s" -n 5000 -c 20 -P 4 -q -t set,get,lpush,lrange_100 >rates
	grep -c 'requests per second' rates
	rm rates
fi
ask eval 'for i = 1, 5000 do redis.call("set", "k" .. i, i); redis.call("zadd", "z", i, i) end return redis.call("dbsize")' 0
ask zrange z 10 14
ask bgsave
for _ in {1..500}; do asked info persistence | quietly grep -q rdb_bgsave_in_progress:0 && break; shortly; done
ask info persistence | grep -a rdb_last_bgsave_status
ask bgrewriteaof
for _ in {1..500}; do asked info persistence | quietly grep -q aof_rewrite_in_progress:0 && break; shortly; done
ask memory doctor | head -c 30
ask debug sleep 0
ask save
ask shutdown nosave
wait $server
echo "status $?"
ls | grep -v -e '^log$'
rm -rf log s dump.rdb appendonlydir
