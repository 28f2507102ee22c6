#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# same.bats - foreign programs behave with the library as they do without it: same/*.same has the cases,
# same/same.py runs and compares them.

load helper

setup_file()
{
	bash "$ROOT/test/behave/same/tools.sh" "$T"
	# For programs run as another user.
	chmod a+x "$BATS_RUN_TMPDIR"
}

# all_same TABLE [OPTION...] - each case of the table.
all_same()
{
	local table=$ROOT/test/behave/same/$1.same
	shift
	SAME_TOOLS=$T /usr/bin/python3 "$ROOT/test/behave/same/same.py" "$@" "$table"
}

# as_nobody TABLE - each case of the file, as a user without rights and in a separate file system,
# which bounds a stressor's effect on the machine.
as_nobody()
{
	local command=(/usr/bin/python3 -B "$ROOT/test/behave/same/same.py" -q "$1") room=$T/nobody

	mkdir -p "$room"
	chmod 777 "$room"
	chmod -R a+rX "$T"
	export SAME_TOOLS=$T TMPDIR=$room HOME=$room
	if [ "$(id -u)" = 0 ]; then
		command=(setpriv --reuid 65534 --regid 65534 --clear-groups "${command[@]}")
		setpriv --reuid 65534 --clear-groups test -r "$HP_LIB" -a -r "$1" ||
			skip "others may not read $HP_LIB"
	fi
	if unshare --mount true 2>/dev/null; then
		unshare --mount sh -c 'mount -t tmpfs -o size=2g,mode=777 none "$0" &&
			mount -t tmpfs -o mode=1777 none /dev/shm && exec "$@"' "$room" "${command[@]}"
	else
		"${command[@]}"
	fi
}

# conformance SUITE LEAST - builds it, if available, and runs all of it, at least LEAST programs.
conformance()
{
	local sources=$HP_BUILD/source script=$ROOT/test/behave/same/conform.sh

	mkdir -p "$sources"
	bash "$script" "$1" "$T/$1" "$sources" >"$T/$1.log" 2>&1 || skip "$(tail -n 1 "$T/$1.log")"
	bash "$script" table "$T/$1" >"$T/$1.same"
	# Nobody would miss a program that was not built because the machine lacked something.
	bash "$script" missing "$T/$1" >"$T/$1.missing.log"
	echo "$(wc -l <"$T/$1.same") programs; not compiled: $(wc -l <"$T/$1.missing.log")"
	[ "$(wc -l <"$T/$1.same")" -ge "$2" ] || { cat "$T/$1.missing.log"; return 1; }
	as_nobody "$T/$1.same"
}

@test "same: a library that changes anything is detected" {
	local most=14 shared=shared

	# Leftovers in /dev/shm are visible to users who may have their own
	# there.
	if [ "$(id -u)" != 0 ] || ! unshare --mount true 2>/dev/null || [[ $T == /dev/shm/* ]]; then
		most=13 shared=
	fi
	SAME_LIBRARY=$T/bad_guest.so run all_same bad_guest --only "^(?!shared)|^$shared\$"
	echo "$output"
	[ "$status" = 1 ]
	[ "${lines[-1]}" = "0 same, $most differs, 0 unsteady, 0 skipped" ]
}

@test "same: a call with a misaligned stack is detected" {
	[ -e "$T/behind.so" ] || skip "x86-64 only"
	LD_PRELOAD=$T/behind.so "$T/registers" misaligned | grep -x "stack is not aligned: free"
}

@test "same: each exported function is called with patterns in the registers" {
	[ -e "$T/behind.so" ] || skip "x86-64 only"
	LD_PRELOAD="$HP_LIB $T/behind.so" HOTPATH_OUTPUT_FORMAT=none run "$T/registers"
	echo "$output"
	[ "$status" = 0 ]
	[[ ${lines[-1]} == *" calls, 0 wrong" ]]
	# One more export, which nobody calls.
	cp "$T"/exports.h "$BATS_TEST_TMPDIR"
	echo 'X(new_function)' >>"$BATS_TEST_TMPDIR/exports.h"
	gcc -w -D_GNU_SOURCE -no-pie -I "$BATS_TEST_TMPDIR" -o "$BATS_TEST_TMPDIR/registers" \
		"$ROOT"/test/behave/same/registers*.c -lstdc++
	run "$BATS_TEST_TMPDIR/registers"
	[ "$status" = 1 ]
	[[ $output == *"not called here: new_function"* ]]
}

@test "same: shells, tools, compilers and interpreters" {
	all_same fast
}

@test "same: children, handlers, threads, stacks, locked memory, libraries that are loaded and unloaded" {
	all_same process
}

@test "same: limits, users, namespaces, static and foreign programs" {
	all_same around --only \
		'^(ulimit-[vdfnsl]|setpriv|setuid|su$|unshare|no-proc|read-only|full-disk|chroot|bind-now|static|musl|i386)'
}

@test "same: stressors of processes, threads, memory, descriptors and signals" {
	OPS=10 SECONDS_EACH=1 bash "$ROOT/test/behave/same/stress.sh" some >"$T/some.same"
	as_nobody "$T/some.same"
}

@test "same: all of stress-ng's stressors" {
	only_in_full
	bash "$ROOT/test/behave/same/stress.sh" all >"$T/all.same"
	as_nobody "$T/all.same"
}

@test "same: the POSIX conformance suite" {
	only_in_full
	conformance posix 1654
}

@test "same: the C library's own tests" {
	only_in_full
	conformance glibc 600
}

@test "same: other allocators, tracers, sanitizers, containers" {
	only_in_full
	all_same around
}

@test "same: the same with a hook in each function, and with timers" {
	only_in_full
	SUFFIX=.hooks all_same process
	SUFFIX=.hooks all_same process --timer
	all_same fast --timer
}

@test "same: interpreters, servers, builds, tools that inspect others, a browser" {
	only_in_full
	all_same full
}

@test "same: a login shell with jobs, xargs with many at once" {
	all_same sessions --only '^(login|many)$'
}

@test "same: whole sessions of work: git, apt-get, ssh, tmux, cron, pip, npm, cargo, a configure and make" {
	only_in_full
	local package
	package=$("$ROOT/scripts/fetch-source" gzip "$HP_BUILD/source")
	cp -a "$package" "$T/package"
	all_same sessions
}

@test "same: programs with jemalloc, tcmalloc and mimalloc, and tests of these" {
	only_in_full
	TOOLS=$T bash "$ROOT/test/behave/same/allocators.sh" build "$HP_BUILD/source" >"$T/allocators.log" 2>&1 ||
		tail -n 3 "$T/allocators.log"
	all_same allocators
}

@test "same: other projects' test suites" {
	only_in_full
	TOOLS=$T bash "$ROOT/test/behave/same/libuv.sh" build "$HP_BUILD/source" >"$T/libuv.log" 2>&1 || tail -n 3 "$T/libuv.log"
	TOOLS=$T bash "$ROOT/test/behave/same/jemalloc.sh" build "$HP_BUILD/source" >"$T/jemalloc.log" 2>&1 ||
		tail -n 3 "$T/jemalloc.log"
	chmod -R a+rX "$T"
	all_same suites
}

# Each project's source is fetched and built once, below the build folder. PROJECTS="bash sed"
# selects only these; all of them take hours.
@test "same: test suites of other projects, built from their sources" {
	only_in_full
	mkdir -p "$HP_BUILD/upstream"
	ln -sfn "$HP_BUILD/upstream" "$T/upstream"
	for project in ${PROJECTS:-coreutils bash make redis sed}; do
		TOOLS=$T bash "$ROOT/test/behave/same/upstream.sh" build "$project" "$HP_BUILD/source" ||
			echo "$project was not built"
	done
	chmod -R a+rX "$HP_BUILD/upstream" "$T"
	# shellcheck disable=SC2046
	all_same upstream --only "^($(echo ${PROJECTS:-coreutils bash make redis sed} | tr ' ' '|'))\$"
}
