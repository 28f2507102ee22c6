#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs.py check|write BUILD FOLDER PAGE... - runs the commands that pages show.

A block that starts with ```console holds commands, each after "$ " (a line that ends
with \\ goes on), and below each what it prints.  All commands of a page run in one
shell, in FOLDER, which looks like a fresh clone with hotpath installed.  `write` puts
the output into the page. `check` fails if a command fails, or if the shown output no
longer resembles the real one: times and rows may differ, headings may not.

Comments in the page direct this:

  <!-- doc: run COMMAND -->   run COMMAND here, without showing it

and, in the line before a block, for each of its commands:

  <!-- doc: status N -->      the exit status is N
  <!-- doc: show N-M -->      show these lines of the output only; $ is the last
  <!-- doc: show TEXT -->     show the lines from the one that starts with TEXT to the next empty one
  <!-- doc: screen TEXT -->   a full-screen program; show its screen once TEXT is there, then press q
  <!-- doc: keep -->          keep the shown output, and do not compare it
  <!-- doc: needs CHECK -->   run it only where this check of `hotpath doctor` is ok
  <!-- doc: skip REASON -->   do not run it
"""
import itertools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field

DIRECTIVE = re.compile(r"<!-- doc: (\w+) ?(.*?) ?-->$")
TIMEOUT = 100  # s, for a page; one takes 1 to 3
PRELUDE = """
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
# eventually COMMAND... - repeats it until it succeeds.
eventually()
{
	for try in {1..300}; do
		eval "$*" >/dev/null 2>&1 && return
		sleep 0.1
	done
	return 1
}
"""


@dataclass
class Command:
    text: str
    directives: dict
    hidden: bool = False
    shown: list = field(default_factory=list)
    output: list = field(default_factory=list)
    status: int = -1

    @property
    def runs(self):
        return "skip" not in self.directives

    @property
    def is_background(self):
        return self.text.endswith("&")


def parse(text):
    """The page as a list of its other lines and of its commands, in order."""
    parts, directives, inside = [], {}, False
    for line in text.splitlines():
        found = DIRECTIVE.match(line)
        if found and found[1] == "run":
            parts += [line, Command(found[2], {}, hidden=True)]
        elif found:
            directives[found[1]] = found[2]
            parts.append(line)
        elif line.startswith("```") and not inside:
            inside = line == "```console"
            parts.append(line)
            if not inside:
                directives = {}
        elif line.startswith("```"):
            inside, directives = False, {}
            parts.append(line)
        elif not inside:
            parts.append(line)
        elif line.startswith("$ "):
            parts.append(Command(line[2:], dict(directives)))
        elif parts[-1].text.endswith("\\") and not parts[-1].shown:
            parts[-1].text += "\n" + line
        else:
            parts[-1].shown.append(line)
    return parts


def screen_of(command):
    """The shell code that shows what a full-screen program shows."""
    tmux = f"tmux -L hotpath-docs-{os.getpid()} -f /dev/null"
    shown = f"{tmux} capture-pane -p"
    is_there = f"{shown} | grep -F " + shlex.quote(command.directives["screen"])
    return (f"{tmux} new-session -d -x 80 -y 20 {shlex.quote(command.text)} && "
            f"eventually {shlex.quote(is_there)} && "
            f"{shown} && {tmux} send-keys q; status=$?; {tmux} kill-server 2>/dev/null; test $status = 0")


def script(commands, notes):
    lines = [PRELUDE]
    for number, command in enumerate(commands):
        # Another program may have the port: then a page sets $port.
        text = command.text.replace("localhost:6770", "localhost:${port:-6770}")
        if "screen" in command.directives:
            text = screen_of(command)
        lines += [f"{{ {text}\n}} >{notes}/{number} 2>&1 </dev/null; echo $? >{notes}/{number}.status"]
    return "\n".join(lines)


def make_clone(folder, root, build):
    """A folder with links to the files of the tree; build/ and the installed files are BUILD."""
    clone = os.path.join(folder, "hotpath")
    if not os.path.isdir(clone):
        os.makedirs(clone)
        for name in os.listdir(root):
            if name not in ("build", ".git"):
                os.symlink(os.path.join(root, name), os.path.join(clone, name))
        os.symlink(build, os.path.join(clone, "build"))
        stand_ins = os.path.join(folder, "bin")
        os.makedirs(stand_ins)
        for name, text in (("sudo", 'exec "$@"'), ("xdg-open", "true")):
            with open(os.path.join(stand_ins, name), "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{text}\n")
            os.chmod(os.path.join(stand_ins, name), 0o755)
    return clone


def environment(folder, build):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HOTPATH_", "MAKE", "LD_"))}
    home = os.path.join(folder, "home")
    os.makedirs(home, exist_ok=True)
    # `make` finds the build up to date, whatever flags it has: in make_clone's links it could not build.
    kept["MAKEFILES"] = os.path.join(build, "flags")
    return dict(kept, PATH=f"{folder}/bin:{build}:{os.environ['PATH']}", LD_LIBRARY_PATH=build, HOME=home,
                XDG_STATE_HOME=os.path.join(home, ".local/state"), DESTDIR=os.path.join(folder, "root"), B=build,
                COLUMNS="80", LINES="20", HOTPATH_EXIT_WAIT_MS="20000", HOTPATH_PROFILE_DIR="off")


def run(commands, folder, root, build):
    clone = make_clone(folder, root, build)
    notes = os.path.join(folder, "notes")
    shutil.rmtree(notes, ignore_errors=True)
    os.makedirs(notes)
    with subprocess.Popen(["bash", "-c", script(commands, notes)], cwd=clone, env=environment(folder, build),
                          stdin=subprocess.DEVNULL, start_new_session=True) as shell:
        try:
            shell.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
    for number, command in enumerate(commands):
        try:
            with open(f"{notes}/{number}.status", encoding="ascii") as file:
                command.status = int(file.read())
        except FileNotFoundError:
            continue  # the shell was ended by a command before
        with open(f"{notes}/{number}", encoding="utf-8", errors="replace") as file:
            text = file.read().replace(clone, "~/hotpath").replace(os.path.join(folder, "home"), "~")
            text = text.replace(build, "/usr/local/lib")
        command.output = [] if command.is_background else [line.rstrip() for line in text.splitlines()]


def chosen(command):
    """The lines of the output that the page shows."""
    lines = command.output
    wanted = command.directives.get("show", "1-$")
    numbers = re.fullmatch(r"(\d+)-(\d+|\$)", wanted)
    if numbers:
        lines = lines[int(numbers[1]) - 1:None if numbers[2] == "$" else int(numbers[2])]
    else:
        lines = list(itertools.dropwhile(lambda line: not line.startswith(wanted), lines))
        lines = list(itertools.takewhile(bool, lines))
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def first_words(lines):
    return [found[0] for found in (re.search(r"[A-Za-z_]{3,}", line) for line in lines) if found]


def complaints(command, compare):
    wanted = int(command.directives.get("status", 0))
    if command.status != wanted:
        yield f"exit status {command.status}, not {wanted}"
    if not compare or "keep" in command.directives or not command.shown:
        return
    words = first_words(command.shown)
    printed = set(first_words(command.output))
    missing = [word for word in words if word not in printed]
    # Rows vary with the machine and its load; a view that has changed loses most of them.
    if len(missing) > len(words) * 0.5:
        yield f"shown output is no longer printed: {', '.join(missing[:8])}; scripts/refresh-docs.sh"


def written(parts):
    lines = []
    for part in parts:
        if isinstance(part, str):
            lines.append(part)
        elif not part.hidden:
            keep = not part.runs or "keep" in part.directives
            lines += [f"$ {part.text}"] + (part.shown if keep else chosen(part))
    return "\n".join(lines) + "\n"


def checks_passed(build):
    """The checks of `hotpath doctor` that are ok on this machine."""
    said = subprocess.run([f"{build}/hotpath", "doctor"], capture_output=True, text=True, check=False).stdout
    return set(re.findall(r"^ok +(\S+)", said, re.MULTILINE))


def handle(page, mode, passed, build, folder, root):
    with open(page, encoding="utf-8") as file:
        text = file.read()
    parts = parse(text)
    commands = [part for part in parts if isinstance(part, Command) and part.runs and
                part.directives.get("needs") in passed | {None}]
    # Without CPU samples half of a report is missing: then only the exit status counts.
    compare = mode == "check" and "perf-events" in passed
    run(commands, folder, root, build)
    failed = False
    for command in commands:
        for complaint in complaints(command, compare):
            failed = True
            print(f"{page}: {command.text}: {complaint}\n" + "\n".join(command.output[-30:]))
    if mode == "write" and not failed:
        with open(page, "w", encoding="utf-8") as file:
            file.write(written(parts))
    return failed


def main():
    if len(sys.argv) < 5 or sys.argv[1] not in ("check", "write"):
        sys.exit(__doc__)
    mode, build, folder = sys.argv[1], *map(os.path.abspath, sys.argv[2:4])
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    os.makedirs(folder, exist_ok=True)
    passed = checks_passed(build)
    if any([handle(page, mode, passed, build, folder, root) for page in sys.argv[4:]]):
        sys.exit(1)


if __name__ == "__main__":
    main()
