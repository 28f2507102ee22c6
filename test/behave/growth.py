#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""growth.py SEGMENT PID EVERY TIMES - prints, TIMES times after EVERY seconds each, a line "SECONDS USED PROGRAM HELPER
DESCRIPTORS": used bytes of the segment, kB that the program and its helper have for themselves (RssAnon),
without shared memory), and how many descriptors the helper has."""
import os
import struct
import sys
import time


def own_kb(pid):
    with open(f"/proc/{pid}/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["RssAnon"].split()[0])


def main():
    path, pid, every, times = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    start = time.monotonic()
    for i in range(times):
        time.sleep(every)
        with open(path, "rb") as file:
            head = file.read(256)
        helper = struct.unpack_from("<I", head, 200)[0]
        print(f"{time.monotonic() - start:.0f}", struct.unpack_from("<Q", head, 64)[0], own_kb(pid), own_kb(helper),
              len(os.listdir(f"/proc/{helper}/fd")), flush=True)


if __name__ == "__main__":
    main()
