#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Stand-ins for libraries that a program may not have: which library's function they call, and how
# they are switched off.

load helper

# build N - library N with q() that returns it, and one that uses it.
build()
{
	echo "int q(void) { return $1; }" | gcc -shared -fPIC -o "$T/libq$1.so" -xc -
	echo "int q(void); int user(void) { return q(); } int only_$2(void) { return 0; }" |
		gcc -shared -fPIC -Wl,-rpath,"$T" -o "$T/libuser$1.so" -xc - -L"$T" "-lq$1"
}

@test "a caller gets its own library's function, and the next one when that is closed" {
	build 1 a
	build 2 b
	gcc -g -no-pie -D_GNU_SOURCE -I"$ROOT" -o "$T/absent" "$ROOT/test/behave/programs/absent.c" -ldl
	run "$T/absent" "$T/libuser1.so" "$T/libuser2.so"
	[ "$status" -eq 0 ]
	[ "$output" = "none 1
errno 77
a 1
b 2
a 1
load order 1
beside 1
not beside 1
load order 2" ]
}

@test "HOTPATH_WITHOUT=glib passes GLib's locks on and reports none" {
	pkg-config --exists glib-2.0 || skip "GLib's headers are not installed"
	gcc -g -O1 -o "$T/glib" "$ROOT/test/behave/programs/locks_glib.c" \
		$(pkg-config --cflags --libs glib-2.0)
	HOTPATH_REPORT=mutexes HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH="$T/with.json" \
		LD_PRELOAD="$HP_LIB" "$T/glib"
	HOTPATH_WITHOUT=uv,glib HOTPATH_REPORT=mutexes HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/without.json" LD_PRELOAD="$HP_LIB" "$T/glib"
	grep -q GMutex "$T/with.json"
	run ! grep -q GMutex "$T/without.json"
}
