#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""possible.py FILE... - the times in JSON reports of functions can all have been.

No function takes longer than its callers, nor longer by itself than with its callees, nor one call
longer than all; the tree's nodes are their own time and that of their callees; each time lies in
its interval; and all of it fits into the lifetimes of the threads.  Files that are no such report,
or not whole, are passed over.  Prints what is not possible, and ends with 1 then.
"""
import json
import sys

ROUNDED = 2  # ns: each number is rounded by itself


class Checked:
    def __init__(self, path):
        self.file = path
        self.wrong = 0

    def holds(self, is_true, *words):
        if not is_true:
            self.wrong += 1
            print(f"{self.file}:", *words)

    def between(self, row, key, low, high):
        if row.get(low) is None or row.get(high) is None or row.get(key) is None:
            return
        self.holds(row[low] - ROUNDED <= row[key] <= row[high] + ROUNDED, row["name"], key, row[key],
                   "is not in", row[low], "..", row[high])

    def functions(self, rows, caller):
        for row in rows:
            self.between(row, "inclusive_ns", "inclusive_low_ns", "inclusive_high_ns")
            self.between(row, "self_ns", "self_low_ns", "self_high_ns")
            self.between(row, "avg_ns", "avg_low_ns", "avg_high_ns")
            if row["running_calls"] or row["name"] == caller:
                continue
            if row["self_ns"] is not None:
                self.holds(row["self_ns"] <= row["inclusive_ns"] + ROUNDED, row["name"], "self",
                           row["self_ns"], "is more than", row["inclusive_ns"])
            for key, value in row.items():
                if key[0] == "p" and key[1:2].isdigit() and value is not None:
                    self.holds(value <= row["inclusive_ns"] + ROUNDED, row["name"], key, value,
                               "is more than", row["inclusive_ns"])

    def path(self, rows):
        for above, row in zip(rows, rows[1:]):
            self.holds(row["inclusive_ns"] <= above["inclusive_ns"] + ROUNDED, row["name"], row["inclusive_ns"],
                       "takes longer than its caller", above["name"], above["inclusive_ns"])
        for row in rows:
            self.between(row, "inclusive_ns", "inclusive_low_ns", "inclusive_high_ns")
            self.between(row, "self_ns", "self_low_ns", "self_high_ns")

    def tree(self, nodes, is_whole):
        """Of a large tree only the heaviest nodes are there."""
        below, children = {}, {}
        for node in nodes:
            below[node["parent"]] = below.get(node["parent"], 0) + node["inclusive_ns"]
            children[node["parent"]] = children.get(node["parent"], 0) + 1
        for node in nodes:
            self.between(node, "inclusive_ns", "inclusive_low_ns", "inclusive_high_ns")
            self.between(node, "self_ns", "self_low_ns", "self_high_ns")
            parts = node["self_ns"] + below.get(node["id"], 0)
            rounded = ROUNDED + children.get(node["id"], 0)
            self.holds(parts <= node["inclusive_ns"] + rounded, node["name"], "and its callees take",
                       parts, "of", node["inclusive_ns"])
            self.holds(not is_whole or parts >= node["inclusive_ns"] - rounded, node["name"],
                       "and its callees take only", parts, "of", node["inclusive_ns"])
        return below.get(0, 0)


def check(path):
    checked = Checked(path)
    try:
        with open(path) as file:
            report = json.load(file)
        timing, summary = report["functions_timing"], report["summary"]
    except (ValueError, KeyError, TypeError, OSError):
        return 0
    if "raw" not in timing or summary.get("damaged"):
        return 0
    checked.functions(timing["raw"], timing.get("caller_name"))
    tree = report.get("calltree") or {}
    if "tree" in tree:
        checked.path(tree["raw"])
        whole = checked.tree(tree["tree"], len(tree["tree"]) == tree["tree_total_count"])
        threads = summary.get("hooked_threads", 0)
        checked.holds(whole <= summary["wall_ns"] * threads + ROUNDED, "all functions took", whole,
                      "in", threads, "threads and", summary["wall_ns"])
    return checked.wrong


if __name__ == "__main__":
    sys.exit(sum(check(path) for path in sys.argv[1:]) > 0)
