#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bounded.py FILE USUAL COMMAND... - runs COMMAND, which reads FILE, and fails unless its peak memory is at most
four times what FILE takes on the disk and 64 MB, and its CPU time at most 20 times that of reading USUAL, and 1 s."""
import ctypes
import os
import resource
import subprocess
import sys


PR_SET_CHILD_SUBREAPER = 36


def usage(command):
    """Of all its processes: one that it starts makes the report, and it does not wait for that one."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60)))
    said = child.stderr.read().decode(errors="replace")
    statuses, cpu_s, peak_kb = {}, 0, 0
    try:
        while True:
            pid, status, used = os.wait3(0)
            statuses[pid] = os.waitstatus_to_exitcode(status)
            cpu_s += used.ru_utime + used.ru_stime
            peak_kb = max(peak_kb, used.ru_maxrss)
    except ChildProcessError:
        pass
    # A process that a signal ended counts more than what the first one made of that.
    return min(statuses.values()) if min(statuses.values()) < 0 else statuses[child.pid], said, cpu_s, peak_kb


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    path, usual, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    disk_kb = os.stat(path).st_blocks // 2
    _, _, usual_s, _ = usage([usual if word == path else word for word in command])
    status, said, cpu_s, peak_kb = usage(command)
    print(f"{' '.join(command)}: {disk_kb} KB on disk, {peak_kb} KB, {cpu_s:.2f} s (usual {usual_s:.2f} s), "
          f"status {status}")
    if status not in (0, 1, 2) or cpu_s > 20 * usual_s + 1 or peak_kb > 4 * disk_kb + 65536:
        sys.exit(f"out of bounds; {said}")


if __name__ == "__main__":
    main()
