#!/bin/bash
# SPDX-License-Identifier: MIT
#
# alloc.sh - the cost of recording every allocation: ns of a malloc/free pair
# below 8 and 30 frames, with 1, 2 and 8 threads.  Whole programs: memory.sh.
#
#   plain      without a library
#   ours       libhotpath.so: counts, bytes, live, peak per full call path
#   depth 0    HOTPATH_ALLOC_DEPTH=0: the caller only
#   off        HOTPATH_REPORT=threads: nothing of it is recorded
#   heaptrack  heaptrack's library, its data to /dev/null
#
# One run each, alternating, minimum of ROUNDS=5.  Budget over plain: one reading of the clock at 8
# frames, three at 30; the clock is measured in the same run.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
rounds=${ROUNDS:-5}
tracker=$(ls /usr/lib/*/heaptrack/libheaptrack_preload.so /usr/lib/heaptrack/libheaptrack_preload.so 2>/dev/null | head -n 1)
export HOTPATH_OUTPUT_FORMAT=none HOTPATH_KEEP=0

# under KIND COMMAND...
under()
{
	local kind=$1
	shift
	case $kind in
	ours) HOTPATH_REPORT=alloc-sites,functions-alloc LD_PRELOAD=$lib "$@" ;;
	depth0) HOTPATH_REPORT=alloc-sites,functions-alloc HOTPATH_ALLOC_DEPTH=0 LD_PRELOAD=$lib "$@" ;;
	off) HOTPATH_REPORT=threads LD_PRELOAD=$lib "$@" ;;
	heaptrack) LD_PRELOAD=$tracker DUMP_HEAPTRACK_OUTPUT=/dev/null "$@" ;;
	*) "$@" ;;
	esac
}

# once KIND - ns of a pair, or of a reading of the clock.
once()
{
	if [ "$1" = clock ]; then
		"$out/alloc" clock
	else
		under "$1" "$out/alloc" "$frames" "$threads" 2>/dev/null
	fi
}

pairs()
{
	printf '%-8s%-8s%8s%8s%8s%8s%8s%10s   %s\n' frames threads clock plain ours 'depth 0' off \
		heaptrack 'more, in clock readings; heaptrack over ours'
	for threads in 1 2 8; do
		for frames in 8 30; do
			# shellcheck disable=SC2086
			turns "$rounds" clock plain ours depth0 off $heaptrack
			printf '%-8s%-8s%8s%8s%8s%8s%8s%10s   %s  %s\n' "$frames" "$threads" \
				"${least[clock]}" "${least[plain]}" "${least[ours]}" \
				"${least[depth0]}" "${least[off]}" "${least[heaptrack]:--}" \
				"$(reckon "(${least[ours]} - ${least[plain]}) / ${least[clock]}")" \
				"$(reckon "(${least[heaptrack]:-x} - ${least[plain]}) / (${least[ours]} - ${least[plain]})" %.1f)"
		done
	done
}

compile -o "$out/alloc" test/bench/alloc.c -lpthread || exit
heaptrack=
if [ -n "$tracker" ]; then heaptrack=heaptrack; else echo "skipped: no heaptrack here"; fi
pairs
