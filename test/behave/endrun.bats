#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# endrun.bats - a report's work between the program's end and the prompt, and its limits.

load helper

setup_file()
{
	compile lean -fno-instrument-functions <<-'END'
		#include <stdlib.h>
		__attribute__((noinline)) static char *take(size_t size)
		{
			char *block = malloc(size);
			block[0] = 1;
			return block;
		}
		int main(void)
		{
			for (int i = 0; i < 100; i++)
				free(take(100));
			return 0;
		}
	END
	strip -o "$T/bare" "$T/lean"
	objcopy --strip-debug "$T/lean" "$T/named"
}

record()
{
	HOTPATH_KEEP=0 HOTPATH_CPU=off HOTPATH_OUTPUT_FORMAT=none HOTPATH_SEGMENT_PATH=$T/record \
		LD_PRELOAD=$HP_LIB "$T/$1"
}

# opened LIST - files that a report of $T/record opens or tries to open.
opened()
{
	strace -f -e trace=open,openat -o "$T/trace" \
		"$HP_BUILD/hotpath" report --fd 3 3<"$T/record" 2>"$T/table"
	sed -n 's/.*open[^"]*"\([^"]*\)".*/\1/p' "$T/trace"
}

@test "libdw is loaded only for debug information" {
	command -v strace >/dev/null || skip "no strace"
	record bare
	opened >"$T/files"
	run ! grep 'libdw\|libdebuginfod' "$T/files"
	record named
	opened >"$T/files"
	run ! grep 'libdw\|libdebuginfod' "$T/files"
	grep -q 'take' "$T/table"
	grep -q "^$T/named$" "$T/files"
	record lean
	opened >"$T/files"
	grep -q 'libdw' "$T/files"
	run ! grep libdebuginfod "$T/files"
	grep -q 'lean.c:' "$T/table"
}

@test "the kernel's names are read once, and the cached copy is the same" {
	command -v strace >/dev/null || skip "no strace"
	grep -q '^0*[1-9a-f][0-9a-f]* [Tt] _stext$' /proc/kallsyms || skip "the kernel hides its addresses"
	compile calls -fno-instrument-functions <<-'END'
		#include <fcntl.h>
		#include <time.h>
		#include <unistd.h>
		int main(void)
		{
			static char bytes[1 << 16];
			int fd = open("/dev/zero", O_RDONLY);
			while (clock() < CLOCKS_PER_SEC / 4)
				if (read(fd, bytes, sizeof(bytes)) < 0)
					return 1;
			return 0;
		}
	END
	HOTPATH_KEEP=0 HOTPATH_OUTPUT_FORMAT=none HOTPATH_REPORT=functions-cpu HOTPATH_SEGMENT_PATH=$T/record \
		"$HP_RUN" "$T/calls"
	for i in 1 2; do
		strace -f -y -e trace=read -o "$T/trace" \
			"$HP_BUILD/hotpath" report -f json --fd 3 3<"$T/record" 2>"$T/report$i"
		grep -c 'read(.*</proc/kallsyms>' "$T/trace" >"$T/count$i" || true
	done
	for i in 1 2; do
		python3 - "$T/report$i" >"$T/names$i" <<-'END' || skip "no samples of the kernel here"
			import json, sys
			cpu = json.load(open(sys.argv[1]))["functions_cpu"]
			print(*(row["name"] for row in cpu["data"]), sep="\n")
			sys.exit(not (cpu["has_kernel"] and cpu["sample_count"]))
		END
	done
	[ "$(stat -c %a "$XDG_STATE_HOME/hotpath/.kernel-names")" = 600 ]
	diff "$T/names1" "$T/names2"
	echo "reads: $(cat "$T/count1") then $(cat "$T/count2")"
	[ "$(cat "$T/count1")" -gt 20 ]
	[ "$(cat "$T/count2")" -le 2 ]
}

@test "the C library's debug information is read once, and the cached copy is the same" {
	local id libc
	command -v strace >/dev/null || skip "no strace"
	libc=$(ldd "$HP_BUILD/hotpath" | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p')
	id=$(readelf -n "$libc" | sed -n 's/.*Build ID: //p')
	[ -e "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" ] || skip "no libc6-dbg"
	compile sorts -fno-instrument-functions <<-'END'
		#include <stdlib.h>
		#include <time.h>
		static int compare(const void *a, const void *b)
		{
			return *(const int *)a - *(const int *)b;
		}
		int main(void)
		{
			static int numbers[1000];
			while (clock() < CLOCKS_PER_SEC / 4) {
				for (int i = 0; i < 1000; i++)
					numbers[i] = i * 7919 % 1009;
				qsort(numbers, 1000, sizeof(int), compare);
			}
			return 0;
		}
	END
	strip --strip-debug "$T/sorts"
	HOTPATH_KEEP=0 HOTPATH_OUTPUT_FORMAT=none HOTPATH_REPORT=functions-cpu HOTPATH_SEGMENT_PATH=$T/record \
		"$HP_RUN" "$T/sorts"
	export XDG_STATE_HOME=$T/fresh
	for i in 1 2; do
		strace -f -e trace=open,openat -o "$T/trace$i" \
			"$HP_BUILD/hotpath" report -r functions-cpu --fd 3 3<"$T/record" 2>"$T/table$i"
	done
	grep -q msort "$T/table1" || skip "no samples of the C library here"
	diff <(sed -n '/^cpu/,$p' "$T/table1") <(sed -n '/^cpu/,$p' "$T/table2")
	grep -q 'libc.*= [0-9]' "$T/trace2"
	grep -c "$id\|${id:2}.debug" "$T/trace1" "$T/trace2" || true
	[ "$(stat -c %a "$XDG_STATE_HOME/hotpath/.debug-$id")" = 600 ]
	# Once for its symbols, but not by libdw for lines.
	[ "$(grep -c "${id:2}.debug" "$T/trace2")" = 1 ]
	[ "$(grep -c "${id:2}.debug" "$T/trace1")" -gt 1 ]
}

@test "our library's debug information is read once, too" {
	command -v strace >/dev/null || skip "no strace"
	[ "$(id -u)" = 0 ] || [ -O "$HP_BUILD/libhotpath.so" ] || skip "the library is another user's"
	readelf -SW "$HP_BUILD/libhotpath.so" | grep -q debug_info || skip "the library is stripped"
	compile blocks -fno-instrument-functions <<-'END'
		#include <stdlib.h>
		#include <time.h>
		int main(void)
		{
			static void *volatile block;
			while (clock() < CLOCKS_PER_SEC / 2)
				for (int i = 0; i < 1000; i++) {
					block = malloc(8 + i % 64);
					free(block);
				}
			return 0;
		}
	END
	strip --strip-debug "$T/blocks"
	# With few samples, as beside other tests, none of the places needs lines.
	HOTPATH_CPU_HZ=4000 HOTPATH_KEEP=0 HOTPATH_OUTPUT_FORMAT=none HOTPATH_SEGMENT_PATH=$T/record \
		"$HP_RUN" "$T/blocks"
	eventually helpers_are_gone	# nothing is added between the two reports
	export XDG_STATE_HOME=$T/fresh
	for i in 1 2; do
		strace -f -e trace=open,openat -o "$T/trace$i" \
			"$HP_BUILD/hotpath" report --internals -r functions-cpu --fd 3 3<"$T/record" 2>"$T/table$i"
	done
	grep -q 'libhotpath.so.*= [0-9]' "$T/trace1" || skip "no samples of the library here"
	diff <(sed -n '/^cpu/,$p' "$T/table1") <(sed -n '/^cpu/,$p' "$T/table2")
	# Once for its symbols; the first report also opened it for lines.
	[ "$(grep -c 'libhotpath.so.*= [0-9]' "$T/trace2")" = 1 ]
	[ "$(grep -c 'libhotpath.so.*= [0-9]' "$T/trace1")" -gt 1 ]
}
