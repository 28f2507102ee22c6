#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# fake_sessions.py silent|foreign|cut|own|planted [NUMBER] - listens as the helpers of sessions do, and is none.
#
# silent: 20 (NUMBER) sockets that accept nobody, every other one with a full queue.  foreign: the same of another
# user.  cut: one that gives a segment with a long list of processes, and cuts it off a moment later.
# own, planted: another user's that gives a segment of that user's, and one of root's; its processes have the pid NUMBER.
# Prints "up"; then for each line on stdin how many have come.
import array, os, secrets, select, socket, struct, sys, time

HEADER = struct.Struct("<QIIQIIQIIqHHI")
PROCESS = 192
COUNT = 60000


def listener(backlog):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.bind("\0hotpath-" + secrets.token_hex(8))
    one.listen(backlog)
    return one


def segment(pid):
    """Processes that are not the root, if there is no pid; the first is read last."""
    size = 16 << 20
    at = [4096 + PROCESS * i for i in range(COUNT)]
    body = bytearray(size)
    HEADER.pack_into(body, 0, 0x3148544150544f48, 1, 256, size, 3, 0, 1, 50, 1, 1, 0, 0, 0)
    struct.pack_into("<4Q", body, 64, size, 0, at[-1], 0)
    struct.pack_into("<II", body, 192, pid or 1000000, 0)
    for i, place in enumerate(at):
        struct.pack_into("<QII", body, place, at[i - 1] if i else 0, 1, pid or 7)
    return bytes(body)


def filled(body):
    fd = os.memfd_create("fake")
    os.write(fd, body)
    return fd


def give(one, body, kept):
    peer = one.accept()[0]
    fd = kept if kept >= 0 else filled(body)
    peer.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
    if kept < 0:
        time.sleep(0.0005)
        os.ftruncate(fd, 0)
        os.close(fd)
    peer.close()


def main():
    how = sys.argv[1]
    asked = 0
    number = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    body = segment(number) if how in ("cut", "own", "planted") else None
    kept = filled(body) if how == "planted" else -1
    if how in ("foreign", "own", "planted"):
        os.setresuid(65534, 65534, 65534)
    if how == "own":
        kept = filled(body)
    sockets = [listener(64)] if body else [listener(0 if i % 2 else 64) for i in range(number or 20)]
    if how == "silent":
        mine = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for i in range(len(sockets) // 2)]
        for i, one in enumerate(mine):
            one.connect(sockets[2 * i + 1].getsockname())
    print("up", flush=True)
    while True:
        ready = select.select([0] + (sockets if body else []), [], [])[0]
        for one in ready:
            if one != 0:
                give(one, body, kept)
                asked += 1
            elif not os.read(0, 100):
                return
            else:
                asked += sum(1 for s in sockets if select.select([s], [], [], 0)[0])
                print("asked:", asked, flush=True)


main()
