#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kills_live.py BUILD PROGRAM COUNT - a program is looked at, and somebody is killed at a random moment, COUNT times.

By turns the server of live figures, a client in the middle of its requests, the helper process, and the program. PROGRAM
is that of kills.py. What must hold, whoever it was: the program goes on and its count is exact, or, killed itself, it
has a report; who asks later gets an answer as long as helper and program live; and nobody is left behind. Prints what
was wrong and a sum; exits with 1 if there was something.
"""
import http.client
import json
import mmap
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

from kills import helper_of, report_of, wait_for

VICTIMS = ("server", "client", "helper", "program")
PATHS = ("/functions_timing", "/metrics", "/functions_alloc", "/threads", "/calltree", "/debug/pprof/profile?seconds=1")


def client(port):
    """Asks until it is killed, whatever comes."""
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        try:
            for path in PATHS:
                connection.request("GET", path)
                connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            time.sleep(0.001)


def pid_told(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", "/profiler_status")
        return json.load(connection.getresponse())["pid"]
    except (OSError, ValueError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def server_of(helper):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                name, rest = re.match(r"\d+ \((.*)\) \S (\d+)", file.read()).groups()
        except (OSError, AttributeError):
            continue
        if int(rest) == helper and name == "hotpath-live":
            return int(pid)
    return 0


def left(folder):
    """Processes of this trial: each has the folder's name in its environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if os.fsencode(f"HOTPATH_OUTPUT_PATH={folder}/report") in file.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass
    return found


class Trial:
    def __init__(self, build, program, folder):
        self.folder = folder
        self.segment, self.report = (os.path.join(folder, name) for name in ("segment", "report"))
        state = os.path.join(folder, "state")
        for path in (self.segment, self.report):
            if os.path.exists(path):
                os.unlink(path)
        with open(state, "wb") as file:
            file.write(bytes(4096))
        self.words = mmap.mmap(os.open(state, os.O_RDWR), 4096)
        environment = dict(os.environ, LD_PRELOAD=os.path.join(build, "libhotpath.so"), HOTPATH_METRICS_PORT="0",
                           HOTPATH_SEGMENT_PATH=self.segment, HOTPATH_OUTPUT_FORMAT="json",
                           HOTPATH_OUTPUT_PATH=self.report, HOTPATH_KEEP="0")
        self.child = subprocess.Popen([program, state], env=environment, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+)/", self.child.stderr.readline()).group(1))
        self.helper = wait_for(lambda: helper_of(self.segment))
        self.client = os.fork()
        if not self.client:
            try:
                client(self.port)
            finally:
                os._exit(1)

    def count(self):
        return struct.unpack_from("Q", self.words)[0]

    def kill(self, victim):
        if victim == "server":
            server = wait_for(lambda: server_of(self.helper))
            time.sleep(random.random() ** 2 * 0.1)
            os.kill(server, signal.SIGKILL)
            return
        time.sleep(random.random() ** 2 * 0.2)
        os.kill({"client": self.client, "helper": self.helper, "program": self.child.pid}[victim], signal.SIGKILL)

    def finish(self, victim):
        """What is wrong, or None."""
        if victim in ("server", "client"):
            told = wait_for(lambda: pid_told(self.port))
            if told != self.child.pid:
                return f"pid {told} was told instead of {self.child.pid}"
        if victim != "program":
            time.sleep(random.random() * 0.02)
            struct.pack_into("Q", self.words, 8, 1)
        status = self.child.wait(timeout=60)
        if status != (-signal.SIGKILL if victim == "program" else 3):
            return f"status {status}"
        found = wait_for(lambda: report_of(self.report))
        if not found:
            return "no report"
        calls = sum(row["calls"] for row in found["functions_timing"]["raw"] if row["name"] == "work")
        extra = calls - self.count()
        return None if extra == 0 or (extra == 1 and victim == "program") else f"{extra} calls too many"

    def close(self):
        try:
            os.kill(self.client, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.client, 0)
        self.child.kill()
        self.child.wait()
        self.child.stderr.close()
        self.words.close()
        return None if wait_for(lambda: not left(self.folder)) else f"left behind: {left(self.folder)}"


def main():
    build, program, trials = sys.argv[1], sys.argv[2], int(sys.argv[3])
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="kills.") as folder:
        for number in range(trials):
            victim = VICTIMS[number % len(VICTIMS)]
            trial = Trial(build, program, folder)
            try:
                trial.kill(victim)
                error = trial.finish(victim)
            finally:
                error_left = trial.close()
            error = error or error_left
            if error:
                wrong += 1
                print(f"{victim} killed: {error}", flush=True)
    print(f"{trials} kills, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
