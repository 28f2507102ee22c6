#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# join.bats - how a process gets the session's segment: it opens the helper's descriptor by /proc if it has the
# helper's rights and sees the same pids; otherwise it asks over the socket.  doc/internals/safety.md, "Joining".

load helper

setup_file()
{
	gcc -O1 -o "$T/hidden" "$ROOT/test/behave/programs/hidden.c"
}

setup()
{
	command -v strace >/dev/null || skip "no strace"
	# The build may be where nobody else has access.
	place=$(mktemp -d /tmp/hotpath-test.XXXXXX)
	chmod 755 "$place"
	cp "$HP_BUILD"/hotpath "$HP_RUN" "$HP_BUILD"/hotpath-sampler "$HP_LIB" "$T/hidden" "$place"
	# How COMMAND, the last process of it, gets its segment: "opened" or "asked"; and whether that is the first one's.
	cat >"$place/way" <<-'EOF'
		#!/bin/bash
		inode() { awk '/memfd:hotpath/ && $2 == "rw-s" { print $5 }' "$1"; }
		trace=$(mktemp /tmp/hotpath-trace.XXXXXX)
		strace -f -qq -o "$trace" -e trace=openat,recvmsg "$@" >"$trace.out"
		last=$(grep -E '"fd/3".* = [0-9]|recvmsg\(.* = 1$' "$trace" | tail -n 1)
		case $last in
		*recvmsg*) way=asked ;;
		*fd/3*) way=opened ;;
		*) way=neither ;;
		esac
		its=$(inode "$trace.out")
		rm -f "$trace" "$trace.out"
		if [ -z "$its" ]; then echo $way; elif [ "$its" = "$(inode /proc/${first:-$$}/maps)" ]; then echo $way same; else echo $way other; fi
	EOF
	# stop SIGNAL STATE: the helper gets it, and is in that state.
	cat >"$place/stop" <<-'EOF'
		#!/bin/bash
		helper=${HOTPATH_SESSION#*:}
		kill -$1 $helper
		until grep -q "^State:.*$2" /proc/$helper/status; do sleep 0.01; done
	EOF
	chmod 755 "$place"/*
	export HOTPATH_KEEP=0 HOTPATH_OUTPUT_FORMAT=none
	maps=(cat /proc/self/maps)
}

teardown()
{
	rm -rf "$place"
	reports_are_possible
}

needs_root()
{
	[ "$(id -u)" = 0 ] || skip "needs root: a process has to have other rights"
}

# joins WAY COMMAND... - in a session, as this user.
joins()
{
	local way
	way=$("${as[@]}" "$place/hotpath-run" "$place/way" "${@:2}" 2>/dev/null)
	echo "${*:2}: $way"
	[ "$way" = "$1" ]
}

@test "join: a process with the helper's rights opens the segment, also while the helper is stopped" {
	joins "opened same" "${maps[@]}"
	joins "opened same" sh -c "'$place/stop' STOP T; cat /proc/self/maps; '$place/stop' CONT '[SR]'"
}

@test "join: one with other rights, other pids or without /proc asks" {
	needs_root
	joins "opened same" "${maps[@]}"
	joins "asked other" setpriv --reuid=65534 --regid=65534 --clear-groups "${maps[@]}"
	joins "asked other" setpriv --bounding-set=-all --inh-caps=-all "${maps[@]}"
	joins "asked other" setpriv --reuid=65534 "${maps[@]}"
	unshare --pid --fork true 2>/dev/null || skip "no namespaces here: the rest was checked"
	joins "asked same" unshare --pid --fork "${maps[@]}"
	joins "asked" unshare --mount sh -c 'umount -l /proc; exec true'
	joins "opened same" unshare --net "${maps[@]}"
	unshare --user --map-root-user true 2>/dev/null || skip "no user namespaces here: the rest was checked"
	joins "asked other" unshare --user --map-root-user "${maps[@]}"
}

@test "join: an ordinary user's processes open their segment, unless the kernel hides the helper" {
	local as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	needs_root
	joins "opened same" "${maps[@]}"
	# A process sees its own user's processes, even with hidepid.  The namespace mounts a /proc of its own, so the
	# machine's does not change.
	if unshare --pid --mount --fork true 2>/dev/null; then
		as=(unshare --pid --mount --fork sh -c 'mount -t proc -o hidepid=2 proc /proc && exec "$@"' sh "${as[@]}")
		joins "opened same" "${maps[@]}"
	fi
	# A program that may not be read may not be inspected either.
	as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	chmod 711 "$place/hotpath-sampler"
	joins "asked same" "${maps[@]}"
}

# A connection to the helper's own socket would wake it, and most processes end before it looks.
@test "join: a process does not wake the helper; one that can drop privileges enters its lobby" {
	needs_root
	# Where COMMAND connects to, as soon as that is $1.
	cat >"$place/connects" <<-'EOF'
		#!/bin/bash
		trace=$(mktemp /tmp/hotpath-trace.XXXXXX)
		for ((i = 0; i < 1000; i++)); do
			strace -qq -o "$trace" -e trace=connect -E LD_PRELOAD="$LD_PRELOAD" "${@:2}"
			name=$(sed -E -n 's/.*sun_path=@"([^"]*)".*/\1/p' "$trace")
			[[ $name =~ $1 ]] && break
			sleep 0.01
		done
		rm -f "$trace"
		echo "connects to '$name'"
	EOF
	chmod 755 "$place/connects"
	run "$place/hotpath-run" "$place/connects" '^[0-9a-f]{5}$' sh -c :
	[[ $output =~ "to '"[0-9a-f]{5}"'" ]]
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$place/hotpath-run" "$place/connects" '^$' sh -c :
	[ "$output" = "connects to ''" ]
}

# It is known by its connection, although it has erased its record and lost its rights by the time the helper looks.
@test "join: a segment that a process with fewer rights kept is opened by nobody" {
	needs_root
	mkfifo "$place/input"
	way=$("$place/hotpath-run" bash -c '
		export first=$$
		helper=${HOTPATH_SESSION#*:}
		"$0/stop" STOP T
		"$0/hidden" <"$0/input" >"$0/out" &
		exec 5>"$0/input"
		for ((i = 0; i < 3000; i++)); do grep -q hidden "$0/out" && break; sleep 0.02; done
		"$0/stop" CONT "[SR]"
		for ((i = 0; i < 3000; i++)); do [ -S /proc/$helper/fd/3 ] && break; sleep 0.02; done
		"$0/way" cat /proc/self/maps
		exec 5>&-
		wait' "$place" 2>/dev/null)
	echo "$way"
	[ "$way" = "asked other" ]
}

# The helper's number may be taken by a setuid program after its end, and that has the descriptors that its user gave it.
@test "join: a segment of fewer rights is not taken for the session's own" {
	needs_root
	way=$("$place/hotpath-run" bash -c '
		export first=$$
		helper=${HOTPATH_SESSION#*:}
		setpriv --reuid=65534 --regid=65534 --clear-groups true
		for fd in /proc/$helper/fd/*; do
			[[ ${fd##*/} -gt 4 && $(readlink "$fd") = /memfd:hotpath* ]] && break
		done
		sleep 600 3<>"$fd" &
		export HOTPATH_SESSION=${HOTPATH_SESSION%:*}:$!
		readlink "$fd" >&2
		"$0/way" cat /proc/self/maps
		kill $!' "$place" 2>"$place/name")
	echo "$way"
	grep -q memfd:hotpath "$place/name"
	[ "$way" = "asked same" ]
}

# The helper answers a request with one message.
@test "join: children of a process that dropped rights have its segment without asking" {
	needs_root
	gcc -O1 -D_GNU_SOURCE -x c -o "$place/forks" - <<-'END'
		#include <linux/capability.h>
		#include <sys/syscall.h>
		#include <sys/wait.h>
		#include <unistd.h>

		int main(void)
		{
			struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
			struct __user_cap_data_struct sets[2];

			if (syscall(SYS_capget, &header, sets) != 0)
				return 1;
			sets[0].effective &= ~(1u << CAP_SYS_TIME);
			sets[0].permitted &= ~(1u << CAP_SYS_TIME);
			if (syscall(SYS_capset, &header, sets) != 0)
				return 1;
			for (int i = 0; i < 5; i++)
				if (fork() == 0)
					_exit(0);
			while (wait(NULL) > 0)
				;
			return 0;
		}
	END
	HOTPATH_REPORT=all "$place/hotpath-run" strace -f -qq -o "$place/trace" -e trace=recvmsg "$place/forks"
	cat "$place/trace"
	[ "$(grep -c ' = 1$' "$place/trace")" = 1 ]
}

# The helper knows no process with the pids that these children see. Each round needs more records than were free.
@test "join: a child that is forked into another PID namespace keeps its record while it lives" {
	unshare --pid --fork true 2>/dev/null || skip "no namespaces here"
	compile nested <<-'EOF'
		#define _GNU_SOURCE
		#include <sched.h>
		#include <stdio.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static long inner_calls, other_calls;
		__attribute__((no_instrument_function)) static void until_closed(int fd) { char byte; while (read(fd, &byte, 1) > 0); }
		__attribute__((noinline)) static void inner(void) { inner_calls++; }
		__attribute__((noinline)) static void other(void) { usleep(1); }
		int main(void)
		{
			int end[2], round[2];
			char byte;
			if (unshare(CLONE_NEWPID) || pipe(end))
				return 7;
			if (fork() == 0) {
				close(end[1]);
				do
					for (int i = 0; i < 1000; i++)
						inner();
				while (read(end[0], &byte, 1) > 0);
				printf("inner %ld\n", inner_calls);
				return 0;
			}
			for (int i = 1; i <= 4; i++) {
				usleep(300000);
				if (pipe(round))
					return 8;
				for (int k = 0; k < 3 * i; k++)
					if (fork() == 0) {
						close(round[1]);
						close(end[1]);
						until_closed(round[0]);
						for (int n = 0; n < 100; n++)
							other();
						_exit(0);
					} else {
						other_calls += 100;
					}
				if (write(end[1], "", 1) != 1)
					return 9;
				close(round[0]);
				close(round[1]);
				for (int k = 0; k < 3 * i; k++)
					if (wait(NULL) < 0)
						return 10;
			}
			close(end[1]);
			wait(NULL);
			printf("other %ld\n", other_calls);
			return 0;
		}
	EOF
	HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/nested.json timeout 100 "$HP_RUN" "$T/nested" | sort >"$T/truth"
	cat "$T/truth"
	[ "$(counts_in "$T/nested.json" | grep -E '^(inner|other) ' | sort)" = "$(cat "$T/truth")" ]
}
