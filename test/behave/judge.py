#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""judge.py COMMAND ... - sets a JSON report beside what really was.

  percentiles TRUTH REPORT PROGRAM NAME   percentiles of all durations of a function
  totals ALLOWED_PERCENT TRUTH REPORT PROGRAM    of functions that take 5 % of the time or more
  inside TRUTH REPORT PROGRAM             "IN ALL", rows of functions inside their interval
  stall REPORT CALLS                      10 ms stalls in a child are told once
  wait REPORT CALLS                       10 ms stalls of the function's own are told once
  parent NS ALLOWED_PERCENT REPORT...     the least total of parent() beside NS

TRUTH is what a library built with HP_TRUTH wrote (preload/truth.c): sums by address, and in
TRUTH.log the durations of all calls.  PROGRAM is linked without PIE, so that its symbols are its
addresses.  Prints what it compares and ends with 1 if something is too far off.
"""
import array
import json
import math
import subprocess
import sys

PERCENTILES = (50, 90, 95, 99, 99.9)


class Truth:
    """What was: by name, calls and sums in ns."""

    def __init__(self, path, program):
        self.path = path
        self.functions = {}
        by_address = {}
        with open(path) as file:
            for line in file:
                words = line.split()
                if words[0] == "tick_ns":
                    self.tick_ns = float(words[1])
                else:
                    by_address[int(words[1], 16)] = [int(word) for word in words[2:]]
        self.addresses = symbols(program)
        for name, address in self.addresses.items():
            if address in by_address:
                calls, total, self_ticks = by_address[address]
                self.functions[name] = (calls, total * self.tick_ns, self_ticks * self.tick_ns)

    def durations(self, name):
        """All durations of a function in ns, sorted."""
        log = array.array("Q")
        with open(self.path + ".log", "rb") as file:
            log.frombytes(file.read())
        address = self.addresses[name]
        return sorted(ticks * self.tick_ns for at, ticks in zip(log[::2], log[1::2]) if at == address)


def symbols(program):
    lines = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    words = [line.split() for line in lines.splitlines()]
    return {word[2]: int(word[0], 16) for word in words if len(word) == 3 and word[1] in "tT"}


class Report:
    def __init__(self, path):
        with open(path) as file:
            everything = json.load(file)
        self.grain_ns = everything["summary"]["clock_grain_ns"]
        self.rows = {row["name"]: row for row in everything["functions_timing"]["raw"]}


def verdict(is_good):
    return "ok" if is_good else "TOO FAR"


def percentiles(truth_path, report_path, program, name):
    """Within 1 % or the clock's grain; ranks as the report's: the value that so many reach."""
    truth, report = Truth(truth_path, program), Report(report_path)
    row, durations = report.rows[name], truth.durations(name)
    good = len(durations) == row["calls"]
    print(f"{name}: {row['calls']} calls, {len(durations)} logged, grain {report.grain_ns} ns")
    for p in PERCENTILES:
        was = durations[max(0, math.ceil(len(durations) * p / 100) - 1)]
        told = row[f"p{p}_ns"]
        near = abs(told - was) <= max(0.01 * was, report.grain_ns)
        good = good and near
        print(f"  P{p}: was {was:.1f} ns, told {told} ({100 * (told / was - 1):+.2f} %) {verdict(near)}")
    return good


def totals(allowed_percent, truth_path, report_path, program):
    """Within so many %, or half as many ns a call where a call takes less than 50 ns."""
    truth, report = Truth(truth_path, program), Report(report_path)
    whole = max(total for _, total, _ in truth.functions.values())
    good = True
    for name, (calls, was, _) in sorted(truth.functions.items(), key=lambda item: -item[1][1]):
        if was < 0.05 * whole:
            continue
        told = report.rows[name]["inclusive_ns"]
        short = was / calls < 50
        allowed = float(allowed_percent) * max(0.01 * was, 0.5 * calls if short else 0)
        near = abs(told - was) <= allowed
        good = good and near
        print(f"  {name}: {calls} calls of {was / calls:.1f} ns, total {was:.0f}, told {told}"
              f" ({100 * (told / was - 1):+.2f} %, {(told - was) / calls:+.2f} ns a call)"
              f" {verdict(near)}")
    return good


def inside(truth_path, report_path, program):
    """An interval may have no width, and the two sides measure the clock's rate at other moments."""
    truth, report = Truth(truth_path, program), Report(report_path)
    rows = [(name, was[1], report.rows[name]) for name, was in truth.functions.items()]
    hits = 0
    for name, was, row in rows:
        was = max(was, 0)  # what is short may seem less than nothing; nobody tells that
        slack = max(1, 1e-4 * was)
        hit = row["inclusive_low_ns"] - slack <= was <= row["inclusive_high_ns"] + slack
        hits += hit
        if not hit:
            print(f"  {name}: {was:.0f} is not in {row['inclusive_low_ns']}.."
                  f"{row['inclusive_high_ns']}", file=sys.stderr)
    print(hits, len(rows))
    return True


def stall(report_path, calls):
    """Sleeps take a little more than 10 ms; what rarely() does itself is some 50 ns."""
    report = Report(report_path)
    stalls = int(calls) // 100000
    stalled, rarely = report.rows["stalled"], report.rows["rarely"]
    share = stalled["inclusive_ns"] / (stalls * 10e6)
    own = rarely["self_ns"] or 0
    sum_ns = own + stalled["inclusive_ns"]
    print(f"  stalled: {stalled['calls']} calls, {share:.4f} of {stalls} x 10 ms")
    print(f"  rarely: total {rarely['inclusive_ns']}, own and stalls {sum_ns},"
          f" own {own / int(calls):.1f} ns a call")
    return (stalled["calls"] == stalls and abs(share - 1) <= 0.05
            and abs(rarely["inclusive_ns"] / sum_ns - 1) <= 0.05 and own / int(calls) < 100)


def wait(report_path, calls):
    """As stall, but all of it is the function's own time."""
    stalls = int(calls) // 100000
    row = Report(report_path).rows["waits"]
    own = (row["inclusive_ns"] - stalls * 10e6) / int(calls)
    print(f"  waits: total {row['inclusive_ns']} ({row['inclusive_low_ns']}.."
          f"{row['inclusive_high_ns']}), {stalls} x 10 ms and {own:.1f} ns a call")
    return 5 <= own <= 60  # one of ten lost is 10 ns a call; one multiplied is 310 ns


def parent(plain_ns, allowed_percent, *report_paths):
    row = min((Report(path).rows["parent"] for path in report_paths), key=lambda r: r["inclusive_ns"])
    told, calls = row["inclusive_ns"], Report(report_paths[0]).rows["child"]["calls"]
    was = float(plain_ns)
    off = 100 * (told / was - 1)
    near = abs(off) <= float(allowed_percent)
    print(f"  parent of {calls} calls: {was / calls:.2f} ns a call uninstrumented, told"
          f" {told / calls:.2f} ({off:+.1f} %, allowed {allowed_percent}) {verdict(near)}")
    return near


COMMANDS = {command.__name__: command for command in (percentiles, totals, inside, stall, wait, parent)}

if __name__ == "__main__":
    sys.exit(not COMMANDS[sys.argv[1]](*sys.argv[2:]))
