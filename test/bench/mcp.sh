#!/bin/bash
# SPDX-License-Identifier: MIT
#
# mcp.sh [PROGRAM...] - how fast agents get answers: RATE=200 requests per second over
# eight connections for SECONDS_EACH=10, for tools/list and tools of each kind in turn
# (mcp.py).
#
#   wide       1 000 functions in 64 threads, then one thread that calls on
#   python3    some thousand call paths that allocate
#
# For each kind of request: median, p99 and worst ms, bytes of the answer; then the achieved rate
# and the server's share of a core, percent. The client runs on the same cores.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash && . test/bench/asked.bash || exit
cat >"$work/parse.py" <<'PY'
import json, random, time
random.seed(1)
rows = [{"id": i, "name": "n%d" % i, "v": [random.random() for _ in range(10)]} for i in range(2000)]
while True:
    json.loads(json.dumps(rows))
    time.sleep(0.02)
PY
for name in "${@:-wide python3}"; do
	for one in $name; do
		case $one in
		wide) compile -finstrument-functions -o "$work/wide" test/bench/wide.c -lpthread
			start MCP "$work/wide" 60 3600 ;;
		python3) start MCP "$python" "$work/parse.py" ;;
		*) echo "mcp.sh: there is no '$one'" >&2; exit 2 ;;
		esac
		sleep 5
		echo "$one"
		PYTHONDONTWRITEBYTECODE=1 $python test/bench/mcp.py "$port" "${SECONDS_EACH:-10}" "${RATE:-200}" |
			sed 's/^/  /' | column -t
		stop
	done
done
