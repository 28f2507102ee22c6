#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hostile_records.py SEGMENT OUT texts|deep [COUNT] - a copy in which some records are not what a library writes.

texts: each text, and each name of PROGRAM (the first process's name), consists of control characters and bytes that
are no UTF-8.  deep: the samples' stacks are one chain of COUNT places.
"""
import struct
import sys

PAGE, LINE = 4096, 64
USED_AT, PROCESSES_AT, SAMPLER_AREA_AT = 64, 80, 232
COMM_AT = 92	# in a process's record
SAMPLING_AT = 56	# in the first record of the sampler
NODES_AT = 80	# in the record of samples
EVIL = b"\x1b]0;title\x07\x1b[2J\n\r\x9b31m\xe2\x80\xae\xc2\x9b\xff\"<b>"


def evil(length):
    return (EVIL * (length // len(EVIL) + 1))[:length]


def is_text(data, at):
    length = struct.unpack_from("<I", data, at)[0]
    text = data[at + 4:at + 4 + length]
    return 0 < length < PAGE and len(text) == length and all(32 <= byte < 127 for byte in text) and \
        data[at + 4 + length] == 0


def texts(data, used):
    process = struct.unpack_from("<Q", data, PROCESSES_AT)[0]
    name = bytes(data[process + COMM_AT:process + COMM_AT + 16]).split(b"\0")[0]
    count = 0
    for at in range(PAGE, used - LINE, LINE):
        if is_text(data, at):
            length = struct.unpack_from("<I", data, at)[0]
            data[at + 4:at + 4 + length] = evil(length)
            count += 1
    at = data.find(name + b"\0", PAGE)
    while at >= 0:
        data[at:at + len(name)] = evil(len(name))
        count += 1
        at = data.find(name + b"\0", at)
    return count


def deep(data, used, count):
    area = struct.unpack_from("<Q", data, SAMPLER_AREA_AT)[0]
    sampling = struct.unpack_from("<Q", data, area + SAMPLING_AT)[0]
    if not sampling:
        sys.exit("nobody requested samples")
    chunk = (used + PAGE - 1) // PAGE * PAGE
    data.extend(bytes(chunk - len(data)))
    data += struct.pack("<QII6Q", 0, count, count, *[0] * 6)
    for place in range(count):
        data += struct.pack("<QII6Q", 0x1000 + place, 0, max(place - 1, 0), 1, 1000000, 1, 1000000, 0, 0)
    struct.pack_into("<QQ", data, sampling + NODES_AT, chunk, count)
    struct.pack_into("<II", data, sampling, 2, 0)	# by the kernel's clock, without a fault
    struct.pack_into("<QQ", data, sampling + 32, count, count * 1000000)
    struct.pack_into("<Q", data, USED_AT, len(data))
    return count


def main():
    source, target, kind = sys.argv[1:4]
    with open(source, "rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        used = struct.unpack_from("<Q", file.read(PAGE), USED_AT)[0]
        file.seek(0)
        data = bytearray(file.read(used))
    print(texts(data, used) if kind == "texts" else deep(data, used, int(sys.argv[4])), "records")
    with open(target, "wb") as file:
        file.write(data)
        file.truncate(size)


if __name__ == "__main__":
    main()
