# SPDX-License-Identifier: MIT
"""places.py - the places in our code whose call may fail, read from the code, and the orders for them (fault.c)."""
import collections, mmap, os, re, struct, subprocess

PARTS = ("libhotpath.so", "hotpath-sampler", "hotpath", "hotpath-run", "hotpath-live")
SLOTS_AT, SLOT = 4096, 16
# Called for the program, which requested just that.
PASSED_ON = {("libhotpath.so", name) for name in ("malloc", "calloc", "realloc")}


def numbers():
    for path in ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"):
        if os.path.exists(path):
            return {int(n): name for name, n in re.findall(r"#define __NR_(\w+) (\d+)", open(path).read())}
    return {}


class Part:
    """The places in one part's code, by their return address."""

    def __init__(self, path, functions):
        self.path, self.name, self.functions = path, os.path.basename(path), functions
        self.sites, self.jumps, self.calls = {}, collections.defaultdict(list), {}
        self.named = collections.defaultdict(set)   # functions whose address each function has, or calls
        self.owners = {}    # of each place: the function that it is in
        text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True).stdout
        function, pending = "", None
        for line in text.splitlines():
            head = re.match(r"[0-9a-f]+ <(.+)>:", line)
            if head:
                function = head[1].split(".cold")[0]
                continue
            at = re.match(r"\s*([0-9a-f]+):\s+(\S+)\s*(.*)", line)
            if not at:
                continue
            if pending:
                self.calls[int(at[1], 16)] = pending
                pending = None
            target = re.search(r"<([^>+]+)>", at[3])
            if target:
                self.named[function].add(target[1].split("@")[0].split(".cold")[0])
            if not target or function.startswith("__wrap_"):
                continue
            name = target[1].split("@")[0]
            if name.startswith("__wrap_"):
                self.owners[int(at[1], 16)] = function
            if at[2].startswith("call"):
                pending = (name, int(at[1], 16))
            elif at[2] == "jmp" and name.split(".cold")[0] != function:
                self.jumps[function].append((name, int(at[1], 16)))
        self.places = self.name_places()
        used = self.used()
        for name, address in list(self.calls.values()) + [jump for jumps in self.jumps.values() for jump in jumps]:
            if name.startswith("__wrap_") and (self.name, name[7:]) not in PASSED_ON and self.owners[address] in used:
                self.sites.setdefault((self.places[address], name[7:]), set()).add(address)

    def used(self):
        """The functions that this part can reach: a linked object is complete, with functions that are never called."""
        symbols = {}
        exported = set()
        for line in subprocess.run(["readelf", "-sW", self.path], capture_output=True, text=True).stdout.splitlines():
            words = line.split()
            if len(words) >= 8 and words[3] == "FUNC" and words[6] != "UND":
                symbols.setdefault(int(words[1], 16), set()).add(words[7].split("@")[0].split(".cold")[0])
                if words[4] != "LOCAL" and words[5] in ("DEFAULT", "PROTECTED"):
                    exported.add(words[7].split("@")[0])
        # Tables of functions, and functions that the loader calls.
        relocations = subprocess.run(["readelf", "-rW", self.path], capture_output=True, text=True).stdout
        pointers = {int(a, 16) for a in re.findall(r"R_\w+_RELATIVE\s+([0-9a-f]+)", relocations)}
        queue = [name for at, names in symbols.items() if at in pointers for name in names]
        queue += ["main", "_start"] if self.name != PARTS[0] else exported
        seen = set()
        while queue:
            name = queue.pop()
            if name not in seen:
                seen.add(name)
                queue += self.named.get(name, ())
        return seen

    def name_places(self):
        at = sorted({a for name, a in self.calls.values() if name.startswith("__wrap_")} |
                    {a for jumps in self.jumps.values() for name, a in jumps if name.startswith("__wrap_")})
        text = subprocess.run(["addr2line", "-a", "-i", "-e", self.path], input="\n".join(map(hex, at)),
                              capture_output=True, text=True).stdout
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + "/"
        places = {}
        for part in re.split(r"^0x", text, flags=re.M)[1:]:
            address, *lines = part.split("\n")
            # Our innermost line: _FORTIFY_SOURCE puts functions of the C library's headers around
            # calls. Functions of headers appear as root/./folder/file.
            lines = [line.replace(root, "").removeprefix("./").split(" ")[0] for line in lines if line]
            places[int(address, 16)] = next((line for line in lines if not line.startswith("/")), lines[0])
        return places

    def site_of(self, back, function):
        """(place, function) of a call that returns to `back`, which may be behind jumps; None = not known."""
        name, address = self.calls.get(back, ("", 0))
        wanted = "__wrap_" + function
        if name == wanted:
            return self.places[address], function
        seen, queue = set(), [name.split(".cold")[0]]
        while queue:
            caller = queue.pop()
            if caller in seen:
                continue
            seen.add(caller)
            for name, address in self.jumps.get(caller, []):
                if name == wanted:
                    return self.places[address], function
                queue.append(name)
        return None


class Plan:
    """The file that a part reads its orders from (fault.c)."""

    def __init__(self, path, code_size):
        self.size = SLOTS_AT + (code_size + 1) * SLOT
        self.path = path

    def write(self, site, first, end, error):
        with open(self.path, "wb") as file:
            file.truncate(self.size)
            file.write(struct.pack("7Q", self.size, site, first, end, error, 0, 0))

    def seen(self):
        with open(self.path, "rb") as file:
            values = struct.unpack("7Q", file.read(56))
        return values[5], values[6]

    def slots(self):
        """{where it returns to: (calls, failed, number of the function, first argument)}."""
        found = {}
        with open(self.path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as view:
            for at in range(SLOTS_AT, self.size, 1 << 16):
                block = view[at:at + (1 << 16)]
                if block.strip(b"\0"):
                    for i in range(0, len(block) - 15, SLOT):
                        slot = struct.unpack_from("4I", block, i)
                        if slot[0]:
                            found[(at - SLOTS_AT + i) // SLOT] = slot
        return found
