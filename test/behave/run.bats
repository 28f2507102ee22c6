#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# run.bats - `hotpath run`: exit codes as env(1), signals as if it were not there, the
# program's streams untouched, one clear line for an unprofilable program.

load helper

setup_file()
{
	compile session <"$ROOT/test/behave/programs/session.c"
	compile static -static <"$ROOT/test/behave/programs/session.c"
	# Writes its pid to a file, and a line whenever it is continued, until SIGTERM.
	compile waiter <<-'END'
		#include <signal.h>
		#include <stdio.h>
		#include <unistd.h>
		static volatile sig_atomic_t is_over, continued;
		static void count(int number) { (void)number; continued++; }
		static void end(int number) { (void)number; is_over = 1; }
		int main(int argc, char **argv)
		{
			sigset_t mine, before;
			FILE *out;
			signal(SIGCONT, count);
			signal(SIGTERM, end);
			sigemptyset(&mine);
			sigaddset(&mine, SIGTERM);
			sigaddset(&mine, SIGCONT);
			sigprocmask(SIG_BLOCK, &mine, &before);
			out = argc > 1 ? fopen(argv[1], "w") : NULL;
			if (!out) return 1;
			fprintf(out, "%d\n", (int)getpid());
			fclose(out);
			while (sigsuspend(&before), !is_over) {
				printf("continued %d\n", (int)continued);
				fflush(stdout);
			}
			return 6;
		}
	END
}

setup()
{
	export HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/report
}

# Status and the one line on stderr of a run that fails before the program starts.
fails_with()
{
	local expected=$1 text=$2
	shift 2
	status=0
	output=$("$HP_RUN" "$@" 2>&1) || status=$?
	echo "$status: $output"
	[ "$status" = "$expected" ]
	[[ $output == *"$text"* ]]
	[ ! -e "$HOTPATH_OUTPUT_PATH" ]
}

@test "run: the exit code is the program's" {
	for code in 0 1 7 125 255; do
		run "$HP_RUN" "$T/session" $code
		[ "$status" = $code ]
		[ -z "$output" ]
	done
}

@test "run: hotpath run ends by the signal that ended the program" {
	for signal in SEGV KILL TERM ABRT PIPE; do
		run "$HP_RUN" sh -c "kill -$signal \$\$"
		[ "$status" = $((128 + $(kill -l $signal))) ]
		grep -q "$signal" "$HOTPATH_OUTPUT_PATH"
	done
	! ls "$BATS_TEST_TMPDIR"/core* 2>/dev/null
}

@test "run: 127 not found, 126 not executable, 125 our own error" {
	fails_with 127 "nonesuch: No such file" nonesuch
	fails_with 127 "nowhere" /nowhere/at/all
	touch "$BATS_TEST_TMPDIR/plain"
	fails_with 126 "Permission denied" "$BATS_TEST_TMPDIR/plain"
	fails_with 126 "Permission denied" "$BATS_TEST_TMPDIR"
	fails_with 125 "no command"
	fails_with 125 "--nonsense" --nonsense true
	fails_with 125 "--format: 'xml' is not allowed" --format xml true
}

@test "run: options end at the command" {
	run "$HP_RUN" --limit 3 echo --limit 5 -- -o x
	[ "$output" = "--limit 5 -- -o x" ]
	run "$HP_RUN" -- echo hello
	[ "$output" = hello ]
}

@test "run: the time includes a program that replaces the first one and is not recorded" {
	printf '#include <stdio.h>\n#include <time.h>\nint main(void)
	{ struct timespec a, b; long ns; clock_gettime(CLOCK_MONOTONIC, &a);
	do { clock_gettime(CLOCK_MONOTONIC, &b); ns = (b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec;
	} while (ns < 50000000); printf("%%ld\\n", ns); }' | gcc -static -o "$T/alone" -x c -
	"$HP_RUN" --report threads -f json -o "$T/alone.json" sh -c "exec '$T/alone'" >"$T/alone.ns"
	[ "$(jq '.threads.current_elapsed_ns' "$T/alone.json")" -ge "$(cat "$T/alone.ns")" ]
}

@test "run: a flag overrides the environment" {
	HOTPATH_OUTPUT_FORMAT=none "$HP_RUN" -f json -o "$T/flag.json" "$T/session"
	"$ROOT/test/behave/counts.py" "$T/flag.json" tick
	[ ! -e "$HOTPATH_OUTPUT_PATH" ]
}

@test "run: the program's input and output are its own" {
	[ "$(echo one two | "$HP_RUN" "$T/session" copy)" = "one two" ]
	"$HP_RUN" sh -c 'echo out; echo err >&2' >"$T/out" 2>"$T/err"
	[ "$(cat "$T/out")" = out ]
	[ "$(cat "$T/err")" = err ]
}

@test "run: a signal to hotpath run reaches the program" {
	for signal in TERM HUP INT; do
		rm -f "$T/began"
		"$HP_RUN" "$T/session" signal "$T/began" >"$T/out" &
		eventually [ -e "$T/began" ]
		kill -$signal $!
		wait $! || status=$?
		[ "$status" = 6 ]
		[ "$(cat "$T/out")" = "got $(kill -l $signal)" ]
	done
}

@test "run: hotpath run stops and continues with the program" {
	"$HP_RUN" sh -c "kill -STOP \$\$; exit 4" &
	local pid=$!
	eventually grep -q '^State:.T' /proc/$pid/status
	kill -CONT $pid
	wait $pid || status=$?
	[ "$status" = 4 ]
}

is_going()
{
	[ -e "/proc/$1/status" ] && ! grep -q '^State:.[TZ]' "/proc/$1/status"
}

# goes_along COMMAND... - the waiter below COMMAND is stopped and continued by its pid, and
# hotpath-run follows.
goes_along()
{
	local file=$BATS_TEST_TMPDIR/pid status=0 wrapper pid i
	echo "below $*"
	rm -f "$file"
	timeout -k 1 60 "$@" >"$T/out" 3>&- &
	local outer=$!
	eventually [ -s "$file" ]
	pid=$(cat "$file")
	wrapper=$(ps -o ppid= -p "$pid" | tr -d ' ')
	grep -q hotpath "/proc/$wrapper/comm"
	for i in 1 2; do
		kill -STOP "$pid"
		eventually is_stopped "$wrapper"
		kill -CONT "$pid"
		eventually is_going "$wrapper"
		eventually grep "continued $i" "$T/out"
	done
	kill -TERM "$pid"
	wait $outer || status=$?
	[ "$(grep -c "continued 3" "$T/out")" = 0 ]
	[ "$status" = "${expected:-6}" ]
}

@test "run: hotpath run follows a program that is stopped and continued by its pid" {
	local command="'$HP_RUN' '$T/waiter' '$BATS_TEST_TMPDIR/pid'" shell expected
	goes_along "$HP_RUN" "$T/waiter" "$BATS_TEST_TMPDIR/pid"
	for shell in bash dash zsh; do
		command -v $shell >/dev/null || continue
		goes_along $shell -c "$command; exit \$?"
	done
	goes_along setsid -w "$HP_RUN" "$T/waiter" "$BATS_TEST_TMPDIR/pid"
	goes_along timeout 60 "$HP_RUN" "$T/waiter" "$BATS_TEST_TMPDIR/pid"
	printf 'all: one two\none:\n\t%s\ntwo:\n\ttrue\n' "$command" >"$T/makefile"
	expected=2 goes_along make -s -j2 -f "$T/makefile"
}

@test "run: hotpath run ends when a stopped program is killed" {
	local status=0
	"$HP_RUN" "$T/waiter" "$BATS_TEST_TMPDIR/pid" &
	eventually [ -s "$BATS_TEST_TMPDIR/pid" ]
	kill -STOP "$(cat "$BATS_TEST_TMPDIR/pid")"
	eventually is_stopped $!
	kill -KILL "$(cat "$BATS_TEST_TMPDIR/pid")"
	eventually [ ! -e "/proc/$!/fd/0" ]
	wait $! || status=$?
	[ "$status" = 137 ]
}

# As a shell does at ^Z and fg: a signal to the whole job.
@test "run: a job that is stopped and continued gets each signal once" {
	timeout 60 python3 - "$HP_RUN" "$T/waiter" "$BATS_TEST_TMPDIR/pid" <<'END'
import os, signal, subprocess, sys, time
job = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, preexec_fn=os.setpgrp)
while not (os.path.exists(sys.argv[3]) and os.stat(sys.argv[3]).st_size):
    time.sleep(0.01)
times = 0
for number in (signal.SIGTSTP, signal.SIGSTOP, signal.SIGTTIN):
    os.killpg(job.pid, number)
    pid, status = os.waitpid(job.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status) and os.WSTOPSIG(status) == number, status
    os.killpg(job.pid, signal.SIGCONT)
    assert os.waitpid(job.pid, os.WCONTINUED)[0] == job.pid
    times += 1
    assert job.stdout.readline() == b"continued %d\n" % times
os.kill(job.pid, signal.SIGTERM)
assert job.stdout.read() == b""
assert job.wait() == 6
END
}

@test "run: the report is complete when hotpath run returns, however the program ends" {
	for how in 'exit 3' 'kill -9 $$' 'exec true'; do
		rm -f "$HOTPATH_OUTPUT_PATH"
		"$HP_RUN" sh -c "$how" || true
		[ -s "$HOTPATH_OUTPUT_PATH" ]
	done
}

@test "run: a static program is announced, runs and is reported" {
	"$HP_RUN" "$T/static" 3 2>"$T/err" || status=$?
	cat "$T/err"
	[ "$status" = 3 ]
	[ "$(wc -l <"$T/err")" = 1 ]
	[[ $(cat "$T/err") == *"statically linked"* ]]
	[ -s "$HOTPATH_OUTPUT_PATH" ]
}

@test "run: a script without #! runs as in a shell" {
	echo 'exit 5' >"$T/script"
	chmod 755 "$T/script"
	"$HP_RUN" "$T/script" || status=$?
	[ "$status" = 5 ]
	[ -s "$HOTPATH_OUTPUT_PATH" ]
}

@test "run: the user's LD_PRELOAD stays" {
	LD_PRELOAD=libm.so.6 "$HP_RUN" sh -c 'echo "$LD_PRELOAD"' >"$T/out"
	[ "$(cat "$T/out")" = "$HP_LIB:libm.so.6" ]
}

@test "run: the program runs even without a helper" {
	mkdir -p "$T/empty"
	HOTPATH_BIN=$T/empty "$HP_RUN" "$T/session" 3 2>"$T/err" || status=$?
	cat "$T/err"
	[ "$status" = 3 ]
	grep -q hotpath-sampler "$T/err"
}

@test "run: a message that nobody can read does not end hotpath run" {
	local status=0

	mkfifo "$BATS_TEST_TMPDIR/pipe"
	exec 7<>"$BATS_TEST_TMPDIR/pipe" 8>"$BATS_TEST_TMPDIR/pipe"
	exec 7>&-
	HOTPATH_CPU=wrong "$HP_RUN" "$T/session" 3 2>&8 || status=$?
	exec 8>&-
	[ "$status" = 3 ]
	status=0
	(
		ulimit -f 0
		HOTPATH_CPU=wrong exec "$HP_RUN" "$T/session" 3 2>"$BATS_TEST_TMPDIR/full"
	) || status=$?
	[ "$status" = 3 ]
}

@test "run: help fits a screen" {
	run "$HP_RUN" --help
	[ "$status" = 0 ]
	[ "${#lines[@]}" -le 24 ]
	[ "$(printf '%s\n' "${lines[@]}" | wc -L)" -le 80 ]
}

@test "run: the wrapper of the source tree" {
	run -7 env B="$HP_BUILD" HOTPATH_OUTPUT_FORMAT=none "$ROOT/scripts/hotpath-run" sh -c 'exit 7'
	ln -s "$ROOT/scripts/hotpath-run" "$T/linked"
	run -0 env B="$HP_BUILD" HOTPATH_OUTPUT_FORMAT=none "$T/linked" echo 'two  words'
	[ "$output" = 'two  words' ]
	run -125 env B=nowhere PATH="/usr/bin:/bin" "$ROOT/scripts/hotpath-run" true
	[[ "$output" == *"nowhere/hotpath"*"run make"* ]]
}
