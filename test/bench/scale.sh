#!/bin/bash
# SPDX-License-Identifier: MIT
#
# scale.sh - CPU time and memory of the report when there is much of one kind: 10^6 call paths
# that allocate, and 10^5 functions, threads and processes; and a tenth of each, since both
# should grow no faster than their number.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
segment=$(mktemp -u -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)")
trap 'rm -f "$segment" "$out/functions.c"' EXIT
compile -fno-optimize-sibling-calls -fno-crossjumping -fno-tree-tail-merge -fno-code-hoisting \
	-o "$out/scale" test/bench/scale.c -lpthread || exit

# functions N - a program that calls each of N functions once.
functions()
{
	awk -v n="$1" 'BEGIN {
		for (i = 0; i < n; i++) printf "static void f%d(void) { }\n", i
		print "int main(void) {"
		for (i = 0; i < n; i++) printf "f%d();\n", i
		print "return 0; }"
	}' >"$out/functions.c"
	"${CC:-cc}" -O0 -finstrument-functions -o "$out/functions.$1" "$out/functions.c"
}

# measured TITLE FILE - of `hotpath report --all`, with the usual number of rows and with all. A
# separate process makes it, and the first one does not wait for that process.
measured()
{
	python3 - "$@" "$build/hotpath" <<-'END'
		import ctypes, os, subprocess, sys
		PR_SET_CHILD_SUBREAPER = 36
		title, file, hotpath = sys.argv[1:]
		ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
		text = "%-20s" % title
		for options in ["--all"], ["--all", "--limit=0"]:
		    child = subprocess.Popen([hotpath, "report", *options, file], stdout=subprocess.DEVNULL)
		    cpu = peak = 0
		    try:
		        while True:
		            used = os.wait3(0)[2]
		            cpu += used.ru_utime + used.ru_stime
		            peak = max(peak, used.ru_maxrss)
		    except ChildProcessError:
		        pass
		    text += "%9.0f ms%6.0f MB" % (1000 * cpu, peak / 1024)
		print(text + "%9.1f MB" % (os.stat(file).st_blocks / 2048))
	END
}

# row TITLE COMMAND...
row()
{
	rm -f "$segment"
	HOTPATH_OUTPUT_FORMAT=none HOTPATH_SEGMENT_PATH=$segment "$build/hotpath-run" "${@:2}" >/dev/null 2>&1
	measured "$1" "$segment"
}

printf '%-20s%21s%21s%12s   budget of paths: 400 MB\n' '' 'all tables' 'all rows' segment
for part in 10 1; do
	functions $((100000 / part)) || exit
	row "$((1000000 / part)) paths" "$out/scale" paths $((1000000 / part))
	row "$((100000 / part)) functions" "$out/functions.$((100000 / part))"
	row "$((100000 / part)) threads" "$out/scale" threads $((100000 / part))
	row "$((100000 / part)) processes" "$out/scale" processes $((100000 / part))
done
