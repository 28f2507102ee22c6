#!/bin/bash
# SPDX-License-Identifier: MIT
#
# loops.sh - ns of one call of an event loop: without us, with us, and with us where event loops are not
# requested. epoll, poll: a wait that finds an event at once; timerfd: it is
# set, and read when it has expired; eventfd: a write and a read; uring: a request that does nothing, which
# is a future, too. Budget: 1.10 x. Then epoll and poll again, in turns with the C library's own in one process.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit

once()
{
	case $1 in
	plain) "$out/waits" "$what" ;;
	ours)
		HOTPATH_REPORT=$asked HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$lib "$out/waits" "$what"
		;;
	off)
		HOTPATH_REPORT=threads HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$lib "$out/waits" "$what"
		;;
	esac
}

compile -DWITH_URING -o "$out/waits" test/bench/waits.c -luring -ldl 2>/dev/null ||
	compile -o "$out/waits" test/bench/waits.c -ldl || exit
printf '%-16s%9s%9s%9s%11s%10s\n' 'ns a call' plain ours off ours/plain off/plain
for what in ${WHAT:-epoll poll timerfd eventfd uring}; do
	asked=runtime
	[ "$what" != uring ] || asked=runtime,futures
	turns "${ROUNDS:-7}" plain ours off
	printf '%-16s%9.1f%9.1f%9.1f%11s%10s\n' "$what" "${least[plain]}" "${least[ours]}" "${least[off]}" \
		"$(ratio ours plain)" "$(ratio off plain)"
done
for what in epoll poll; do
	read -r own ours < <(HOTPATH_REPORT=runtime HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$lib \
		"$out/waits" "$what" direct)
	printf '%-16s%9.1f%9.1f%20s\n' "$what, in turns" "$own" "$ours" "$(reckon "$ours / $own" %.3f)"
done
