#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# same.bats - programs that nobody here wrote do with the library what they do without it: same/*.same has
# the cases, same/same.py runs and compares them.

load helper

setup_file()
{
	gcc -O1 -D_GNU_SOURCE -o "$T/probe" "$ROOT/test/behave/same/probe.c"
	gcc -O1 -D_GNU_SOURCE -DPROBE_LIBRARY -shared -fPIC -o "$T/probe.so" "$ROOT/test/behave/same/probe.c"
	gcc -O1 -D_GNU_SOURCE -shared -fPIC -o "$T/bad_guest.so" "$ROOT/test/behave/same/bad_guest.c"
}

# all_same TABLE - each case of the table.
all_same()
{
	SAME_TOOLS=$T /usr/bin/python3 "$ROOT/test/behave/same/same.py" "$ROOT/test/behave/same/$1.same"
}

@test "same: a library that changes anything is found out" {
	SAME_LIBRARY=$T/bad_guest.so run all_same bad_guest
	echo "$output"
	[ "$status" = 1 ]
	[ "${lines[-1]}" = "0 same, 13 differs, 0 unsteady, 0 skipped" ]
}

@test "same: shells, tools, compilers and interpreters" {
	all_same fast
}

@test "same: interpreters, servers, builds, tools that look at others, a browser" {
	only_in_full
	all_same full
}

@test "same: other projects' test suites" {
	only_in_full
	all_same suites
}
