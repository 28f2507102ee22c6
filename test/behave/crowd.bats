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

# Events of the CPUs replace those of the threads, if all processes may be seen.
@test "crowd: a thread that works among 2000 that wait has its CPU time, samples and waits" {
	gcc -g -O1 -o "$T/burn" "$ROOT/test/behave/programs/crowd_burn.c" -lpthread
	"$T/burn" 2000 >/dev/null || skip "so many threads are not allowed here"
	# Beside sessions that start, since a stack at a switch may have the identifier of their events.
	touch "$T/goes_on"
	while [ -e "$T/goes_on" ]; do
		HOTPATH_KEEP=0 "$HP_RUN" sleep 0.1 >/dev/null 2>&1
	done 3>&- &
	HOTPATH_LIMIT=0 HOTPATH_REPORT=functions-cpu,offcpu,threads HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/burn.json" "$HP_RUN" "$T/burn" 2000 >"$T/truth"
	rm "$T/goes_on"
	wait $!
	cat "$T/truth"
	python3 -c 'import json; exit(not json.load(open("'"$T/burn.json"'")).get("functions_cpu", {}).get("raw"))' ||
		skip "no samples here"
	python3 - "$T/burn.json" "$T/truth" "$(id -u)" <<-'EOP'
		import json, sys
		a, truth = json.load(open(sys.argv[1])), open(sys.argv[2]).read().split()
		burned, slept, naps, cpu = map(int, truth)
		samples, waits, threads = a["functions_cpu"], a["offcpu"], a["threads"]["raw"]
		lost = samples["lost_count"]
		burn = [r for r in samples["raw"] if r["name"].endswith("burn")]
		nap = [r for r in waits["raw"] if r["name"].endswith("nap")]
		print("lost", lost, burn, nap, len(threads), a["summary"]["cpu_ns"])
		print("samples", samples["sample_count"], samples["total_samples"], samples.get("profiler_ns", 0))
		# All threads are listed; the process's time is complete, and so is the thread's.
		assert sum(r["threads"] for r in threads) == 2002
		assert 0.98 * cpu - 20e6 <= a["summary"]["cpu_ns"] <= 1.1 * cpu + 50e6
		assert burned <= max(r["cpu_ns"] for r in threads) <= 1.2 * burned
		# No stack of a wait is taken for a sample.
		assert samples["sample_count"] <= 1.1 * 999e-6 * (samples["total_samples"] + samples.get("profiler_ns", 0) / 1000) + 20
		# 4 ms and less each: the error of a whole is a sample, plus what was lost.
		assert (0.85 - (0.5 if lost else 0)) * burned <= sum(r["inclusive_ns"] for r in burn) <= 1.2 * burned
		count = sum(r["waits"] for r in nap)
		# Beside busy processes, stacks are limited.
		bare = sum(r["waits"] for r in waits["raw"] if r["name"] == "<no stack>")
		assert naps - waits.get("lost_count", 0) - bare <= count <= naps + 1
		if count >= naps:
		    assert abs(sum(r["blocked_ns"] for r in nap) - slept) < 0.1 * slept
		if int(sys.argv[3]) == 0:
		    assert samples["is_by_cpu"] and samples["crowd_thread_count"] > 256
	EOP
}

@test "crowd: the number of a child that ended may be another program's, and the first thread may end" {
	[ "$(id -u)" = 0 ] && [ -w /proc/sys/kernel/ns_last_pid ] || skip "no process id can be chosen here"
	gcc -g -O1 -o "$T/child" "$ROOT/test/behave/programs/crowd_child.c" -lpthread
	compile other_burn -fno-instrument-functions <<-'EOP'
		#include <time.h>
		__attribute__((noinline)) static void foreign_burn(void)
		{
			static volatile unsigned long n;
			struct timespec now;
			do {
				for (int i = 0; i < 100000; i++)
					n++;
				clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
			} while (now.tv_sec == 0 && now.tv_nsec < 500000000);
		}
		int main(void) { foreign_burn(); return 0; }
	EOP
	python3 - "$HP_RUN" "$T" >"$T/said" <<-'EOP'
		import os, subprocess, sys
		run, folder = sys.argv[1:]
		env = dict(os.environ, HOTPATH_LIMIT="0", HOTPATH_REPORT="functions-cpu,offcpu", HOTPATH_OUTPUT_FORMAT="json",
		           HOTPATH_OUTPUT_PATH=folder + "/child.json")
		program = subprocess.Popen([run, folder + "/child", "400"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
		wanted, got = int(program.stdout.readline()), 0
		for i in range(1000):
		    open("/proc/sys/kernel/ns_last_pid", "w").write(str(wanted - 1))
		    got = os.fork()
		    if got == 0:
		        if os.getpid() == wanted:
		            os.execv(folder + "/other_burn", ["other_burn"])
		        os._exit(0)
		    os.waitpid(got, 0)
		    if got == wanted:
		        break
		program.stdin.close()
		program.wait()
		print("reused" if got == wanted else "not reused")
	EOP
	cat "$T/said"
	grep -qx reused "$T/said" || skip "the process id was never free"
	python3 - "$T/child.json" <<-'EOP'
		import json, sys
		samples = json.load(open(sys.argv[1])).get("functions_cpu", {})
		if not samples.get("raw"):
		    sys.exit(0)	# no samples here
		assert samples["is_by_cpu"]
		burn = {n: sum(r["inclusive_ns"] for r in samples["raw"] if r["name"].endswith(n)) for n in ("foreign_burn", "late_burn")}
		print(burn, samples["lost_count"])
		assert burn["foreign_burn"] == 0
		assert burn["late_burn"] > 0.1e9
	EOP
}

# The search for processes without events followed each to its child, and the helper's stack was too small for it.
@test "crowd: processes that are each the child of the one before do not end the helper" {
	local status=0
	gcc -O1 -o "$T/chain" "$ROOT/test/behave/programs/vfork_chain.c"
	HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$HP_LIB "$T/chain" 4000 || status=$?
	[ $status != 77 ] || skip "no 4000 processes here"
	[ $status = 0 ]
}
