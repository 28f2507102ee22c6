#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stacks_beside.py HOTPATH PID

The stacks of a process at rest by `hotpath stacks`, beside those of gdb and eu-stack: of each thread all frames, by
their addresses.  Inlined functions, and those that were left by a jump, have none of their own and do not count.
Prints how many threads and frames are equal, and how long a thread stood still; exits 1 if a thread differs."""
import json
import re
import subprocess
import sys

GDB = """
import gdb
for thread in gdb.selected_inferior().threads():
    thread.switch()
    frame, addresses = gdb.newest_frame(), []
    while frame:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            addresses.append(frame.pc())
        frame = frame.older()
    print("beside", thread.ptid[1], *addresses)
"""


def of_hotpath(hotpath, pid):
    said = json.loads(subprocess.run([hotpath, "stacks", "--json", "--all", pid], check=True, stdout=subprocess.PIPE).stdout)
    stacks = {}
    for group in said["stacks"]:
        addresses = [int(frame["address"], 16) for frame in group["frames"] if not frame.get("is_inlined")]
        for thread in group["threads"]:
            stacks[thread["tid"]] = addresses
    return said, stacks


def of_gdb(pid):
    command = ["gdb", "-nx", "-batch", "-p", pid, "-ex", "set backtrace past-main on", "-ex", "python exec(open('/dev/stdin').read())"]
    said = subprocess.run(command, input=GDB, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    rows = [line.split()[1:] for line in said.splitlines() if line.startswith("beside ")]
    return {int(row[0]): [int(address) for address in row[1:]] for row in rows}


def of_eu_stack(pid):
    said = subprocess.run(["eu-stack", "-n", "0", "-p", pid], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    stacks = {}
    for line in said.splitlines():
        if thread := re.match(r"TID (\d+):", line):
            stack = stacks[int(thread[1])] = []
        elif frame := re.match(r"#\d+ +0x([0-9a-f]+)", line):
            stack.append(int(frame[1], 16))
    return stacks


def compare(name, ours, theirs):
    different = {tid for tid, stack in theirs.items() if ours.get(tid) != stack}
    for tid in sorted(different)[:2]:
        print(f"  {name}, thread {tid}:", *(f"{address:#x}" for address in theirs[tid]))
        print("  hotpath:", *(f"{address:#x}" for address in ours.get(tid, [])))
    frames = sum(len(stack) for tid, stack in theirs.items() if tid not in different)
    return f"{name} {len(theirs) - len(different)} of {len(theirs)} threads equal, {frames} frames", different


def main():
    hotpath, pid = sys.argv[1:]
    said, ours = of_hotpath(hotpath, pid)
    rows, all_different = [], set()
    for name, theirs in (("gdb", of_gdb(pid)), ("eu-stack", of_eu_stack(pid))):
        if set(theirs) != set(ours):
            all_different.add(name)
        row, different = compare(name, ours, theirs)
        rows.append(row)
        all_different |= different
    with open(f"/proc/{pid}/comm") as comm:
        print(f"{comm.read().strip()}: {'; '.join(rows)}; stood still {said['stood_still_median_ns'] / 1000:.0f} us "
              f"(median), {said['stood_still_longest_ns'] / 1000:.0f} at most")
    return 1 if all_different else 0


if __name__ == "__main__":
    sys.exit(main())
