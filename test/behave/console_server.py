#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""console_server.py MODE PORT_FILE - a server for console.bats, at a free port of the loopback.

MODE: crate    answers as the Rust crate's server does, without our own fields
      token    the same, to those who send the token "secret"
      slow     takes a request and never answers
      page     answers a web page to everything
      half     ends its answers in the middle
      foreign  404 to everything, as some other server
      many     ten million values in an answer
      hostile  names with escape sequences, odd types, huge numbers
It ends by itself after ten minutes.
"""
import http.server
import json
import os
import socketserver
import sys
import threading
import time

MODE, PORT_FILE = sys.argv[1:3]
BEGAN = time.monotonic()


def function(number, name, calls, total):
    return {"id": number, "name": name, "calls": calls, "sampled_calls": calls, "avg": "1.65 ms",
            "p95": "2.31 ms", "total": total, "percent_total": "12.50%"}


def timing(rows):
    return {"profiling_mode": "timing", "time_elapsed": "2.00 s", "total_elapsed_ns": 2000000000,
            "description": "Function execution time metrics.", "caller_name": "shop::main",
            "percentiles": [95.0], "data": rows, "total_count": len(rows),
            "included_count": len(rows)}


CRATE = {
    "/functions_timing": timing([function(1, "shop::nap", 25616, "22.58 s"),
                                 function(2, "shop::fast", 9, "999 ns"),
                                 function(3, "shop::late", 120, "1.20 ms")]),
    "/functions_timing/1/logs": {
        "function_name": "shop::nap", "total_invocations": 25616,
        "logs": [{"invocation": 25616, "duration": "1.58 ms", "timestamp": "2.00 s", "ago": "now",
                  "thread_id": 4711, "result": "Ok(42)"}]},
    "/threads": {"current_elapsed_ns": 0, "sample_interval_ms": 250, "thread_count": 1,
                 "rss_bytes": "3.4 MB", "alloc_dealloc_diff": "1.5 KB", "total_count": 1,
                 "included_count": 1,
                 "data": [{"name": "tokio-worker", "os_tid": 4711, "status": "Running",
                           "status_code": "R", "cpu_percent": "62.5%", "cpu_percent_max": None,
                           "cpu_percent_avg": "60.0%"}]},
    "/io": {"current_elapsed_ns": 1, "percentiles": [95.0], "total_count": 1, "included_count": 1,
            "data": [{"id": 1, "source": "src/main.rs:149", "label": "journal",
                      "has_custom_label": True, "type_name": "File", "instances": 1, "iter": 0,
                      "read": {"count": 7, "bytes": 4096, "avg": "1.00 µs", "percentiles": {}},
                      "write": {"count": 53920, "bytes": 220856320, "avg": "6.42 µs",
                                "bytes_per_sec": "608.9 MB", "percentiles": {}}}]},
    "/tokio_runtime": {"num_workers": 2, "num_alive_tasks": 4, "global_queue_depth": 0,
                       "workers": [{"index": 0, "park_count": 33378, "busy_duration_ms": 648}]},
    "/profiler_status": {"uptime": "2.00 s", "pid": 28317},
}

BAD = "evil\x1b[31m\x1b]0;title\x07\u202egpj\u2066.exe\x9b5n"
HOSTILE = dict(CRATE)
HOSTILE["/functions_timing"] = timing([
    function(1, BAD, 25616, "22.58 s"),
    function(2, "w" * 5000, 1 << 63, "1e400 s"),
    function(3, "宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽宽", -5, None),
    {"id": "no number", "name": ["no", "text"], "calls": {"a": 1}, "avg": 7, "total": []},
    None, 17, "text", [],
])
HOSTILE["/functions_timing"]["percentiles"] = [95, "x", None, 1e300, -1]
HOSTILE["/functions_timing"]["description"] = BAD


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def say(self, status, body, kind="application/json", length=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)
        if length is not None:
            self.close_connection = True

    def do_GET(self):
        if MODE == "slow":
            time.sleep(100)
        elif MODE == "page":
            self.say(200, b"<html>hello</html>", "text/html")
        elif MODE == "foreign":
            self.say(404, b'{"detail": "no"}')
        elif MODE == "many":
            self.say(200, b'{"data":[' + b"1," * 10000000 + b"1]}")
        elif MODE == "token" and self.headers.get("Authorization") != "secret":
            self.say(401, b'{"error": "Unauthorized"}')
        else:
            self.answer()

    def answer(self):
        answers = HOSTILE if MODE == "hostile" else CRATE
        answer = answers.get(self.path)
        if answer is None:
            self.say(404, json.dumps({"error": "Not found"}).encode())
            return
        if "current_elapsed_ns" in answer:
            answer["current_elapsed_ns"] = int((time.monotonic() - BEGAN) * 1e9)
        body = json.dumps(answer).encode()
        if MODE == "half":
            self.say(200, body[:20], length=len(body))
        else:
            self.say(200, body)

    def do_POST(self):
        self.say(409, json.dumps({"error": "a snapshot is being taken already"}).encode())


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
with open(PORT_FILE + ".new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename(PORT_FILE + ".new", PORT_FILE)
timer = threading.Timer(600, lambda: os._exit(0))
timer.daemon = True
timer.start()
server.serve_forever()
