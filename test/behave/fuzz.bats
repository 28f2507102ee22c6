#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# fuzz.bats - inputs that once made a parser fail, and a broad sample, never fail again: each target of
# test/fuzz is given its corpus, under ASan and UBSan.  `make fuzz` searches longer.

load helper
. "$ROOT/test/fuzz/base.sh"

setup_file()
{
	FUZZ_BASE=$(fuzz_base "$HP_BUILD" "$T/base")
	export FUZZ_BASE
	[ -s "$FUZZ_BASE" ]
	python3 "$ROOT/test/fuzz/seeds.py" "$T/seeds"
}

# replay TARGET - its corpus and its seeds.
replay()
{
	local folders=("$T/corpus/$1")

	mkdir -p "$T/corpus/$1"
	# Targets with large inputs have only seeds.
	[ ! -f "$ROOT/test/fuzz/corpus/$1.tar.gz" ] ||
		tar -xzf "$ROOT/test/fuzz/corpus/$1.tar.gz" -C "$T/corpus/$1"
	[ ! -d "$T/seeds/$1" ] || folders+=("$T/seeds/$1")
	"$HP_BUILD/replay/$1" "${folders[@]}" >"$T/out" 2>"$T/err" || { tail -n 40 "$T/err"; return 1; }
	cat "$T/out"
}

@test "fuzz: records of a segment" {
	replay segment
}

# flip WHAT STEP - changes each byte in turn, or each STEPth: no reader goes beyond the end, or on
# forever.
flip()
{
	"$HP_BUILD/replay/flip" "$1" "$([ -n "$HP_TEST_FULL" ] && echo 1 || echo "$2")" >"$T/out" 2>"$T/err" ||
		{ grep '^flip:' "$T/err" | head -n 20; tail -n 40 "$T/err"; return 1; }
	cat "$T/out"
}

@test "fuzz: each byte of a segment changed in turn" {
	flip segment 1201
}

@test "fuzz: a segment that changes while it is read" {
	"$HP_BUILD/replay/mutate" "$([ -n "$HP_TEST_FULL" ] && echo 600 || echo 3)" >"$T/out" 2>"$T/err" ||
		{ tail -n 60 "$T/err"; return 1; }
	cat "$T/err" "$T/out"
}

@test "fuzz: each byte of a kept run changed in turn, unpacked and packed" {
	flip kept 801
	flip packed 193
}

@test "fuzz: kept runs" {
	replay kept
}

@test "fuzz: call frame information" {
	replay cfi
}

@test "fuzz: heaps that an earlier process left" {
	replay inherit
}

@test "fuzz: records of perf" {
	replay perf
}

@test "fuzz: texts of /proc, and names" {
	replay proc
}

@test "fuzz: settings" {
	replay setting
}

@test "fuzz: messages of JSON-RPC" {
	replay mcp
}

@test "fuzz: requests over HTTP" {
	replay route
}

@test "fuzz: bytes on a connection to the server" {
	replay http
}

@test "fuzz: answers that the console gets, and keys" {
	replay console
}

@test "fuzz: two compared reports in JSON" {
	replay compare
}

@test "fuzz: files that claim to be programs" {
	replay elf
}

@test "fuzz: samply's profiles" {
	replay samply
}

@test "fuzz: rings that a program's threads have written" {
	replay tick
}
