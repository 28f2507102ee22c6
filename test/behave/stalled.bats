#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# stalled.bats - a reader or peer that stalls holds up nothing for longer than documented, and costs no
# run.

load helper

setup_file()
{
	compile session <"$ROOT/test/behave/programs/session.c"
	compile app <<'END'
__attribute__((noinline)) void leaf(void) { __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 100; i++) leaf(); return 3; }
END
	# Stops its helper, and prints its pid.
	compile stopper <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
	const char *session = getenv("HOTPATH_SESSION");
	const char *pid = session ? strchr(session, ':') : NULL;
	if (!pid) return 1;
	usleep(50000);	/* it has come up */
	kill(atoi(pid + 1), SIGSTOP);
	puts(pid + 1);
	return 3;
}
END
	# Symbols that resemble the library's own entry, and hotpath-run.
	cat >"$T/preloaded" <<-END
		#!/bin/sh
		LD_PRELOAD=$HP_LIB exec "\$@"
	END
	chmod 755 "$T/preloaded"
}

# limit COMMAND - how long a run by COMMAND waits for the helper, ms: an undisturbed run takes a
# fraction of it, on any machine.
limit()
{
	local began=${EPOCHREALTIME/./} took_ms

	"$1" "$T/app" >/dev/null 2>&1 || true
	took_ms=$(((${EPOCHREALTIME/./} - began) / 1000))
	echo $((took_ms * 4 > 3000 ? took_ms * 4 : 3000))
}

setup()
{
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
	kept=$XDG_STATE_HOME/hotpath
}

# ends_within MS COMMAND... - with status 3, and in less than 1.7 times as long: the limit is kept once, not twice.
ends_within()
{
	python3 - "$@" <<'END'
import subprocess, sys, time
began = time.monotonic()
job = subprocess.run(sys.argv[2:])
took = (time.monotonic() - began) * 1000
assert job.returncode == 3, job.returncode
assert took < 1.7 * int(sys.argv[1]), took
END
}

# kept_leaf - there is one run, and it has the function.
kept_leaf()
{
	[ "$(find "$kept" -name '*.hp.gz' | wc -l)" = 1 ] && "$HP_BUILD/hotpath" report | grep '^leaf  *100 '
}

@test "stalled: a helper that is stopped delays the exit by the limit, once" {
	for how in "$T/preloaded" "$HP_RUN"; do
		HOTPATH_EXIT_WAIT_MS=$(HOTPATH_KEEP=0 limit "$how")
		export HOTPATH_EXIT_WAIT_MS
		ends_within "$HOTPATH_EXIT_WAIT_MS" "$how" "$T/stopper" >"$T/out" 2>"$T/err"
		kill -CONT "$(cat "$T/out")"
		cat "$T/err"
		[ "$(grep -c '^hotpath: the report' "$T/err")" = 1 ]
		there()
		{
			[ -n "$(find "$kept" -name '*.hp.gz')" ]
		}
		eventually there
		eventually helpers_are_gone
		rm -r "$kept"
	done
}

@test "stalled: a helper in a frozen cgroup does not, either" {
	local left=/sys/fs/cgroup/freezer/hotpath.stalled.$$ pid status=0 began
	mkdir "$left" 2>/dev/null || skip "no freezer here"
	export HOTPATH_EXIT_WAIT_MS=3000
	mkfifo "$T/go"
	"$HP_RUN" sh -c 'echo "$HOTPATH_SESSION" >"$1.session"; read -r line <"$1"; exit 3' sh "$T/go" 2>"$T/err" &
	eventually [ -s "$T/go.session" ]
	pid=$(cut -d: -f2 "$T/go.session")
	echo "$pid" >"$left/cgroup.procs"
	echo FROZEN >"$left/freezer.state"
	eventually grep -qx FROZEN "$left/freezer.state"
	began=$(date +%s%3N)
	echo >"$T/go"
	wait $! || status=$?
	took=$(($(date +%s%3N) - began))
	echo THAWED >"$left/freezer.state"
	echo "status $status after $took ms"
	[ "$status" = 3 ]
	[ "$took" -lt 5100 ]
	eventually helpers_are_gone
	eventually rmdir "$left"
}

@test "stalled: a killed helper still leaves one report" {
	for how in "$T/preloaded" "$HP_RUN"; do
		"$how" "$T/session" kill-helper 2>"$T/err" || [ $? = 5 ]
		[ "$(grep -c '^wall ' "$T/err")" = 1 ]
	done
}

# full_pipe COMMAND... - stderr is a pipe that is full, and is read when the program has ended.
full_pipe()
{
	timeout 60 python3 - "$@" <<'END'
import fcntl, os, subprocess, sys, time
read, write = os.pipe()
os.set_blocking(write, False)
try:
    while True:
        os.write(write, b"x" * 4096)
except BlockingIOError:
    os.set_blocking(write, True)
began = time.monotonic()
job = subprocess.Popen(sys.argv[1:], stderr=write)
os.close(write)
assert job.wait() == 3
took = time.monotonic() - began
assert took < 5, took
END
}

@test "stalled: another user who keeps connecting holds up neither the helper nor the exit" {
	local token flood pid status=0
	[ "$(id -u)" = 0 ] || skip "needs root: another user has to connect"
	gcc -O1 -o "$T/flood" "$ROOT/test/behave/programs/flood.c"
	mkfifo "$T/gate"
	HOTPATH_EXIT_WAIT_MS=20000 "$HP_RUN" sh -c 'echo "$HOTPATH_SESSION" >"$1.session"; read -r line <"$1"; exit 3' \
		sh "$T/gate" 2>"$T/err" &
	pid=$!
	eventually test -s "$T/gate.session"
	token=$(cut -d : -f 1 "$T/gate.session")
	"$T/flood" "hotpath-$token" 65534 >"$T/flooded" 3>&- &
	flood=$!
	eventually grep -q on "$T/flooded"
	: >"$T/gate"
	wait $pid || status=$?
	kill $flood
	wait $flood || true
	cat "$T/err"
	[ $status = 3 ]
	grep -q '^\[hotpath\]' "$T/err"
	run ! grep 'takes longer' "$T/err"
}

@test "stalled: a full stderr pipe stops neither the program nor the run's file" {
	export HOTPATH_EXIT_WAIT_MS=3000 HOTPATH_METRICS_PORT=0
	for how in "$T/preloaded" "$HP_RUN"; do
		full_pipe "$how" "$T/app"
		eventually kept_leaf
		eventually helpers_are_gone
		rm -r "$kept"
	done
}

@test "stalled: a report that nobody reads is abandoned, and its run is kept" {
	mkfifo "$T/stuck"
	exec 8<>"$T/stuck"
	HOTPATH_OUTPUT_FORMAT=none HOTPATH_KEEP=0 HOTPATH_SEGMENT_PATH=$T/record "$HP_RUN" "$T/app" || [ $? = 3 ]
	yes | head -c 65536 >&8
	HOTPATH_TEST_REPORT_MS=3000 timeout 30 "$HP_BUILD/hotpath" report --fd 3 3<>"$T/record" 2>&8 8>&- || [ $? = 1 ]
	kept_leaf
	# A vanished reader is harmless too.
	rm -r "$kept"
	mkfifo "$T/gone"
	exec 9<>"$T/gone" 7>"$T/gone" 9>&-
	"$HP_BUILD/hotpath" report --fd 3 3<>"$T/record" 2>&7 7>&- || [ $? = 1 ]
	exec 7>&- 8>&-
	kept_leaf
}

@test "stalled: a pipe for the report that nobody reads" {
	mkfifo "$T/pipe"
	for how in "$T/preloaded" "$HP_RUN"; do
		HOTPATH_OUTPUT_PATH=$T/pipe timeout 60 "$how" "$T/app" 2>"$T/err" || [ $? = 3 ]
		grep "$T/pipe: this pipe has no reader; printing the report here instead" "$T/err"
		grep '^leaf  *100 ' "$T/err"
		kept_leaf
		rm -r "$kept"
	done
	cat "$T/pipe" >"$T/read" &
	HOTPATH_OUTPUT_PATH=$T/pipe "$HP_RUN" "$T/app" 2>"$T/err" || [ $? = 3 ]
	wait $!
	grep '^leaf  *100 ' "$T/read"
	[ ! -s "$T/err" ]
}

@test "stalled: a kept run is read in time, too" {
	gcc -shared -fPIC -o "$T/held.so" -x c - <<-'EOF'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <string.h>
		#include <unistd.h>
		/* As a file system that does not answer: libdw is never there. */
		void *dlopen(const char *name, int flags)
		{
			while (name && strncmp(name, "libdw", 5) == 0)
				pause();
			return ((void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen"))(name, flags);
		}
	EOF
	HOTPATH_OUTPUT_FORMAT=none HOTPATH_SEGMENT_PATH=$T/record "$HP_RUN" "$T/app" || [ $? = 3 ]
	export HOTPATH_TEST_REPORT_MS=500
	LD_PRELOAD=$T/held.so timeout 30 "$HP_BUILD/hotpath" report -f json "$T/record" >"$T/out" 2>"$T/err"
	is_whole "$T/out"
	[ "$(grep -c 'took longer than 5 minutes: names from there are left out' "$T/err")" = 1 ]
	# A slow reader is harmless, even if it takes longer than the report may.
	HOTPATH_TEST_REPORT_MS=5000 "$HP_BUILD/hotpath" report -f json-pretty -r all -n 0 "$T/record" 2>"$T/err" |
		{ sleep 6; cat; } >"$T/out"
	is_whole "$T/out"
	[ ! -s "$T/err" ]
}
