#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# alloc_new.bats - C++'s operator new and delete, whoever defines them: each block once, and the program runs
# as usual.

load helper

allocators="tcmalloc_minimal tcmalloc jemalloc mimalloc"

setup_file()
{
	local programs=$ROOT/test/behave/programs name
	g++ -g -O1 -std=c++17 -fno-builtin -fno-builtin-malloc -Wno-alloc-size-larger-than -c -o "$T/new.o" "$programs/alloc_new.cc"
	g++ -o "$T/new" "$T/new.o" -lpthread
	# By the file's path: only Debian's development packages have the plain names.
	for name in $allocators; do
		! found lib$name >/dev/null || g++ -o "$T/new-$name" "$T/new.o" -Wl,--no-as-needed "$(found lib$name)" -lpthread
	done
	g++ -g -O1 -shared -fPIC -o "$T/libarena.so" "$programs/alloc_own_new.cc"
	g++ -g -O1 -shared -fPIC -DARENA=other -o "$T/libother.so" "$programs/alloc_own_new.cc"
	g++ -g -O1 -shared -fPIC -DBY_MALLOC -o "$T/libmalloc.so" "$programs/alloc_own_new.cc"
	for name in arena malloc; do
		g++ -o "$T/new-$name" "$T/new.o" -Wl,--no-as-needed,-rpath,"$T" -L"$T" -l$name -lpthread
	done
	g++ -g -O1 -std=c++17 -fno-builtin -o "$T/inside" "$T/new.o" "$programs/alloc_own_new.cc" -lpthread
	gcc -D_GNU_SOURCE -g -O1 -o "$T/open" "$programs/alloc_open.c" -lpthread
	g++ -g -O1 -std=c++17 -fPIC -c -o "$T/plugin.o" "$programs/alloc_plugin.cc"
	g++ -shared -o "$T/shared.so" "$T/plugin.o"
	g++ -shared -static-libstdc++ -static-libgcc -o "$T/static.so" "$T/plugin.o"
	for name in arena other; do
		g++ -shared -o "$T/$name.so" "$T/plugin.o" -Wl,--no-as-needed,-rpath,"$T" -L"$T" -l$name
	done
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_LIMIT=0 HOTPATH_KEEP=0
	export HOTPATH_REPORT=alloc-sites
	rm -f "$T/report"
}

# sums_below FUNCTION - blocks, bytes, blocks left, bytes left below a function; then frees of unknown
# blocks, and wrong cache answers.
sums_below()
{
	python3 - "$T/report" "$1" <<-'END'
	import json, sys
	said = json.load(open(sys.argv[1]))["alloc_sites"]
	rows = [s for s in said["raw"] if any(f["function"].split("(")[0] == sys.argv[2] for f in s["frames"])]
	mine = [s for s in rows if s["frames"][0]["function"].split("(")[0] != "_IO_file_doallocate"]
	print(*[sum(s[k] for s in mine) for k in ("count", "total_bytes", "live_count", "live_bytes")],
	      said["strange_frees"], said["cache_mismatches"])
	END
}

# counted PROGRAM [ARGUMENT...] - its output is the same with us, and its own counts match the
# report.
counted()
{
	"$@" >"$T/bare"
	LD_PRELOAD="$HP_LIB${BEHIND:+ $BEHIND}" "$@" >"$T/out"
	diff "$T/bare" "$T/out"
	echo "$*: program $(cat "$T/out"), reported $(below)"
	[ "$(cat "$T/out") 0 0" = "$(below)" ]
}

# Its three allocating functions; the C++ library handles throwing and threads.
below()
{
	python3 - "$T/report" <<-'END'
	import json, sys
	said = json.load(open(sys.argv[1]))["alloc_sites"]
	mine = [s for s in said["raw"] if any(f["function"].split("(")[0] in ("forms", "mixed", "lost") for f in s["frames"])
	        or s["total_bytes"] == s["count"] * 1000]
	print(*[sum(s[k] for s in mine) for k in ("count", "total_bytes", "live_count", "live_bytes")],
	      said["strange_frees"], said["cache_mismatches"])
	END
}

@test "new: all forms by libstdc++ are counted as malloc's" {
	export ROUNDED=1
	counted "$T/new" 200
	counted "$T/new" 50 4
}

@test "new: of tcmalloc, jemalloc and mimalloc, preloaded: all forms, mixed with malloc's" {
	local name count=0
	for name in $allocators; do
		found lib$name >/dev/null || continue
		count=$((count + 1))
		BEHIND=$(found lib$name) counted "$T/new" 200
		BEHIND=$(found lib$name) counted "$T/new" 50 4
		[[ "$(jq -r .alloc_sites.allocator "$T/report")" == *"lib$name.so"* ]]
	done
	[ $count -gt 0 ] || skip "no allocator here"
}

@test "new: of the same, linked" {
	local name count=0
	for name in $allocators; do
		[ -x "$T/new-$name" ] || continue
		count=$((count + 1))
		counted "$T/new-$name" 200
		counted "$T/new-$name" 50 4
	done
	[ $count -gt 0 ] || skip "no allocator here"
}

@test "new: a library's own, from an arena or from malloc: each block once" {
	export NOT_MIXED=1 ROUNDED=1
	counted "$T/new-arena" 40
	counted "$T/new-arena" 4 3
	unset NOT_MIXED
	counted "$T/new-malloc" 100
	counted "$T/new-malloc" 20 3
}

@test "new: bad_alloc passes through, and later allocations are counted" {
	ROUNDED=1 counted "$T/new" 20 throw
	NOT_MIXED=1 ROUNDED=1 counted "$T/new-arena" 20 throw
	[ ! -x "$T/new-tcmalloc_minimal" ] || counted "$T/new-tcmalloc_minimal" 20 throw
	[ ! -x "$T/new-jemalloc" ] || counted "$T/new-jemalloc" 20 throw
}

@test "new: the executable's own operators stay in use" {
	export NOT_MIXED=1
	"$T/inside" 40 >"$T/bare"
	LD_PRELOAD=$HP_LIB "$T/inside" 40 >"$T/out"
	diff "$T/bare" "$T/out"
	# It defines few forms; libstdc++'s nothrow and array forms lead to them, and the aligned ones to malloc.
	[ "$(jq '[.alloc_sites.raw[] | select(any(.frames[]; .function | startswith("forms"))) | .count] | add' "$T/report")" = 240 ]
}

@test "new: each library that a C program opens finds its own operators" {
	"$T/open" 100 "$T/shared.so" "$T/static.so" "$T/arena.so" "$T/other.so" >"$T/bare"
	LD_PRELOAD=$HP_LIB "$T/open" 100 "$T/shared.so" "$T/static.so" "$T/arena.so" "$T/other.so" >"$T/out"
	diff "$T/bare" "$T/out"
	# Three times 100 rounds in each of four libraries: a node and a text.
	[ "$(sums_below work)" = "2400 $((1200 * (24 + 101))) 0 0 0 0" ]
	for name in shared static arena other; do
		"$T/open" 100 "$T/$name.so" >"$T/bare"
		LD_PRELOAD=$HP_LIB "$T/open" 100 "$T/$name.so" >"$T/out"
		diff "$T/bare" "$T/out"
		[ "$(sums_below work)" = "600 $((300 * (24 + 101))) 0 0 0 0" ]
	done
}

@test "new: without recording, calls are passed on" {
	local name
	for name in new-arena new-malloc new-tcmalloc new-jemalloc new-mimalloc; do
		[ ! -x "$T/$name" ] || NOT_MIXED=1 HOTPATH_REPORT=threads LD_PRELOAD=$HP_LIB "$T/$name" 30 3 >"$T/out"
		[ ! -x "$T/$name" ] || NOT_MIXED=1 "$T/$name" 30 3 | diff - "$T/out"
	done
}
