#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hostile_file.py SEGMENT OUT CLAIM [SEED [LOOPS [WIDE]]] - a sparse copy that claims to be larger than it is.

CLAIM bytes are said to be in use, and the file ends there.  Of what stands in the segment, LOOPS of all
offsets lead back to their own record or to another one (a share, 0 to 1), and WIDE of all 32-bit words that
are not 0 are large numbers, or lead to another record.
"""
import random
import struct
import sys

PAGE, LINE = 4096, 64
SIZE_AT, USED_AT = 16, 64


def words(data, used):
    for place in range(PAGE, used - 8, 8):
        yield place, struct.unpack_from("<Q", data, place)[0]


def damage(data, used, claim, seed, loops, wide):
    draw = random.Random(seed)
    records = sorted({word for _, word in words(data, used)
                      if PAGE <= word < used and word % LINE == 0})
    large = [0xffffffff, 0x7fffffff, 0x1000000, 0x100000, claim // LINE - 100]
    for place, word in list(words(data, used)):
        if PAGE <= word < used and word % LINE == 0:
            if draw.random() < loops:
                aim = draw.choice([place // LINE * LINE, draw.choice(records)])
                struct.pack_into("<Q", data, place, aim)
            continue
        for half in (place, place + 4):
            if struct.unpack_from("<I", data, half)[0] and draw.random() < wide:
                aim = draw.choice(large + [draw.choice(records) // LINE] * 3)
                struct.pack_into("<I", data, half, aim & 0xffffffff)


def main():
    source, target, claim = sys.argv[1], sys.argv[2], int(sys.argv[3])
    seed, loops, wide = (sys.argv[4:7] + ["0", "0", "0"][len(sys.argv[4:7]):])
    with open(source, "rb") as file:
        head = file.read(PAGE)
        used = struct.unpack_from("<Q", head, USED_AT)[0]
        data = bytearray(head + file.read(used - PAGE))
    damage(data, used, claim, int(seed), float(loops), float(wide))
    struct.pack_into("<Q", data, USED_AT, claim)
    struct.pack_into("<Q", data, SIZE_AT, claim)
    with open(target, "wb") as file:
        file.write(data)
        file.truncate(claim)


if __name__ == "__main__":
    main()
