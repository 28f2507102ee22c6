#!/bin/bash
# SPDX-License-Identifier: MIT
#
# locks.sh - ns of lock and release that find the lock free, in a process of
# several threads: without us, with us, and with us where no section of locks is
# asked for; then the CPU ns of an acquisition of threads on one mutex, with the
# 500 ns of work around it.
# Budgets: 1.5 x a free pair; 1.05 x under contention and for a pipe.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit

once()
{
	case $1 in
	plain) "$out/locks" $what ;;
	ours) HOTPATH_KEEP=0 HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$lib "$out/locks" $what ;;
	off)
		HOTPATH_KEEP=0 HOTPATH_REPORT=threads HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$lib \
			"$out/locks" $what
		;;
	esac
}

compile -o "$out/locks" test/bench/locks.c -lpthread || exit
printf '%-16s%9s%9s%9s%10s%10s\n' 'ns a pair' plain ours off ours/plain off/plain
for what in "mutex alone" "mutex threads" "nested threads" "read threads" "write threads" "spin threads" \
	"sem threads" "signal threads" "pipe threads" "threads 2" "threads 4" "threads 8"; do
	turns "${ROUNDS:-5}" plain ours off
	printf '%-16s%9.2f%9.2f%9.2f%10s%10s\n' "$what" "${least[plain]}" "${least[ours]}" \
		"${least[off]}" "$(ratio ours plain)" "$(ratio off plain)"
done
