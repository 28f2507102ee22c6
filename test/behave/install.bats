#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# install.bats - installed below a prefix, by DESTDIR, moved, used by bare name, from CMake
# and pkg-config, completed by shells, and removed without a trace.
#
# Tests that need /usr/local and the loader's cache run in a separate mount
# namespace.

load helper

setup_file()
{
	compile app <<-'EOF'
	int f(int x) { return x + 1; }
	int main(int c, char **v) { (void)v; return f(c) + 1; }
	EOF
	make_it install PREFIX="$T/prefix"
}

# make_it TARGET [VARIABLE=VALUE]...
make_it()
{
	make_as_built -C "$ROOT" B="$HP_BUILD" "$@" >"$T/make.out" 2>&1 || { cat "$T/make.out"; return 1; }
}

# Every file and folder below $1, with its mode, and where links lead.
tree()
{
	(cd "$1" && find . -printf '%p %m %y %l\n' | sort)
}

# counted REPORT - the program was recorded: f was called once
counted()
{
	counts_in "$1" | grep -q -x 'f 1'
}

# Runs its argument in a namespace where /usr/local is empty and /etc and the loader's
# cache may be written without anybody seeing it.
in_own_system()
{
	[ "$(id -u)" = 0 ] || skip "needs root"
	unshare -m true 2>/dev/null || skip "no mount namespaces here"
	cp -a /etc "$BATS_TEST_TMPDIR/etc"
	mkdir -p "$BATS_TEST_TMPDIR/cache"
	PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin unshare -m bash -e -c "
		mount --make-rprivate /
		mount --bind $BATS_TEST_TMPDIR/etc /etc
		[ ! -d /var/cache/ldconfig ] || mount --bind $BATS_TEST_TMPDIR/cache /var/cache/ldconfig
		mount -t tmpfs none /usr/local
		mkdir /usr/local/lib /usr/local/bin
		$1"
}

@test "install: every kind of file is in its place" {
	for file in bin/hotpath bin/hotpath-run libexec/hotpath/hotpath-sampler lib/libhotpath.so \
		lib/pkgconfig/hotpath.pc lib/cmake/hotpath/hotpathConfig.cmake \
		share/man/man1/hotpath.1 share/man/man1/hotpath-run.1 share/man/man7/hotpath.7 \
		share/bash-completion/completions/hotpath share/zsh/site-functions/_hotpath \
		share/fish/vendor_completions.d/hotpath.fish share/hotpath/hotpath.supp share/doc/hotpath/doc/internals/limits.md; do
		[ -e "$T/prefix/$file" ]
	done
	for header in "$ROOT"/include/*.h; do
		[ ! -e "$header" ] || [ -e "$T/prefix/include/${header##*/}" ]
	done
	run ! grep -r -E '@[A-Z]+@' "$T/prefix/lib/pkgconfig" "$T/prefix/lib/cmake" "$T/prefix/share/man"
}

@test "install: run and preload find their parts, also after the tree is moved" {
	cp -a "$T/prefix" "$T/moved"
	for place in "$T/prefix" "$T/moved"; do
		"$place/bin/hotpath-run" -f json -o "$T/run.json" "$T/app" || true
		counted "$T/run.json"
		HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/preload.json \
			LD_PRELOAD=$place/lib/libhotpath.so "$T/app" || true
		counted "$T/preload.json"
		"$place/bin/hotpath-run" -f none bash -c 'grep -m 1 -o "/.*/libhotpath.so" /proc/self/maps' >"$T/out"
		[ "$(cat "$T/out")" = "$place/lib/libhotpath.so" ]
	done
}

@test "install: the library finds its helpers through a link, too" {
	mkdir -p "$T/links"
	ln -sf "$T/prefix/lib/libhotpath.so" "$T/links/real.so"
	ln -sf real.so "$T/links/libhotpath.so"
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/link.json \
		LD_PRELOAD=$T/links/libhotpath.so "$T/app" 2>"$T/err" || true
	cat "$T/err"
	counted "$T/link.json"
}

@test "install: HOTPATH_LIB and HOTPATH_BIN name parts that lie elsewhere" {
	mkdir -p "$T/parts/lib" "$T/parts/bin"
	cp "$HP_LIB" "$T/parts/lib/my.so"
	cp "$HP_BUILD/hotpath" "$HP_BUILD/hotpath-sampler" "$T/parts/bin"
	HOTPATH_LIB=$T/parts/lib/my.so HOTPATH_BIN=$T/parts/bin \
		"$T/prefix/bin/hotpath-run" -f json -o "$T/parts.json" \
		bash -c "grep -q $T/parts/lib/my.so /proc/self/maps && $T/app" || true
	counted "$T/parts.json"
	HOTPATH_BIN=$T/parts/bin HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/parts2.json \
		LD_PRELOAD=$T/parts/lib/my.so "$T/app" || true
	counted "$T/parts2.json"
}

@test "install: doctor finds no fault" {
	run -0 "$T/prefix/bin/hotpath" doctor --json
	echo "$output" | python3 -c '
import json, sys
checks = {c["id"]: c for c in json.load(sys.stdin)["checks"]}
for name, file in ("library", "lib/libhotpath.so"), ("sampler", "libexec/hotpath/hotpath-sampler"):
    assert checks[name]["level"] == "ok" and file in checks[name]["found"], checks[name]
assert checks["run"]["level"] == checks["preload"]["level"] == "ok"'
}

@test "install: repeated over itself; uninstall leaves only what was there before" {
	mkdir -p "$T/again/share/man" "$T/again/lib"
	echo mine >"$T/again/lib/mine.so"
	tree "$T/again" >"$T/before"
	make_it install PREFIX="$T/again"
	tree "$T/again" >"$T/first"
	# An earlier version had a file that this one lacks.
	touch "$T/again/lib/old.so"
	echo "file $T/again/lib/old.so" >>"$T/again/libexec/hotpath/installed"
	make_it install PREFIX="$T/again"
	tree "$T/again" | diff "$T/first" -
	make_it uninstall PREFIX="$T/again"
	tree "$T/again" | diff "$T/before" -
	run make_as_built -C "$ROOT" B="$HP_BUILD" uninstall PREFIX="$T/again"
	[ "$status" != 0 ]
	[[ $output == *"nothing is installed below $T/again"* ]]
}

@test "install: a folder with other files stays" {
	make_it install PREFIX="$T/shared"
	echo theirs >"$T/shared/share/man/man1/theirs.1"
	make_it uninstall PREFIX="$T/shared"
	[ "$(cd "$T/shared" && find . -type f)" = ./share/man/man1/theirs.1 ]
}

@test "install: DESTDIR touches nothing outside, and the result works where it is unpacked" {
	make_it install PREFIX=/opt/hotpath LIBDIR=/opt/hotpath/lib64 DESTDIR="$T/stage"
	[ -e "$T/stage/opt/hotpath/lib64/libhotpath.so" ]
	[ ! -e /opt/hotpath ]
	run ! grep -r -I -l "$T" "$T/stage"
	"$T/stage/opt/hotpath/bin/hotpath-run" -f json -o "$T/stage.json" "$T/app" || true
	counted "$T/stage.json"
	make_it uninstall PREFIX=/opt/hotpath LIBDIR=/opt/hotpath/lib64 DESTDIR="$T/stage"
	[ -z "$(find "$T/stage" -mindepth 1)" ]
}

@test "install: invalid places are reported" {
	for words in "PREFIX=relative" "PREFIX=/a LIBDIR=/b/lib" "PREFIX=/a\ b"; do
		eval "run make_as_built -C '$ROOT' B='$HP_BUILD' install $words DESTDIR=$T/wrong"
		[ "$status" != 0 ]
		[[ $output == *"install: "* ]]
		[ ! -e "$T/wrong" ]
	done
}

@test "install: below /usr/local by bare name, seen by ldconfig, and gone from its cache" {
	in_own_system "
		make_as_built -C $ROOT B=$HP_BUILD install
		ldconfig -p | grep -q /usr/local/lib/libhotpath.so
		cd /
		HOTPATH_OUTPUT_PATH=$T/bare.json HOTPATH_OUTPUT_FORMAT=json LD_PRELOAD=libhotpath.so $T/app || true
		HOTPATH_OUTPUT_PATH=$T/bare2.json HOTPATH_OUTPUT_FORMAT=json hotpath-run $T/app || true
		hotpath doctor | grep -q '^ok *bare-name'
		make_as_built -C $ROOT B=$HP_BUILD uninstall
		! ldconfig -p | grep libhotpath
		find /usr/local -mindepth 1 >$T/rest"
	counted "$T/bare.json"
	counted "$T/bare2.json"
	[ "$(sort "$T/rest")" = "$(printf '/usr/local/bin\n/usr/local/lib')" ]
}

@test "install: where ld.so does not search, the path to preload is printed" {
	make_it install PREFIX="$T/aside"
	grep -q "LD_PRELOAD=$T/aside/lib/libhotpath.so" "$T/make.out"
	make_it uninstall PREFIX="$T/aside"
	[ ! -e "$T/aside" ]
}

@test "install: from pkg-config" {
	command -v pkg-config >/dev/null || skip "no pkg-config here"
	export PKG_CONFIG_PATH=$T/prefix/lib/pkgconfig
	pkg-config --validate hotpath
	[ "$(pkg-config --modversion hotpath)" = "$("$HP_BUILD/hotpath" version | sed 's/.* //')" ]
	for compiler in gcc clang; do
		$compiler -O1 $(pkg-config --cflags hotpath) $(pkg-config --variable=${compiler}_flags hotpath) \
			-o "$T/pkg" "$T/app.c"
		HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/pkg.json \
			LD_PRELOAD=$(pkg-config --variable=library hotpath) "$T/pkg" || true
		counts_in "$T/pkg.json" | grep -q main
	done
	"$(pkg-config --variable=run hotpath)" --help >/dev/null
}

@test "install: from CMake, C and C++, by gcc and clang" {
	command -v cmake >/dev/null || skip "no cmake here"
	mkdir -p "$T/project"
	cp "$T/app.c" "$T/project/app.c"
	cat >"$T/project/part.cc" <<-'EOF'
	#include <algorithm>
	#include <vector>
	#ifdef HOTPATH
	extern "C" __attribute__((noinline)) int part(int x)
	{
		std::vector<int> v(100, x);
		std::sort(v.begin(), v.end());
		return v[0];
	}
	#endif
	int main(int c, char **) { return part(c) + 2; }
	EOF
	cat >"$T/project/CMakeLists.txt" <<-'EOF'
	cmake_minimum_required(VERSION 3.10)
	project(app C CXX)
	find_package(hotpath 0.1 REQUIRED)
	add_executable(app app.c)
	add_executable(part part.cc)
	target_link_libraries(part m)
	hotpath_instrument(app part)
	add_custom_target(show COMMAND ${CMAKE_COMMAND} -E echo "${hotpath_RUN}|${hotpath_LIBRARY}" VERBATIM)
	EOF
	for compilers in gcc:g++ clang:clang++; do
		rm -rf "$T/project/build"
		cmake -S "$T/project" -B "$T/project/build" -DCMAKE_PREFIX_PATH="$T/prefix" -Wno-dev \
			-DCMAKE_C_COMPILER="${compilers%:*}" -DCMAKE_CXX_COMPILER="${compilers#*:}"
		cmake --build "$T/project/build"
		for program in app part; do
			"$T/prefix/bin/hotpath-run" -n 0 -f json -o "$T/cmake.json" "$T/project/build/$program" || true
			counts_in "$T/cmake.json" >"$T/cmake.counts"
			grep -q -x -E '(f|part|part\(int\)) 1' "$T/cmake.counts"
			[[ $compilers == clang* ]] || run ! grep std:: "$T/cmake.counts"
		done
	done
	cmake --build "$T/project/build" --target show | grep -F "$T/prefix/bin/hotpath-run|$T/prefix/lib/libhotpath.so"
	sed -i 's/hotpath 0.1/hotpath 99/' "$T/project/CMakeLists.txt"
	run cmake -S "$T/project" -B "$T/project/build2" -DCMAKE_PREFIX_PATH="$T/prefix" -Wno-dev
	[ "$status" != 0 ]
}

@test "man: each command has a page with each of its options, and no others" {
	"$HP_BUILD/hotpath" --help | sed -n -E 's/^  ([a-z]+)  +.*/\1/p' >"$T/commands"
	[ "$(wc -l <"$T/commands")" -ge 5 ]
	while read -r command; do
		[[ $command != version && $command != help ]] || continue
		page=$HP_BUILD/man/hotpath-$command.1
		"$HP_BUILD/hotpath" "$command" --help |
			sed -n -E 's/^ +(-[a-zA-Z], )?(--[a-z-]+).*/\2/p' >"$T/said"
		echo --help >>"$T/said"
		sed -n 's/\\-/-/g; /^\.SH OPTIONS/,/^\.SH [^O]/p' "$page" | grep '^\.B' |
			grep -o -E -e '--[a-z][a-z-]*' | sort -u >"$T/written"
		sort -u "$T/said" | diff - "$T/written"
	done <"$T/commands"
}

@test "man: the variables are those of the code" {
	"$HP_BUILD/hotpath" help | sed -n -E 's/^  (HOTPATH_[A-Z_]+) .*/\1/p' | sort >"$T/known"
	sed -n '/^\.SH VAR/,/^\.SS/s/^\.B \(HOTPATH_[A-Z_]*\)$/\1/p' "$HP_BUILD/man/hotpath.7" | sort >"$T/told"
	[ "$(wc -l <"$T/known")" -gt 20 ]
	diff "$T/known" "$T/told"
}

@test "man: the pages are right for groff" {
	command -v groff >/dev/null || skip "no groff here"
	for page in "$HP_BUILD"/man/*; do
		run -0 groff -man -Tutf8 -ww -z "$page"
		[ -z "$output" ]
	done
	groff -man -Tutf8 "$HP_BUILD/man/hotpath.7" | sed 's/\x1b\[[0-9;]*m//g' >"$T/page"
	grep -q 'table, json, json-pretty, none' "$T/page"
}

# completed LINE - bash's completions at its end, one a line
completed()
{
	PATH=$T/prefix/bin:$PATH bash -c '
		. "$1/share/bash-completion/completions/hotpath"
		compopt() { :; }
		read -ra COMP_WORDS <<<"${2//=/ = }"
		[[ $2 != *" " ]] || COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		cd "$3"
		_hotpath
		printf "%s\n" "${COMPREPLY[@]}"' - "$T/prefix" "$1" "$ROOT" | tr '\n' ' '
}

@test "completion: bash" {
	[[ $(completed "hotpath ") == "run report explain compare list stacks console serve load mcp init flags check doctor "* ]]
	[ "$(completed "hotpath do")" = "doctor " ]
	[ "$(completed "hotpath run --fo")" = "--format= --focus= " ]
	[ "$(completed "hotpath run --format=j")" = "json json-pretty " ]
	[ "$(completed "hotpath run -f j")" = "json json-pretty " ]
	[ "$(completed "hotpath-run --col")" = "--color= " ]
	[ "$(completed "hotpath-run --color ")" = "auto always never " ]
	[ "$(completed "hotpath report --sort=s")" = "self " ]
	[ "$(completed "hotpath report --report=mut")" = "mutexes " ]
	[ "$(completed "hotpath run --report threads,lea")" = "threads,leaks " ]
	[ "$(completed "hotpath run --output Makef")" = "Makefile " ]
	[ "$(completed "hotpath run ls Makef")" = "Makefile " ]
	[ "$(completed "hotpath flags clang+")" = "clang++ " ]
	[ "$(completed "hotpath help fl")" = "flags " ]
	"$T/prefix/bin/hotpath-run" -f none true
	[[ $(completed "hotpath report ") =~ [0-9]+\  ]]
}

@test "completion: fish" {
	command -v fish >/dev/null || skip "no fish here: make test-all"
	offered()
	{
		PATH=$T/prefix/bin:$PATH fish --no-config -c "source $T/prefix/share/fish/vendor_completions.d/hotpath.fish
			complete -C '$1'" | cut -f 1 | tr '\n' ' '
	}
	cd "$ROOT"
	commands=$("$HP_BUILD/hotpath" help | sed -n '/^  run /,/^  help /s/^  \([a-z]*\) .*/\1/p' | sort | tr '\n' ' ')
	[[ $commands == "check compare "*" version " ]]
	[[ $(offered "hotpath ") == "$commands"* ]]
	[ "$(offered "hotpath run --form")" = "--format=json --format=json-pretty --format=none --format=table " ]
	[ "$(offered "hotpath-run -f j")" = "json json-pretty " ]
	[ "$(offered "hotpath report --fol")" = "--folded " ]
	[ "$(offered "hotpath run ls Makef")" = "Makefile " ]
	[ "$(offered "hotpath flags clang+")" = "clang++ " ]
}

@test "completion: zsh" {
	command -v zsh >/dev/null || skip "no zsh here: make test-all"
	PATH=$T/prefix/bin:$PATH run timeout 60 zsh -f "$ROOT/test/behave/complete.zsh" \
		"$T/prefix/share/zsh/site-functions" "hotpath run --form" "hotpath report --sort=" "hotpath do"
	echo "$output"
	[[ $output == *"--format"* ]]
	[[ $output == *"calls"*"name"*"self"*"total"* ]]
	[[ $output == *"hotpath doctor"* ]]
}

@test "make preload makes the library, though a folder has that name" {
	make -C "$ROOT" -n preload "B=$T/none" >"$T/plan"
	grep -q -e "-o $T/none/libhotpath.so" "$T/plan"
	run ! grep -q -e "-o $T/none/hotpath" "$T/plan"
}

@test "install: under any umask the same files and folders, with the same modes" {
	for mask in 000 077; do
		(umask $mask && make_it install PREFIX="$T/umask$mask")
		diff <(tree "$T/prefix") <(tree "$T/umask$mask")
		rm -rf "$T/umask$mask"
	done
}
