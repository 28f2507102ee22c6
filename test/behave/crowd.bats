#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# crowd.bats - many programs at once, and as many as a user may have.

load helper

setup_file()
{
	# Two threads work N times each, then it waits for the end of its input: see many.py.
	compile live <<-'EOF'
		#include <pthread.h>
		#include <stdlib.h>
		#include <unistd.h>
		static __attribute__((noinline)) void work(void) { void *volatile p = malloc(10); free(p); }
		static __attribute__((no_instrument_function)) void *run(void *n)
		{
			for (long i = 0; i < (long)n; i++)
				work();
			return NULL;
		}
		int main(int argc, char **argv)
		{
			pthread_t thread[2];
			char byte;

			for (int i = 0; i < 2; i++)
				if (pthread_create(&thread[i], NULL, run, (void *)atol(argv[argc - 1])))
					return 7;
			for (int i = 0; i < 2; i++)
				pthread_join(thread[i], NULL);
			if (write(3, "x", 1) != 1)
				return 6;
			while (read(0, &byte, 1) > 0)
				;
			return 3;
		}
	EOF
	# Forks until it is refused; each child works, and waits for all.
	compile bomb <<-'EOF'
		#include <errno.h>
		#include <stdio.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static __attribute__((noinline)) void work(void) { __asm__ volatile(""); }
		int main(void)
		{
			int go[2], count = 0, status, bad = 0;
			char byte;
			pid_t pid;

			if (pipe(go))
				return 1;
			while ((pid = fork()) > 0)
				count++;
			if (pid == 0) {
				work();
				close(go[1]);
				_exit(read(go[0], &byte, 1) != 0);
			}
			printf("%d %d\n", count, errno == EAGAIN);
			fflush(stdout);
			close(go[1]);
			while (wait(&status) > 0)
				bad += status != 0;
			return bad != 0;
		}
	EOF
	gcc -g -O1 -o "$T/wait" "$ROOT/test/behave/programs/crowd_wait.c" -lpthread
	folder_for_all live bomb
}

teardown_file()
{
	eventually helpers_are_gone
	rm -rf "$(cat "$T/other")"
}

@test "crowd: many concurrent sessions are not confused, and leave nothing" {
	mkdir "$BATS_TEST_TMPDIR/reports"
	/usr/bin/python3 "$ROOT/test/behave/many.py" "$HP_LIB" "$T/live" "${HP_TEST_FULL:+3}30" "$BATS_TEST_TMPDIR/reports"
}

@test "crowd: a program that forks as often as it may" {
	local other
	[ "$(id -u)" = 0 ] && command -v setpriv >/dev/null || skip "no other user can be had here"
	other=$(cat "$T/other")
	cd "$other"
	# A user id that nobody else has.
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$other/report HOTPATH_REPORT=all HOTPATH_KEEP=0 \
		setpriv --reuid 54321 --regid 54321 --clear-groups bash -c \
		'ulimit -u 80; LD_PRELOAD=$0/libhotpath.so exec "$0/bomb"' "$other" >"$T/said" 2>"$T/err"
	report_comes report
	cat "$T/said" "$T/err"
	read -r count is_limit <"$T/said"
	# Our helper and its thread count, too.
	[ "$is_limit" = 1 ]
	[ "$count" -ge 70 ]
	[ "$(counts_in report | grep '^work ')" = "work $count" ]
}

# helper_files LEAST MOST - the helper of this test has this many descriptors.
helper_files()
{
	local pid count
	for pid in $(pgrep -x hotpath-sampler); do
		tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "XDG_STATE_HOME=$XDG_STATE_HOME" || continue
		count=$(find "/proc/$pid/fd" -type l | wc -l)
		echo "$count descriptors"
		if [ "$count" -ge "$1" ] && [ "$count" -le "$2" ]; then
			return 0
		fi
	done
	return 1
}

# Ending them would take time that grows with the square of their number.
@test "crowd: threads that inherit their creator's events get no events of their own" {
	local most
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
	most=$((8000 * $(nproc)))
	"$T/wait" 8000 </dev/null || skip "so many threads are not allowed here"
	mkfifo "$T/go" "$T/said.fifo"
	HOTPATH_REPORT=functions-cpu HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/report LD_PRELOAD=$HP_LIB \
		"$T/wait" 8000 <"$T/go" >"$T/said.fifo" 3>&- &
	exec 8>"$T/go" 9<"$T/said.fifo"
	read -r line <&9
	[ "$line" = ready ]
	eventually helper_files 5 $most
	# By now it has opened everything.
	sleep 1
	helper_files 5 $most
	echo >&8
	read -r line <&9
	echo "$line"
	[[ $line == "8000 threads,"* ]]
	wait $!
	exec 8>&- 9<&-
}
