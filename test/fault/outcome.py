# SPDX-License-Identifier: MIT
"""outcome.py - runs a program of which some call fails, and says what came of it: what sites.py and faults.py share.

What must be: status and output are those without a failure, stderr has lines of ours only, there is a report or
a reason, and nothing that was started is there any more a while later.  Times are in seconds.
"""
import json, os, re, signal, subprocess, time

BOUND_S = int(os.environ.get("OUTCOME_BOUND_S", 60))   # of a program and its leftovers
REPORT_S = 4    # for a report whose program did not wait for it
# The error of each kind of call; callers may choose others.
ERRORS = {"mmap": "ENOMEM", "mremap": "ENOMEM", "clone": "EAGAIN", "clone3": "EAGAIN", "fork": "EAGAIN",
          "socket": "EMFILE", "socketpair": "EMFILE", "memfd_create": "EMFILE", "openat": "EMFILE",
          "connect": "ECONNREFUSED", "ftruncate": "EFBIG", "epoll_create1": "EMFILE", "pidfd_open": "EMFILE",
          "read": "EIO", "write": "ENOSPC", "sendmsg": "EPIPE", "recvmsg": "EAGAIN", "close": "EINTR",
          "perf_event_open": "EMFILE", "wait4": "ECHILD", "epoll_ctl": "ENOSPC"}


def run(command, environment, folder, mark):
    """(status, stdout, stderr); the status is "hangs" where it, or a process of its that has its stderr, did not end.

    `mark` is a variable ("NAME=VALUE") that none but its processes have; what hangs is killed.
    """
    process = subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace",
                               start_new_session=True)
    try:
        out, err = process.communicate(timeout=BOUND_S)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        said = "; ".join(f"{name} {stacks_of(pid)}" for pid, name in alive(mark).items())
        process.kill()
        send(mark, signal.SIGKILL)
        process.communicate()
        return "hangs", said, ""


def stacks_of(pid):
    """Its stacks, to find the reason (SITES_STACKS=1)."""
    if not os.environ.get("SITES_STACKS"):
        return ""
    return subprocess.run(["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 12"],
                          capture_output=True, text=True).stdout


def foreign(stderr):
    """Lines that are neither ours nor the loader's about our files."""
    inside, lines = False, []
    for line in stderr.splitlines():
        inside = inside or line.startswith("[hotpath")
        if not inside and not re.match(r"(\S*/)?hotpath|cannot allocate TLS data", line):
            lines.append(line)
    return lines


def report_of(path):
    """The report, which may come a little later if the program did not wait for it; None = no report."""
    deadline = time.monotonic() + REPORT_S
    while True:
        try:
            with open(path) as file:
                return json.load(file)
        except (OSError, ValueError):
            if time.monotonic() > deadline:
                return None
        time.sleep(0.01)


def alive(mark):
    """{pid: what it is} of the processes that have `mark` ("NAME=VALUE") in their environment, zombies apart."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = file.read().split(b"\0")
            if mark.encode() in variables:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    found[int(pid)] = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            pass
    return found


def send(mark, number):
    for pid in alive(mark):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def ended_by(mark, seconds):
    """Processes that still exist after this time."""
    deadline = time.monotonic() + seconds
    while (left := alive(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def left_over(mark):
    """A line about processes that outlive the run, "" = none. They are ended by SIGTERM, which must suffice."""
    left = ended_by(mark, BOUND_S)
    if not left:
        return ""
    lines = [f"left: {name}{stacks_of(pid)}" for pid, name in left.items()]
    for number in signal.SIGTERM, signal.SIGKILL:
        send(mark, number)
        left = ended_by(mark, BOUND_S)
        if not left:
            break
        lines += [f"not ended by {number.name}: {name}" for name in left.values()]
    return "; ".join(lines)
