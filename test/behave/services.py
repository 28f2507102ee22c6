#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""services.py see PID | check SEEN REPORT - the processes of a session, while it runs and in its report.

see: prints the program PID and all its descendants that record, as JSON: pid, name, user, the segment that each
writes, and its CPU time so far; and the owner of each segment by the session's own table (segment/FORMAT.md).
check: fails unless the JSON report has a thread of each of these processes, and their CPU time, each user has one
segment that nobody else writes, and its owner is that user, also in the report's own list.  Prints how many processes each user had.
"""
import collections
import json
import os
import struct
import sys

LEVELS, PLACES, PLACE = 2048, 64, 32	# offsets in the first page, and the size of an entry


def descendants(pid):
    found = [pid]
    for one in found:
        for task in os.listdir(f"/proc/{one}/task"):
            with open(f"/proc/{one}/task/{task}/children") as file:
                found += [int(child) for child in file.read().split()]
    return found


def segment_of(pid):
    """Inode of the segment that it may write."""
    with open(f"/proc/{pid}/maps") as file:
        found = {line.split()[4] for line in file if "memfd:hotpath" in line and " rw-s " in line}
    assert len(found) <= 1, (pid, found)
    return found.pop() if found else None


def process(pid):
    with open(f"/proc/{pid}/status") as file:
        status = dict(line.split(":\t", 1) for line in file if ":\t" in line)
    with open(f"/proc/{pid}/schedstat") as file:
        cpu_ns = int(file.read().split()[0])
    return {"pid": pid, "name": status["Name"].strip(), "user": int(status["Uid"].split()[1]),
            "segment": segment_of(pid), "cpu_ns": cpu_ns}


def owners(segment):
    """Users of the further levels, as the helper of that segment has them."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as file:
                is_helper = file.read().startswith("hotpath-sampler")
            if not is_helper or str(os.stat(f"/proc/{pid}/fd/3").st_ino) != segment:
                continue
            with open(f"/proc/{pid}/fd/3", "rb") as file:
                page = file.read(4096)
        except OSError:
            continue
        count, = struct.unpack_from("<I", page, LEVELS + 8)
        return [struct.unpack_from("<I", page, LEVELS + PLACES + PLACE * i + 16)[0] for i in range(count)]
    raise AssertionError("no helper")


def see(pid):
    all_of_it = [one for one in map(process, descendants(pid)) if one["segment"]]
    first = next(one for one in all_of_it if one["pid"] == pid)
    return {"processes": all_of_it, "owner": first["user"], "further": owners(first["segment"])}


def check(seen, report):
    listed = {row["pid"] for row in report["threads"]["raw"]}
    cpu_ns = sum(row["cpu_ns"] for row in report["processes"]["raw"])
    seen_ns = sum(one["cpu_ns"] for one in seen["processes"])
    # The kernel has two counts of it, in steps of up to a microsecond.
    assert cpu_ns >= 0.99 * seen_ns, f"{cpu_ns} ns of CPU in the report, {seen_ns} before the end"
    users = collections.defaultdict(set)
    for one in seen["processes"]:
        assert one["pid"] in listed, f"{one} is not in the report"
        users[one["user"]].add(one["segment"])
    assert all(len(segments) == 1 for segments in users.values()), users
    assert len(set.union(*users.values())) == len(users), users
    assert set(users) <= {seen["owner"], *seen["further"]}, (users, seen)
    segments = report["meta"]["segments"]
    assert [one["uid"] for one in segments] == [seen["owner"], *seen["further"]], (segments, seen)
    for one in seen["processes"]:
        assert any(one["pid"] in of["pids"] and of["uid"] == one["user"] for of in segments), (one, segments)
    assert all(of["complete"] for of in segments), segments
    count = collections.Counter(one["user"] for one in seen["processes"])
    print("users:", *(f"{user}:{count[user]}" for user in sorted(count)), "owners:", seen["owner"],
          *sorted(set(seen["further"])))


def main():
    if sys.argv[1] == "see":
        json.dump(see(int(sys.argv[2])), sys.stdout)
        return
    with open(sys.argv[2]) as seen, open(sys.argv[3]) as report:
        check(json.load(seen), json.load(report))


if __name__ == "__main__":
    main()
