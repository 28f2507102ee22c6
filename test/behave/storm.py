#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""storm.py REPORT SAID - fails unless the JSON report has of each function whose name ends in "_" and a letter
exactly the program's own number of calls ("NAME CALLS" lines), and of get_X, the X-th letter, blocks of 100 bytes times its number, by
calls and by call paths, and of lock_X two acquisitions for each call of outer_X. In no call path is a function of
another library than in the rest of it.
"""
import json
import re
import sys


def plugin_rows(rows, key):
    found = {}
    for row in rows:
        if re.fullmatch(r"[a-z]+_[a-zA-Z]", row[key]):
            found.setdefault(row[key], []).append(row)
    return found


def main():
    with open(sys.argv[1]) as file:
        report = json.load(file)
    said = dict(line.split() for line in open(sys.argv[2]) if " " in line)
    said = {name: int(calls) for name, calls in said.items()}
    assert said
    timing = plugin_rows(report["functions_timing"]["raw"], "name")
    told = {name: sum(row["calls"] for row in rows) for name, rows in timing.items()}
    assert told == said, {name: (told.get(name), said.get(name)) for name in {*told, *said}
                          if told.get(name) != said.get(name)}
    spent = plugin_rows(report["functions_alloc"]["raw"], "name")
    locks = plugin_rows(report["mutexes"]["raw"], "label")
    for letter in sorted({name[-1] for name in said if name.startswith("get_")}):
        size = 100 * (ord(letter) - ord("a") + 1)
        wanted = size * said["get_" + letter]
        assert sum(row["total_bytes"] for row in spent["get_" + letter]) == wanted, letter
        paths = [row for row in report["alloc_sites"]["raw"] if row["frames"][0]["function"] == "get_" + letter]
        assert sum(row["total_bytes"] for row in paths) == wanted, (letter, paths)
        for row in paths:
            own = {frame["function"][-2:] for frame in row["frames"][:3]}
            assert own == {"_" + letter}, row["frames"]
        assert sum(row["count"] for row in locks["lock_" + letter]) == 2 * said["outer_" + letter], letter
    summary = report["summary"]
    assert not any(summary[key] for key in ("refused_chunks", "lost_calls", "lost_threads", "calls_in_other")), summary


if __name__ == "__main__":
    main()
