#!/bin/bash
# SPDX-License-Identifier: MIT
#
# beside.sh - hotpath beside perf, samply, heaptrack and uftrace on one program, lua 5.4
# from Debian's source: the table in README.md.
#
# The upper rows run lua as it is, the lower ones lua that is compiled with
# -finstrument-functions.  Each row: wall time relative to plain lua, minimum of ROUNDS
# (3), alternating; seconds to print a report; MB on disk.  Samplers take 999 a second with
# call stacks.  SAMPLY=/path/of/samply.  samply's report is a web page: only its run is timed.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
work=${WORK:-15}
samply=${SAMPLY:-samply}
place=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)") || exit
trap 'rm -rf "$place"' EXIT
export HOTPATH_KEEP=1 XDG_STATE_HOME=$place/state
kinds=(plain hotpath perf samply heaptrack timed uftrace)

build_lua()
{
	local source

	[ -x "$out/programs/lua5.4.instrumented" ] && return
	mkdir -p "$out/programs"
	source=$(scripts/fetch-source lua5.4 "$build/source") || { echo "skipped: no source of lua here"; return 1; }
	scripts/build-program lua5.4 "$source" "$out/programs/lua5.4.plain" -O2 -g &&
		scripts/build-program lua5.4 "$source" "$out/programs/lua5.4.instrumented" -O2 -g -finstrument-functions
}

# samply refuses if kernel.perf_event_paranoid is above 1, even for root: root gives it another
# file.
allowed()
{
	export -f wall reckon
	echo 1 >"$place/paranoid"
	unshare -m bash -c "mount --bind $place/paranoid /proc/sys/kernel/perf_event_paranoid; \"\$@\"" - "$@"
}

# once KIND - seconds of the run.
once()
{
	local line=("$out/programs/lua5.4.plain" test/examples/demo.lua "$work")

	case $1 in
	timed | uftrace) line[0]=$out/programs/lua5.4.instrumented ;;
	esac
	rm -rf "$place/$1"*
	case $1 in
	plain) wall "${line[@]}" ;;
	hotpath) HOTPATH_OUTPUT_FORMAT=none HOTPATH_CPU=perf wall "$build/hotpath-run" --segment "$place/hotpath" "${line[@]}" ;;
	timed) HOTPATH_OUTPUT_FORMAT=none HOTPATH_CPU=perf wall "$build/hotpath-run" --segment "$place/timed" "${line[@]}" ;;
	perf) wall perf record -F 999 --call-graph dwarf -o "$place/perf" "${line[@]}" ;;
	samply) allowed wall "$samply" record -r 999 --save-only -o "$place/samply" "${line[@]}" ;;
	heaptrack) wall heaptrack -o "$place/heaptrack" "${line[@]}" ;;
	uftrace) wall uftrace record --no-libcall --no-event --max-stack=10240 -d "$place/uftrace" "${line[@]}" ;;
	esac
}

# report KIND - seconds to a report in text, of the run before.
report()
{
	case $1 in
	hotpath | timed) wall "$build/hotpath" report --all "$place/$1" ;;
	perf) wall perf report --stdio --no-children -i "$place/perf" ;;
	heaptrack) wall heaptrack_print -f "$(ls "$place"/heaptrack*)" ;;
	uftrace) wall uftrace report -d "$place/uftrace" ;;
	esac
}

size()
{
	reckon "$(du -c -k "$place/$1"* 2>/dev/null | tail -n 1 | cut -f 1) / 1024" %.1f
}

build_lua || exit
turns "${ROUNDS:-3}" "${kinds[@]}"
echo "plain: ${least[plain]} s"
printf '%-12s%8s%12s%8s\n' '' 'run, ×' 'report, s' MB
for kind in "${kinds[@]}"; do
	printf '%-12s%8s%12s%8s\n' "$kind" "$(ratio "$kind" plain)" "$(report "$kind" || echo -)" "$(size "$kind")"
done
