#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""interrupt.py REPORT FILE - the counts in a report (JSON) of programs/interrupt.c beside what FILE says was done.

step() is exact up to what was under way.  Of blocks and locks each thread that ended in its midst may have one
more under way: the newest block is told with the next one.  Prints what is wrong; exits with 1 then.
"""
import json, sys

report = json.load(open(sys.argv[1]))
said = {words[0]: tuple(map(int, words[1:])) for words in map(str.split, open(sys.argv[2]))}
rows = lambda section: report[section]["raw"]
found = {"step": sum(row["calls"] for row in rows("functions_timing") if row["name"] == "step"),
         "block": sum(row["count"] for row in rows("functions_alloc") if row["name"] == "block"),
         "lock": sum(row["count"] for row in rows("mutexes"))}
# Each event ends a round within a third of a thread's work, so a round stands for one thread.
rounds = int(sys.argv[3])
wrong = 0
for what, (done, begun) in list(said.items())[:3]:
    least = done - (0 if what == "step" else rounds)
    if not least <= found[what] <= begun:
        print(f"{what}: {found[what]}, {done} were done and {begun} begun")
        wrong = 1
if report["summary"]["damaged"]:
    print("the record is damaged")
    wrong = 1
inside, handled = said["inside"]
print(f"{inside} of {handled} handlers interrupted the library")
sys.exit(1 if wrong or not inside else 0)
