# SPDX-License-Identifier: MIT
"""nofiles.py HELPER TRACE - knocks at the door of a session whose helper may open no file more.

First as if its table were just full: it lets us in, by the one descriptor that it keeps for that.  Then with
no number left at all: it cannot, and must not spin until it can; nor forget us.
"""
import array
import os
import re
import resource
import socket
import subprocess
import sys
import time

helper, trace = int(sys.argv[1]), sys.argv[2]
TRIES = 20


def name_of_door():
    own = set()
    for fd in os.listdir(f"/proc/{helper}/fd"):
        own.update(re.findall(r"socket:\[(\d+)\]", os.readlink(f"/proc/{helper}/fd/{fd}")))
    for line in open("/proc/net/unix"):
        words = line.split()
        if len(words) == 8 and words[6] in own and words[7].startswith("@hotpath-"):
            return "\0" + words[7][1:]
    sys.exit("no door")


def knock(name):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(60)
    s.connect(name)
    return s


def got_segment(s):
    """What it is given, as a link; '' = it was closed."""
    data, control, _, _ = s.recvmsg(1, socket.CMSG_SPACE(4))
    fds = array.array("i")
    for _, kind, text in control:
        if kind == socket.SCM_RIGHTS:
            fds.frombytes(text)
    links = [os.readlink(f"/proc/self/fd/{fd}") for fd in fds]
    for fd in fds:
        os.close(fd)
    return links[0] if links else ""


def tries():
    return sum("accept4" in line for line in open(trace))


name = name_of_door()
before = resource.prlimit(helper, resource.RLIMIT_NOFILE)
used = {int(fd) for fd in os.listdir(f"/proc/{helper}/fd")}
full = next(n for n in range(len(used) + 1) if n not in used)

resource.prlimit(helper, resource.RLIMIT_NOFILE, (full, before[1]))
print("full, at", full, ":", got_segment(knock(name)))

strace = subprocess.Popen(["strace", "-f", "-o", trace, "-e", "trace=accept4,epoll_wait", "-p", str(helper)],
                          stderr=subprocess.PIPE, text=True)
if "attached" not in strace.stderr.readline():
    strace.kill()
    sys.exit(77)
resource.prlimit(helper, resource.RLIMIT_NOFILE, (3, before[1]))
start, s = time.monotonic(), knock(name)
while tries() < TRIES and time.monotonic() < start + 60:
    time.sleep(0.005)
passed_ms = (time.monotonic() - start) * 1000
count = tries()
resource.prlimit(helper, resource.RLIMIT_NOFILE, before)
print("then :", got_segment(s))
strace.terminate()
strace.wait()
print(count, "tries in", round(passed_ms), "ms")
# It tries every 20 ms by its own timer, on a slow machine less often.  One that spins needs a few ms for all of them.
sys.exit(not (count >= TRIES and passed_ms > TRIES * 20 / 2))
