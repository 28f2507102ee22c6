#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
end.py RUNNER COMMAND... - how long the prompt waits behind the program's end, ms.

Runs COMMAND under hotpath-run and watches the program's process: the time from its end to
the runner's counts. Prints that and the total; nothing if the program had ended
before it was seen.
"""
import os
import select
import sys
import time

OURS = {"", "hotpath", "hotpath-run", "hotpath-sampler"}


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def program_of(runner):
    """A descriptor of the program's process: the runner's child that is none of ours."""
    while not os.waitid(os.P_PID, runner, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        for child in read(f"/proc/{runner}/task/{runner}/children").split():
            if read(f"/proc/{child}/comm") in OURS:
                continue
            try:
                return os.pidfd_open(int(child))
            except OSError:
                pass
    return None


def main():
    null = os.open(os.devnull, os.O_RDWR)
    begin = time.monotonic()
    runner = os.posix_spawnp(
        sys.argv[1], sys.argv[1:], os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, null, fd) for fd in range(3)])
    program = program_of(runner)
    if program is not None:
        poll = select.poll()
        poll.register(program, select.POLLIN)
        poll.poll()
    ended = time.monotonic()
    os.waitpid(runner, 0)
    if program is not None:
        print(f"{(time.monotonic() - ended) * 1e3:.1f} {(time.monotonic() - begin) * 1e3:.0f}")


main()
