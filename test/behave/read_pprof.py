#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""read_pprof.py FILE - prints the samples of a pprof profile, largest first.

A line for each: its values, then the functions of its stack from the innermost one up to main.
Reads the wire format of protocol buffers by itself: fields of profile.proto by their numbers.
"""
import gzip
import sys


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
        shift += 7


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def main():
    top = list(fields(gzip.open(sys.argv[1]).read()))
    strings = [value.decode() for field, value in top if field == 6]
    functions = {f[1]: strings[f[2]] for f in (dict(fields(v)) for n, v in top if n == 5)}
    places = {}
    for number, value in top:
        if number == 4:
            lines = [dict(fields(v))[1] for n, v in fields(value) if n == 4]
            places[dict(fields(value))[1]] = [functions[line] for line in lines]
    found = []
    for number, value in top:
        if number != 2:
            continue
        sample = dict(fields(value))
        names = [name for place in packed(sample[1]) for name in places[place]]
        if "main" in names:
            names = names[:names.index("main") + 1]
        found.append((packed(sample[2]), names))
    for values, names in sorted(found, key=lambda one: (-one[0][1], -one[0][-1])):
        print(*values, *names)


main()
