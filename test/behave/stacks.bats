#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# stacks.bats - `hotpath stacks`: right stacks, and a process that notices nothing.

load helper

setup_file()
{
	"$HP_BUILD/hotpath" stacks $$ >/dev/null 2>"$T/why" || true
	if grep -q -e libunwind -e forbid "$T/why"; then
		head -n 1 "$T/why" >"$T/impossible"
		return
	fi

	# Eight threads (or as many as the argument says) at one place, one at another, all of them
	# forever.
	compile crowd -O0 -fno-instrument-functions <<-'END'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		static pthread_barrier_t there;
		static void sleeper(void) { pthread_barrier_wait(&there); for (;;) pause(); }
		static void *worker(void *unused) { (void)unused; sleeper(); return NULL; }
		static void other_way(void) { sleeper(); }
		static void *other(void *unused) { (void)unused; other_way(); return NULL; }
		int main(int argc, char **argv)
		{
			int count = argc > 1 ? atoi(argv[1]) : 8;
			pthread_attr_t small;
			pthread_t thread;
			pthread_attr_init(&small);
			pthread_attr_setstacksize(&small, 65536);
			pthread_barrier_init(&there, NULL, (unsigned)count + 2);
			for (int i = 0; i < count; i++)
				pthread_create(&thread, &small, worker, NULL);
			pthread_create(&thread, &small, other, NULL);
			pthread_barrier_wait(&there);
			puts("there");
			fflush(stdout);
			for (;;) pause();
		}
	END

	# Waits that the kernel does not restart itself, one per thread; prints how often each
	# failed.
	compile waits -O1 -fno-instrument-functions -D_GNU_SOURCE <<-'END'
		#include <errno.h>
		#include <pthread.h>
		#include <signal.h>
		#include <stdatomic.h>
		#include <stdio.h>
		#include <sys/epoll.h>
		#include <sys/eventfd.h>
		#include <sys/sem.h>
		#include <sys/socket.h>
		#include <sys/time.h>
		#include <time.h>
		#include <unistd.h>
		static atomic_int ready, broken;
		static int event, sockets[2], semaphore;
		static void check(long got, const char *what)
		{
			if (got < 0 && errno == EINTR) {
				printf("EINTR from %s\n", what);
				broken++;
			}
		}
		static void *in_epoll(void *unused)
		{
			struct epoll_event e = { .events = EPOLLIN };
			int fd = epoll_create1(0);
			(void)unused;
			epoll_ctl(fd, EPOLL_CTL_ADD, event, &e);
			ready++;
			check(epoll_wait(fd, &e, 1, -1), "epoll_wait");
			return NULL;
		}
		static void *in_epoll_timed(void *unused)
		{
			struct epoll_event e = { .events = EPOLLIN };
			int fd = epoll_create1(0);
			(void)unused;
			epoll_ctl(fd, EPOLL_CTL_ADD, event, &e);
			ready++;
			check(epoll_wait(fd, &e, 1, 100000), "epoll_wait with a limit");
			return NULL;
		}
		static void *in_semop(void *unused)
		{
			struct sembuf one = { 0, -1, 0 };
			(void)unused;
			ready++;
			check(semop(semaphore, &one, 1), "semop");
			return NULL;
		}
		static void *in_recv(void *unused)
		{
			struct timeval limit = { 100, 0 };
			char c;
			(void)unused;
			setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
			ready++;
			check(recv(sockets[0], &c, 1, 0), "recv with a limit");
			return NULL;
		}
		static void *in_sigwait(void *unused)
		{
			struct timespec limit = { 100, 0 };
			sigset_t set;
			(void)unused;
			sigemptyset(&set);
			sigaddset(&set, SIGRTMIN);
			ready++;
			check(sigtimedwait(&set, NULL, &limit), "sigtimedwait");
			return NULL;
		}
		static void *in_nanosleep(void *done)
		{
			struct timespec slice = { 100, 0 };
			(void)done;
			ready++;
			check(nanosleep(&slice, NULL), "nanosleep");
			return NULL;
		}
		int main(void)
		{
			void *(*const all[])(void *) = { in_epoll, in_epoll_timed, in_semop, in_recv, in_sigwait };
			pthread_t threads[5], sleeper;
			sigset_t set;
			char c = 0;
			sigemptyset(&set);
			sigaddset(&set, SIGRTMIN);
			sigprocmask(SIG_BLOCK, &set, NULL);
			event = eventfd(0, 0);
			semaphore = semget(IPC_PRIVATE, 1, 0600);
			socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
			for (int i = 0; i < 5; i++)
				pthread_create(&threads[i], NULL, all[i], NULL);
			pthread_create(&sleeper, NULL, in_nanosleep, NULL);
			while (ready < 6)
				usleep(1000);
			puts("there");
			fflush(stdout);
			while (read(0, &c, 1) < 0)
				check(-1, "read");
			struct sembuf one = { 0, 1, 0 };
			semop(semaphore, &one, 1);
			eventfd_write(event, 1);
			send(sockets[1], &c, 1, 0);
			pthread_kill(threads[4], SIGRTMIN);
			for (int i = 0; i < 5; i++)
				pthread_join(threads[i], NULL);
			semctl(semaphore, 0, IPC_RMID);
			printf("broken %d\n", broken);
			return broken != 0;
		}
	END

	# Counts queued signals, while threads start and end.
	compile busy -O1 -fno-instrument-functions -D_GNU_SOURCE <<-'END'
		#include <pthread.h>
		#include <signal.h>
		#include <stdatomic.h>
		#include <stdio.h>
		#include <unistd.h>
		static atomic_int came, over;
		static void handler(int number) { (void)number; came++; }
		static void *brief(void *unused) { (void)unused; return NULL; }
		static void *maker(void *unused)
		{
			pthread_t thread;
			(void)unused;
			while (!over)
				if (pthread_create(&thread, NULL, brief, NULL) == 0)
					pthread_join(thread, NULL);
			return NULL;
		}
		int main(void)
		{
			struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
			union sigval none = { 0 };
			pthread_t thread;
			int sent = 0;
			char c;
			sigaction(SIGRTMIN, &action, NULL);
			pthread_create(&thread, NULL, maker, NULL);
			puts("there");
			fflush(stdout);
			alarm(100);
			pthread_t us = pthread_self();
			(void)us;
			for (int i = 0; i < 20000; i++) {
				while (sigqueue(getpid(), SIGRTMIN, none) < 0)
					;
				sent++;
				if (i % 100 == 0)
					usleep(100);
			}
			while (read(0, &c, 1) < 0)
				;
			over = 1;
			pthread_join(thread, NULL);
			printf("%d of %d\n", came, sent);
			return came != sent;
		}
	END

	# In a handler on its own stack, below three functions.
	compile handler -O0 -fno-instrument-functions -D_GNU_SOURCE <<-'END'
		#include <signal.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		static void deep_in_handler(void) { puts("there"); fflush(stdout); for (;;) pause(); }
		static void on_signal(int number) { (void)number; deep_in_handler(); }
		static void innermost(int depth) { if (depth) innermost(depth - 1); else raise(SIGUSR1); }
		static void middle(void) { innermost(3); }
		int main(void)
		{
			stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
			struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
			sigaltstack(&stack, NULL);
			sigaction(SIGUSR1, &action, NULL);
			middle();
			return 0;
		}
	END

	# Two threads wait for each other's lock.
	compile dead -O1 <<-'END'
		#include <pthread.h>
		#include <stdio.h>
		#include <unistd.h>
		static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
		static pthread_barrier_t both;
		static void *forwards(void *unused)
		{
			pthread_mutex_lock(&first);
			pthread_barrier_wait(&both);
			pthread_mutex_lock(&second);
			return unused;
		}
		static void *backwards(void *unused)
		{
			pthread_mutex_lock(&second);
			pthread_barrier_wait(&both);
			pthread_mutex_lock(&first);
			return unused;
		}
		int main(void)
		{
			pthread_t a, b;
			pthread_barrier_init(&both, NULL, 2);
			pthread_create(&a, NULL, forwards, NULL);
			pthread_create(&b, NULL, backwards, NULL);
			puts("there");
			fflush(stdout);
			pthread_join(a, NULL);
			return 0;
		}
	END
}

setup()
{
	[ ! -e "$T/impossible" ] || skip "$(cat "$T/impossible")"
}

teardown()
{
	exec 9>&-
	if [ "${pid:-}" ]; then
		kill -9 "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	fi
	reports_are_possible
}

# start PROGRAM... - in the background, as $pid, with a pipe to its stdin at descriptor 9.
start()
{
	# A program before it, or its report, may still write to the old files.
	rm -f "$T/pipe" "$T/said" "$T/err"
	mkfifo "$T/pipe"
	"$@" <"$T/pipe" >"$T/said" 2>"$T/err" 3>&- 9>&- &
	pid=$!
	exec 9>"$T/pipe"
	eventually grep -qx there "$T/said"
}

# waits_alike COUNT - this many threads are at the same place, which they announced a little
# earlier.
waits_alike()
{
	"$HP_BUILD/hotpath" stacks --json "$pid" >"$T/alike.json"
	[ "$(jq '.stacks[0].count' "$T/alike.json")" = "$1" ] &&
		[ "$(jq '.stacks | length' "$T/alike.json")" = 3 ]
}

@test "stacks: equal ones are printed once, with source lines" {
	start "$T/crowd"
	eventually waits_alike 8
	"$HP_BUILD/hotpath" stacks "$pid" >"$T/out"
	head -n 1 "$T/out" | grep -E "^crowd, pid $pid: 10 threads, 3 different stacks; each was stopped for .* \(median\), .* at most$"
	grep -A 3 '^8 threads: crowd [0-9]' "$T/out" >"$T/eight"
	grep -E '^ +sleeper +crowd.c:[0-9]+$' "$T/eight"
	grep -E '^ +worker +crowd.c:[0-9]+$' "$T/eight"
	grep -E '^ +other_way +crowd.c:[0-9]+$' "$T/out"
	[ "$(wc -l <"$T/out")" -le 24 ]
}

@test "stacks: JSON has every thread once, and every frame" {
	start "$T/crowd"
	eventually waits_alike 8
	"$HP_BUILD/hotpath" stacks --json "$pid" >"$T/out.json"
	jq -r '.stacks[].threads[].tid' "$T/out.json" | sort >"$T/told"
	ls "/proc/$pid/task" | sort >"$T/true"
	diff "$T/true" "$T/told"
	[ "$(jq '.thread_count' "$T/out.json")" = 10 ]
	[ "$(jq -r '.stacks[0] | .count, ([.frames[].function] | index("sleeper") + 1 - index("worker")), .end' "$T/out.json" | tr '\n' ' ')" = "8 0 whole " ]
}

@test "stacks: 1,000 threads" {
	[ "$(ulimit -u)" = unlimited ] || [ "$(ulimit -u)" -gt 3000 ] || skip "too few threads allowed: $(ulimit -u)"
	start "$T/crowd" 1000
	eventually waits_alike 1000
	"$HP_BUILD/hotpath" stacks --json "$pid" >"$T/out.json"
	[ "$(jq '.stacks[0].count' "$T/out.json")" = 1000 ]
	[ "$(jq '.thread_count' "$T/out.json")" = 1002 ]
}

# main_has_ended - the first thread of $pid has ended, and others go on.
main_has_ended()
{
	grep -q '^State:.Z' "/proc/$pid/task/$pid/status"
}

@test "stacks: threads that go on after pthread_exit in main" {
	compile last -O0 -fno-instrument-functions <<-'END'
		#include <pthread.h>
		#include <stdio.h>
		#include <unistd.h>
		static void *goes_on(void *unused) { puts("there"); fflush(stdout); for (;;) pause(); return unused; }
		int main(void)
		{
			pthread_t thread;
			pthread_create(&thread, NULL, goes_on, NULL);
			pthread_exit(NULL);
		}
	END
	start "$T/last"
	eventually main_has_ended
	"$HP_BUILD/hotpath" stacks "$pid" | tee "$T/out"
	grep -E '^ +goes_on +last.c:[0-9]+$' "$T/out"
	[ "$("$HP_BUILD/hotpath" stacks --json "$pid" | jq '.thread_count')" = 1 ]
}

@test "stacks: a mapped file replaced by a pipe, a device, a folder or nonsense" {
	local what
	gcc -shared -fPIC -g -o "$T/went.so" -x c - <<-'END'
		#include <unistd.h>
		void went(void) { for (;;) pause(); }
	END
	compile goes -O0 -fno-instrument-functions <<-'END'
		#include <dlfcn.h>
		#include <stdio.h>
		int main(int argc, char **argv)
		{
			void *file = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
			void (*went)(void) = file ? (void (*)(void))dlsym(file, "went") : NULL;
			if (!went) return 1;
			puts("there");
			fflush(stdout);
			went();
			return 0;
		}
	END
	start "$T/goes" "$T/went.so"
	eventually grep -q '^State:.S' "/proc/$pid/status"
	"$HP_BUILD/hotpath" stacks "$pid" | grep -q ' went '
	for what in 'mkfifo' 'ln -s /dev/zero' 'mkdir' 'ln -s /proc/self/exe' 'true'; do
		rm -rf "$T/went.so"
		$what "$T/went.so"
		timeout 60 "$HP_BUILD/hotpath" stacks "$pid" >"$T/out.txt"
		grep -q '\[went.so\]' "$T/out.txt"
		grep -q ' main ' "$T/out.txt"
	done
}

@test "stacks: a stopped process stays stopped, and continues on SIGCONT" {
	start "$T/crowd"
	kill -STOP "$pid"
	eventually is_stopped "$pid"
	"$HP_BUILD/hotpath" stacks --json "$pid" >"$T/out.json"
	[ "$(jq '.thread_count' "$T/out.json")" = 10 ]
	eventually is_stopped "$pid"
	kill -CONT "$pid"
	run ! is_stopped "$pid"
}

@test "stacks: no system call fails because of it" {
	start "$T/waits"
	for i in $(seq 60); do
		"$HP_BUILD/hotpath" stacks "$pid" >"$T/out"
	done
	echo >&9
	wait "$pid"
	pid=
	[ "$(tail -n 1 "$T/said")" = "broken 0" ]
}

@test "stacks: no signal is lost, and short-lived threads are no error" {
	start "$T/busy"
	for i in $(seq 40); do
		"$HP_BUILD/hotpath" stacks "$pid" >"$T/out"
	done
	echo >&9
	wait "$pid"
	pid=
	[ "$(tail -n 1 "$T/said")" = "20000 of 20000" ]
}

@test "stacks: killed half-way, it leaves no thread standing" {
	start "$T/crowd" 300
	for i in $(seq 30); do
		"$HP_BUILD/hotpath" stacks "$pid" >"$T/out" &
		sleep "0.00$((i % 10))"
		kill -9 $! 2>/dev/null || true
		wait $! 2>/dev/null || true
	done
	run ! grep -q '^State:[[:blank:]]*[tT]' /proc/"$pid"/task/*/status
	"$HP_BUILD/hotpath" stacks --json "$pid" >"$T/out.json"
	[ "$(jq '.stacks[0].count' "$T/out.json")" = 300 ]
}

@test "stacks: from a handler on its own stack to what it interrupted" {
	start "$T/handler"
	"$HP_BUILD/hotpath" stacks --all "$pid" >"$T/out"
	awk '{ print $1 }' "$T/out" | grep -x -e deep_in_handler -e on_signal -e innermost -e middle -e main >"$T/functions"
	printf '%s\n' deep_in_handler on_signal innermost innermost innermost innermost middle main | diff - "$T/functions"
}

# As C++, whose names have parameters; they are left out of places.
@test "stacks: a recorded process shows who waits for whom, and what each thread holds" {
	g++ -x c++ -g -O1 -o "$T/deadlock" "$T/dead.c" -pthread
	start "$HP_RUN" "$T/deadlock"
	program=$(pgrep -f "^$T/deadlock" | head -n 1)
	eventually sh -c "'$HP_BUILD/hotpath' stacks $program >'$T/out' && [ \$(grep -c ' waits for mutex ' '$T/out') = 2 ]"
	kill -9 "$program"
	grep -E '^note +deadlock: thread [0-9]+ waits for .* at (forwards|backwards) \(dead.c:[0-9]+\),$' "$T/out"
	grep -E '^  [0-9]+ waits for mutex second since .*; held by [0-9]+ deadlock, got at backwards \(dead.c:[0-9]+\)$' "$T/out"
	grep -E '^  [0-9]+ waits for mutex first since .*; held by [0-9]+ deadlock, got at forwards \(dead.c:[0-9]+\)$' "$T/out"
	grep -E '^  [0-9]+ holds mutex first, got at forwards \(dead.c:[0-9]+\)' "$T/out"
	run ! grep -q libhotpath "$T/out"
}

# Programs at rest: a deadlock, 1,000 threads, one in a signal handler, node, and one in Rust.
@test "stacks: gdb and eu-stack have the same frames" {
	only_in_full
	command -v gdb >/dev/null || skip "no gdb"
	command -v eu-stack >/dev/null || skip "no eu-stack"
	cat >"$T/resting.rs" <<-'END'
		use std::sync::{Arc, Barrier};
		fn deep(n: u32, there: &Barrier) {
			if n > 0 { return std::hint::black_box(deep(n - 1, there)); }
			there.wait();
			loop { std::thread::park(); }
		}
		fn main() {
			let there = Arc::new(Barrier::new(5));
			for n in 0..4 { let there = there.clone(); std::thread::spawn(move || deep(n * 5, &there)); }
			there.wait();
			println!("there");
			loop { std::thread::park(); }
		}
	END
	local programs=("$T/dead" "$T/crowd 1000" "$T/handler") program
	! command -v rustc >/dev/null || { rustc -g -O -o "$T/resting" "$T/resting.rs" && programs+=("$T/resting"); }
	! command -v node >/dev/null || programs+=("node -e console.log('there');setInterval(()=>{},1e9)")
	for program in "${programs[@]}"; do
		start $program
		eventually python3 "$ROOT/test/behave/stacks_beside.py" "$HP_BUILD/hotpath" "$pid"
		python3 "$ROOT/test/behave/stacks_beside.py" "$HP_BUILD/hotpath" "$pid" >&3
		kill -9 "$pid"
		wait "$pid" 2>/dev/null || true
		exec 9>&-
	done
}

# shapes FILE - how many threads are at each place, and the functions that lead there.
shapes()
{
	jq -c '[.stacks[] | [.count, [.frames[].function]]] | sort' "$1"
}

@test "stacks: HTTP and MCP answer like the command, and only with the token" {
	start env LD_PRELOAD="$HP_LIB" HOTPATH_METRICS_PORT=0 HOTPATH_METRICS_AUTH_TOKEN=sesame \
		HOTPATH_MCP_PORT=0 HOTPATH_MCP_AUTH_TOKEN=sesame "$T/crowd"
	eventually waits_alike 8
	eventually grep -q 'MCP: http' "$T/err"
	"$HP_BUILD/hotpath" stacks --json --all "$pid" >"$T/command.json"
	url=$(sed -n 's|.* \(http://[^ ]*\)/$|\1|p' "$T/err" | head -n 1)
	[ "$(curl -s -o /dev/null -w '%{http_code}' "$url/stacks")" = 401 ]
	curl -s -m 20 -H 'Authorization: sesame' "$url/stacks" >"$T/http.json"
	curl -s -m 20 -H 'Authorization: sesame' "$(sed -n 's|.* MCP: \(http.*\)/$|\1/mcp|p' "$T/err")" -d \
		'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stacks","arguments":{}}}' |
		jq '.result.structuredContent' >"$T/mcp.json"
	shapes "$T/command.json" >"$T/command.shapes"
	shapes "$T/http.json" | diff "$T/command.shapes" -
	shapes "$T/mcp.json" | diff "$T/command.shapes" -
	grep -q '\[8,\[.*"sleeper","worker"' "$T/command.shapes"
}

@test "stacks: an impossible request gets one line with the reason" {
	start "$T/crowd"
	run -2 "$HP_BUILD/hotpath" stacks
	[ "${#lines[@]}" = 1 ]
	run -2 "$HP_BUILD/hotpath" stacks nonsense
	[ "${#lines[@]}" = 1 ]
	run -1 "$HP_BUILD/hotpath" stacks 2147483000
	[ "$output" = "hotpath: no process 2147483000" ]
	strace -qq -f -p "$pid" -o "$T/trace" &
	eventually grep -q '^TracerPid:[[:blank:]]*[1-9]' "/proc/$pid/status"
	run -1 "$HP_BUILD/hotpath" stacks "$pid"
	kill $!
	[ "${#lines[@]}" = 1 ]
	[[ $output == "hotpath: process $pid is being traced by process $!"* ]]
}

@test "stacks: no more rights than the user has" {
	[ "$(id -u)" = 0 ] || skip "not root here"
	start "$T/crowd"
	mkdir "$T/copy"
	cp "$HP_BUILD/hotpath" "$T/copy/"
	chmod -R a+rX "$T/copy"
	chmod a+x "$T" "$(dirname "$T")"
	run -1 setpriv --reuid 65534 --regid 65534 --clear-groups "$T/copy/hotpath" stacks "$pid"
	[ "${#lines[@]}" = 1 ]
	[[ $output == "hotpath: process $pid belongs to user root; run as that user, or as root: sudo hotpath stacks $pid" ]]
}
