#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# interrupt.bats - programs that are stopped, frozen and moved from processor to processor while they run:
# every call is counted, times are those of the program's own clock, and stopped time was blocked.

load helper

setup_file()
{
	compile interrupted <"$ROOT/test/behave/programs/interrupted.c"
}

setup()
{
	cd "$BATS_TEST_TMPDIR"
}

# Whatever fails, the program ends.
teardown()
{
	touch enough
	[ -z "$left" ] || { echo THAWED >"$left/freezer.state"; } 2>/dev/null || :
	[ -z "$program" ] || kill -CONT "$program" 2>/dev/null || :
	[ -z "$left" ] || eventually rmdir "$left" || :
	reports_are_possible
}

now_ms()
{
	awk '{ printf "%d\n", $1 * 1000 }' /proc/uptime
}

has_come()
{
	[ "$(now_ms)" -ge "$1" ]
}

# stand_still COMMAND... - when the command reports that the program is stopped, keeps it stopped
# for as long as it has run. Adds that time to $still_ms.
stand_still()
{
	local since

	eventually "$@"
	since=$(now_ms)
	eventually has_come $((since + since - began_ms))
	still_ms=$((still_ms + $(now_ms) - since))
}

# The CPU time, by the kernel's clock ticks.
used()
{
	awk '{ print $14 + $15 }' "/proc/$program/stat"
}

has_used_more()
{
	[ "$(used)" -gt "$1" ]
}

begin()
{
	began_ms=$(now_ms) still_ms=0
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$PWD/report HOTPATH_REPORT=all HOTPATH_LIMIT=0 \
		LD_PRELOAD=$HP_LIB "$T/interrupted" >said 2>err 3>&- &
	program=$!
	# Its second thread exists: the real program is running.
	eventually [ -d "/proc/$program/task" ]
	eventually sh -c "[ \$(ls /proc/$program/task | wc -l) = 2 ]"
}

# Both threads were blocked for at least as long as the program was stopped.
is_true()
{
	touch enough
	wait "$program"
	report_comes report err
	cat said err
	[ ! -s err ]
	python3 - "$still_ms" <<-'EOF'
		import json, sys
		pieces, took = map(int, open("said").read().split())
		report = json.load(open("report"))
		rows = {row["name"]: row for row in report["functions_timing"]["raw"]}
		summary, blocked = report["summary"], 2 * int(sys.argv[1]) * 1000000
		away = report["offcpu"]["raw"]
		print(pieces, took, rows["whole"]["total_ns"], summary, sum(row["blocked_ns"] for row in away))
		assert rows["piece"]["calls"] == pieces
		# The program's clock includes the cost of our hooks.
		cost = summary["profiling_hooks_ns"]
		assert abs(rows["whole"]["total_ns"] - took) < 0.02 * took + cost, "whole"
		assert rows["work"]["total_ns"] <= 2.02 * took, "work"
		assert summary["cpu_ns"] <= 2.02 * summary["wall_ns"], "cpu"
		# Stopped threads do not wait.
		still = summary["stopped_ns"] + sum(row["blocked_ns"] for row in away)
		assert still >= 0.9 * blocked, "blocked"
		# Functions of the helper don't count.
		assert not {row["name"] for row in away} & {"wait_for_end", "run", "epoll_wait"}, away
	EOF
}

@test "interrupt: a storm of SIGSTOP and SIGCONT" {
	begin
	for _ in $(seq "${HP_TEST_FULL:+20}20"); do
		kill -STOP "$program"
		kill -CONT "$program"
	done
	kill -STOP "$program"
	stand_still is_stopped "$program"
	kill -CONT "$program"
	is_true
}

@test "interrupt: a cgroup's freezer" {
	left=/sys/fs/cgroup/freezer/hotpath.$$
	mkdir "$left" 2>/dev/null || { left=; skip "no freezer here"; }
	begin
	echo "$program" >"$left/cgroup.procs"
	for _ in 1 2 3; do
		echo FROZEN >"$left/freezer.state"
		stand_still grep -qx FROZEN "$left/freezer.state"
		echo THAWED >"$left/freezer.state"
	done
	echo "$program" >/sys/fs/cgroup/freezer/cgroup.procs
	is_true
}

@test "interrupt: a cgroup's processors are changed all the time" {
	local set=/sys/fs/cgroup/cpuset
	[ "$(nproc)" -gt 1 ] && [ -e $set/cpuset.cpus ] || skip "one processor, or no cpuset here"
	left=$set/hotpath.$$
	mkdir "$left" 2>/dev/null || { left=; skip "no cpuset here"; }
	cat $set/cpuset.mems >"$left/cpuset.mems"
	cat $set/cpuset.cpus >"$left/cpuset.cpus"
	begin
	echo "$program" >"$left/cgroup.procs" || skip "no cpuset here"
	for _ in {1..20}; do
		for cpu in 0 1 0-1; do
			echo $cpu >"$left/cpuset.cpus" || skip "other processors than 0 and 1"
		done
	done
	echo "$program" >$set/cgroup.procs
	is_true
}

@test "interrupt: a processor goes offline and comes back" {
	only_in_full
	[ -w /sys/devices/system/cpu/cpu1/online ] || skip "processors cannot be taken away here"
	begin
	for state in 0 1 0 1; do
		echo $state >/sys/devices/system/cpu/cpu1/online
		eventually has_used_more "$(used)"
	done
	is_true
}

# The helper's clocks are stand-ins: at its second look the machine has been asleep for 90 s.
@test "interrupt: a machine that was suspended" {
	mkdir bin
	ln -s "$HP_BUILD"/hotpath* bin
	rm bin/hotpath-sampler
	gcc -shared -fPIC -o asleep.so -x c - <<-'EOF'
		#include <sys/syscall.h>
		#include <time.h>
		#include <unistd.h>
		int clock_gettime(clockid_t clock, struct timespec *time)
		{
			static int looks;
			int result = (int)syscall(SYS_clock_gettime, clock, time);

			if (clock == CLOCK_BOOTTIME && looks++)
				time->tv_sec += 90;
			return result;
		}
	EOF
	cat >bin/hotpath-sampler <<-EOF
		#!/bin/sh
		LD_PRELOAD=$PWD/asleep.so exec "$HP_BUILD/hotpath-sampler" "\$@"
	EOF
	chmod +x bin/hotpath-sampler
	for format in json table; do
		HOTPATH_BIN=$PWD/bin HOTPATH_OUTPUT_FORMAT=$format HOTPATH_OUTPUT_PATH=$PWD/$format \
			LD_PRELOAD=$HP_LIB sleep 0.1
		eventually test -s $format
	done
	python3 - <<-'EOF'
		import json
		summary = json.load(open("json"))["summary"]
		print(summary)
		assert 89e9 < summary["suspended_ns"] < 91e9
		assert summary["wall_ns"] < 80e9
	EOF
	grep -q '^note  *the machine was suspended for \(89\|90\)[.0-9]* s, which is in no time of this report$' table
	LD_PRELOAD=$HP_LIB HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$PWD/awake sleep 0.1
	eventually test -s awake
	run ! grep -q suspended_ns awake
}
