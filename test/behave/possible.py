#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""possible.py FILE... - the numbers in JSON reports can all be true at once.

In every row of every section the bounds, percentiles, mean, longest and total of one quantity are
in order, and nothing is negative.  No function takes longer than its callers, nor longer by itself
than with its callees, nor one call longer than all; the tree's nodes are their own time and that of
their callees; and all of it fits into the lifetimes of the threads.  Rows add up to their headline
where all are there, and stay below it where some are left out.  Other files, incomplete and
damaged ones are skipped; in one of a running program, whose counters change while they
are read, only the signs and the bounds are checked.  Prints contradictions, and then ends with 1.
"""
import json
import re
import sys

ROUNDED = 2  # ns: each number is rounded by itself


# Relations between the numbers of one quantity in a row, from the smallest to the largest.
PERCENTILE = re.compile(r"(.*?)_?p(\d+(?:\.\d+)?)(_ns)?$")
MAY_FALL = {"mem_diff", "alloc_dealloc_diff", "cpu_percent", "parent"}
PUBLISHED = {"debug", "debug_dbg", "debug_val", "debug_gauges"}  # the program's own values
# Sections whose rows are parts of one whole, so that their shares are, too.
PARTS = {"functions_alloc", "alloc_sites", "leaks", "direct_maps", "functions_cpu", "offcpu", "bound", "waits",
         "processes"}
INCLUSIVE = {"functions_alloc", "functions_cpu"}  # on request


def name_of(row):
    for key in ("name", "label", "object", "first", "question"):
        if key in row:
            return row[key]
    return "?"


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Checked:
    def __init__(self, path, summary):
        self.file = path
        self.is_running = summary.get("running", False)
        self.threads_seen = summary.get("hooked_threads", 0)
        self.wrong = 0

    def at_most(self, section, row, less, more, share=0):
        """Both keys of the row, if it has them as numbers; `share` of the larger is forgiven."""
        if not is_number(row.get(less)) or not is_number(row.get(more)):
            return
        self.holds(row[less] <= row[more] * (1 + share) + ROUNDED, section, name_of(row), less, row[less],
                   "is more than", more, row[more])

    def bounds(self, section, row):
        """X_low_ns <= X_ns <= X_high_ns, also X_error_ns >= 0, whatever X is."""
        for key in row:
            if "_low" in key:
                self.at_most(section, row, key, key.replace("_low", "", 1))
                self.at_most(section, row, key, key.replace("_low", "_high", 1))
            elif "_high" in key:
                self.at_most(section, row, key.replace("_high", "", 1), key)

    def ranks(self, section, row):
        """Percentiles rise, and none exceeds the longest."""
        ranks = {}
        for key, value in row.items():
            match = PERCENTILE.fullmatch(key)
            if match and is_number(value):
                ranks.setdefault((match[1], match[3] or ""), []).append((float(match[2]), key))
        for (prefix, unit), keys in ranks.items():
            keys.sort()
            for (_, less), (_, more) in zip(keys, keys[1:]):
                self.at_most(section, row, less, more)
            self.at_most(section, row, keys[-1][1], f"{prefix}_max{unit}")

    def longest(self, section, row):
        """The mean is at most the longest, and the longest at most the total."""
        for key in row:
            if not key.endswith("_max_ns"):
                continue
            stem = key[:-len("max_ns")]
            self.at_most(section, row, stem + "avg_ns", key)
            # A hold with only a known minimum is compared by the bounds.
            self.at_most(section, row, key, stem + ("total_high_ns" if stem + "total_high_ns" in row else "total_ns"))
        self.at_most(section, row, "longest_ns", "total_ns")

    def row(self, section, row):
        for key, value in row.items():
            if is_number(value) and key not in MAY_FALL and not key.endswith("_diff"):
                self.holds(value >= 0 or section in PUBLISHED, section, name_of(row), key, value, "is negative")
        self.bounds(section, row)
        if self.is_running:
            return
        self.ranks(section, row)
        self.longest(section, row)
        for part, whole in (("sampled_count", "count"), ("sampled_calls", "calls"), ("allocating_calls", "calls"),
                            ("contended", "count"), ("temporary_count", "count"), ("closed_instances", "instances"),
                            ("queue_size", "max_queue_size"), ("self_samples", "inclusive_samples"),
                            ("peak_bytes", "total_bytes"), ("failed", "runs"),
                            ("total_bytes", "inclusive_bytes"), ("count", "inclusive_count")):
            if section == "functions_alloc" or part not in ("total_bytes", "count"):
                self.at_most(section, row, part, whole)

    def sums(self, section, rows, whole, key, told, is_all):
        """The rows' `key` adds up to `told`, or to less if rows are omitted."""
        if not is_number(told) or any(not is_number(row.get(key)) for row in rows):
            return
        total = sum(row[key] for row in rows)
        rounded = ROUNDED + len(rows)
        if key == "peak_bytes" and self.threads_seen > 1:   # what a thread may add before it looks at the others
            rounded += self.threads_seen * (4096 + told // 1024)
        self.holds(total <= told + rounded, section, "sum of", key, total, "is more than", whole, told)
        self.holds(not is_all or total >= told - rounded, section, "sum of", key, total, "is less than", whole, told)

    def section(self, name, section):
        rows = section["raw"]
        # With another metric, functions that have nothing of it get no row.
        is_all = section.get("total_count") == len(rows) and (name != "functions_alloc" or
                                                              "llocated" in section["description"])
        self.holds(section.get("included_count", len(rows)) == len(rows), name, "says", section.get("included_count"),
                   "rows and has", len(rows))
        self.holds(section.get("total_count", len(rows)) >= len(rows), name, "has more rows than all")
        self.holds(rows or section.get("total_count") or section.get("message"), name, "is empty and does not say why")
        for row in rows:
            self.row(name, row)
        if self.is_running:
            return
        rows = [row for row in rows if row.get("kind") != "allocator"]  # besides the program's own
        # A call's bytes and samples count for all its callers if that was requested.
        is_apart = name not in INCLUSIVE or any(word in section["description"] for word in ("exclusive", "without callees"))
        if name in PARTS and is_apart:
            for key in ("percent", "percent_total", "percent_live", "cpu_percent"):
                parts = [row[key] for row in rows if is_number(row.get(key))]
                self.holds(sum(parts) <= 100 + 0.001 * len(parts) + 0.001, name, key, "adds up to", sum(parts))
        for key, whole, *others in SUMS.get(name, ()):
            told = section.get(whole)
            if is_number(told):
                told -= sum(section.get(other, 0) for other in others)
            self.sums(name, rows, whole, key, told, is_all)

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


    def samples(self, section):
        for row in section["raw"]:
            self.holds(row["inclusive_samples"] <= section["sample_count"], "functions_cpu", row["name"],
                       row["inclusive_samples"], "of", section["sample_count"], "samples")
            self.at_most("functions_cpu", row, "self_ns", "inclusive_ns")
        self.at_most("functions_cpu", section, "attributed_samples", "total_samples")
        self.at_most("functions_cpu", section, "profiler_sample_count", "sample_count")

    def threads(self, report):
        """A thread's activities add up to its lifetime."""
        for row in (report.get("thread_states") or {}).get("raw", ()):
            parts = [row[key] for key in ("ran_ns", "ready_ns", "waited_ns", "stopped_ns", "unwatched_ns")
                     if is_number(row.get(key))]
            if len(parts) == 5 and is_number(row.get("life_ns")):
                self.holds(abs(sum(parts) - row["life_ns"]) <= 4 * ROUNDED, "thread_states", row["name"],
                           "parts of", row["life_ns"], "add up to", sum(parts))
        for row in (report.get("threads") or {}).get("raw", ()):
            self.at_most("threads", row, "cpu_ns", "life_ns", 0.01)
            if is_number(row.get("cpu_percent_avg")) and row.get("life_ns") and row.get("threads") == 1:
                average = 100 * row["cpu_ns"] / row["life_ns"]
                self.holds(abs(average - row["cpu_percent_avg"]) <= 0.1, "threads", row["name"], "average",
                           row["cpu_percent_avg"], "is not", average)

    def summary(self, report):
        summary = report["summary"]
        for key, value in summary.items():
            if is_number(value):
                self.holds(value >= 0, "summary", key, value, "is negative")
        for name in ("functions_timing", "functions_cpu", "calltree"):
            told = (report.get(name) or {}).get("total_elapsed_ns")
            self.holds(told in (None, summary["wall_ns"]), name, "elapsed", told, "is not", summary["wall_ns"])
        states = report.get("thread_states") or {}
        if "raw" in states and states.get("total_count") == len(states["raw"]):
            known = [row["waited_ns"] for row in states["raw"] if is_number(row.get("waited_ns"))]
            waited = sum(known)
            self.holds(not known or len(known) < len(states["raw"]) or summary["blocked_ns"] <= waited * 1.01 + 1e6, "summary blocked",
                       summary["blocked_ns"], "of", waited)


# Keys of rows that add up to one of the section's own.
SUMS = {
    "functions_alloc": (("total_bytes", "allocated_bytes", "outside_bytes"),
                        ("count", "allocated_count", "outside_count")),
    "alloc_sites": (("total_bytes", "allocated_bytes"), ("count", "allocated_count"), ("live_bytes", "live_bytes"),
                    ("live_count", "live_count"), ("peak_bytes", "peak_bytes"), ("temporary_count", "temporary_count"),
                    ("frees", "freed_count"), ("freed_bytes", "freed_bytes")),
    "leaks": (("live_bytes", "live_bytes"), ("live_count", "live_count")),
    "direct_maps": (("total_bytes", "mapped_bytes"), ("live_bytes", "live_bytes"), ("count", "mapped_count")),
    "processes": (("runs", "run_count"), ("cpu_ns", "cpu_ns")),
}


def read(path):
    try:
        with open(path) as file:
            report = json.load(file)
        if report["type"] == "hotpath_report" and not report["summary"].get("damaged"):
            return report
    except (ValueError, KeyError, TypeError, OSError):
        pass
    return None


def check(path):
    report = read(path)
    if not report:
        return 0
    checked = Checked(path, report["summary"])
    for name, section in report.items():
        if isinstance(section, dict) and "raw" in section:
            checked.section(name, section)
    if checked.is_running:
        return checked.wrong
    checked.summary(report)
    checked.threads(report)
    timing, summary, tree = report.get("functions_timing") or {}, report["summary"], report.get("calltree") or {}
    if "raw" in timing:
        checked.functions(timing["raw"], timing.get("caller_name"))
    if (report.get("functions_cpu") or {}).get("raw"):
        checked.samples(report["functions_cpu"])
    if "tree" in tree:
        checked.path(tree["raw"])
        whole = checked.tree(tree["tree"], len(tree["tree"]) == tree["tree_total_count"])
        threads = summary.get("hooked_threads", 0)
        checked.holds(whole <= summary["wall_ns"] * threads + ROUNDED, "all functions took", whole,
                      "in", threads, "threads and", summary["wall_ns"])
    return checked.wrong


if __name__ == "__main__":
    sys.exit(sum(check(path) for path in sys.argv[1:]) > 0)
