#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# doctor.bats - `hotpath doctor` describes a machine and a program correctly, and each
# remedy helps: where it can be tried without changing the machine, it is.

load helper

setup_file()
{
	export HP=$HP_BUILD/hotpath
	echo 'int f(int x) { return x + 1; } int main(int c, char **v) { (void)v; return f(c) + 1; }' >"$T/tiny.c"
	gcc -o "$T/refuse" "$ROOT/test/behave/programs/refuse.c"
	compile app <"$T/tiny.c"
}

# doctor LEVEL ID COMMAND... - runs the command, which prints doctor's JSON, and
# expects check ID to have this LEVEL; its finding, missing and remedy are in
# variables.
doctor()
{
	local level=$1 id=$2 status=0
	shift 2
	"$@" >"$T/visit.json" || status=$?
	eval "$(python3 - "$T/visit.json" "$id" <<-'EOF'
	import json, shlex, sys
	visit = json.load(open(sys.argv[1]))
	check = {c["id"]: c for c in visit["checks"]}.get(sys.argv[2], {})
	for key in ("level", "found", "works", "missing", "remedy"):
	    print("is_%s=%s" % (key, shlex.quote(check.get(key) or "")))
	print("can_profile=%s" % visit["can_profile"])
	EOF
	)"
	echo "$id: $is_level: $is_found: $is_missing: $is_remedy"
	[ "$is_level" = "$level" ] || return
	[ "$status" = "$([ "$can_profile" = True ] && echo 0 || echo 1)" ]
}

root()
{
	[ "$(id -u)" = 0 ] || skip "needs root"
	unshare -m true 2>/dev/null || skip "no mount namespaces here"
}

# --- the machine ---

@test "doctor: each answer is complete, as text and as JSON" {
	"$HP" doctor --json >"$T/all.json"
	"$HP" doctor >"$T/all.txt"
	python3 - "$T/all.json" "$T/all.txt" <<-'EOF'
	import json, sys
	visit = json.load(open(sys.argv[1]))
	text = open(sys.argv[2]).read()
	assert visit["can_profile"] is True and visit["program"] is None
	assert len(visit["checks"]) >= 20
	for check in visit["checks"]:
	    assert check["level"] in ("ok", "limited", "failed"), check
	    assert check["found"], check
	    assert check["works"] or check["missing"], check
	    if check["level"] != "ok":
	        assert check["missing"] and check["remedy"], check
	    assert "\n%-9s%-15s" % (check["level"], check["id"]) in text, check
	EOF
	grep -q "^Profiling .* works" "$T/all.txt"
}

@test "doctor: it leaves nothing behind" {
	export HOME=$BATS_TEST_TMPDIR/home XDG_STATE_HOME=
	mkdir "$HOME"
	cd "$HOME"
	"$HP" doctor >/dev/null
	[ -z "$(find "$HOME" -type f)" ]
}

@test "doctor: without the library, and with it again" {
	export HOTPATH_LIB=/nowhere/libhotpath.so
	for id in run preload library; do
		doctor failed $id "$HP" doctor --json
	done
	[[ $is_remedy == *HOTPATH_LIB=* ]]
	HOTPATH_LIB=$HP_LIB doctor ok library "$HP" doctor --json
}

@test "doctor: without the helper, and with it again" {
	mkdir -p "$T/empty"
	export HOTPATH_BIN=$T/empty
	for id in run preload sampler; do
		doctor failed $id "$HP" doctor --json
	done
	[[ $is_remedy == *HOTPATH_BIN=* ]]
	HOTPATH_BIN=$HP_BUILD doctor ok sampler "$HP" doctor --json
}

@test "doctor: parts of another version" {
	mkdir -p "$T/other"
	sed 's/@(#)hotpath [0-9]/@(#)hotpath x/' "$HP_BUILD/hotpath-sampler" >"$T/other/hotpath-sampler"
	chmod 755 "$T/other/hotpath-sampler"
	HOTPATH_BIN=$T/other doctor limited sampler "$HP" doctor --json
	[[ $is_found == *"version x"* ]]
}

@test "doctor: LD_PRELOAD by bare name" {
	LD_LIBRARY_PATH=$HP_BUILD doctor ok bare-name "$HP" doctor --json
	mkdir -p "$T/copy"
	cp "$HP_LIB" "$T/copy"
	LD_LIBRARY_PATH=$T/copy doctor limited bare-name "$HP" doctor --json
	[[ $is_found == *"$T/copy/libhotpath.so" ]]
	[ "$is_remedy" = "LD_PRELOAD=$HP_LIB" ]
	run env "$is_remedy" "$T/app"
	[[ $output == *"app::main"* ]]
}

@test "doctor: limits of address space and file size, less, nearly none, and lifted" {
	for limit in as:address-space:v fsize:file-size:f; do
		IFS=: read -r name id letter <<<"$limit"
		doctor limited $id prlimit --$name=400000000:unlimited "$HP" doctor --json
		doctor limited segment prlimit --$name=400000000:unlimited "$HP" doctor --json
		doctor failed $id prlimit --$name=15000000:unlimited \
			sh -c "[ $letter = v ] || ulimit -f 100; exec $HP doctor --json"
		lift=${is_remedy%%;*}
		doctor ok $id prlimit --$name=400000000:unlimited \
			sh -c "$lift; exec $HP doctor --json"
		doctor ok segment prlimit --$name=400000000:unlimited \
			sh -c "$lift; exec $HP doctor --json"
	done
}

@test "doctor: no locked memory is no error while the kernel provides some" {
	doctor ok memlock prlimit --memlock=0: "$HP" doctor --json
	[[ $is_found == *"ulimit -l): 0 B"* ]]
}

# limit_is_shown GROUP FILE - in the group, whose limit is 400M in FILE, and without the limit.
limit_is_shown()
{
	echo "$BASHPID" >"$1/cgroup.procs" || return
	doctor limited cgroup "$HP" doctor --json || return
	[[ $is_found == *"419.4 MB" ]] || return
	echo 100G >"$1/$2" || return
	doctor ok cgroup "$HP" doctor --json
}

@test "doctor: memory limit of a cgroup" {
	root
	local group=/sys/fs/cgroup/memory/hotpath-test.$$ file=memory.limit_in_bytes
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		group=/sys/fs/cgroup/hotpath-test.$$ file=memory.max
	fi
	mkdir "$group" 2>/dev/null || skip "no cgroup can be made here"
	if ! echo 400M >"$group/$file" 2>/dev/null; then
		rmdir "$group"
		skip "no memory controller here"
	fi
	run limit_is_shown "$group" "$file"
	echo "$output"
	eventually rmdir "$group"
	[ "$status" = 0 ]
}

@test "doctor: overcommit, clock source and libdw as another machine has them" {
	root
	echo 2 >"$T/two"
	echo "kvm-clock hpet" >"$T/sources"
	doctor limited overcommit unshare -m \
		sh -c "mount --bind $T/two /proc/sys/vm/overcommit_memory && exec $HP doctor --json"
	local sources=/sys/devices/system/clocksource/clocksource0/available_clocksource
	if [ -e $sources ] && [ "$(uname -m)" = x86_64 ]; then
		doctor limited clock unshare -m sh -c "mount --bind $T/sources $sources && exec $HP doctor --json"
		[[ $is_found == CLOCK_MONOTONIC_RAW* ]]
	fi
	local libdw
	libdw=$(readlink -f "$(ldconfig -p | sed -n 's/.*libdw.so.1 .*=> //p' | head -n 1)")
	doctor limited libdw unshare -m sh -c "mount --bind $T/two $libdw && exec $HP doctor --json"
	doctor ok libdw "$HP" doctor --json
}

@test "doctor: rseq switched off and on" {
	[ "$(uname -m)" = x86_64 ] || skip "x86-64 only"
	doctor ok rseq "$HP" doctor --json
	GLIBC_TUNABLES=glibc.pthread.rseq=0 doctor limited rseq "$HP" doctor --json
	[[ $is_remedy == *glibc.pthread.rseq=0* ]]
}

@test "doctor: without /proc, and mounted" {
	root
	doctor failed proc unshare -m sh -c "mount -t tmpfs none /proc; exec $HP doctor --json"
	[ "$is_remedy" = "mount -t proc proc /proc" ]
	doctor ok proc unshare -m sh -c "mount -t tmpfs none /proc; $is_remedy; exec $HP doctor --json"
}

@test "doctor: a container: no /dev, /proc/sys not writable, process 1 is not an init, and with hotpath-run as one" {
	root
	unshare -fp --mount-proc true 2>/dev/null || skip "no PID namespaces here"
	read_only="mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys; mount -t tmpfs none /dev"
	doctor limited process-1 unshare -fpm --mount-proc sh -c "$read_only; $HP doctor --json; true"
	[[ $is_found == "process 1 is sh"* ]]
	[[ $is_remedy == *hotpath-run* ]]
	doctor ok process-1 unshare -fpm --mount-proc env HOTPATH_OUTPUT_FORMAT=none \
		"$HP_RUN" sh -c "$read_only; $HP doctor --json; true"
}

@test "doctor: a filter that refuses what containers refuse" {
	[ "$(uname -m)" = x86_64 ] || skip "numbers of x86-64"
	doctor limited perf-events "$T/refuse" 298 "$HP" doctor --json
	[[ $is_found == *"Operation not permitted" ]]
	doctor ok seccomp "$T/refuse" 298 "$HP" doctor --json
	[ "$is_found" = "a filter" ]
	doctor limited seccomp "$T/refuse" 319,434 "$HP" doctor --json
	[[ $is_found == *"memfd_create, pidfd_open" ]]
	doctor limited kernel "$T/refuse" 319,434 "$HP" doctor --json
	doctor limited run "$T/refuse" 41 "$HP" doctor --json
	doctor limited preload "$T/refuse" 41 "$HP" doctor --json
}

# levels_are_shown PLACE - the output of PLACE/hotpath for an ordinary user, at each setting of the
# kernel.
levels_are_shown()
(
	place=$1
	levels=/proc/sys/kernel/perf_event_paranoid
	old=$(cat $levels)
	old_kb=$(sysctl -n kernel.perf_event_mlock_kb)
	as="setpriv --reuid 65534 --regid 65534 --clear-groups $place/hotpath doctor --json"
	trap 'echo $old >$levels; sysctl -q kernel.perf_event_mlock_kb=$old_kb' EXIT
	echo 2 >$levels &&
		doctor ok perf-events $as &&
		[ "$is_remedy" = "sysctl kernel.perf_event_paranoid=1" ] &&
		echo 3 >$levels &&
		doctor "$(grep -q debian /proc/version && echo limited || echo ok)" perf-events $as &&
		[ -n "$is_missing" ] &&
		sysctl -q "${is_remedy#sysctl }" &&
		doctor ok perf-events $as &&
		[ -z "$is_missing" ] &&
		sysctl -q kernel.perf_event_mlock_kb=0 &&
		doctor limited memlock prlimit --memlock=0: $as &&
		raise=${is_remedy%%;*} &&
		sysctl -q "${is_remedy#*; or sysctl }" &&
		doctor ok memlock prlimit --memlock=0: $as &&
		sysctl -q kernel.perf_event_mlock_kb=0 &&
		doctor ok memlock prlimit --memlock=0:8388608 setpriv --reuid 65534 --regid 65534 --clear-groups \
			sh -c "$raise; exec $place/hotpath doctor --json"
)

@test "doctor: perf's permissions, as an ordinary user and at each level" {
	only_in_full
	root
	place=$(mktemp -d /tmp/hotpath-open.XXXXXX)
	chmod 755 "$place"
	cp "$HP_BUILD"/{hotpath,hotpath-run,hotpath-sampler,libhotpath.so} "$place"
	run levels_are_shown "$place"
	echo "$output"
	rm -rf "$place"
	[ "$status" = 0 ]
}

@test "doctor: the folder of kept runs" {
	XDG_STATE_HOME=/proc/none doctor limited state "$HP" doctor --json
	[[ $is_found == "/proc/none/hotpath: "* ]]
	XDG_STATE_HOME=$T/not/yet/there doctor ok state "$HP" doctor --json
	[ ! -e "$T/not" ]
	mkdir -p "$T/open/hotpath"
	chmod 777 "$T/open/hotpath"
	XDG_STATE_HOME=$T/open doctor limited state "$HP" doctor --json
	HOME='' XDG_STATE_HOME='' doctor limited state "$HP" doctor --json
}

@test "doctor: samply, refusals and missing parts" {
	mkdir -p "$T/bin"
	printf '#!/bin/sh\necho samply 9.9\n' >"$T/bin/samply"
	chmod 755 "$T/bin/samply"
	PATH=$T/bin:$PATH doctor ok samply "$HP" doctor --json
	[[ "$is_found" == "samply 9.9"* ]]
	PATH=/usr/bin:/bin HOME=/nowhere doctor ok samply "$HP" doctor --json
	[[ "$is_remedy" == "cargo install --locked samply"* ]]
	HOTPATH_SAMPLY_BIN=$T/bin/samply HOTPATH_SAMPLY_WRAPPER_BIN=/nowhere doctor ok samply "$HP" doctor --json
	[[ "$is_remedy" == *HOTPATH_SAMPLY_WRAPPER_BIN=* ]]
}

@test "doctor: timers, for samples where the kernel's counters are refused" {
	doctor ok timers "$HP" doctor --json
	[[ "$is_works" == HOTPATH_CPU=timer* ]]
	number=$(printf '#include <sys/syscall.h>\nSYS_timer_create\n' | gcc -E -P - | tail -n 1)
	gcc -O2 -o "$T/refuse" "$ROOT/test/behave/programs/refuse.c"
	doctor ok timers "$T/refuse" "$number" "$HP" doctor --json
	[ "$is_missing" = HOTPATH_CPU=timer ]
}

@test "doctor: a server of debug files" {
	DEBUGINFOD_URLS=http://127.0.0.1:1 doctor ok debug-files "$HP" doctor --json
	[ -n "$is_missing" ]
}

# --- a program ---

@test "doctor: an instrumented program" {
	for id in file loading functions symbols debug allocator; do
		doctor ok $id "$HP" doctor --json "$T/app"
	done
	run -0 "$HP" doctor "$T/app"
	[[ $output == *"Profiling it works." ]]
}

@test "doctor: blocks of hotpath.h without hooks" {
	echo '#include <hotpath.h>
	int main(void) { HOTPATH_BLOCK("block"); return 0; }' |
		gcc -x c -DHOTPATH -I"$ROOT/include" -o "$T/blocks" -
	run "$HP_BUILD/hotpath" doctor "$T/blocks"
	[[ $output == *"it has hotpath.h"* ]]
	[[ $output == *"CPU samples, marked blocks"* ]]
}

@test "doctor: no hooks, and the remedy" {
	gcc -o "$T/plain" "$T/tiny.c"
	doctor limited functions "$HP" doctor --json "$T/plain"
	[[ $is_remedy == *'$(hotpath flags cc)'* ]]
	cc $("$HP" flags cc) -o "$T/plain" "$T/tiny.c"
	doctor ok functions "$HP" doctor --json "$T/plain"
}

@test "doctor: hooks in a library only, named" {
	echo 'int f(int x) { return x + 1; }' | gcc -x c -shared -fPIC -finstrument-functions -o "$T/libpart.so" -
	echo 'int f(int); int main(int c, char **v) { (void)v; return f(c) + 1; }' |
		gcc -x c -o "$T/user" - -L"$T" -lpart -Wl,-rpath,"$T"
	doctor ok functions "$HP" doctor --json "$T/user"
	[ "$is_found" = "hooks are called by libpart.so" ]
	[ -n "$is_missing" ]
	chmod -x "$T/libpart.so"
	doctor ok functions "$HP" doctor --json "$T/libpart.so"
	rm "$T/libpart.so"
	doctor failed loading "$HP" doctor --json "$T/user"
	[ "$is_found" = "the loader does not find libpart.so" ]
}

@test "doctor: hooks of the program's own" {
	compile own <<-'EOF'
	#define NO __attribute__((no_instrument_function))
	NO void __cyg_profile_func_enter(void *f, void *c) { (void)f; (void)c; }
	NO void __cyg_profile_func_exit(void *f, void *c) { (void)f; (void)c; }
	int main(void) { return 0; }
	EOF
	doctor limited functions "$HP" doctor --json "$T/own"
	[[ $is_missing == *"own hooks"* ]]
	run "$HP_RUN" "$T/own"
	[[ $output == *"no instrumented function"* ]]
}

@test "doctor: stripped, strip -g, and debug information beside" {
	strip -o "$T/stripped" "$T/app"
	doctor limited symbols "$HP" doctor --json "$T/stripped"
	doctor limited debug "$HP" doctor --json "$T/stripped"
	strip -g -o "$T/named" "$T/app"
	doctor ok symbols "$HP" doctor --json "$T/named"
	doctor limited debug "$HP" doctor --json "$T/named"
	"$HP_RUN" -f json -o "$T/named.json" "$T/named" || true
	counts_in "$T/named.json" | grep -x 'f 1'
	mkdir -p "$T/.debug"
	objcopy --only-keep-debug "$T/app" "$T/.debug/stripped.debug"
	(cd "$T/.debug" && objcopy --add-gnu-debuglink=stripped.debug "$T/stripped")
	doctor ok symbols "$HP" doctor --json "$T/stripped"
	doctor ok debug "$HP" doctor --json "$T/stripped"
	[ "$is_found" = "debug information in $T/.debug/stripped.debug" ]
}

@test "doctor: a program that cannot be loaded fails, with the message of hotpath run" {
	gcc -static -o "$T/static" "$T/tiny.c"
	gcc -static-pie -o "$T/static-pie" "$T/tiny.c"
	for program in static static-pie; do
		doctor failed loading "$HP" doctor --json "$T/$program"
		run "$HP_RUN" "$T/$program"
		[[ $output == *"${is_found#* }"* ]]
	done
	if command -v musl-gcc >/dev/null; then
		musl-gcc -o "$T/musl" "$T/tiny.c"
		doctor failed loading "$HP" doctor --json "$T/musl"
	fi
	gcc -Wl,--dynamic-linker=/nowhere/ld.so -o "$T/unlinked" "$T/tiny.c"
	doctor failed loading "$HP" doctor --json "$T/unlinked"
	[ "$is_found" = "/nowhere/ld.so is missing" ]
}

@test "doctor: a script, and one that env leads to its program" {
	printf '#!/bin/sh -e\n' >"$T/script"
	printf '#!/usr/bin/env -S A=1 app\n' >"$T/script.env"
	printf 'echo\n' >"$T/text"
	chmod 755 "$T/script" "$T/script.env" "$T/text"
	doctor ok file "$HP" doctor --json "$T/script"
	[ "$is_found" = "$T/script is a script; checking /bin/sh, dynamically linked" ]
	PATH=$T:$PATH doctor ok functions "$HP" doctor --json "$T/script.env"
	[ "$is_found" = "hooks are called by the program" ]
	doctor limited file "$HP" doctor --json "$T/text"
}

@test "doctor: allocators" {
	cat >"$T/malloc.c" <<-'EOF'
	#include <stddef.h>
	static char room[1 << 16]; static size_t used;
	void *malloc(size_t n) { used += (n + 15) & ~15ul; return room + used - ((n + 15) & ~15ul); }
	void free(void *p) { (void)p; }
	#ifdef KNOWN
	int mallctl(void) { return 0; }
	#endif
	EOF
	doctor ok allocator "$HP" doctor --json "$T/app"
	gcc -o "$T/malloc.own" "$T/tiny.c" "$T/malloc.c"
	doctor limited allocator "$HP" doctor --json "$T/malloc.own"
	[[ $is_found == *"its own" ]]
	gcc -DKNOWN -o "$T/malloc.own" "$T/tiny.c" "$T/malloc.c"
	doctor limited allocator "$HP" doctor --json "$T/malloc.own"
	[[ $is_found == *"jemalloc" ]]
	gcc -shared -fPIC -Wl,-soname,libjemalloc.so.2 -o "$T/libjemalloc.so.2" "$T/malloc.c"
	gcc -Wl,--no-as-needed -o "$T/malloc.lib" "$T/tiny.c" "$T/libjemalloc.so.2"
	LD_LIBRARY_PATH=$T doctor ok allocator "$HP" doctor --json "$T/malloc.lib"
	[[ $is_found == *"jemalloc" ]]
}

@test "doctor: sanitizers, and the remedy for the one that wants to be first" {
	gcc -fsanitize=undefined -o "$T/undefined" "$T/tiny.c" || skip "no sanitizers here"
	doctor ok sanitizer "$HP" doctor --json "$T/undefined"
	[ "$is_found" = "-fsanitize=undefined" ]
	gcc -fsanitize=address -finstrument-functions -o "$T/address" "$T/tiny.c"
	readelf -d "$T/address" | grep -q libasan || skip "AddressSanitizer is not shared here"
	doctor limited sanitizer "$HP" doctor --json "$T/address"
	run -1 env LD_PRELOAD="$HP_LIB" "$T/address"
	run -3 env LD_PRELOAD="$HP_LIB" "$is_remedy" "$T/address"
	[[ $output == *"address::main"* ]]
	run -3 "$HP_RUN" "$T/address"
	[[ $output == *"address::main"* ]]
}

@test "doctor: languages whose compilers call no hooks" {
	echo x >"$T/note"
	gcc -o "$T/plain" "$T/tiny.c"
	objcopy --add-section .note.go.buildid="$T/note" "$T/plain" "$T/go"
	doctor limited language "$HP" doctor --json "$T/go"
	[ "$is_found" = "compiled from Go" ]
	{ cat "$T/tiny.c"; echo 'void rust_eh_personality(void) { }'; } | gcc -x c -o "$T/rust" -
	doctor limited language "$HP" doctor --json "$T/rust"
	[ "$is_found" = "compiled from Rust" ]
}

@test "doctor: damaged files are reported or read, and never crash it" {
	for place in 16 24 32 40 54 56 58 60 62; do
		cp "$T/app" "$T/torn"
		printf '\377\377' | dd of="$T/torn" bs=1 seek=$place conv=notrunc status=none
		run "$HP" doctor "$T/torn"
		[ "$status" -le 1 ]
	done
	for size in 20 100 3000 9000; do
		head -c $size "$T/app" >"$T/torn"
		run "$HP" doctor "$T/torn"
		[ "$status" -le 1 ]
	done
}

@test "doctor: wrong usage" {
	run -2 "$HP" doctor nonesuch
	[ "$output" = "hotpath: doctor: nonesuch: No such file or directory" ]
	run -2 "$HP" doctor /
	run -2 "$HP" doctor one two
	run -2 "$HP" doctor --nonsense
	run -0 "$HP" doctor --help
	[[ $output == *"Exit status"* ]]
}

# old_libc FOLDER - a C library that has no version of glibc after 2.17.
old_libc()
{
	mkdir -p "$1"
	echo 'GLIBC_2.2.5 { puts; }; GLIBC_2.17 { clock_gettime; } GLIBC_2.2.5;' >"$T/old.map"
	echo 'int puts(const char *s) { return !s; } int clock_gettime(int c, void *t) { return c + !t; }' |
		gcc -x c -fno-builtin -w -shared -fPIC -nostdlib -Wl,-soname,libc.so.6,--version-script="$T/old.map" \
			-o "$1/libc.so.6" -
}

@test "doctor: the C library of another system, in a folder" {
	old_libc "$T/root/lib64"
	doctor failed libc "$HP" doctor --json --root "$T/root"
	echo "$is_found"
	[[ $is_found == "$T/root/lib64/libc.so.6 is glibc 2.17, $HP_LIB needs 2."* ]]
	run "$HP" doctor --root="$T/root"
	[ "$status" = 1 ]
	[[ $output == *"programs there cannot be counted"* ]]
	doctor ok libc "$HP" doctor --json --root /
	# Truncated at any point, it is not recognised as a C library, and
	# nothing worse happens.
	for size in 0 63 64 200 1000 4096 8000; do
		old_libc "$T/cut/lib64"
		truncate -s "$size" "$T/cut/lib64/libc.so.6"
		doctor failed libc "$HP" doctor --json --root "$T/cut"
	done
	run "$HP" doctor --root "$T/none"
	[ "$status" = 2 ]
	[ "$output" = "hotpath: doctor: $T/none: no such folder" ]
}

@test "doctor: the library names the C library that it was built for" {
	doctor ok library "$HP" doctor --json
	echo "$is_found"
	[[ $is_found =~ "; for programs with glibc 2."[0-9]+" or later"$ ]]
}

@test "doctor: a program that brings an older C library runs, without us" {
	old_libc "$T/foreign"
	cp -L "$(readelf -l "$T/app" | sed -n 's/.*interpreter: \(.*\)]/\1/p')" "$T/foreign/ld.so"
	compile foreign.program -fno-instrument-functions -Wl,--dynamic-linker="$T/foreign/ld.so" <<-'EOF'
		#include <stdio.h>
		#include <stdlib.h>
		int main(void)
		{
			printf("%s\n", getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "none");
			return 3;
		}
	EOF
	doctor failed loading "$HP" doctor --json "$T/foreign.program"
	[[ $is_found == *"runs with glibc 2.17, and libhotpath.so was built for 2."* ]]
	run "$HP_RUN" --report threads --output "$T/report" "$T/foreign.program"
	echo "$output"
	[ "$status" = 3 ]
	[[ ${lines[0]} == *"runs with glibc 2.17, and libhotpath.so was built for 2."*"cannot be loaded into it"* ]]
	[ "${lines[1]}" = none ]
}
