#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# flags.bats - `hotpath flags`: one line that each compiler accepts and that has the intended
# effect.

load helper

setup_file()
{
	export HP=$HP_BUILD/hotpath
	cat >"$T/app.cc" <<-'EOF'
	#include <algorithm>
	#include <cstdio>
	#include <map>
	#include <string>
	#include <vector>
	#ifndef ROUNDS
	#define ROUNDS 1
	#endif
	struct Item { std::string name; int weight; };
	__attribute__((noinline)) int weigh(const Item &item) { return item.weight; }
	__attribute__((noinline)) void sort_items(std::vector<Item> &items)
	{
		std::sort(items.begin(), items.end(),
			[](const Item &a, const Item &b) { return a.name < b.name; });
	}
	int main()
	{
		std::vector<Item> items;
		std::map<std::string, int> sums;
		for (int i = 0; i < 1000; i++)
			items.push_back({ std::to_string(i * 7919 % 1000), i });
		sort_items(items);
		for (int round = 0; round < ROUNDS; round++)
			for (const auto &item : items)
				sums[item.name.substr(0, 1)] += weigh(item);
		std::printf("%zu\n", sums.size());
	}
	EOF
}

# Lines on stdout alone; stderr goes to $T/err.
flags()
{
	"$HP" flags "$@" 2>"$T/err"
}

# compiled COMPILER FLAGS... - counts of app.cc, "NAME CALLS" lines, in $T/counts
compiled()
{
	"$@" -std=c++17 -Werror "$T/app.cc" -o "$T/app"
	"$HP_RUN" -n 0 -f json -o "$T/app.json" "$T/app" >"$T/out"
	counts_in "$T/app.json" >"$T/counts"
}

# fake NAME TEXT - a compiler that prints TEXT on stderr and claims to be gcc
fake()
{
	mkdir -p "$T/bin"
	printf '#!/bin/sh\necho "#define __GNUC__ 12"\ncat >&2 <<"EOF"\n%s\nEOF\n' "$2" >"$T/bin/$1"
	chmod 755 "$T/bin/$1"
}

@test "flags: one line and nothing else, for each compiler" {
	for compiler in gcc g++ clang clang++ cc c++; do
		[ "$(flags $compiler | wc -l)" = 1 ]
		[ ! -s "$T/err" ]
	done
	list=-finstrument-functions-exclude-file-list=/usr/include,/usr/lib/gcc
	[ "$(flags g++)" = "-g -finstrument-functions $list" ]
	[ "$(flags clang)" = "-g -finstrument-functions-after-inlining" ]
	[ "$(flags)" = "$(flags cc)" ]
}

@test "flags: g++ accepts them, and the program's functions are counted, not those of headers" {
	for level in -O0 -O2 "-O2 -flto"; do
		compiled g++ $level $(flags g++)
		grep -q '^weigh(.*) 1000$' "$T/counts"
		grep -q '^sort_items(.*) 1$' "$T/counts"
		run ! grep -E '^(void |bool )?(std|__gnu_cxx)::' "$T/counts"
	done
	compiled g++ -O2 -finstrument-functions
	grep -q -E '^(void |bool )?std::' "$T/counts"
}

@test "flags: clang++ accepts them, links, and functions that are not inlined are counted" {
	for level in -O0 -O2 "-O2 -fPIE -pie"; do
		compiled clang++ $level $(flags clang++)
		grep -q '^weigh(.*) 1000$' "$T/counts"
		grep -q '^sort_items(.*) 1$' "$T/counts"
	done
}

@test "flags: C, by gcc and clang" {
	for compiler in gcc clang; do
		CC=$compiler compile c -O2 $(flags $compiler) <<-'EOF'
		__attribute__((noinline)) static int f(int x) { __asm__(""); return x; }
		int main(int argc, char **argv) { (void)argv; for (int i = 0; i < 10; i++) f(argc); }
		EOF
		"$HP_RUN" -f json -o "$T/c.json" "$T/c"
		counts_in "$T/c.json" | grep -x 'f 10'
	done
}

@test "flags: debug information is complete" {
	for compiler in g++ clang++; do
		$compiler -c -O2 $(flags $compiler) "$T/app.cc" -o "$T/app.o"
		readelf -S "$T/app.o" | grep -q debug_info
	done
}

@test "flags: by path, version, target, wrapper, options, as one word" {
	machine=$(g++ -dumpmachine)
	version=$(g++ -dumpversion)
	mkdir -p "$T/bin"
	printf '#!/bin/sh\nexec "$@"\n' >"$T/bin/ccache"
	ln -sf "$(command -v clang++)" "$T/bin/cc-of-mine"
	chmod 755 "$T/bin/ccache"
	PATH=$T/bin:$PATH
	for words in "$(command -v g++)" "$machine-g++-$version" "ccache g++" "env A=1 g++" "g++ -m64"; do
		[ "$(flags $words)" = "$(flags g++)" ]
		[ "$(flags "$words")" = "$(flags g++)" ]
		[ ! -s "$T/err" ]
	done
	[ "$(flags ccache clang++)" = "$(flags clang++)" ]
	[ "$(flags cc-of-mine)" = "$(flags clang++)" ]
}

@test "flags: a path with a blank in it" {
	mkdir -p "$T/my tools"
	ln -sf "$(command -v clang)" "$T/my tools/clang"
	[ "$(flags "$T/my tools/clang")" = "$(flags clang)" ]
}

@test "flags: folders of headers of another gcc are in the list, once" {
	mkdir -p "$T/opt/include/c++/14/backward" "$T/opt/lib/gcc/14/include"
	fake cross-g++ "ignored
#include <...> search starts here:
 $T/opt/lib/gcc/14/../../../include/c++/14
 $T/opt/include/c++/14/backward
 $T/opt/lib/gcc/14/include
 $T/opt/include
 /usr/local/include
 /usr/include
End of search list."
	[ "$(flags "$T/bin/cross-g++" | sed 's/.*list=//')" = \
		"/usr/include,/usr/lib/gcc,$T/opt/lib/gcc/14/include,$T/opt/include" ]
}

@test "flags: a folder that the list cannot hold is reported" {
	fake g++-comma "#include <...> search starts here:
 /opt/a,b/include
End of search list."
	[ "$(flags "$T/bin/g++-comma")" = "$(flags g++)" ]
	flags "$T/bin/g++-comma"
	grep -q "/opt/a,b/include" "$T/err"
}

@test "flags: folders of the environment are the project's, and stay in" {
	mkdir -p "$T/project"
	[ "$(CPATH=$T/project CPLUS_INCLUDE_PATH=$T/project flags g++)" = "$(flags g++)" ]
}

@test "flags: the programmers' language does not matter" {
	[ "$(LC_ALL=de_DE.UTF-8 LANGUAGE=de flags g++)" = "$(flags g++)" ]
}

@test "flags: a missing compiler is judged by its name, with a message" {
	[ "$(flags arm-none-g++-99)" = "$(flags g++)" ]
	flags clang-99
	[ "$(wc -l <"$T/err")" = 1 ]
	grep -q "clang-99: No such file" "$T/err"
	[ "$(flags clang-99)" = "$(flags clang)" ]
}

@test "flags: a program that is not a compiler gets one clear line" {
	run -1 "$HP" flags nonesuch
	[ "${#lines[@]}" = 1 ]
	[[ $output == *"nonesuch: No such file"*"hotpath flags gcc"* ]]
	run -1 "$HP" flags true
	[ "${#lines[@]}" = 1 ]
	run -1 "$HP" flags tcc
	[ "${#lines[@]}" = 1 ]
	run -2 "$HP" flags ""
	run -2 "$HP" flags --nonsense
}

@test "flags: a project below .../usr/include: excluded by absolute paths, with a message" {
	own=$T/root/usr/include/app
	mkdir -p "$own"
	echo 'int main(void) { return 0; }' >"$own/main.c"
	cd "$own"
	gcc $(flags gcc) -S -o "$T/absolute.s" "$own/main.c"
	grep -q "'/usr/include'" "$T/err"
	gcc $(flags gcc) -S -o "$T/relative.s" main.c
	run ! grep __cyg_profile_func_enter "$T/absolute.s"
	grep __cyg_profile_func_enter "$T/relative.s"
}

# noted COMPILER FLAGS... - the report's note about headers, of a program with many calls
noted()
{
	"$@" -DROUNDS=300 -std=c++17 "$T/app.cc" -o "$T/noted"
	"$HP_RUN" -o "$T/noted.txt" "$T/noted" >/dev/null
	grep -A 2 'most calls are of functions in system headers' "$T/noted.txt"
}

@test "flags: the report names the flag when headers make most of the calls" {
	[[ $(noted g++ -g -finstrument-functions) == *-exclude-file-list=/usr/include,/usr/lib/gcc*"hotpath flags g++"* ]]
	[[ $(noted g++ -finstrument-functions) == *"hotpath flags g++"* ]]
	[[ $(noted clang++ -g -finstrument-functions-after-inlining) == *"-O2 -finstrument-functions-after-inlining"* ]]
	run ! noted g++ $(flags g++)
}

@test "flags: functions have their place in the source, by gcc and clang" {
	for compiler in g++ clang++; do
		compiled $compiler -O1 $(flags $compiler)
		python3 - "$T/app.json" "$T/app.cc" <<-'EOF'
		import json, sys
		rows = json.load(open(sys.argv[1]))["functions_timing"]["data"]
		place = [row["location"] for row in rows if row["name"].startswith("weigh(")][0]
		assert place["file"] == sys.argv[2] and place["line"] == 10, place
		EOF
	done
}

@test "flags: help says what each of them is for" {
	run -0 "$HP" flags --help
	for flag in $(flags g++) $(flags clang++); do
		[[ $output == *"${flag%%=*}"* ]]
	done
	[ -z "$(echo "$output" | awk 'length > 95')" ]
	[ "$("$HP" help flags)" = "$output" ]
}
