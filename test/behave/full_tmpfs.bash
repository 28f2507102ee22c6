#!/bin/bash
# SPDX-License-Identifier: MIT
#
# full_tmpfs.bash T LIBRARY RUNS SIZE... - programs whose record is in a tmpfs that another process fills
# while they run.
#
# In a separate mount namespace (unshare -m).  For each SIZE $T/faults is run RUNS times with the record in a
# file there, and RUNS times without memfd_create, in /dev/shm, which is such a tmpfs. A store into
# a page that the tmpfs cannot give would be a SIGBUS, so the program's status and output are
# checked; and there must be a report or a message. Prints errors and a total.
set -u
T=$1 library=$2 runs=$3
shift 3
wrong=0 told=0 whole=0
parts="memory threads locks channels"
"$T/faults" $parts >"$T/full.wanted"

# Fills the remaining space, again and again, and frees it now and then.
fill()
{
	while [ ! -e "$T/full.stop" ]; do
		dd if=/dev/zero of=/dev/shm/fill bs=64k oflag=append conv=notrunc 2>/dev/null
		[ $((RANDOM % 4)) != 0 ] || : >/dev/shm/fill
	done
}

look()
{
	local status=$1

	[ "$status" = 3 ] && cmp -s "$T/full.wanted" "$T/full.out" || {
		echo "status $status, $(cat "$T/full.out" "$T/full.err")"
		wrong=$((wrong + 1))
	}
	grep -v -e '^hotpath' "$T/full.err" && wrong=$((wrong + 1))
	# It is a little later if the helper could not be notified.
	for _ in $(seq 100); do
		[ -s "$T/full.err" ] || [ "$(tail -c 2 "$T/full.json" 2>/dev/null)" = "}" ] && break
		sleep 0.05
	done
	if [ "$(tail -c 2 "$T/full.json" 2>/dev/null)" = "}" ]; then
		whole=$((whole + 1))
	elif [ -s "$T/full.err" ]; then
		told=$((told + 1))
	else
		echo "neither a report nor a line"
		wrong=$((wrong + 1))
	fi
	rm -f "$T/full.json"
}

export HOTPATH_REPORT=all HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/full.json
for size; do
	mount -t tmpfs -o size="$size" none /dev/shm || exit 2
	rm -f "$T/full.stop"
	fill &
	for _ in $(seq "$runs"); do
		rm -f /dev/shm/record
		HOTPATH_SEGMENT_PATH=/dev/shm/record LD_PRELOAD=$library "$T/faults" $parts >"$T/full.out" 2>"$T/full.err"
		look $?
		"$T/refuse" 319 env LD_PRELOAD="$library" "$T/faults" $parts >"$T/full.out" 2>"$T/full.err"
		look $?
	done
	touch "$T/full.stop"
	wait
	umount -l /dev/shm
done
echo "$whole reports, $told lines that say why there is none, $wrong wrong"
[ $wrong = 0 ] && [ $whole -gt 0 ]
