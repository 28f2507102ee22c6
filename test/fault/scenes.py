# SPDX-License-Identifier: MIT
"""scenes.py - the ways in which programs and commands are run, so that they come to many places of ours.

Each is (name, arguments, settings): of HOTPATH_ variables ("" = none, None = a free port), and of

    RUN       by hotpath-run
    OLD       the record's file is there already: empty, or the one of a run before
    PROGRAM   another one than faults, beside it
    PREFIX    what starts the program, also without the library
    COMMAND   no program: the arguments are those of the command that this names; it looks at the files "saved" and
              "saved2", records of two runs
"""

ALL = {"HOTPATH_REPORT": "all"}
MORE = {"HOTPATH_REPORT": "all", "PROGRAM": "faults_more"}
FEW = {"HOTPATH_REPORT": "functions-timing,alloc,threads", "PROGRAM": "faults_more"}
NO_STDIN = ["sh", "-c", 'exec "$0" "$@" <&-']

PROGRAMS = [
    ("threads", ["threads", "handlers"], {}),
    ("memory", ["memory"], ALL),
    ("locks", ["locks"], ALL),
    ("channels", ["channels"], ALL),
    ("processes", ["processes"], ALL),
    ("load", ["load", "port"], dict(ALL, HOTPATH_METRICS_PORT=None)),
    ("file", ["threads", "channels"], dict(ALL, HOTPATH_SEGMENT_PATH="segment")),
    ("timer", ["burn", "threads", "processes"], dict(ALL, HOTPATH_CPU="timer")),
    ("limits", ["limits"], ALL),
    ("confined", ["confined"], ALL),
    ("leaks", ["memory"], {"HOTPATH_REPORT": "all,leaks"}),
    ("run", ["memory", "processes"], dict(ALL, RUN="1")),
    ("old", ["threads"], {"HOTPATH_REPORT": "all,nonsense", "HOTPATH_SEGMENT_PATH": "segment", "OLD": "empty"}),
    ("perf", ["burn"], dict(ALL, HOTPATH_CPU="perf", HOTPATH_LOG_PAYLOAD="1")),
    ("flat", ["memory"], dict(ALL, HOTPATH_ALLOC_DEPTH="0")),
    ("payload", ["channels"], dict(ALL, HOTPATH_LOG_PAYLOAD="1")),
    ("again", ["threads"], dict(ALL, HOTPATH_SEGMENT_PATH="segment", OLD="saved")),
    ("samply", ["burn"], dict(ALL, HOTPATH_CPU="samply", HOTPATH_PROFILE_DIR="profiles", HOTPATH_SAMPLY_BIN="/none")),
    ("profiles", ["memory", "burn"], dict(ALL, HOTPATH_CPU="auto", HOTPATH_PROFILE_DIR="profiles")),
    ("nostdin", ["threads"], dict(ALL, PREFIX=NO_STDIN)),
    ("large", ["paths", "functions", "many"], MORE),
    ("blocks", ["blocks", "waits", "pipes"], MORE),
    ("only", ["another", "blocks"], dict(MORE, HOTPATH_ONLY="faults_more")),
    ("elsewhere", ["elsewhere"], MORE),
    ("widow", ["widow"], MORE),
    ("shut", ["shut"], dict(MORE, HOTPATH_SHUTDOWN_MS="300")),
    ("visit", ["visit"], dict(FEW, HOTPATH_METRICS_PORT=None)),
    ("visits", ["visit", "visit"], dict(FEW, HOTPATH_METRICS_PORT=None, HOTPATH_CPU="off")),
    ("first", ["waits", "blocks"], dict(FEW, PREFIX=["unshare", "-pf"])),
]


def command(name, *arguments, **settings):
    return name, list(arguments), dict(settings, COMMAND="hotpath")


COMMANDS = [
    command("list", "list"),
    command("table", "report", "-r", "all", "saved"),
    command("pretty", "report", "-f", "json-pretty", "-r", "all", "-o", "out", "saved"),
    command("kept", "report"),
    command("tree", "report", "--tree", "saved"),
    command("callers", "report", "--callers=deep", "saved"),
    command("callees", "report", "--callees=memory", "saved"),
    command("waits", "report", "--waits", "saved"),
    command("annotate", "report", "--annotate=memory", "saved"),
    command("folded", "report", "--folded", "saved"),
    command("html", "report", "--html", "-o", "out", "saved"),
    command("firefox", "report", "--export=firefox", "-o", "out", "saved"),
    command("flamegraph", "report", "--export=flamegraph", "-o", "out", "saved"),
    command("stacks", "report", "--export=folded", "-o", "out", "saved"),
    command("pprof", "report", "--export=pprof", "-o", "out", "saved"),
    command("heap", "report", "--export=pprof-heap", "-o", "out", "saved"),
    command("bytes", "report", "--export=folded-bytes", "-o", "out", "saved"),
    command("mutexes", "report", "--export=pprof-mutex", "-o", "out", "saved"),
    command("compare", "compare", "saved", "saved2"),
    command("compared", "compare", "-f", "json", "saved", "saved2"),
    command("jsons", "compare", "saved.json", "saved2"),
    command("doctor", "doctor"),
    command("doctors", "doctor", "PROGRAM"),
    command("flags", "flags", "gcc"),
    command("check", "check", "saved.hp.json.gz"),
    command("missing", "report", "none"),
]
