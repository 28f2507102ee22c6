#!/bin/bash
# SPDX-License-Identifier: MIT
#
# growth.sh - memory does not grow with the number of calls or allocations: resident memory of
# the target and of the helper after 10^6 calls (pairs of malloc and free) and after 10^8 in the
# same run (FULL=1: 10^9), and the time of the report afterwards.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
few=1000000
many=100000000
[ -z "$FULL" ] || many=1000000000
compile -finstrument-functions -o "$out/growth" test/bench/growth.c || exit
segment=$(mktemp -u -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)")
trap 'rm -f "$segment"' EXIT

# resident PID - KiB
resident()
{
	sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$1/status" 2>/dev/null
}

# The target prints how many calls it made, and waits for a line before
# it continues.
look()
{
	local calls

	read -r -u "${target[0]}" calls || return
	printf '%-12s%16s%16s%16s\n' "$calls" "$(resident "$target_PID")" \
		"$(resident "$(segment_sampler "$segment")")" "$(du -k "$segment" | cut -f 1)"
	echo >&"${target[1]}"
}

once()
{
	HOTPATH_OUTPUT_FORMAT=${1#*.} wall "$build/hotpath" report "$segment"
}

# growing TITLE WHAT NAME=VALUE...
growing()
{
	rm -f "$segment"
	printf '%-12s%16s%16s%16s\n' "$1" 'target KiB' 'helper KiB' 'segment KiB'
	coproc target {
		exec env HOTPATH_OUTPUT_FORMAT=none HOTPATH_SEGMENT_PATH="$segment" \
			LD_PRELOAD="$lib" "${@:3}" "$out/growth" "$2" "$few" "$many" 2>/dev/null
	}
	pid=$target_PID
	look && look
	wait "$pid" 2>/dev/null
}

growing pairs pairs HOTPATH_REPORT=alloc-sites,functions-alloc,alloc-sizes
growing adaptive calls HOTPATH_TIMING=adaptive
growing exact calls HOTPATH_TIMING=exact
turns 5 report.table report.json
echo "hotpath report FILE, least of 5: $(reckon "${least[report.table]} * 1000" %.0f) ms as table," \
	"$(reckon "${least[report.json]} * 1000" %.0f) ms as JSON; budget 200 ms"
