#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""read_heaps.py SEGMENT [maps|rules] - the heaps of a segment, by sections 4 and 10 of FORMAT.md alone.

Prints a line for each call path: COUNT BYTES FREES FREED TEMPORARY LIVE LIVE_BYTES PEAK_BYTES, of direct
maps COUNT BYTES FREED RANGES LIVE_BYTES PEAK_BYTES; then "drawn SIZES LIVES", how many blocks were drawn.
Of rules one line: how many there are, and of how many return addresses.
"""
import collections
import sys

from read_format import LINE, Segment, field

STEP = 16
PLAIN = 1 << 31


def read_steps(segment, heap, steps, objects):
    """id -> (caller's id, what it is); objects of the same file are one."""
    for offset, chunk in segment.walk(field(heap, "Q", 112), 64, 0):
        count = min(field(chunk, "I", 8), field(chunk, "I", 12))
        body = segment.data[offset + 64:offset + 64 + count * STEP]
        for i in range(count):
            caller, number, address, _ = (field(body, "I", i * STEP + 4 * n) for n in range(4))
            if number and not number & PLAIN and number not in objects:
                record = segment.record(number * LINE, 128)
                objects[number] = record and (segment.text(field(record, "Q", 48)), record[16:48])
            what = (objects[number] if number and not number & PLAIN else number, address)
            steps[(offset + 64) // STEP + i] = (caller, what)


def read_rules(segment, heap):
    """(object, address) of each."""
    oldest = [chunk for _, chunk in segment.walk(field(heap, "Q", 112), 64, 0)][-1:]
    for offset, chunk in segment.walk(field(oldest[0], "Q", 16), 64, 0) if oldest else ():
        count = min(field(chunk, "I", 8), field(chunk, "I", 12))
        body = segment.data[offset + 64:offset + 64 + count * STEP]
        for i in range(count):
            assert field(body, "B", i * STEP + 15) <= 4
            yield field(body, "I", i * STEP), field(body, "I", i * STEP + 4)


def path_of(steps, at):
    path = []
    while at in steps:
        at, what = steps[at]
        path.append(what)
    return tuple(path)


def held_at_peak(site, epoch, is_now):
    live = field(site, "q", 8) - field(site, "q", 24) - field(site, "q", 72) - field(site, "q", 80)
    is_noted = not is_now and field(site, "I", 56) == epoch
    return field(site, "q", 88) + (field(site, "q", 48) if is_noted else live)


def block_numbers(site, peak):
    allocs, size, frees, freed, brief, brief_size = (field(site, "Q", 8 * n) for n in range(6))
    far, far_size = field(site, "Q", 64), field(site, "Q", 72)
    return (allocs + brief, size + brief_size, frees + far + brief, freed + far_size + brief_size, brief,
            allocs - frees - far, size - freed - far_size, peak)


def map_numbers(site, peak):
    calls, size, gone, freed = (field(site, "Q", 8 * n) for n in range(4))
    return calls, size, freed, calls + field(site, "Q", 120) - gone, size - freed, peak


def read_blocks(segment, heaps, process, add):
    live = sum(field(h, "q", 64) + field(h, "q", 80) - field(h, "q", 48) for h in heaps)
    is_now = live > field(process, "q", 152)
    for heap in heaps:
        for _, site in segment.walk(field(heap, "Q", 104), 128, 96):
            peak = held_at_peak(site, field(process, "I", 176), is_now)
            add(site, block_numbers(site, peak))
        pending = field(heap, "Q", 72)
        if pending:
            size = field(heap, "Q", 80)
            add(segment.record(pending, 128), (1, size, 0, 0, 0, 1, size, size if is_now else 0))


def read_maps(segment, heaps, add):
    record = next((segment.record(field(h, "Q", 56), 64) for h in heaps if field(h, "Q", 56)), None)
    if not record:
        return
    is_now = field(record, "q", 0) - field(record, "q", 24) > field(record, "q", 8)
    for heap in heaps:
        for _, site in segment.walk(field(heap, "Q", 664), 128, 96):
            add(site, map_numbers(site, held_at_peak(site, field(record, "I", 16), is_now)))


def main():
    segment = Segment(sys.argv[1])
    sums, steps, objects, drawn, rules = collections.defaultdict(list), {}, {}, [0, 0], []

    def add(site, numbers):
        if not numbers[0]:
            return
        path = path_of(steps, field(site, "I", 104))
        old = sums[path] or [0] * len(numbers)
        sums[path] = [a + b for a, b in zip(old, numbers)]

    for _, process in segment.walk(segment.header("Q", 80), 192, 0):
        heaps = [heap for _, heap in segment.walk(field(process, "Q", 144), 704, 0)]
        for heap in heaps:
            read_steps(segment, heap, steps, objects)
            rules += read_rules(segment, heap)
            drawn[0] += sum(field(heap, "Q", 408 + 8 * n) for n in range(32))
            drawn[1] += sum(field(heap, "Q", 216 + 8 * n) for n in range(24))
        if sys.argv[2:] == ["maps"]:
            read_maps(segment, heaps, add)
        else:
            read_blocks(segment, heaps, process, add)
    if sys.argv[2:] == ["rules"]:
        print(len(rules), len(set(rules)))
        return
    for numbers in sorted(sums.values()):
        print(*numbers)
    print("drawn", *drawn)


if __name__ == "__main__":
    main()
