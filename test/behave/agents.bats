#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# agents.bats - programs that leave a process running: as ssh-agent does it, in a substitution, before a
# pipe, under timeout and make. No one waits for survivors; its later work is in the second report.

load helper

setup_file()
{
	# Works, starts an agent that closes everything, and ends; the agent waits for the file
	# `go`, works, and creates `gone`.
	compile leaves <<-'EOF'
		#include <fcntl.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		static __attribute__((noinline)) void before(void) { __asm__ volatile(""); }
		static __attribute__((noinline)) void later(void) { free(malloc(10)); }
		int main(void)
		{
			for (int i = 0; i < 10; i++)
				before();
			if (fork() == 0) {
				setsid();
				for (int fd = 0; fd < 20; fd++)
					close(fd);
				FILE *file = fopen("pid", "w");
				fprintf(file, "%d\n", (int)getpid());
				fclose(file);
				rename("pid", "agent");
				while (access("go", F_OK))
					usleep(10000);
				for (int i = 0; i < 20; i++)
					later();
				close(creat("gone", 0600));
				if (access("stay", F_OK) == 0)
					pause();
				exit(0);
			}
			while (access("agent", F_OK))
				usleep(1000);
			puts("left one");
			return 3;
		}
	EOF
}

setup()
{
	cd "$BATS_TEST_TMPDIR"
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$PWD/report HOTPATH_SEGMENT_PATH=$PWD/segment HOTPATH_LIMIT=0
}

# Whatever fails, the agent ends.
teardown()
{
	[ ! -s agent ] || kill -9 "$(cat agent)" 2>/dev/null || :
	reports_are_possible
}

counts_are()
{
	is_whole report && [ "$(counts_in report | grep -E '^(before|later) ' | xargs)" = "$1" ]
}

agent_goes_on()
{
	eventually counts_are "before 10"
	kill -0 "$(cat agent)"
	[ ! -e gone ]
	touch go
	eventually counts_are "before 10 later 20"
	[ -e gone ]
}

is_gone()
{
	! kill -0 "$1" 2>/dev/null
}

@test "agents: left by a program in a substitution" {
	out=$(LD_PRELOAD=$HP_LIB "$T/leaves" || echo "status $?")
	[ "$out" = "left one"$'\n'"status 3" ]
	agent_goes_on
}

@test "agents: left by a program before a pipe" {
	out=$({ LD_PRELOAD=$HP_LIB "$T/leaves" || echo "status $?"; } 2>&1 | cat)
	[ "$out" = "left one"$'\n'"status 3" ]
	agent_goes_on
}

@test "agents: left by a program under timeout" {
	LD_PRELOAD=$HP_LIB run timeout 50 "$T/leaves"
	[ "$status" = 3 ]
	[ "$output" = "left one" ]
	agent_goes_on
}

@test "agents: left by a program under make, whose own pipe is closed too" {
	printf 'all:\n\t-@%s\n' "$T/leaves" >Makefile
	out=$(LD_PRELOAD=$HP_LIB make -s -j2 2>/dev/null | cat)
	[ "$out" = "left one" ]
	agent_goes_on
}

@test "agents: under hotpath-run" {
	unset HOTPATH_SEGMENT_PATH
	run "$HP_RUN" "$T/leaves"
	[ "$status" = 3 ]
	agent_goes_on
}

@test "agents: a killed one still leaves a report" {
	touch stay
	LD_PRELOAD=$HP_LIB run "$T/leaves"
	[ "$status" = 3 ]
	eventually counts_are "before 10"
	touch go
	eventually [ -e gone ]
	kill -9 "$(cat agent)"
	eventually counts_are "before 10 later 20"
}

@test "agents: if the helper is killed, the program ends as usual, and the segment has its counts" {
	local helper
	LD_PRELOAD=$HP_LIB run "$T/leaves"
	[ "$status" = 3 ]
	eventually counts_are "before 10"
	helper=$(od -An -t u4 -j 200 -N 4 segment | tr -d ' ')
	kill -9 "$helper"
	eventually is_gone "$helper"
	touch go
	eventually [ -e gone ]
	eventually is_gone "$(cat agent)"
	env -u HOTPATH_OUTPUT_PATH "$HP_BUILD/hotpath" report segment -f json >again
	[ "$(counts_in again | grep -E '^(before|later) ' | xargs)" = "before 10 later 20" ]
}
