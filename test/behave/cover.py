#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cover.py PROGRAM LIBRARY RUNS CALLS - do the intervals contain the time of slow calls that were not timed?

Runs the shapes of programs/virtual.c that have such calls, RUNS times each, and sets the intervals of
functions, and of their caller's own time, beside the truth that the program prints.  Prints a row for
each shape and function: how many of 100 intervals hold, and how wide they are, as a share of the true
time.  Ends with 1 if fewer than 91 of 100 hold (85 if RUNS is so small that chance decides), if one is
wider than it may be, or if more than 5 % of the slow calls' time was spent on timing further calls.
"""
import json
import os
import subprocess
import sys
import tempfile

# For the slow function: a quarter more than an estimator without samples had in a simulation.
WIDEST = {"constant": 2.5, "random": 67.5, "few": 26.3, "last": 105, "thousandth": 32.5, "periodic": 90,
          "burst": 18.8, "alternating": 76.3, "both": 163.8, "caller": 163.8, "doubling": 43.8,
          "first": None, "drifting": None, "recursion": None, "p64": None, "p128": None, "p1000": None,
          "tens": None, "soon": None, "seldom": None, "jumps": 67.5, "outside": 67.5, "start": None}
SLOW = {"alternating": "other", "both": "other", "recursion": "deep", "seldom": "other", "jumps": "leaps"}
SHORT, SHORT_RUNS = "start", 20  # 1,000 calls, so that many runs take no time
READINGS_NS = 20  # of a timed call, on the program's clock
ENOUGH = 100  # number of runs from which shares are judged
FEW = 1.6  # factor by which a few runs may be wider


class Cover:
    def __init__(self):
        self.runs = self.held = 0
        self.width = 0.0

    def add(self, low, truth, high):
        self.runs += 1
        self.held += low <= truth <= high
        self.width += (high - low) / truth

    def held_percent(self):
        return 100 * self.held / self.runs

    def width_percent(self):
        return 100 * self.width / self.runs


def run(program, library, shape, calls, seed, path):
    """(truths by name, rows by name)"""
    # A noted context switch takes no time on this clock, and is charged with the gap's excess.
    environment = dict(os.environ, HOTPATH_REPORT="functions-timing", HOTPATH_OUTPUT_FORMAT="json",
                       HOTPATH_OUTPUT_PATH=path, HOTPATH_FUNCTIONS_LIMIT="0", HOTPATH_LOGS_LIMIT="0",
                       HOTPATH_CPU="off", LD_PRELOAD=library, GLIBC_TUNABLES="glibc.pthread.rseq=0")
    said = subprocess.run([program, shape, calls, str(seed)], env=environment, check=True,
                          capture_output=True, text=True).stdout
    truths = {words[1]: [int(word) for word in words[2:]]
              for words in map(str.split, said.splitlines()) if words[0] == "truth"}
    with open(path) as file:
        rows = json.load(file)["functions_timing"]["raw"]
    return truths, {row["name"]: row for row in rows}


def cover(program, library, shape, calls, runs, path):
    """Coverage by quantity; timed calls, and time of all calls, both means."""
    covers, timed, whole = {}, 0, 0
    for seed in range(1, runs + 1):
        truths, rows = run(program, library, shape, calls, seed, path)
        for name, (_, total, own) in truths.items():
            row = rows[name]
            if name == "callers":
                covers.setdefault("caller's own", Cover()).add(row["self_low_ns"], own, row["self_high_ns"])
                whole += total / runs
            else:
                covers.setdefault(name, Cover()).add(row["inclusive_low_ns"], total,
                                                     row["inclusive_high_ns"])
                timed += row["sampled_calls"] / runs
    return covers, timed, whole


def main():
    program, library, runs, calls = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    held = asked = wrong = 0
    usual, failed = None, False
    with tempfile.TemporaryDirectory() as folder:
        for shape, widest in WIDEST.items():
            times = max(runs, SHORT_RUNS) if shape == SHORT else runs
            covers, timed, whole = cover(program, library, shape, calls, times, folder + "/report")
            usual = usual or (timed, whole)
            slow = covers[SLOW.get(shape, "quick")]
            for name, of in covers.items():
                print(f"{shape:12} {name:14} {of.held_percent():5.1f} % hold, width {of.width_percent():6.1f} %")
                held, asked = held + of.held, asked + of.runs
                wrong += runs >= ENOUGH and of.held_percent() < 91
                failed |= shape == SHORT and of.held_percent() < 85
            if widest and slow.width_percent() > widest * (1 if runs >= ENOUGH else FEW):
                print(f"{shape}: wider than {widest} %")
                wrong += 1
            excess, extra = whole - usual[1], (timed - usual[0]) * READINGS_NS
            if shape not in ("recursion", "tens", "drifting", "seldom", "outside", SHORT) and extra > 0.05 * excess + 0.02 * usual[1]:
                print(f"{shape}: {extra:.0f} ns for further timed calls, of an excess of {excess:.0f} ns")
                wrong += 1
    print(f"{held} of {asked} hold")
    # A single run of a shape depends on chance: then a quarter of them may be off.
    return failed or wrong > (0 if runs >= ENOUGH else len(WIDEST) // 4) or held < 0.85 * asked


if __name__ == "__main__":
    sys.exit(main())
