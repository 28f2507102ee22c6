#!/bin/bash
# SPDX-License-Identifier: MIT
#
# threads.sh - counts and costs with many threads: 200 at once, 10 000 short
# ones, and 8 that make 10^6 calls each (FULL=1: 10^7; CALLS=N).  Counts are the
# report's, next to the true ones. Costs are processor time, since the wall
# clock also depends on the machine's load; they are compared with those of one
# thread, of empty hooks and of hooks that only read the clock, since processors
# may share more than one thinks.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
calls=${CALLS:-1000000}
[ -z "$FULL" ] || calls=10000000
report=$out/threads.json
compile -finstrument-functions -o "$out/threads" test/bench/threads.c -lpthread || exit
compile -shared -fPIC -o "$out/empty.so" test/bench/hooks/hooks.c || exit
compile -shared -fPIC -DCLOCK -o "$out/clock.so" test/bench/hooks/hooks.c || exit

# seen THREADS AT_ONCE CALLS
seen()
{
	local is should=$(($1 * $3)) verdict=exact

	HOTPATH_REPORT=functions-timing HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$report \
		LD_PRELOAD=$lib "$out/threads" "$@" >/dev/null
	is=$(python3 test/behave/counts.py "$report" turn | cut -d ' ' -f 2)
	[ "$is" = "$should" ] || verdict=WRONG
	printf '%-10s%10s%12s%14s%14s  %s\n' "$1" "$2" "$3" "$should" "$is" "$verdict"
}

# once HOOKS.THREADS
once()
{
	local threads=${1#*.} library=$lib

	case $1 in empty.* | clock.*) library=$out/${1%.*}.so ;; esac
	HOTPATH_OUTPUT_FORMAT=none HOTPATH_TIMING=${1%.*} LD_PRELOAD=$library \
		"$out/threads" "$threads" "$threads" "$calls" 2>/dev/null | cut -d ' ' -f 1
}

if have python3; then
	printf '%-10s%10s%12s%14s%14s\n' threads 'at once' 'calls each' 'calls made' 'calls told'
	seen 200 200 10000
	seen 10000 8 100
	seen 8 8 "$calls"
	rm -f "$report"
fi
echo
echo "ns of processor time per call pair, least of ${ROUNDS:-5}; in brackets: to one thread"
printf '%-10s%10s%18s%18s%18s\n' hooks '1 thread' '2 threads' '8 threads' '200 threads'
for hooks in empty clock adaptive exact; do
	turns "${ROUNDS:-5}" $hooks.1 $hooks.2 $hooks.8 $hooks.200
	printf '%-10s%10.2f' $hooks "${least[$hooks.1]}"
	for threads in 2 8 200; do
		printf '%10.2f (%s)' "${least[$hooks.$threads]}" "$(ratio $hooks.$threads $hooks.1)"
	done
	echo
done
