#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# verbose.bats - HOTPATH_VERBOSE=1: each setting and its source, how the library was built, its
# hooks, its losses; once for each session, and nothing of it without the variable.

load helper

setup_file()
{
	gcc -x c -o "$T/family" - <<-'END'
	#include <stdio.h>
	#include <sys/wait.h>
	#include <unistd.h>
	int main(int count, char **words)
	{
		(void)words;
		if (count == 1 && fork() == 0)
			execl("/proc/self/exe", "family", "child", (char *)NULL);
		wait(NULL);
		puts("done");
		return 0;
	}
	END
	gcc -x c -rdynamic -o "$T/own" - <<-'END'
	#include <stddef.h>
	int usleep(unsigned us);
	int usleep(unsigned us)
	{
		return us == 0;
	}
	int main(void)
	{
		return usleep(1);
	}
	END
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=none
}

@test "verbose: every setting is printed once, with its value and origin" {
	HOTPATH_VERBOSE=1 HOTPATH_PERCENTILES=50,99.9 HOTPATH_SEGMENT_SIZE=65536K HOTPATH_TIMING=wrong \
		LD_PRELOAD=$HP_LIB "$T/family" >"$T/out" 2>"$T/said"
	[ "$(cat "$T/out")" = "done
done" ]
	sed -n 's/^hotpath: \(HOTPATH_[A-Z0-9_]*\)\(=.* (.*)\| is not set\)$/\1/p' "$T/said" | sort >"$T/told"
	sed -n 's/^	{ "\(HOTPATH_[A-Z0-9_]*\)".*/\1/p' "$ROOT/segment/setting_table.c" | sort >"$T/names"
	[ "$(wc -l <"$T/names")" -gt 50 ]
	diff "$T/names" "$T/told"
	grep -q '^hotpath: HOTPATH_PERCENTILES=50,99.9 (environment)$' "$T/said"
	grep -q '^hotpath: HOTPATH_SEGMENT_SIZE=64M (environment)$' "$T/said"
	grep -q '^hotpath: HOTPATH_TIMING=adaptive (default)$' "$T/said"
	grep -q '^hotpath: HOTPATH_FOCUS is not set$' "$T/said"
	grep -q '^hotpath: version .* with -' "$T/said"
	[ "$(grep -c '^hotpath: lost: nothing$' "$T/said")" = 1 ]
}

@test "verbose: the program's own defaults are marked" {
	gcc -x c -DHOTPATH -I"$ROOT/include" -o "$T/defaults" - <<-'END'
	#include <hotpath.h>
	HOTPATH_DEFAULTS("sort=calls percentiles=50");
	int main(void)
	{
		return 0;
	}
	END
	HOTPATH_VERBOSE=1 HOTPATH_PERCENTILES=10 LD_PRELOAD=$HP_LIB "$T/defaults" 2>"$T/said"
	grep -q "^hotpath: HOTPATH_SORT=calls (the program's default)$" "$T/said"
	grep -q '^hotpath: HOTPATH_PERCENTILES=10 (environment)$' "$T/said"
}

@test "verbose: secrets are not printed, and values cannot control the terminal" {
	HOTPATH_VERBOSE=1 HOTPATH_MCP_AUTH_TOKEN=sesame HOTPATH_REPORT_LABEL=$'a\e[2Jb' \
		LD_PRELOAD=$HP_LIB "$T/family" 2>"$T/said"
	run ! grep -q sesame "$T/said"
	grep -q '^hotpath: HOTPATH_MCP_AUTH_TOKEN=\.\.\. (environment)$' "$T/said"
	grep -q '^hotpath: HOTPATH_REPORT_LABEL=a?\[2Jb (environment)$' "$T/said"
}

@test "verbose: hooked functions, and those that the program defines itself" {
	HOTPATH_VERBOSE=1 LD_PRELOAD=$HP_LIB "$T/family" 2>"$T/said"
	sed -n 's/^hotpath: hooked: //p' "$T/said" | tr -d ' ' | tr , '\n' >"$T/hooked"
	for name in malloc free pthread_mutex_lock read usleep __cyg_profile_func_enter; do
		grep -qx "$name" "$T/hooked"
	done
	run ! grep -q 'not hooked' "$T/said"
	HOTPATH_VERBOSE=1 LD_PRELOAD=$HP_LIB "$T/own" 2>"$T/said"
	grep -q '^hotpath: not hooked: usleep, which the program defines before us$' "$T/said"
	sed -n 's/^hotpath: hooked: //p' "$T/said" | tr -d ' ' | tr , '\n' >"$T/hooked"
	grep -qx malloc "$T/hooked"
	run ! grep -qx usleep "$T/hooked"
}

@test "verbose: losses are counted" {
	compile crowd <<-'END'
	#include <pthread.h>
	#include <stddef.h>
	static pthread_barrier_t all;
	static void *run(void *unused)
	{
		pthread_barrier_wait(&all);
		return unused;
	}
	int main(void)
	{
		pthread_t threads[64];
		pthread_barrier_init(&all, NULL, 64);
		for (int i = 0; i < 64; i++)
			pthread_create(&threads[i], NULL, run, NULL);
		for (int i = 0; i < 64; i++)
			pthread_join(threads[i], NULL);
		return 0;
	}
	END
	HOTPATH_VERBOSE=1 HOTPATH_SEGMENT_SIZE=1M LD_PRELOAD=$HP_LIB "$T/crowd" 2>"$T/said"
	grep -q '^hotpath: lost: [1-9][0-9]* times the segment was full; ' "$T/said"
	run ! grep -q 'lost: nothing' "$T/said"
}

@test "verbose: once for a session, also of hotpath run; and not at all without it" {
	HOTPATH_VERBOSE=1 "$HP_RUN" "$T/family" 2>"$T/said"
	[ "$(grep -c '^hotpath: HOTPATH_VERBOSE=1 (environment)$' "$T/said")" = 1 ]
	[ "$(grep -c '^hotpath: lost: ' "$T/said")" = 1 ]
	LD_PRELOAD=$HP_LIB "$T/family" 2>"$T/said"
	[ ! -s "$T/said" ]
	HOTPATH_VERBOSE=0 LD_PRELOAD=$HP_LIB "$T/family" 2>"$T/said"
	[ ! -s "$T/said" ]
}
