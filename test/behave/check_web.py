#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_web.py PAGE NAME - is a saved page complete, and does it load nothing?

Its scripts and styles are those whose hashes its policy has, and no other; no element came with NAME, which
the data has as a function; the data is JSON with every view's list.
"""
import base64
import hashlib
import html.parser
import json
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()


class Page(html.parser.HTMLParser):
    """Elements with their attributes, and texts of scripts and styles."""

    def __init__(self):
        super().__init__(convert_charrefs=False)
        self.elements, self.texts, self.inside = [], [], None

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside = tag if tag in ("script", "style") else None
        if self.inside:
            self.texts.append([tag, dict(attrs).get("type", ""), ""])

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.texts[-1][2] += data


page = Page()
page.feed(text)
policy = next(a["content"] for t, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
assert "default-src 'none'" in policy and "unsafe" not in policy, policy
allowed = {kind: re.findall(r"'(sha256-[^']*)'", re.search(kind + "-src ([^;]*)", policy)[1])
           for kind in ("script", "style")}
for tag, kind, inside in page.texts:
    if kind != "application/json":
        name = "sha256-" + base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert name in allowed[tag], (tag, inside[:80])
        allowed[tag].remove(name)
assert not allowed["script"] and not allowed["style"], allowed
for tag, attributes in page.elements:
    assert not {"src", "srcset", "action", "style"} & set(attributes), (tag, attributes)
    assert not any(key.startswith("on") for key in attributes), (tag, attributes)
    assert attributes.get("href", "#").startswith(("#", "data:")), (tag, attributes)
    assert attributes.get("id") != "evil"
assert text.count("<script type=\"application/json\"") == 1
data = json.loads(next(inside for _, kind, inside in page.texts if kind == "application/json"))
assert sys.argv[2] in [row["name"] for row in data["sections"]["functions_timing"]["raw"]]
assert sys.argv[2] in data["flame"]["names"]
assert {section["key"] for section in data["overview"]["sections"]} == set(data["sections"])
# The time line has the waits that the section of waits has, each rounded to a thousandth of a step.
timeline = data["timeline"]
assert timeline["data"] or timeline["message"]
if timeline["data"] and not timeline["lost_count"] and not timeline["has_more"]:
    step, seen, cells = timeline["step_ns"], 0, 0
    for thread in timeline["data"]:
        for cause, shares in thread["parts"].items():
            assert len(shares) == timeline["steps"] and all(0 <= share <= 1 for share in shares), thread
            if cause != "cpu":
                seen += step * sum(shares)
                cells += len(shares)
    waited = sum(row["blocked_ns"] for row in data["sections"]["offcpu"]["raw"])
    assert abs(seen - waited) <= 0.0006 * step * cells + 0.01 * waited, (seen, waited)
for section in data["overview"]["sections"]:
    rows = data["sections"][section["key"]]["raw"]
    assert bool(rows) == section["has_data"], section
    assert rows or section["message"], section
