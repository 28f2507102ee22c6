#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# run.bats - `hotpath run`: exit codes as env(1), signals as if it were not there, the
# program's streams untouched, one clear line for what cannot be profiled.

load helper

setup_file()
{
	compile session <"$ROOT/test/behave/programs/session.c"
	compile static -static <"$ROOT/test/behave/programs/session.c"
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

@test "run: a program that a signal ended ends us by that signal" {
	for signal in SEGV KILL TERM ABRT PIPE; do
		run "$HP_RUN" sh -c "kill -$signal \$\$"
		[ "$status" = $((128 + $(kill -l $signal))) ]
		grep -q "$signal" "$HOTPATH_OUTPUT_PATH"
	done
	! ls "$BATS_TEST_TMPDIR"/core* 2>/dev/null
}

@test "run: 127 not found, 126 not executable, 125 our own" {
	fails_with 127 "nonesuch: No such file" nonesuch
	fails_with 127 "nowhere" /nowhere/at/all
	touch "$BATS_TEST_TMPDIR/plain"
	fails_with 126 "Permission denied" "$BATS_TEST_TMPDIR/plain"
	fails_with 126 "Permission denied" "$BATS_TEST_TMPDIR"
	fails_with 125 "no command"
	fails_with 125 "--nonsense" --nonsense true
	fails_with 125 "HOTPATH_OUTPUT_FORMAT" --format xml true
}

@test "run: options end at the command" {
	run "$HP_RUN" --limit 3 echo --limit 5 -- -o x
	[ "$output" = "--limit 5 -- -o x" ]
	run "$HP_RUN" -- echo hello
	[ "$output" = hello ]
}

@test "run: a flag is stronger than the environment" {
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

@test "run: a signal that is sent to us reaches the program" {
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

@test "run: we stop when the program stops, and go on with it" {
	"$HP_RUN" sh -c "kill -STOP \$\$; exit 4" &
	local pid=$!
	eventually grep -q '^State:.T' /proc/$pid/status
	kill -CONT $pid
	wait $pid || status=$?
	[ "$status" = 4 ]
}

@test "run: the report is there when we return, after every end" {
	for how in 'exit 3' 'kill -9 $$' 'exec true'; do
		rm -f "$HOTPATH_OUTPUT_PATH"
		"$HP_RUN" sh -c "$how" || true
		[ -s "$HOTPATH_OUTPUT_PATH" ]
	done
}

@test "run: a static program is told, runs and is reported" {
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

@test "run: an LD_PRELOAD of the user stays" {
	LD_PRELOAD=libm.so.6 "$HP_RUN" sh -c 'echo "$LD_PRELOAD"' >"$T/out"
	[ "$(cat "$T/out")" = "$HP_LIB:libm.so.6" ]
}

@test "run: without a helper the program runs all the same" {
	mkdir -p "$T/empty"
	HOTPATH_BIN=$T/empty "$HP_RUN" "$T/session" 3 2>"$T/err" || status=$?
	cat "$T/err"
	[ "$status" = 3 ]
	grep -q hotpath-sampler "$T/err"
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
