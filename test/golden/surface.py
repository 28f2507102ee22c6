#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""surface.py LIST BUILD RUN FOLDER [KNOWN] - what the product publishes, as text on stdout.

LIST is a name of LISTS below: keys of sections, help, keys of JSON, routes, tools, metrics, tabs.  BUILD has
the commands, RUN is the kept run of test/golden/surface, FOLDER is for files of this call only.  KNOWN is the
previous output: a screen of the console is complete when it equals the known one, or when it no longer changes.

It prints names, types, titles and their order; and figures if they are those of RUN.
"""
import contextlib
import gzip
import http.client
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time

SECONDS_MAX = 60	# until an answer; a busy machine takes longer than an idle one


def section_keys():
    """All keys in the order of the report, from the list in segment/section_key.h."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../segment/section_key.h")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    names = dict(re.findall(r'#define (HP_KEY_\w+) "([^"]+)"', text))
    return [names.get(key, key.strip('"')) for key in re.findall(r"(?:NOW|LATER)\(\w+, ([^)]+)\)", text)]


# The words of HOTPATH_REPORT. Each word is tried in other spellings, too.
SECTIONS = section_keys()
COMMANDS = "run report explain compare list console serve load mcp init flags check doctor version help".split()
PERCENTILES = "0,50,95,99.9,100"


class Place:
    """The build, the run, and a home in which that is the only run."""

    def __init__(self, build, run, folder):
        self.build, self.folder = os.path.abspath(build), os.path.abspath(folder)
        self.run = os.path.abspath(run)
        self.other = os.path.join(os.path.dirname(self.run), "..", "choose", "run.hp.gz")
        kept = os.path.join(self.folder, "state", "hotpath")
        os.makedirs(kept, exist_ok=True)
        shutil.copy(self.run, os.path.join(kept, "20260101T000000Z-shop-4242.hp.gz"))
        self.environ = {
            "PATH": os.environ["PATH"], "HOME": self.folder, "XDG_STATE_HOME": os.path.join(self.folder, "state"),
            "LC_ALL": "C.UTF-8", "TZ": "UTC", "HOTPATH_PROFILE_DIR": "off", "TMPDIR": self.folder,
        }

    def command(self, *words, columns=80, **variables):
        """Exit status, stdout, stderr; texts are bytes."""
        done = subprocess.run([os.path.join(self.build, "hotpath"), *words], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=SECONDS_MAX, cwd=self.folder,
                              env={**self.environ, "COLUMNS": str(columns), **variables})
        return done.returncode, done.stdout, done.stderr

    def report(self, *words, **variables):
        return self.command("report", *words, self.run, **variables)


# --- keys of JSON ---

def kind(value):
    if value is None:
        return "?"
    if isinstance(value, bool):
        return "b"
    if isinstance(value, (int, float)):
        return "n"
    return {str: "t", list: "l", dict: "o"}[type(value)]


def keys_add(value, path, to):
    if isinstance(value, list):
        for one in value:
            keys_add(one, path + "[]", to)
    if isinstance(value, dict):
        for key, one in value.items():
            # Keys of only some rows come last.
            kinds = to.setdefault(path or ".", {}).setdefault(key, set())
            kinds.add(kind(one))
            keys_add(one, f"{path}.{key}", to)
    return to


def keys_print(value):
    """The keys of each object in order, with their types: text, number, bool, list, object, ? = null."""
    for path, keys in keys_add(value, "", {}).items():
        print(f"{path}:", *[f"{key}:{''.join(sorted(kinds, reverse=True))}" for key, kinds in keys.items()])


# --- sections: words, tables, JSON ---

def spellings(key):
    words = [key, key.replace("-", "_"), key.replace("_", "-"), key.removeprefix("functions-"), key.upper()]
    return list(dict.fromkeys(words))


def sections(place):
    """Which words name a section, what its table is called, and which keys of JSON it has."""
    said = place.report("--report", "no-such-section")[2].decode()
    print(said, end="")
    for key in SECTIONS:
        for word in spellings(key):
            status, out, error = place.report("-r", word, "-f", "json")
            names = [name for name in json.loads(out or "{}") if name not in ("type", "version", "meta", "summary")]
            print(f"{word}: {status} {' '.join(names) or '-'}")
            for line in error.decode().splitlines():
                print("   ", line.split(";")[0])
    for word in ("auto", "all", "auto,-threads", "all,-leaks", "-calltree"):
        out = place.report("-r", word, "-f", "json")[1]
        print(f"{word}: {' '.join(json.loads(out))}")


def tables(place):
    """Each section's table alone and in full width; and the list of runs."""
    listed = place.command("list")[1].decode().splitlines()
    for line in [listed[0], *[line for line in listed if " 4242 " in line]]:
        print(*line.split())	# other users' programs may run, and have longer names
    for key in SECTIONS:
        status, out, error = place.report("-r", key, "-n", "3", "-p", PERCENTILES, columns=400)
        print(f"=== {key}: {status}")
        print("".join(line for line in (error + out).decode().splitlines(True) if line.strip()), end="")
    for words in (["-w"], ["--tree"], ["--callers=price"], ["--callees=sell"]):
        status, out, error = place.report(*words, "-n", "3", columns=400)
        print(f"=== {' '.join(words)}: {status}")
        print((error + out).decode(), end="")


def report(place):
    """Keys of the report in JSON, all sections."""
    out = place.report("-r", ",".join(["all", *SECTIONS]), "-f", "json", "-n", "0", "-p", PERCENTILES)[1]
    whole = json.loads(out)
    keys_print(whole)
    for words in (["--callers=price"], ["--callees=sell"], ["--tree"], ["-w"]):
        out = place.report(*words, "-f", "json")[1]
        print("---", *words)
        keys_print(json.loads(out))


def helps(place):
    """What commands say of themselves."""
    for words in ([], ["--help"], ["help"], ["nothing"], *[[name, "--help"] for name in COMMANDS],
                  *[["help", name] for name in COMMANDS], ["report", "--no-such"]):
        status, out, error = place.command(*words)
        print(f"=== hotpath {' '.join(words)}: {status}")
        print((out + error).decode().replace(place.build, "BUILD"), end="")


def roff(place):
    """The source of the manual page of variables."""
    print(place.command("help", "--roff")[1].decode(), end="")


def exports(place):
    """Formats for other tools: what is in them, not the figures."""
    for name in ("firefox flamegraph folded folded-bytes folded-count folded-live folded-peak folded-temporary pprof "
                 "pprof-heap pprof-mutex nothing").split():
        status, out, error = place.report("--export=" + name)
        print(f"=== {name}: {status}")
        print(error.decode().replace(place.run, "RUN"), end="")
        if out[:2] == b"\x1f\x8b":
            out = gzip.decompress(out)
        if name == "firefox":
            whole = json.loads(out)
            keys_print(whole)
            print("markers:", *[schema["name"] for schema in whole["meta"]["markerSchema"]])
            print("categories:", *[category["name"] for category in whole["meta"]["categories"]])
            print("counters:", *[counter["name"] for counter in whole.get("counters") or []])
        elif name.startswith("pprof"):
            print("sample types:", *sample_types(out))
        elif name == "flamegraph":
            keys_print(data_in(out.decode()))
        else:
            print(*sorted({line.rsplit(b" ", 1)[0].split(b";")[0].decode() for line in out.splitlines()}))


def compare(place):
    """The comparison of two runs."""
    status, out, error = place.command("compare", place.other, place.run, columns=200)
    # Runs are named by their paths: those of this tree.
    print((out + error).decode().replace(os.path.dirname(place.run) + "/", ""), end="")
    print("===", status)
    keys_print(json.loads(place.command("compare", "-f", "json", place.other, place.run)[1]))


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 128:
            return value, at


def fields(data):
    """Of a message of protocol buffers: number and value of each field."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise AssertionError(f"type {tag & 7}")
        yield tag >> 3, value


def sample_types(data):
    """Type and unit of each value that a sample of pprof has, then of its period."""
    parts = list(fields(data))
    texts = [value.decode() for number, value in parts if number == 6]
    for number, value in parts:
        if number in (1, 11):
            one = dict(fields(value))
            yield f"{texts[one.get(1, 0)]}/{texts[one.get(2, 0)]}"


# --- the server ---

class Server:
    """`hotpath serve` of the run, until the end of a block."""

    def __init__(self, place, **variables):
        self.place, self.variables = place, variables

    def __enter__(self):
        self.process = subprocess.Popen(
            [os.path.join(self.place.build, "hotpath"), "serve", "--port", "0", "--mcp-port", "0", self.place.run],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env={**self.place.environ, **self.variables},
            cwd=self.place.folder)
        self.ports = [int(re.search(rb":(\d+)/", self.process.stdout.readline())[1]) for _ in range(2)]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def ask(self, method, path, body=None, headers=None, port=0):
        """Status, headers, body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[port], timeout=SECONDS_MAX)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), data

    def get(self, path):
        return json.loads(self.ask("GET", path)[2])


def first_id(server, path):
    """The id of a row of the list for {id}; 1 if the list is empty."""
    rows = server.get("/" + path.split("/")[1]).get("raw") or []
    for row in rows:
        one = path.replace("{id}", str(row["id"]))
        if server.ask("GET", one)[0] == 200:
            return str(row["id"])
    return "1"


def said_of(server, method, path, **more):
    status, headers, data = server.ask(method, path, **more)
    allow = f", allow {headers['Allow']}" if "Allow" in headers else ""
    return f"{status} {headers.get('Content-Type', '-')}{allow}", data


def routes(place):
    """The server's routes in order, their help, and their answers: status, type, keys."""
    with Server(place) as server:
        whole = server.get("/routes")
        listed = [(one["method"], one["path"]) for one in whole["routes"]]
        for one in whole["routes"]:
            print(one["method"], one["path"], "-", one["help"])
        keys_print(whole)
        for method, path in listed:
            real = path.replace("{id}", first_id(server, path)) if "{id}" in path else path
            said, data = said_of(server, method, real, body=b"" if method == "POST" else None)
            print(f"=== {method} {path}: {said}")
            if "json" in said:
                answer = json.loads(data)
                if path == "/sessions":	# others' programs may run
                    answer["data"] = []
                if path != "/report":	# the list `report` has it
                    keys_print(answer)
            other = "POST" if method == "GET" else "GET"
            if (other, path) not in listed:
                print(f"{other}: {said_of(server, other, real)[0]}")
        for path in ("/nothing", "/", "/mcp", "/functions_timing/", "/functions_timing/4000000/logs"):
            said, data = said_of(server, "GET", path)
            print(f"=== GET {path}: {said}")
            if "json" in said:
                print(data.decode())
        for path in re.findall(r'(?:src|href)="(page/[^"]*)"', server.ask("GET", "/")[2].decode()):
            print(f"GET /{path}: {said_of(server, 'GET', '/' + path)[0]}")


def old_routes(place):
    """Lists as sent to clients of the Rust crate's 0.18."""
    with Server(place, HOTPATH_API="0.18") as server:
        for one in server.get("/routes")["routes"]:
            if one["path"].count("/") == 1 and one["path"] not in ("/report", "/sessions", "/report.html", "/flame"):
                said, data = said_of(server, one["method"], one["path"])
                print(f"=== {one['method']} {one['path']}: {said}")
                if "json" in said:
                    keys_print(json.loads(data))


def metrics(place):
    """Families for Prometheus, in both formats: help, type, and the labels of their series."""
    with Server(place) as server:
        for accept in ("text/plain", "application/openmetrics-text; version=1.0.0"):
            said, data = said_of(server, "GET", "/metrics", headers={"Accept": accept})
            print(f"=== {accept}: {said}")
            seen = set()
            for line in data.decode().splitlines():
                if line.startswith("#"):
                    print(line)
                    continue
                name, labels = re.match(r"([a-z_:]+)(?:\{(.*)\})? ", line).groups()
                keys = re.findall(r'([a-z_]+)="(?:[^"\\]|\\.)*"', labels or "")
                if (name, *keys) not in seen:
                    seen.add((name, *keys))
                    print(f"{name}{{{','.join(keys)}}}")
            if accept.startswith("text"):
                print("--- series")
                keep = ("hotpath_build_info", "_bucket", "_sum")
                print("\n".join(line for line in data.decode().splitlines()
                                if not line.startswith("#") and not any(word in line.split(" ")[0].split("{")[0]
                                                                        for word in keep)))


# --- MCP ---

class Peer:
    """`hotpath mcp` of the run, over its stdin and stdout."""

    def __init__(self, place):
        self.process = subprocess.Popen(
            [os.path.join(place.build, "hotpath"), "mcp", place.run], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=place.environ, cwd=place.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def raw(self, method, params=None):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, **({"params": params} if params else {})}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().decode()

    def call(self, name, arguments):
        return json.loads(self.raw("tools/call", {"name": name, "arguments": arguments}))["result"]


def tools(place):
    """The list of tools as it is sent, a line each."""
    with Peer(place) as peer:
        whole = peer.raw("tools/list").strip()
        listed = json.loads(whole)["result"]["tools"]
        lines = [json.dumps(tool, separators=(",", ":"), ensure_ascii=False) for tool in listed]
        # No part of it is lost between the lines.
        assert ",".join(lines) in whole, "tools/list is written in another way"
        print("\n".join(lines))
        print(json.dumps(json.loads(peer.raw("initialize", {"protocolVersion": "2025-06-18"})), indent=1))
    with Server(place) as server:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
        data = server.ask("POST", "/mcp", body, {"Content-Type": "application/json"}, port=1)[2]
        print("served:", *[tool["name"] for tool in json.loads(data)["result"]["tools"]])


def answers(place):
    """Each tool's answer: keys, and the texts of `explain`."""
    other = os.path.join(place.environ["XDG_STATE_HOME"], "hotpath", "20260102T000000Z-shop-4343.hp.gz")
    shutil.copy(place.other, other)
    with Peer(place) as peer:
        listed = json.loads(peer.raw("tools/list"))["result"]["tools"]
        for tool in listed:
            name = tool["name"]
            tries = [{}]
            if name in ("function_timing_logs", "callers", "callees"):
                tries = [{"function_id": row["id"]} for row in rows_of(peer, "functions_timing")]
            elif name == "function_alloc_logs":
                tries = [{"function_id": row["id"]} for row in rows_of(peer, "functions_alloc")]
            elif name == "channel_logs":
                tries = [{"channel_id": row["id"]} for row in rows_of(peer, "channels")]
            elif name == "compare":
                tries = [{"before": "4343", "after": "4242"}]
            elif name == "choose_session":
                tries = [{"session": place.run}]
            elif name.endswith("_logs"):
                tries = [{key: "1"} for key in tool["inputSchema"]["required"]]
            for arguments in tries:
                result = peer.call(name, arguments)
                if not result.get("isError"):
                    break
            print(f"=== {name} {' '.join(arguments)}")
            if result.get("isError"):
                print("refused:", result["content"][0]["text"])
                continue
            said = result["structuredContent"]
            if name == "sessions":	# others' programs may run
                said["data"] = []
            keys_print(said)
            if name == "explain":
                print(json.dumps(said, indent=1))


def rows_of(peer, name):
    return peer.call(name, {"limit": 1000})["structuredContent"]["raw"]


# --- the console ---

class Console:
    """The console in a terminal of tmux."""

    def __init__(self, place, size, known):
        self.known, self.size, self.missed = known, size, 0
        width, height = size.split("x")
        self.tmux = ["tmux", "-L", f"hp-surface-{os.getpid()}-{size}", "-f", "/dev/null"]
        self.environ = {**place.environ, "TERM": "xterm-256color", "HOTPATH_PERCENTILES": "50,95"}
        self.run("new-session", "-d", "-s", "c", "-x", width, "-y", height,
                 f"'{place.build}/hotpath' console -r 60000 '{place.run}'; exec sleep 1000")

    def run(self, *words):
        return subprocess.run([*self.tmux, *words], env=self.environ, check=True, timeout=SECONDS_MAX,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout.decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run([*self.tmux, "kill-server"], env=self.environ, stderr=subprocess.DEVNULL, check=False)

    def screen(self):
        lines = [line.rstrip() for line in self.run("capture-pane", "-p", "-t", "c:0").splitlines()]
        return "\n".join(line for line in lines if line)

    def shown(self, title, before=None):
        """The screen once it is complete; with `before`, once it is another one."""
        text = f"=== {self.size} {title}\n"
        # It waits for one that never appears, but not for dozens of them.
        end, last, since = time.monotonic() + (20 if self.missed < 2 else 1), None, 0
        while time.monotonic() < end:
            now = self.screen()
            if text + now + "\n" in self.known:
                break
            if now != last:
                last, since = now, time.monotonic()
            # Without a screen to compare with, one that stays for a second is complete.
            if not self.known and now and now != before and time.monotonic() - since > 1:
                break
            time.sleep(0.02)	# between two checks
        else:
            self.missed += 1
        print(text + now)
        return now

    def press(self, *keys):
        self.run("send-keys", "-t", "c", *keys)


def console(place, known=""):
    """Every view of every tab, and the logs of their first rows."""
    for size in ("80x24", "220x40"):
        with Console(place, size, known) as one:
            now = one.shown("start")
            tabs = len(re.findall(r"(?:^| )\d (?=\S)", now.splitlines()[1]))
            for tab in range(tabs):
                views = None
                count = 0
                while views is None or count < views:
                    if tab or count:
                        one.press(str(tab))
                        now = one.shown(f"tab {tab} view {count + 1}", now)
                    views = len(re.split(r"\s{2,}|\s*\[.*", now.splitlines()[2].strip().split("  [")[0].strip()))
                    count += 1
                    if size != "80x24" and "o Logs" in now and re.search(r"\[\d+/\d+\]", now):
                        one.press("o")
                        now = one.shown(f"tab {tab} view {count} log", now)
                        one.press("o")
            one.press("?")
            one.shown("keys", now)


# --- the page ---

def data_in(page):
    return json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.S)[1])


def page(place):
    """The page's data, and the result of its scripts: views, captions, titles of columns."""
    path = os.path.join(place.folder, "page.html")
    status, _, error = place.report("--html", "-o", path)
    assert status == 0, error
    with open(path, encoding="utf-8") as file:
        text = file.read()
    data = data_in(text)
    keys_print({**data, "sections": list(data["sections"])})
    print("sections:", *data["sections"])
    for name, section in data["sections"].items():
        print(f"=== {name}")
        keys_print(section)
    for section in data["overview"]["sections"]:
        print(section["key"], "-", section["about"])


def drawn(place):
    """The result of the scripts from the page's data: views, captions, titles of columns and the first row of each."""
    path = os.path.join(place.folder, "page.html")
    place.report("--html", "-o", path)
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "surface_page.js")
    done = subprocess.run(["node", script, path], env={**place.environ, "TZ": "UTC"}, stdout=subprocess.PIPE,
                          timeout=SECONDS_MAX, check=True)
    print(done.stdout.decode(), end="")


LISTS = {
    "sections": sections, "tables": tables, "report": report, "help": helps, "roff": roff, "exports": exports,
    "compare": compare,
    "routes": routes, "routes-old": old_routes, "metrics": metrics, "mcp-tools": tools, "mcp-answers": answers,
    "console": console, "page": page, "page-drawn": drawn,
}


def main():
    name, build, run, folder = sys.argv[1:5]
    place, known, said = Place(build, run, folder), [], io.StringIO()
    if name == "console" and len(sys.argv) > 5:
        with open(sys.argv[5], encoding="utf-8") as file:
            known = [file.read()]
    version = place.command("version")[1].decode().split()[1]
    with contextlib.redirect_stdout(said):
        LISTS[name](place, *known)
    text = said.getvalue().replace(f"hotpath {version}", "hotpath VERSION")
    text = text.replace(f'"version": "{version}"', '"version": "VERSION"')
    print(re.sub(r"[ \t]+$", "", text, flags=re.M), end="")


main()
