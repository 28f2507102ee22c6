#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""live.py - the cost of a program's server of live figures, and how fast it answers.

    live.py first PORT [ROUTE]          ms from the first request to its answer: the server starts
    live.py routes PORT SECONDS         each route once a second: ms of each, and the server's share of a core
    live.py one PORT SECONDS ROUTE      the same of one route
    live.py each PORT SECONDS           the server's share of a core for each route alone, once a second
    live.py alone PORT                  ms of each route's answer to a new client, and ms of
                                        CPU time that the server took for it
    live.py memory PORT                 MB that the server has of its own, without the segment and files
    live.py storm PORT SECONDS RATE     RATE requests a second over eight connections: median, p99, worst
    live.py pays LIBRARY ROUNDS COMMAND...
                                        CPU seconds, user and system, of the command alone and with each route
                                        asked for once a second, in turns, least of each; percent that it pays

Prints lines "NAME VALUE...".  Times are ms; a share is percent of one core.
"""
import glob
import http.client
import os
import subprocess
import sys
import threading
import time

STORM = 8  # connections
FORGOTTEN = 3  # seconds after which nothing is prepared for a client
MORE = ["overview", "flame", "timeline"]  # of the page
EACH = [
    "functions_timing", "functions_alloc", "functions_cpu", "threads", "channels", "mutexes", "rw_locks",
    "conds", "sems", "barriers", "waits", "waiting", "lock_order", "calltree", "alloc_sites", "leaks",
    "offcpu", "streams", "futures", "sql", "http", "server", "io", "debug", "profiler_status", "metrics",
]


def server_of(port):
    """The pid of the hotpath-live that listens there."""
    inode = None
    with open("/proc/net/tcp") as lines:
        for line in lines:
            words = line.split()
            if words[1].endswith(":%04X" % port) and words[3] == "0A":
                inode = words[9]
    for link in glob.glob("/proc/[0-9]*/fd/*"):
        try:
            if os.readlink(link) != f"socket:[{inode}]":
                continue
            pid = int(link.split("/")[2])
            if "hotpath-live" in os.readlink(f"/proc/{pid}/exe"):
                return pid
        except OSError:
            pass
    sys.exit(f"live.py: nobody serves port {port}")


def cpu_of(pid):
    """Seconds of CPU that a process took."""
    with open(f"/proc/{pid}/schedstat") as file:
        whole = 0
        for task in glob.glob(f"/proc/{pid}/task/*/schedstat"):
            with open(task) as one:
                whole += int(one.read().split()[0])
        return max(whole, int(file.read().split()[0])) / 1e9


def ask(connection, route):
    """ms, and the size of the answer."""
    start = time.monotonic()
    connection.request("GET", "/" + route)
    answer = connection.getresponse()
    body = answer.read()
    if answer.status not in (200, 404):
        sys.exit(f"live.py: {route}: {answer.status}: {body[:200]!r}")
    return (time.monotonic() - start) * 1000, len(body)


def first(port, route="functions_timing"):
    ms, size = ask(http.client.HTTPConnection("127.0.0.1", port, timeout=60), route)
    print(f"first {ms:.0f} {size}")


def routes(port, seconds, each):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    took = {route: [] for route in each}
    for route in each:
        ask(connection, route)
    time.sleep(1)
    for route in each:
        ask(connection, route)
    pid = server_of(port)
    began, cpu = time.monotonic(), cpu_of(pid)
    for turn in range(seconds):
        for route in each:
            took[route].append(ask(connection, route))
        time.sleep(max(0, began + turn + 1 - time.monotonic()))
    share = 100 * (cpu_of(pid) - cpu) / (time.monotonic() - began)
    for route in each:
        times = sorted(ms for ms, _ in took[route])
        print(f"{route} {times[len(times) // 2]:.1f} {times[-1]:.1f} {took[route][-1][1]}")
    print(f"server {share:.2f}")


def share_of(pid, connection, seconds, each):
    """The server's share of a core while each of these is requested once a second; percent."""
    began, cpu = time.monotonic(), cpu_of(pid)
    for turn in range(seconds):
        for route in each:
            ask(connection, route)
        time.sleep(max(0, began + turn + 1 - time.monotonic()))
    return 100 * (cpu_of(pid) - cpu) / (time.monotonic() - began)


def each(port, seconds):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    ask(connection, EACH[0])
    pid = server_of(port)
    for route in EACH:
        share_of(pid, connection, 2, [route])
        _, size = ask(connection, route)
        print(f"{route} {share_of(pid, connection, seconds, [route]):.2f} {size}", flush=True)


def alone(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    ask(connection, EACH[0])
    pid = server_of(port)
    for route in EACH + MORE:
        time.sleep(FORGOTTEN)
        cpu = cpu_of(pid)
        ms, size = ask(connection, route)
        print(f"{route} {ms:.1f} {1000 * (cpu_of(pid) - cpu):.1f} {size}", flush=True)


def memory(port):
    with open(f"/proc/{server_of(port)}/status") as lines:
        kb = next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))
    print(f"memory {kb / 1024:.0f}")


def storm(port, seconds, rate):
    took, lock = [], threading.Lock()
    begin = time.monotonic() + 0.1

    def run(number):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        turn, mine = number, []
        while turn < seconds * rate:
            due = begin + turn / rate
            time.sleep(max(0, due - time.monotonic()))
            ask(connection, EACH[turn % len(EACH)])
            mine.append((time.monotonic() - due) * 1000)
            turn += STORM
        with lock:
            took.extend(mine)

    threading.excepthook = lambda args: os._exit(print("live.py:", args.exc_value, file=sys.stderr) or 1)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(STORM)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took.sort()
    pid = server_of(port)
    print(f"storm {took[len(took) // 2]:.1f} {took[int(len(took) * 0.99)]:.1f} {took[-1]:.1f} "
          f"{len(took) / seconds:.0f}")
    print(f"server-pid {pid}")


def run(library, command, is_asked):
    """CPU seconds of the command, user and system."""
    environment = dict(os.environ, LD_PRELOAD=library, HOTPATH_METRICS_PORT="0")
    program = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    is_over = threading.Event()

    def look(port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while not is_over.wait(1):
            try:
                for route in EACH:
                    ask(connection, route)
            except (OSError, http.client.HTTPException):
                return      # it has ended

    said = program.stderr.readline().decode()
    port = int(said.rstrip().rstrip("/").rsplit(":", 1)[1])
    thread = threading.Thread(target=look, args=(port,))
    if is_asked:
        thread.start()
    _, _, used = os.wait4(program.pid, 0)
    is_over.set()
    if is_asked:
        thread.join()
    return used.ru_utime + used.ru_stime


def pays(library, rounds, command):
    least = {}
    for _ in range(rounds):
        for is_asked in (False, True):
            took = run(library, command, is_asked)
            least[is_asked] = min(least.get(is_asked, took), took)
    print(f"pays {least[False]:.3f} {least[True]:.3f} {100 * (least[True] / least[False] - 1):+.2f} %")


def main():
    what = sys.argv[1]
    if what == "pays":
        pays(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
        return
    port = int(sys.argv[2])
    if what == "first":
        first(port, *sys.argv[3:4])
    elif what == "routes":
        routes(port, int(sys.argv[3]), EACH)
    elif what == "each":
        each(port, int(sys.argv[3]))
    elif what == "alone":
        alone(port)
    elif what == "memory":
        memory(port)
    elif what == "one":
        routes(port, int(sys.argv[3]), sys.argv[4:5])
    else:
        storm(port, int(sys.argv[3]), int(sys.argv[4]))


if __name__ == "__main__":
    main()
