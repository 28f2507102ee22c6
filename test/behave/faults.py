#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""faults.py - system calls of the profiler that fail, one at a time.

    faults.py target BUILD PROGRAM [STEP]     those of the library, in the program
    faults.py helper BUILD PROGRAM [STEP]     those of the helper and of its report

The calls are found by a run under strace, those of the library by the stack of each
(-k).  Then each STEP-th of them fails, in a run of its own, with an error that its kind
of call knows.  The program must do what it does without the library: same output, same
exit status, nothing on stderr but our lines, within a bound of time, and it leaves no
process.  Prints one line for each failure and a sum; exits with 1 if there was one.
"""
import collections, os, re, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fault"))
import outcome  # noqa: E402

ERRORS = dict(outcome.ERRORS, **{
    "eventfd2": "EMFILE", "pread64": "EIO",
    # The C library ends the program on any other result here.
    "futex": "EINVAL"})
# These cannot fail, or are the program's own calls passed on; without the last one the loader
# cannot start.
NEVER = {"exit", "exit_group", "rt_sigreturn", "restart_syscall", "execve", "getpid", "getppid", "gettid",
         "getuid", "geteuid", "getgid", "getegid", "umask", "sched_yield", "pipe2",
         "brk", "set_robust_list", "arch_prctl", "set_tid_address", "rseq"}
CALL = re.compile(r"^(?:\d+ +)?([a-z_0-9]+)\(")


def calls_of(trace, is_ours):
    """(name, how many of that name there were, line) of the calls that may fail."""
    calls, seen, stack = [], collections.Counter(), []
    last = None

    def settle():
        if last and last[0] not in NEVER and is_ours(last[0], stack):
            calls.append(last)

    for line in open(trace, errors="replace"):
        found = CALL.match(line)
        if line.startswith(" > "):
            stack.append(line)
        elif found:
            settle()
            stack = []
            seen[found[1]] += 1
            last = (found[1], seen[found[1]], line.strip()[:90])
    settle()
    return calls


def of_library(exported):
    """The innermost frame is in libc, and its caller is one of our functions, but not a stand-in."""
    def is_ours(call, stack):
        # Stand-ins of the wait family share the waiting function, which waits on behalf of the
        # program. They may jump to it, and have no frame then.
        if call in ("wait4", "waitid") and any(re.search(r"libhotpath\.so\(wait(pid|id|3|4|_for)?[@+]", line) for line in stack):
            return False
        for line in stack:
            place = re.match(r" > (\S+?)\((\w*)\+", line)
            if not place or "libc.so" in place[1] or "ld-linux" in place[1]:
                if place and place[2] in ("__libc_malloc", "malloc", "free", "realloc", "calloc"):
                    return False
                continue
            # A frame that strace has no name for may be a stand-in: a call of the program's own.
            return "libhotpath.so" in place[1] and place[2] and place[2].split("@")[0] not in exported
        return False
    return is_ours


def stage(build, folder):
    """A copy of the build whose helper runs under strace, as the environment says."""
    copy = os.path.join(folder, "build")
    os.mkdir(copy)
    for name in os.listdir(build):
        path = os.path.join(build, name)
        if os.path.isfile(path):
            shutil.copy(path, copy)
    for name in ("hotpath-sampler", "hotpath"):
        real = os.path.join(copy, name)
        os.rename(real, real + ".real")
        with open(real, "w") as script:
            script.write(f"""#!/bin/bash
[ "$FAULT_IN" = {name} ] || exec -a "$0" "$0.real" "$@"
exec strace -DDD -o "$FAULT_OUT" $FAULT "$0.real" "$@"
""")
        os.chmod(real, 0o755)
    return copy


def main():
    kind, build, program = sys.argv[1], os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])
    step = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    folder = tempfile.mkdtemp(prefix="faults.")
    trace = os.path.join(folder, "trace")
    base = dict(os.environ, XDG_STATE_HOME=os.path.join(folder, "state"), HOTPATH_REPORT="all",
                HOTPATH_OUTPUT_FORMAT="json", HOTPATH_OUTPUT_PATH=os.path.join(folder, "json"))
    mark = "XDG_STATE_HOME=" + base["XDG_STATE_HOME"]
    wanted = outcome.run([program], os.environ, folder, mark)
    failures = tried = 0
    jobs = []
    if kind == "target":
        library = os.path.join(build, "libhotpath.so")
        listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True).stdout
        exported = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
        for how in ("preload", "run"):
            command = [program] if how == "preload" else [os.path.join(build, "hotpath-run"), program]
            strace = ["strace", "-o", trace, "-E", "LD_PRELOAD=" + library]
            # With hotpath-run only the program's environment loads the library.
            if how == "run":
                strace = [os.path.join(build, "hotpath-run"), "--", "strace", "-o", trace]
                base["HOTPATH_PROCESS_NAMES"] = os.path.basename(program)
                command = [program]
            outcome.run(strace + ["-k"] + command, base, folder, mark)
            for name, number, line in calls_of(trace, of_library(exported)):
                jobs.append((how, name, number, line, lambda fault, s=strace, c=command: (s + fault + c, base)))
    else:
        copy = stage(build, folder)
        command = [os.path.join(copy, "hotpath-run"), program]
        for part in ("hotpath-sampler", "hotpath"):
            environment = dict(base, FAULT_IN=part, FAULT_OUT=trace, FAULT="")
            outcome.run(command, environment, folder, mark)
            for name, number, line in calls_of(trace, lambda call, stack: True):
                jobs.append((part, name, number, line,
                             lambda fault, p=part: (command, dict(base, FAULT_IN=p, FAULT_OUT=trace,
                                                                  FAULT=" ".join(fault)))))
    for how, name, number, line, make in jobs[::step]:
        error = ERRORS.get(name, "EPERM")
        command, environment = make(["-e", f"inject={name}:error={error}:when={number}"])
        report = base["HOTPATH_OUTPUT_PATH"]
        if os.path.exists(report):
            os.unlink(report)
        status, out, err = outcome.run(command, environment, folder, mark)
        tried += 1
        odd = outcome.foreign(err)
        is_silent = not err and not outcome.report_of(report)
        left = outcome.left_over(mark)
        if (status, out) != wanted[:2] or odd or is_silent or left:
            failures += 1
            print(f"{how}: {error} of {name} #{number}: exit {status}, out {out!r}, stderr {odd[:3]}"
                  f"{', neither a report nor a reason' if is_silent else ''} {left}\n    {line}", flush=True)
    print(f"{kind}: {tried} of {len(jobs)} calls failed, one in each run; {failures} failures")
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if failures or not tried else 0


sys.exit(main())
