#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare_leaks.py MEMCHECK.xml REPORT.json REGEX - what is left, and what of it is lost, of each call path:
memcheck's definitely and indirectly lost against `leaks`. A path is its functions that match REGEX, since of the
libraries' inside either may know more. Exit status 1 if any differs."""
import collections, json, re, sys
import xml.etree.ElementTree as tree


def key(names):
    names = [name.split("(")[0] for name in names]
    # Its size depends on the number of libraries with thread-local storage: ours is one more.
    if "allocate_dtv" in names:
        return ()
    return tuple(name for name in names if re.fullmatch(sys.argv[3], name))


def memcheck(file):
    paths = collections.defaultdict(lambda: [0, 0, 0, 0])
    for error in tree.parse(file).getroot().iter("error"):
        kind = error.findtext("kind")
        if not kind.startswith("Leak_"):
            continue
        # "5,544 (56 direct, 5,488 indirect) bytes in 1 blocks are definitely lost": the indirect ones have rows, too.
        text = error.find("xwhat").findtext("text").replace(",", "")
        size = int((re.search(r"\((\d+) direct", text) or re.match(r"(\d+)", text)).group(1))
        blocks = int(error.find("xwhat").findtext("leakedblocks"))
        is_lost = kind in ("Leak_DefinitelyLost", "Leak_IndirectlyLost")
        row = paths[key([f.findtext("fn", "?") for f in error.find("stack").iter("frame")])]
        for i, amount in enumerate((blocks, size, blocks * is_lost, size * is_lost)):
            row[i] += amount
    return paths


def ours(file):
    paths = collections.defaultdict(lambda: [0, 0, 0, 0])
    for site in json.load(open(file))["leaks"]["raw"]:
        row = paths[key([f["function"] for f in site["frames"]])]
        for i, name in enumerate(("live_count", "live_bytes", "lost_count", "lost_bytes")):
            row[i] += site[name]
    return paths


theirs, mine = memcheck(sys.argv[1]), ours(sys.argv[2])
bad = 0
for path in sorted(set(theirs) | set(mine)):
    # Rows without bytes are not listed.
    if path and theirs[path] != mine[path] and (theirs[path][1] or mine[path][1]):
        print("memcheck", theirs[path], "ours", mine[path], " < ".join(path))
        bad += 1
# Apart from these, memory of threads and of the C library itself: none of it is lost.
bad += theirs[()][2] != mine[()][2]
print(f"{len(theirs)} paths, {bad} differ; lost: {sum(r[2] for r in theirs.values())} blocks, "
      f"{sum(r[3] for r in theirs.values())} bytes; not under these: {theirs[()]} {mine[()]}")
sys.exit(bad > 0)
