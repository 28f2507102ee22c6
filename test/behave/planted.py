#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""planted.py HOTPATH-RUN FOLDER [NAME...]

Programs with one known fault each, and programs without one that are known.  For each fault: is the
first finding the right one, and is its bound at most 5 points below the fix's real gain? The gain
is measured without the profiler, in five alternating runs of both; if these scatter by more than
the difference the machine is too busy, and the bound is not judged. If threads mostly waited for a
core, or the fix gains less than 10 %, no finding is required. Healthy programs have no finding, or
those named here.  Prints a table; exits 1 if something is wrong.  FOLDER has the programs `planted`, `planted_once`, `planted_again`, `planted_turns`, `planted_kept`, `planted_cc`, `planted_calls`
(with hooks), `held`, `digests`, and `planted_sql` where SQLite is."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

RUN, FOLDER, ONLY = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:]
ROUNDS = 5
POINTS = 5
WORTH = 10

# Name, command, the command with the fix ("" = no gain is claimed), rules of which the first finding must be one.
FAULTS = [
    *[(name, f"./planted {name}", f"./planted {name} fixed" if fix else "", rules) for name, fix, rules in [
        ("contended", True, "lock-contention"),
        ("lock-across-sleep", True, "lock-across-io"),
        ("lock-across-disk", True, "lock-across-io"),
        ("write-lock", True, "lock-across-io"),
        ("disk", True, "disk-per-record"),
        ("sleeps", True, "sleeps"),
        ("polls-flag", True, "sleeps"),
        ("opens", True, "open-per-item"),
        ("opens-setting", True, "open-per-item"),
        ("children", True, "waits-for-children"),
        ("yields", False, "yield-spin"),
        ("uneven", True, "imbalance"),
        ("threads", True, "thread-per-item"),
        ("queue-full", True, "queue-full"),
        ("queue-empty", True, "queue-empty"),
        ("slow-worker", True, "one-busy-thread"),
        ("socket", True, "socket-io"),
        ("small-writes", True, "small-io"),
        ("small-reads", True, "small-io"),
        ("leak", False, "leak"),
        ("peak", True, "page-faults peak"),
        ("fresh-pages", True, "page-faults"),
        ("moves", True, "copies"),
        ("long-strings", True, "string-scan"),
        ("scan", True, "linear-search"),
    ]],
    ("recursion", "./planted_calls recursion", "./planted_calls recursion fixed", "recursion"),
    *[(name, f"./planted_cc {name}", f"./planted_cc {name} fixed", rules) for name, rules in [
        ("search", "linear-search"),
        ("erases", "moves-elements"),
        ("churn", "alloc-churn"),
        ("copies", "copies-values copies"),
        ("shared", "lock-contention"),
        ("concats", "copies"),
        ("slow-taker", "one-busy-thread"),
        ("throws", "exceptions"),
        ("regexes", "prepare-per-item alloc-churn"),
    ]],
    ("spins", "./planted_cc spins", "", "spin"),
    *[(name, f"./planted_once {name}", f"./planted_once {name} fixed", rules) for name, rules in [
        ("patterns", "prepare-per-item"),
        ("clears", "clears"),
        ("connections", "connect-per-item"),
    ]],
    *[(f"held {what}", f"./held {what}", f"./held {what} outside", "lock-across-io")
      for what in ("sleep", "fsync")],
    ("digests", "./digests inside", "./digests outside", "lock-contention"),
    *[(name, f"./planted_again {name}", f"./planted_again {name} fixed", rules) for name, rules in [
        ("sorts", "sorts-again"),
        ("values", "copies-values"),
        ("stamps", "call-per-item"),
        ("herd", "wakes-many"),
        ("scans", "lock-contention"),
        ("texts", "formats-text alloc-churn"),
        ("messages", "delayed-ack"),
    ]],
    *[(name, f"./planted_turns {name}", f"./planted_turns {name} fixed", rules) for name, rules in [
        ("reserves", "reserves-again"),
        ("maps", "map-per-item"),
        ("draws", "library-lock"),
        ("asks", "busy-poll"),
        ("timeouts", "timed-waits"),
        ("pairs", "hand-over-per-item"),
        ("numbers", "linear-search"),
        ("flags", "spin"),
        ("rests", "copies"),
        ("tasks", "waits-for-threads"),
    ]],
    *[(name, f"./planted_kept {name}", f"./planted_kept {name} fixed", rules) for name, rules in [
        ("resolves", "call-per-item"),
        ("tickets", "alloc-churn"),
        ("grows", "copies-values"),
    ]],
    ("sessions", "./planted_kept sessions", "", "leak"),
    ("inserts", "./planted_sql inserts", "./planted_sql inserts fixed", "prepare-per-item"),
    ("gil", "python3 gil.py", "", "gil"),
    ("shell loop", "dash loop.sh", "", "process-per-item"),
]

# Name, command, rules that apply to it all the same.
HEALTHY = [
    *[(f"{name} fixed", f"./planted {name} fixed", "") for name in ("contended", "moves", "long-strings")],
    *[(f"{name} fixed", f"./planted_cc {name} fixed", "") for name in ("search", "shared", "concats", "throws")],
    ("writer", "./planted_cc writer", ""),
    ("held outside", "./held sleep outside", ""),
    *[(f"{name} fixed", f"./planted_once {name} fixed", "") for name in ("patterns", "clears")],
    ("connections fixed", "./planted_once connections fixed", "socket-io"),  # one byte each
    ("large-pattern", "./planted_once large-pattern", "alloc-churn peak leak"),  # what one regcomp does
    ("first-clear", "./planted_once first-clear", "peak"),
    *[(f"{name} fixed", f"./planted_again {name} fixed", "") for name in ("sorts", "values", "stamps", "texts")],
    *[(name, f"./planted_again {name}", "") for name in ("sort-once", "made", "keys", "holds", "prints")],
    ("slow-messages", "./planted_again slow-messages", ""),
    *[(f"{name} fixed", f"./planted_turns {name} fixed", "") for name in ("reserves", "maps", "numbers", "rests")],
    ("pairs fixed", "./planted_turns pairs fixed", "one-busy-thread"),  # the taker does all the work
    ("draws fixed", "./planted_turns draws fixed", "oversubscribed"),  # four threads compute
    ("asks fixed", "./planted_turns asks fixed", ""),
    *[(name, f"./planted_turns {name}", "") for name in ("reserve-once", "draw-alone", "looks", "steps", "places", "chains", "flags-alone",
                                                         "sort-others")],
    ("serves", "./planted_turns serves", "socket-io small-io queue-empty"),  # one thread serves
    ("asks-rightly", "./planted_turns asks-rightly", "small-io queue-full"),  # eight bytes each
    *[(name, f"./planted_kept {name}", "") for name in ("resolves fixed", "links")],
    ("sessions fixed", "./planted_kept sessions fixed", "alloc-churn"),  # a block for each
    ("grows fixed", "./planted_kept grows fixed", "page-faults alloc-churn"),  # the heap shrinks in between
    ("inserts fixed", "./planted_sql inserts fixed", ""),
    ("query", "./planted_sql query", ""),
    ("polls-peer", "./planted polls-peer", ""),
    ("opens fixed", "./planted opens fixed", ""),
    ("parts", "./planted parts", ""),
    ("write-lock fixed", "./planted write-lock fixed", "lock-contention"),  # readers and a writer
    ("cache", "./planted cache", ""),
    ("large-threads", "./planted large-threads", ""),
    ("table", "./planted table", ""),
    ("gzip", "gzip -k -c words", ""),
    ("xz", "xz -T2 --block-size=1MiB -k -c -2 words", ""),
    ("bzip2", "bzip2 -k -c words", ""),
    ("sha256sum", "sha256sum words words words words words words words words", ""),
    ("sort", "sort -R -o /dev/null words", ""),
    ("awk", "awk '{s+=length($0)*NR} END{print s}' words words", ""),
    ("grep", "grep -c 99.*7 words words words words words words", ""),
    ("sed", "sed -n s/12/34/p words", ""),
    ("wc", "wc words words words words", ""),
    ("diff", "diff words words2", ""),
    ("perl", "perl -e 'my %h; for (1..2000000){$h{$_%5000}++}'", ""),
    ("python", "python3 -c 'print(sum(i*i for i in range(4000000)))'", ""),
    ("sqlite", "sqlite3 :memory: 'create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c "
     "where x<300000) insert into t select x, x*7%1000 from c; select b,count(*),sum(a) from t group by b order by 2 "
     "limit 3'", ""),
    ("pipeline", "sh -c 'seq 1 1000000 | sort -n | tail -1'", ""),
    ("git", f"git -C {os.path.dirname(os.path.abspath(__file__))} log --stat -100", ""),
]


def files():
    with open("words", "w") as out:
        out.writelines(f"{i * 7919 % 1000003} word {i * 104729 % 99991}\n" for i in range(500000))
    with open("words") as words, open("words2", "w") as out:
        out.writelines(line for i, line in enumerate(words) if i % 7)
    with open("gil.py", "w") as out:
        out.write("import threading\n"
                  "def work():\n    s = 0\n    for i in range(4000000):\n        s += i * i\n"
                  "threads = [threading.Thread(target=work) for _ in range(3)]\n"
                  "[thread.start() for thread in threads]\n[thread.join() for thread in threads]\n")
    with open("loop.sh", "w") as out:
        out.write("i=0\nwhile [ $i -lt 400 ]; do i=$(expr $i + 1); done\necho $i\n")


def quiet(command, **more):
    subprocess.run(command, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)


def seconds(command):
    start = time.monotonic()
    quiet(command)
    return time.monotonic() - start


def gain(command, fixed):
    """Percent, and whether the runs say so: the middle of one side is apart from the other's."""
    rounds = [(seconds(command), seconds(fixed)) for _ in range(ROUNDS)]
    before, after = (sorted(side) for side in zip(*rounds))
    percent = 100 * (1 - statistics.median(after) / statistics.median(before))
    is_clear = before[1] > after[-2] and before[-2] < 1.25 * before[1]
    return percent, is_clear


def findings(command):
    """The rules, and the bounds in percent of the wall time; and whether threads mostly waited for a core."""
    if os.path.exists("report.json"):
        os.unlink("report.json")
    quiet(f"{RUN} --output report.json --format json {command}", env={**os.environ, "HOTPATH_REPORT": "all"})
    with open("report.json") as report:
        said = json.load(report)
    wall = said["summary"]["wall_ns"]
    threads = said.get("thread_states", {}).get("raw", [])
    ready, ran = (sum(row[key] or 0 for row in threads) for key in ("ready_ns", "ran_ns"))
    return [(found["rule"], 100 * found["gain_ns"] / wall if found["gain_ns"] else None)
            for found in said["findings"]], ready > ran


def words_of(found):
    return ", ".join(rule + (f" {bound:.0f}%" if bound else "") for rule, bound in found) or "-"


def is_here(command):
    program = command.split()[0]
    return os.path.exists(program) if program.startswith("./") else bool(shutil.which(program))


def fault_judge(name, command, fixed, rules):
    if not is_here(command):
        print(f"{name:18} not here")
        return True
    found, is_starved = findings(command)
    is_right = bool(found) and found[0][0] in rules.split()
    percent, is_clear = gain(command, fixed) if fixed else (None, False)
    if not found and percent is not None and (is_starved or percent < WORTH):
        print(f"{name:18} {'-':52} {percent:.0f}%: not judged, no core was free", flush=True)
        return True
    bound = found[0][1] if found else None
    is_low = is_right and is_clear and bound is not None and bound < percent - POINTS
    real = "" if percent is None else f"{percent:.0f}%" + ("" if is_clear else " (not clear)")
    print(f"{name:18} {words_of(found):52.52} {real:16} {'' if is_right else 'WRONG'}{'TOO LOW' if is_low else ''}",
          flush=True)
    return is_right and not is_low


def healthy_judge(name, command, allowed):
    if not is_here(command):
        print(f"{name:18} not here")
        return True
    quiet(command)  # its files are in the cache then
    found, _ = findings(command)
    is_right = all(rule in allowed.split() for rule, _ in found)
    print(f"{name:18} {words_of(found):52.52} {'':16} {'' if is_right else 'WRONG'}", flush=True)
    return is_right


def wanted(rows):
    return [row for row in rows if not ONLY or row[0] in ONLY]


os.chdir(FOLDER)
files()
faults = [fault_judge(*row) for row in wanted(FAULTS)]
healthy = [healthy_judge(*row) for row in wanted(HEALTHY)]
print(f"{sum(faults)} of {len(faults)} faults, {sum(healthy)} of {len(healthy)} healthy programs")
sys.exit(0 if all(faults + healthy) else 1)
