#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sites.py - makes each call of ours that may fail do so, and checks the outcome.

    sites.py BUILD PROGRAM once [STEP [PART...]]      each STEP-th place fails at its first call, one in a run
    sites.py BUILD PROGRAM always [STEP [PART...]]    at all of them
    sites.py BUILD PROGRAM once+always ...            one after the other
    sites.py BUILD PROGRAM memory [COUNT [PART...]]   what takes memory is refused from the n-th call on, COUNT n
    sites.py BUILD PROGRAM killed [STEP [PART...]]    who comes to the place is killed there

BUILD is a build with `make faulty`, PROGRAM is programs/faults.c.  Places are those calls of wrap.list that
are in the code that a part can come to (objdump), as file:line (addr2line).  What must be: the program's output and status
are those without the library; stderr has lines of ours only; it ends within a bound; there is a report, or a
reason; and no count is above the one without a failure, nor below it with nothing told.  Prints what was
wrong, which places were never reached, and sums; exits with 1 if something was wrong.  Of who is killed there is
a report as soon as there is a helper, and the record can be read (test/behave/read_format.py).

SITES_SCENES="NAME..." runs some scenes only, SITES_ONLY=REGEX some places, as they are printed; SITES_LIST=1 names
what was not reached, SITES_EXEMPT=1 tries what is left out else, SITES_KEEP=1 leaves the folder, SITES_STACKS=1 shows where what hangs is.
"""
import collections, errno, os, re, shutil, struct, subprocess, sys, tempfile

import outcome
from places import PARTS, PASSED_ON, Part, Plan, numbers
from scenes import COMMANDS, PROGRAMS

FOR_EVER = 2**63
DIES = 0xDEAD    # for an error: see fault.c
READER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../behave/read_format.py")
HELPER_AT = 200    # of the helper's pid in a record
# The error of each kind of call; ENOMEM by default.
ERRORS = dict(outcome.ERRORS, **{
    "open": "EMFILE", "fopen": "EMFILE", "opendir": "EMFILE", "fallocate": "ENOSPC", "eventfd": "EMFILE",
    "pidfd_getfd": "EPERM", "pread": "EIO", "waitid": "ECHILD", "waitpid": "ECHILD", "futex": "EAGAIN", "kill": "EPERM",
    "timer_create": "EAGAIN", "prctl": "EINVAL", "rt_sigprocmask": "EFAULT", "process_vm_readv": "EPERM",
    "getrlimit": "EPERM", "setrlimit": "EPERM", "prlimit64": "EPERM", "readlink": "EACCES",
    "readlinkat": "EACCES", "fcntl": "EMFILE", "dup": "EMFILE", "dup2": "EMFILE", "bind": "EADDRINUSE",
    "listen": "EADDRINUSE", "accept4": "EMFILE", "pipe2": "EMFILE", "access": "EACCES", "stat": "EACCES",
    "unlink": "EPERM", "nanosleep": "EINTR", "ppoll": "EINTR", "poll": "EINTR", "epoll_wait": "EINTR",
    "getsockname": "ENOBUFS", "getsockopt": "ENOPROTOOPT", "pthread_create": "EAGAIN",
    "pthread_key_create": "EAGAIN", "mkdir": "ENOSPC", "capget": "EPERM", "fstat": "EOVERFLOW"})
# These do not fail.
NEVER = {"rt_sigprocmask", "rt_sigpending", "gettid", "getpid", "getppid", "getuid", "exit", "exit_group", "rt_sigreturn", "sched_yield"}
# These may report an interrupted wait once, but not forever; they may be forbidden, though.
FORBIDDEN = {name: "EPERM" for name in ("futex", "nanosleep", "ppoll", "poll", "epoll_wait", "recvmsg", "accept4")}
ERRORS_OF = {"once": ERRORS, "always": dict(ERRORS, **FORBIDDEN), "killed": {}}
# For a mapped memfd these do not fail. A process that cannot join a session starts its own, and the
# last report counts.
EXEMPT = {("segment/segment.c", "fstat"), ("segment/segment.c", "pread"),
          # Without libdw, or the program's file, rows have addresses instead of names, and a note says so.
          ("report/elf/symbol_file.c", "dlopen"), ("report/base/behalf.c", "openat"), ("report/base/behalf.c", "fstat"),
          ("util/open_as.h", "openat"),
          ("report/elf/elf_file.c", "fstat"), ("report/elf/elf_file.c", "mmap"), ("report/elf/debug_open.c", "openat"),
          # Before the program starts, `hotpath run` reports why it does not, as a shell would, or
          # that it lost its child.
          ("report/doctor/program.c", "stat"), ("report/doctor/program.c", "access"), ("report/command/run.c", "calloc"),
          ("report/command/follow.c", "wait4")}


def free_port():
    import socket
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


class Bench:
    def __init__(self, build, program):
        self.folder = tempfile.mkdtemp(prefix="sites.")
        self.build = os.path.join(self.folder, "build")
        os.mkdir(self.build)
        for name in os.listdir(build):
            faulty = os.path.join(build, "fault", name)
            source = faulty if os.path.isfile(faulty) else os.path.join(build, name)
            if os.path.isfile(source):
                shutil.copy(source, os.path.join(self.build, name))
        listed = [line.split()[0] for line in open(os.path.join(os.path.dirname(__file__), "wrap.list"))
                  if re.match(r"\w+ \w+$", line)]
        self.functions = dict(enumerate(listed, 1))
        self.parts = {name: Part(os.path.join(build, "fault", name), self.functions) for name in PARTS}
        self.plans = {name: Plan(os.path.join(self.folder, name), self.code_end(part))
                      for name, part in self.parts.items()}
        self.numbers = numbers()
        self.program = program
        self.sums = {}

    @staticmethod
    def code_end(part):
        return max(part.calls) + 16

    def clear(self):
        for name in PARTS + ("json", "segment"):
            path = os.path.join(self.folder, name)
            if os.path.exists(path):
                os.unlink(path)

    def base(self):
        return dict(os.environ, XDG_STATE_HOME=os.path.join(self.folder, "state"), HP_FAULT=self.folder,
                    HOTPATH_EXIT_WAIT_MS="20000")

    def prepare(self):
        """Input of commands: two records, one as JSON, a profile."""
        program = dict(self.base(), LD_PRELOAD=os.path.join(self.build, "libhotpath.so"), HOTPATH_REPORT="all",
                       HOTPATH_OUTPUT_FORMAT="none")
        for name in "saved", "saved2":
            self.start([self.program, "memory", "locks", "channels", "burn"], dict(program, HOTPATH_SEGMENT_PATH=name))
        for options in (["-f", "json", "--limit=0", "-o", "saved.json"], ["--export=firefox", "-o", "saved.hp.json.gz"]):
            self.start([os.path.join(self.build, "hotpath"), "report"] + options + ["saved"], self.base())

    def start(self, command, environment):
        return outcome.run(command, environment, self.folder, "HP_FAULT=" + self.folder)

    def run(self, scene, with_us=True, **more):
        _, arguments, extra = scene
        extra = dict(extra, **more)
        if "COMMAND" in extra:
            arguments = [self.program if word == "PROGRAM" else word for word in arguments]
            return self.start([os.path.join(self.build, extra["COMMAND"])] + arguments, self.base())
        environment = dict(self.base(), HOTPATH_OUTPUT_FORMAT="json",
                           HOTPATH_OUTPUT_PATH=os.path.join(self.folder, "json"),
                           **{k: v for k, v in extra.items() if v and k.startswith("HOTPATH")})
        if "HOTPATH_METRICS_PORT" in extra:
            environment["HOTPATH_METRICS_PORT"] = free_port()
        by_run = with_us and "RUN" in extra
        record = os.path.join(self.folder, "segment")
        if extra.get("OLD") == "empty":
            open(record, "w").close()
        elif "OLD" in extra:
            subprocess.run(["cp", "--sparse=always", os.path.join(self.folder, extra["OLD"]), record])
        program = os.path.join(os.path.dirname(self.program), extra.get("PROGRAM", os.path.basename(self.program)))
        command = [os.path.join(self.build, "hotpath-run"), program] if by_run else [program]
        if with_us and not by_run:
            environment["LD_PRELOAD"] = os.path.join(self.build, "libhotpath.so")
        # The process that starts it is not part of the session.
        if "PREFIX" in extra:
            library = environment.pop("LD_PRELOAD", "")
            command = extra["PREFIX"] + ["env", "LD_PRELOAD=" + library] + command
        return self.start(command + arguments, environment)

    def report(self):
        return outcome.report_of(os.path.join(self.folder, "json"))

    def left_over(self):
        return outcome.left_over("HP_FAULT=" + self.folder)

    def record(self):
        """(is there one that is complete, pid of the helper that it tells, what is wrong with it)."""
        path = os.path.join(self.folder, "segment")
        try:
            with open(path, "rb") as file:
                head = file.read(256)
        except OSError:
            head = b""
        if len(head) < 256 or head[:8] != b"HOTPATH1":
            return False, 0, ""
        done = subprocess.run([sys.executable, READER, path], capture_output=True, text=True)
        return True, struct.unpack_from("I", head, HELPER_AT)[0], done.stderr[-300:]

    def kind(self, function, argument):
        return self.numbers.get(argument, "?") if function == "syscall" else function

    def reached(self, part, scene_slots):
        """{site: [(where it returns to, calls, what fails)]}."""
        sites = collections.defaultdict(list)
        for back, (calls, _, number, argument) in scene_slots.items():
            function = self.functions.get(number, "?")
            if (part, function) in PASSED_ON:
                continue
            site = self.parts[part].site_of(back, function)
            if site:
                sites[site].append((back, calls, self.kind(function, argument)))
        return sites


def counts(report):
    """The program's actions according to a report: {what: count}."""
    found = collections.Counter()
    for section, keys in (("functions_timing", ("calls",)), ("mutexes", ("count",)), ("rw_locks", ("read_count",)),
                          ("sems", ("posts",)), ("channels", ("sent_count",)),
                          ("file_locks", ("write_count",)), ("barriers", ("count",))):
        for row in (report.get(section) or {}).get("raw") or []:
            name = row.get("name") or row.get("type_name")
            # The report's own row for the whole program, which is main's where it knows main's object.
            if name.split("::")[-1] == "main":
                continue
            for key in keys:
                if isinstance(row.get(key), int):
                    found[section, name, key] += row[key]
    alloc = report.get("functions_alloc") or {}
    for key in ("allocated_count", "freed_count", "allocated_bytes"):
        found["functions_alloc", "all", key] = alloc.get(key) or 0
    maps = report.get("direct_maps") or {}
    found["direct_maps", "all", "mapped_count"] = maps.get("mapped_count") or 0
    return found


LOSSES = ("refused_chunks", "refusals", "lost_calls", "lost_threads", "calls_without_path", "calls_in_other", "damaged")


def losses(report):
    """What it says is missing."""
    maps = report.get("direct_maps") or {}
    lines = [report.get("summary", {}).get(key) for key in LOSSES] + [maps.get("lost_calls"), maps.get("is_cut_short")]
    return lines + [(name, section.get(key)) for name, section in report.items() if isinstance(section, dict)
                    for key in ("lost_count", "lost_objects", "lost", "why", "reason", "is_incomplete") if key in section
                    and name != "functions_cpu"]


def wrong_counts(found, usual, report, told):
    """Above the program's own count, or below it without a message."""
    bad = []
    for key, (least, most) in usual.items():
        value = found.get(key, 0)
        # A block whose size could not be stored counts as freed at once.
        if told and key[2] == "freed_count":
            most = usual[key[0], key[1], "allocated_count"][1]
        # The C library's allocations for threads depend on which of them end before others begin.
        slack = 5 + most // 50 if "alloc" in key[0] else 0
        if value > most + slack:
            bad.append(f"{key}: {value} of {most}")
        elif value < least - slack and not told:
            bad.append(f"{key}: {value} of {least}, not told")
    return bad


class Judge:
    """The outcome of each scene without a failure."""

    def __init__(self, bench):
        self.bench, self.usual, self.base, self.wanted, self.slots = bench, {}, {}, {}, {}

    def learn(self, scene):
        bench, name = self.bench, scene[0]
        bench.clear()
        is_command = "COMMAND" in scene[2]
        if not is_command:
            self.wanted[name] = bench.run(scene, with_us=False)[:2]
        ranges = None
        for _ in range(2):
            bench.clear()
            for plan in bench.plans.values():
                plan.write(1, 0, 0, 0)
            status, out, err = bench.run(scene)
            if is_command:
                self.wanted.setdefault(name, (status, out, err))
            report = {} if is_command else bench.report()
            # Which programs run varies from run to run.
            if status != self.wanted[name][0] or (out != self.wanted[name][1] and not is_command) or report is None:
                return f"{name} without a failure: {status} {out!r} {err!r}"
            found = counts(report)
            ranges = {k: (min(found[k], (ranges or {}).get(k, (found[k],) * 2)[0]),
                          max(found[k], (ranges or {}).get(k, (found[k],) * 2)[1])) for k in
                      set(found) | set(ranges or {})}
            for part, plan in bench.plans.items():
                self.slots.setdefault((name, part), {}).update(plan.slots())
        self.usual[name] = ranges
        self.base[name] = [] if is_command else losses(report)
        return ""

    def killed(self, scene, part, site):
        """The same for a process that is killed at a place: the first one that reaches it."""
        bench, name, wrong = self.bench, scene[0], []
        bench.clear()
        bench.plans[part].write(site, 0, 1, DIES)
        status, out, err = bench.run(scene, HOTPATH_SEGMENT_PATH="segment")
        report = None if status == "hangs" else bench.report()
        is_there, helper, odd = bench.record()
        if status == "hangs" or (part != PARTS[0] and (status, out) != self.wanted[name]):
            wrong.append(f"exit {status}, out {out!r}")
        if outcome.foreign(err):
            wrong.append(f"stderr {outcome.foreign(err)[:3]}")
        # A program under a filter makes none of our calls, so without the helper nobody reports.
        if report is None and not err and is_there and helper and name != "confined":
            wrong.append("neither a report nor a reason")
        if odd:
            wrong.append(f"its record cannot be read: {odd}")
        if report is not None:
            wrong += wrong_counts(counts(report), self.usual[name], report, True)
        left = bench.left_over()
        return wrong + [left] if left else wrong, bench.plans[part].seen()[1]

    def command(self, scene, part, site, first, end, error):
        """The same for a command: it prints its usual output, or an error, and never nothing."""
        bench, name, wrong = self.bench, scene[0], []
        bench.clear()
        bench.plans[part].write(site, first, end, getattr(errno, error))
        status, out, err = bench.run(scene)
        if status == "hangs" or status < 0:
            wrong.append(f"exit {status} {out!r} {err!r}")
        if status and not err:
            wrong.append(f"exit {status} without a word")
        if outcome.foreign(err) and outcome.foreign(err) != outcome.foreign(self.wanted[name][2]):
            wrong.append(f"stderr {outcome.foreign(err)[:3]}")
        if status == 0 and not err and out != self.wanted[name][1] and not out.strip():
            wrong.append("says nothing")
        left = bench.left_over()
        return wrong + [left] if left else wrong, bench.plans[part].seen()[1]

    def trial(self, scene, part, site, first, end, error):
        """(errors, calls that failed)."""
        bench, name = self.bench, scene[0]
        bench.clear()
        bench.plans[part].write(site, first, end, getattr(errno, error))
        status, out, err = bench.run(scene)
        report = None if status == "hangs" else bench.report()
        wrong = []
        if (status, out) != self.wanted[name]:
            wrong.append(f"exit {status}, out {out!r}")
        if outcome.foreign(err):
            wrong.append(f"stderr {outcome.foreign(err)[:3]}")
        if report is None and not err:
            wrong.append("neither a report nor a reason")
        if report is not None:
            wrong += wrong_counts(counts(report), self.usual[name], report, "hotpath" in err or losses(report) != self.base[name])
        left = bench.left_over()
        return wrong + [left] if left else wrong, bench.plans[part].seen()[1]


def all_places(bench, judge, scenes, parts):
    """[(part, site, scene, where it returns to, calls, what fails)], each site once.

    Of the library by the first scene that has it; of the others by the one that has most of it, since a short
    one may be over before they come to it.
    """
    best = {}
    for rank, scene in enumerate(scenes):
        for part in parts:
            for site, ways in bench.reached(part, judge.slots[scene[0], part]).items():
                back, calls, what = max(ways, key=lambda way: way[1])
                score = -rank if part == PARTS[0] else calls
                if (part, site) not in best or score > best[part, site][0]:
                    best[part, site] = score, (part, site, scene, back, calls, what)
    return [job for _, job in best.values()]


def is_tried(scene, site, what, how):
    if how == "killed":
        return "COMMAND" not in scene[2]
    is_exempt = (site[0].split(":")[0], what) in EXEMPT
    return what not in NEVER and is_exempt == ("SITES_EXEMPT" in os.environ)


def jobs_of(bench, places, scenes, parts, mode, step):
    """[(scene, part, where it returns to, first call, end, error, text)] of what is to be tried."""
    if mode == "memory":
        jobs = []
        for scene in scenes:
            for part in parts:
                bench.clear()
                bench.plans[part].write(0, 0, 0, 0)
                bench.run(scene)
                total = bench.plans[part].seen()[0]
                jobs += [(scene, part, 0, total * i // step, FOR_EVER, "ENOMEM",
                          f"memory from {total * i // step} of {total} on") for i in range(step if total else 0)]
        return jobs
    jobs = [(scene, part, back, 0, FOR_EVER if how == "always" else 1,
             ERRORS_OF[how].get(what, "ENOMEM"), f"{what} at {site[0]}, {how}")
            for how in mode.split("+")
            for part, site, scene, back, calls, what in places
            if is_tried(scene, site, what, how)]
    return [job for job in jobs if re.search(os.environ.get("SITES_ONLY", ""), job[6])][::step]


def try_all(judge, jobs):
    """({part: runs with a failure}, how many were wrong)."""
    done, failures = collections.Counter(), 0
    for scene, part, site, first, end, error, text in jobs:
        if text.endswith("killed"):
            error = "SIGKILL"
            wrong, failed = judge.killed(scene, part, site)
        else:
            judged = judge.command if "COMMAND" in scene[2] else judge.trial
            wrong, failed = judged(scene, part, site, first, end, error)
        done[part] += failed > 0
        if not failed:
            print(f"{part}: {scene[0]}: {text} was not called this time", flush=True)
        if wrong:
            failures += 1
            print(f"{part}: {scene[0]}: {error} {text}: {'; '.join(wrong)[:600]}", flush=True)
    return done, failures


def main():
    build, program, mode = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
    step = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    parts = sys.argv[5:] or list(PARTS)
    only = os.environ.get("SITES_SCENES")
    scenes = [scene for scene in PROGRAMS + COMMANDS if not only or scene[0] in only.split()]
    bench = Bench(build, program)
    judge = Judge(bench)
    if any("COMMAND" in extra or extra.get("OLD") == "saved" for _, _, extra in scenes):
        bench.prepare()
    odd = {scene[0]: judge.learn(scene) for scene in scenes}
    for text in filter(None, odd.values()):
        print(text, flush=True)
    scenes = [scene for scene in scenes if not odd[scene[0]]]
    places = all_places(bench, judge, scenes, parts)
    jobs = jobs_of(bench, places, scenes, parts, mode, step)
    done, failures = try_all(judge, jobs)
    for part in parts:
        known = {site for p, site, *_ in places if p == part}
        never = sorted(site for site in bench.parts[part].sites if site not in known)
        print(f"{part}: {len(bench.parts[part].sites)} places, {len(known)} reached, {done[part]} runs with a failure")
        if os.environ.get("SITES_LIST"):
            for place, function in never:
                print(f"    never: {function} at {place}")
    failures += sum(map(bool, odd.values()))
    print(f"{mode}: {len(jobs)} runs, {failures} with something wrong")
    if not os.environ.get("SITES_KEEP"):
        shutil.rmtree(bench.folder, ignore_errors=True)
    return 1 if failures or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
