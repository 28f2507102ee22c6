#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""edges.py set SEGMENT - sets the counters of 32 bits that edges_full.c uses to 3 before their end.
edges.py get SEGMENT - prints them, a line each: "NAME VALUE", wide ones whole.
edges.py possible REPORT - fails if a time of the JSON report is below 0 or beyond an hour.

Reads by read_format.py, which shares no code with the report.
"""
import json
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.path[0])
import read_format as f
import wraps

END = 1 << 32
CHANNEL, LOCKSET, WAITER, USE = 64, 64, 192, 128


def counters(segment):
    """(name, offset of the low 32 bits, offset of the high ones or None)."""
    found = {}
    for _, process in segment.walk(segment.header("Q", 80), 192, 0):
        lockset = segment.record(f.field(process, "Q", 184), LOCKSET)
        for at, channel in segment.walk(f.field(lockset, "Q", 24), CHANNEL, 0):
            if f.field(channel, "I", 8) == 1 and f.field(channel, "I", 56) > 2:
                found["instances"] = at + 56, None
                found["closed"] = at + 60, None
        for at, waiter in segment.walk(f.field(lockset, "Q", 8), WAITER, 0):
            if f.field(waiter, "I", 120):
                found["untold"] = at + 120, None
            for use_at, use in segment.walk(f.field(waiter, "Q", 32), USE, 112):
                if f.field(use, "I", 88):
                    found["timeouts"] = use_at + 88, None
                spread = f.field(use, "I", 100) * f.LINE
                if spread and segment.header("I", spread + 236):
                    found["rare"] = spread + 236, spread + 240
    row, _ = wraps.busiest(segment)
    found["tail"] = row + 76, row + 120
    return found


def possible(path):
    def look(value, key=""):
        if isinstance(value, dict):
            for name, inner in value.items():
                look(inner, name)
        elif isinstance(value, list):
            for inner in value:
                look(inner, key)
        elif key.endswith("_ns") and isinstance(value, (int, float)):
            assert 0 <= value < 3600e9, f"{key} {value}"
    with open(path) as file:
        look(json.load(file))


def main():
    import mmap
    if sys.argv[1] == "possible":
        return possible(sys.argv[2])
    with open(sys.argv[2], "r+b") as file:
        data = mmap.mmap(file.fileno(), 0)
    segment = wraps.Segment(data)
    for name, (low, high) in sorted(counters(segment).items()):
        if sys.argv[1] == "set":
            wraps.put(data, "I", low, END - 3)
        print(name, segment.header("I", low) + (segment.header("I", high) << 32 if high else 0))


if __name__ == "__main__":
    main()
