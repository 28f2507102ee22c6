#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""answers.py SCHEMA HOTPATH FILE...

Reports of the files in JSON, and what a server says about the first one, fit the schema; a key that the schema
does not have is a fault, too.  Prints what does not fit, and how many answers did."""
import json
import re
import subprocess
import sys
import urllib.error
import urllib.request

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float),
         "null": type(None)}
schema = json.load(open(sys.argv[1]))
faults = []


def is_type(value, name):
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value == int(value)
    return isinstance(value, TYPES[name])


def fit(value, rule, where):
    """Adds mismatches to `faults`."""
    if "$ref" in rule:
        key = rule["$ref"].removeprefix("#/$defs/").replace("~1", "/")
        return fit(value, schema["$defs"][key], where)
    if "anyOf" in rule:
        if not any(is_type(value, branch["type"]) for branch in rule["anyOf"]):
            faults.append(f"{where}: {value!r} is of no type in {rule['anyOf']}")
        return
    if "type" in rule and not is_type(value, rule["type"]):
        faults.append(f"{where}: {value!r} is no {rule['type']}")
        return
    if isinstance(value, list):
        for i, item in enumerate(value):
            fit(item, rule.get("items", {}), f"{where}[{i}]")
    if not isinstance(value, dict):
        return
    for key in rule.get("required", []):
        if key not in value:
            faults.append(f"{where}: {key} is missing")
    patterns = rule.get("patternProperties", {})
    for key, item in value.items():
        found = [p for p in patterns if re.search(p, key)]
        if key in rule.get("properties", {}):
            fit(item, rule["properties"][key], f"{where}.{key}")
        elif found:
            fit(item, patterns[found[0]], f"{where}.{key}")
        elif rule.get("properties"):
            faults.append(f"{where}: {key} is not in the schema")


def reports(hotpath, files):
    for file in files:
        out = subprocess.run([hotpath, "report", "-f", "json", "--report", "all", file],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        fit(json.loads(out), schema, file.rsplit("/", 1)[-1])


def routes(hotpath, file):
    """How many were asked."""
    count = 0
    with subprocess.Popen([hotpath, "serve", "-p", "0", file], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as server:
        try:
            base = re.search(r"http://[0-9.]+:\d+", next(line for line in server.stdout if "http://" in line))[0]
            for path, rule in schema["$defs"].items():
                if not path.startswith("/") or "{id}" in path:
                    continue
                try:
                    with urllib.request.urlopen(base + path, timeout=60) as answer:
                        said = json.loads(answer.read())
                except urllib.error.HTTPError:
                    continue
                # MCP wraps an array, since a result must be an object.
                fit({"data": said} if isinstance(said, list) else said, rule, path)
                count += 1
        finally:
            server.terminate()
    return count


reports(sys.argv[2], sys.argv[3:])
asked = routes(sys.argv[2], sys.argv[3])
print("\n".join(faults[:20]))
print(f"{asked} routes")
sys.exit(1 if faults or asked < 20 else 0)
