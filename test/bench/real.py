#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""real.py [RUNS [SHAPE...]] - do the intervals hold times of slow calls on the real clock?

Runs each shape of real.c RUNS times (30) with the library at real-time priority, in turns with RUNS / 3 runs whose hooks do nothing.
The truth is the program's own: how long its slow calls spun in that run, and the range of the time that the
others took in the runs beside it.  How much of these is the caller's own is known from runs whose short calls
do nothing (an upper bound: calls and hooks are in them) and from runs without any (a lower one).  An interval
holds if it overlaps.  With SAMPLES=1 the CPU is sampled, too.  Prints, for each shape and function, how many hold, how wide they are,
and how far their middle is from the middle of the truth.
"""
import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("HP_BUILD", os.path.join(HERE, "..", "..", "build"))
SHAPES = ("constant random few last thousandth periodic burst alternating both caller doubling "
          "first drifting recursion p64 p128 p1000 tens").split()
SLOW = {"alternating": "other", "both": "other", "recursion": "deep"}
SHARED = {"alternating", "both"}  # two functions, each with half of the short calls
CALLS = 2000000
REPORT = "functions-timing" + (",functions-cpu" if os.environ.get("SAMPLES") else "")
NOTHING = "void __cyg_profile_func_enter(void *f, void *s) { (void)f, (void)s; }\n" \
          "void __cyg_profile_func_exit(void *f, void *s) { (void)f, (void)s; }\n"


def run(folder, shape, seed, library=None, *what):
    """(ns of the loop, ns of slow calls by function, rows of the report by name)"""
    calls = CALLS // (4 if shape == "recursion" else 1)
    environ = dict(os.environ, LD_PRELOAD=library or folder + "/nothing.so", HOTPATH_REPORT=REPORT,
                   HOTPATH_OUTPUT_FORMAT="json", HOTPATH_OUTPUT_PATH=folder + "/report", HOTPATH_KEEP="0",
                   HOTPATH_FUNCTIONS_LIMIT="0")
    said = subprocess.run(["chrt", "-R", "-f", "1", folder + "/real", shape, str(calls), str(seed), *what], env=environ, check=True,
                          capture_output=True, text=True).stdout
    loop, slow, rows = 0, {}, {}
    for words in map(str.split, said.splitlines()):
        if words[0] == "loop":
            loop = int(words[1])
        else:
            slow[words[1]] = int(words[2])
    if library:
        with open(folder + "/report") as file:
            rows = {row["name"].split("(")[0]: row for row in json.load(file)["functions_timing"]["raw"]}
    return loop, slow, rows


def fast(folder, shape, seed, *what):
    loop, slow, _ = run(folder, shape, seed, None, *what)
    return loop - sum(slow.values())


class Covered:
    def __init__(self):
        self.runs = self.held = 0
        self.widths = []
        self.beside = []
        self.missed = []

    def add(self, row, what, low, high):
        self.runs += 1
        stated = row[what + "_low_ns"], row[what + "_high_ns"]
        if stated[0] <= high and stated[1] >= low:
            self.held += 1
        else:
            self.missed.append([round(x / 1e6, 2) for x in (*stated, low, high)])
        self.widths.append((stated[1] - stated[0]) / max((low + high) / 2, 1))
        self.beside.append((sum(stated) - low - high) / 2 / CALLS)


def cover(folder, shape, runs):
    whole, rest, reports = [], [], []
    callers = []
    for i in range(runs):
        reports.append(run(folder, shape, i + 1, BUILD + "/libhotpath.so"))
        if i % 3 == 0:
            whole.append(fast(folder, shape, i + 1))
            rest.append(fast(folder, shape, i + 1, "EMPTY"))
            callers.append(fast(folder, shape, i + 1, "LOOP"))
    covered = collections.defaultdict(Covered)
    name = SLOW.get(shape, "quick")
    share = 0.5 if shape in SHARED else 1
    least = max(0, min(w - e for w, e in zip(whole, rest))) * share
    most = max(w - l for w, l in zip(whole, callers)) * share
    for _, slow, rows in reports:
        spun = sum(slow.values())
        covered[name].add(rows[name], "inclusive", slow[name] + least, slow[name] + most)
        covered["caller"].add(rows["callers"], "inclusive", spun + min(whole), spun + max(whole))
        covered["caller's own"].add(rows["callers"], "self", slow["callers"] + min(callers),
                                    slow["callers"] + max(rest))
    for of, c in covered.items():
        print(f"{shape:12} {of:13} {c.held:3} of {c.runs} hold, width {100 * statistics.median(c.widths):7.1f} %, "
              f"middle {statistics.median(c.beside):+5.1f} ns a call beside the truth", flush=True)
        if c.missed and os.environ.get("MISSED"):
            print("    ", c.missed)


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["gcc", "-O2", "-g", "-finstrument-functions", "-o", folder + "/real", HERE + "/real.c"], check=True)
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-x", "c", "-o", folder + "/nothing.so", "-"],
                       input=NOTHING, text=True, check=True)
        for shape in SHAPES:
            if not sys.argv[2:] or shape in sys.argv[2:]:
                cover(folder, shape, runs)


if __name__ == "__main__":
    main()
