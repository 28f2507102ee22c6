#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""looks.py - compares a server's refreshed answers with those of a server that reads for the first time.

    looks.py same HOTPATH ROUNDS PROGRAM...   rounds of programs/looks.c: at the end of each both agree
    looks.py age URL FILE SECONDS             no answer is older than a second, by the program's own counter
    looks.py full URL CONNECTIONS             so many connections that ask nothing: the next is refused at once

Whole numbers have to be equal, times to 1e-4: ticks become ns by a rate that each look measures anew.
"""
import atexit
import bisect
import json
import mmap
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

ROUTES = ["functions_timing?calls=1", "calltree", "functions_alloc", "alloc_callers", "alloc_sites", "leaks",
          "mutexes", "alloc_sizes", "alloc_lives", "metrics", "functions_cpu"]
# The sampler may write some more when the program has stopped; the path ends at a share of the elapsed time.
LATE = {"functions_cpu", "calltree"}
# Values that change while nothing happens, and shares of them; the order of paths of equal weight.
MOVING = {"id", "time_elapsed", "total_elapsed_ns", "current_elapsed_ns", "percent_total", "live_timeline",
          "frames", "location", "source", "tid", "ago", "included_count"}
# Times of main, which has not returned.
OPEN = re.compile(r"(total|avg|p\d+|self|inclusive)(_low|_high|_error)?(_ns)?$")


def get(url, path, timeout=60):
    try:
        with urllib.request.urlopen(f"{url}/{path}", timeout=timeout) as answer:
            body = answer.read()
    except urllib.error.HTTPError as error:
        if error.code != 404 or not path.startswith("functions_cpu"):
            raise
        body = error.read()     # this machine allows no samples
    return body.decode() if path.startswith("metrics") else json.loads(body)


def serve(hotpath, pid):
    process = subprocess.Popen([hotpath, "serve", str(pid), "--port", "0"], stdout=subprocess.PIPE, text=True)
    atexit.register(process.kill)
    return process, process.stdout.readline().strip().rstrip("/")


def differences(one, two, path=""):
    if isinstance(one, dict) and isinstance(two, dict):
        is_main = "::main" in str(one.get("name", ""))
        for key in one.keys() | two.keys():
            if key in MOVING or (is_main and OPEN.match(key)):
                continue
            yield from differences(one.get(key), two.get(key), f"{path}/{key}")
    elif isinstance(one, list) and isinstance(two, list):
        if len(one) != len(two):
            yield path, len(one), len(two)
        for i, pair in enumerate(zip(one, two)):
            yield from differences(*pair, f"{path}[{i}]")
    elif isinstance(one, (int, float)) and isinstance(two, (int, float)):
        if abs(one - two) > (1e-4 * abs(one) + 1 if re.search(r"ns$|ns\]?\[|start|calls\[", path) else 0):
            yield path, one, two
    elif one != two and not is_time(one, two) and not is_metric(one, two):
        yield path, one, two


def is_time(one, two):
    """Texts of times may be rounded in two ways."""
    a, b = (re.fullmatch(r"~?([\d.]+) (ns|µs|ms|s)", str(text)) for text in (one, two))
    return a and b and a[2] == b[2] and abs(float(a[1]) - float(b[1])) <= 0.011


def is_metric(one, two):
    """Seconds, to the nanosecond: a later refresh knows the clock's rate better."""
    a, b = (re.fullmatch(r"(\w+_seconds\w*\{.*\}) (\S+)", str(text)) for text in (one, two))
    return a and b and a[1] == b[1] and abs(float(a[2]) - float(b[2])) <= 1e-9


def settled(answer):
    """Rows in an order that does not depend on the last digit of their weight."""
    if isinstance(answer, str):
        return sorted(line for line in answer.splitlines()
                      if re.match(r"hotpath_(function_calls|function_alloc|mutex_acquisitions|channel)", line))
    for key in ("data", "raw"):
        if isinstance(answer.get(key), list):
            for row in answer[key]:     # lines appear once they are found
                row["name"] = re.sub(r" \S+:\d+", "", str(row.get("name")))
            answer[key].sort(key=lambda row: (str(row.get("name")), row.get("calls", 0), row.get("count", 0)))
    answer.pop("tree", None)
    for row in answer.get("raw", []) + answer.get("data", []):
        for key in "slowest_calls", "last_calls":   # equal ones may be in any order
            if key in row:
                row[key] = sorted(call.get("ns", call.get("bytes")) for call in row[key])
    return answer


def sampled(answer):
    """The current samples of an answer about samples."""
    return answer.get("now", answer) if isinstance(answer, dict) else answer


def named(url, route):
    """The answer to a new request, so from a refresh after this moment, with all names."""
    for turn in range(1000):
        answer = sampled(get(url, f"{route}{'&' if '?' in route else '?'}turn={turn}-{time.monotonic()}"))
        if isinstance(answer, str) or not answer.get("names_pending"):
            return answer
        time.sleep(0.05)
    raise AssertionError(f"{route}: names do not come")


def elapsed(url):
    return get(url, "overview")["elapsed_ns"]


def same(hotpath, rounds, program):
    run = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(run.kill)
    assert run.stdout.readline() == "up\n"
    first, url = serve(hotpath, run.pid)
    compared = 0
    for turn in range(rounds):
        for route in ROUTES:    # at least one refresh before the round, and some while it runs
            get(url, route)
        run.stdin.write("go\n")
        run.stdin.flush()
        for route in ROUTES:
            get(url, route)
        assert run.stdout.readline() == "done\n"
        fresh, other = serve(hotpath, run.pid)
        now = elapsed(other)
        while elapsed(url) <= now:
            time.sleep(0.02)
        for route in ROUTES:
            if turn % 3 and route in ("functions_timing?calls=1", "metrics"):
                continue    # histograms that are not requested at each refresh
            for _ in range(50 if route in LATE else 1):
                shown, wanted = (settled(named(address, route)) for address in (url, other))
                found = [text for _, text in zip(range(9), differences(shown, wanted))]
                if not found:
                    break
            assert not found, (turn, route, found)
            compared += 1
        fresh.terminate()
        fresh.wait()
    calls = {row["name"]: row["calls"] for row in get(url, "functions_timing")["raw"]}
    run.stdin.close()
    run.wait()
    first.terminate()
    first.wait()
    print(f"same {compared} {calls['twig']}")


def age(url, path, seconds):
    with open(path, "rb") as file:
        counter = mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ)
    read = lambda: struct.unpack("Q", counter[:8])[0]
    times, counts = [time.monotonic()], [read()]
    is_over = threading.Event()

    def watch():
        while not is_over.wait(0.002):
            count = read()
            counts.append(count)    # too early: the report must not have more than happened
            times.append(time.monotonic())

    thread = threading.Thread(target=watch)
    thread.start()
    end, asked, worst = time.monotonic() + seconds, 0, 0.0
    while time.monotonic() < end:
        start = time.monotonic()
        rows = get(url, "functions_timing")["raw"]
        said = next((row["calls"] for row in rows if row["name"] == "tick"), 0)
        least = counts[max(0, bisect.bisect_right(times, start - 1) - 1)] if times[0] <= start - 1 else 0
        assert said >= least, f"{said} calls are told, {least} had ended a second before"
        assert said <= read() + 1, f"{said} calls are told of {read()}"
        worst = max(worst, start - times[max(0, bisect.bisect_right(counts, said) - 1)])
        asked += 1
        time.sleep((asked % 7) * 0.05)
    is_over.set()
    thread.join()
    print(f"age {asked} {worst:.2f}")


def full(url, count):
    address = re.match(r"http://([\d.]+):(\d+)", url).groups()
    address = (address[0], int(address[1]))
    held, refused = [], 0
    for _ in range(count):
        try:
            held.append(socket.create_connection(address, timeout=20))
        except OSError:
            refused += 1
    # New clients learn that at once, by an answer or by the end of the connection; none waits.
    start, said = time.monotonic(), "closed"
    try:
        get(url, "profiler_status", timeout=20)
        said = "200"
    except urllib.error.HTTPError as error:
        said = str(error.code)
        assert error.code == 503 and error.headers["Retry-After"], error
    except (ConnectionError, urllib.error.URLError) as error:
        assert "timed out" not in str(error), error
    took = time.monotonic() - start
    ended = 0
    for one in held:
        one.setblocking(False)
        try:
            ended += one.recv(1) == b""
        except BlockingIOError:
            pass
        except OSError:
            ended += 1
        one.close()
    end = time.monotonic() + 60
    while True:     # as soon as they are gone it answers again
        try:
            assert get(url, "profiler_status")["pid"]
            break
        except (OSError, urllib.error.URLError):
            assert time.monotonic() < end
            time.sleep(0.05)
    print(f"full {len(held)} {refused} {ended} {said} {took:.2f}")


if __name__ == "__main__":
    if sys.argv[1] == "same":
        same(sys.argv[2], int(sys.argv[3]), sys.argv[4:])
    elif sys.argv[1] == "age":
        age(sys.argv[2], sys.argv[3], float(sys.argv[4]))
    else:
        full(sys.argv[2], int(sys.argv[3]))
