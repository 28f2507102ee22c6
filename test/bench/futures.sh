#!/bin/bash
# SPDX-License-Identifier: MIT
#
# futures.sh - ns of a poll (HOTPATH_FUTURE_POLL and _PENDING), of a call (start and end), of a coroutine's resume, of a
# thread that is created and joined, of a connection with its wait, of a switch to or from a context, of a GTask, and of
# a job of a GThreadPool and one of libuv, exchanged: without the library; with it; and with it but futures not requested. `off` of
# coroutines is compiled without -DHOTPATH. Budgets: 20 ns per resume above `plain`; 1.05 x a thread of `off`.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit

once()
{
	local with=
	case $1 in
	plain) ;;
	ours) with="HOTPATH_REPORT=futures HOTPATH_LOOP_CALLBACKS=1 HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$lib" ;;
	off) with="HOTPATH_REPORT=threads HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$lib" ;;
	esac
	# shellcheck disable=SC2086
	env $with "$out/$what" bench "$count" $mode
}

compile -DHOTPATH -Iinclude -o "$out/futures" test/behave/programs/futures.c -lpthread || exit
CC=${CXX:-c++} compile -std=c++20 -DHOTPATH -Iinclude -o "$out/coroutines" test/behave/programs/coroutines.cc \
	-lpthread || exit
compile -o "$out/contexts" test/behave/programs/contexts.c -lpthread || exit
compile -o "$out/connects" test/behave/programs/connects.c || exit
if pkg-config --exists gio-2.0 2>/dev/null; then
	read -ra glib <<<"$(pkg-config --cflags --libs gio-2.0)"
	compile -o "$out/jobs" test/behave/programs/jobs.c "${glib[@]}" || exit
	compile -o "$out/tasks" test/behave/programs/tasks.c "${glib[@]}" || exit
fi
if echo '#include <uv.h>' | cc -fsyntax-only -xc - 2>/dev/null; then
	compile -o "$out/uv" test/behave/programs/uv.c -luv || exit
fi
printf '%-12s%9s%9s%9s%12s%12s\n' 'ns each' plain ours off ours-plain ours/off
while read -r what mode count; do
	[ -x "$out/$what" ] || continue
	[ "$mode" != - ] || mode=
	turns "${ROUNDS:-5}" plain ours off
	printf '%-12s%9.1f%9.1f%9.1f%12s%12s\n' "${mode:-resume}" "${least[plain]}" "${least[ours]}" "${least[off]}" \
		"$(reckon "${least[ours]} - ${least[plain]}" %.1f)" "$(ratio ours off)"
done <<-'END'
	futures poll 2000000
	futures call 500000
	coroutines - 2000000
	futures thread 5000
	connects connect 900
	contexts switch 500000
	tasks task 200000
	jobs job 200000
	uv work 100000
END
