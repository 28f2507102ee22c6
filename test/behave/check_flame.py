#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_flame.py PAGE - is a flame-graph page complete, and does it load nothing?

Lengths, ranges and order of its data; nothing in it that loads another file; no element that a
name brought along.  Prints for each graph its key, its whole, and what each function has itself.
"""
import collections
import html.parser
import json
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()


class Page(html.parser.HTMLParser):
    """Elements and their attributes; texts of the scripts."""

    def __init__(self):
        super().__init__()
        self.elements, self.scripts, self.inside = [], {}, None

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside = dict(attrs).get("id", "code") if tag == "script" else None

    def handle_data(self, data):
        if self.inside:
            self.scripts[self.inside] = self.scripts.get(self.inside, "") + data


page = Page()
page.feed(text)
assert [tag for tag, _ in page.elements if tag != "meta"] == [
    "html", "head", "title", "style", "body", "main", "noscript", "script", "script"], page.elements
for tag, attributes in page.elements:
    assert not {"src", "href", "srcset", "action"} & set(attributes), (tag, attributes)
assert "default-src 'none'" in text
assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|import)\b\s*\(", page.scripts["code"])
assert "innerHTML" not in text
data = json.loads(page.scripts["flame-data"])
names = data["names"]
assert len(data["kinds"]) == len(names) and set(data["kinds"]) <= {0, 1, 2, 3}
for tree in data["trees"]:
    assert len(tree["parent"]) == len(tree["name"])
    assert tree["parent"][0] == -1
    assert all(0 <= parent < i for i, parent in enumerate(tree["parent"]) if i)
    assert all(0 <= name < len(names) for name in tree["name"])
    pairs = list(zip(tree["parent"], tree["name"]))
    assert len(set(pairs)) == len(pairs), "a caller has a callee twice"
for graph in data["graphs"]:
    tree = data["trees"][graph["tree"]]
    assert len(graph["self"]) == len(tree["parent"])
    assert all(value >= 0 for value in graph["self"])
    own = collections.Counter()
    for name, value in zip(tree["name"], graph["self"]):
        own[names[name]] += value
    print(json.dumps({"key": graph["key"], "whole": sum(graph["self"]), "own": own}))
