#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# ends.bats - however a program ends: its status and output are as without us, and
# the report is there with every call in it.

load helper

setup_file()
{
	compile ends <"$ROOT/test/behave/ends.c"
}

# ends_alike END TICKS TOCKS - bare, preloaded and under hotpath-run.
ends_alike()
{
	local bare=0 status how
	"$T/ends" "$1" >"$T/bare.txt" 2>/dev/null || bare=$?
	for how in preload run; do
		rm -f "$T/report"
		status=0
		export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_FUNCTIONS_LIMIT=0
		if [ $how = run ]; then
			"$HP_RUN" "$T/ends" "$1" >"$T/out.txt" 2>"$T/err.txt" || status=$?
		else
			LD_PRELOAD=$HP_LIB "$T/ends" "$1" >"$T/out.txt" 2>"$T/err.txt" || status=$?
		fi
		echo "$how: status $status, bare $bare; $(cat "$T/err.txt")"
		[ $status = $bare ]
		cmp "$T/bare.txt" "$T/out.txt"
		# If the program is killed, the helper writes the report after its end.
		report_comes "$T/report"
		# A reported status is the true one; without the runner only the kernel can give
		# it.
		python3 - "$T/report" "$status" $how <<-'END'
			import json, os, sys
			summary, status = json.load(open(sys.argv[1]))["summary"], int(sys.argv[2])
			assert summary["status_known"] or sys.argv[3] == "preload", summary
			wait = summary.get("wait_status", 0)
			told = os.WTERMSIG(wait) + 128 if os.WIFSIGNALED(wait) else os.WEXITSTATUS(wait)
			assert not summary["status_known"] or told == status, (summary, status)
		END
		"$ROOT/test/behave/counts.py" "$T/report" tick tock | tee "$T/counts"
		[ "$(tr '\n' ' ' <"$T/counts")" = "tick $2 tock $3 " ]
	done
}

@test "ends: return from main" {
	ends_alike return 1000 0
}

@test "ends: exit" {
	ends_alike exit 1000 0
}

@test "ends: quick_exit" {
	ends_alike quick 1000 0
}

@test "ends: handlers of at_quick_exit run before the report is requested" {
	ends_alike quick_late 1000 20
}

@test "ends: _exit" {
	ends_alike now 1000 0
}

@test "ends: abort" {
	ends_alike abort 1000 0
}

@test "ends: SIGSEGV" {
	ends_alike segv 1000 0
}

@test "ends: SIGKILL" {
	ends_alike kill 1000 0
}

@test "ends: SIGTERM" {
	ends_alike term 1000 0
}

@test "ends: exec of itself counts both images" {
	ends_alike exec 2000 0
}

@test "ends: forked children count too" {
	ends_alike fork 1000 20
}

@test "ends: threads that ended before count too" {
	ends_alike threads 1000 500
}

@test "ends: wait() never returns a child of ours" {
	ends_alike wait 1000 0
}

@test "ends: all descriptors closed" {
	ends_alike closed 1000 0
}

# There /proc shows its children under other numbers, and the helper is one of them.
@test "ends: process 1 with the /proc of another namespace waits for its own children only" {
	unshare -p true 2>/dev/null || skip "no PID namespaces here"
	compile waits_all <<-'EOF'
		#include <stdio.h>
		#include <sys/wait.h>
		#include <unistd.h>
		int main(void)
		{
			int count = 0;

			for (int i = 0; i < 3; i++)
				if (fork() == 0)
					_exit(i > 0 && setsid() < 0);
			while (wait(NULL) > 0)
				count++;
			printf("%d\n", count);
			return 3;
		}
	EOF
	run timeout -s KILL 100 unshare -pf --kill-child env LD_PRELOAD="$HP_LIB" HOTPATH_OUTPUT_FORMAT=none "$T/waits_all"
	echo "$output"
	[ "$status" = 3 ]
	[ "$(grep -v '^hotpath: ' <<<"$output")" = 3 ]
}

# The helper's child that is to become the report: prints its pid. It is there for a second only.
prepared='
prepared()
{
	since=$(date +%s)
	while [ $(($(date +%s) - since)) -lt 3 ]; do
		pgrep -x -P "${HOTPATH_SESSION#*:}" hotpath && break
	done
}
'

# with_prepared SCRIPT - the script runs with it, in several attempts on a busy machine. Its
# report is in $T/report.
with_prepared()
{
	local try

	[ "$(nproc)" -gt 1 ] || skip "one processor: nothing is prepared"
	for try in {1..10}; do
		"$HP_RUN" sh -c "$prepared one=\$(prepared); $1" >"$T/pid" 2>"$T/report"
		echo "$try: process $(cat "$T/pid")"
		cat "$T/report"
		[ "$(grep -c '^wall ' "$T/report")" = 1 ]
		[ ! -s "$T/pid" ] || return 0
	done
	return 1
}

# It tidies up behind the prompt.
is_gone()
{
	! kill -0 "$1"
}

@test "ends: the report's process is there before the end" {
	with_prepared 'echo $one'
	eventually is_gone "$(cat "$T/pid")"
}

@test "ends: the prepared report is a copy of the helper's process, without its descriptors and handlers" {
	with_prepared 'readlink /proc/$one/exe; ls /proc/$one/fd | tr "\n" " "; grep SigCgt /proc/$one/status; echo $one'
	grep -q '/hotpath-sampler$' "$T/pid"
	# Handlers of glibc's own signals, 32 and 33, remain.
	grep -qE '^0 1 2 3 (4 )?SigCgt:\s0{7}[01][08]0{7}$' "$T/pid"
}

# parts_of BROKEN - in $T/parts, with a hotpath-report.so that cannot be used.
parts_of()
{
	mkdir -p "$T/parts"
	cp --remove-destination "$HP_BUILD"/{hotpath,hotpath-run,hotpath-sampler,libhotpath.so} "$T/parts"
	case $1 in
	text) echo text >"$T/parts/hotpath-report.so" ;;
	cut) head -c 100000 "$HP_BUILD/hotpath-report.so" >"$T/parts/hotpath-report.so" ;;
	other) gcc -shared -o "$T/parts/hotpath-report.so" -x c - <<<'int hp_report_main(void) { return 3; }' ;;
	esac
	chmod 755 "$T/parts/hotpath-report.so"
}

@test "ends: a report that cannot be loaded into the copy is started as a program" {
	parts_of text
	"$T/parts/hotpath-run" true 2>"$T/report"
	cat "$T/report"
	[ "$(grep -c '^wall ' "$T/report")" = 1 ]
	LD_PRELOAD=$T/parts/libhotpath.so "$(type -P true)" 2>"$T/report"
	cat "$T/report"
	[ "$(grep -c '^wall ' "$T/report")" = 1 ]
	[ "$(grep -c hotpath-report "$T/report")" = 0 ]
}

@test "ends: a report whose code ends the copy is started as a program" {
	parts_of cut
	"$T/parts/hotpath-run" true 2>"$T/report"
	cat "$T/report"
	[ "$(grep -c '^wall ' "$T/report")" = 1 ]
	[ "$(grep -c killed "$T/report")" = 0 ]
}

@test "ends: the report of another build is not used" {
	parts_of other
	"$T/parts/hotpath-run" true 2>"$T/report"
	cat "$T/report"
	[ "$(grep -c '^wall ' "$T/report")" = 1 ]
}

@test "ends: a prepared report that was killed is replaced" {
	with_prepared 'kill -9 $one && echo $one; true'
}

@test "ends: a program that runs longer has no prepared report, but a report" {
	with_prepared 'echo $one; [ -z "$one" ] || while kill -0 $one; do :; done'
}

@test "ends: without hotpath-run nothing is prepared, which the program might have to wait for" {
	LD_PRELOAD=$HP_LIB sh -c "$prepared prepared || true" >"$T/pid" 2>"$T/report"
	[ ! -s "$T/pid" ]
	[ "$(grep -c '^wall ' "$T/report")" = 1 ]
}
