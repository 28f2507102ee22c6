#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# open.bats - calls that were running when the program was killed, when a report was made, or at
# exec: their time until then is in every section.

load helper

setup_file()
{
	# waits() and busy() continue until the program is killed; the printed time is that of their
	# entry.
	compile open <<-'EOF'
		#include <stdint.h>
		#include <stdio.h>
		#include <string.h>
		#include <sys/syscall.h>
		#include <time.h>
		#include <unistd.h>
		extern char **environ;
		__attribute__((no_instrument_function)) static double now(void)
		{
			struct timespec t;
			clock_gettime(CLOCK_MONOTONIC, &t);
			return t.tv_sec + t.tv_nsec / 1e9;
		}
		__attribute__((noinline)) unsigned tiny(unsigned x) { return x * 2654435761u ^ x >> 3; }
		__attribute__((noinline)) void spin(double s)
		{
			double end = now() + s;
			while (now() < end)
				;
		}
		__attribute__((noinline)) void waits(void)
		{
			printf("%.6f\n", now());
			fflush(stdout);
			for (;;)
				usleep(1000);
		}
		__attribute__((noinline)) void busy(void)
		{
			unsigned x = 0;
			printf("%.6f\n", now());
			fflush(stdout);
			for (;;)
				for (int i = 0; i < 1000; i++)
					x += tiny(x);
		}
		int main(int argc, char **argv)
		{
			char *after[] = { "open", "after", NULL };
			if (strcmp(argv[1], "exec") == 0) {
				spin(0.2);
				syscall(SYS_execve, "/proc/self/exe", after, environ);
			}
			if (strcmp(argv[1], "after") == 0)
				spin(0.1);
			else if (strcmp(argv[1], "waits") == 0)
				waits();
			else
				busy();
			return 0;
		}
	EOF
}

setup()
{
	unset program
	cd "$BATS_TEST_TMPDIR"
}

teardown()
{
	[ -z "$program" ] || kill -9 "$program" 2>/dev/null || :
	reports_are_possible
}

clock()
{
	python3 -c 'import time; print(time.clock_gettime(time.CLOCK_MONOTONIC))'
}

# start HOW - the program, which has entered the call.
start()
{
	HOTPATH_REPORT=functions-timing,calltree,bound HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$PWD/report \
		LD_PRELOAD=$HP_LIB "$T/open" "$1" >entered 2>err 3>&- &
	program=$!
	eventually test -s entered
	# Long enough to reveal any time lost from the call.
	python3 -c 'import time; time.sleep(0.5)'
}

# judge NAME EARLIEST LATEST - the open call ended between these; the hooks' cost is excluded, which
# beside others is known less exactly.
judge()
{
	python3 - "$@" "$(cat entered)" <<-'EOF'
		import json, sys
		name, earliest, latest, entered = sys.argv[1], *map(float, sys.argv[2:])
		report = json.load(open("report"))
		cost = report["summary"].get("profiling_cost_high_ns", float("inf"))
		row = next(r for r in report["functions_timing"]["raw"] if r["name"] == name)
		node = next(n for n in report["calltree"]["tree"] if n["name"] == name)
		main = next(n for n in report["calltree"]["tree"] if n["name"].endswith("::main"))
		print(row["inclusive_low_ns"], row["inclusive_ns"], row["inclusive_high_ns"], node, main, cost,
		      (earliest - entered) * 1e9, (latest - entered) * 1e9)
		assert row["running_calls"] == 1
		assert row["inclusive_high_ns"] + cost >= 0.97 * (earliest - entered) * 1e9
		assert row["inclusive_low_ns"] <= 1.03 * (latest - entered) * 1e9
		assert abs(node["inclusive_ns"] - row["inclusive_ns"]) <= 2
		assert abs(node["self_ns"] - row["self_ns"]) <= 2
		assert node["inclusive_ns"] <= main["inclusive_ns"]
		bound = [r for r in report["bound"]["raw"] if r["name"] == name]
		assert all(abs(r["wall_ns"] - row["self_ns"]) <= 2 for r in bound), bound
	EOF
}

killed()
{
	local earliest

	start "$1"
	earliest=$(clock)
	kill -9 "$program"
	wait "$program" || :
	program=
	report_comes report
	judge "$1" "$earliest" "$(clock)"
	# How long it had been dead when that was noticed is not known.
	python3 - "$1" <<-'EOF'
		import json, sys
		rows = {row["name"].split("::")[-1]: row for row in json.load(open("report"))["functions_timing"]["raw"]}
		for name in (sys.argv[1], "main"):
		    assert rows[name]["inclusive_low_ns"] <= rows[name]["inclusive_ns"] - 9.9e6, rows[name]
	EOF
}

@test "open: a call is waiting when the program is killed" {
	killed waits
}

@test "open: a call with short callees is in progress when the program is killed" {
	killed busy
}

@test "open: calls in progress when a report is made" {
	local earliest

	start waits
	earliest=$(clock)
	"$HP_BUILD/hotpath" report --session "$program" -f json -r functions-timing,calltree,bound >report
	judge waits "$earliest" "$(clock)"
}

@test "open: calls ended by an exec that was not recorded" {
	HOTPATH_REPORT=functions-timing,calltree HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$PWD/report \
		LD_PRELOAD=$HP_LIB "$T/open" exec
	report_comes report
	python3 - <<-'EOF'
		import json
		report = json.load(open("report"))
		rows = {row["name"].split("::")[-1]: row for row in report["functions_timing"]["raw"]}
		print(rows["main"]["inclusive_ns"], rows["spin"]["inclusive_ns"], report["summary"]["wall_ns"])
		assert rows["spin"]["calls"] == 2 and rows["main"]["calls"] == 2
		assert rows["spin"]["inclusive_ns"] >= 0.29e9
		assert rows["spin"]["inclusive_ns"] <= rows["main"]["inclusive_ns"] <= report["summary"]["wall_ns"]
	EOF
}
