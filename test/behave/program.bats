#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# program.bats - programs that cannot be profiled, or not at once: told in one line before
# it runs, by `hotpath run`; and it runs anyway.

load helper

setup_file()
{
	echo 'int f(int x) { return x + 1; } int main(int c, char **v) { (void)v; return f(c) + 1; }' >"$T/tiny.c"
	compile small <"$T/tiny.c"
}

setup()
{
	export HOTPATH_OUTPUT_PATH=$BATS_TEST_TMPDIR/report
}

# refused TEXT COMMAND... - exits with status 3 after printing exactly one line, which has TEXT in it
refused()
{
	local text=$1
	shift
	run -3 --separate-stderr "$HP_RUN" "$@"
	echo "$stderr"
	[ "${#stderr_lines[@]}" = 1 ]
	[[ $stderr == *"$text"* ]]
	[ -s "$HOTPATH_OUTPUT_PATH" ]
}

# A folder that other users can look into, with the parts of hotpath in it.
open_folder()
{
	place=$(mktemp -d /tmp/hotpath-open.XXXXXX)
	chmod 755 "$place"
	cp "$HP_BUILD"/{hotpath,hotpath-run,hotpath-sampler,libhotpath.so} "$place"
}

teardown()
{
	[ -z "$place" ] || rm -rf "$place"
	reports_are_possible
}

@test "program: static and static-pie" {
	for how in -static -static-pie; do
		gcc $how -o "$T/static" "$T/tiny.c"
		refused "statically linked" "$T/static"
	done
}

@test "program: another C library" {
	command -v musl-gcc >/dev/null || skip "no musl-gcc here"
	musl-gcc -o "$T/musl" "$T/tiny.c"
	refused "another C library" "$T/musl"
}

@test "program: another kind of processor" {
	printf '\177ELF\002\001\001%9s\003\000\363\000\001%43s' "" "" | tr ' ' '\000' >"$T/riscv"
	chmod 755 "$T/riscv"
	run "$HP_RUN" "$T/riscv"
	[[ $output == *"another architecture"* ]]
}

@test "program: a script is judged by the program that runs it" {
	gcc -static -o "$T/static" "$T/tiny.c"
	printf '#!%s -x\n' "$T/static" >"$T/inner"
	printf '#! %s\n' "$T/inner" >"$T/outer"
	printf '#!/bin/sh\nexit 3\n' >"$T/plain"
	chmod 755 "$T/inner" "$T/outer" "$T/plain"
	run --separate-stderr "$HP_RUN" "$T/outer"
	[[ $stderr == *"$T/outer: its interpreter $T/static is statically linked"* ]]
	run -3 --separate-stderr "$HP_RUN" "$T/plain"
	[ -z "$stderr" ]
}

@test "program: a missing interpreter" {
	printf '#!/nowhere/sh\n' >"$T/lost"
	chmod 755 "$T/lost"
	run -127 "$HP_RUN" "$T/lost"
	[[ $output == *"$T/lost: its interpreter /nowhere/sh does not exist" ]]
	gcc -Wl,--dynamic-linker=/nowhere/ld.so -o "$T/unlinked" "$T/tiny.c"
	run -127 "$HP_RUN" "$T/unlinked"
	[[ $output == *"its interpreter /nowhere/ld.so does not exist" ]]
}

@test "program: setuid, and that a copy, its owner and no_new_privs help" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	open_folder
	as="setpriv --reuid 65534 --regid 65534 --clear-groups"
	export HOTPATH_OUTPUT_PATH=
	cp "$T/small" "$place/small"
	chmod 4711 "$place/small"
	run -3 $as "$place/hotpath-run" "$place/small"
	echo "$output"
	[[ ${lines[0]} == *"$place/small runs with more privileges than yours"* ]]
	[[ $output == *"no instrumented function"* ]]
	for command in "setpriv --reuid 0" "$as --no-new-privs"; do
		run -3 $command "$place/hotpath-run" "$place/small"
		[[ $output != *"more rights"* ]]
		[[ $output == *"small::main"* ]]
	done
	chmod 4755 "$place/small"
	$as cp "$place/small" "$place/../hotpath-copy.$$"
	run -3 $as "$place/hotpath-run" "$place/../hotpath-copy.$$"
	rm -f "$place/../hotpath-copy.$$"
	[[ $output == *"::main"* ]]
}

@test "program: setuid of a script has no effect" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	open_folder
	printf '#!/bin/sh\nexit 3\n' >"$place/script"
	chmod 4755 "$place/script"
	unset HOTPATH_OUTPUT_PATH
	run -3 setpriv --reuid 65534 --clear-groups "$place/hotpath-run" "$place/script"
	[[ $output != *"more rights"* ]]
}

@test "program: with the shared AddressSanitizer it runs, is counted, and its options stay" {
	CC=gcc compile asan -fsanitize=address <<-'EOF' || skip "no AddressSanitizer here"
	#include <stdio.h>
	#include <stdlib.h>
	int f(int x) { return x + 1; }
	int main(int c, char **v)
	{
		(void)v;
		puts(getenv("ASAN_OPTIONS"));
		volatile char *p = malloc(8);
		return c > 1 ? p[8] : f(2);
	}
	EOF
	readelf -d "$T/asan" | grep -q libasan || skip "AddressSanitizer is not shared here"
	export ASAN_OPTIONS=detect_leaks=0:exitcode=42
	run -3 --separate-stderr "$HP_RUN" -f json "$T/asan"
	[ "$output" = "detect_leaks=0:exitcode=42:verify_asan_link_order=0" ]
	[ -z "$stderr" ]
	counts_in "$HOTPATH_OUTPUT_PATH" | grep -x "f 1"
	run -42 --separate-stderr "$HP_RUN" "$T/asan" overrun
	[[ $stderr == *"heap-buffer-overflow"* ]]
}

@test "program: headers that point outside the file are not followed" {
	for place in 32 54 56; do
		for byte in '\377' '\000'; do
			cp "$T/small" "$T/torn"
			printf "$byte$byte" | dd of="$T/torn" bs=1 seek=$place conv=notrunc status=none
			run "$HP_RUN" "$T/torn"
			[ "$status" -lt 128 ] || [ "$status" = 139 ]	# the loader's own
		done
	done
	head -c 100 "$T/small" >"$T/torn"
	run "$HP_RUN" "$T/torn"
	[ "$status" -lt 128 ]
}
