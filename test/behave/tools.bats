#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# tools.bats - the build's own scripts: what they promise about the sources and products.

load helper

@test "layers: includes point down only" {
	run "$ROOT/scripts/check-layers.sh"
	[ "$status" -eq 0 ]
}

@test "layers: an include that points up is told" {
	mkdir -p "$T/tree/segment" "$T/tree/report"
	echo '#include "report/read/model.h"' >"$T/tree/segment/a.c"
	run "$ROOT/scripts/check-layers.sh" "$T/tree"
	[ "$status" -eq 1 ]
	[[ "$output" == *"segment/a.c"*"report/read/model.h"* ]]
}

@test "exports: the library shows hooks, stand-ins and the public API only" {
	[ -e "$HP_LIB" ] || skip "no libhotpath.so was built"
	run "$ROOT/scripts/check-exports.sh" "$HP_LIB"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "exports: a stray symbol and a stray library are told" {
	echo 'double stray(double x) { return __builtin_sin(x); }' |
		gcc -x c -shared -fPIC -o "$T/stray.so" - -Wl,--no-as-needed -lm
	run "$ROOT/scripts/check-exports.sh" "$T/stray.so"
	[ "$status" -eq 1 ]
	[[ "$output" == *stray* ]]
	[[ "$output" == *libm.so.6* ]]
}

@test "setup: names a purpose it does not know" {
	run "$ROOT/scripts/setup" nonsense
	[ "$status" -eq 2 ]
}
