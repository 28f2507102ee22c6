#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""futex_time.py CALLS ADDRESS - ns in calls of strace -f -T that wait for the futex at this address."""
import re
import sys

unfinished = {}  # thread -> address of the futex it waits for
total = 0.0
for line in open(sys.argv[1]):
    thread, call = line.split(None, 1)
    wait = re.match(r"futex\((0x[0-9a-f]+), FUTEX_WAIT", call)
    if wait and "<unfinished" in call:
        unfinished[thread] = wait[1]
        continue
    address = wait[1] if wait else None
    if "futex resumed>" in call:
        address = unfinished.pop(thread, None)
    took = re.search(r"<([0-9.]+)>$", call)
    if took and address == sys.argv[2]:
        total += float(took[1])
print(round(total * 1e9))
