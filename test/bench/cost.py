#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cost.py [PAIRS [PROGRAM...]] - is the stated cost of profiling what it costs?

Runs each program in turns with and without the library, PAIRS times (20), and sets the difference of CPU
time, with its 95 % interval (Student's t, of the pairs), beside the interval that the reports state.
Prints a row for each program: both, and in how many reports they overlap.

PROGRAMS is a folder with lua5.4.instrumented and sqlite3.instrumented (test/bench/programs.sh makes it);
lua, sqlite3, python3 and redis-server are the machine's.  Programs that are missing are left out.
"""
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("HP_BUILD", os.path.join(HERE, "..", "..", "build"))
PROGRAMS = os.environ.get("PROGRAMS", os.path.join(BUILD, "bench", "programs"))
T95 = {9: 2.26, 19: 2.09, 29: 2.05}

SQL = """create table item(id integer primary key, name text, price real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows})
insert into item select i, 'item ' || (i * 7919 % 10007), i % 97 / 7.0 from n;
create index by_name on item(name);
select count(*), sum(price), max(name) from item where name between 'item 2' and 'item 5';
select substr(name, 1, 7) as start, count(*), avg(price) from item group by start order by 2 limit 9;
update item set price = price * 2 where id % 3 = 0;
select name, price from item order by price desc, name limit 5;
"""
PYTHON = """
words = {}
for i in range(2000000):
    key = "w" + str(i * 7919 % 10007)
    words[key] = words.get(key, 0) + len([i, key, (i, key)])
print(sum(words.values()), sorted(words)[:3])
"""


def commands():
    demo = os.path.join(HERE, "..", "examples", "demo.lua")
    return {
        "lua": [f"{PROGRAMS}/lua5.4.instrumented", demo, "12"],
        "lua-plain": ["lua5.4", demo, "30"],
        "sqlite3": [f"{PROGRAMS}/sqlite3.instrumented", "-batch", ":memory:", SQL.format(rows=200000)],
        "sqlite3-plain": ["sqlite3", "-batch", ":memory:", SQL.format(rows=300000)],
        "python3": ["/usr/bin/python3", "-c", PYTHON],
        "redis": ["redis-server", "--port", "0", "--save", ""],
    }


def ask_redis(place):
    """Once the server answers, the same requests each time."""
    while subprocess.run(["redis-cli", "-s", place, "ping"], capture_output=True).stdout != b"PONG\n":
        time.sleep(0.01)
    subprocess.run(["redis-benchmark", "-s", place, "-n", "20000", "-c", "4", "-q", "-t", "set,get,lpush,hset"],
                   stdout=subprocess.DEVNULL, check=True)
    subprocess.run(["redis-cli", "-s", place, "shutdown", "nosave"], capture_output=True)


def run(name, command, folder, is_profiled):
    """CPU time, ns, and what the report says of the cost."""
    report = folder + "/report"
    environ = dict(os.environ)
    if is_profiled:
        environ.update(LD_PRELOAD=f"{BUILD}/libhotpath.so", HOTPATH_OUTPUT_FORMAT="json", HOTPATH_OUTPUT_PATH=report,
                       HOTPATH_KEEP="0")
    if name == "redis":
        command = command + ["--unixsocket", folder + "/socket", "--dir", folder]
    program = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    if name == "redis":
        ask_redis(folder + "/socket")
    _, status, usage = os.wait4(program.pid, 0)
    program.returncode = status
    if status:
        sys.exit(f"{name}: ended with {status}")
    cpu_ns = (usage.ru_utime + usage.ru_stime) * 1e9
    if not is_profiled:
        return cpu_ns, None
    with open(report) as file:
        return cpu_ns, json.load(file)["summary"]


def stated(summary):
    low = summary.get("profiling_cost_low_ns")
    if low is not None:
        return low, summary["profiling_cost_high_ns"]
    error = summary.get("profiling_cost_error_ns", 0)
    return summary["profiling_cost_ns"] - error, summary["profiling_cost_ns"] + error


def measure(name, command, pairs):
    differences, intervals, without = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(pairs):
            order = [True, False]
            random.shuffle(order)
            times = {}
            for is_profiled in order:
                times[is_profiled], summary = run(name, command, folder, is_profiled)
                if summary:
                    intervals.append(stated(summary))
            without.append(times[False])
            differences.append(times[True] - times[False])
    mean = statistics.mean(differences)
    half = T95.get(pairs - 1, 2.0) * statistics.stdev(differences) / math.sqrt(pairs)
    low, high = (statistics.mean(side) for side in zip(*intervals))
    met = sum(l <= mean + half and h >= mean - half for l, h in intervals)
    print(f"{name:14} {statistics.median(without) / 1e6:8.0f} ms  measured {(mean - half) / 1e6:7.1f} to "
          f"{(mean + half) / 1e6:7.1f}  stated {low / 1e6:7.1f} to {high / 1e6:7.1f}  overlap {met}/{pairs}", flush=True)


def main():
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    for name, command in commands().items():
        if (not sys.argv[2:] or name in sys.argv[2:]) and shutil.which(command[0]):
            measure(name, command, pairs)


if __name__ == "__main__":
    main()
