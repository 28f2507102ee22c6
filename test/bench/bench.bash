# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# bench.bash - shared by the scripts of test/bench; each changes to the source
# tree's root and reads this file.
#
# A figure is a ratio of kinds that alternate in one run, each with the minimum
# of some rounds: on a shared machine only that is repeatable.  A
# script defines `once KIND`, which prints one number.

build=${HP_BUILD:-$PWD/build}
out=$build/bench
lib=$build/libhotpath.so
mkdir -p "$out"
declare -A least

# Outside settings must not influence the measurement.
while IFS= read -r variable; do
	unset "$variable"
done < <(compgen -e HOTPATH_)
unset LD_PRELOAD variable
export HOTPATH_KEEP=0

if [ ! -e "$lib" ]; then
	echo "${0##*/}: no $lib; run make" >&2
	exit 1
fi

compile()
{
	"${CC:-cc}" -O2 -g -I. "$@"
}

# Reports a missing tool, and fails.
have()
{
	command -v "$1" >/dev/null && return
	echo "skipped: no $1 here"
	return 1
}

# with KIND COMMAND... - becomes the command: without the library (none), with the sections recorded
# by default, the same without CPU samples (offcpu), without waits (cpu), or without both (neither).
with()
{
	export HOTPATH_OUTPUT_FORMAT=none
	[ "$1" = none ] || export LD_PRELOAD=$lib
	case $1 in
	offcpu) export HOTPATH_REPORT=auto,-functions-cpu,-bound ;;
	cpu) export HOTPATH_REPORT=auto,-offcpu,-bound ;;
	neither) export HOTPATH_REPORT=auto,-functions-cpu,-offcpu,-bound ;;
	esac
	shift
	exec "$@"
}

# wall COMMAND... - its seconds; its output is discarded.
wall()
{
	local start=$EPOCHREALTIME

	"$@" >/dev/null 2>&1 || return
	reckon "${EPOCHREALTIME/,/.} - ${start/,/.}" %.4f
}

# reckon EXPRESSION [FORMAT] - its value, or a dash if something was not measured.
reckon()
{
	LC_ALL=C awk "BEGIN { x = $1; printf \"${2:-%.2f}\", x }" 2>/dev/null || printf '%s' -
}

# turns ROUNDS KIND... - least[KIND] is the minimum of `once KIND`; unset if it never
# succeeded.
turns()
{
	local rounds=$1 round kind number
	shift

	least=()
	for ((round = 0; round < rounds; round++)); do
		for kind; do
			number=$(once "$kind") && [ -n "$number" ] || continue
			least[$kind]=$(reckon "$number < ${least[$kind]:-1e300} ? $number : ${least[$kind]:-0}" %.6g)
		done
	done
}

# quantile FILE COLUMN PART - a quantile of the numbers in a column; PART 0.5 is the median.
quantile()
{
	awk -v column="$2" '{ print $column }' "$1" | sort -g |
		awk -v part="$3" '{ v[NR] = $1 } END { if (NR) print v[int((NR - 1) * part + 1.5)] }'
}

# ratio A B - least[A] / least[B]
ratio()
{
	if [ -n "${least[$1]}" ] && [ -n "${least[$2]}" ]; then
		reckon "${least[$1]} / ${least[$2]}"
	else
		printf '%s' -
	fi
}

# Numbers of a segment's header (segment/layout/header.h), by their places there.
segment_used() { od -An -t u8 -j 64 -N 8 "$1" | tr -d ' '; }
segment_refused() { od -An -t u8 -j 72 -N 8 "$1" | tr -d ' '; }
segment_sampler() { od -An -t u4 -j 200 -N 4 "$1" | tr -d ' '; }

# The MB that a sparse file occupies.
touched_mb()
{
	reckon "$(du -k "$1" | cut -f 1) / 1024" %.1f
}

# A server of one process with the file f, in $work; its port is $port.
prepare_nginx()
{
	port=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	seq 300 >"$work/f"
	cat >"$work/conf" <<END
daemon off; master_process off; error_log $work/error.log; pid $work/pid;
events { worker_connections 64; }
http {
	access_log off; keepalive_requests 1000000;
	client_body_temp_path $work/t1; proxy_temp_path $work/t2; fastcgi_temp_path $work/t3;
	uwsgi_temp_path $work/t4; scgi_temp_path $work/t5;
	server { listen 127.0.0.1:$port; root $work; }
}
END
}
