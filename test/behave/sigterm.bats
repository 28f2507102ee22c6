#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# sigterm.bats - SIGTERM ends the helper, whatever it waits for; it waits for a program that ends as well, since the
# report comes last (sampler/session/term.h).

load helper

setup_file()
{
	# Works, waits for its input, works again.  With an argument it leaves a child that waits forever.
	compile works <<-'EOF'
		#include <stdlib.h>
		#include <unistd.h>
		static __attribute__((noinline)) void work(void) { free(malloc(10)); }
		int main(int argc, char **argv)
		{
			char byte;

			(void)argv;
			for (int i = 0; i < 2000; i++)
				work();
			if (argc > 1 && fork() == 0) {
				work();
				for (int fd = 0; fd < 20; fd++)
					close(fd);
				for (;;)
					pause();
			}
			if (read(0, &byte, 1) != 1)
				return 1;
			for (int i = 0; i < 1000; i++)
				work();
			return 3;
		}
	EOF
}

setup()
{
	cd "$BATS_TEST_TMPDIR"
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$PWD/report HOTPATH_SEGMENT_PATH=$PWD/segment
	helper= agent=
}

# Whatever fails, no process is left.
teardown()
{
	[ -z "$helper" ] || kill -9 "$helper" 2>/dev/null || :
	[ -z "$agent" ] || kill -9 "$agent" 2>/dev/null || :
	reports_are_possible
}

helper_of()
{
	local pid

	[ -s "$1" ] && pid=$(od -An -t u4 -j 200 -N 4 "$1" | tr -d ' ') && [ "$pid" != 0 ] &&
		[ -e "/proc/$pid" ] && echo "$pid"
}

# It has handled SIGTERM with its own handler, so it has started.
hears()
{
	[ $((16#$(awk '/^SigCgt/ { print $2 }' "/proc/$1/status") >> 14 & 1)) = 1 ]
}

# begin ARGS... - starts `works`, whose input is descriptor 7; $helper is its helper, which listens to SIGTERM.
begin()
{
	mkfifo input
	LD_PRELOAD=$HP_LIB "$T/works" "$@" <input >out 2>err 3>&- &
	program=$!
	exec 7>input
	eventually helper_of segment
	helper=$(helper_of segment)
	eventually hears "$helper"
}

go_on()
{
	local status=0

	echo x >&7
	exec 7>&-
	wait "$program" || status=$?
	[ "$status" = 3 ]
}

is_gone()
{
	! kill -0 "$1" 2>/dev/null || [ "$(ps -o stat= -p "$1" | cut -c1)" = Z ]
}

is_right()
{
	report_comes report err
	cat err
	[ ! -s err ]
	counts_in report
	[ "$(counts_in report | grep '^work ')" = "work $1" ]
}

@test "sigterm: the helper of a program that is about to end waits until its report is complete" {
	begin
	kill "$helper"
	# It has received it, and still runs.
	eventually grep -qE '^SigPnd:[[:space:]]*0+$' "/proc/$helper/status"
	go_on
	is_right 3000
	eventually is_gone "$helper"
}

@test "sigterm: at the second signal the helper ends at once, and the program makes its report itself" {
	begin
	kill "$helper"
	eventually kill "$helper"	# the first one must have been received before
	eventually kill_again
	go_on
	is_right 3000
}

# Until it is gone: two simultaneous signals are one.
kill_again()
{
	kill "$helper" 2>/dev/null
	is_gone "$helper"
}

@test "sigterm: the helper does not wait for processes that were left behind" {
	begin leave
	go_on
	agent=$(pgrep -x works)
	is_right 3001
	run ! is_gone "$helper"
	kill "$helper"
	eventually is_gone "$helper"
	run ! is_gone "$agent"
}

# HP_TERM_REPORT_S is 10 s; at a second signal it is at once.
@test "sigterm: a report that never finishes is ended with the helper" {
	mkdir bin
	printf '#!/bin/sh\necho $$ >%s/hangs\nexec sleep 1000\n' "$PWD" >bin/hotpath
	chmod +x bin/hotpath
	export HOTPATH_BIN=$PWD/bin HOTPATH_EXIT_WAIT_MS=100
	ln -s "$HP_BUILD/hotpath-sampler" bin/
	begin
	go_on
	eventually [ -s hangs ]
	run ! is_gone "$helper"
	kill "$helper"
	[ -z "$HP_TEST_FULL" ] || eventually is_gone "$helper"
	eventually kill_again
	eventually is_gone "$(cat hangs)"
}

@test "sigterm: no other signal ends the helper" {
	begin
	for name in HUP INT QUIT USR1 USR2 PIPE XCPU; do
		kill -$name "$helper"
	done
	go_on
	is_right 3000
	eventually is_gone "$helper"
}
