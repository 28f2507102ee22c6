#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wraps.py set SEGMENT - while the program waits: sets the counters of its function `work`, which was called 20000
times, to just before they wrap: calls to 5000 before 2^32, each counter of its histogram that is in use to 3 before
2^31. Prints the calls, and the sum of the histogram, that are there then.
wraps.py sum SEGMENT - prints both again, as they are.

Reads by read_format.py, which shares no code with the report.
"""
import mmap
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.path[0])
import read_format as f

CALLED = 20000
CALLS, TIMED = 0, 40    # of a row
CARRY = 1 << 31


class Segment(f.Segment):
    def __init__(self, data):
        self.data = data
        self.end = min(self.header("Q", 16), self.header("Q", 64))
        self.steps = self.end // f.LINE


def blocks(segment):
    for _, process in segment.walk(segment.header("Q", 80), 192, 0):
        yield from segment.walk(f.field(process, "Q", 32), 192, 0)


def busiest(segment):
    """(row, function): offsets of the row that was called most, and of its function."""
    rows = [(f.field(row, "Q", CALLS), at, f.field(row, "I", 64) * f.LINE)
            for _, block in blocks(segment) for at, row in segment.walk(f.field(block, "Q", 40), 128, 72, "I", f.LINE)]
    return max(rows)[1:]


def put(data, kind, at, value):
    struct.pack_into("<" + kind, data, at, value)


def set_near_wrap(segment, data, row, function):
    calls = segment.header("Q", row + CALLS)
    assert calls == CALLED == segment.header("Q", row + TIMED), "not what was asked for"
    for place in (CALLS, TIMED):
        put(data, "Q", row + place, (1 << 32) - 5000)
    for group in range(f.GROUPS):
        counters = segment.header("I", function + 128 + 4 * group) * f.LINE
        for i in range(f.GROUP if counters else 0):
            if segment.header("I", counters + 4 * i):
                put(data, "I", counters + 4 * i, CARRY - 3)


def main():
    with open(sys.argv[2], "r+b") as file:
        data = mmap.mmap(file.fileno(), 0)
    segment = Segment(data)
    row, function = busiest(segment)
    if sys.argv[1] == "set":
        set_near_wrap(segment, data, row, function)
    sums = f.Function()
    sums.add_histogram(segment, segment.record(function, 576))
    print(segment.header("Q", row + CALLS), sum(sums.counters.values()))


if __name__ == "__main__":
    main()
