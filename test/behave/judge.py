#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""judge.py COMMAND ... - compares a JSON report with the truth.

  percentiles TRUTH REPORT PROGRAM NAME   percentiles of all durations of a function
  scale TRUTH REPORT PROGRAM SAID         totals of functions that take 5 % of the time or more are of
                                          the right order
  inside TRUTH REPORT PROGRAM             "IN ALL", rows of functions inside their interval
  stall REPORT SAID CALLS                 stalls in a child are told once
  wait REPORT SAID CALLS                  stalls of the function's own are told once
  parent NS ALLOWED_PERCENT REPORT...     the least total of parent() beside NS
  cost NS SAID REPORT                     most of what the hooks cost is not in parent()'s total
  known ALLOWED_PERCENT SAID REPORT       times of all functions, on a clock that the program made
  sampled REPORT MOST_PERCENT             at most this share of all calls was timed
  intervals SAID REPORT                   "IN ALL", as inside
  ranks P50=ALLOWED_PERCENT,... SAID REPORT    percentiles

SAID is what the program printed: durations that it measured itself.  `scale`, `stall`, `wait` and
`cost` compare within one run and one machine, so they hold however slow or busy it is; `parent`
has figures of a quiet one.

TRUTH is what a library built with HP_TRUTH wrote (preload/call/truth.c): sums by address, and in
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
    """The truth by name: calls and sums in ns."""

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
        self.cost_ns = everything["summary"]["profiling_hooks_ns"]
        self.grain_ns = everything["summary"]["clock_grain_ns"]
        self.rows = {row["name"]: row for row in everything["functions_timing"]["raw"]}


def verdict(is_good):
    return "ok" if is_good else "TOO FAR"


def percentiles(truth_path, report_path, program, name):
    """Within a place of the histogram (1/64), the clock's grain or the whole ns of JSON; ranks as the report's: the value that so many reach."""
    truth, report = Truth(truth_path, program), Report(report_path)
    row, durations = report.rows[name], truth.durations(name)
    good = len(durations) == row["calls"]
    print(f"{name}: {row['calls']} calls, {len(durations)} logged, grain {report.grain_ns} ns")
    for p in PERCENTILES:
        was = durations[max(0, math.ceil(len(durations) * p / 100) - 1)]
        told = row[f"p{p}_ns"]
        near = abs(told - was) <= max(was / 64, report.grain_ns, 0.5)
        good = good and near
        print(f"  P{p}: was {was:.1f} ns, told {told} ({100 * (told / was - 1):+.2f} %) {verdict(near)}")
    return good


def of_weight(truth_path, report_path, program):
    """(name, calls, true value, reported value) of the functions with 5 % of the time, and the report."""
    truth, report = Truth(truth_path, program), Report(report_path)
    whole = max(total for _, total, _ in truth.functions.values())
    rows = [(name, calls, was, report.rows[name]["inclusive_ns"])
            for name, (calls, was, _) in truth.functions.items() if was >= 0.05 * whole]
    return sorted(rows, key=lambda row: -row[2]), report


def near_enough(name, calls, was, told, allowed):
    near = abs(told - was) <= allowed
    print(f"  {name}: {calls} calls of {was / calls:.1f} ns, total {was:.0f}, told {told}"
          f" ({100 * (told / was - 1):+.2f} %, {(told - was) / calls:+.2f} ns a call,"
          f" allowed {allowed / calls:.2f}) {verdict(near)}")
    return near


# Calls below a call of the function, of functions with only short callees.
BELOW = {"nest1": 9, "nest2": 7, "nest3": 2, "medium": 1, "varying": 0}


def lost_of(said_path):
    """How long the program, which does not sleep, was off the processor, ns."""
    with open(said_path) as file:
        words = file.read().split()
    return max(0, float(words[1]) - float(words[4]))


def scale(truth_path, report_path, program, said_path):
    """
    A factor of 2 would mean a call with the wrong weight.  How well the
    hooks' cost is known changes with the processor and its other users, and so the allowance for it
    is a share of what they cost in this run.  If the program is preempted inside a hook, that
    time is in the total, and not in the truth.
    """
    lost = lost_of(said_path)
    rows, report = of_weight(truth_path, report_path, program)
    pair_ns = report.cost_ns / sum(row["calls"] for row in report.rows.values())
    print(f"  a pair of hooks: {pair_ns:.1f} ns, others had the processor for {lost:.0f}")
    return len(rows) >= 3 and all([near_enough(
        name, calls, was, told,
        0.3 * was + 0.25 * pair_ns * (1 + BELOW.get(name, 0)) * calls + lost)
        for name, calls, was, told in rows])


def inside(truth_path, report_path, program):
    """An interval may have no width, and the two sides measure the clock's rate at different moments."""
    truth, report = Truth(truth_path, program), Report(report_path)
    rows = [(name, was[1], report.rows[name]) for name, was in truth.functions.items()]
    hits = 0
    for name, was, row in rows:
        was = max(was, 0)  # a short time may seem negative; the report does not show that
        slack = max(1, 1e-4 * was)
        hit = row["inclusive_low_ns"] - slack <= was <= row["inclusive_high_ns"] + slack
        hits += hit
        if not hit:
            print(f"  {name}: {was:.0f} is not in {row['inclusive_low_ns']}.."
                  f"{row['inclusive_high_ns']}", file=sys.stderr)
    print(hits, len(rows))
    return True


def stalls_of(said_path):
    """How long the program slept, and how long the loop with its hooks took, ns."""
    with open(said_path) as file:
        words = file.read().split()
    return float(words[1]), float(words[3])


def stall(report_path, said_path, calls):
    """
    The rest is the work, at most the loop's time without the stalls. A tenth of a stall is allowed
    for a preemption between the program's clock reading and ours.
    """
    report = Report(report_path)
    slept, took = stalls_of(said_path)
    stalled, rarely = report.rows["stalled"], report.rows["rarely"]
    work = took - slept
    print(f"  slept {slept:.0f} of {took:.0f}; stalled: {stalled['calls']} calls,"
          f" {stalled['inclusive_ns']}; rarely: {rarely['inclusive_ns']}, own {rarely['self_ns']}")
    return (stalled["calls"] == int(calls) // 100000
            and 0.97 * slept <= stalled["inclusive_ns"] <= slept + 0.5 * work
            and 0.97 * slept <= rarely["inclusive_ns"] <= slept + 1.5 * work)


def wait(report_path, said_path, calls):
    """As stall, but all of it is the function's own time."""
    row = Report(report_path).rows["waits"]
    slept, took = stalls_of(said_path)
    print(f"  slept {slept:.0f} of {took:.0f}; waits: {row['calls']} calls, {row['inclusive_ns']}"
          f" ({row['inclusive_low_ns']}..{row['inclusive_high_ns']})")
    return (row["calls"] == int(calls)
            and 0.95 * slept <= row["inclusive_ns"] <= slept + 1.5 * (took - slept))


def parent(plain_ns, allowed_percent, *report_paths):
    row = min((Report(path).rows["parent"] for path in report_paths), key=lambda r: r["inclusive_ns"])
    told, calls = row["inclusive_ns"], Report(report_paths[0]).rows["child"]["calls"]
    was = float(plain_ns)
    off = 100 * (told / was - 1)
    near = abs(off) <= float(allowed_percent)
    print(f"  parent of {calls} calls: {was / calls:.2f} ns a call without us, told"
          f" {told / calls:.2f} ({off:+.1f} %, allowed {allowed_percent}) {verdict(near)}")
    return near


def cost(plain_ns, said_path, report_path):
    """
    The program's own clocks show the hooks' cost in CPU time; most of it must be subtracted. Time
    of preemptions is in the total, as it should be, and is removed here.
    """
    with open(said_path) as file:
        words = file.read().split()
    elapsed, hooked, plain = float(words[1]), float(words[4]), float(plain_ns)
    report = Report(report_path)
    calls = report.rows["child"]["calls"]
    told = report.rows["parent"]["inclusive_ns"] - (elapsed - hooked)
    allowed = 0.6 * (hooked - plain) + 0.3 * plain
    print(f"  {calls} calls: {plain / calls:.2f} ns a call without hooks, {hooked / calls:.2f} with"
          f" them, told {told / calls:.2f}, allowed {allowed / calls:.2f} off,"
          f" {elapsed / calls:.2f} with what others took")
    return abs(told - plain) <= allowed < hooked - plain


class Known:
    """What programs/virtual.c printed."""

    def __init__(self, path):
        self.functions = {}
        self.percentiles = {}
        with open(path) as file:
            for line in file:
                kind, name, *numbers = line.split()
                if kind == "truth":
                    self.functions[name] = [int(number) for number in numbers]
                elif kind == "percentile":
                    self.percentiles[name] = int(numbers[0])


def known(allowed_percent, said_path, report_path):
    """
    Own times are differences, so both are judged as shares of the total.  A clock is
    read where the processor was lost, which on this clock is 10 ns.
    """
    report, share = Report(report_path), float(allowed_percent) / 100
    good = True
    for name, (calls, total, own) in Known(said_path).functions.items():
        row = report.rows[name]
        allowed = share * total + min(10, 0.01 * total / calls) * calls
        near = (row["calls"] == calls and abs(row["inclusive_ns"] - total) <= allowed
                and abs(row["self_ns"] - own) <= allowed)
        good = good and near
        print(f"  {name}: {calls} calls, told {row['calls']}; total {total}, told"
              f" {row['inclusive_ns']} ({100 * (row['inclusive_ns'] / total - 1):+.2f} %); own {own},"
              f" told {row['self_ns']}; allowed {allowed:.0f} {verdict(near)}")
    return good


def sampled(report_path, most_percent):
    with open(report_path) as file:
        rows = json.load(file)["functions_timing"]["raw"]
    calls, timed = (sum(row[key] for row in rows) for key in ("calls", "sampled_calls"))
    good = 0 < timed <= calls * float(most_percent) / 100
    print(f"  {timed} of {calls} calls of {len(rows)} functions were timed {verdict(good)}")
    return good


def intervals(said_path, report_path):
    """
    For estimated ones. If all calls are alike an interval has almost no width, and preempted
    sampled calls move it: by less than 0.1 % beside two busy loops, so that is allowed.
    """
    report, functions = Report(report_path), Known(said_path).functions
    rows = [(name, total, report.rows[name]) for name, (_, total, _) in functions.items()
            if report.rows[name]["sampled_calls"] < report.rows[name]["calls"]]
    hits = [row["inclusive_low_ns"] - 1e-3 * total <= total <= row["inclusive_high_ns"] + 1e-3 * total
            for _, total, row in rows]
    for hit, (name, total, row) in zip(hits, rows):
        if not hit:
            print(f"  {name}: {total} is not in {row['inclusive_low_ns']}..{row['inclusive_high_ns']}",
                  file=sys.stderr)
    print(sum(hits), len(rows))
    return True


def ranks(allowed, said_path, report_path):
    """For the one function; a bucket is 1/128 wide, and values are in whole ns."""
    rows = [row for row in Report(report_path).rows.values() if "::main" not in row["name"]]
    was = Known(said_path).percentiles
    good = len(rows) == 1
    for rank, percent in (word[1:].split("=") for word in allowed.split(",")):
        told = rows[0][f"p{rank}_ns"]
        near = abs(told - was[rank]) <= 1 + float(percent) / 100 * was[rank]
        good = good and near
        print(f"  P{rank}: was {was[rank]}, told {told} ({100 * (told / was[rank] - 1):+.2f} %)"
              f" {verdict(near)}")
    return good


COMMANDS = {command.__name__: command
            for command in (percentiles, scale, inside, stall, wait, parent, cost, known,
                            sampled, intervals, ranks)}

if __name__ == "__main__":
    sys.exit(not COMMANDS[sys.argv[1]](*sys.argv[2:]))
