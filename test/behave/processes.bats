#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# processes.bats - the table of processes: each program with all its runs, and their
# resources.

load helper

setup_file()
{
	compile child -fno-instrument-functions <<-'EOF'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <time.h>
		#include <unistd.h>
		/* child MS MB CODE: burns CPU, touches memory, says what it took. */
		int main(int argc, char **argv)
		{
			long ms = atol(argv[1]), bytes = atol(argv[2]) << 20;
			struct timespec t = { 0, 0 };
			char *block = malloc(bytes + 1);

			(void)argc;
			memset(block, 1, bytes + 1);
			while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms)
				clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
			printf("%ld\n", t.tv_sec * 1000000000L + t.tv_nsec);
			fflush(stdout);
			return block[bytes] == 1 ? atoi(argv[3]) : 99;
		}
	EOF
	compile parent -fno-instrument-functions <<-'EOF'
		#include <stdlib.h>
		#include <string.h>
		#include <sys/wait.h>
		#include <unistd.h>
		/* parent BYTES PROGRAM TIMES ARGS...: forks and executes, one after the other. */
		int main(int argc, char **argv)
		{
			long bytes = atol(argv[1]);
			volatile char *block = malloc(bytes + 1);

			(void)argc;
			for (long i = 0; i < bytes; i += 1000)
				block[i] = 1;
			for (int i = 0; i < atoi(argv[3]); i++) {
				pid_t pid = fork();

				if (!pid) {
					free(malloc(100));
					execv(argv[2], argv + 3);
					_exit(127);
				}
				waitpid(pid, NULL, 0);
			}
			return 0;
		}
	EOF
	export T
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/json HOTPATH_LIMIT=0 HOTPATH_CPU=off
}

# reported EXPRESSION - of `rows`, by name, and `head`.
reported()
{
	python3 - "$HOTPATH_OUTPUT_PATH" "$1" <<-'EOF'
		import json, sys
		head = json.load(open(sys.argv[1]))["processes"]
		rows = {row["name"]: row for row in head["raw"]}
		for row in rows.values():
		    print(row)
		if not eval(sys.argv[2]):
		    sys.exit(f"not so: {sys.argv[2]}")
	EOF
}

@test "processes: a process between fork and exec counts for the program that follows" {
	"$HP_RUN" "$T/parent" 1000 "$T/child" 25 1 0 0 >"$BATS_TEST_TMPDIR/said"
	reported 'rows.keys() == {"parent", "child"}'
	reported 'rows["parent"]["runs"] == 1'
	reported 'rows["child"]["runs"] == 25'
	reported 'head["run_count"] == 26'
	reported 'head["unrecorded_count"] == 0'
}

@test "processes: children that do nothing count, also if this section is named alone" {
	compile forks -fno-instrument-functions <<-'EOF'
		#include <sys/wait.h>
		#include <unistd.h>
		int main(void)
		{
			for (int i = 0; i < 5; i++)
				if (!fork())
					_exit(0);
			while (wait(NULL) > 0)
				;
			return 0;
		}
	EOF
	HOTPATH_REPORT=processes HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report \
		LD_PRELOAD=$HP_LIB "$T/forks"
	[ "$(jq '.processes.raw[] | select(.name == "forks") | .runs' "$T/report")" = 6 ]
}

@test "processes: CPU time and the largest size are each program's own" {
	"$HP_RUN" "$T/parent" 90000000 "$T/child" 5 20 8 0 >"$BATS_TEST_TMPDIR/said"
	said=$(awk '{ sum += $1 } END { printf "%d", sum }' "$BATS_TEST_TMPDIR/said")
	# Besides its own account there are its start and its end.
	reported "$said <= rows['child']['cpu_ns'] <= 1.5 * $said"
	reported "rows['parent']['cpu_ns'] < rows['child']['cpu_ns'] + $said"
	# The kernel's part of an end takes CPU time after the last moment that a process can note.
	reported 'rows["child"]["wall_ns"] * 1.02 >= rows["child"]["cpu_ns"]'
	reported '8 << 20 <= rows["child"]["peak_rss_bytes"] < 40 << 20'
	reported 'rows["parent"]["peak_rss_bytes"] > 90000000'
	# 8 MB are 2048 pages, and the parent's 90 MB don't count for them.
	reported 'rows["child"]["minor_faults"] + rows["child"]["major_faults"] >= 5 * 16'
}

# The kernel keeps the largest size across vfork and exec.
@test "processes: the peak RSS is the program's own, not that of a larger one that started it" {
	cat >"$BATS_TEST_TMPDIR/start.py" <<-'EOF'
		import subprocess, sys, os
		large = b"x" * 90000000
		subprocess.run([sys.argv[2], sys.argv[3]], env=dict(os.environ, LD_PRELOAD=sys.argv[1],
			HOTPATH_OUTPUT_FORMAT="json", HOTPATH_OUTPUT_PATH=sys.argv[4]), check=True)
		child = int(subprocess.run(["awk", "/VmHWM/ { print $2 }", "/proc/self/status"],
			capture_output=True, check=True).stdout)
		print(child * 1024)
	EOF
	own=$(python3 "$BATS_TEST_TMPDIR/start.py" "$HP_LIB" "$(command -v awk)" 'BEGIN { exit 0 }' "$T/report")
	peak=$(jq .summary.peak_rss_bytes "$T/report")
	echo "awk without us $own, with us $peak"
	[ "$peak" -gt 0 ]
	[ "$peak" -lt $((own + 40000000)) ]
}

@test "processes: exit codes, and how many failed" {
	cat >"$BATS_TEST_TMPDIR/go" <<-'EOF'
		"$T/child" 0 0 0
		"$T/child" 0 0 0
		"$T/child" 0 0 7
		(exit 0)
	EOF
	"$HP_RUN" sh "$BATS_TEST_TMPDIR/go" >/dev/null
	reported 'rows["child"]["runs"] == 3'
	reported 'rows["child"]["failed"] == 1'
	reported 'rows["child"]["exit_status"] == "7"'
	reported 'rows["child"]["unknown"] == 0'
	reported 'rows["sh"]["failed"] == 0'
}

@test "processes: an image that ran before an exec is a separate run" {
	cat >"$BATS_TEST_TMPDIR/go" <<-'EOF'
		i=0
		while [ $i -lt 20000 ]; do i=$((i + 1)); done
		exec "$T/child" 10 0 3
	EOF
	run -3 "$HP_RUN" sh "$BATS_TEST_TMPDIR/go"
	reported 'rows["sh"]["runs"] == 1'
	reported 'rows["child"]["runs"] == 1'
	# The kernel's clock of the process continues across exec.
	reported "$output <= rows['child']['cpu_ns'] + rows['sh']['cpu_ns'] <= 1.5 * $output"
	reported 'rows["sh"]["cpu_ns"] > 0'
	reported 'rows["child"]["exit_status"] == "3"'
}

@test "processes: each gets its own row in a table of many" {
	for i in 1 2 3; do
		cp "$T/child" "$BATS_TEST_TMPDIR/child$i"
		echo "for i in 1 2 3 4 5 6 7 8 9 10; do '$BATS_TEST_TMPDIR/child$i' 0 0 0; done"
	done >"$BATS_TEST_TMPDIR/go"
	HOTPATH_OUTPUT_FORMAT=table HOTPATH_REPORT=processes "$HP_RUN" sh "$BATS_TEST_TMPDIR/go" >/dev/null
	cat "$HOTPATH_OUTPUT_PATH"
	grep -Eq '^child1 +10 ' "$HOTPATH_OUTPUT_PATH"
	grep -Eq '^child2 +10 ' "$HOTPATH_OUTPUT_PATH"
	grep -Eq '^child3 +10 ' "$HOTPATH_OUTPUT_PATH"
	grep -q '(31 runs, ' "$HOTPATH_OUTPUT_PATH"
}

@test "processes: the status of killed children is the one that their parent got, however it waited" {
	compile killer -fno-instrument-functions <<-'EOF'
		#include <signal.h>
		#include <stdlib.h>
		#include <sys/resource.h>
		#include <sys/syscall.h>
		#include <sys/wait.h>
		#include <unistd.h>
		/* killer PROGRAM...: each sleeps until it is killed, by SIGKILL, SIGTERM, SIGSEGV and SIGUSR1 in turn. */
		int main(int argc, char **argv)
		{
			static const int signals[] = { SIGKILL, SIGTERM, SIGSEGV, SIGUSR1 };
			int status, ready[2];
			siginfo_t info;
			char byte;

			for (int i = 1; i < argc; i++) {
				pid_t pid;

				if (pipe(ready) != 0 || (pid = fork()) < 0)
					return 1;
				if (!pid) {
					dup2(ready[1], 1);
					execl(argv[i], argv[i], "wait", NULL);
					_exit(127);
				}
				read(ready[0], &byte, 1);
				kill(pid, signals[(i - 1) % 4]);
				switch (i % 4) {
				case 0: waitpid(pid, &status, 0); break;
				case 1: wait4(-1, NULL, 0, NULL); break;
				case 2: waitid(P_PID, pid, &info, WEXITED); break;
				case 3: wait(NULL); break;
				}
			}
			return 0;
		}
	EOF
	compile victim -fno-instrument-functions <<-'EOF'
		#include <sys/syscall.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			(void)argv;
			write(1, "r", 1);
			if (argc == 1)
				syscall(SYS_exit_group, 5);	/* no one notices */
			for (;;)
				pause();
		}
	EOF
	for name in by_kill by_term by_segv by_usr1; do
		cp "$T/victim" "$BATS_TEST_TMPDIR/$name"
	done
	(cd "$BATS_TEST_TMPDIR" && "$HP_RUN" "$T/killer" ./by_kill ./by_term ./by_segv ./by_usr1 ./by_kill ./by_kill)
	reported '[rows[name]["exit_status"] for name in ("by_term", "by_segv", "by_usr1")] == ["SIGTERM", "SIGSEGV", "SIGUSR1"]'
	reported 'rows["by_kill"]["runs"] == rows["by_kill"]["failed"] == 3'
	reported 'not any(row["unknown"] or row["running"] for row in rows.values())'
	reported 'rows["killer"]["exit_status"] == "0"'
	"$HP_RUN" sh -c "'$T/victim' >/dev/null; true"
	reported 'rows["victim"]["failed"] == 1'
	reported 'rows["victim"]["exit_status"] == "5"'
}

@test "processes: an unknown CPU time is no zero, and shares are not of the known part alone" {
	compile silent -fno-instrument-functions <<-'EOF'
		#include <sys/syscall.h>
		#include <time.h>
		#include <unistd.h>
		int main(void)
		{
			do ; while (clock() < CLOCKS_PER_SEC / 10);
			syscall(SYS_exit_group, 0);	/* no one notices */
		}
	EOF
	"$HP_RUN" sh -c "'$T/silent'; true"
	reported 'head["missing_cpu_ns"] + (rows["silent"]["cpu_ns"] or 0) > 80000000'
	reported 'rows["sh"]["cpu_percent"] < 50'
	reported '(rows["silent"]["cpu_percent"] is None) == (rows["silent"]["cpu_ns"] is None)'
}

@test "processes: the CPU time of a program under a seccomp filter is no zero" {
	compile confined -fno-instrument-functions <<-'EOF'
		#include <linux/filter.h>
		#include <linux/seccomp.h>
		#include <sys/prctl.h>
		#include <time.h>
		int main(void)
		{
			struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
			struct sock_fprog program = { 1, &allow };

			if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
			    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
				return 9;
			do ; while (clock() < CLOCKS_PER_SEC / 20);
			return 0;
		}
	EOF
	"$T/confined" || skip "no seccomp filter here"
	"$HP_RUN" sh -c "'$T/confined'; '$T/confined'; true"
	reported 'rows["confined"]["runs"] == 2'
	reported 'rows["confined"]["failed"] == 0'
	reported 'rows["confined"]["cpu_ns"] != 0'
	reported 'head["missing_cpu_ns"] + (rows["confined"]["cpu_ns"] or 0) > 80000000'
	reported 'rows["sh"]["cpu_percent"] < 50'
}

@test "processes: unrecorded programs are mentioned" {
	command -v cc >/dev/null
	echo 'int main(void) { for (volatile long i = 0; i < 100000000; i++); return 0; }' |
		cc -O1 -static -o "$BATS_TEST_TMPDIR/still" -x c - || skip "no static C library"
	"$HP_RUN" "$T/parent" 1000 "$BATS_TEST_TMPDIR/still" 2
	reported 'rows["parent"]["runs"] == 1'
	reported 'head["unrecorded_count"] == 2'
	reported 'head["missing_cpu_ns"] > 20000000'
}

@test "processes: the wall time of a daemon ends with its last process" {
	compile daemon -fno-instrument-functions <<-'EOF'
		#include <time.h>
		#include <unistd.h>
		int main(void)
		{
			struct timespec t = { 0, 0 };

			if (fork())
				return 0;
			setsid();
			while (!t.tv_sec && t.tv_nsec < 300000000)
				clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
			return 0;
		}
	EOF
	over()
	{
		python3 - "$HOTPATH_OUTPUT_PATH" <<-'EOF'
			import json, sys
			whole = json.load(open(sys.argv[1]))["summary"]
			print(whole)
			assert whole["cpu_ns"] >= 290000000
			assert whole["wall_ns"] >= whole["cpu_ns"] / 1.5
		EOF
	}
	"$HP_RUN" "$T/daemon"
	# The report is written again when the last process has ended.
	eventually over
}

@test "processes: the wall time of a daemon that is killed includes its life" {
	compile killed -fno-instrument-functions <<-'EOF'
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <time.h>
		#include <unistd.h>
		static long now(void)
		{
			struct timespec t;
			clock_gettime(CLOCK_MONOTONIC, &t);
			return t.tv_sec * 1000000000L + t.tv_nsec;
		}
		int main(int argc, char **argv)
		{
			long start = now();
			FILE *out;

			if (argc != 2 || fork())
				return 0;
			setsid();
			while (now() - start < 1500000000L)
				;
			out = fopen(argv[1], "w");
			fprintf(out, "%ld\n", now() - start);
			fclose(out);
			return raise(SIGKILL);
		}
	EOF
	"$HP_RUN" "$T/killed" "$BATS_TEST_TMPDIR/lived"
	over()
	{
		python3 - "$HOTPATH_OUTPUT_PATH" "$BATS_TEST_TMPDIR/lived" <<-'EOF'
			import json, sys
			wall_ns = json.load(open(sys.argv[1]))["summary"]["wall_ns"]
			print(wall_ns, open(sys.argv[2]).read())
			assert wall_ns >= 0.95 * int(open(sys.argv[2]).read())
		EOF
	}
	eventually over
}

@test "processes: the first one is none of the copies that it makes" {
	compile copies -fno-instrument-functions <<-'EOF'
		#include <sys/wait.h>
		#include <time.h>
		#include <unistd.h>
		int main(void)
		{
			struct timespec t;

			for (int i = 0; i < 120; i++) {
				if (!fork()) {
					do
						clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
					while (t.tv_nsec < 2000000);
					_exit(0);
				}
				wait(NULL);
			}
			return 0;
		}
	EOF
	HOTPATH_REPORT=findings,processes "$HP_RUN" "$T/copies"
	reported 'rows["copies"]["runs"] == 121'
	jq -r '.findings[].text' "$HOTPATH_OUTPUT_PATH"
	[ "$(jq -r '.findings[].text' "$HOTPATH_OUTPUT_PATH" | grep -c 'forks 120 copies of itself')" -eq 1 ]
	HOTPATH_REPORT=short HOTPATH_OUTPUT_FORMAT=table HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/short "$HP_RUN" "$T/copies"
	cat "$BATS_TEST_TMPDIR/short"
	grep -q 'copies ×121  *.* each after the first' "$BATS_TEST_TMPDIR/short"
}

@test "processes: CPU time that killed children took unseen is not that of others" {
	compile unseen <<-'EOF'
		#include <signal.h>
		#include <sys/wait.h>
		#include <time.h>
		#include <unistd.h>
		static void burn(void)
		{
			struct timespec t = { 0, 0 };

			while (t.tv_nsec < 60000000)
				clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
		}
		int main(void)
		{
			if (!fork()) {
				burn();
				return raise(SIGKILL);
			}
			wait(NULL);
			return 0;
		}
	EOF
	# A scan in an hour: the child's CPU time is known only from its parent's.
	HOTPATH_THREADS_INTERVAL_MS=3600000 HOTPATH_REPORT=processes HOTPATH_OUTPUT_FORMAT=table \
		HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/table "$HP_RUN" "$T/unseen"
	cat "$BATS_TEST_TMPDIR/table"
	run ! grep -q 'Children that are not listed' "$BATS_TEST_TMPDIR/table"
	tr '\n' ' ' <"$BATS_TEST_TMPDIR/table" | grep -q "About .* more of the children's CPU time is in no row"
}

@test "processes: what a killed child's row has is not missing, too" {
	compile killed <<-'EOF'
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/resource.h>
		#include <sys/wait.h>
		#include <time.h>
		#include <unistd.h>
		int main(void)
		{
			struct timespec t = { 0, 0 };
			struct rusage use;

			if (!fork()) {
				free(malloc(100)); /* a process that does nothing has no row */
				while (t.tv_nsec < 900000000)
					clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
				return raise(SIGKILL);
			}
			wait(NULL);
			getrusage(RUSAGE_CHILDREN, &use);
			printf("%ld\n", (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000 +
					use.ru_utime.tv_usec + use.ru_stime.tv_usec);
			return 0;
		}
	EOF
	HOTPATH_REPORT=processes,threads HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/json \
		"$HP_RUN" "$T/killed" >"$BATS_TEST_TMPDIR/us"
	# The root's own time is some milliseconds.
	python3 - "$BATS_TEST_TMPDIR/json" "$BATS_TEST_TMPDIR/us" <<-'EOF'
		import json, sys
		a = json.load(open(sys.argv[1]))["processes"]
		us = int(open(sys.argv[2]).read())
		print(a["cpu_ns"], a.get("missing_cpu_ns"), us)
		sys.exit(a["cpu_ns"] + a.get("missing_cpu_ns", 0) > us * 1000 * 1.2)
	EOF
}

@test "processes: the number of failures is a lower bound if an end went unseen" {
	compile orphan <<-'EOF'
		#include <signal.h>
		#include <unistd.h>
		static int pair[2];
		static void rest(void)
		{
			(void)!write(pair[1], "", 1);
			pause();
		}
		int main(void)
		{
			char byte;
			pid_t child = pipe(pair) ? 0 : fork();

			if (!child)
				rest();
			(void)!read(pair[0], &byte, 1);
			kill(child, SIGKILL);
			return 3;
		}
	EOF
	# The report is written again when the last process has ended.
	HOTPATH_REPORT=processes "$HP_RUN" "$T/orphan" || [ $? -eq 3 ]
	eventually reported 'rows["orphan"]["failed"] == 1 and rows["orphan"]["unknown"] == 1'
	HOTPATH_REPORT=processes HOTPATH_OUTPUT_FORMAT=table HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/table \
		"$HP_RUN" "$T/orphan" || [ $? -eq 3 ]
	eventually grep -qE '^orphan .* ≥ 1 ' "$BATS_TEST_TMPDIR/table"
}
