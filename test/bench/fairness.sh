#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fairness.sh - does the profiler change the order in which threads get a contended mutex?  2, 4 and
# 8 threads on one mutex, each holding it for some µs: acquisitions per second, the smallest and
# largest share of a thread (1 =
# as many as the others), the longest wait. Medians of ROUNDS (9) runs of each kind, alternating.
# Budget: throughput within 5 %, the others within the spread of the runs without the library: their
# quartiles, in brackets.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
work=$(mktemp -d /tmp/fairness.XXXXXX) || exit
trap 'rm -rf "$work"' EXIT

fair()
{
	if [ "$1" = ours ]; then
		HOTPATH_OUTPUT_FORMAT=none HOTPATH_REPORT=mutexes,waits,waiting LD_PRELOAD=$lib "$out/fairness" "$2" 300 1000
	else
		"$out/fairness" "$2" 300 1000
	fi
}

compile -o "$out/fairness" test/bench/fairness.c -lpthread || exit
printf '%-8s%-20s%12s%12s%9s   %s\n' threads '' plain ours ratio 'plain, quartiles'
for threads in 2 4 8; do
	rm -f "$work"/*
	for ((round = 0; round < ${ROUNDS:-9}; round++)); do
		fair plain $threads >>"$work/plain"
		fair ours $threads >>"$work/ours"
	done
	column=1
	for what in 'locks a second' 'least share' 'most share' 'longest wait, ms'; do
		plain=$(quantile "$work/plain" $column 0.5) ours=$(quantile "$work/ours" $column 0.5)
		printf '%-8s%-20s%12s%12s%9s   %s\n' $threads "$what" "$plain" "$ours" "$(reckon "$ours / $plain")" \
			"[$(quantile "$work/plain" $column 0.25), $(quantile "$work/plain" $column 0.75)]"
		column=$((column + 1))
	done
done
