#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_profile.py FILE - is a processed profile (version 49) valid?

Column lengths, ranges of every index, callers before callees, sorted times, a schema for each
marker.  Prints the CPU in microseconds of each function, innermost only, summed over threads.
"""
import collections
import gzip
import json
import sys

profile = json.loads(gzip.open(sys.argv[1]).read())
meta = profile["meta"]
assert meta["preprocessedProfileVersion"] == 49, meta
schemas = {schema["name"] for schema in meta["markerSchema"]}
for lib in profile["libs"]:
    assert len(lib["breakpadId"]) == 33, lib
own = collections.Counter()


def within(values, limit, what):
    for value in values:
        assert value is None or 0 <= value < limit, (what, value, limit)


for thread in profile["threads"]:
    strings = thread["stringArray"]
    assert isinstance(thread["pid"], str)
    for name in ("samples", "stackTable", "frameTable", "funcTable", "resourceTable", "markers"):
        table = thread[name]
        for key, column in table.items():
            if isinstance(column, list):
                assert len(column) == table["length"], (name, key)
    stacks, frames, funcs = thread["stackTable"], thread["frameTable"], thread["funcTable"]
    within(thread["samples"]["stack"], stacks["length"], "stack")
    within(stacks["frame"], frames["length"], "frame")
    within(stacks["category"], len(meta["categories"]), "category")
    within(frames["func"], funcs["length"], "func")
    within(funcs["name"], len(strings), "name")
    within([r for r in funcs["resource"] if r != -1], thread["resourceTable"]["length"], "resource")
    within(thread["resourceTable"]["lib"], len(profile["libs"]), "lib")
    within(thread["markers"]["name"], len(strings), "marker")
    for place, prefix in enumerate(stacks["prefix"]):
        assert prefix is None or 0 <= prefix < place, (place, prefix)
    times = thread["samples"]["time"]
    assert times == sorted(times)
    for data in thread["markers"]["data"]:
        assert data["type"] in schemas
        if "cause" in data:
            within([data["cause"]["stack"]], stacks["length"], "cause")
    for stack, delta in zip(thread["samples"]["stack"], thread["samples"]["threadCPUDelta"]):
        if stack is not None:
            own[strings[funcs["name"][frames["func"][stacks["frame"][stack]]]]] += delta
for name, total in own.most_common():
    print(total, name)
