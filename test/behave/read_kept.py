#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""read_kept.py FILE SEGMENT - unpacks a kept run by doc/internals/files.md alone.

Writes the segment in it to SEGMENT and prints "PATH ADDRESS NAME" of each function that is named.
"""
import gzip
import re
import struct
import sys


def pieces(data):
    if data[:8] != b"HPKEPT01" or struct.unpack_from("<II", data, 8) != (1, 0):
        sys.exit("not a kept run")
    at, count = 16, 0
    while True:
        kind, size = struct.unpack_from("<II", data, at)
        body = data[at + 8:at + 8 + size]
        at += 8 + size
        if kind == 4:
            if struct.unpack("<Q", body)[0] != count or at != len(data):
                sys.exit("truncated")
            return
        if kind > 4 and kind < 256:
            sys.exit("newer")
        yield kind, body
        count += 1


def segment_of(parts):
    segment = None
    end = 0
    for body in parts:
        offset, bytes_ = struct.unpack_from("<Q", body)[0], body[8:]
        if segment is None:
            assert offset == 0 and len(bytes_) == 256
            used, size = struct.unpack_from("<Q", bytes_, 64)[0], struct.unpack_from("<Q", bytes_, 16)[0]
            segment = bytearray(min(used, size) // 64 * 64)
        else:
            assert offset % 64 == len(bytes_) % 64 == 0 and offset >= end
        segment[offset:offset + len(bytes_)] = bytes_
        end = offset + len(bytes_)
    return segment


def fields(text):
    for line in text.decode(errors="replace").splitlines():
        yield [re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), field)
               for field in line.split("\t")]


def main():
    with gzip.open(sys.argv[1]) as file:
        found = list(pieces(file.read()))
    assert found[0][0] == 1
    with open(sys.argv[2], "wb") as file:
        file.write(segment_of(body for kind, body in found if kind == 3))
    objects = []
    for line in fields(b"".join(body for kind, body in found if kind == 2)):
        if line[0] == "o":
            objects.append(line[2])
        if line[0] == "f":
            print(objects[int(line[1])], line[2], line[4])


if __name__ == "__main__":
    main()
