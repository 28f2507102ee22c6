#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""same.py [-v|-q] [--timer] [--only REGEX] [--markdown FILE] TABLE... - runs each case of the tables without and with
the library, all sections on, and compares everything visible from outside and from inside.

-v prints differences also of those that are same in another run, -q nothing of those that are the same.
--timer takes the CPU samples by HOTPATH_CPU=timer, whose signal 33 (the C library's own) is then not compared.

A table has a case a line, NAME [OPTION...] -- COMMAND, the command for `sh -c exec`; a line that ends in a
backslash goes on. Compared are stdout, stderr, exit status or signal, the files left in the case's
folder and (by root, who gets one of its own) in /dev/shm, the processes left, and what the probe (probe.c) saw in
every process at its start and at exit.
What a program does with the library has to be among what it does without it in up to four runs. Where these
differ from each other in the same part the case is unsteady: an error of the case, which wants a filter.

Options of a case:
  need=A,B     commands or files that have to be there, else it is skipped
  sed=EXPR     filters stdout, stderr, files, names in /dev/shm and what the probe saw (an option with blanks in quotes)
  how=run      by `hotpath run` instead of LD_PRELOAD
  probe=off    without the probe's library
  compare=end  only how it ends, and the processes left: what it prints has times and addresses
  probe=start  what it saw at exit is not compared: processes that are killed, or end in another order
  report=none  a report is not expected (the command is not followed, or is static)
  env=N=V      set in the environment, with and without; may be repeated
  time=N       seconds until it is taken for hung (60)
  told=yes     lines of ours on stderr are allowed, and no report is expected
  front=LIB, behind=LIB   LD_PRELOAD with another library, in front of ours or behind it
Environment: HP_BUILD, SAME_TOOLS (where the probe was compiled to), SAME_LIBRARY (another one to look at). Exit status 1 if any case differs.
"""
import ctypes, json, os, re, shlex, shutil, signal, stat, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ["HP_BUILD"]
TOOLS = os.environ["SAME_TOOLS"]
LIBRARY = os.environ.get("SAME_LIBRARY", BUILD + "/libhotpath.so")
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000
BARE_RUNS = 4
ROUNDS_LEFT = 50
LINES_MAX = 60    # lines of a difference that are shown
# Our message if a program ends before the report is ready.
OWN_LINES = re.compile(rb"^hotpath: the report (takes longer than|is not done after) 5 s.*\n", re.M)
# Our message if something is missing, and the report that is then printed instead of written.
TOLD_LINES = re.compile(rb'^(\[hotpath\]|hotpath: |\{"type":"hotpath_report").*\n', re.M)

SHARED = "/dev/shm"

timer = False
shared_is_own = False


class Case:
    def __init__(self, line):
        head, command = re.split(r"\s--\s", line, maxsplit=1)
        words = shlex.split(head)
        self.name, self.command = words[0], command.strip()
        self.options = {}
        self.env = []
        for word in words[1:]:
            key, value = word.split("=", 1)
            if key == "env":
                self.env.append(value.split("=", 1))
            else:
                self.options[key] = value.replace("$TOOLS", TOOLS)

    def get(self, key, default=None):
        return self.options.get(key, default)

    def missing(self):
        for what in filter(None, self.get("need", "").split(",")):
            if not (os.path.exists(what) if "/" in what else shutil.which(what)):
                return what


def cases_of(path):
    text = re.sub(r"\\\n\s*", "", open(path).read())
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            yield Case(line)


def status_fields(pid):
    """Name, state and parent of a process, or None."""
    try:
        text = open(f"/proc/{pid}/stat").read()
    except OSError:
        return None
    name, rest = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
    return name, rest[0], int(rest[1])


def descendants():
    """Processes below this one: pid -> name. Orphans of a case become our children."""
    parents, names = {}, {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := status_fields(entry)) and fields[1] not in "ZX":
            names[int(entry)], parents[int(entry)] = fields[0], fields[2]
    below = set()
    for pid in names:
        up = pid
        while up in parents and up != os.getpid():
            up = parents[up]
        if up == os.getpid() and pid != up:
            below.add(pid)
    return {pid: names[pid] for pid in below}


def is_helper(pid):
    fields = status_fields(pid)
    return not fields or fields[0].startswith("hotpath")


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG | 0x40000000)[0]:   # __WALL: the helper sends no SIGCHLD
            pass
    except ChildProcessError:
        pass


def left_over():
    """Names of the processes that the case left; ends them, and waits for our helper to be done."""
    left = {}
    for _ in range(ROUNDS_LEFT):   # what is about to end may do so
        reap()
        left = {pid: name for pid, name in descendants().items() if not is_helper(pid)}
        if not left:
            break
        time.sleep(0.01)
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    deadline = time.monotonic() + 60
    while descendants() and time.monotonic() < deadline:
        reap()
        time.sleep(0.005)
    hung = sorted(descendants().values())
    return sorted(left.values()), hung


def listing(folder):
    """The contents of a folder: path, kind, mode, content."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(place, name)
            info = os.lstat(path)
            short = os.path.relpath(path, folder)
            if stat.S_ISLNK(info.st_mode):
                found[short] = ("link", os.readlink(path).encode())
            elif stat.S_ISREG(info.st_mode):
                found[short] = (oct(info.st_mode), open(path, "rb").read())
            else:
                found[short] = (oct(info.st_mode), b"")
    return found


class Run:
    """One run of a case, with the library or without."""

    def __init__(self, case, with_us, room):
        self.case, self.with_us = case, with_us
        self.folder, self.probes, self.apart = room + "/case", room + "/probes", room + "/apart"
        for folder in (self.folder, self.probes, self.apart):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
        for name in os.listdir(SHARED) if shared_is_own else ():
            subprocess.run(["rm", "-rf", os.path.join(SHARED, name)], check=True)
        os.chmod(self.apart, 0o777)   # the command may become another user
        self.go()

    def environment(self):
        env = {k: v for k, v in os.environ.items()
               if k in ("PATH", "HOME", "LANG", "USER", "TERM", "SUITE_LOG", "OPS", "SUFFIX", "REDIS_UNITS") or
               k.startswith("GO") or k.endswith("_TESTS")}
        env.update(LC_ALL="C.UTF-8", TZ="UTC", TMPDIR=self.folder, TOOLS=TOOLS, SAME=HERE)
        env.update(self.case.env)
        preload = [] if self.case.get("probe") == "off" else [TOOLS + "/probe.so"]
        if preload:
            env["SAME_PROBE"] = self.probes
        if self.with_us:
            self.report = self.apart + "/report.json"
            env.update(HOTPATH_REPORT="all", HOTPATH_OUTPUT_FORMAT="json", HOTPATH_OUTPUT_PATH=self.report,
                       HOTPATH_KEEP="0", **({"HOTPATH_CPU": "timer"} if timer else {}))
            if self.case.get("how") != "run":
                preload.insert(0, LIBRARY)
        preload = list(filter(None, [self.case.get("front")] + preload + [self.case.get("behind")]))
        if preload:
            env["LD_PRELOAD"] = " ".join(preload)
        return env

    def go(self):
        command = ["/bin/sh", "-c", "exec " + self.case.command]
        if self.with_us and self.case.get("how") == "run":
            command.insert(0, BUILD + "/hotpath-run")
        streams = [open(f"{self.apart}/{name}", "w+b") for name in ("stdout", "stderr")]
        began = time.monotonic()
        process = subprocess.Popen(command, cwd=self.folder, env=self.environment(), start_new_session=True,
                                   stdin=subprocess.DEVNULL, stdout=streams[0], stderr=streams[1])
        self.hung = False
        try:
            self.status = process.wait(timeout=float(self.case.get("time", 60)))
        except subprocess.TimeoutExpired:
            self.hung = True
            self.tree = sorted(descendants().values())
            os.killpg(process.pid, signal.SIGKILL)
            self.status = process.wait()
        self.seconds = time.monotonic() - began
        self.left, self.helpers = left_over()
        for stream in streams:
            stream.seek(0)
        self.stdout, self.stderr = (OWN_LINES.sub(b"", s.read()) for s in streams)
        for stream in streams:
            stream.close()
        if self.case.get("told"):
            self.stderr, self.stdout = (TOLD_LINES.sub(b"", s) for s in (self.stderr, self.stdout))
        self.files = listing(self.folder)
        self.shared = listing(SHARED) if shared_is_own else {}

    def filtered(self, data):
        if timer:
            data = re.sub(rb"(?m)^signal 33 .*\n", b"", data)
        sed = self.case.get("sed")
        if sed:
            data = subprocess.run(["sed", "-E", sed], input=data, stdout=subprocess.PIPE, check=True).stdout
        return data

    def seen(self):
        """The probe's records: a sorted list, one entry for each process and moment."""
        only = self.case.get("probe")
        texts = []
        for name in os.listdir(self.probes):
            if only != "start" or name.startswith("start"):
                texts.append(open(os.path.join(self.probes, name), "rb").read())
        return sorted(self.filtered(text) for text in texts)

    def parts(self):
        if self.case.get("compare") == "end":
            return {"status": self.status, "processes left": self.left, "hung": self.hung}
        files = {name: (mode, self.filtered(content)) for name, (mode, content) in self.files.items()}
        shared = {self.filtered(name.encode()).decode(): what for name, what in self.shared.items()}
        return {"status": self.status, "stdout": self.filtered(self.stdout),
                "stderr": self.filtered(self.stderr), "files": files, "left in " + SHARED: shared,
                "processes left": self.left, "hung": self.hung, "seen inside": self.seen()}

    def report_error(self):
        """The report's error, or None."""
        if self.helpers:
            return f"helpers did not end: {self.helpers}"
        if self.case.get("report") == "none" or self.case.get("told"):
            return None
        try:
            report = json.load(open(self.report))
        except (OSError, ValueError) as error:
            return f"no report: {error}"
        lost = {k: v for k, v in report.get("summary", {}).items() if k.startswith("lost_") and v}
        return f"lost counts: {lost}" if lost else None


def show(value):
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, list):
        return "\n".join(show(v) for v in value)
    if isinstance(value, dict):
        return "\n".join(f"{k}: {v[0]} {show(v[1])[:2000]}" for k, v in sorted(value.items()))
    return str(value)


def differences(bare, ours):
    import difflib
    for part, value in bare.items():
        if value == ours[part]:
            continue
        lines = list(difflib.unified_diff(show(value).splitlines(), show(ours[part]).splitlines(),
                                          "without", "with", lineterm="", n=1))
        yield part, lines


def judge(case, room):
    """('same' | 'differs' | 'unsteady' | 'skipped', lines, seconds without and with)."""
    missing = case.missing()
    if missing:
        return "skipped", [f"no {missing} here"], None
    bare = Run(case, False, room)
    parts = bare.parts()
    ours = Run(case, True, room)
    ours_parts = ours.parts()
    found = list(differences(parts, ours_parts))
    seconds = (bare.seconds, ours.seconds)
    if not found:
        error = ours.report_error()
        return ("differs", [error], seconds) if error else ("same", [], seconds)
    outcomes = {part: [value] for part, value in parts.items()}
    for _ in range(BARE_RUNS - 1):
        for part, value in Run(case, False, room).parts().items():
            outcomes[part].append(value)
        if all(ours_parts[part] in values for part, values in outcomes.items()):
            return "same", [], seconds
    unsteady = [part for part, values in outcomes.items() if any(v != values[0] for v in values)]
    lines = [f"    {line}" for part, text in found for line in [f"{part}:"] + text[:LINES_MAX]]
    if any(part in unsteady for part, _ in found):
        lines.insert(0, f"    differs from run to run without the library, too: {', '.join(unsteady)}")
        return "unsteady", lines, seconds
    return "differs", lines, seconds


def own_shared_memory():
    """A /dev/shm that nobody else writes to; False = not permitted."""
    if os.geteuid() != 0 or any(place.startswith(SHARED) for place in (BUILD, TOOLS, tempfile.gettempdir())):
        return False
    libc = ctypes.CDLL(None)
    return (libc.unshare(CLONE_NEWNS) == 0 and
            libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0 and
            libc.mount(b"none", SHARED.encode(), b"tmpfs", 0, b"mode=1777") == 0)


def main(arguments):
    global timer, shared_is_own
    verbose, quiet, only, markdown, tables = False, False, None, None, []
    rest = iter(arguments)
    for word in rest:
        if word == "-v":
            verbose = True
        elif word == "-q":
            quiet = True
        elif word == "--timer":
            timer = True
        elif word == "--only":
            only = re.compile(next(rest))
        elif word == "--markdown":
            markdown = next(rest)
        else:
            tables.append(word)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # A program that notifies its parent by a signal, and has lost it, notifies us: stress-ng's
    # dccp. A handler is not inherited by exec.
    signal.signal(signal.SIGALRM, lambda *_: None)
    shared_is_own = own_shared_memory()
    results = []
    with tempfile.TemporaryDirectory(prefix="same.") as room:
        os.chmod(room, 0o755)
        for table in tables:
            for case in cases_of(table):
                if only and not only.search(case.name):
                    continue
                outcome, lines, seconds = judge(case, room)
                results.append((case, outcome, lines))
                took = " {:.2f} s, {:.2f} s".format(*seconds) if seconds else ""
                if not quiet or outcome != "same":
                    print(f"{outcome:9}{case.name}{took}", flush=True)
                if lines and (verbose or outcome != "same"):
                    print("\n".join(lines), flush=True)
    if markdown:
        with open(markdown, "w") as file:
            for case, outcome, lines in results:
                file.write(f"| {case.name} | {outcome} |\n")
    count = {o: sum(r[1] == o for r in results) for o in ("same", "differs", "unsteady", "skipped")}
    print(", ".join(f"{n} {o}" for o, n in count.items()))
    bad = count["differs"] + count["unsteady"]
    return 1 if bad or not count["same"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
