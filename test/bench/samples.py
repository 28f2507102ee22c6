#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""samples.py - what samples.sh computes.

shares REPORT.json COMM   perf script on stdin: the largest differences of self and inclusive shares
spread COMM FILE...       perf script of several runs: the same differences between two of them, the largest
quality COMM              perf script on stdin: share of the stacks that reach the first function
"""
import collections
import itertools
import json
import re
import sys

# A thread's first functions, as far as perf names them.
FIRST = {"_start", "__libc_start_call_main", "__libc_start_main", "__libc_start_main_impl",
         "__clone", "clone", "__clone3", "clone3", "start_thread"}
LEAST = 0.5     # percent: functions with less are not compared
# Two samplers in one run see each other's interrupts: the kernel's functions are counted, but not
# compared.
KERNEL = set()


def stacks(comm, lines):
    """Lists of function names, the innermost first, of the samples of a command."""
    stack, wanted = None, False
    for line in lines:
        if not line.strip():
            if wanted and stack:
                yield stack
            stack = None
        elif not line[0].isspace():
            wanted, stack = line.split()[0] == comm, []
        elif stack is not None:
            match = re.match(r"\s+[0-9a-f]+ (.*?)(\+0x[0-9a-f]+)? \((.*)\)$", line)
            stack.append(match.group(1) if match else "[unknown]")
            if match and match.group(3).startswith("[kernel"):
                KERNEL.add(base(match.group(1)))
    if wanted and stack:
        yield stack


def base(name):
    """Without the compilers' suffixes of parts."""
    return re.split(r"\.(?:cold|part|constprop|isra|lto_priv)\b", name.split("@")[0])[0]


def is_whole(stack):
    return any(base(name) in FIRST for name in stack[-3:])


def counts(comm, lines):
    """Samples of each function, own and inclusive, of how many; the inclusive ones of whole stacks."""
    own, total, count, whole = collections.Counter(), collections.Counter(), 0, 0
    for stack in stacks(comm, lines):
        count += 1
        own[base(stack[0])] += 1
        # A truncated stack lacks callers, which would have less than their share.
        if not is_whole(stack):
            continue
        whole += 1
        for name in {base(name) for name in stack}:
            total[name] += 1
    return own, total, count, whole


def spread(comm, paths):
    """Own and inclusive shares of one run against another, of each two."""
    runs = []
    for path in paths:
        own, total, count, whole = counts(comm, open(path))
        runs.append([{name: 100 * n / max(1, all_of) for name, n in each.items()}
                     for each, all_of in ((own, count), (total, whole))])
    worst = [(0.0, "-"), (0.0, "-")]
    for a, b in itertools.combinations(runs, 2):
        for i in 0, 1:
            for name in set(a[i]) & set(b[i]) - KERNEL:
                x, y = a[i][name], b[i][name]
                if max(x, y) >= LEAST:
                    worst[i] = max(worst[i], (abs(x - y), f"{name} {x:.2f}/{y:.2f}"))
    print(f"{worst[0][0]:>8.2f}{worst[1][0]:>8.2f}  {worst[0][1]}, {worst[1][1]}")


def shares(path, comm):
    own, total, count, whole = counts(comm, sys.stdin)
    cpu = json.load(open(path))["functions_cpu"]
    ours = cpu["total_samples"] * 1000
    worst = {"self_ns": (0.0, "-"), "inclusive_ns": (0.0, "-")}
    compared = 0
    # One name in two files (malloc: ours and the C library's) is two rows here but one in perf.
    names = collections.Counter(base(row["name"]) for row in cpu["raw"])
    rows = {base(row["name"]): row for row in cpu["raw"] if names[base(row["name"])] == 1}
    for key, theirs in (("self_ns", own), ("inclusive_ns", total)):
        for name in set(rows) & set(theirs) - KERNEL:
            a, b = 100 * rows[name][key] / ours, 100 * theirs[name] / (count if key == "self_ns" else max(1, whole))
            if max(a, b) < LEAST:
                continue
            compared += 1
            worst[key] = max(worst[key], (abs(a - b), f"{name} {a:.2f}/{b:.2f}"))
    print(f"{cpu['sample_count']:>8}{count:>8}{compared:>6}"
          f"{worst['self_ns'][0]:>8.2f}{worst['inclusive_ns'][0]:>8.2f}  {worst['self_ns'][1]}, {worst['inclusive_ns'][1]}")


def quality(comm):
    count = whole = 0
    for stack in stacks(comm, sys.stdin):
        count += 1
        whole += is_whole(stack)
    print(f"{100 * whole / max(1, count):.2f} {count}")


if sys.argv[1] == "shares":
    shares(sys.argv[2], sys.argv[3])
elif sys.argv[1] == "spread":
    spread(sys.argv[2], sys.argv[3:])
else:
    quality(sys.argv[2])
