#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""locks.py REPORT SECTION KEY... - a line for each row of a section of the JSON report: those keys of it.

locks.py --near REPORT SAID PERCENT compares the mutexes of a report with what the program said of
itself, lines of NAME COUNT WAIT_NS HOLD_NS LONGEST_NS: counts are equal, times are within PERCENT.

locks.py --inside REPORT SAID compares the time held with lines of NAME COUNT LEAST_NS MOST_NS LONGEST_NS: the interval
meets what the program says, and the longest hold is within 5 %, or marked as a bound and none was longer than the other bound.
"""
import json
import sys


def rows(path, section):
    with open(path) as file:
        return json.load(file).get(section, {}).get("raw", [])


def near(got, want, percent, slack):
    return abs(got - want) <= want * percent / 100 + slack


def compare(path, said, percent):
    found = {row["label"]: row for row in rows(path, "mutexes")}
    compared = 0
    for line in open(said):
        name, *numbers = line.split()
        count, wait, hold, longest = map(int, numbers)
        row = found[name]
        told = row["count"], row["wait_total_ns"], row["acquire_total_ns"], row["wait_max_ns"]
        print(name, "told", *told, "said", count, wait, hold, longest)
        assert row["count"] == count
        # The difference between the program's clock and ours: some 100 ns per call on a quiet
        # machine.
        assert near(told[1], wait, percent, 500 * count), "wait"
        assert near(told[2], hold, percent, 500 * count), "hold"
        assert near(told[3], longest, percent, 500 * count), "longest"
        compared += 1
    assert compared


def inside(path, said):
    for line in open(said):
        name, *numbers = line.split()
        count, least, most, longest = map(int, numbers)
        section, side = ("rw_locks", "write_") if name == "rwlock" else ("mutexes", "")
        number = [row["label"] for row in rows(path, section)].index(name)
        row = rows(path, section)[number]
        shown = json.load(open(path))[section]["data"][number][side + "acquire_max"]
        low, middle, high = (row[side + "acquire_total" + end] for end in ("_low_ns", "_ns", "_high_ns"))
        longest_told, longest_high = row[side + "acquire_max_ns"], row[side + "acquire_max_high_ns"]
        print(name, "told", low, middle, high, longest_told, shown, longest_high, "said", *numbers)
        assert row[side + "count"] == count
        assert low <= middle <= high
        assert low <= most and least <= high, "total"
        if shown.startswith("\N{GREATER-THAN OR EQUAL TO}"):
            assert longest_told <= longest * 1.05, "bound"
            assert longest_high is None or longest <= longest_high * 1.05, "upper bound"
        else:
            assert near(longest_told, longest, 5, 1000), "longest"


def text(value):
    """A call path is its functions, the innermost first."""
    if isinstance(value, list) and value and "function" in value[0]:
        return "<".join(frame["function"] for frame in value)
    return value


if sys.argv[1] == "--near":
    compare(sys.argv[2], sys.argv[3], float(sys.argv[4]))
elif sys.argv[1] == "--inside":
    inside(sys.argv[2], sys.argv[3])
else:
    for each in rows(sys.argv[1], sys.argv[2]):
        print(*(text(each.get(key)) for key in sys.argv[3:]))
