#!/bin/bash
# SPDX-License-Identifier: MIT
#
# kept.sh - the cost of keeping each run: time of the report stage with and
# without saving, on one record of each program, and the file's size. Budget:
# 0.3 s and 10 MB, for 64 threads that each call 1000 functions.

cd "$(dirname "$0")/../.." && . test/bench/bench.bash || exit
segment=$out/kept.segment
export XDG_STATE_HOME=$out/state HOTPATH_OUTPUT_PATH=/dev/null
trap 'rm -rf "$segment" "$XDG_STATE_HOME"' EXIT

# stage KEEP - the report stage of the recorded session.
stage()
{
	HOTPATH_KEEP=$1 "$build/hotpath" report --fd 3 3<"$segment"
}

once()
{
	wall stage "$1"
}

# row NAME COMMAND...
row()
{
	local name=$1
	shift
	HOTPATH_SEGMENT_PATH=$segment "$build/hotpath-run" "$@" >/dev/null 2>&1 || return
	rm -rf "$XDG_STATE_HOME"
	turns "${ROUNDS:-7}" 0 20
	printf '%-28s%10.1f%10s%12s%10s\n' "$name" "$(touched_mb "$segment")" \
		"$(reckon "${least[0]} * 1000" %.0f)" "$(reckon "(${least[20]} - ${least[0]}) * 1000" %.0f)" \
		"$(reckon "$(cat "$XDG_STATE_HOME"/hotpath/*.hp.gz | wc -c) / 1e6" %.2f)"
}

compile -finstrument-functions -o "$out/wide" test/bench/wide.c -lpthread || exit
printf '%-28s%10s%10s%12s%10s\n' "" "record MB" "report ms" "saving ms" "file MB"
row 'true' true
row '64 threads x 1000 functions' "$out/wide"
lua=$build/demo/lua
[ ! -x "$lua" ] || row 'lua, demo.lua' "$lua" test/examples/demo.lua
[ -x "$lua" ] || echo "lua: make demo builds it"
