#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# session.bats - the helper process: the program never meets it, it outlives the
# right things, and whatever happens to either of them costs no report.

load helper

setup_file()
{
	compile session <"$ROOT/test/behave/programs/session.c"
}

teardown()
{
	[ -z "$place" ] || rm -rf "$place"
	reports_are_possible
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/report
	export HOTPATH_FUNCTIONS_LIMIT=0
}

ticks()
{
	"$ROOT/test/behave/counts.py" "$HOTPATH_OUTPUT_PATH" tick
}

is_ticks()
{
	[ "$(ticks)" = "tick $1" ]
}

# The report may appear after the program's end.
has_ticks()
{
	eventually is_ticks "$1" || { ticks; return 1; }
}

# How many hp_process records a segment has: hp_header.processes, and next of each.
processes_in()
{
	python3 - "$1" <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
at, count = 80, 0
while (at := struct.unpack_from("<Q", data, at)[0]):
    count += 1
print(count)
END
}

# The descriptors that bats keeps open.
close_ours()
{
	local fd
	for fd in $(seq 3 20); do
		eval "exec $fd>&-"
	done
}

# same_as_bare ARGS... - equal output and status without the library, preloaded, under hotpath-run.
same_as_bare()
{
	local bare=0 status
	timeout 120 "$T/session" "$@" >"$T/bare" 2>&1 || bare=$?
	for how in preload run; do
		status=0
		if [ $how = preload ]; then
			LD_PRELOAD=$HP_LIB timeout 120 "$T/session" "$@" >"$T/out" 2>&1 || status=$?
		else
			timeout 120 "$HP_RUN" "$T/session" "$@" >"$T/out" 2>&1 || status=$?
		fi
		echo "$how: $status, bare: $bare"
		diff "$T/bare" "$T/out"
		[ $status = $bare ]
	done
}

@test "session: no wait() returns the helper" {
	same_as_bare wait
	has_ticks 100
}

@test "session: signals, threads and descriptors are as without the library" {
	same_as_bare state
}

@test "session: ignored and blocked signals stay so" {
	trap '' USR1 PIPE CHLD
	same_as_bare state
	trap - USR1 PIPE CHLD
}

@test "session: started without descriptors 0 to 2" {
	LD_PRELOAD=$HP_LIB "$T/session" 3 <&- >&- 2>&- || status=$?
	[ "$status" = 3 ]
	has_ticks 100
}

@test "session: a tracer of all children sees one process" {
	command -v strace || skip "no strace"
	strace -f -o "$T/trace" -E "LD_PRELOAD=$HP_LIB" "$T/session" 3 || status=$?
	[ "$status" = 3 ]
	[ "$(cut -d ' ' -f 1 "$T/trace" | sort -u | wc -l)" = 1 ]
	has_ticks 100
}

@test "session: as a subreaper's child" {
	"$T/session" subreaper /usr/bin/env "LD_PRELOAD=$HP_LIB" "$T/session" 3 || status=$?
	[ "$status" = 3 ]
	has_ticks 100
}

@test "session: as PID 1 of a namespace" {
	unshare --pid --fork true 2>/dev/null || skip "not allowed to unshare"
	unshare --pid --fork --propagation unchanged --mount-proc env "LD_PRELOAD=$HP_LIB" "$T/session" 3 || status=$?
	[ "$status" = 3 ]
	has_ticks 100
}

@test "session: hotpath-run around PID 1 of a namespace that is killed" {
	unshare --pid --fork true 2>/dev/null || skip "not allowed to unshare"
	"$HP_RUN" unshare --pid --fork --propagation unchanged --mount-proc "$T/session" exec /bin/sh -c 'kill -9 $$; exit 4' ||
		status=$?
	[ "$status" = 4 ]	# PID 1 is immune to its own signals
	has_ticks 100
}

@test "session: a shell gets its output back while a daemon lives" {
	local done=$BATS_TEST_TMPDIR/done began=$BATS_TEST_TMPDIR/began text
	unset HOTPATH_OUTPUT_PATH HOTPATH_OUTPUT_FORMAT
	text=$(LD_PRELOAD=$HP_LIB "$T/session" daemon "$began" "$done" 2>&1)
	echo "$text"
	[[ $text == *tick* ]]
	[ ! -e "$done.seen" ]	# the daemon waits for late messages
	touch "$done"
	eventually [ -e "$done.seen" ]
}

@test "session: later work of a daemon is in the saved report" {
	local done=$BATS_TEST_TMPDIR/done began=$BATS_TEST_TMPDIR/began
	LD_PRELOAD=$HP_LIB "$T/session" daemon "$began" "$done"
	eventually [ -e "$began" ]
	eventually [ -s "$HOTPATH_OUTPUT_PATH" ]
	touch "$done"
	has_ticks 120
}

@test "session: the helper is killed" {
	unset HOTPATH_EXIT_WAIT_MS	# waits for a helper that does not start
	LD_PRELOAD=$HP_LIB "$T/session" kill-helper || status=$?
	[ "$status" = 5 ]
	has_ticks 200
}

@test "session: the helper is killed under hotpath-run" {
	unset HOTPATH_EXIT_WAIT_MS	# waits for a helper that does not start
	"$HP_RUN" "$T/session" kill-helper || status=$?
	[ "$status" = 5 ]
	has_ticks 200
}

# It comes up once the program has run: one that waited for it would begin a session of its own.
@test "session: a program under hotpath-run does not wait for a helper that comes up late" {
	export began=$BATS_TEST_TMPDIR/began late=$BATS_TEST_TMPDIR/bin/late
	mkdir "$BATS_TEST_TMPDIR/bin"
	cp "$HP_BUILD"/hotpath* "$HP_LIB" "$BATS_TEST_TMPDIR/bin"
	mv "$BATS_TEST_TMPDIR/bin/hotpath-sampler" "$late"
	# Not a script: shells unblock all signals, and by one the runner tells the helper the root's pid.
	gcc -O1 -o "$BATS_TEST_TMPDIR/bin/hotpath-sampler" -x c - <<-'END'
	#include <stdlib.h>
	#include <unistd.h>
	int main(int count, char **arguments)
	{
		(void)count;
		while (access(getenv("began"), F_OK) != 0)
			usleep(20000);
		return execv(getenv("late"), arguments);
	}
	END
	HOTPATH_BIN=$BATS_TEST_TMPDIR/bin HOTPATH_REPORT=processes HOTPATH_OUTPUT_FORMAT=table HOTPATH_OUTPUT_PATH='' \
		"$HP_RUN" touch "$began" 2>"$BATS_TEST_TMPDIR/said"
	cat "$BATS_TEST_TMPDIR/said"
	# Not one for each of two sessions, the first of them without the program.
	[ "$(grep -c '^\[hotpath\]' "$BATS_TEST_TMPDIR/said")" = 1 ]
	grep -q '^touch  *1 ' "$BATS_TEST_TMPDIR/said"
}

@test "session: many short processes use few records, killed ones too" {
	HOTPATH_SEGMENT_PATH=$BATS_TEST_TMPDIR/segment "$HP_RUN" "$T/session" many 2000
	has_ticks 20100
	records=$(processes_in "$BATS_TEST_TMPDIR/segment")
	echo "records: $records"
	[ "$records" -lt 1000 ]
}

@test "session: an image that changed its user joins" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	# The build may be where nobody else has access.
	place=$(mktemp -d /tmp/hotpath-test.XXXXXX)
	chmod 755 "$place"
	cp "$HP_BUILD"/hotpath "$HP_RUN" "$HP_BUILD"/hotpath-sampler "$HP_LIB" "$T/session" "$place"
	"$place/hotpath-run" setpriv --reuid=65534 --clear-groups "$place/session" 3 || status=$?
	[ "$status" = 3 ]
	has_ticks 100
}

@test "session: few descriptors" {
	unset HOTPATH_EXIT_WAIT_MS	# waits for a helper that does not start
	(close_ours && ulimit -n 5 && LD_PRELOAD=$HP_LIB "$T/session" 3) || status=$?
	[ "$status" = 3 ]
	has_ticks 100
}

@test "session: no descriptors at all costs the report, not the program" {
	(close_ours && ulimit -n 4 && LD_PRELOAD=$HP_LIB "$T/session" 3) 2>"$T/err" || status=$?
	cat "$T/err"
	[ "$status" = 3 ]
	[[ $(cat "$T/err") == hotpath:* ]]
}

# The loader of our own processes opens files, too, and would complain on the user's stderr if it
# cannot.
@test "session: no message of the loader, however few descriptors there are" {
	for most in 4 5 6 7 8; do
		status=0
		(close_ours && prlimit --pid $BASHPID --nofile=$most:$most && HOTPATH_KEEP=0 LD_PRELOAD=$HP_LIB exec "$T/session" 3) \
			>"$T/out" 2>"$T/err" || status=$?
		cat "$T/err"
		[ "$status" = 3 ]
		run ! grep "error while loading" "$T/err"
	done
}

@test "session: little address space" {
	(ulimit -v 60000 && LD_PRELOAD=$HP_LIB "$T/session" memory) || status=$?
	echo "status: $status"
	[ -z "$status" ]
	has_ticks 100
}

@test "session: no room for a segment gets one line" {
	(ulimit -v 12000 && LD_PRELOAD=$HP_LIB "$T/session" 3) 2>"$T/err" || status=$?
	cat "$T/err"
	[ "$status" = 3 ]
	[ "$(wc -l <"$T/err")" = 1 ]
	[[ $(cat "$T/err") == *RLIMIT_AS* ]]
}

@test "session: no files may grow" {
	(ulimit -f 0 && LD_PRELOAD=$HP_LIB "$T/session" 3) 2>&1 | cat >"$T/err"
	status=${PIPESTATUS[0]}
	cat "$T/err"
	[ "$status" = 3 ]
	[ "$(wc -l <"$T/err")" = 1 ]
}
