# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# asked.bash - shared by the scripts that query a running program (live.sh, mcp.sh), which
# read bench.bash first. Sets $work, a folder that is removed at the end, and $python, the
# unwrapped one.

work=$(mktemp -d) || exit
program=
trap 'stop; rm -rf "$work"' EXIT
export HOTPATH_OUTPUT_FORMAT=none HOTPATH_METRICS_PORT=0 HOTPATH_MCP_PORT=0
python=/usr/bin/python3

stop()
{
	[ -z "$program" ] || { kill "$program"; wait "$program"; } 2>/dev/null
	program=
}

# start SERVER COMMAND... - profiled; sets `program`, and `port` to its SERVER's port from the
# line on stderr ("live figures", "MCP"); "" = it ended before.
start()
{
	local server=$1
	shift
	LD_PRELOAD=$lib PYTHONMALLOC=malloc "$@" >/dev/null 2>"$work/said" &
	program=$!
	port=
	while [ -z "$port" ] && kill -0 "$program" 2>/dev/null; do
		sleep 0.1
		port=$(sed -n "s,.*$server: http://[^:]*:\([0-9]*\)/.*,\1,p" "$work/said")
	done
}
