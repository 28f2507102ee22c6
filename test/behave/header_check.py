#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""header_check.py DIRECTORY - are the blocks in the reports (NAME.report, JSON) of the programs built
from header.c as often as the programs say (NAME.out, lines "calls LABEL N")?

Prints a line for each one that is not, and the number of checked reports."""
import glob
import json
import sys


def calls_in(path):
    with open(path) as file:
        rows = json.load(file)["functions_timing"]["raw"]
    calls = {}
    for row in rows:
        # The label of an unnamed block is FILE:LINE.
        name = row["name"].split(":")[0] if ".c:" in row["name"] else row["name"]
        calls[name] = calls.get(name, 0) + row["calls"]
    return calls


def main():
    wrong = 0
    reports = sorted(glob.glob(sys.argv[1] + "/*.report"))
    for path in reports:
        calls = calls_in(path)
        with open(path.replace(".report", ".out")) as file:
            said = [line.split() for line in file if line.startswith("calls ")]
        for _, name, number in said:
            if calls.get(name, 0) != int(number):
                print(path, name, "has", calls.get(name, 0), "calls, in truth", number)
                wrong = 1
    print(len(reports), "reports")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
