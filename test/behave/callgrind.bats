#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# callgrind.bats - the call count of every function is the one that callgrind sees.

load helper
load exact

setup_file()
{
	build_oracle
}

@test "counts are callgrind's: lua, gcc -O2" {
	exact_lua gcc -O2
}

@test "counts are callgrind's: lua, gcc -O0" {
	only_in_full
	exact_lua gcc -O0
}

@test "counts are callgrind's: lua, clang -O0" {
	only_in_full
	exact_lua clang -O0
}

@test "counts are callgrind's: lua, clang -O2" {
	only_in_full
	exact_lua clang -O2
}

@test "counts are callgrind's: C++ with exceptions, gcc -O0" {
	only_in_full
	exact_cxx g++ -O0
}

@test "counts are callgrind's: C++ with exceptions, gcc -O2" {
	exact_cxx g++ -O2
}

@test "counts are callgrind's: C++ with exceptions, clang -O0" {
	only_in_full
	exact_cxx clang++ -O0
}

@test "counts are callgrind's: C++ with exceptions, clang -O2" {
	exact_cxx clang++ -O2
}

@test "counts are callgrind's: sqlite3, gcc -O0" {
	only_in_full
	exact_sqlite gcc -O0
}

@test "counts are callgrind's: sqlite3, gcc -O2" {
	only_in_full
	exact_sqlite gcc -O2
}

@test "counts are callgrind's: sqlite3, clang -O2" {
	only_in_full
	exact_sqlite clang -O2
}
