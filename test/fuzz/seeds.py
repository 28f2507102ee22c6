#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# seeds.py FOLDER - makes the fuzzer's seeds, for targets whose inputs are not texts:
# FOLDER/cfi, perf, kept, segment, ...
# FUZZ_BASE names the run, HP_BUILD the build whose answers are the console's seeds.
import gzip
import json
import os
import random
import struct
import subprocess
import sys
import urllib.error
import urllib.request

SOURCE = """
extern int other(void *);
int leaf(int a) { return a * 3; }
int room(int n) { return other(__builtin_alloca(n)) + leaf(n); }
int many(int a, int b, int c) { char t[400]; return other(t) + room(a) + room(b) * room(c); }
__asm__(".globl odd\\nodd:\\n.cfi_startproc\\n.cfi_escape 0x0f,3,0x77,8,6\\nret\\n.cfi_endproc\\n"
	".globl sig\\nsig:\\n.cfi_startproc\\n.cfi_signal_frame\\n.cfi_def_cfa %rbp,16\\n"
	".cfi_offset 16,-8\\n.cfi_escape 0x10,6,3,0x77,16,6\\nret\\n.cfi_endproc\\n");
"""


def write(folder, name, data):
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/{name}", "wb") as out:
        out.write(data)


def cfi(folder):
    for flags in (["-O0"], ["-O2"], ["-O2", "-mstackrealign", "-fno-omit-frame-pointer"]):
        name = f"{folder}/object.so"
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["gcc", "-x", "c", "-", "-shared", "-fPIC", "-nostdlib", "-s", *flags, "-o", name,
                        "-Wl,-z,noseparate-code,--build-id=none"], input=SOURCE.encode(), check=True)
        headers = subprocess.run(["readelf", "-SW", name], capture_output=True, check=True).stdout.decode()
        line = next(text for text in headers.splitlines() if ".eh_frame_hdr" in text)
        offset = int(line.split("]")[1].split()[3], 16)
        with open(name, "rb") as file:
            write(folder, "object" + "".join(flags), file.read()[:8192] + struct.pack("<H", offset))
        os.remove(name)


def record(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def perf(folder):
    tail = struct.pack("<IIQQ", 100, 100, 5000, 1)
    path = b"/lib/x86_64-linux-gnu/libc.so.6".ljust(32, b"\0")
    where = struct.pack("<IIQQQ", 100, 100, 0x400000, 0x200000, 0)
    mapped = record(10, 2, where + struct.pack("<IIQQII", 254, 0, 77, 1, 5, 2) + path + tail)
    forked = record(7, 0, struct.pack("<IIIIQ", 101, 100, 101, 101, 4000) + tail)
    ended = record(4, 0, struct.pack("<IIIIQ", 101, 100, 101, 101, 6000) + tail)
    named = record(3, 1 << 13, struct.pack("<II", 100, 100) + b"program\0" + tail)
    lost = record(2, 0, struct.pack("<QQ", 1, 9) + tail)
    switches = [record(14, out << 13, tail) for out in (1, 0)]
    samples = []
    for chain in ([], [2**64 - 512, 0x400100], [2**64 - 128, 2**64 - 100, 2**64 - 512, 0x400100]):
        stack = struct.pack("<Q", 0x400200) * 32
        body = struct.pack("<QQIIQQ", 1, 0x400100, 100, 100, 5000, 1001001)
        body += struct.pack("<Q", len(chain)) + b"".join(struct.pack("<Q", at) for at in chain)
        body += struct.pack("<QQQQ", 2, 0x7FFE0010, 0x7FFE0000, 0x400100)
        body += struct.pack("<Q", len(stack)) + stack + struct.pack("<Q", len(stack))
        samples.append(record(9, 2, body))
    write(folder, "all", mapped + forked + named + b"".join(samples) + b"".join(switches) + lost + ended)
    write(folder, "samples", mapped + b"".join(samples))
    write(folder, "waits", b"".join(switches) * 3)


def kept(folder):
    """Unpacked, since zlib's checksum would reject every change."""
    with gzip.open(os.environ["FUZZ_BASE"]) as file:
        data = file.read()
    write(folder, "run", data[:200000])
    at, head, rest = 16, data[:16], b""
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        piece = data[at:at + 8 + size]
        if kind != 3 or size < 3000:
            rest += piece
        at += 8 + size
    write(folder, "small", head + rest)


def segment(folder):
    random.seed(1)
    for i in range(24):
        changes = b"".join(struct.pack("<BBHIQ", random.randrange(8), random.randrange(4), random.randrange(65536),
                                       random.randrange(1 << 24), random.choice((0, 1, 2**31, 2**64 - 1, 2**63,
                                                                               random.randrange(1 << 20))))
                           for _ in range(1 << i % 8))
        write(folder, f"changes{i}", changes)


def mcp(folder):
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    calls = [("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}}), ("tools/list", {}), ("ping", {}),
             ("tools/list", meta), ("server/discover", meta)]
    for name, arguments in (("functions_timing", {"limit": 3}), ("hot_path", {}), ("explain", {"topic": "leaks"}),
                            ("function_timing_logs", {"function_id": "1"}), ("functions_cpu_snapshot", {}),
                            ("top_allocation_sites", {"limit": 1000}), ("leaks", {"limit": -1}), ("sessions", None)):
        calls.append(("tools/call", {"name": name, "arguments": arguments}))
        calls.append(("tools/call", {"name": name, "arguments": arguments, **meta}))
    for i, (method, params) in enumerate(calls):
        message = json.dumps({"jsonrpc": "2.0", "id": i, "method": method, "params": params}).encode()
        write(folder, f"call{i}", bytes([i % 32]) + message)
    write(folder, "told", b"\0" + b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    write(folder, "deep", b"\0" + b"[" * 2000)


def http(folder):
    heads = {"Host": "localhost", "Accept": "application/json", "Content-Type": "application/json"}
    token = {**heads, "Authorization": "Bearer abcdefgh12345678"}
    call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"functions_timing","arguments":{"limit":2}}}'

    def ask(name, server, line, head, body=""):
        if body:
            head = {**head, "Content-Length": str(len(body))}
        text = line + " HTTP/1.1\r\n" + "".join(f"{key}: {value}\r\n" for key, value in head.items())
        write(folder, name, bytes([server]) + (text + "\r\n" + body).encode() * 2)
    ask("routes", 0, "GET /routes", heads)
    ask("query", 0, "GET /functions_timing?limit=3&sort=self", heads)
    ask("page", 1, "GET /", heads)
    ask("flame", 1, "GET /flame?seconds=1", token)
    ask("metrics", 1, "GET /metrics", {**token, "Accept": "application/openmetrics-text"})
    ask("foreign", 1, "GET /threads", {**token, "Host": "evil.example", "Origin": "http://evil.example",
                                       "Sec-Fetch-Site": "cross-site"})
    ask("head", 0, "HEAD /threads", heads)
    ask("post", 1, "POST /functions_cpu/snapshot", token, "{}")
    ask("mcp", 2, "POST /mcp", {**token, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call"}, call)
    ask("options", 2, "OPTIONS /mcp", {**token, "Origin": "http://localhost:1"})
    write(folder, "chunks", b"\2POST /mcp HTTP/1.1\r\nHost: [::1]:99\r\nAuthorization: abcdefgh12345678\r\n"
          b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")


def answers():
    """The server's answers about the run: {path: text}."""
    paths = ("profiler_status", "functions_timing", "calltree", "alloc_sites", "threads", "mutexes", "waits", "channels",
             "functions_timing/1/logs", "locks", "cpu", "functions_cpu", "offcpu", "bound", "leaks")
    with subprocess.Popen([f"{os.environ['HP_BUILD']}/hotpath-live", "serve", "--port=0", os.environ["FUZZ_BASE"]],
                          stdout=subprocess.PIPE) as server:
        base, told = server.stdout.readline().decode().strip(), {}
        for path in paths:
            try:
                with urllib.request.urlopen(f"{base}{path}?limit=3", timeout=30) as answer:
                    told[path] = answer.read().decode().replace("\n", " ")
            except urllib.error.HTTPError:
                pass
        server.terminate()
    return told


def console(folder):
    told = answers()
    for path, text in told.items():
        for tab in range(1, 9):
            write(folder, f"{path.replace('/', '-')}{tab}",
                  f"2{told['profiler_status']}\nk{tab}\n0{text}\nkjj s i\n1{text}\nk/a\n".encode())
    programs = json.dumps({"data": [{"session": "0123456789abcdef", "pid": 1, "command": "a"}]})
    write(folder, "choose", f"c{programs}\nkj\noc{programs}\ne{{\"error\":\"no\",\"hint\":\"yes\"}}\n".encode())
    write(folder, "keys", b"khjklGgg?qo\n\ti/abc\nkSrpmxe \x81\x82\x83\x91\x92\x93")


def compare(folder):
    report = subprocess.run([f"{os.environ['HP_BUILD']}/hotpath", "report", "--format", "json", "--limit", "2",
                             os.environ["FUZZ_BASE"]], capture_output=True, check=True).stdout
    whole = json.loads(report)
    for name, part in whole.items():
        if isinstance(part, dict) and "raw" in part:
            one = json.dumps({"summary": {}, name: part}).encode()
            write(folder, name, one + b"\0" + one.replace(b"1", b"22"))


def samply(folder):
    thread = {"samples": {"stack": [0, 1, 1, None], "weight": [1, 2, 3, 4], "threadCPUDelta": [1000, None, 7, 9]},
              "stackTable": {"prefix": [None, 0], "frame": [0, 1]},
              "frameTable": {"address": [4096, 5000], "func": [0, 1]},
              "funcTable": {"resource": [0, 1]}, "resourceTable": {"lib": [0, 1]}}
    libs = [{"path": "/bin/true", "debugPath": "/bin/true", "codeId": "0123456789abcdef"},
            {"path": "[kernel.kallsyms]", "codeId": "abc"}, {"path": "[vdso]"}]
    profile = {"meta": {"interval": 1.0}, "libs": libs, "threads": [thread, thread]}
    write(folder, "profile", json.dumps(profile).encode())
    write(folder, "packed", gzip.compress(json.dumps(profile).encode()))
    write(folder, "large", json.dumps(profile).replace("4096", "1e300").replace("1000", "1e300").encode())


def elf(folder):
    name = f"{folder}/object"
    notes = '#include "include/hotpath.h"\nHOTPATH_DEFAULTS("limit=3");\n#include <stdio.h>\n' \
            "static int much(int a) { return printf(\"%d\", a); }\nint main(int n, char **a) { (void)a; return much(n); }\n"
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    os.makedirs(folder, exist_ok=True)
    for kind, flags in (("plain", []), ("debug", ["-g"]), ("packed", ["-g", "-gz"]), ("now", ["-Wl,-z,now", "-s"]),
                        ("finstrument", ["-finstrument-functions"]), ("static", ["-shared", "-fPIC"])):
        subprocess.run(["gcc", "-x", "c", "-", "-DHOTPATH", "-I", root, *flags, "-o", name,
                        "-Wl,-z,noseparate-code"], input=notes.encode(), check=True)
        with open(name, "rb") as file:
            write(folder, kind, file.read() + struct.pack("<H", 0x1040))
        os.remove(name)
    with open(f"{folder}/plain", "rb") as file:
        data = bytearray(file.read())
    heads, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    for at in range(heads, heads + 56 * count, 56):
        if struct.unpack_from("<I", data, at)[0] == 1:
            struct.pack_into("<Q", data, at + 32, 1 << 30)  # p_filesz, far beyond p_memsz
    write(folder, "overlong", bytes(data))
    write(folder, "script", b"#! /bin/sh -e\nexit\n")


def tick(folder):
    sample = [9, 5000, 1001001, 100 | 100 << 32, 1, 77, 0x400100, 0x400200, 0x400300]
    note = [12 | 3 << 32, 6000, 2000, 0x400101, 0x7FFE0000, 0x7FFE0040] + [0x400200] * 6
    for name, head, words in (("samples", 18, sample * 2), ("notes", 24, note * 2), ("far", 2**63, sample * 40)):
        write(folder, name, struct.pack("<4Q", head, 0, 0, 100) + struct.pack(f"<{len(words)}Q", *words))


def inherit(folder):
    heap_at, objects = 8192, (5120, 5248)
    steps_at = heap_at + 704
    rules_at = steps_at + 64 + 16 * 16

    # Steps that nobody filled overlap the rules: so an input is small.
    def heap(capacity=400, count=300, following=0, rules=250, site=1024):
        head = bytearray(704)
        struct.pack_into("<QQ", head, 112, steps_at, 16)
        steps = struct.pack("<QIIQ40x", following, capacity, count, rules_at)
        steps += struct.pack("<4I", 0, 0, 1, site)
        first = steps_at // 16 + 4
        for i in range(15):
            steps += struct.pack("<4I", first + i if i else 0, objects[i & 1] // 64, 256 + i, 1024 + 2 * i)
        return bytes(head) + steps + struct.pack("<QII48x", 0 if rules else rules_at, 252, rules)

    # Of each kind some that lead to the next page.
    def rules(kinds):
        return b"".join(struct.pack("<IIihbB", objects[i & 1] // 64, i // 2, 32 + (4096 if i % 16 == 0 else i % 3 * 8),
                                    -2 if i % 4 else 0, -1, kinds[i // 2 % len(kinds)]) for i in range(256))

    code = [0x40000000 | (i & 1) << 29 | i % 96 for i in range(192)]
    stack = struct.pack("<192I", *(i * 32 % 4096 + 64 if i % 5 == 4 else at for i, at in enumerate(code)))

    def numbers(how):
        return bytes([31, how, how == 3, 0, 0, 0, 0, 0, 8, 30, 7, 200, 16, 140, 255, 90])

    for name, how, kinds in (("home", 3, (0,)), ("apart", 0, (0, 1)), ("first", 1, (0, 1, 2)), ("odd", 3, (0, 3, 4)),
                             ("pointers", 3, (1, 0, 1, 2)), ("end", 0, (0,))):
        write(folder, name, numbers(how) + stack + heap() + rules(kinds))
    short = bytes([31, 3, 0, 0, 0, 0, 0, 0, 8, 30, 7, 120, 16, 40, 25, 90])
    write(folder, "shorter", short + struct.pack("<192I", *code) + heap() + rules((0,)))
    for none in range(8, 24):
        data = bytes([31, 3, 1, none, 0]) + numbers(3)[5:] + struct.pack("<192I", *code)
        write(folder, f"none{none}", data + heap() + rules((0,)))
    for name, bad in (("itself", heap(following=steps_at, rules=0)), ("large", heap(capacity=2**32 - 1, count=2**32 - 2)),
                      ("beyond", heap(count=2**30)), ("site", heap(site=2**32 - 1))):
        write(folder, name, numbers(3) + stack + bad + rules((0,)))


if __name__ == "__main__":
    for make in (cfi, perf, kept, segment, mcp, http, console, compare, samply, elf, tick, inherit):
        make(f"{sys.argv[1]}/{make.__name__}")
