#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mcp.py - how fast a program's server answers agents.

    mcp.py PORT SECONDS RATE    RATE requests a second over eight connections, by turns of EACH

Prints "NAME MEDIAN P99 WORST BYTES" in ms for each kind of request and for all, then the rate that was kept
and the server's share of a core, percent.  Times are from when a request was due.
"""
import http.client
import json
import os
import sys
import threading
import time

from live import STORM, cpu_of, server_of

EACH = [
    ("tools/list", {}),
    ("tools/call", {"name": "profiler_status"}),
    ("tools/call", {"name": "hot_path"}),
    ("tools/call", {"name": "functions_timing"}),
    ("tools/call", {"name": "functions_cpu"}),
    ("tools/call", {"name": "functions_alloc", "arguments": {"limit": 50}}),
    ("tools/call", {"name": "top_allocation_sites"}),
    ("tools/call", {"name": "threads"}),
    ("tools/call", {"name": "who_waits_for_whom"}),
    ("tools/call", {"name": "explain", "arguments": {"topic": "functions_timing"}}),
]


def ask(connection, turn):
    """The size of the answer."""
    method, params = EACH[turn % len(EACH)]
    connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "id": turn, "method": method, "params": params}),
                       {"Content-Type": "application/json", "Accept": "application/json"})
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200 or b'"result"' not in body:
        sys.exit(f"mcp.py: {method} {params}: {answer.status}: {body[:200]!r}")
    return len(body)


def told(name, times, size):
    times.sort()
    print(f"{name} {times[len(times) // 2]:.1f} {times[int(len(times) * 0.99)]:.1f} {times[-1]:.1f} {size}")


def main():
    port, seconds, rate = (int(word) for word in sys.argv[1:4])
    took, sizes, lock = {}, {}, threading.Lock()
    warm = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for turn in range(2 * len(EACH)):
        ask(warm, turn)
    pid = server_of(port)
    begin, cpu = time.monotonic() + 0.1, cpu_of(pid)

    def run(number):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for turn in range(number, seconds * rate, STORM):
            due = begin + turn / rate
            time.sleep(max(0, due - time.monotonic()))
            size = ask(connection, turn)
            ms = (time.monotonic() - due) * 1000
            with lock:
                took.setdefault(turn % len(EACH), []).append(ms)
                sizes[turn % len(EACH)] = size

    threading.excepthook = lambda args: os._exit(print("mcp.py:", args.exc_value, file=sys.stderr) or 1)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(STORM)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = time.monotonic() - begin
    share = 100 * (cpu_of(pid) - cpu) / spent
    for number, (method, params) in enumerate(EACH):
        told(params.get("name", method), took[number], sizes[number])
    told("all", sum(took.values(), []), sum(sizes.values()) // len(sizes))
    print(f"rate {seconds * rate / spent:.0f} server {share:.1f}")


if __name__ == "__main__":
    main()
