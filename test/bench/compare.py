#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# compare.py record FOLDER [ROUNDS [PROGRAM...]] - records runs of test/bench/compare.c below FOLDER: in each round
#     the program twice, then 10 % slower in one function, then with one more allocation per call.
# All alternate. compare.py busy FOLDER ... - the same next to one busy loop. A second call adds more rounds.
# compare.py judge FOLDER     - how often `hotpath compare` is wrong, and what it finds: a line for each program.
#     It draws 10 or 5 rounds 60 times, so comparisons are not independent of each other: with 24 rounds a share is
#     accurate to some five points.
# compare.py apart FOLDER     - the same for rounds 1 to 10, 11 to 20, ...: independent.
#
# HP_BUILD is the build.  Runs take 0.13 s of CPU time, for which `hotpath compare --runs` takes 7700 samples a second
# on average, from 6160 to 9240, another rate for each pair of runs.  HOTPATH_CPU_HZ sets one rate.
import json
import os
import random
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("HP_BUILD", os.path.join(HERE, "..", "..", "build"))
PROGRAMS = {"instrumented": ["-finstrument-functions"], "plain": [], "threads": ["-DTHREADS=2"]}
VARIANTS = {"a": [], "same": [], "slower": ["-DSLOWER=10"], "more": ["-DMORE"]}
DRAWS = 60
HZ, APART, GOLDEN = 7700, 0.4, 0.6180339887  # as in report/compare/run.c


def build(folder, program):
    for variant, flags in VARIANTS.items():
        place = os.path.join(folder, program, variant)
        os.makedirs(place, exist_ok=True)
        subprocess.run(["cc", "-O2", "-g", "-pthread", *PROGRAMS[program], *flags, "-o", os.path.join(place, "work"),
                        os.path.join(HERE, "compare.c")], check=True)


def run_once(folder, program, variant, number):
    place = os.path.join(folder, program, variant)
    segment = os.path.join(place, "segment")
    rate = round(HZ * (1 + APART * (((number % 10) + 1) * GOLDEN % 1 - 0.5)))
    environ = {**os.environ, "HOTPATH_CPU_HZ": os.environ.get("HOTPATH_CPU_HZ", str(rate)),
               "HOTPATH_OUTPUT_FORMAT": "none", "HOTPATH_KEEP": "0",
               "HOTPATH_METRICS_SERVER_OFF": "1", "HOTPATH_SEGMENT_PATH": segment}
    if os.path.exists(segment):
        os.unlink(segment)
    subprocess.run([f"{BUILD}/hotpath-run", f"{place}/work"], env=environ, check=True)
    with open(f"{place}/{number:03}.json", "wb") as out:
        subprocess.run([f"{BUILD}/hotpath", "report", "-f", "json", "-n", "0", segment], stdout=out, check=True)
    os.unlink(segment)


def count_of(folder, program):
    return len([name for name in os.listdir(f"{folder}/{program}/more") if name.endswith(".json")])


def record(folder, rounds, programs):
    for program in programs:
        build(folder, program)
        first = count_of(folder, program)
        for number in range(first, first + rounds):
            for variant in VARIANTS:
                run_once(folder, program, variant, number)


def compared(folder, program, variant, rounds):
    sides = [[f"{folder}/{program}/{side}/{number:03}.json" for number in rounds] for side in ("a", variant)]
    # Runs within the same second have the same time: a round's later run is as old as its first.
    done = subprocess.run([f"{BUILD}/hotpath", "compare", "-f", "json", "-n", "0", *sides[0], "--", *sides[1]],
                          stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def changes(said):
    """The verdicts on times, and on counts."""
    times, counts = set(), set()
    rows = [("", key, row) for key, row in said["summary"].items()]
    rows += [(row["name"], row["metric"], row) for part in said["sections"].values() for row in part["rows"]]
    for name, metric, row in rows:
        if row["verdict"] in ("more", "less", "new", "gone"):
            is_time = metric in ("wall_ns", "cpu_ns", "own time", "CPU samples")
            (times if is_time else counts).add((name, metric))
    return times, counts


def line(folder, program, size, draws):
    refused = {}
    hits = dict.fromkeys(("alarm", "slower", "slower_other", "more"), 0)
    for variant in ("same", "slower", "more"):
        refused[variant] = 0
        for rounds in draws:
            said = compared(folder, program, variant, rounds)
            times, counts = changes(said)
            refused[variant] += not said["times_judged"]
            if variant == "same":
                hits["alarm"] += bool(times | counts)
            elif variant == "slower":
                hits["slower"] += any(name == "score" for name, _ in times)
                hits["slower_other"] += bool(counts)
            else:
                hits["more"] += ("copy", "blocks") in counts or ("main", "blocks") in counts or \
                    any(metric == "blocks" for _, metric in counts)
    judged = len(draws) - refused["slower"]
    found = f"{hits['slower']}/{judged}" if judged else "-"
    print(f"{program:13} {size:2}+{size:<2}  alarms {hits['alarm']:2}/{len(draws)}  refused {refused['same']:2}/{len(draws)}  "
          f"+10 % found {found:>5}  +1 block found {hits['more']}/{len(draws)}", flush=True)


def main():
    what, folder = sys.argv[1:3]
    if what in ("judge", "apart"):
        for program in sorted(os.listdir(folder)):
            recorded = count_of(folder, program)
            for size in (10, 5):
                draw = random.Random(7)
                line(folder, program, size,
                     [sorted(draw.sample(range(recorded), size)) for _ in range(DRAWS)] if what == "judge" else
                     [range(first, first + size) for first in range(0, recorded - size + 1, size)])
        return
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 24
    loop = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if what == "busy" else None
    try:
        record(folder, rounds, sys.argv[4:] or PROGRAMS)
    finally:
        if loop:
            loop.kill()
            loop.wait()


main()
