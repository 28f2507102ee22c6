#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# narrow.bats - processes that limit their own addresses, and have a part of the segment only: the others have
# all of it again when they are gone, and their forked children come to no harm.

load helper

setup_file()
{
	# Limits its address space. With an argument: leaves a child that does nothing visible to us
	# until its parent has ended, the whole segment is available again, and so much of it is
	# used that the child's part is full.
	compile limited <<-'EOF'
		#include <fcntl.h>
		#include <sched.h>
		#include <signal.h>
		#include <stdint.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/mman.h>
		#include <sys/resource.h>
		#include <sys/syscall.h>
		#include <unistd.h>
		__attribute__((no_instrument_function)) static void until(volatile uint64_t *word, uint64_t least)
		{
			while (*word < least)
				sched_yield();
		}
		static void *volatile block;
		static void work(void)
		{
			block = malloc(100);
			free(block);
		}
		int main(int argc, char **argv)
		{
			static const struct rlimit limit = { 5000000, 5000000 };
			int fd = open(getenv("SEGMENT"), O_RDONLY);
			char *segment = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

			work();
			if (segment == MAP_FAILED || setrlimit(RLIMIT_AS, &limit) != 0)
				return 2;
			uint64_t room = *(volatile uint64_t *)(segment + 384);
			if (room == 0 || room >= 64 << 20)
				return 3;
			if (argc < 2 || syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) != 0)
				return 0;
			until((volatile uint64_t *)(segment + 384), 64 << 20);
			until((volatile uint64_t *)(segment + 64), room + 65536);
			work();
			fd = creat(argv[1], 0600);
			return write(fd, "done", 4) != 4;
		}
	EOF
	# 19,683 call paths: more than fit into the rest for a process with limited addresses.
	compile hungry <<-'EOF'
		#include <stdlib.h>
		static long count;
		static void *volatile block;
		#define DEEPER(name, next) __attribute__((noinline)) static void name(void) { next(); next(); next(); }
		__attribute__((noinline)) static void leaf(void)
		{
			block = malloc(10);
			free(block);
			count++;
		}
		DEEPER(i, leaf) DEEPER(h, i) DEEPER(g, h) DEEPER(f, g) DEEPER(e, f) DEEPER(d, e) DEEPER(c, d)
		DEEPER(b, c) DEEPER(a, b)
		int main(void) { a(); return count == 19683 ? 0 : 1; }
	EOF
}

# room SEGMENT - where the room in it ends.
room()
{
	od -An -t u8 -j 384 -N 8 "$1" | tr -d ' '
}

all_is_given_out()
{
	[ "$(room "$SEGMENT")" -ge $((64 << 20)) ]
}

# session COMMAND - run by a shell that is profiled.
session()
{
	export SEGMENT=$BATS_TEST_TMPDIR/segment
	export -f room all_is_given_out eventually
	HOTPATH_SEGMENT_PATH=$SEGMENT HOTPATH_SEGMENT_SIZE=64M HOTPATH_REPORT=all HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/report LD_PRELOAD=$HP_LIB bash -c "$1"
	report_comes "$BATS_TEST_TMPDIR/report"
}

# is_complete - nothing is lost, and each of the paths is there.
is_complete()
{
	python3 - "$BATS_TEST_TMPDIR/report" <<-'PY'
		import json, sys
		report = json.load(open(sys.argv[1]))
		summary = report["summary"]
		assert summary["refused_chunks"] == 0, summary
		leaf = [r for r in report["functions_alloc"]["raw"] if r["name"] == "leaf"]
		assert leaf[0]["total_bytes"] == 196830, leaf
		print({k: v for k, v in summary.items() if k.startswith("lost_") and v})
	PY
}

@test "narrow: what a short-lived process returned is reused" {
	session "'$T/limited' && eventually all_is_given_out && '$T/hungry'"
	[ "$(is_complete)" = "{}" ]
}

@test "narrow: a forked child with only a part of the segment does not access the rest" {
	session "'$T/limited' $BATS_TEST_TMPDIR/said && eventually all_is_given_out && '$T/hungry' &&
		eventually test -s $BATS_TEST_TMPDIR/said"
	is_complete
	[ "$(cat "$BATS_TEST_TMPDIR/said")" = done ]
	is_complete | grep lost_threads
}
