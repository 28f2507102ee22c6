#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# locks_kinds.bats - what is waited for besides mutexes: things done once, files, streams.

load helper

setup_file()
{
	gcc -D_GNU_SOURCE -g -O1 -o "$T/files" "$ROOT/test/behave/programs/locks_files.c" -lpthread
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_LIMIT=0
	rm -f "$T/report" "$T/data"
}

# with_us PROGRAM ARGS... - says what it says without us.
with_us()
{
	local program=$1
	shift
	"$T/$program" "$@" >"$T/bare"
	LD_PRELOAD=$HP_LIB "$T/$program" "$@" >"$T/out"
	diff "$T/bare" "$T/out"
}

rows()
{
	python3 "$ROOT/test/behave/locks.py" "$T/report" "$@" | sort
}

@test "locks: who waits for what another thread does once, and for whom" {
	with_us files once
	rows waits object kind at holder count | tee "$T/rows"
	grep -q '^once once late (locks_files.c:[0-9]*) run_once (locks_files.c:[0-9]*) 1$' "$T/rows"
	# Nobody waits for what is done, nor whoever does it.
	[ "$(grep -c ' once ' "$T/rows")" = 1 ]
	[ "$(rows waits kind longest_ns | sed -n 's/^once //p')" -gt 50000000 ]
}

@test "locks: files, by every call that locks one" {
	with_us files file "$T/data"
	rows file_locks label read_count write_count read_failed_tries write_failed_tries read_contended \
		write_contended | tee "$T/rows"
	# flock and fcntl for 101 shared ones; flock, lockf, fcntl and those of the two children.
	grep -q "^$T/data 101 5 1 2 1 1$" "$T/rows"
	rows waits object kind at | tee "$T/rows"
	grep -q "^$T/data file exclusive run_file (locks_files.c:[0-9]*)$" "$T/rows"
	grep -q "^$T/data file shared record (locks_files.c:[0-9]*)$" "$T/rows"
	[ "$(rows file_locks write_wait_max_ns)" -gt 50000000 ]
}

@test "locks: a stream, locked again by who has it" {
	with_us files stream
	rows mutexes type_name count contended failed_tries | tee "$T/rows"
	grep -q '^FILE 102 1 1$' "$T/rows"
	rows waits kind at holder | grep -q '^stream run_stream (locks_files.c:[0-9]*) hold (locks_files.c:[0-9]*)$'
}
