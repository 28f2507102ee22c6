#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""channels.py REPORT - figures of the channels of a JSON report.

channels.py REPORT KEY...          one line for each row: its values of `raw`
channels.py REPORT --as SAID KEY...  the sum over all rows equals the program's own count
channels.py REPORT --near SAID PERCENT KEY NAME  `raw` KEY is what the program said of NAME
"""
import json
import sys


def said_in(path):
    with open(path) as lines:
        pairs = [line.split() for line in lines]
    return {pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2}


def main():
    with open(sys.argv[1]) as text:
        section = json.load(text)["channels"]
    raw = section["raw"]
    # Results of threads besides other channels are not checked.
    raw = [row for row in raw if row["type_name"] != "thread"] or raw
    if len(sys.argv) > 2 and sys.argv[2] == "--as":
        said = said_in(sys.argv[3])
        bad = 0
        for key in sys.argv[4:]:
            told = max(row[key] or 0 for row in raw) if key.startswith("max") \
                else sum(row[key] or 0 for row in raw)
            if told != said[key]:
                print(f"{key}: told {told}, but it was {said[key]:.0f}")
                bad = 1
        return bad
    if len(sys.argv) > 2 and sys.argv[2] == "--near":
        said, percent = said_in(sys.argv[3])[sys.argv[6]], float(sys.argv[4])
        told = sum(row[sys.argv[5]] for row in raw)
        print(f"{sys.argv[5]}: told {told}, it was {said:.0f}")
        return abs(told - said) > said * percent / 100
    for row in raw:
        print(" ".join(str(row[key]) for key in sys.argv[2:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
