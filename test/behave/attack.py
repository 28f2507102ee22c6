#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""attack.py PID HELPER TOKEN INODE PORT FILE - what this process may do to a session, in one line.

PID is the session's first process, HELPER its helper, TOKEN its name, INODE that of its segment, PORT its server's, FILE
a run of its user's that was kept.

memory: opens the helper's segment for writing.  trace: opens the program's memory.  join: asks for
a segment to write; same = the session's own, own = one for our own level. read: asks for a segment
to read.
http: the server's status without a token.  file: reads the kept run.  signals: may send some.
"""
import http.client
import os
import secrets
import socket
import struct
import sys


def may(action, *arguments):
    try:
        action(*arguments)
        return "yes"
    except OSError:
        return "no"


def given(token, name):
    """The descriptor that the helper sends; -1 = none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
        one.settimeout(20)
        try:
            if name:
                one.bind(name)
            one.connect("\0hotpath-" + token)
            _, control, _, _ = one.recvmsg(1, socket.CMSG_SPACE(4))
        except OSError:
            return -1
    return struct.unpack("i", control[0][2])[0] if control else -1


def join(token, inode):
    fd = given(token, None)
    if fd < 0:
        return "no"
    os.pwrite(fd, os.pread(fd, 1, 4095), 4095)	# it may be written
    return "same" if os.fstat(fd).st_ino == inode else "own"


def is_readable(token):
    fd = given(token, "\0hotpath.reader." + secrets.token_hex(8))
    if fd < 0:
        return "no"
    assert may(os.write, fd, b"x") == "no"
    return "yes"


def status(port):
    try:
        server = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        server.request("GET", "/threads")
        return server.getresponse().status
    except OSError:
        return "no"


def main():
    pid, helper, token, inode, port, file = sys.argv[1:]
    print(f"memory={may(os.open, f'/proc/{helper}/fd/3', os.O_RDWR)}",
          f"trace={may(os.open, f'/proc/{pid}/mem', os.O_RDWR)}",
          f"join={join(token, int(inode))}", f"read={is_readable(token)}", f"http={status(int(port))}",
          f"file={may(os.open, file, os.O_RDONLY)}",
          f"signals={may(os.kill, int(helper), 0)},{may(os.kill, int(pid), 0)}", flush=True)


if __name__ == "__main__":
    main()
