#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hooks_check.py REPORT OUTPUT [FLAG...] - does the report (JSON) match the program's own figures?

OUTPUT holds lines "calls NAME N" (exactly so many), "about NAME N SPAN" (within SPAN), "sum all N"
(of all functions), "inclusive NAME LEAST MOST" and "self NAME LEAST MOST" (ns), "sampled NAME" (its calls
still are, at the end).  Besides, no
function may have taken longer than its threads lived, and nothing may have been lost, unless a flag
says so: `full` (the segment is), `parallel` (several threads), `unpaired`, `coroutines` (calls of a
function overlap in a thread: its total is that of calls which no other outlasts, and may be below
its own time), `made_up` (addresses of no functions), `torn` (jumps out of the hooks themselves: counts are
right, times need not be, doc/internals/limits.md)."""
import json
import sys

WRONG = []
NOTHING = {"calls": 0, "inclusive_ns": 0, "self_ns": 0, "sampled_calls": 0}


def check(good, *what):
    if not good:
        WRONG.append(" ".join(str(w) for w in what))


def sums(rows):
    functions = {}
    for row in rows:
        name = row["name"].split("(")[0]
        of = functions.setdefault(name, dict(NOTHING))
        for key in of:
            of[key] += row[key] or 0
    return functions


def check_drawn(name, of):
    """At least one in 128 of the calls after the decision; a quarter of that is required."""
    sampled, of_calls = of["sampled_calls"] - 64, of["calls"] - 70000
    check(sampled >= of_calls / 512, name, "was sampled", sampled, "times in", of_calls, "calls")


def check_said(functions, line, lost):
    kind, name, *numbers = line.split()
    of = functions.get(name, NOTHING)
    if kind == "sampled":
        check_drawn(name, of)
        return
    low, high = int(numbers[0]), int(numbers[-1])
    if kind == "calls":
        check(of["calls"] == low, name, "has", of["calls"], "calls in the report, in truth", low)
    elif kind == "sum":
        everything = lost + sum(f["calls"] for name, f in functions.items() if "::main" not in name)
        check(everything == low, "all calls of the report:", everything, "in truth", low)
    elif kind == "about":
        check(abs(of["calls"] - low) <= high, name, "has", of["calls"], "calls, in truth", low)
    else:
        value = of[kind + "_ns"]
        check(low <= value <= high, kind, "time of", name, "is", value, "not in", low, high)


def check_times(functions, wall, flags):
    for name, of in functions.items():
        check(of["inclusive_ns"] >= 0 and of["self_ns"] >= -1e5, name, "took", of)
        # Own time of a recursion is estimated from sampled calls, its total is measured.
        slack = 1e5 + 20 * of["calls"]
        if "coroutines" not in flags:
            check(of["self_ns"] <= of["inclusive_ns"] * 2 + slack, name, "self above total:", of)
        if "parallel" not in flags:
            most = wall * (1.001 if of["sampled_calls"] == of["calls"] else 1.25)
            check(of["inclusive_ns"] <= most, name, "took longer than all:", of, wall)
            check(of["self_ns"] <= wall * 1.25, name, "took longer than all:", of, wall)


def check_summary(summary, flags):
    check(not summary["damaged"], "the segment is damaged")
    if "full" not in flags:
        for key in ("refused_chunks", "lost_calls", "lost_threads", "calls_in_other"):
            check(summary[key] == 0, key, summary[key])
    if "unpaired" not in flags:
        check(summary["unpaired_exits"] == 0, "unpaired exits:", summary["unpaired_exits"])


def main():
    with open(sys.argv[1]) as file:
        report = json.load(file)
    flags = sys.argv[3:]
    functions = sums(report["functions_timing"]["raw"])
    wall = report["summary"]["wall_ns"]
    if "torn" not in flags:
        check_times(functions, wall, flags)
    said = 0
    with open(sys.argv[2]) as file:
        for line in file:
            if line.split(" ")[0] in ("calls", "sum", "about", "inclusive", "self", "sampled"):
                check_said(functions, line, report["summary"]["lost_calls"])
                said += 1
    check(said > 0, "the program said nothing")
    check_summary(report["summary"], flags)
    for text in WRONG:
        print(text)
    print("summary:", {k: v for k, v in report["summary"].items() if v})
    sys.exit(1 if WRONG else 0)


if __name__ == "__main__":
    main()
