#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""counts.py REPORT [NAME...] - "NAME CALLS" of the functions in a JSON report (all of them, or
those named; a missing one is 0)."""
import json
import sys


def main():
    with open(sys.argv[1]) as file:
        rows = json.load(file)["functions_timing"]["raw"]
    counts = {}
    for row in rows:
        counts[row["name"]] = counts.get(row["name"], 0) + row["calls"]
    for name in sys.argv[2:] or sorted(counts):
        print(name, counts.get(name, 0))


if __name__ == "__main__":
    main()
