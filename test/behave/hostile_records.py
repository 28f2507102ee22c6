#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hostile_records.py SEGMENT OUT texts|deep|locks [COUNT] - a copy in which some records are not what a library writes.

texts: each text, and each name of PROGRAM (the first process's name), consists of control characters and bytes that
are no UTF-8.  deep: the samples' stacks are one chain of COUNT places.  locks: COUNT more, each at
another place and used once.
"""
import struct
import sys

PAGE, LINE = 4096, 64
USED_AT, PROCESSES_AT, SAMPLER_AREA_AT = 64, 80, 232
COMM_AT = 92	# in a process's record
SAMPLING_AT = 56	# in the first record of the sampler
NODES_AT = 80	# in the record of samples
LOCKSET_AT = 184	# in a process's record
WAITERS_AT, WAITER_USES_AT = 8, 32	# in the record of a process's locks; of a waiter
LOCK, LOCK_KIND_AT, LOCK_MODULE_AT, LOCK_LABEL_AT = 128, 8, 16, 80
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


def word(data, at):
    return struct.unpack_from("<Q", data, at)[0]


def locks(data, used, count):
    lockset = word(data, word(data, PROCESSES_AT) + LOCKSET_AT)
    waiter, first, at = word(data, lockset + WAITERS_AT), word(data, lockset), (used + PAGE - 1) // PAGE * PAGE
    uses = word(data, waiter + WAITER_USES_AT)
    data.extend(bytes(at - len(data)))
    for i in range(count):
        lock = bytearray(data[first:first + LOCK])
        struct.pack_into("<Q", lock, 0, at + 2 * LOCK * (i + 1) if i + 1 < count else first)
        struct.pack_into("<2I", lock, LOCK_KIND_AT, 1, 0)	# a mutex
        struct.pack_into("<4Q", lock, LOCK_MODULE_AT, 0, 0x1000 + i, 0, 0x2000 + 64 * i)
        struct.pack_into("<Q", lock, LOCK_LABEL_AT, 0)
        use = struct.pack("<11Q6I2Q", 1, 0, 1, 1000 + i, 1000 + i, 1, 300 + i, 0, 0, 300 + i, 0, *[0] * 6,
                          at + 2 * LOCK * (i + 1) + LOCK if i + 1 < count else uses, at + 2 * LOCK * i)
        data += lock + use
    struct.pack_into("<Q", data, lockset, at)
    struct.pack_into("<Q", data, waiter + WAITER_USES_AT, at + LOCK)
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
    kinds = {"deep": deep, "locks": locks}
    print(texts(data, used) if kind == "texts" else kinds[kind](data, used, int(sys.argv[4])), "records")
    with open(target, "wb") as file:
        file.write(data)
        file.truncate(size)


if __name__ == "__main__":
    main()
