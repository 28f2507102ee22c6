#!/bin/bash
# SPDX-License-Identifier: MIT
#
# first.sh - the cost of per-function timing from the first call on, when each function is
# new.
#
#   sqlite 1, 20   speedtest1 of Debian's sqlite3 in memory, at two sizes, gcc -O2, every function
#   lua            test/examples/demo.lua
#   many           2000 functions in random order, 2000 calls of each
#   many 20,000    20,000 functions in random order, 200 calls of each
#
# CPU time of the program, the minimum of ROUNDS=5 rounds, under hooks as in test/bench/run.
# Budgets, adaptive / empty: sqlite 1.8 and 1.5, lua 1.4, many 2; exact / clock: 1.5, many 2.3.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
rounds=${ROUNDS:-5}

build_hooks()
{
	compile -shared -fPIC -o "$out/empty.so" test/bench/hooks/hooks.c &&
		compile -shared -fPIC -DCLOCK -o "$out/clock.so" test/bench/hooks/hooks.c
}

build_sqlite()
{
	local source

	[ ! -x "$out/speedtest1" ] || return 0
	source=$(scripts/fetch-source sqlite3 "$build/source") || return
	if [ ! -e "$source/amalgam/sqlite3.c" ]; then
		mkdir -p "$source/amalgam"
		(cd "$source/amalgam" && ../configure --disable-tcl && make sqlite3.c) >"$out/configure.log" 2>&1 || return
	fi
	# shellcheck disable=SC2046
	compile $("$build/hotpath" flags cc) -I"$source/amalgam" -o "$out/speedtest1" "$source/amalgam/sqlite3.c" \
		"$source/test/speedtest1.c" -lm -ldl -lpthread
}

build_lua()
{
	local source

	[ ! -x "$out/lua" ] || return 0
	source=$(scripts/fetch-source lua5.4 "$build/source") &&
		scripts/build-program lua5.4 "$source" "$out/lua" -O2 -g -finstrument-functions
}

# cpu COMMAND... - its own CPU time, ms.
cpu()
{
	/usr/bin/python3 -c '
import os, sys
child = os.fork()
if child == 0:
    os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
    os.execvpe("env", ["env"] + sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
print((used.ru_utime + used.ru_stime) * 1000)
sys.exit(status != 0)
' "$@"
}

once()
{
	case $1 in
	empty | clock) cpu "LD_PRELOAD=$out/$1.so" "${command[@]}" ;;
	*)
		cpu HOTPATH_OUTPUT_FORMAT=none HOTPATH_REPORT=functions-timing "HOTPATH_TIMING=$1" \
			"LD_PRELOAD=$lib" "${command[@]}"
		;;
	esac
}

# row NAME COMMAND...
row()
{
	local name=$1

	command=("${@:2}")
	turns "$rounds" empty clock adaptive exact
	printf '%-12s%9.0f%9.0f%9.0f%9.0f%10s%10s\n' "$name" "${least[empty]}" "${least[clock]}" "${least[adaptive]}" \
		"${least[exact]}" "$(ratio adaptive empty)" "$(ratio exact clock)"
}

build_hooks || exit
compile -finstrument-functions -o "$out/many" test/bench/many.c -lpthread || exit
compile -finstrument-functions -DTENFOLD -o "$out/many20000" test/bench/many.c -lpthread || exit
printf '%-12s%9s%9s%9s%9s%10s%10s\n' 'CPU, ms' empty clock adaptive exact adap/empty ex/clock
row many "$out/many" 4000000
row 'many 20,000' "$out/many20000" 4000000
if build_lua; then
	row lua "$out/lua" test/examples/demo.lua 1
fi
if build_sqlite; then
	row 'sqlite 1' "$out/speedtest1" --memdb --size 1
	row 'sqlite 20' "$out/speedtest1" --memdb --size 20
fi
