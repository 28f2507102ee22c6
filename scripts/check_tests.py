# SPDX-License-Identifier: MIT
#
# check_tests.py FILE... - finds assertions in bats files that cannot fail.
#
# Bats runs a test under `set -e`, but bash ignores failing commands in
# unexpected places:
#
#   ! COMMAND         is never checked, unless it is the last command and thus the
#                     test's status
#   A && B            checks only B, with the same exception
#   local x=$(A)      has the status of `local`
#   run A             never fails; $status has the result
#   f || ..., if f, ! f, run f, x=$(f), f | ...
#                     switch `set -e` off inside f: only its last command counts
#   [ -n $x ], [ a ]  are always true
#
# A file's own teardown() replaces that of helper.bash, which checks the numbers of
# each report. So it must call reports_are_possible.
#
# A regular expression cannot distinguish these places, so this parses the file
# like bash, as far as the tests use its grammar. Then it walks the commands and
# tracks for each whether `set -e` is on (errexit) and whether its status is
# checked (valued). The functions of helper.bash count as the file's own. A
# here-document with a line `set -e` is a script and is checked, too.

import os
import re
import sys


class Odd(Exception):
    """The parser does not understand the file."""


class Node:
    def __init__(self, kind, line, **more):
        self.kind = kind
        self.line = line
        self.__dict__.update(more)


RESERVED_ENDS = {"then", "elif", "else", "fi", "do", "done", "esac", "}"}
REDIRECTION = re.compile(r"(\d*|\{\w+\})(<<<|<<-|<<|<>|<&|>&|>>|>\||&>>|&>|<(?!\()|>(?!\())")


class Parser:
    def __init__(self, text, first_line=1):
        self.text = text
        self.at = 0
        self.first_line = first_line
        self.pending = []  # here-documents whose bodies start on the next line
        self.scripts = []  # (text, line) of here-documents that are scripts
        self.substituted = []  # command lists in $( ) of the current word

    def line(self, at=None):
        return self.first_line + self.text.count("\n", 0, self.at if at is None else at)

    def odd(self, what):
        raise Odd(f"{self.line()}: {what}")

    def starts(self, what):
        return self.text.startswith(what, self.at)

    def blanks(self):
        while self.at < len(self.text):
            if self.starts("\\\n"):
                self.at += 2
            elif self.text[self.at] in " \t":
                self.at += 1
            elif self.text[self.at] == "#":
                while self.at < len(self.text) and self.text[self.at] != "\n":
                    self.at += 1
            else:
                return

    def newline(self):
        self.at += 1
        for delimiter, tabs in self.pending:
            begin, first = self.at, self.line()
            while True:
                if self.at >= len(self.text):
                    self.odd(f"here-document without {delimiter}")
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at:end]
                here = self.at
                self.at = min(end + 1, len(self.text))
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
            body = self.text[begin:here]
            if re.search(r"^\s*set -[a-zA-Z]*e", body, re.M):
                self.scripts.append((body, first))
        self.pending = []

    def newlines(self):
        while True:
            self.blanks()
            if self.at < len(self.text) and self.text[self.at] == "\n":
                self.newline()
            elif self.starts(";") and not self.starts(";;"):
                self.at += 1
            else:
                return

    def peek(self):
        """The next word, up to its first quote or expansion."""
        self.blanks()
        return re.compile(r"[^\s;&|()<>'\"$`\\]*").match(self.text, self.at).group()

    def skip_to(self, opening, closing):
        """Skips past the matching `closing`."""
        depth = 1
        while depth:
            if self.at >= len(self.text):
                self.odd(f"no {closing}")
            if self.starts(closing):
                depth -= 1
                self.at += len(closing)
            elif opening and self.starts(opening):
                depth += 1
                self.at += len(opening)
            else:
                self.piece()

    def piece(self):
        """Reads one character, quoted string or expansion."""
        character = self.text[self.at]
        if character == "\\":
            self.at += 2
        elif character == "'":
            self.at = self.text.index("'", self.at + 1) + 1
        elif self.starts("$'"):
            self.at += 2
            while self.text[self.at] != "'":
                self.at += 2 if self.text[self.at] == "\\" else 1
            self.at += 1
        elif character == '"':
            self.at += 1
            while self.text[self.at] != '"':
                if self.text[self.at] == "'" or self.starts("$'"):
                    self.at += 1
                else:
                    self.piece()
            self.at += 1
        elif self.starts("$(("):
            self.at += 3
            self.skip_to("(", ")")
            if not self.starts(")"):
                self.odd("$(( without ))")
            self.at += 1
        elif self.starts("$(") or self.starts("<(") or self.starts(">("):
            status_is_lost = character != "$"
            self.at += 2
            commands = self.list({")"})
            self.expect(")")
            if not status_is_lost:
                self.substituted.append(commands)
        elif self.starts("${"):
            self.at += 2
            self.skip_to(None, "}")
        elif character == "`":
            self.at = self.text.index("`", self.at + 1) + 1
        else:
            self.at += 1

    def expect(self, what):
        self.newlines()
        if not self.starts(what):
            self.odd(f"expected {what} before {self.text[self.at:self.at + 30]!r}")
        self.at += len(what)

    def word(self):
        self.blanks()
        begin = self.at
        while self.at < len(self.text):
            character = self.text[self.at]
            if character in " \t\n;&|)" or (character in "<>" and not self.text.startswith("(", self.at + 1)):
                break
            if character == "(":
                if not re.search(r"\w(\[[^]]*\])?\+?=$", self.text[begin:self.at]):
                    break
                self.at += 1  # an array
                self.skip_to("(", ")")
                continue
            self.piece()
        return self.text[begin:self.at]

    def redirection(self):
        self.blanks()
        match = REDIRECTION.match(self.text, self.at)
        if not match:
            return False
        self.at = match.end()
        target = self.word()
        if match.group(2) in ("<<", "<<-"):
            self.pending.append((re.sub(r"[\\'\"]", "", target), match.group(2) == "<<-"))
        return True

    def list(self, ends):
        """Reads commands up to one of `ends`, which stays unread."""
        commands = []
        while True:
            self.newlines()
            if self.at >= len(self.text):
                if "" in ends:
                    return commands
                self.odd(f"the end, and not {' or '.join(ends)}")
            if self.starts(")") or self.starts(";;") or self.peek() in RESERVED_ENDS:
                found = ")" if self.starts(")") else ";;" if self.starts(";;") else self.peek()
                if found not in ends:
                    self.odd(f"{found}, and not {' or '.join(ends)}")
                return commands
            commands.append(self.and_or())

    def and_or(self):
        self.blanks()
        begin = self.at
        node = Node("list", self.line(), pipelines=[self.pipeline()], ops=[], background=False)
        while True:
            self.blanks()
            if not (self.starts("&&") or self.starts("||")):
                break
            node.ops.append(self.text[self.at:self.at + 2])
            self.at += 2
            self.newlines()
            node.pipelines.append(self.pipeline())
        node.text = self.text[begin:self.at]
        node.end = self.at
        if self.starts("&"):
            self.at += 1
            node.background = True
        return node

    def pipeline(self):
        self.blanks()
        node = Node("pipeline", self.line(), negated=False, commands=[])
        while self.peek() == "!":
            node.negated = not node.negated
            self.at += 1
            self.blanks()
        node.commands.append(self.command())
        while True:
            self.blanks()
            if not self.starts("|") or self.starts("||"):
                return node
            self.at += 2 if self.starts("|&") else 1
            self.newlines()
            node.commands.append(self.command())

    def command(self):
        word, line = self.peek(), self.line()
        if word == "coproc":
            return self.coproc()
        if self.starts("(("):
            begin = self.at
            self.at += 2
            self.skip_to("(", ")")
            self.at += 1
            node = Node("simple", line, words=[self.text[begin:self.at]], substituted=[])
        elif self.starts("("):
            self.at += 1
            node = Node("subshell", line, body=self.list({")"}))
            self.expect(")")
        elif word == "{":
            self.at += 1
            node = Node("group", line, body=self.list({"}"}))
            self.expect("}")
        elif word == "[[":
            node = self.condition()
        elif word == "if":
            node = self.conditional()
        elif word in ("while", "until"):
            self.at += len(word)
            condition = self.list({"do"})
            node = Node("loop", line, condition=condition, body=self.do_done())
        elif word == "for":
            node = self.for_loop()
        elif word == "case":
            node = self.case()
        elif word == "@test":
            self.at += len(word)
            return self.function(line, self.word(), True)
        else:
            return self.simple()
        while self.redirection():
            pass
        return node

    def coproc(self):
        self.at += len("coproc")
        self.blanks()
        named = re.compile(r"\w+[ \t]+(?=[{(])").match(self.text, self.at)
        self.at = named.end() if named else self.at
        return self.command()

    def do_done(self):
        self.expect("do")
        body = self.list({"done"})
        self.expect("done")
        return body

    def for_loop(self):
        line = self.line()
        self.at += len("for")
        self.blanks()
        self.substituted = []
        if self.starts("(("):
            self.at += 2
            self.skip_to("(", ")")
            self.at += 1
        while self.peek() != "do" and self.text[self.at] not in ";\n":
            self.word()
        substituted = self.substituted
        return Node("loop", line, condition=[], body=self.do_done(), substituted=substituted)

    def conditional(self):
        node = Node("if", self.line(), conditions=[], bodies=[])
        word = "if"
        while word in ("if", "elif"):
            self.expect(word)
            node.conditions.append(self.list({"then"}))
            self.expect("then")
            node.bodies.append(self.list({"elif", "else", "fi"}))
            word = self.peek()
        if word == "else":
            self.expect(word)
            node.bodies.append(self.list({"fi"}))
        self.expect("fi")
        return node

    def case(self):
        node = Node("case", self.line(), conditions=[], bodies=[])
        self.at += len("case")
        self.word()
        self.expect("in")
        while True:
            self.newlines()
            if self.peek() == "esac":
                self.at += len("esac")
                return node
            if self.starts("("):
                self.at += 1
            while not self.starts(")"):
                self.word()
                self.blanks()
                if self.starts("|"):
                    self.at += 1
            self.at += 1
            node.bodies.append(self.list({";;", "esac"}))
            if self.starts(";;"):
                self.at += 2

    def condition(self):
        line, begin = self.line(), self.at
        self.substituted = []
        while not re.compile(r"[\s]\]\](?=[\s;&|)]|$)").match(self.text, self.at):
            if self.at >= len(self.text):
                self.odd("[[ without ]]")
            self.piece()
        self.at += 3
        return Node("simple", line, words=["[[", self.text[begin:self.at]], substituted=self.substituted)

    def simple(self):
        node = Node("simple", self.line(), words=[], substituted=[])
        outer, self.substituted = self.substituted, []
        if self.peek() == "function":
            self.word()
            node = self.function(node.line, self.word(), False)
            self.substituted = outer
            return node
        while True:
            if self.redirection():
                node.redirected = True
                continue
            self.blanks()
            begin = self.at
            word = self.word()
            if self.at == begin:
                break
            node.words.append(word)
            if len(node.words) == 1 and re.match(r"\(\s*\)", self.text[self.at:]):
                node = self.function(node.line, word, False)
                self.substituted = outer
                return node
        if not node.words and not hasattr(node, "redirected"):
            self.odd(f"no command in {self.text[self.at:self.at + 30]!r}")
        node.substituted, self.substituted = self.substituted, outer
        return node

    def function(self, line, name, is_test):
        self.blanks()
        parentheses = re.compile(r"\(\s*\)").match(self.text, self.at)
        self.at = parentheses.end() if parentheses else self.at
        self.newlines()
        first, begin = self.line(), self.at
        body = self.command()
        return Node("function", line, name=name, test=is_test, body=body, first=first, text=self.text[begin:self.at])


# Commands called only for their status.
ASSERTS = {"[", "[[", "test", "cmp", "diff", "near"}
# A && B with one of these as B is a condition, not an assertion.
CONSEQUENCES = {"skip", "continue", "break", "return", "exit", "false"}
HIDING = {"local", "export", "declare", "readonly", "typeset"}


def asserts(command):
    if command.kind != "simple" or not command.words:
        return False
    name = command.words[0]
    if name == "grep":
        return any(re.match(r"-[a-zA-Z]*q", word) for word in command.words)
    return name.startswith("((") or (name in ASSERTS and not hasattr(command, "redirected"))


def is_consequence(command):
    """Does B in A && B show that A is a condition?"""
    if command.kind != "simple" or not command.words:
        return False
    return command.words[0] in CONSEQUENCES or all(re.match(r"\w+\+?=", word) for word in command.words)


def is_constant(words):
    """Is it always true, like [ a=b ] and [ -n $x ]?"""
    if not words or words[0] != "[" or words[-1] != "]":
        return False
    inside = [word for word in words[1:-1] if word != "!"]
    return (len(inside) == 1 and "$" not in inside[0] and "`" not in inside[0]) or \
        (len(inside) == 2 and inside[0] == "-n" and inside[1].startswith("$"))


def bodies(command):
    """The command lists inside a command: [(list, is it a condition)]."""
    found = [(body, True) for body in getattr(command, "substituted", [])]
    if command.kind in ("group", "subshell"):
        found.append((command.body, False))
    elif command.kind == "loop":
        found += [(command.condition, True), (command.body, False)]
    elif command.kind in ("if", "case"):
        found += [(body, True) for body in command.conditions] + [(body, False) for body in command.bodies]
    return found


def calls(commands, ignored):
    """Yields (simple command, is `set -e` off) for a list, excluding function definitions."""
    for item in commands:
        last = len(item.pipelines) - 1
        for i, pipeline in enumerate(item.pipelines):
            off = ignored or i < last or pipeline.negated
            for command in pipeline.commands:
                if command.kind == "simple":
                    yield command, off
                for body, condition in bodies(command):
                    yield from calls(body, off or condition)


def functions_in(commands):
    for item in commands:
        for pipeline in item.pipelines:
            for command in pipeline.commands:
                if command.kind == "function":
                    yield command
                    yield from functions_in([Node("list", command.line, background=False, ops=[], pipelines=[
                        Node("pipeline", command.line, negated=False, commands=[command.body])])])
                for body, _ in bodies(command):
                    yield from functions_in(body)


def body_of(function):
    if function.body.kind in ("group", "subshell"):
        return function.body.body
    return [Node("list", function.line, background=False, ops=[], text="", end=0, pipelines=[
        Node("pipeline", function.line, negated=False, commands=[function.body])])]


def callee(command, wrappers):
    """Yields (name, wrapped): the command itself, and the function passed to a wrapper."""
    words = command.words
    yield words[0] if words else "", False
    if words and (words[0] in wrappers or words[0] == "run"):
        for word in words[1:]:
            if word != "!" and not word.startswith("-"):
                yield word, True
                return


def without_errexit(functions, top):
    """{function: line of a call} for functions that are called where `set -e` is off."""
    wrappers = {f.name for f in functions for command, off in calls(body_of(f), False)
                if off and command.words and command.words[0] == '"$@"'}
    names = {f.name for f in functions if not f.test}
    seen = {}
    todo = [(f.name, body_of(f), False) for f in functions] + [("", top, False)]
    while todo:
        caller, body, ignored = todo.pop()
        for command, off in calls(body, ignored):
            for name, wrapped in callee(command, wrappers):
                if name in names and (off or wrapped) and name not in seen:
                    seen[name] = command.line
                    todo += [(f.name, body_of(f), True) for f in functions if f.name == name]
    return seen


class Check:
    def __init__(self, path):
        self.path = path
        self.found = set()

    def say(self, line, what):
        self.found.add((line, what))

    def list(self, commands, errexit, valued, off_by=None):
        for i, item in enumerate(commands):
            self.item(item, errexit, valued and i == len(commands) - 1, off_by)

    def item(self, item, errexit, valued, off_by):
        last = len(item.pipelines) - 1
        for i, pipeline in enumerate(item.pipelines):
            checked = valued or "||" in item.ops[i:]
            if item.background:
                checked = True
            head = pipeline.commands[-1]
            if not checked:
                self.unchecked(item, pipeline, head, i == last, errexit, off_by)
            for command in pipeline.commands:
                if command is not head:
                    self.command(command, False, True, "the next command of the pipeline gives the status")
                elif i < last or pipeline.negated:
                    self.command(command, False, checked, off_by or "the status of the block is used")
                else:
                    self.command(command, errexit, checked, off_by)

    def unchecked(self, item, pipeline, head, is_last, errexit, off_by):
        if pipeline.negated:
            self.say(pipeline.line, "! COMMAND is not checked here: write run ! COMMAND")
        elif not is_last:
            if not is_consequence(item.pipelines[-1].commands[0]):
                self.say(pipeline.line, "A && B does not check A here: write one condition per line")
        elif not errexit and (asserts(head) or self.calls_function(head)):
            self.say(head.line, f"set -e is off here, because {off_by}: add || return")

    def calls_function(self, command):
        return command.kind == "simple" and command.words and command.words[0] in self.functions

    def command(self, command, errexit, valued, off_by):
        if command.kind == "simple":
            words = command.words
            if is_constant(words):
                self.say(command.line, "this condition is always true")
            if words and words[0] in HIDING and command.substituted and \
                    any(re.search(r'^\w+="?(\$\(|`)', word) for word in words[1:]):
                self.say(command.line, f"{words[0]} hides a failure of $( ): assign on a line of its own")
        for body in getattr(command, "substituted", []):
            self.list(body, False, True, "$( ) does not inherit it")
        if command.kind == "group":
            self.list(command.body, errexit, valued, off_by)
        elif command.kind == "subshell":
            self.list(command.body, errexit, errexit or valued, off_by)
        elif command.kind == "loop":
            self.list(command.body, errexit, False, off_by)
        elif command.kind in ("if", "case"):
            for body in command.bodies:
                self.list(body, errexit, valued, off_by)

    def runs(self, function):
        """run itself never fails: the test must check its results before the next run."""
        begins = list(re.finditer(r"(?m)^[ \t]*run[ \t]+(?![-!])", function.text))
        ends = [match.start() for match in begins[1:]] + [len(function.text)]
        for match, end in zip(begins, ends):
            if not re.search(r"\b(status|output|lines)\b", function.text[match.end():end]):
                self.say(function.first + function.text.count("\n", 0, match.start()),
                         "nothing checks the result of run: write run -0, or check $status")


def read(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def parse(text, first=1):
    parser = Parser(text, first)
    return parser.list({""}), parser.scripts


def helper_of(path):
    helper = os.path.join(os.path.dirname(path), "helper.bash")
    if not path.endswith(".bats") or not os.path.exists(helper):
        return []
    return list(functions_in(parse(read(helper))[0]))


def look(check, commands, functions, is_script):
    """Checks a file, or a script inside one."""
    own = list(functions_in(commands))
    off = without_errexit(own + functions, commands)
    check.functions = {f.name for f in own + functions if not f.test}
    if is_script:
        check.list(commands, True, True)
    for function in own:
        check.runs(function)
        called = off.get(function.name) if not function.test else None
        if called is None:
            check.list(body_of(function), True, True)
        else:
            check.list(body_of(function), False, True, f"line {called} uses the status of {function.name}")


def unchecked_reports(path, text):
    """Lines of a teardown() without the check of reports."""
    if os.path.basename(os.path.dirname(path)) != "behave":
        return []
    lines = text.split("\n")
    return [(i + 1, "teardown() does not call reports_are_possible") for i, line in enumerate(lines)
            if line == "teardown()" and "\treports_are_possible" not in lines[i:lines.index("}", i)]]


def check_file(path):
    check = Check(path)
    text = read(path)
    commands, scripts = parse(text)
    look(check, commands, helper_of(path), False)
    for body, first in scripts:
        try:
            inside, _ = parse(body, first)
        except (Odd, ValueError, IndexError):
            continue  # in another language
        look(check, inside, [], True)
    return sorted(list(check.found) + unchecked_reports(path, text))


def main():
    found = 0
    for path in sys.argv[1:]:
        try:
            for line, what in check_file(path):
                print(f"{path}:{line}: {what}")
                found += 1
        except (Odd, ValueError, IndexError) as odd:
            print(f"{path}:{odd}: check-tests cannot parse this")
            found += 1
    return 1 if found else 0


sys.exit(main())
