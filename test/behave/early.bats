#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# early.bats - programs that do odd things before the loader is done, or take their environment away.  More of it:
# test/behave/same/early.c.

load helper

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/report
	cd "$BATS_TEST_TMPDIR"
}

# resolver NAME - two programs $T/NAME-now and -late, with a library; the C code of the resolver is
# on stdin.
resolver()
{
	local name=$1 bind
	{
		cat <<-'EOF'
			#define _GNU_SOURCE
			#include <dlfcn.h>
			#include <stdio.h>
			#include <stdlib.h>
			#include <unistd.h>
			static int done;
			static int value(void) { return done; }
			static __attribute__((used)) int (*resolve(void))(void)
			{
		EOF
		cat
		cat <<-'EOF'
				return value;
			}
			static int inner(void) __attribute__((ifunc("resolve")));
			#ifdef LIBRARY
			int of_library(void);
			int of_library(void) { return inner(); }
			#else
			int of_library(void);
			int main(void)
			{
				void *volatile block = malloc(3);
				free(block);
				printf("%d %d\n", of_library(), inner());
				return 4;
			}
			#endif
		EOF
	} >"$name.c"
	for bind in now lazy; do
		gcc -O1 -finstrument-functions -DLIBRARY -shared -fPIC -Wl,-z,$bind -o "lib$name-$bind.so" "$name.c" -ldl
		gcc -O1 -finstrument-functions -Wl,-z,$bind -o "$name-$bind" "$name.c" -L. -l"$name-$bind" -Wl,-rpath,"$PWD" -ldl
	done
}

# same_with PROGRAM - its output and status are the same as without the library.
same_with()
{
	local bare with
	bare=$("$1" 2>&1; echo "status $?")
	with=$(LD_PRELOAD=$HP_LIB "$1" 2>&1; echo "status $?")
	echo "$1: $bare; with us: $with"
	[ "$bare" = "$with" ]
}

@test "early: a resolver that opens and closes a library" {
	resolver opens <<-'EOF'
		void *library = dlopen("libm.so.6", RTLD_NOW);
		done = library && dlclose(library) == 0;
	EOF
	same_with ./opens-now
	report_comes report
	same_with ./opens-lazy
}

@test "early: a resolver that ends the program" {
	resolver ends <<-'EOF'
		_exit(5);
	EOF
	same_with ./ends-now
	same_with ./ends-lazy
}

# Daemons do; then environ no longer exists.
@test "early: a program without any environment is recorded, and its report comes without a helper" {
	compile cleared <<-'EOF'
		#include <pthread.h>
		#include <signal.h>
		#include <stdlib.h>
		#include <unistd.h>
		static __attribute__((noinline)) void *work(void *arg)
		{
			for (int i = 0; i < 1000; i++) {
				void *volatile p = malloc(10);
				free(p);
			}
			return arg;
		}
		int main(void)
		{
			pthread_t thread;
			char byte;

			clearenv();
			pthread_create(&thread, NULL, work, NULL);
			pthread_join(thread, NULL);
			work(NULL);
			return read(0, &byte, 1) == 1 ? 3 : 4;
		}
	EOF
	mkfifo input
	for is_killed in '' yes; do
		rm -f report segment
		HOTPATH_SEGMENT_PATH=$PWD/segment HOTPATH_REPORT=all LD_PRELOAD=$HP_LIB "$T/cleared" <input 2>err 3>&- &
		program=$!
		exec 7>input
		helper()
		{
			[ -s segment ] && helper=$(od -An -t u4 -j 200 -N 4 segment | tr -d ' ') && [ "$helper" != 0 ]
		}
		eventually helper
		helper
		[ -z "$is_killed" ] || kill -9 "$helper"
		echo x >&7
		exec 7>&-
		status=0
		wait "$program" || status=$?
		[ "$status" = 3 ]
		report_comes report err
		cat err
		[ "$(counts_in report)" = "cleared::main 1"$'\n'"work 2" ]
		python3 -c '
import json
rows = json.load(open("report"))["functions_alloc"]["raw"]
assert [row["total_bytes"] for row in rows if row["name"] == "work"] == [20000], rows'
	done
}
