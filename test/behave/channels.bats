#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# channels.bats - what is told of pipes, sockets and queues is what the program says that it did, and
# the program does not notice.

load helper

setup_file()
{
	local name
	for name in pipe; do
		gcc -D_GNU_SOURCE -g -O1 -o "$T/$name" "$ROOT/test/behave/programs/channels_$name.c" -lpthread
	done
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_LIMIT=0
	export HOTPATH_REPORT=channels
	rm -f "$T/report"
}

# said PROGRAM MODE - runs it, its words in $T/said.
said()
{
	LD_PRELOAD=$HP_LIB "$T/$1" "$2" >"$T/said"
}

# same PROGRAM MODE - says what it says without us.
same()
{
	said "$1" "$2"
	"$T/$1" "$2" >"$T/bare"
	diff "$T/bare" "$T/said"
}

told()
{
	python3 "$ROOT/test/behave/channels.py" "$T/report" "$@"
}

up_to_3()
{
	local try

	for try in 1 2 3; do
		echo "try $try: $*"
		"$@" && return
	done
	return 1
}

COUNTS="sent_count sent_bytes received_count received_bytes"

@test "channels: messages and bytes of a pipe, and the deepest queue, exactly" {
	same pipe count
	told --as "$T/said" $COUNTS max_queue_size
}

@test "channels: what failed, was cut or would have waited is no message" {
	same pipe odd
	told --as "$T/said" $COUNTS max_queue_size
	[ "$(told refused_sends empty_receives)" = "1 2" ]
}

@test "channels: several threads at both ends" {
	same pipe threads
	told --as "$T/said" $COUNTS
}

@test "channels: a child at the other end is in the same session, so in the same row" {
	same pipe child
	told --as "$T/said" sent_count sent_bytes
	[ "$(told received_bytes state)" = "64000 closed" ]
}

@test "channels: three thousand pipes of one place are one row" {
	same pipe many
	told --as "$T/said" $COUNTS max_queue_size
	[ "$(told instances closed_instances queue_size)" = "3000 3000 0" ]
}

@test "channels: HOTPATH_CHANNELS_ITER tells them apart, up to a bound" {
	HOTPATH_CHANNELS_ITER=1 said pipe many
	told --as "$T/said" $COUNTS max_queue_size
	[ "$(told label | sort | uniq -d | wc -l)" = 0 ]
	[ "$(told label | wc -l)" = 257 ]
}

@test "channels: copies of a descriptor, and files by its old number" {
	same pipe copies
	told --as "$T/said" $COUNTS max_queue_size
}

latency_as_said()
{
	said pipe latency
	told --as "$T/said" $COUNTS &&
	[ "$(told delay_sampled_count)" = 2000 ] &&
	told --near "$T/said" "$1" delay_total_ns delay_ns
}

# A preemption between the program's reading of the clock and ours is in one of them only.
@test "channels: the time from send to receive is that of the stamps in the messages" {
	up_to_3 latency_as_said 25
}

@test "channels: the same within 1 %, on a quiet machine" {
	only_in_full
	up_to_3 latency_as_said 1
}

wait_as_said()
{
	said pipe "$1" && told --near "$T/said" "$2" "$1_ns" "$1_ns"
}

@test "channels: time of senders that wait for room, of receivers that wait for a message" {
	up_to_3 wait_as_said blocked 25
	up_to_3 wait_as_said starved 25
}
