#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""read_format.py SEGMENT - reads a segment by segment/FORMAT.md alone.

Prints a line for each function: OBJECT ADDRESS CALLS INCLUSIVE_NS SELF_NS MEDIAN_NS.  It shares no
code with the report, so if the two agree, the page is right.
"""
import math
import struct
import sys

MAGIC = 0x3148544150544F48
LINE = 64
PAGE = 4096
FINE = 1024
GROUPS = 59
GROUP = 64
TAIL_FEW = 16
TAIL_RARE = 32


class Segment:
    """Checked access: sections 2 and 4."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read(PAGE)
            if len(self.data) < 256 or self.header("Q", 0) != MAGIC:
                sys.exit("not a segment")
            # The file is sparse: of its 1 GiB, read only what is used.
            file.seek(0)
            self.data = file.read(max(256, min(self.header("Q", 16), self.header("Q", 64))))
        if self.header("I", 8) != 1 or self.header("I", 12) < 256:
            sys.exit("another format")
        size, used = self.header("Q", 16), self.header("Q", 64)
        self.end = min(size, used)
        if size % PAGE or len(self.data) < self.end:
            sys.exit("truncated")
        self.steps = self.end // LINE

    def header(self, kind, place):
        return struct.unpack_from("<" + kind, self.data, place)[0]

    def record(self, offset, size):
        if offset < PAGE or offset % LINE or offset >= self.end or size > self.end - offset:
            return None
        return self.data[offset:offset + size]

    def walk(self, offset, size, next_place, kind="Q", unit=1):
        """(offset, record) of each record of a list."""
        while offset and self.steps:
            self.steps -= 1
            record = self.record(offset, size)
            if not record:
                return
            yield offset, record
            offset = field(record, kind, next_place) * unit

    def text(self, offset):
        head = self.record(offset, 4)
        body = head and self.record(offset, 4 + field(head, "I", 0))
        return body[4:].decode(errors="replace") if body else ""

    def ns_per_tick(self):
        ticks = self.header("Q", 144) - self.header("Q", 128)
        ns = self.header("Q", 152) - self.header("Q", 136)
        return ns / ticks if ticks > 0 and ns > 0 else 0


def field(record, kind, place):
    return struct.unpack_from("<" + kind, record, place)[0]


class Function:
    """Sums over all blocks."""

    def __init__(self):
        self.calls = 0
        self.rows = []
        self.counters = {}
        self.least = None
        self.most = 0

    def add_histogram(self, segment, record):
        carries = segment.record(field(record, "Q", 112), GROUP * 4)
        for group in range(GROUPS):
            place = field(record, "I", 128 + 4 * group)
            low = place and segment.record(place * LINE, GROUP * 4)
            if not low:
                continue
            high_place = field(carries, "I", 4 * group) if carries else 0
            high = high_place and segment.record(high_place * LINE, GROUP * 4)
            for i in range(GROUP):
                count = field(low, "I", 4 * i) + (field(high, "I", 4 * i) << 31 if high else 0)
                if count:
                    self.counters[group, i] = self.counters.get((group, i), 0) + count
        if field(record, "Q", 96):
            least = field(record, "Q", 40)
            self.least = least if self.least is None else min(self.least, least)
            self.most = max(self.most, field(record, "Q", 96))

    def percentile(self, percent):
        """Middle of the bucket, in ticks: section 6."""
        rank = math.ceil(percent / 100 * sum(self.counters.values()))
        for (group, place), count in sorted(self.counters.items()):
            if count >= rank:
                if group == 0:
                    return place
                value = (GROUP + place) * 2 ** (group - 1) + 2 ** (group - 1) / 2
                return min(max(value, self.least), self.most)
            rank -= count
        return 0

    def mean_timed(self):
        count = sum(row["timed"] for row in self.rows)
        return max(0, sum(row["self_timed"] for row in self.rows) / FINE / count) if count else 0

    def times(self):
        """(inclusive, own) in ticks: section 5."""
        ticks = sum(row["self_sampled"] for row in self.rows) / FINE
        count = sum(row["sampled"] - tail_of(row) for row in self.rows)
        mean = ticks / count if count > 0 else self.mean_timed()
        parts = [row_times(row, mean) for row in self.rows]
        return tuple(max(0, sum(column)) for column in zip(*parts))


def tail_of(row):
    return (row["tail_carry"] << 32) + row["tail_count"]


def row_times(row, usual):
    others = row["calls"] - row["timed"] - row["nested"]
    drawn, tail = row["sampled"], tail_of(row)
    body = row["self_sampled"] / FINE
    if drawn == 0:
        part = others * usual
    elif row["slow_least"] or (tail < TAIL_FEW and tail * TAIL_RARE < drawn):
        mean = body / (drawn - tail) if drawn > tail else 0
        part = mean * (others - tail) + row["tail_ticks"]
    else:
        part = (body + row["tail_ticks"]) * others / drawn
    return row["outer_timed"] + row["below"] / FINE + part, row["self_timed"] / FINE + part


ROW = {
    "calls": ("Q", 0), "below": ("q", 32), "function": ("I", 64), "nested": ("Q", 88),
    "timed": ("Q", 40), "self_timed": ("q", 48), "outer_timed": ("q", 56), "sampled": ("Q", 96),
    "self_sampled": ("q", 104), "tail_count": ("I", 76), "tail_ticks": ("Q", 80),
    "tail_carry": ("Q", 120),
}


def key_of(segment, record):
    module = segment.record(field(record, "Q", 72), 64)
    known = module and segment.record(field(module, "Q", 8), 128)
    path = segment.text(field(known, "Q", 48)) if known else "-"
    return path, field(record, "Q", 80)


def read_block(segment, block, functions):
    here, slow_least = {}, {}
    for offset, record in segment.walk(field(block, "Q", 32), 576, 64):
        slow_least[offset] = field(record, "I", 380)
        here[offset] = functions.setdefault(key_of(segment, record), Function())
        here[offset].add_histogram(segment, record)
    for _, record in segment.walk(field(block, "Q", 40), 128, 72, "I", LINE):
        row = {name: field(record, *where) for name, where in ROW.items()}
        place = row["function"] * LINE
        if place in here:
            here[place].calls += row["calls"]
            row["slow_least"] = slow_least[place]
            here[place].rows.append(row)


def main():
    segment = Segment(sys.argv[1])
    functions = {}
    for _, process in segment.walk(segment.header("Q", 80), 192, 0):
        for _, block in segment.walk(field(process, "Q", 32), 192, 0):
            read_block(segment, block, functions)
    rate = segment.ns_per_tick()
    for (path, address), function in sorted(functions.items()):
        if not function.calls:
            continue
        inclusive, own = function.times()
        print(path, hex(address), function.calls, round(inclusive * rate), round(own * rate),
              round(function.percentile(50) * rate))


if __name__ == "__main__":
    main()
