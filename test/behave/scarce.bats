#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# scarce.bats - live figures where descriptors and ports are scarce, of several programs at once, and whoever of
# program, helper, server and client is killed.

load helper

setup_file()
{
	compile ticker <<'END'
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void tick(void) { usleep(2000); }
int main(void) { tick(); puts("up"); fflush(stdout); for (;;) tick(); }
END
	compile counter <<'END'
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
static __attribute__((noinline)) void work(void) { __asm__ volatile(""); }
int main(int argc, char **argv)
{
	volatile uint64_t *words = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open(argv[argc - 1], O_RDWR), 0);
	while (!words[1]) { work(); words[0]++; }
	return 3;
}
END
}

setup()
{
	export HOTPATH_KEEP=0 HOTPATH_OUTPUT_FORMAT=none
	programs=()
}

teardown()
{
	local pid
	for pid in "${programs[@]}"; do
		kill -9 "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	reports_are_possible
}

# start NAME [ULIMIT ARGUMENT...] - the ticker, with its own port: its pid in $program, the port in $port, its
# stderr in $err.
start()
{
	local name=$1
	shift
	err=$BATS_TEST_TMPDIR/$name.err
	(
		[ $# = 0 ] || ulimit "$@"
		exec env LD_PRELOAD="$HP_LIB" HOTPATH_METRICS_PORT=0 "$T/ticker" >"$BATS_TEST_TMPDIR/$name.out" 2>"$err" 3>&-
	) &
	program=$!
	programs+=("$program")
	eventually grep up "$BATS_TEST_TMPDIR/$name.out"
	eventually grep 'live figures' "$err"
	port=$(sed -n 's/.*:\([0-9]*\)\/$/\1/p' "$err")
}

ask()
{
	curl -s -m 30 "http://127.0.0.1:$1/$2"
}

pid_at()
{
	ask "$1" profiler_status | python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])'
}

# The server behind a port.
server_at()
{
	ss -tlnpH "sport = :$1" | grep -o 'hotpath-live",pid=[0-9]*' | grep -o '[0-9]*$'
}

# The number of its next descriptor: with this as the limit it gets none.
next_file_of()
{
	local fd=0
	while [ -e "/proc/$1/fd/$fd" ]; do
		fd=$((fd + 1))
	done
	echo "$fd"
}

# Nobody is connected any more, on either side.
is_alone()
{
	[ -z "$(ss -tnH "sport = :$1")" ]
}

@test "scarce: a program that may open few files is not served, and says so" {
	start few -n 8
	[ -z "$port" ]
	grep -F 'cannot listen at 127.0.0.1: Too many open files; raise the limit of open files (ulimit -n)' "$err"
	start more -n 11
	[ -n "$port" ]
	run -56 ask "$port" profiler_status	# reset, after three tries
	eventually grep -F 'cannot start the server, 3 attempts: Too many open files; it may open 11 files (ulimit -n), and needs 32' "$err"
	kill -0 "$program"
	start enough -n 32
	[ "$(pid_at "$port")" = "$program" ]
	! grep 'no server' "$err"
}

@test "scarce: a server that ran out of descriptors continues when some are free" {
	start one
	[ "$(pid_at "$port")" = "$program" ]
	server=$(server_at "$port")
	eventually is_alone "$port"
	prlimit --pid "$server" --nofile="$(next_file_of "$server"):4096"
	ask "$port" profiler_status >"$BATS_TEST_TMPDIR/late" 3>&- &
	client=$!
	waits()	# it is connected, but not accepted
	{
		ss -tlnH "sport = :$port" | awk '{ exit !($2 > 0) }'
	}
	eventually waits
	kill -0 "$client"
	# It retries now and then. Load makes the interval between two tries longer, never shorter.
	strace -f -qq -ttt -e trace=accept4 -o "$BATS_TEST_TMPDIR/tries" -p "$server" 2>/dev/null 3>&- &
	tracer=$!
	tried()
	{
		[ "$(grep -c EMFILE "$BATS_TEST_TMPDIR/tries")" -ge 4 ]
	}
	eventually tried
	kill -INT "$tracer"
	wait "$tracer" || true
	cat "$BATS_TEST_TMPDIR/tries"
	awk '/EMFILE/ { if (n++ && $2 - last < 0.09) early = 1; last = $2 } END { exit early }' "$BATS_TEST_TMPDIR/tries"
	kill -0 "$client"
	prlimit --pid "$server" --nofile=1024:4096
	wait "$client"
	grep "\"pid\":$program," "$BATS_TEST_TMPDIR/late"
	eventually is_alone "$port"
	# One, for the connection: its owner cannot be determined.
	prlimit --pid "$server" --nofile="$(($(next_file_of "$server") + 1)):4096"
	ask "$port" profiler_status >"$BATS_TEST_TMPDIR/unknown"
	cat "$BATS_TEST_TMPDIR/unknown"
	grep 'Cannot find the connection'\''s owner: Too many open files' "$BATS_TEST_TMPDIR/unknown"
	prlimit --pid "$server" --nofile=1024:4096
	[ "$(pid_at "$port")" = "$program" ]
	[ "$(server_at "$port")" = "$server" ]
}

@test "scarce: a helper that ran out of descriptors starts the server when some are free" {
	start one
	helper=$(ss -tlnpH "sport = :$port" | grep -o 'pid=[0-9]*' | grep -o '[0-9]*$')
	prlimit --pid "$helper" --nofile="$(next_file_of "$helper"):4096"
	ask "$port" profiler_status >"$BATS_TEST_TMPDIR/late" 3>&- &
	client=$!
	# The first try, which fails at once, is caused by a client.
	waits()
	{
		ss -tlnH "sport = :$port" | awk '{ exit !($2 > 0) }'
	}
	eventually waits
	prlimit --pid "$helper" --nofile=1024:4096
	wait "$client"
	grep "\"pid\":$program," "$BATS_TEST_TMPDIR/late"
	! grep 'no server' "$err"
}

@test "scarce: if no port is left, a message says so, and a named one is used" {
	unshare -n true 2>/dev/null || skip "no network namespace of one's own is allowed here"
	cat >"$T/alone" <<'END'
import atexit, fcntl, os, pty, select, socket, struct, subprocess, sys
build, program, library = sys.argv[1:]
one = socket.socket()
fcntl.ioctl(one, 0x8914, struct.pack("16sh14s", b"lo", 0x41, b""))	# SIOCSIFFLAGS: lo is up
open("/proc/sys/net/ipv4/ip_local_port_range", "w").write("40000 40003")
held = []
for port in range(40000, 40004):
    taken = socket.socket()
    taken.bind(("127.0.0.1", port))
    taken.listen()
    held.append(taken)

def said(port):
    """What the program's first line on stderr is, and the program."""
    child = subprocess.Popen([program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=dict(os.environ, LD_PRELOAD=library, HOTPATH_METRICS_PORT=port))
    atexit.register(child.kill)
    assert child.stdout.readline() == "up\n"
    return child, child.stderr

FULL = "cannot listen at 127.0.0.1: Address already in use; all ports of net.ipv4.ip_local_port_range are taken"
for port, lines in (("0", [FULL]), ("40000", ["HOTPATH_METRICS_PORT=40000 is busy; using another port:", FULL])):
    child, stderr = said(port)
    for line in lines:
        got = stderr.readline()
        print(port, got, end="")
        assert line in got
    served = subprocess.run([f"{build}/hotpath", "serve", str(child.pid), "--port", port], capture_output=True, text=True)
    print(served.returncode, served.stderr, end="")
    assert served.returncode == 1 and FULL in served.stderr and not served.stdout
    assert ("is busy" in served.stderr) == (port != "0")
    child.kill()
    child.wait()
child, stderr = said("6770")
server = subprocess.Popen([f"{build}/hotpath", "serve", str(child.pid), "--port", "6780"], stdout=subprocess.PIPE, text=True)
atexit.register(server.kill)
assert server.stdout.readline() == "http://127.0.0.1:6780/\n"
asker = socket.socket()
asker.bind(("127.0.0.1", 50000))	# a client that needs none of the kernel's ports
asker.connect(("127.0.0.1", 6780))
asker.sendall(b"GET /profiler_status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
answer = b""
while data := asker.recv(65536):
    answer += data
assert b'"pid":%d,' % child.pid in answer, answer
# A client that needs one of the kernel's ports learns that none exists.
master, slave = pty.openpty()
fcntl.ioctl(slave, 0x5414, struct.pack("4H", 24, 80, 0, 0))	# TIOCSWINSZ
console = subprocess.Popen([f"{build}/hotpath", "console", "--metrics-port", "6780"], stdin=slave, stdout=slave, stderr=slave,
                           env=dict(os.environ, TERM="xterm"))
atexit.register(console.kill)
shown = b""
while b"Cannot assign requested address" not in shown:
    assert select.select([master], [], [], 60)[0], shown
    shown += os.read(master, 65536)
console.kill()
END
	run unshare -n python3 "$T/alone" "$HP_BUILD" "$T/ticker" "$HP_LIB"
	echo "$output"
	[ "$status" = 0 ]
}

@test "scarce: two concurrent programs, each with its own figures" {
	start one
	first=$program first_port=$port
	start two
	[ "$first_port" != "$port" ]
	for _ in 1 2 3; do
		[ "$(pid_at "$first_port")" = "$first" ]
		[ "$(pid_at "$port")" = "$program" ]
	done
	ask "$port" sessions | python3 -c '
import json, sys
pids = [session["pid"] for session in json.load(sys.stdin)["data"]]
sys.exit(not {int(pid) for pid in sys.argv[1:]} <= set(pids))' "$first" "$program"
	kill -9 "$first"
	closed()
	{
		! ask "$first_port" profiler_status
	}
	eventually closed
	[ "$(pid_at "$port")" = "$program" ]
}

@test "scarce: whichever process is killed, the others continue" {
	run -0 timeout 500 python3 "$ROOT/test/behave/kills_live.py" "$HP_BUILD" "$T/counter" \
		"$([ -n "$HP_TEST_FULL" ] && echo 200 || echo 16)"
	echo "$output"
}
