#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare_dhat.py DHAT REPORT - are the call paths of our report those of valgrind's DHAT?

Compares, by path, blocks, bytes, and blocks and bytes at the end; and the peak of all.  A path is
the bare names of its functions up to main, of which a name that follows itself counts once: one of
the two may have found inlined parts that the other has not; what has no name is left out.
Prints how many paths there were, or what differs.
"""
import collections
import json
import re
import sys

ALLOCATOR = re.compile(r"^(malloc|calloc|realloc|memalign|posix_memalign|aligned_alloc|operator (new|delete).*)$")


def bare(name):
    """std::vector<int>::push_back(int const&) -> push_back"""
    operator = re.search(r"operator([^\w\s(]+|\(\))", name)
    if operator:
        return "operator" + operator.group(1).split("<char")[0]
    while True:
        shorter = re.sub(r"<[^<>]*>|\([^()]*\)|\[abi:\w+\]", "", name)
        if shorter == name:
            break
        name = shorter
    return re.sub(r"\.(constprop|isra|part|cold).*", "", name.replace(" const", "").split("::")[-1].split(" ")[-1])


def key(names):
    path = []
    for name in names:
        # Either tool may know more than the other about the C library's internals.
        if ALLOCATOR.match(name) or name.startswith(("???", "(unknown", "_IO_", "outstring_func")) or ".so" in name:
            continue
        if not path or path[-1] != bare(name):
            path.append(bare(name))
        if name == "main":
            break
    return tuple(path)


def of_dhat(path):
    dhat = json.load(open(path))
    sums, peak = collections.defaultdict(lambda: [0, 0, 0, 0]), 0
    frames = [re.sub(r"^0x[0-9A-F]+: ", "", frame) for frame in dhat["ftbl"]]
    names = [re.sub(r" \((in )?[^()]*\)$", "", frame) for frame in frames]
    for point in dhat["pps"]:
        place = sums[key(names[i] for i in point["fs"])]
        for i, field in enumerate(("tbk", "tb", "ebk", "eb")):
            place[i] += point[field]
        peak += point["gb"]
    return sums, peak


def of_report(path):
    sites = json.load(open(path))["alloc_sites"]
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for site in sites["raw"]:
        place = sums[key(frame["function"] for frame in site["frames"])]
        for i, field in enumerate(("count", "total_bytes", "live_count", "live_bytes")):
            place[i] += site[field]
    return sums, sites["peak_bytes"]


theirs, their_peak = of_dhat(sys.argv[1])
ours, our_peak = of_report(sys.argv[2])
faults = [(path, theirs.get(path), ours.get(path)) for path in set(theirs) | set(ours) if theirs.get(path) != ours.get(path)]
if their_peak != our_peak:
    faults.append(("peak", their_peak, our_peak))
for fault in faults:
    print(*fault, sep="\n\t")
print(len(theirs), "paths,", sum(place[0] for place in theirs.values()), "blocks")
sys.exit(bool(faults))
