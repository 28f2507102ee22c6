#!/bin/bash
# SPDX-License-Identifier: MIT
#
# block.sh - the cost of a block of include/hotpath.h compared with an
# instrumented function, and its cost without the library: block.c measures
# them alternately in one run; the minimum of ROUNDS runs counts.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
rounds=${ROUNDS:-5}
calls=${CALLS:-20000000}
places="function block pair nothing"

# measure KIND COMMAND... - sets least[KIND.PLACE] from the figures of block.c.
measure()
{
	local kind=$1 round numbers place
	shift
	for ((round = 0; round < rounds; round++)); do
		read -r -a numbers < <("$@" | tail -n 1) || return
		for place in $places; do
			least[$kind.$place]=$(reckon "(${least[$kind.$place]:-1e9} < ${numbers[0]}) ? \
				${least[$kind.$place]:-0} : ${numbers[0]}" %.3f)
			numbers=("${numbers[@]:1}")
		done
	done
}

row()
{
	local place

	printf '%-16s' "$1"
	for place in $places; do
		printf '%10.2f' "${least[$1.$place]}"
	done
	printf '%16s\n' "$(reckon "${least[$1.block]} / ${least[$1.function]}")"
}

export HOTPATH_OUTPUT_FORMAT=none HOTPATH_KEEP=0
compile -DHOTPATH -finstrument-functions -o "$out/block" test/bench/block.c || exit
compile -finstrument-functions -o "$out/block.off" test/bench/block.c || exit
echo "ns per call, least of $rounds runs of $calls calls; budget: block <= 1.3 x function"
printf '%-16s%10s%10s%10s%10s%16s\n' "" function block begin/end loop block/function
measure no-DHOTPATH "$out/block.off" "$calls"
measure no-library "$out/block" "$calls"
measure adaptive env LD_PRELOAD="$lib" "$out/block" "$calls"
measure exact env LD_PRELOAD="$lib" HOTPATH_TIMING=exact "$out/block" "$calls"
for kind in no-DHOTPATH no-library adaptive exact; do
	row $kind
done
