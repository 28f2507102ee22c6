#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""shape.py - are our answers in the shape of the Rust crate's own server?

shape.py derive DIR        JSON Schemas of the answers in DIR (NAME.json each), on stdout
shape.py check FILE NAME   validates the answer on stdin against NAME of that

A schema says of each key its types, null among them where an answer had it, and
whether it is required: it is if all answers had it, unless the crate's console
was seen to do without (OPTIONAL).  In entries of functions, whose percentiles are
keys among the others, any further key has to be a text: the console refuses the
list otherwise.  Elsewhere further keys are skipped by it, and so are they here.
"""
import json
import pathlib
import re
import sys

import jsonschema

OPTIONAL = set("""
    location total_allocated captured_at_ms capture_duration_ms error report current_session_id
    current_session_path result thread_id alloc_count delay_avg delay_percentiles delay_sampled_count
    max_queue_size queue_size received_per_sec sent_per_sec state message delay source route
    total_poll_alloc_bytes total_poll_alloc_count last_poll_alloc_bytes max_poll_alloc_bytes alloc
    http_per_request sql_per_request total_alloc_bytes bytes_per_sec alloc_dealloc_diff alloc_bytes
    cpu_percent cpu_percent_avg cpu_percent_max dealloc_bytes mem_diff rss_bytes rss_bytes_max
    total_dealloc_bytes last_value proc_avg proc_percentiles
""".split())
NULLABLE = {"cpu_percent", "cpu_percent_avg", "cpu_percent_max"}
PERCENTILE = "^p[0-9]+([.][0-9]+)?$"


def kind(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return {int: "integer", float: "number", str: "string", list: "array", dict: "object"}[type(value)]


def derive(values, name=""):
    """The schema of all `values`, found under one key."""
    kinds = {kind(value) for value in values} | ({"null"} if name in NULLABLE else set())
    if "number" in kinds:
        kinds.discard("integer")
    schema = {"type": sorted(kinds)}
    lists = [value for value in values if isinstance(value, list)]
    if any(lists):
        schema["items"] = derive([item for value in lists for item in value])
    objects = [value for value in values if isinstance(value, dict)]
    if objects:
        schema.update(derive_object(objects))
    return schema


def derive_object(objects):
    keys = sorted({key for value in objects for key in value})
    plain = [key for key in keys if not re.match(PERCENTILE, key)]
    schema = {"properties": {key: derive([value[key] for value in objects if key in value], key)
                             for key in plain},
              "required": [key for key in plain
                           if key not in OPTIONAL and all(key in value for value in objects)]}
    if len(plain) < len(keys):
        schema["patternProperties"] = {PERCENTILE: {"type": ["string"]}}
    if "calls" in plain and "percent_total" in plain:
        schema["additionalProperties"] = {"type": ["string"]}
    return schema


def derive_all(folder):
    schemas = {}
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        schemas[path.stem] = derive([json.loads(path.read_text())])
    json.dump(schemas, sys.stdout, indent=1)
    print()


def check(file, name):
    answer = json.load(sys.stdin)
    validator = jsonschema.Draft7Validator(json.loads(pathlib.Path(file).read_text())[name])
    errors = list(validator.iter_errors(answer))
    for error in errors[:10]:
        place = "/".join(str(part) for part in error.absolute_path)
        print(f"{name}: {place}: {error.message[:200]}")
    return 1 if errors else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["derive"] and len(sys.argv) == 3:
        derive_all(sys.argv[2])
    elif sys.argv[1:2] == ["check"] and len(sys.argv) == 4:
        sys.exit(check(sys.argv[2], sys.argv[3]))
    else:
        sys.exit(__doc__)
