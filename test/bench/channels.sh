#!/bin/bash
# SPDX-License-Identifier: MIT
#
# channels.sh - ns of one message there and back out, in one thread: without the library, with it,
# and with it but no section of channels requested. path, abstract: a datagram to the name of a
# socket, passed with each message. Budgets: pipe 1.05; GAsyncQueue 40 ns; a file almost nothing.
# The library looks up a path, too, like the kernel.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit

once()
{
	case $1 in
	plain) "$out/channels" $what ;;
	ours)
		HOTPATH_KEEP=0 HOTPATH_REPORT=channels HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$lib \
			"$out/channels" $what
		;;
	off)
		HOTPATH_KEEP=0 HOTPATH_REPORT=threads HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=none \
			LD_PRELOAD=$lib "$out/channels" $what
		;;
	esac
}

compile -o "$out/channels" test/bench/channels.c -l:libglib-2.0.so.0 || exit
printf '%-16s%9s%9s%9s%10s%10s\n' 'ns a message' plain ours off ours/plain off/plain
for what in pipe pair event file queue path abstract; do
	turns "${ROUNDS:-7}" plain ours off
	printf '%-16s%9.1f%9.1f%9.1f%10s%10s\n' "$what" "${least[plain]}" "${least[ours]}" \
		"${least[off]}" "$(ratio ours plain)" "$(ratio off plain)"
done
