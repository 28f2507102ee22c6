#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
compare_counts.py - are the call counts of every function the true ones?

    compare_counts.py [--callgrind FILE --callgrind-oracle FILE]
                      [--oracle FILE --report FILE]

Three counters of the same program on the same input are set beside each other:

  callgrind   simulates the processor and sees every call instruction, hence
              every call of a hook; it knows nothing of inlined copies.
  oracle      (oracle.c) counts per function and place of the hook's call.
  report      what hotpath says, as JSON.

callgrind against the oracle of the very same run, for each function body F
(clones and cold parts belong to the body they were taken from):

  hooks called from F   = sum of the oracle's counts at places inside F:
                          F itself and what was inlined into it
  calls of F            = the oracle's count of F at places inside F,
                          for every F whose own hook is in its body

Both together explain inlining without remainder.  The report against the
oracle of an equal run: for each function, summed over all places.
"""
import argparse
import bisect
import collections
import json
import os
import re
import subprocess
import sys

HOOK = "__cyg_profile_func_enter"
CLONE = re.compile(r"(\.(part|constprop|isra|cold|lto_priv|llvm|localalias)(\.\d+)*)+$")


class Symbols:
    """The functions of an ELF file: which one contains an address."""

    def __init__(self, path):
        text = subprocess.run(["readelf", "-sW", path], capture_output=True, text=True).stdout
        self.found = {}  # address -> size, alphabetically first name
        names = []
        for line in text.splitlines():
            field = line.split()
            if len(field) == 8 and field[3] in ("FUNC", "IFUNC") and field[6] != "UND":
                address, size, name = int(field[1], 16), int(field[2], 0), field[7].split("@")[0]
                names.append((name, address))
                old = self.found.get(address)
                self.found[address] = (size, min(name, old[1]) if old else name)
        self.starts = sorted(self.found)
        # Several names for one address, as with constructors: one stands for all.
        self.alias = {name: self.found[address][1] for name, address in names}

    def name(self, address):
        i = bisect.bisect_right(self.starts, address) - 1
        if i < 0:
            return None
        size, name = self.found[self.starts[i]]
        return name if address < self.starts[i] + max(size, 1) else None


class Oracle:
    def __init__(self, path, program):
        self.modules = []
        self.symbols = {}
        self.program = program
        self.inside = collections.Counter()  # (function, body) -> calls
        self.by_address = collections.Counter()  # (name, module, address) -> calls
        with open(path) as lines:
            for line in lines:
                self.read(line.rstrip("\n").split(" ", 4))

    def read(self, field):
        if field[0] == "M":
            begin, end, bias = (int(x, 16) for x in field[1:4])
            path = self.program if field[4] == "/proc/self/exe" else field[4]
            self.modules.append((begin, end, bias, path))
            return
        function, place = int(field[1], 16), int(field[2], 16)
        name, path, address = self.locate(function)
        body = self.locate(place)[0]
        self.inside[base(name), base(body)] += int(field[3])
        self.by_address[name, path, address] += int(field[3])

    def locate(self, address):
        for begin, end, bias, path in self.modules:
            if begin <= address < end:
                if path not in self.symbols:
                    self.symbols[path] = Symbols(path)
                elf = address - bias
                return self.symbols[path].name(elf) or f"{path}+{elf:x}", path, elf
        return f"?{address:x}", "?", address


def base(name):
    return CLONE.sub("", name)


def read_callgrind(path, modules):
    """Calls between bodies of these modules: (caller, callee) -> count."""
    calls = collections.Counter()
    ob = cob = caller = callee = None
    with open(path) as lines:
        for line in lines:
            key, _, value = line.rstrip("\n").partition("=")
            if key == "ob":
                ob = os.path.realpath(value)
            elif key == "fn":
                caller, cob = bare(value, modules.get(ob, {})), None
            elif key == "cob":
                cob = os.path.realpath(value)
            elif key == "cfn":
                callee = bare(value, modules.get(cob or ob, {}))
            elif key == "calls":
                if is_call(caller, callee) and (callee == HOOK or (cob or ob) in modules):
                    calls[base(caller), base(callee)] += int(value.split()[0])
                cob = None
    return calls


def bare(name, alias):
    """Without callgrind's mark of recursion, by the name that represents its address."""
    name = re.sub(r"'\d+$", "", name)
    return alias.get(name, name)


def is_call(caller, callee):
    """Not: a jump from or to the cold part of a body, the call of a part split off, whose
    head, with the hook, stays where the call is."""
    if ".part" in callee or ".cold" in callee:
        return False
    return not (".cold" in caller and base(caller) == base(callee))


class Verdict:
    def __init__(self):
        self.bad = 0

    def same(self, what, name, got, want):
        if got != want:
            self.bad += 1
            if self.bad <= 20:
                print(f"{what}: {name}: got {got}, want {want}")


def check_callgrind(verdict, calls, oracle):
    from_body = collections.Counter()
    called = collections.Counter()
    for (caller, callee), count in calls.items():
        if callee == HOOK:
            from_body[caller] += count
        else:
            called[callee] += count
    want_from = collections.Counter()
    for (_, body), count in oracle.inside.items():
        want_from[body] += count
    for body in from_body.keys() | want_from.keys():
        verdict.same("hooks called from", body, from_body[body], want_from[body])
    own = inlined = 0
    for (function, body), count in oracle.inside.items():
        if function == body:
            own += 1
            verdict.same("calls of", function, called[function], count)
        else:
            inlined += 1
    print(f"callgrind: {len(want_from)} bodies, {own} functions called, {inlined} inlined copies")


def demangled(names):
    names = list(names)
    text = subprocess.run(["c++filt", "-i"], input="\n".join(names), capture_output=True, text=True)
    return dict(zip(names, text.stdout.splitlines()))


def report_counts(path, program):
    """name -> counts of the functions of that name.  The report calls main COMM::main."""
    wrapper = os.path.basename(program)[:15] + "::main"
    with open(path) as file:
        report = json.loads(next(line for line in file if line.lstrip().startswith("{")))
    section = report.get("functions_timing", report)
    counts = collections.defaultdict(list)
    for row in section["raw"]:
        name = "main" if row["name"] == wrapper else row["name"]
        counts[plain(name)].append(row["calls"])
    return counts


def plain(name):
    """The name without the parts that demanglers write differently."""
    name = name.replace("> >", ">>").replace("[abi:cxx11]", "")
    return re.sub(r"\s+", "", name)


def check_report(verdict, counts, oracle):
    want = collections.defaultdict(list)
    names = demangled({name for name, _, _ in oracle.by_address})
    for (name, _, _), count in oracle.by_address.items():
        want[plain(names[name])].append(count)
    for name in counts.keys() | want.keys():
        verdict.same("report", name, sorted(counts.get(name, [])), sorted(want.get(name, [])))
    print(f"report: {sum(map(len, want.values()))} functions, "
          f"{sum(map(sum, want.values()))} calls")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--program", required=True)
    options.add_argument("--callgrind")
    options.add_argument("--callgrind-oracle")
    options.add_argument("--oracle")
    options.add_argument("--report")
    given = options.parse_args()
    verdict = Verdict()
    if given.callgrind:
        oracle = Oracle(given.callgrind_oracle, given.program)
        modules = {os.path.realpath(path): symbols.alias
                   for path, symbols in oracle.symbols.items()}
        check_callgrind(verdict, read_callgrind(given.callgrind, modules), oracle)
    if given.report:
        check_report(verdict, report_counts(given.report, given.program),
                     Oracle(given.oracle, given.program))
    print(f"{verdict.bad} differ" if verdict.bad else "all equal")
    return verdict.bad != 0


if __name__ == "__main__":
    sys.exit(main())
