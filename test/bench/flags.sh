#!/bin/bash
# SPDX-License-Identifier: MIT
#
# flags.sh - the effect of `hotpath flags`: a C++ program that mostly runs
# the standard library's templates (test/examples/stl.cc, 20 times over), compiled
#
#   without    no hooks
#   plain      -finstrument-functions
#   proposed   $(hotpath flags COMPILER)
#
# by g++ and clang++ at -O2: calls of hooks, and its time relative to
# `without`, both alone and under libhotpath.so. The minimum of ROUNDS runs
# counts.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
rounds=${ROUNDS:-5}
times=${TIMES:-20}

flags_of()
{
	case $2 in
	without) echo "-g" ;;
	plain) echo "-g -finstrument-functions" ;;
	proposed) "$build/hotpath" flags "$1" ;;
	esac
}

# build_one COMPILER KIND - main of the example is called from a loop that has no hooks.
build_one()
{
	local program=$out/stl.$1.$2

	rm -f "$program"
	echo "int again(); int main() { for (int i = 0; i < $times; i++) again(); }" |
		"$1" -x c++ -O2 -c -o "$program.loop.o" - || return
	# shellcheck disable=SC2046
	"$1" -std=c++17 -O2 $(flags_of "$1" "$2") -Dmain=again -c -o "$program.o" test/examples/stl.cc &&
		"$1" -o "$program" "$program.o" "$program.loop.o" 2>/dev/null
}

# hooks PROGRAM - calls of the entry hook, as the profiler counts them
hooks()
{
	"$build/hotpath-run" -n 0 -f json -o "$out/flags.json" "$1" >/dev/null &&
		python3 -c 'import json, sys
functions = json.load(open(sys.argv[1])).get("functions_timing", {}).get("raw", [])
print(sum(f["calls"] for f in functions if not f["name"].endswith("::main")))' "$out/flags.json"
}

# once KIND[+] - seconds; + is under the profiler
once()
{
	local program=$out/stl.$compiler.${1%+}

	[ -x "$program" ] || return
	case $1 in
	*+) HOTPATH_OUTPUT_FORMAT=none wall "$build/hotpath-run" "$program" ;;
	*) wall "$program" ;;
	esac
}

row()
{
	if [ ! -x "$out/stl.$compiler.$1" ]; then
		printf '%-9s%-10sdoes not link\n' "$compiler" "$1"
		return
	fi
	printf '%-9s%-10s%14s%10.3f%9s%12.3f%9s\n' "$compiler" "$1" "$(hooks "$out/stl.$compiler.$1")" \
		"${least[$1]}" "$(ratio "$1" without)" "${least[$1+]}" "$(ratio "$1+" without)"
}

echo "test/examples/stl.cc, $times times over, -O2; seconds, the least of $rounds"
printf '%-9s%-10s%14s%10s%9s%12s%9s\n' compiler flags hooks alone ratio profiled ratio
for compiler in g++ clang++; do
	have "$compiler" || continue
	for kind in without plain proposed; do
		build_one "$compiler" "$kind"
	done
	turns "$rounds" without plain plain+ proposed proposed+ without+
	for kind in without plain proposed; do
		row "$kind"
	done
done
