# SPDX-License-Identifier: MIT
#
# check_layers.py ROOT [BUILD] - checks the dependencies between folders.
#
# Each folder with sources declares in the head comment of one file, preferably
# its main header, its purpose and the folders that it may use:
#
#    * Folder: live/http - HTTP: connections, access control, the files of the page
#    * May use: live/answer live/cache report/base report/view segment
#
# Both may continue in lines that begin with " *   ".  A folder may use itself,
# and its subfolders only if it says so.  BUILD (ROOT/build) holds the objects:
# obj/ of the commands, pic/ of the library.  The rules:
#
#   folder   each folder declares this exactly once; the named folders exist; there is no cycle
#   include  headers are included relative to the root, and only from permitted folders
#   symbol   objects only refer to functions and data (hp_...) of permitted folders; a
#            reference to a C library name means the C library even if it is interposed
#   cycle    no cycles of modules; listed ones have at most four
#   hook     the library exports functions only from hook_*.c (interposed functions and the
#            public API); nothing else in preload/ refers to those files, unless listed
#   cjson    below report/section/ only report/base/json uses cJSON
#   key      the key of a section is a string literal in its definition only, and in the
#            list of them, segment/section_key.h
#
# ROOT/scripts/layers.txt lists the exceptions, one per line, with a reason. An
# unused exception is an error, too:
#
#   cycle MODULE MODULE... - why            MODULE is the path of a file without its .c
#   hook MODULE HOOK... - why               MODULE uses the hook files HOOK
#   key FILE KEY... - why                   literals allowed in FILE
#   table MODULE NAME... - why              data through which folders below MODULE call it

import os
import re
import subprocess
import sys

TOPS = ("util", "segment", "unwind", "preload", "sampler", "report", "live")
LEAVES = {"include"}	# has no sources, and may be used by folders that declare it
PREFIX = "hp_"	# prefix of names shared between our files
CYCLE_MAX = 4
JSON = "report/base/json"	# the only module below section/ that uses cJSON
SECTIONS = "report/section"


class Tree:
    """The sources by folder, and their declarations."""

    def __init__(self, root):
        self.root = root
        self.files = {}	# path -> text
        self.folders = {}	# folder -> paths
        for top in TOPS:
            for path, _, names in os.walk(os.path.join(root, top)):
                folder = os.path.relpath(path, root)
                for name in sorted(names):
                    if name.endswith((".c", ".h")):
                        self.add(folder, name)

    def add(self, folder, name):
        path = folder + "/" + name
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            self.files[path] = file.read()
        self.folders.setdefault(folder, []).append(path)


class Exceptions:
    """The exceptions of layers.txt; each must be used."""

    def __init__(self, root, errors):
        self.lines = {}	# line -> was it used?
        self.cycles = {}	# frozenset of modules -> line
        self.hooks = {}	# (module, hook) -> line
        self.keys = {}	# (file, key) -> line
        self.tables = {}	# (module, name) -> line
        self.needed = set()	# (line, what of it)
        self.wanted = set()
        path = os.path.join(root, "scripts/layers.txt")
        if not os.path.exists(path):
            return
        with open(path, encoding="utf-8") as file:
            for line in file:
                line = line.strip()
                if line and not line.startswith("#"):
                    self.read(line, errors)

    def read(self, line, errors):
        head, dash, why = line.partition(" - ")
        kind, *words = head.split()
        if not dash or not why.strip() or len(words) < 2:
            errors.append(f"scripts/layers.txt: not understood: {line}")
        elif kind == "cycle":
            self.cycles[frozenset(words)] = line
            self.wanted.add((line, ""))
        elif kind in ("hook", "key", "table"):
            for word in words[1:]:
                getattr(self, kind + "s")[(words[0], word)] = line
                self.wanted.add((line, word))
        else:
            errors.append(f"scripts/layers.txt: not understood: {line}")

    def allows(self, kind, who, what):
        line = getattr(self, kind + "s").get((who, what))
        if line:
            self.needed.add((line, what))
        return bool(line)

    def allows_cycle(self, modules):
        line = self.cycles.get(frozenset(modules))
        if line:
            self.needed.add((line, ""))
        return bool(line)

    def unneeded(self, has_objects):
        for line, what in sorted(self.wanted - self.needed):
            # Without objects, exceptions that only objects can show cannot be unused.
            if not has_objects and not line.startswith("key "):
                continue
            yield f"scripts/layers.txt: {what or 'this'} is not needed any more: {line}"


# --- folders ---

HEAD = re.compile(
    r"^ \* Folder:[ \t]*(?P<name>\S*)[ \t]*(?:- (?P<text>.*(?:\n \*   .*)*))?\n"
    r"(?: \* May use:(?P<uses>.*(?:\n \*   .*)*))?", re.M)


def relation_read(tree, errors):
    """folder -> permitted folders"""
    uses = {}
    for folder, paths in sorted(tree.folders.items()):
        heads = [(path, head) for path in paths for head in HEAD.finditer(tree.files[path])]
        for path, head in heads:
            if head["name"] != folder:
                errors.append(f"{path}: says Folder: {head['name']}, and is in {folder}")
            if not (head["text"] or "").strip():
                errors.append(f"{path}: does not describe the folder {folder}")
            if head["uses"] is None:
                errors.append(f"{path}: does not list what the folder {folder} may use")
        if len(heads) > 1:
            errors.append(f"{folder}: is described more than once: " +
                          ", ".join(path for path, _ in heads))
        elif not heads:
            errors.append(f"{folder}: no file says what this folder is and may use "
                          "(see scripts/check_layers.py)")
        if heads and heads[0][1]["uses"] is not None:
            uses[folder] = set(heads[0][1]["uses"].replace("\n *", " ").split())
    for folder, used in sorted(uses.items()):
        for name in sorted(used - tree.folders.keys() - LEAVES):
            errors.append(f"{folder}: may use {name}, which there is not")
    return uses


def components(graph):
    """The strongly connected components of more than one node (R. Tarjan, 1972)."""
    number, low, stack, on_stack, found = {}, {}, [], set(), []

    def enter(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        on_stack.add(node)
        return node, iter(sorted(graph.get(node, ())))

    def leave(node):
        if low[node] < number[node]:
            return
        at = stack.index(node)
        if len(stack) - at > 1:
            found.append(sorted(stack[at:]))
        on_stack.difference_update(stack[at:])
        del stack[at:]

    for root in sorted(graph):
        path = [] if root in number else [enter(root)]
        while path:
            node, rest = path[-1]
            for other in rest:
                if other not in number:
                    path.append(enter(other))
                    break
                if other in on_stack:
                    low[node] = min(low[node], number[other])
            else:
                path.pop()
                leave(node)
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
    return sorted(found)


def relation_check(uses, errors):
    for cycle in components(uses):
        errors.append("folders may use each other in a circle: " + " ".join(cycle))
    for folder, used in sorted(uses.items()):
        if folder in used:
            errors.append(f"{folder}: need not say that it may use itself")


# --- includes ---

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]*)[">]', re.M)


def includes_check(tree, uses, errors):
    for path, text in sorted(tree.files.items()):
        folder = os.path.dirname(path)
        for kind, header in INCLUDE.findall(text):
            if kind == "<":
                continue
            used = os.path.dirname(header)
            if not used:
                errors.append(f'{path}: "{header}" is not written from the root')
            elif used != folder and folder in uses and used not in uses[folder]:
                errors.append(f'{path}: may not include "{header}": {folder} may use ' +
                              (" ".join(sorted(uses[folder])) or "nothing"))


# --- objects ---

class Objects:
    """The definitions and references of objects."""

    def __init__(self, tree, folder):
        self.exports = {}	# module -> names that the loader sees
        self.needs = {}	# module -> names that it does not define
        self.uses = {}	# module -> module -> names
        owners = {}
        paths = {}
        for path, _, names in os.walk(folder):
            for name in names:
                module = os.path.relpath(os.path.join(path, name), folder)[:-2]
                # The build may contain objects of deleted sources.
                if name.endswith(".o") and module + ".c" in tree.files:
                    paths[os.path.join(path, name)] = module
        for path, visibility, section, name in symbols_read(sorted(paths)):
            module = paths[path]
            if section == "UND":
                self.needs.setdefault(module, set()).add(name)
                continue
            if visibility == "DEFAULT":
                self.exports.setdefault(module, set()).add(name)
            owners.setdefault(name, set()).add(module)
        self.is_empty = not paths
        self.owners = owners

    def link(self, is_library, exceptions):
        """Resolves our names. The loader resolves names exported by a library."""
        exported = set().union(*self.exports.values()) if is_library and self.exports else set()
        for module, names in self.needs.items():
            for name in names - exported:
                if not name.startswith(PREFIX):
                    continue
                owners = self.owners.get(name, set()) - {module}
                if len(owners) == 1:
                    owner, = owners
                    if exceptions.allows("table", owner, name):
                        continue
                    self.uses.setdefault(module, {}).setdefault(owner, set()).add(name)


def symbols_read(paths):
    """(path, visibility, section, name) of all global symbols"""
    if not paths:
        return
    env = dict(os.environ, LC_ALL="C")
    said = subprocess.run(["readelf", "-sW", *paths], env=env, check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    path = paths[0]	# the name is not printed for a single file
    for line in said.splitlines():
        if line.startswith("File: "):
            path = line[6:]
            continue
        words = line.split()
        if len(words) >= 8 and words[0].rstrip(":").isdigit() and words[4] in ("GLOBAL", "WEAK"):
            yield path, words[5], words[-2], words[-1].split("@")[0]


def symbols_check(objects, uses, errors):
    for module, used in sorted(objects.uses.items()):
        folder = os.path.dirname(module)
        for other, names in sorted(used.items()):
            theirs = os.path.dirname(other)
            if theirs == folder or folder not in uses or theirs in uses[folder]:
                continue
            errors.append(f"{module}.c: may not use {', '.join(sorted(names))} of {other}.c")


def cycles_check(graph, exceptions, errors):
    for cycle in components(graph):
        if len(cycle) > CYCLE_MAX:
            errors.append(f"{len(cycle)} modules use each other in a circle: " + " ".join(cycle))
        elif not exceptions.allows_cycle(cycle):
            errors.append("modules use each other in a circle that is not in "
                          "scripts/layers.txt: " + " ".join(cycle))


def is_hook(module):
    return os.path.basename(module).startswith("hook_")


def hooks_check(library, exceptions, errors):
    for module, names in sorted(library.exports.items()):
        if not is_hook(module):
            errors.append(f"{module}.c: the library exports {', '.join(sorted(names))}; "
                          "that is for files hook_*.c")
    for module, used in sorted(library.uses.items()):
        for other, names in sorted(used.items()):
            if is_hook(other) and not is_hook(module) and \
               not exceptions.allows("hook", module, other):
                errors.append(f"{module}.c: uses {', '.join(sorted(names))} of {other}.c")


# --- cJSON ---

def below_sections(uses):
    """Everything that sections may use, directly or not, except sections."""
    def is_section(folder):
        return (folder + "/").startswith(SECTIONS + "/")

    found, todo = set(), [folder for folder in uses if is_section(folder)]
    while todo:
        for used in uses.get(todo.pop(), ()):
            if used not in found:
                found.add(used)
                todo.append(used)
    return {folder for folder in found if not is_section(folder)}


def cjson_check(tree, uses, commands, errors):
    below = below_sections(uses)
    for path, text in sorted(tree.files.items()):
        folder, module = os.path.dirname(path), path[:-2]
        if folder not in below or module == JSON:
            continue
        if any("cJSON" in header for _, header in INCLUDE.findall(text)):
            errors.append(f"{path}: knows cJSON, and is below {SECTIONS}")
    for module, names in sorted(commands.needs.items()):
        folder = os.path.dirname(module)
        if folder in below and module != JSON and any(name.startswith("cJSON") for name in names):
            errors.append(f"{module}.c: calls cJSON, and is below {SECTIONS}")


# --- keys of sections ---

LIST = "segment/section_key.h"
DEFINITION = re.compile(r"^const struct hp_section hp_\w+ = \{(.*?)^\};", re.M | re.S)
KEY = re.compile(r'^\t\.(?:key|json) = "([a-z_-]+)"', re.M)
# Comments and character constants are skipped, so quotes in them do not count.
LITERAL = re.compile(r"/\*.*?\*/|//[^\n]*|'(?:\\.|[^'\\\n])*'|\"((?:\\.|[^\"\\\n])*)\"", re.S)


def keys_read(tree):
    """key, of text or JSON -> the file that defines its section"""
    return {key: path
            for path, text in tree.files.items() if path.startswith(SECTIONS + "/")
            for body in DEFINITION.findall(text)
            for key in KEY.findall(body)}


def keys_check(tree, exceptions, errors):
    keys = keys_read(tree)
    if not keys and SECTIONS in tree.folders:
        errors.append(f"{SECTIONS}: no definition of a section was found below it")
    for path, text in sorted(tree.files.items()):
        found = {literal[1] for literal in LITERAL.finditer(text)} & keys.keys()
        for key in sorted(found):
            if path not in (keys[key], LIST) and not exceptions.allows("key", path, key):
                errors.append(f'{path}: "{key}" is the key of a section; it is said in '
                              f"{keys[key]}")


def main(root, build):
    errors = []
    tree = Tree(root)
    exceptions = Exceptions(root, errors)
    uses = relation_read(tree, errors)
    relation_check(uses, errors)
    includes_check(tree, uses, errors)
    build = build or os.path.join(root, "build")
    commands = Objects(tree, os.path.join(build, "obj"))
    library = Objects(tree, os.path.join(build, "pic"))
    if commands.is_empty and library.is_empty:
        print(f"check-layers: no objects in {build}: only sources are checked", file=sys.stderr)
    commands.link(False, exceptions)
    library.link(True, exceptions)
    graph = {}
    for objects in (commands, library):
        symbols_check(objects, uses, errors)
        for module, used in objects.uses.items():
            graph.setdefault(module, set()).update(used)
    cycles_check(graph, exceptions, errors)
    hooks_check(library, exceptions, errors)
    cjson_check(tree, uses, commands, errors)
    keys_check(tree, exceptions, errors)
    errors += exceptions.unneeded(not (commands.is_empty and library.is_empty))
    seen = dict.fromkeys(errors)
    print("".join(error + "\n" for error in seen), end="")
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""))
