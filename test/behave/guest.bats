#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# guest.bats - a program that we are a guest in runs and ends as it does without us: as PID 1, under
# seccomp, with a broken stderr, with its own environment making, under another C library.

load helper

# instrumented NAME - programs/guest_NAME.c to $T/NAME.
instrumented()
{
	gcc -D_GNU_SOURCE -g -O1 -finstrument-functions -o "$T/$1" \
		"$ROOT/test/behave/programs/guest_$1.c" -lpthread
}

setup_file()
{
	local name
	for name in end exec wait seccomp; do
		instrumented $name
	done
}

compile_musl()
{
	musl-gcc -D_GNU_SOURCE -g -O1 -o "$T/musl" "$ROOT/test/behave/programs/guest_end.c"
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_FUNCTIONS_LIMIT=0
	rm -f "$T/report"
}

# counts_are "NAME CALLS NAME CALLS" - of these functions, in a report that may still be pending.
counts_are()
{
	local names=() word is_name=1
	for word in $1; do
		[ $is_name = 0 ] || names+=("$word")
		is_name=$((1 - is_name))
	done
	report_comes "$T/report" || return
	[ "$(echo $("$ROOT/test/behave/counts.py" "$T/report" "${names[@]}"))" = "$1" ] ||
		{ counts_in "$T/report"; return 1; }
}

summary()
{
	python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["summary"].get(sys.argv[2]))' \
		"$T/report" "$1"
}

@test "guest: the entry of an ended session is replaced" {
	HOTPATH_SESSION=0123456789abcdef:1 LD_PRELOAD=$HP_LIB env >"$T/out"
	[ "$(grep -c '^HOTPATH_SESSION=' "$T/out")" = 1 ]
	! grep -q 0123456789abcdef "$T/out"
}

@test "guest: the memory peak includes a child that is killed before it can report it" {
	gcc -O1 -g -finstrument-functions -x c -o "$T/killed" - <<-'END'
		#include <signal.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/wait.h>
		#include <unistd.h>
		int main(void)
		{
			if (fork() == 0) {
				char *large = malloc(64 << 20);
				memset(large, 1, 64 << 20);
				return kill(getpid(), SIGKILL) + large[1];
			}
			return wait(NULL) < 0;
		}
	END
	LD_PRELOAD=$HP_LIB "$T/killed"
	report_comes "$T/report"
	[ "$(summary peak_rss_bytes)" -ge $((64 << 20)) ]
}

@test "guest: HOTPATH_ONLY takes long names, and others are not lost threads" {
	cp "$T/end" "$T/a_name_of_more_than_fifteen"
	cp "$T/end" "$T/another_one"
	HOTPATH_ONLY=a_name_of_more_than_fifteen LD_PRELOAD=$HP_LIB \
		sh -c "$T/another_one exit 0; $T/a_name_of_more_than_fifteen exit 0"
	counts_are "work 10"
	[ "$(summary lost_threads)" = 0 ]
	rm "$T/report"
	HOTPATH_ONLY=another_one LD_PRELOAD=$HP_LIB \
		sh -c "$T/another_one exit 0; $T/a_name_of_more_than_fifteen exit 0"
	counts_are "work 10"
	[ "$(summary lost_threads)" = 0 ]
}

@test "guest: a thread that calls _exit while exit waits for the report changes nothing" {
	for _ in 1 2 3; do
		status=0
		LD_PRELOAD=$HP_LIB "$T/end" race 3 >"$T/out" || status=$?
		echo "status $status"
		[ $status = 3 ]
		counts_are "work 10 exit_late 1"
		rm "$T/report"
	done
}

@test "guest: loads into a program of musl, and does nothing there" {
	command -v musl-gcc >/dev/null || skip "no musl-gcc"
	compile_musl
	status=0
	LD_PRELOAD=$HP_LIB "$T/musl" _exit 5 >"$T/out" 2>"$T/err" || status=$?
	cat "$T/err"
	[ $status = 5 ]
	[ ! -s "$T/err" ]
	LD_PRELOAD=$HP_LIB "$T/musl" jump >"$T/out" 2>"$T/err"
	[ ! -s "$T/err" ]
	[ ! -e "$T/report" ]
}

@test "guest: a message of ours on a broken stderr ends no program" {
	export HOTPATH_TIMING=nonsense	# so that there is a line to print
	status=0
	LD_PRELOAD=$HP_LIB "$T/end" exit 4 2>"$T/err" || status=$?
	grep -q nonsense "$T/err"
	[ $status = 4 ]
	# A pipe whose reader is gone, and one that nobody reads.
	python3 - "$T/end" "$HP_LIB" <<-'EOF'
	import os, subprocess, sys
	def run(**how):
	    env = dict(os.environ, LD_PRELOAD=sys.argv[2])
	    code = subprocess.run([sys.argv[1], "exit", "4"], env=env, restore_signals=True, **how).returncode
	    assert code == 4, code
	r, w = os.pipe()
	os.close(r)
	run(stderr=w)
	r, w = os.pipe()
	os.set_blocking(w, False)
	try:
	    while True:
	        os.write(w, b"x" * 4096)
	except BlockingIOError:
	    os.set_blocking(w, True)
	run(stderr=w, timeout=120)
	EOF
	status=0
	(
		ulimit -f 0
		LD_PRELOAD=$HP_LIB exec "$T/end" exit 4 2>"$T/limited"
	) || status=$?
	echo "status $status"
	[ $status = 4 ]
}

@test "guest: children with an environment of its own making belong to the session" {
	LD_PRELOAD=$HP_LIB "$T/exec" >"$T/out" 2>"$T/err"
	cat "$T/out" "$T/err"
	[ "$(cat "$T/out")" = "0 failed" ]
	[ ! -s "$T/err" ]
	counts_are "work 140 start 12"
}

@test "guest: the same with HOTPATH_NO_FOLLOW" {
	HOTPATH_NO_FOLLOW=1 LD_PRELOAD=$HP_LIB "$T/exec" >"$T/out" 2>"$T/err"
	[ ! -s "$T/err" ]
	counts_are "work 0"
}

# As process 1 of a namespace, which ends with it.
as_first()
{
	unshare --pid --fork --propagation unchanged --mount-proc env LD_PRELOAD="$HP_LIB" "$@"
}

needs_namespaces()
{
	unshare --pid --fork --propagation unchanged --mount-proc true 2>/dev/null || skip "no PID namespaces here"
}

@test "guest: process 1 leaves a report however it ends by itself" {
	needs_namespaces
	for end in exit _exit _Exit quick_exit; do
		rm -f "$T/report"
		status=0
		as_first "$T/end" $end 6 2>"$T/err" || status=$?
		echo "$end: status $status; $(cat "$T/err")"
		[ $status = 6 ]
		grep -q hotpath-run "$T/err"
		counts_are "work 10"
	done
	rm "$T/report"
	status=0
	as_first sh -c "$T/end _exit 0; exit 3" 2>"$T/err" || status=$?
	[ $status = 3 ]
	counts_are "work 10"
}

@test "guest: process 1 does not wait for our helper" {
	needs_namespaces
	unshare --pid --fork --propagation unchanged --mount-proc "$T/wait" >"$T/bare"
	timeout -s KILL 120 unshare --pid --fork --propagation unchanged --mount-proc env LD_PRELOAD="$HP_LIB" "$T/wait" \
		>"$T/out" 2>"$T/err"
	diff "$T/bare" "$T/out"
	counts_are "one_way 18"
	timeout -s KILL 120 unshare --pid --fork --propagation unchanged --mount-proc env LD_PRELOAD="$HP_LIB" "$T/wait" killed \
		>"$T/out" 2>"$T/err"
	diff "$T/bare" "$T/out"
}

@test "guest: a subreaper does not wait for our helper" {
	"$T/wait" >"$T/bare"
	timeout -s KILL 120 "$T/wait" subreaper "$HP_LIB" >"$T/out" 2>"$T/err"
	diff "$T/bare" "$T/out"
	[ ! -s "$T/err" ]
	counts_are "one_way 18"
}

# confined HOW END - ends as without the library.
confined()
{
	local bare=0
	status=0
	rm -f "$T/report"
	"$T/seccomp" "$1" "$2" >"$T/bare" 2>"$T/err" || bare=$?
	LD_PRELOAD=$HP_LIB "$T/seccomp" "$1" "$2" >"$T/out" 2>"$T/err" || status=$?
	echo "$1 $2: status $status, without us $bare; $(cat "$T/err")"
	[ $status = $bare ]
	cmp "$T/bare" "$T/out"
}

@test "guest: a seccomp filter of write and exit_group, and every call counted" {
	for how in prctl syscall; do
		for end in exit _exit; do
			confined $how $end
			[ $status = 3 ]
			counts_are "work 1000000 deep 5001 later_00 1 later_77 1"
			[ "$(summary lost_calls)" = 0 ]
		done
	done
}

@test "guest: seccomp's strict mode" {
	confined strict thread_exit
	[ $status = 3 ]
	confined strict exit
	counts_are "seccomp::main 1"
}

@test "guest: threads and children of a confined process" {
	confined thread exit
	[ $status = 3 ]
	counts_are "work 3000000 deep 15003 later_00 3"
}

# clocks HOW LD_PRELOAD... - the program ends as without the library, whatever is recorded.
clocks()
{
	local how=$1 wrong=0
	shift
	"$T/clock" $how >"$T/bare" || { echo "$how fails without us"; return 1; }
	for report in auto all functions-timing mutexes alloc channels offcpu runtime streams; do
		rm -f "$T/report"
		HOTPATH_REPORT=$report LD_PRELOAD=$HP_LIB "$@" "$T/clock" $how >"$T/out" 2>"$T/err" ||
			{ echo "$how, $report: $?; $(cat "$T/err")"; wrong=1; continue; }
		cmp "$T/bare" "$T/out" || wrong=1
	done
	return $wrong
}

@test "guest: locks, blocks, pipes, timers and loops of a thread that may not read the clock" {
	[ "$(uname -m)" = x86_64 ] || skip "PR_SET_TSC is x86's"
	gcc -D_GNU_SOURCE -g -O1 -finstrument-functions -DHOTPATH -I"$ROOT/include" -o "$T/clock" \
		"$ROOT/test/behave/programs/guest_clock.c" -lpthread
	clocks strict
	clocks tsc
	HOTPATH_CPU=timer clocks tsc
	clocks refused
	# All calls of permitted threads, and none of the others.
	HOTPATH_REPORT=all LD_PRELOAD=$HP_LIB "$T/clock" tsc >"$T/out"
	counts_are "called 3000"
	HOTPATH_REPORT=all LD_PRELOAD=$HP_LIB "$T/clock" refused >"$T/out"
	counts_are "called 2000"
}

@test "guest: the program's children's usage is theirs alone" {
	gcc -D_GNU_SOURCE -g -O1 -o "$T/usage" "$ROOT/test/behave/programs/guest_usage.c"
	"$T/usage" >"$T/bare"
	[ "$(grep -c 'time 1, faults 1, switches 1, size 1, ticks 1' "$T/bare")" = 3 ]
	LD_PRELOAD=$HP_LIB "$T/usage" >"$T/out"
	diff "$T/bare" "$T/out"
	# There the helper is not a child at all.
	"$HP_RUN" --format none "$T/usage" >"$T/out"
	diff "$T/bare" "$T/out"
}

@test "guest: a program can use all thread-specific keys" {
	gcc -D_GNU_SOURCE -g -O1 -finstrument-functions -o "$T/keys" "$ROOT/test/behave/programs/guest_keys.c" -lpthread
	"$T/keys" >"$T/bare"
	for _ in 1 2 3; do
		rm -f "$T/report"
		HOTPATH_REPORT=all LD_PRELOAD=$HP_LIB "$T/keys" >"$T/out"
		diff "$T/bare" "$T/out"
		# All calls of threads that ended unnoticed are present: 80 threads, and short-lived
		# ones.
		[ "$("$ROOT/test/behave/counts.py" "$T/report" called | cut -d' ' -f2)" -ge 8000 ]
		[ "$(summary lost_calls)" = 0 ]
	done
}

@test "guest: an environment that cannot be read is refused by exec, as without us" {
	cat >"$T/badenv.c" <<-'END'
		#include <errno.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		int main(void)
		{
			char *args[] = { "true", NULL }, *bad[] = { "A=1", (char *)-1L, NULL };
			char *end = (char *)mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 4096;
			char **open = (char **)end - 1, *last = end - 4;

			munmap(end, 4096);
			if (execve("/bin/true", args, bad) != -1 || errno != EFAULT)
				return 1;
			*open = "A=1";
			if (execve("/bin/true", args, open) != -1 || errno != EFAULT)
				return 2;
			memcpy(last, "A=1", 4);
			bad[1] = last;
			return execve("/bin/true", args, bad) + 4;
		}
	END
	gcc -o "$T/badenv" "$T/badenv.c"
	HOTPATH_KEEP=0 HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$HP_LIB "$T/badenv"
}

@test "guest: a missing helper program is reported once, not by each program that is started" {
	HOTPATH_BIN=$T/none LD_PRELOAD=$HP_LIB sh -c 'env true; (exec true); env true' 2>"$T/err"
	cat "$T/err"
	[ "$(grep -c '^hotpath: no helper program' "$T/err")" = 1 ]
	[ "$(grep -vc '^hotpath: no ' "$T/err")" = 0 ]
}
