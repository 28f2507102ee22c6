#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# ports.bats - the ports at which a running program's figures are available: who listens, who serves,
# and the program's priority.

load helper

setup_file()
{
	# Calls tick until it is killed; it prints "up" when it is ready.
	compile ticker <<'END'
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void tick(void) { usleep(2000); }
int main(void) { tick(); puts("up"); fflush(stdout); for (;;) tick(); }
END
	# Calls tick for a moment, and is then killed if requested; leaves a process that ticks
	# until it is killed.
	compile brief <<'END'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void tick(void) { usleep(2000); }
int main(int argc, char **argv)
{
	char how = argc > 1 ? argv[1][0] : 'e';
	for (int i = 0; i < 20; i++) tick();
	if (how == 'k') raise(SIGKILL);
	if (how == 'f') {
		pid_t pid = fork();
		if (pid == 0) { close(1); close(2); for (;;) tick(); }
		printf("%d\n", (int)pid);
	}
	return 0;
}
END
	# Binds the port, late if requested, and becomes the profiled program.
	cat >"$T/start" <<END
#!$(command -v python3)
import os, socket, sys
if len(sys.argv) > 3:
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("0.0.0.0", int(sys.argv[2])))
    os.set_inheritable(s.fileno(), True)
    sys.argv[3] = str(s.fileno())
os.execve(sys.argv[1], sys.argv[1:], dict(os.environ, LD_PRELOAD="$HP_LIB"))
END
	chmod +x "$T/start"
	# PORT: binds it when a line comes on stdin, and prints the result; PORT FD: listens at a bound
	# port.
	compile binder <<'END'
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char line[64];
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY) };
	int fd = argc > 2 ? atoi(argv[2]) : socket(AF_INET, SOCK_STREAM, 0);
	at.sin_port = htons((unsigned short)atoi(argv[1]));
	puts("up");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin)) return 2;
	errno = 7;
	int result = argc > 2 ? listen(fd, 5) : bind(fd, (struct sockaddr *)&at, sizeof(at));
	printf("fd %d bind %d errno %d %s\n", fd, result, errno, result ? strerror(errno) : "");
	if (!result) printf("listen %d\n", listen(fd, 5));
	fflush(stdout);
	return fgets(line, sizeof(line), stdin) ? 0 : 3;
}
END
}

setup()
{
	export HOTPATH_KEEP=0 HOTPATH_OUTPUT_FORMAT=none
	hotpath=$HP_BUILD/hotpath
	port=$(free_port)
	program=
}

teardown()
{
	[ -z "$program" ] || over "$program"
	reports_are_possible
}

# Ends a program of this shell without the shell's message.
over()
{
	kill -9 "$1" 2>/dev/null || true
	wait "$1" 2>/dev/null || true
}

free_port()
{
	python3 - <<'END'
import random, socket
while True:	# below the kernel's ephemeral ports
    with socket.socket() as s:
        try:
            s.bind(("0.0.0.0", random.randrange(10000, 32000)))
        except OSError:
            continue
        print(s.getsockname()[1])
        break
END
}

# start VARIABLE=VALUE... - the ticker: its pid in $program.
start()
{
	env LD_PRELOAD="$HP_LIB" "$@" "$T/ticker" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	program=$!
	eventually grep up "$BATS_TEST_TMPDIR/out"
}

# The port of the session of a pid; nothing = none yet.
port_of()
{
	"$hotpath" list 2>/dev/null | sed -n -E "s/.* $1 .*, port ([0-9]+)\$/\1/p" | grep .
}

pid_at()
{
	curl -s -m 20 "http://127.0.0.1:$1/profiler_status" |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])'
}

@test "ports: the first connection starts the server, and list and report say where" {
	start HOTPATH_METRICS_PORT="$port"
	eventually port_of "$program"
	[ "$(port_of "$program")" = "$port" ]
	[ "$(pid_at "$port")" = "$program" ]
	[ "$(pid_at "$port")" = "$program" ]
	HOTPATH_OUTPUT_FORMAT=table "$hotpath" report --session "$program" | grep "live .*:$port/"
	[ ! -s "$BATS_TEST_TMPDIR/err" ]
}

@test "ports: without a setting there is a port, and nothing is printed" {
	start
	eventually port_of "$program"
	[ "$(pid_at "$(port_of "$program")")" = "$program" ]
	[ ! -s "$BATS_TEST_TMPDIR/err" ]
}

@test "ports: a free port on request is printed" {
	start HOTPATH_METRICS_PORT=0
	eventually grep -q 'live figures: http://127.0.0.1:' "$BATS_TEST_TMPDIR/err"
	port=$(sed -n 's/.*:\([0-9]*\)\/$/\1/p' "$BATS_TEST_TMPDIR/err")
	[ "$(pid_at "$port")" = "$program" ]
}

@test "ports: a busy requested port is reported and replaced" {
	start HOTPATH_METRICS_PORT="$port"
	eventually port_of "$program"
	first=$program
	start HOTPATH_METRICS_PORT="$port"
	eventually grep -q 'http://' "$BATS_TEST_TMPDIR/err"
	grep "HOTPATH_METRICS_PORT=$port is busy" "$BATS_TEST_TMPDIR/err"
	eventually port_of "$program"
	[ "$(pid_at "$(port_of "$program")")" = "$program" ]
	[ "$(pid_at "$port")" = "$first" ]
	over "$first"
}

@test "ports: consecutive runs get the requested port" {
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/json HOTPATH_METRICS_PORT=$port
	for how in e e e e k k k k; do
		LD_PRELOAD=$HP_LIB "$T/brief" $how 2>>"$BATS_TEST_TMPDIR/err" || [ $? = 137 ]
		"$HP_RUN" "$T/brief" $how 2>>"$BATS_TEST_TMPDIR/err" || [ $? = 137 ]
	done
	cat "$BATS_TEST_TMPDIR/err"
	[ ! -s "$BATS_TEST_TMPDIR/err" ]
}

@test "ports: processes that outlive the program are served" {
	local child
	child=$(HOTPATH_METRICS_PORT=$port LD_PRELOAD=$HP_LIB "$T/brief" f 2>"$BATS_TEST_TMPDIR/err")
	answers()
	{
		curl -s -m 5 "http://127.0.0.1:$port/profiler_status"
	}
	eventually answers
	kill -9 "$child"
}

# Its threads work and wait while it answers, and if CPUs are sampled it runs on one of them.
@test "ports: the server is in no table of a program that switches too often to record each switch" {
	compile pingpong -fno-instrument-functions <<-'END'
		#include <pthread.h>
		#include <stdlib.h>
		#include <time.h>
		#include <unistd.h>
		static int there[2], back[2];
		static void *answer(void *unused)
		{
			for (char c; read(there[0], &c, 1) == 1;)
				write(back[1], &c, 1);
			return unused;
		}
		int main(int argc, char **argv)
		{
			pthread_t thread;
			char c = 0;
			(void)argc;
			if (pipe(there) || pipe(back) || pthread_create(&thread, NULL, answer, NULL))
				return 1;
			while (access(argv[1], F_OK) != 0) {
				for (int i = 0; i < 1000; i++) {
					write(there[1], &c, 1);
					read(back[0], &c, 1);
				}
			}
			close(there[1]);
			return pthread_join(thread, NULL) != 0;
		}
	END
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/json HOTPATH_METRICS_PORT=$port
	HOTPATH_REPORT=functions-cpu,offcpu,threads,processes HOTPATH_LIMIT=0 HOTPATH_KEEP=1 \
		"$HP_RUN" "$T/pingpong" "$BATS_TEST_TMPDIR/enough" 3>&- &
	program=$!
	# By then it has switched so often that switches are noted in bursts.
	switched()
	{
		curl -s -m 20 "http://127.0.0.1:$port/offcpu" |
			python3 -c 'import json, sys; assert sum(row["waits"] for row in json.load(sys.stdin)["raw"]) > 20000'
	}
	eventually switched
	for _ in 1 2 3; do
		curl -s -m 20 "http://127.0.0.1:$port/functions_cpu" >/dev/null
	done
	touch "$BATS_TEST_TMPDIR/enough"
	wait "$program"
	program=
	python3 - "$BATS_TEST_TMPDIR/json" <<-'END'
		import json, sys
		report = json.load(open(sys.argv[1]))
		assert {row["name"] for row in report["threads"]["raw"]} == {"pingpong"}
		assert {row["name"] for row in report["processes"]["raw"]} == {"pingpong"}
		for section in ("functions_cpu", "offcpu"):
		    names = [row["name"] for row in report[section]["raw"]]
		    ours = [name for name in names if name.startswith(
		        ("[libz", "[libdw", "[libelf", "[libmicrohttpd", "[libcjson", "inflate", "adler32", "hp_", "msort_with_tmp"))]
		    print(section, names)
		    assert not ours, (section, ours)
	END
	unset HOTPATH_OUTPUT_FORMAT HOTPATH_OUTPUT_PATH HOTPATH_METRICS_PORT
	# It does little outside the kernel, whose functions are marked in the table.
	if grep -q '"has_kernel": *true' "$BATS_TEST_TMPDIR/json"; then
		"$hotpath" report -r functions-cpu >"$BATS_TEST_TMPDIR/table"
		grep -Eq ' \[k\] +[0-9]' "$BATS_TEST_TMPDIR/table"
	fi
	"$hotpath" report --export folded >"$BATS_TEST_TMPDIR/folded" || [ ! -s "$BATS_TEST_TMPDIR/folded" ]
	run ! grep -E ';(hp_|question_answer|symbols_end)' "$BATS_TEST_TMPDIR/folded"
}

@test "ports: none if switched off" {
	start HOTPATH_METRICS_PORT="$port" HOTPATH_METRICS_SERVER_OFF=1
	looked()
	{
		"$hotpath" report --session "$program" -f json | grep -q '"thread_count":1'
	}
	eventually looked
	run port_of "$program"
	[ "$status" != 0 ]
	run curl -s -m 5 "http://127.0.0.1:$port/"
	[ "$status" = 7 ]
}

@test "ports: beyond this machine only with a token" {
	start HOTPATH_METRICS_PORT="$port" HOTPATH_METRICS_BIND=0.0.0.0
	eventually grep "reachable from other machines" "$BATS_TEST_TMPDIR/err"
	run curl -s -m 5 "http://127.0.0.1:$port/"
	[ "$status" = 7 ]
}

@test "ports: the program ends, and the port with it" {
	start HOTPATH_METRICS_PORT="$port"
	eventually port_of "$program"
	[ "$(pid_at "$port")" = "$program" ]
	over "$program"
	program=
	closed()
	{
		! curl -s -m 5 "http://127.0.0.1:$port/profiler_status"
	}
	eventually closed
}

@test "ports: a server that is killed is started again" {
	start HOTPATH_METRICS_PORT="$port"
	eventually port_of "$program"
	for _ in 1 2; do
		[ "$(pid_at "$port")" = "$program" ]
		server=$(ss -tlnpH "sport = :$port" | grep -o 'hotpath-live",pid=[0-9]*' | grep -o '[0-9]*$')
		kill -9 "$server"
		again()
		{
			[ "$(pid_at "$port")" = "$program" ]
		}
		eventually again
	done
	kill -0 "$program"
}

# bound PORT HOW [late] - output of a program that binds PORT while the sampler has it.
bound()
{
	coproc BINDER { HOTPATH_METRICS_PORT=$1 exec "$T/start" "$T/binder" "$1" $3 2>/dev/null 3>&-; }
	local pid=$BINDER_PID line
	read -r line <&"${BINDER[0]}"
	[ "$line" = up ] || return 1
	has_port()
	{
		[ "$(port_of "$pid")" = "$1" ]
	}
	eventually has_port "$1" || return 1
	[ "$2" != looked ] || [ "$(pid_at "$1")" = "$pid" ] || return 1
	echo go >&"${BINDER[1]}"
	read -r line <&"${BINDER[0]}"
	echo "$line"
	moved()
	{
		port_of "$pid" | grep -v -x "$1"
	}
	eventually moved "$1" || return 1
	[ "$(pid_at "$(port_of "$pid")")" = "$pid" ] || return 1
	echo end >&"${BINDER[1]}"
	wait "$pid"
}

@test "ports: a program that wants the port gets it, and errno stays" {
	run bound "$port" unseen
	echo "$output"
	[ "$status" = 0 ]
	plain=$(printf 'go\nend\n' | "$T/binder" "$port" | sed -n '2s/ *$//p')
	echo "plain: $plain"
	[ "${output#fd * }" = "${plain#fd * }" ]
	[[ $output == *"bind 0 errno 7"* ]]
}

@test "ports: a program that wants the port gets it from a server that runs, too" {
	run bound "$port" looked
	echo "$output"
	[ "$status" = 0 ]
	[[ $output == *"bind 0 errno 7"* ]]
}

@test "ports: a program that has bound the port can listen, though the sampler does" {
	run bound "$port" looked late
	echo "$output"
	[ "$status" = 0 ]
	[[ $output == *"bind 0 errno 7"* ]]
}

@test "ports: a port of another program is busy as usual" {
	python3 - "$T/binder" "$HP_LIB" <<'END'
import os, socket, subprocess, sys
other = socket.socket()
other.bind(("0.0.0.0", 0))
other.listen()
port = str(other.getsockname()[1])
says = [subprocess.run([sys.argv[1], port], input="go\nend\n", text=True, stdout=subprocess.PIPE,
                       env=dict(os.environ, **more)).stdout
        for more in ({}, {"LD_PRELOAD": sys.argv[2]})]
print(says)
assert says[0] == says[1] and "bind -1" in says[0]
END
}
