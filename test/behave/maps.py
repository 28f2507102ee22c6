# SPDX-License-Identifier: MIT
"""maps.py REPORT - "FUNCTION CALLS BYTES LEFT RANGES" of the report's direct maps, by function."""
import collections
import json
import sys

sums = collections.defaultdict(lambda: [0, 0, 0, 0])
for row in json.load(open(sys.argv[1]))["direct_maps"]["raw"]:
    add = sums[row["frames"][0]["function"]]
    for i, key in enumerate(("count", "total_bytes", "live_bytes", "live_ranges")):
        add[i] += row[key]
for name, numbers in sums.items():
    print(name, *numbers)
