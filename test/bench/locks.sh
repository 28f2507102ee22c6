#!/bin/bash
# SPDX-License-Identifier: MIT
#
# locks.sh - ns of an uncontended lock and release, in a process of several threads: without the
# library, with it, and with it but no section of locks requested; then of threads on one mutex,
# with 500 ns of work around each acquisition: its CPU time, its elapsed time (the inverse of the
# throughput), and how often a thread slept for it, per thousand. These are independent: a thread
# that records more before it sleeps uses CPU time, and may find the lock free after all. The third
# row shows whether that happens. `waits` requests only the sections of locks; with all sections the
# kernel records each switch, too. Budgets: 1.5 x a free pair; 1.05 x the elapsed time under
# contention, and a pipe.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit

once()
{
	case $1 in
	plain) "$out/locks" $what ;;
	ours) HOTPATH_KEEP=0 HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$lib "$out/locks" $what ;;
	waits)
		HOTPATH_KEEP=0 HOTPATH_REPORT=mutexes,waits,waiting HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$lib \
			"$out/locks" $what
		;;
	off)
		HOTPATH_KEEP=0 HOTPATH_REPORT=threads HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$lib \
			"$out/locks" $what
		;;
	esac
}

compile -o "$out/locks" test/bench/locks.c -lpthread || exit
printf '%-20s%9s%9s%9s%9s%10s%10s%10s\n' 'ns a pair' plain ours waits off ours/plain waits/plain off/plain
for what in "mutex alone" "mutex threads" "nested threads" "read threads" "write threads" "spin threads" \
	"sem threads" "signal threads" "pipe threads" "threads 2 cpu" "threads 2 elapsed" "threads 2 switches" \
	"threads 4 cpu" "threads 4 elapsed" "threads 4 switches" "threads 8 cpu" "threads 8 elapsed" \
	"threads 8 switches"; do
	turns "${ROUNDS:-5}" plain ours waits off
	printf '%-20s%9.2f%9.2f%9.2f%9.2f%10s%10s%10s\n' "$what" "${least[plain]}" "${least[ours]}" \
		"${least[waits]}" "${least[off]}" "$(ratio ours plain)" "$(ratio waits plain)" "$(ratio off plain)"
done
