#!/bin/bash
# SPDX-License-Identifier: MIT
#
# start.sh - the cost before the first call, and without any calls:
#
#   `hotpath-run true` against `true`, the report and the kept run included;
#   a shell script of 1000 /bin/true as one session, with and without the
#   library; the helper of an idle program, with 10 and with 1000 threads:
#   its share of a processor and how often it wakes up, over 20 s (IDLE=N:
#   N s), after the start.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
idle=${IDLE:-20}
export HOTPATH_KEEP=20 XDG_STATE_HOME=$out/state
segment=$(mktemp -u -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)")
trap 'rm -rf "$segment" "$out/hyperfine.json" "$XDG_STATE_HOME"' EXIT
spawn='i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i + 1)); done'

# median_ms COMMAND - of some runs, without a shell in between.
median_ms()
{
	hyperfine -N --style none -w 5 -r "${RUNS:-40}" --export-json "$out/hyperfine.json" "$1" \
		>/dev/null 2>&1 || return
	python3 -c 'import json, sys
print("%.3f" % (1000 * json.load(open(sys.argv[1]))["results"][0]["median"]))' "$out/hyperfine.json"
}

# once KIND - ms of one start; of a script's 1000.
once()
{
	case $1 in
	true) median_ms true ;;
	run) median_ms "$build/hotpath-run true" ;;
	preload) median_ms "env LD_PRELOAD=$lib true" ;;
	env) median_ms "env LD_BIND_NOW= true" ;;
	without) wall sh -c "$spawn" ;;
	session) wall "$build/hotpath-run" sh -c "$spawn" ;;
	esac
}

starts()
{
	turns "${ROUNDS:-5}" true run env preload
	echo "ms of a start, least of ${ROUNDS:-5} medians of ${RUNS:-40}; budget: 6 ms more, with report and kept run"
	row 'hotpath-run true' run true
	row 'LD_PRELOAD=libhotpath.so true' preload env
}

# row TITLE KIND BASE
row()
{
	printf '%-32s%8.2f   without %6.2f   more %6s\n' "$1" "${least[$2]}" "${least[$3]}" \
		"$(reckon "${least[$2]} - ${least[$3]}")"
}

# All threads of process $1: ns on a processor, then context switches.
spent()
{
	cat "/proc/$1/task"/*/schedstat | awk '{ ns += $1 } END { printf "%.0f ", ns }'
	awk '/ctxt_switches/ { n += $2 } END { print n }' "/proc/$1/task"/*/status
}

# idle_helper THREADS
idle_helper()
{
	local before after helper word

	rm -f "$segment"
	coproc target {
		HOTPATH_OUTPUT_FORMAT=none HOTPATH_SEGMENT_PATH=$segment LD_PRELOAD=$lib \
			exec "$out/idle" "$1" 2>/dev/null
	}
	read -r -u "${target[0]}" word
	helper=$(segment_sampler "$segment")
	sleep 3
	before=$(spent "$helper")
	sleep "$idle"
	after=$(spent "$helper")
	printf '%-10s%12s%16s\n' "$1" \
		"$(reckon "(${after% *} - ${before% *}) / 1e7 / $idle" %.4f)" \
		"$(reckon "(${after#* } - ${before#* }) / $idle" %.1f)"
	word=$target_PID
	echo >&"${target[1]}"
	wait "$word" 2>/dev/null
}

compile -finstrument-functions -o "$out/idle" test/bench/idle.c -lpthread || exit
if have hyperfine && have python3; then
	starts
fi
echo
turns "${ROUNDS:-5}" without session
echo "1000 /bin/true from sh, ms each, least of ${ROUNDS:-5}; budget: 3 ms as one session"
row 'hotpath-run sh -c ...' session without
echo
printf '%-10s%12s%16s   helper of an idle program over %s s; budget 0.1 %% and 5\n' threads \
	'% of a core' 'switches a s' "$idle"
idle_helper 10
idle_helper 1000
