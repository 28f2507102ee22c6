#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# live.bats - sessions that continue: looked into without being disturbed; ended when their
# time is over; data that outlives the program is in the kept run.

load helper

setup_file()
{
	compile session <"$ROOT/test/behave/programs/session.c"
	# Calls tick every 5 ms: N times; forever (0); with SIGTERM ignored (i), or answered (h);
	# in a child that it leaves behind (f), when a file is there.
	compile ticker <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile sig_atomic_t is_over;
static void over(int number) { (void)number; is_over = 1; }
__attribute__((noinline)) void tick(void) { usleep(5000); }
int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 0;
	char how = argc > 2 ? argv[2][0] : 'd';
	if (how == 'i') signal(SIGTERM, SIG_IGN);
	if (how == 'h') signal(SIGTERM, over);
	if (how == 'f') {
		int ends[2];
		char byte = 0;
		if (pipe(ends) < 0) return 1;
		if (fork()) { tick(); return read(ends[0], &byte, 1) != 1; }
		tick();
		if (write(ends[1], &byte, 1) != 1) return 1;
	}
	while (argc > 3 && access(argv[3], F_OK) < 0) usleep(5000);
	puts("up");
	fflush(stdout);
	for (int i = 0; (!count || i < count) && !is_over; i++) tick();
	if (is_over) puts("bye");
	return 7;
}
END
}

setup()
{
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
	hotpath=$HP_BUILD/hotpath
	unset ticker fakes holder
	inside=()
}

teardown()
{
	[ -z "$ticker" ] || kill "$ticker" 2>/dev/null || true
	[ -z "$fakes" ] || kill "$fakes" 2>/dev/null || true
	reports_are_possible
	[ -z "$holder" ] || kill "$holder" 2>/dev/null || true
}

# A network namespace hides our sockets from others: "${inside[@]}" COMMAND runs there.
be_alone()
{
	unshare -n true 2>/dev/null || skip "no network namespaces here"
	unshare -n sleep 600 3>&- &
	holder=$!
	elsewhere()
	{
		[ "$(readlink /proc/$holder/ns/net)" != "$(readlink /proc/self/ns/net)" ]
	}
	eventually elsewhere
	inside=(nsenter -t "$holder" -n)
}

# start_fakes HOW [ARGUMENT] - sockets named as those of sessions (fake_sessions.py), and $fakes their process.
start_fakes()
{
	mkfifo "$BATS_TEST_TMPDIR/ask"
	"${inside[@]}" python3 "$ROOT/test/behave/fake_sessions.py" "$@" <"$BATS_TEST_TMPDIR/ask" >"$BATS_TEST_TMPDIR/fakes" 3>&- &
	fakes=$!
	exec 7>"$BATS_TEST_TMPDIR/ask"
	eventually grep up "$BATS_TEST_TMPDIR/fakes"
}

# A program that runs until it is killed: its pid in $ticker.
start_ticker()
{
	"${inside[@]}" env LD_PRELOAD="$HP_LIB" "$T/ticker" 0 >"$BATS_TEST_TMPDIR/out" 2>/dev/null 3>&- &
	ticker=$!
	eventually grep up "$BATS_TEST_TMPDIR/out"
}

# calls NAME - in the JSON on stdin.
calls()
{
	python3 -c '
import json, sys
rows = json.load(sys.stdin)["functions_timing"]["raw"]
print(sum(row["calls"] for row in rows if row["name"] == sys.argv[1]))' "$1"
}

@test "live: a running session is listed, and read by its pid or its name" {
	start_ticker
	run "$hotpath" list
	echo "$output"
	line=$(grep running <<<"$output" | grep " $ticker ")
	[[ $line =~ ticker.*session\ ([0-9a-f]+) ]]
	session=${BASH_REMATCH[1]}
	first=$("$hotpath" report --session "$ticker" -f json | calls tick)
	[ "$first" -ge 1 ]
	more()
	{
		[ "$("$hotpath" report --session "$session" -f json | calls tick)" -gt "$first" ]
	}
	eventually more
	"$hotpath" report --session "$ticker" | grep "wall .* so far"
	"$hotpath" report --session "$ticker" --folded | grep "ticker::main;tick "
}

@test "live: the pid of the process that started the program also works" {
	sh -c 'LD_PRELOAD=$1 "$2" 0; :' sh "$HP_LIB" "$T/ticker" >"$BATS_TEST_TMPDIR/out" 2>/dev/null 3>&- &
	parent=$!
	eventually grep up "$BATS_TEST_TMPDIR/out"
	ticker=$(pgrep -P "$parent")
	run "$hotpath" report --session "$parent" -f json
	kill "$ticker"
	ticker=
	[ "$status" = 0 ]
	[[ $output == *'"name":"tick"'* ]]
}

@test "live: a reader does not join the session" {
	start_ticker
	for _ in 1 2 3; do
		"$hotpath" report --session "$ticker" >/dev/null
	done
	kill "$ticker"
	wait "$ticker" || true
	ticker=
	eventually sh -c 'test -e "$XDG_STATE_HOME"/hotpath/*.hp.gz'
	"$hotpath" report -f json -r threads >"$BATS_TEST_TMPDIR/json"
	python3 -c '
import json, sys
names = {row["name"] for row in json.load(open(sys.argv[1]))["threads"]["raw"]}
assert names <= {"ticker"}, names' "$BATS_TEST_TMPDIR/json"
}

@test "live: a session that does not exist" {
	run "$hotpath" report --session 999999999
	[ "$status" = 1 ]
	[[ $output == *999999999*"there is none"*"hotpath list"* ]]
	[ "${#lines[@]}" = 1 ]
	run "$hotpath" report --session 1 file
	[ "$status" = 2 ]
}

@test "live: another user does not see it" {
	[ "$(id -u)" = 0 ] || skip "needs to be root"
	start_ticker
	cp "$hotpath" "$BATS_TEST_TMPDIR/hotpath"
	chmod 755 "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR" "$T" 2>/dev/null
	run setpriv --reuid 65534 --clear-groups "$BATS_TEST_TMPDIR/hotpath" report --session "$ticker"
	echo "$output"
	[ "$status" = 1 ]
	[[ $output == *"there is none"* ]]
}

@test "live: sessions that never answer share one time limit, and the others are listed" {
	start_ticker
	start_fakes silent
	# 2 s for each of the 20 would exceed the total.
	for _ in 1 2 3; do
		timeout 10 "$hotpath" list | grep running | grep " $ticker "
	done
	timeout 20 "$hotpath" report --session "$ticker" | grep "so far"
}

@test "live: other users' sessions are queried only on request" {
	[ "$(id -u)" = 0 ] || skip "needs to be root"
	be_alone
	start_ticker
	start_fakes foreign
	"${inside[@]}" "$hotpath" list >"$BATS_TEST_TMPDIR/list" 2>"$BATS_TEST_TMPDIR/err"
	grep running "$BATS_TEST_TMPDIR/list" | grep " $ticker "
	grep "hotpath list --all shows them" "$BATS_TEST_TMPDIR/err"
	"${inside[@]}" "$hotpath" report --session "$ticker" | grep "so far"
	echo >&7
	eventually grep "asked: 0" "$BATS_TEST_TMPDIR/fakes"
	"${inside[@]}" "$hotpath" list --all >/dev/null
	echo >&7
	eventually grep "asked: 20" "$BATS_TEST_TMPDIR/fakes"
}

# listed_of HOW - sets `listed` to the number of running sessions that root sees beside another user's, who is asked.
listed_of()
{
	start_fakes "$1"
	"${inside[@]}" "$hotpath" list --all >"$BATS_TEST_TMPDIR/list"
	echo >&7
	eventually grep "asked: 1" "$BATS_TEST_TMPDIR/fakes"
	exec 7>&-
	eventually [ ! -e "/proc/$fakes/fd/0" ]
	rm "$BATS_TEST_TMPDIR/ask" "$BATS_TEST_TMPDIR/fakes"
	listed=$(grep -c running "$BATS_TEST_TMPDIR/list" || true)
}

@test "live: root reads no file of root's that another user's helper passes" {
	local listed
	[ "$(id -u)" = 0 ] || skip "needs to be root"
	be_alone
	listed_of own
	[ "$listed" = 1 ]
	listed_of planted
	[ "$listed" = 0 ]
}

@test "live: the user's own sessions are listed beside any number of another user's that never answer" {
	[ "$(id -u)" = 0 ] || skip "needs to be root"
	be_alone
	start_fakes foreign 400
	start_ticker
	"${inside[@]}" "$hotpath" list --all | grep running | grep " $ticker "
}

@test "live: another user's session that claims root's process is not queried about it" {
	[ "$(id -u)" = 0 ] || skip "needs to be root"
	be_alone
	# From there its own session is out of reach, and the other is not.
	inside=()
	start_ticker
	inside=(nsenter -t "$holder" -n)
	start_fakes own "$ticker"
	"${inside[@]}" "$hotpath" stacks "$ticker" >/dev/null 2>&1 || [ $? = 1 ]
	echo >&7
	# By the list for all users.
	eventually grep "asked: " "$BATS_TEST_TMPDIR/fakes"
	grep -x "asked: 1" "$BATS_TEST_TMPDIR/fakes"
}

@test "live: a segment that is truncated while it is listed" {
	be_alone
	start_fakes cut
	for _ in $(seq 20); do
		run "${inside[@]}" "$hotpath" list
		[ "$status" = 0 ]
	done
	echo >&7
	eventually grep "asked: 20" "$BATS_TEST_TMPDIR/fakes"
}

@test "live: processes that outlive the program are in its one file in the end" {
	LD_PRELOAD=$HP_LIB "$T/ticker" 40 f "$BATS_TEST_TMPDIR/go" >"$BATS_TEST_TMPDIR/out" \
		2>"$BATS_TEST_TMPDIR/err" 3>&-
	touch "$BATS_TEST_TMPDIR/go"
	grep -q "still running" "$BATS_TEST_TMPDIR/err"
	all_there()
	{
		[ "$("$hotpath" report -f json | calls tick)" = 42 ]
	}
	eventually all_there
	[ "$(find "$XDG_STATE_HOME" -name '*.hp.gz' | wc -l)" = 1 ]
}

@test "live: processes that outlive the program are in its run if HOTPATH_BIN is relative" {
	cd "$HP_BUILD"
	HOTPATH_BIN=. LD_PRELOAD=$HP_LIB "$T/ticker" 40 f "$BATS_TEST_TMPDIR/go" >"$BATS_TEST_TMPDIR/out" \
		2>"$BATS_TEST_TMPDIR/err" 3>&-
	touch "$BATS_TEST_TMPDIR/go"
	all_there()
	{
		[ "$("$hotpath" report -f json | calls tick)" = 42 ]
	}
	eventually all_there
}

@test "live: a run is kept even if its helper was killed" {
	LD_PRELOAD=$HP_LIB "$T/session" kill-helper >/dev/null 2>&1 || true
	[ "$(find "$XDG_STATE_HOME" -name '*-session-*.hp.gz' | wc -l)" = 1 ]
	"$HP_RUN" "$T/session" kill-helper >/dev/null 2>&1 || true
	[ "$(find "$XDG_STATE_HOME" -name '*-session-*.hp.gz' | wc -l)" = 2 ]
	"$hotpath" report | grep "^tick "
}

# The report stage waits for a file that is made when the program is gone.
@test "live: if exit cannot wait, a line says where the report will be" {
	unset HOTPATH_EXIT_WAIT_MS
	mkdir "$BATS_TEST_TMPDIR/bin"
	ln -s "$HP_BUILD/hotpath-sampler" "$BATS_TEST_TMPDIR/bin/"
	cat >"$BATS_TEST_TMPDIR/bin/hotpath" <<END
#!/bin/sh
until [ -e "$BATS_TEST_TMPDIR/gone" ]; do sleep 0.05; done
exec "$hotpath" "\$@"
END
	chmod +x "$BATS_TEST_TMPDIR/bin/hotpath"
	HOTPATH_BIN=$BATS_TEST_TMPDIR/bin LD_PRELOAD=$HP_LIB "$T/ticker" 3 2>"$BATS_TEST_TMPDIR/err" 3>&- || true
	touch "$BATS_TEST_TMPDIR/gone"
	grep "it will be in $XDG_STATE_HOME/hotpath" "$BATS_TEST_TMPDIR/err"
	all_there()
	{
		[ "$("$hotpath" report -f json | calls tick)" = 3 ]
	}
	eventually all_there
}

# over COMMAND... - the session's time ends, but not before the program has printed that it is up,
# however long that takes.
over()
{
	for HOTPATH_SHUTDOWN_MS in 300 3000 30000; do
		export HOTPATH_SHUTDOWN_MS
		rm -f "$BATS_TEST_TMPDIR/pid"
		run timeout 120 "$@"
		[[ $output != *up* ]] || break
	done
	unset HOTPATH_SHUTDOWN_MS
	echo "$output"
}

@test "shutdown: the program is ended after its time, and hotpath-run returns 0" {
	over "$HP_RUN" "$T/ticker" 0
	[ "$status" = 0 ]
	[[ $output == up*"ended by HOTPATH_SHUTDOWN_MS"*"tick "* ]]
	[ "$("$hotpath" report -f json | calls tick)" -ge 1 ]
}

@test "shutdown: without hotpath-run the program ends by SIGTERM" {
	over env LD_PRELOAD="$HP_LIB" "$T/ticker" 0
	[ "$status" = 143 ]
}

@test "shutdown: a program may end in its own way" {
	over "$HP_RUN" "$T/ticker" 0 h
	[ "$status" = 0 ]
	[[ $output == up*bye*"ended by HOTPATH_SHUTDOWN_MS"* ]]
}

@test "shutdown: a program that ignores the signal is killed" {
	over "$HP_RUN" "$T/ticker" 0 i
	[ "$status" = 0 ]
	[[ $output == *"ended by HOTPATH_SHUTDOWN_MS"*"tick "* ]]
}

@test "shutdown: children are ended, too" {
	over "$HP_RUN" sh -c "'$T/ticker' 0 & echo \$! >'$BATS_TEST_TMPDIR/pid'; wait"
	[ "$status" = 0 ]
	child=$(cat "$BATS_TEST_TMPDIR/pid")
	gone()
	{
		! kill -0 "$child"
	}
	eventually gone
}

@test "shutdown: a program that ends earlier ends as usual" {
	HOTPATH_SHUTDOWN_MS=100000 run "$HP_RUN" "$T/ticker" 3
	[ "$status" = 7 ]
	[[ $output != *HOTPATH_SHUTDOWN_MS* ]]
}
