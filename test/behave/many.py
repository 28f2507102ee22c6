#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""many.py LIBRARY PROGRAM COUNT FOLDER - COUNT concurrent sessions. PROGRAM N calls `work` 2 * N times, writes
a byte to descriptor 3, and ends with status 3 when its input does. Fails unless each has its own report with its own
count, no helper needs more than 16 MB, and neither helpers nor names in /dev/shm are left.
"""
import json
import os
import subprocess
import sys
import time

LIBRARY, PROGRAM, COUNT, FOLDER = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]


def helpers():
    """pids of the helpers of our sessions."""
    mark, found = f"HOTPATH_OUTPUT_PATH={FOLDER}/".encode(), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as comm, open(f"/proc/{pid}/environ", "rb") as environ:
                if comm.read().startswith("hotpath-sampler") and mark in environ.read():
                    found.append(pid)
        except OSError:
            pass
    return found


def most_kb(pid):
    try:
        with open(f"/proc/{pid}/status") as file:
            return max([int(line.split()[1]) for line in file if line.startswith("VmHWM")], default=0)
    except OSError:
        return 0


def start(i, stdin, up):
    env = dict(os.environ, LD_PRELOAD=LIBRARY, HOTPATH_OUTPUT_FORMAT="json", HOTPATH_OUTPUT_PATH=f"{FOLDER}/{i}",
               HOTPATH_KEEP="0", HOTPATH_LIMIT="0")
    with open(f"{FOLDER}/{i}.err", "w") as err:
        return subprocess.Popen(["sh", "-c", f'exec "$0" {100 + i} 3>&{up} {up}>&-', PROGRAM], stdin=stdin, env=env,
                                stdout=subprocess.DEVNULL, stderr=err, pass_fds=(up,))


def is_whole(i):
    try:
        with open(f"{FOLDER}/{i}") as file:
            return file.read().rstrip().endswith("}")
    except OSError:
        return False


def eventually(claim):
    for _ in range(2400):
        if claim():
            return
        time.sleep(0.05)
    raise AssertionError("never")


def work_of(i):
    with open(f"{FOLDER}/{i}") as file:
        rows = json.load(file)["functions_timing"]["raw"]
    return sum(row["calls"] for row in rows if row["name"] == "work")


def main():
    shared = set(os.listdir("/dev/shm"))
    up, told = os.pipe()
    end, go = os.pipe()
    children = [start(i, end, told) for i in range(COUNT)]
    os.close(told)
    os.close(end)
    got = 0
    while got < COUNT:
        some = len(os.read(up, 1000))
        assert some, "one has ended"
        got += some
    most = [most_kb(pid) for pid in helpers()]
    os.close(go)
    assert {child.wait() for child in children} == {3}
    eventually(lambda: all(map(is_whole, range(COUNT))))
    wrong = {i: work_of(i) for i in range(COUNT) if work_of(i) != 2 * (100 + i)}
    print(f"{COUNT} at once, {len(most)} helpers, the largest {max(most, default=0)} kB; wrong: {wrong}")
    assert not wrong and max(most, default=0) < 16384
    eventually(lambda: not helpers())
    assert not {name for name in set(os.listdir("/dev/shm")) - shared if "hotpath" in name}


if __name__ == "__main__":
    main()
