#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A client of MCP for the tests: over stdio, or HTTP if an address is given.

mcp_client.py TEST COMMAND... | http://ADDRESS/mcp

TEST is the name of a function below; it fails by an assertion.
"""
import http.client
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse

import jsonschema

MODERN = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Stdio:
    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def raw(self, body, headers=None):
        self.process.stdin.write(body + b"\n")
        self.process.stdin.flush()
        return 0, json.loads(self.process.stdout.readline())

    def silent(self, body):
        """Messages without an answer: the next answer must be that of the ping."""
        self.process.stdin.write(body + b"\n")
        _, answer = self.raw(b'{"jsonrpc":"2.0","id":"after","method":"ping"}')
        assert answer["id"] == "after", answer

    def close(self):
        self.process.stdin.close()
        assert self.process.stdout.read() == b""
        assert self.process.wait(60) == 0


class Http:
    def __init__(self, address):
        self.url = urllib.parse.urlsplit(address)

    def raw(self, body, headers=None, method="POST"):
        connection = http.client.HTTPConnection(self.url.netloc, timeout=60)
        connection.request(method, self.url.path, body, headers or {})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text) if text else None

    def silent(self, body):
        assert self.raw(body) == (202, None)

    def close(self):
        pass


def ask(peer, method, params=None, modern=False, number=[0]):
    number[0] += 1
    message = {"jsonrpc": "2.0", "id": number[0], "method": method}
    params = dict(params or {})
    headers = {"Accept": "application/json, text/event-stream"}
    if modern:
        params["_meta"] = META
        headers["MCP-Protocol-Version"] = MODERN
        headers["Mcp-Method"] = method
        if method == "tools/call":
            headers["Mcp-Name"] = params["name"]
    if params:
        message["params"] = params
    _, answer = peer.raw(json.dumps(message).encode(), headers)
    assert answer["jsonrpc"] == "2.0" and answer["id"] == number[0], answer
    if modern and "result" in answer:
        assert answer["result"]["resultType"] == "complete"
        meta = answer["result"]["_meta"]
        assert meta["io.modelcontextprotocol/serverInfo"]["name"] == "hotpath"
    return answer


def call(peer, name, arguments=None, modern=False):
    params = {"name": name}
    if arguments is not None:
        params["arguments"] = arguments
    return ask(peer, "tools/call", params, modern)["result"]


def code(answer):
    return answer["error"]["code"]


def described(schema, value, where):
    """Each key of an answer is in its schema: clients may show, or type, what is announced."""
    if isinstance(value, list):
        for item in value:
            described(schema.get("items", {}), item, where + "[]")
    if not isinstance(value, dict) or "properties" not in schema:
        return
    patterns = schema.get("patternProperties", {})
    for key, item in value.items():
        of = [part for pattern, part in patterns.items() if re.search(pattern, key)]
        assert key in schema["properties"] or of, f"{where}.{key} is not announced"
        described(schema["properties"].get(key) or of[0], item, f"{where}.{key}")


def fits(schema, value, name):
    jsonschema.Draft202012Validator(schema).validate(value)
    described(schema, value, name)


def legacy(peer):
    """The start of clients that use initialize."""
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]:
        result = ask(peer, "initialize", {"protocolVersion": version})["result"]
        assert result["protocolVersion"] == version
        assert result["serverInfo"]["name"] == "hotpath"
        assert "tools" in result["capabilities"]
        assert "resultType" not in result
    result = ask(peer, "initialize", {"protocolVersion": "1999-01-01"})["result"]
    assert result["protocolVersion"] == "2025-11-25"
    peer.silent(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    assert ask(peer, "ping")["result"] == {}
    assert code(ask(peer, "no/such")) == -32601


def modern(peer):
    """Without state: each request has its version."""
    result = ask(peer, "server/discover", modern=True)["result"]
    assert result["supportedVersions"] == [MODERN] and result["ttlMs"] > 0
    tools = ask(peer, "tools/list", modern=True)["result"]
    assert tools["cacheScope"] in ("public", "private")
    assert tools["tools"] == ask(peer, "tools/list")["result"]["tools"]
    assert code(ask(peer, "ping", modern=True)) == -32601
    body = {"jsonrpc": "2.0", "id": 1, "method": "server/discover"}
    _, answer = peer.raw(json.dumps(body).encode())
    assert code(answer) == -32602
    meta = dict(META, **{"io.modelcontextprotocol/protocolVersion": "2030-01-01"})
    body["params"] = {"_meta": meta}
    headers = {"MCP-Protocol-Version": "2030-01-01", "Mcp-Method": "server/discover"}
    _, answer = peer.raw(json.dumps(body).encode(), headers)
    assert code(answer) == -32022
    assert answer["error"]["data"] == {"supported": [MODERN], "requested": "2030-01-01"}


def schema_of(peer, name):
    """The complete schema of a tool's answer: tools/list has a short one."""
    topic, = call(peer, "explain", {"topic": name})["structuredContent"]["topics"]
    jsonschema.Draft202012Validator.check_schema(topic["schema"])
    return topic["schema"]


def tools(peer):
    """Every tool answers, in both eras, as its schema says."""
    listed = ask(peer, "tools/list")["result"]["tools"]
    assert len(json.dumps(listed, separators=(",", ":"))) < 30000
    assert not {"sql", "io", "sql_logs"} & {tool["name"] for tool in listed}
    fine = set()
    for tool in listed:
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            jsonschema.Draft202012Validator.check_schema(schema)
        arguments = {key: "0" for key in tool["inputSchema"].get("required", [])}
        for era in (False, True):
            result = call(peer, tool["name"], arguments, era)
            text = result["content"][0]["text"]
            if result.get("isError"):
                assert "structuredContent" not in result and text, tool
                continue
            fine.add(tool["name"])
            assert json.loads(text) == result["structuredContent"]
            fits(tool["outputSchema"], result["structuredContent"], tool["name"])
            fits(schema_of(peer, tool["name"]), result["structuredContent"], tool["name"])
    wanted = {tool["name"] for tool in listed if not tool["name"].endswith("_logs")}
    missing = wanted - fine - {
        "tokio_runtime",
        "functions_cpu",  # nothing was sampled
        "functions_cpu_snapshot",
        "choose_session",  # there is no session 0
        "compare",
        "stacks",  # of a run that has ended, or where ptrace is forbidden
        "callers",  # no function has the id 0
        "callees",
    }
    assert not missing, missing


def rows(peer):
    """Rows have the types of the schema; tools in ROWS must have rows."""
    for name in os.environ["ROWS"].split():
        schema = schema_of(peer, name)
        said = call(peer, name, {"limit": 1000})["structuredContent"]
        assert said["raw"] and len(said["raw"]) == len(said["data"]), (name, said)
        fits(schema, said, name)
        for key in said["raw"][0]:  # keys must not be arbitrary
            wrong = dict(said, raw=[{**said["raw"][0], key: [[{}]]}])
            assert not jsonschema.Draft202012Validator(schema).is_valid(wrong), (name, key)


def message(peer):
    """Prints why the section in SECTION is empty."""
    result = call(peer, os.environ["SECTION"])
    print(result["content"][0]["text"] if result.get("isError") else result["structuredContent"]["message"])


def chosen(peer):
    """Chooses one of several programs, then a run; a missing one changes nothing."""
    pid, run = int(os.environ["PID"]), os.environ["RUN"]
    listed = call(peer, "sessions")["structuredContent"]
    assert pid in [row["pid"] for row in listed["data"]], listed
    said = call(peer, "choose_session", {"session": str(pid)})["structuredContent"]
    assert said["pid"] == pid and said["is_live"] is True, said
    for number in (pid, str(pid)):
        said = call(peer, "choose_session", {"session": number})["structuredContent"]
        assert said["pid"] == pid, said
    this = [row["pid"] for row in call(peer, "sessions")["structuredContent"]["data"]
            if row["is_this"]]
    assert this == [pid], this
    refused = call(peer, "choose_session", {"session": "no-such-run"})
    assert refused["isError"] and "no-such-run" in refused["content"][0]["text"]
    assert call(peer, "profiler_status")["structuredContent"]["pid"] == pid
    said = call(peer, "choose_session", {"session": run})["structuredContent"]
    assert said["is_live"] is False, said
    assert call(peer, "functions_timing")["structuredContent"]["raw"]


def alone(peer):
    """A program's own port is about that program: there is nothing to choose."""
    names = [tool["name"] for tool in ask(peer, "tools/list")["result"]["tools"]]
    assert "choose_session" not in names and "sessions" in names
    assert code(ask(peer, "tools/call", {"name": "choose_session"})) == -32602


def asked(peer):
    """The skill's questions, of a program whose answers are known: it burns, keeps, and waits for a lock."""
    pid = int(os.environ["PID"])

    def answer(tool, **arguments):
        result = call(peer, tool, arguments)
        assert not result.get("isError"), (tool, result)
        topic = call(peer, "explain", {"topic": tool})["structuredContent"]["topics"]
        assert tool == "profiler_status" or topic[0]["meaning"], tool
        return result["structuredContent"]

    def eventually(tool, wanted):
        for _ in range(100):
            said = answer(tool) if tool == "functions_cpu" else answer(tool, limit=10)
            if wanted(said):
                return said
            time.sleep(0.1)
        raise AssertionError((tool, said))

    def rows(said):
        return said.get("now", said)["raw"]

    # Which program?
    assert pid in [row["pid"] for row in call(peer, "sessions")["structuredContent"]["data"]]
    assert not call(peer, "choose_session", {"session": pid}).get("isError")
    assert call(peer, "profiler_status")["structuredContent"]["pid"] == pid
    # Where does the time go?
    # The machine decides which of the three takes longest: two of them sleep and wait.
    eventually("hot_path", lambda said: any(row["name"] in ("burn", "hold", "want") and row["calls"] > 1
                                            for row in rows(said)))
    eventually("functions_timing", lambda said: {"burn", "hold", "keep"} <= {row["name"].split(" ")[0] for row in rows(said)})
    # Who computes?
    if call(peer, "functions_cpu").get("isError"):
        print("not sampled here")
    else:
        eventually("functions_cpu", lambda said: rows(said) and max(
            rows(said), key=lambda row: row["self_ns"])["name"].startswith("burn"))
    # Who waits for whom?
    eventually("who_waits_for_whom", lambda said: any(row["function"].startswith("want") and "hold" in (row["holder"] or "")
                                                      for row in rows(said)))
    # Who has the memory, and does it grow?
    first = eventually("leaks", lambda said: any("keep" in json.dumps(row) for row in rows(said)))
    kept = lambda said: next(row["live_bytes"] for row in rows(said) if "keep" in json.dumps(row))
    eventually("leaks", lambda said: kept(said) > kept(first))
    # Did the change help?
    before, after = os.environ["RUNS"].split()
    said = call(peer, "compare", {"before": before, "after": after})["structuredContent"]
    changed = {row["name"]: (row["a"], row["b"]) for row in said["sections"]["functions_alloc"]["rows"] if row["metric"] == "blocks"}
    assert changed["keep"] == (3, 5), said


def compared(peer):
    """As `hotpath compare` prints it, bounded, by the names that runs has."""
    runs = call(peer, "runs", {"limit": 2})["structuredContent"]
    assert [row["comm"] for row in runs["data"]] == ["shop", "shop"], runs
    after, before = (row["run"] for row in runs["data"])
    wanted = {"before": before, "after": after, "limit": 1}
    result = call(peer, "compare", wanted)
    assert not result["isError"], result
    said = result["structuredContent"]
    fits(schema_of(peer, "compare"), said, "compare")
    out = subprocess.run(
        [os.environ["HOTPATH"], "compare", "-f", "json", "-n", "1", before, after],
        stdout=subprocess.PIPE, check=True).stdout
    assert {**json.loads(out), "truncated": said["truncated"]} == said
    alloc = said["sections"]["functions_alloc"]["rows"]  # exact: basket() is called by sell()
    assert [(row["name"], row["metric"], row["a"], row["b"]) for row in alloc] == [("basket", "blocks", 40, 400)]
    one = said["sections"]["functions_timing"]
    assert said["truncated"] is any(len(part["rows"]) < part["changed_count"]
                                    for part in said["sections"].values()), one
    for arguments, word in [
        ({"before": before, "after": "no-such-run"}, "no-such-run"),
        ({"before": before}, "after"),
        ({"before": "-", "after": after}, "runs"),
        ({"before": "--help", "after": after}, "--help"),
        ({"before": before, "after": after, "noise": 5}, "noise"),
    ]:
        result = call(peer, "compare", arguments)
        assert result["isError"] and word in result["content"][0]["text"], result
    path = {"before": runs["folder"] + "/" + before, "after": after}
    assert call(peer, "compare", path)["isError"] is isinstance(peer, Http)


def figures(peer):
    """Tools report the program's actions: `shop` calls sell() 40 times."""
    rows = call(peer, "functions_timing")["structuredContent"]["raw"]
    row = next(row for row in rows if row["name"].startswith("sell"))
    assert row["calls"] == 40, row
    logs = call(peer, "function_timing_logs", {"function_id": row["id"], "limit": 3})
    logs = logs["structuredContent"]
    assert len(logs["logs"]) == 3 and logs["truncated"] is True, logs
    for name, first in [("callers", "main"), ("callees", "basket")]:
        said = call(peer, name, {"function_id": row["id"]})["structuredContent"]
        fits(schema_of(peer, name), said, name)
        tree = said["tree"]
        assert tree[0]["name"] == row["name"] and tree[0]["calls"] == 40, tree
        assert tree[1]["parent"] == tree[0]["id"] and tree[1]["calls"] == 40, tree
        assert first in tree[1]["name"] and said["function_ns"] == tree[0]["inclusive_ns"], tree
    one = call(peer, "functions_timing", {"limit": 1})["structuredContent"]
    assert len(one["data"]) == len(one["raw"]) == 1 and one["truncated"] is True
    assert one["included_count"] == 1 < one["total_count"]
    threads = call(peer, "threads", {"limit": 1})["structuredContent"]
    assert all(len(value) <= 1 for value in threads.values() if isinstance(value, list)), threads


def errors(peer):
    """Bad arguments are results, bad messages are errors of the protocol."""
    for name, arguments, word in [
        ("functions_timing", {"limit": 0}, "limit"),
        ("functions_timing", {"limit": 1.5}, "limit"),
        ("functions_timing", {"colour": 1}, "colour"),
        ("functions_timing", [1], "object"),
        ("function_timing_logs", {}, "function_id"),
        ("function_timing_logs", {"function_id": "-1"}, "function_id"),
        ("explain", {"topic": "nonsense"}, "nonsense"),
    ]:
        result = call(peer, name, arguments)
        assert result["isError"] is True, result
        assert word in result["content"][0]["text"], result
    assert code(ask(peer, "tools/call", {"name": "no_such_tool"})) == -32602
    assert code(ask(peer, "tools/call", {})) == -32602
    assert code(ask(peer, "tools/list", {"cursor": "x"})) == -32602
    explained = call(peer, "explain", {"topic": "leaks"})["structuredContent"]
    assert [topic["topic"] for topic in explained["topics"]] == ["leaks"]


def malformed(peer):
    """None of this ends the server, or remains unanswered."""
    for body, wanted in [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"} x', -32700),
        (b'{"jsonrpc":"2.0","id":1,\x00"method":"ping"}', -32700),
        (b"[" * 100000, -32700),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b"[]", -32600),
        (b"1", -32600),
        (b'{"id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32600),
    ]:
        _, answer = peer.raw(body)
        assert code(answer) == wanted, (body[:60], answer)
    peer.silent(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}')
    peer.silent(b'{"jsonrpc":"2.0","id":9,"result":{}}')
    if isinstance(peer, Stdio):
        _, answer = peer.raw(b'"' + b"x" * (3 << 20) + b'"')
        assert code(answer) == -32600
    assert ask(peer, "ping")["result"] == {}


def headers(peer):
    """Features of HTTP only: methods, headers, pages of other origins."""
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "explain", "_meta": META},
        }
    ).encode()
    right = {
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "explain",
    }
    assert peer.raw(body, right)[0] == 200
    for key in right:
        wrong = dict(right, **{key: "other"})
        status, answer = peer.raw(body, wrong)
        assert (status, code(answer)) == (400, -32020), (key, status, answer)
        del wrong[key]
        status, answer = peer.raw(body, wrong)
        assert (status, code(answer)) == (400, -32020), (key, status, answer)
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    assert peer.raw(ping, {"MCP-Protocol-Version": "1999-01-01"})[0] == 400
    assert peer.raw(ping, {"MCP-Protocol-Version": "2025-06-18"})[0] == 200
    assert peer.raw(ping, {"Origin": "http://evil.example"})[0] == 403
    assert peer.raw(ping, {"Host": "localhost.evil.example"})[0] == 403
    assert peer.raw(None, method="GET")[0] == 405
    assert peer.raw(None, method="DELETE")[0] == 405
    assert peer.raw(b" " * ((1 << 20) + 1))[0] == 413
    status, answer = peer.raw(body.replace(b"tools/call", b"no/such"),
                              dict(right, **{"Mcp-Method": "no/such"}))
    assert (status, code(answer)) == (404, -32601)


def nothing(peer):
    """An agent starts us before the program: the tool says so."""
    for tool in ("functions_timing", "threads", "functions_timing"):
        result = call(peer, tool)
        assert result["isError"] is True
        assert "hotpath run" in result["content"][0]["text"]
        assert "424242424: not a run's file, and no kept run" in result["content"][0]["text"]


def main():
    test, peer = sys.argv[1], sys.argv[2:]
    peer = Http(peer[0]) if peer[0].startswith("http:") else Stdio(peer)
    globals()[test](peer)
    peer.close()


main()
