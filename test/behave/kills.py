#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kills.py BUILD PROGRAM COUNT - kills a program, or its helper, COUNT times at random moments.

PROGRAM FILE calls work() until the second word of FILE is not 0, and keeps in the first one how many calls have
returned. Killed itself, it has a report whose count is that or one more; where the helper is killed it goes on, and
its count is exact. Prints what was wrong and a sum; exits with 1 if there was something.
"""
import json, mmap, os, random, signal, struct, subprocess, sys, tempfile, time

BOUND_S = 60
HELPER_AT = 200    # of its pid in a segment


def wait_for(what):
    deadline = time.monotonic() + BOUND_S
    while time.monotonic() < deadline:
        value = what()
        if value:
            return value
        time.sleep(0.002)
    return None


def report_of(path):
    try:
        return json.load(open(path))
    except (OSError, ValueError):
        return None


def helper_of(segment):
    try:
        with open(segment, "rb") as file:
            file.seek(HELPER_AT)
            return struct.unpack("I", file.read(4))[0]
    except (OSError, struct.error):
        return 0


def trial(build, program, folder, kills_helper):
    """What is wrong, or None."""
    state, segment, report = (os.path.join(folder, name) for name in ("state", "segment", "report"))
    for path in (segment, report):
        if os.path.exists(path):
            os.unlink(path)
    with open(state, "wb") as file:
        file.write(bytes(4096))
    words = mmap.mmap(os.open(state, os.O_RDWR), 4096)
    environment = dict(os.environ, LD_PRELOAD=os.path.join(build, "libhotpath.so"), HOTPATH_SEGMENT_PATH=segment,
                       HOTPATH_OUTPUT_FORMAT="json", HOTPATH_OUTPUT_PATH=report, HOTPATH_KEEP="0")
    child = subprocess.Popen([program, state], env=environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    count = lambda: struct.unpack_from("Q", words)[0]
    if not wait_for(count):
        return "it did not begin"
    if kills_helper and not wait_for(lambda: helper_of(segment)):
        return "no helper"
    time.sleep(random.random() ** 3 * 0.1)
    if kills_helper:
        os.kill(helper_of(segment), signal.SIGKILL)
        time.sleep(random.random() * 0.01)
        struct.pack_into("Q", words, 8, 1)
    else:
        child.kill()
    status = child.wait(timeout=BOUND_S)
    if status != (3 if kills_helper else -signal.SIGKILL):
        return f"status {status}"
    found = wait_for(lambda: report_of(report))
    if not found:
        return "no report"
    calls = sum(row["calls"] for row in found["functions_timing"]["raw"] if row["name"] == "work")
    extra = calls - count()
    return None if extra == 0 or (extra == 1 and not kills_helper) else f"{calls} calls, {count()} were made"


def main():
    build, program, trials = sys.argv[1], sys.argv[2], int(sys.argv[3])
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="kills.") as folder:
        for number in range(trials):
            kills_helper = number % 2 == 1
            error = trial(build, program, folder, kills_helper)
            if error:
                wrong += 1
                print(f"{'helper' if kills_helper else 'program'} killed: {error}", flush=True)
    print(f"{trials} kills, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
