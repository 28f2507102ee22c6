#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# header.bats - include/hotpath.h: compiled in every way, with the library and without it, the
# program does the same; and its marks are counted, timed and named as documented.

load helper

PROGRAM=$ROOT/test/behave/programs/header.c
STRICT="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I$ROOT/include"

# Ways to link a program: NAME FLAGS...
modes()
{
	cat <<-END
		pie -O2 -fPIE -pie
		nopic -O2 -fno-pic -no-pie
		debug -O0 -g
		lto -O2 -flto
		now -O2 -fvisibility=hidden -Wl,-z,now -Wl,-z,relro -Wl,--as-needed
		static -O2 -static
		stripped -Os -ffunction-sections -fdata-sections -Wl,--gc-sections -s
		hooked -O2 $2
		nopiclto -O2 -fno-pic -no-pie -flto
		staticpie -O2 -static-pie
		noplt -O3 -fno-plt
		library -O2 -fPIC
	END
}

# With its own linker, if installed.
linkers()
{
	local linker
	for linker in gold lld mold; do
		if command -v "ld.$linker" "$linker" >/dev/null; then
			echo "$linker-pie -O2 -fPIE -pie -fuse-ld=$linker"
			echo "$linker-nopic -O2 -fno-pic -no-pie -fuse-ld=$linker"
		fi
	done
}

# build DIRECTORY/NAME COMPILER FLAGS... - the program, or a program and a library.
build()
{
	local name=$1 cc=$2
	shift 2
	# shellcheck disable=SC2086
	if [[ $name = *library* ]]; then
		"$cc" $STRICT "$@" -DLIBRARY -shared -Wl,--no-undefined -o "$name.so" "$PROGRAM" &&
			"$cc" $STRICT "$@" -DPROGRAM -o "$name" "$PROGRAM" -x none "$name.so"
	else
		"$cc" $STRICT "$@" -o "$name" "$PROGRAM"
	fi
}

# same DIRECTORY/NAME EXPECTED - it behaves the same with and without the library.
same()
{
	local status=0
	"$1" >"$1.out" 2>"$1.err" || status=$?
	[ $status = 7 ] && cmp "$1.out" "$2" && [ ! -s "$1.err" ] || return 1
	status=0
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$1.report HOTPATH_FUNCTIONS_LIMIT=0 \
		LD_PRELOAD=$HP_LIB "$1" >"$1.out" 2>"$1.err" || status=$?
	[ $status = 7 ] && cmp "$1.out" "$2" && [ ! -s "$1.err" ] || return 1
	# ld.so loads nothing into a static program.
	[[ $1 = *static* ]] || [ -s "$1.report" ]
}

# expected COMPILER FLAGS... - its output with the header compiled to nothing.
expected()
{
	local cc=$1
	shift
	# shellcheck disable=SC2086
	"$cc" $STRICT -O1 "$@" -o "$T/plain" "$PROGRAM" && { "$T/plain" || [ $? = 7 ]; }
}

# matrix COMPILER LANGUAGE HOOKS STANDARD... - each mode with one standard in turn, so that every
# mode and every standard is covered; with HP_TEST_FULL, all combinations.
matrix()
{
	local cc=$1 language=$2 hooks=$3 directory=$T/$1 turn=0 failed=0 name flags standard
	local standards=("${@:4}")
	mkdir -p "$directory"
	while read -r name flags; do
		for standard in "${standards[@]}"; do
			((turn++ % ${#standards[@]} == line % ${#standards[@]})) || [ -n "$HP_TEST_FULL" ] ||
				continue
			[ -s "$directory/$standard" ] ||
				expected "$cc" -x "$language" "-std=$standard" >"$directory/$standard"
			# shellcheck disable=SC2086
			build "$directory/$name.$standard" "$cc" -DHOTPATH -x "$language" \
				"-std=$standard" $flags && same "$directory/$name.$standard" "$directory/$standard" && continue
			echo "failed: $cc -std=$standard $flags"
			cat "$directory/$name.$standard.err"
			failed=1
		done
		((++line))
	done < <(modes "$language" "$hooks"; linkers)
	"$ROOT/test/behave/header_check.py" "$directory" || failed=1
	return $failed
}

@test "header: gcc, C" {
	line=0 matrix gcc c -finstrument-functions c99 c11 gnu99 c17 gnu17
}

@test "header: clang, C" {
	line=0 matrix clang c -finstrument-functions c99 c11 gnu99 c17 gnu17
}

@test "header: g++" {
	line=0 matrix g++ c++ -finstrument-functions c++11 c++14 c++17 c++20 gnu++98
}

@test "header: clang++" {
	line=0 matrix clang++ c++ -finstrument-functions-after-inlining c++11 c++14 c++17 c++20 gnu++98
}

@test "header: without -DHOTPATH nothing of it is compiled" {
	local cc language
	for cc in gcc clang g++ clang++; do
		language=c
		[[ $cc = *++ ]] && language=c++
		# shellcheck disable=SC2086
		"$cc" $STRICT -x $language -O2 -c -o "$T/nothing.o" "$PROGRAM"
		if grep -a -q -e hotpath_ -e 'note[.]hotpath' "$T/nothing.o"; then
			echo "$cc left something of it"
			return 1
		fi
	done
}

# --- blocks in hard places ---

# The scenes of header_scenes.c, by both compilers, with hooks and without; and a library.
scenes_build()
{
	local programs=$ROOT/test/behave/programs
	local flags="-D_GNU_SOURCE -g -DHOTPATH -I$ROOT/include -I$programs"
	[ ! -e "$T/other.so" ] || return 0
	# shellcheck disable=SC2086
	{
		gcc $flags -O2 -o "$T/scenes.gcc" "$programs"/header_{scenes,other}.c -lpthread
		gcc $flags -O0 -finstrument-functions -o "$T/scenes.hooked" \
			"$programs"/header_{scenes,other}.c -lpthread
		clang $flags -O2 -o "$T/scenes.clang" "$programs"/header_{scenes,other}.c -lpthread
		gcc $flags -O2 -fPIC -shared -o "$T/other.so" "$programs/header_other.c"
	}
}

# watched PROGRAM ARGS... - leaves $T/report, $T/out, $T/err.
watched()
{
	local status=0
	rm -f "$T/report"
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_FUNCTIONS_LIMIT=0 \
		LIBRARY=$T/other.so LD_PRELOAD=$HP_LIB "$@" >"$T/out" 2>"$T/err" || status=$?
	report_comes "$T/report" "$T/err" || return
	return $status
}

# counted SCENE COUNT [FLAG...] - every block as often as the program says.
counted()
{
	local program scene=$1 count=$2
	shift 2
	scenes_build
	for program in "$T"/scenes.*; do
		echo "--- ${program##*/} $scene $count"
		watched "$program" "$scene" "$count"
		[ ! -s "$T/err" ] || { cat "$T/err"; return 1; }
		"$ROOT/test/behave/hooks_check.py" "$T/report" "$T/out" parallel "$@" || return 1
	done
}

# field NAME KEY - of the function called NAME in the report.
field()
{
	python3 - "$T/report" "$@" <<-'END'
		import json, sys
		rows = json.load(open(sys.argv[1]))["functions_timing"]
		for data, raw in zip(rows["data"], rows["raw"]):
		    if data["name"] == sys.argv[2]:
		        print((raw if sys.argv[3] in raw else data)[sys.argv[3]])
	END
}

@test "header: blocks in a recursion" {
	counted recursion 5000
}

@test "header: longjmp out of blocks" {
	counted jumps 10000
}

@test "header: blocks in coroutines" {
	counted contexts 1000 coroutines
}

@test "header: blocks around arrays of variable size" {
	counted sizes 3000
}

@test "header: one label in 8 threads, and in two files" {
	counted threads 20000
}

@test "header: blocks in signal handlers" {
	counted interrupted 200 coroutines	# hooks.bats tests the times of interrupted calls
}

@test "header: blocks in children" {
	counted children 30
}

@test "header: blocks of a library that is loaded and unloaded" {
	counted libraries 30
}

@test "header: descriptors of another version, without a label, made at run time" {
	counted descriptors 10
}

@test "header: begun in one thread, ended in another: counted and reported" {
	counted crossing 20
	grep -q '"unwound_calls":20' "$T/report"
}

@test "header: ends without a start are reported, and open blocks end with their function" {
	counted misuse 50 unpaired
	grep -q '"unpaired_exits":[1-9]' "$T/report"
	grep -q '"unwound_calls":[1-9]' "$T/report"
}

@test "header: times of nested blocks" {
	counted times 40
}

@test "header: blocks after exit" {
	counted endings 0
}

@test "header: killed in a block" {
	local status
	scenes_build
	watched "$T/scenes.gcc" kill 9 || status=$?
	[ "$status" = 137 ]
	"$ROOT/test/behave/hooks_check.py" "$T/report" "$T/out"
	[ "$(field last running_calls)" = 1 ]
}

@test "header: any label is valid in JSON, and reads as it was written" {
	scenes_build
	watched "$T/scenes.gcc" labels 3
	[ "$(field $'say "hi"\\??<&>' calls)" = 3 ]
	[ "$(field '?? broken ?' calls)" = 3 ]
	[ "$(field 'naïve 日本語 🙂' calls)" = 3 ]
	[ "$(field 'two words (three) a::b::c<d>' calls)" = 3 ]
	[ "$(field "$(printf 'very long %.0s' {1..100})" calls)" = 3 ]
	# No label: the file and the line, as the program was compiled.
	[ "$(grep -o '"name":"programs/header_scenes.c:[0-9]*"' "$T/report" | sort -u | wc -l)" = 1 ]
	HOTPATH_KEEP=0 LD_PRELOAD=$HP_LIB "$T/scenes.gcc" labels 3 >"$T/out" 2>"$T/err"
	grep -q '^two words (three) a::b::c<d>  *3 ' "$T/err"
}

@test "header: a block is found by its label" {
	scenes_build
	HOTPATH_SEGMENT_PATH=$T/segment watched "$T/scenes.hooked" labels 3
	"$HP_BUILD/hotpath" report --callers 'two words (three) a::b::c<d>' "$T/segment" >"$T/out"
	grep -q '^Function  *Calls' "$T/out"
	grep -q '^two words (three) a::b::c<d>  *3 ' "$T/out"
	grep -q '^ labels  *3 ' "$T/out"
	"$HP_BUILD/hotpath" report --focus 'words (three' -f json "$T/segment" >"$T/report"
	[ "$(field 'two words (three) a::b::c<d>' calls)" = 3 ]
	rm "$T/report" # with --focus, rows add up to less than the totals
	"$HP_BUILD/hotpath" report --folded "$T/segment" | grep -q '^scenes.hooked::main;labels;two words (three) a::b::c<d> [0-9]*$'
}

@test "header: a block's place in the source, without debug information and without the program" {
	scenes_build
	cp "$T/scenes.gcc" "$T/gone"
	strip -s "$T/gone"
	HOTPATH_SEGMENT_PATH=$T/segment watched "$T/gone" threads 10
	rm "$T/gone"
	"$HP_BUILD/hotpath" report -f json "$T/segment" >"$T/report"
	[ "$(field shared calls)" = 80 ]
	grep -A 3 'HOTPATH_BLOCK("shared")' "$ROOT/test/behave/programs/header_other.c"
	[ "$(field shared location)" = "{'file': '$ROOT/test/behave/programs/header_other.c', 'line': $(
		grep -n 'HOTPATH_BLOCK("shared")' "$ROOT/test/behave/programs/header_other.c" | cut -d: -f1
	), 'column': 0}" ]
}

# --- names and results ---

# results NAME - results of its last calls, newest first, one per line.
results()
{
	python3 - "$T/report" "$1" <<-'END'
		import json, sys
		for row in json.load(open(sys.argv[1]))["functions_timing"]["raw"]:
		    if row["name"] == sys.argv[2]:
		        print("\n".join(c["result"] for c in row["last_calls"] if "result" in c))
	END
}

# The same of calls of a function that calls itself, the innermost first, thread by thread. Their
# starts are nanoseconds apart, and estimated: the end, without the duration of the call. But a call lasts
# longer than the one that it contains.
nested_results()
{
	python3 - "$T/report" "$1" <<-'END'
		import json, sys
		for row in json.load(open(sys.argv[1]))["functions_timing"]["raw"]:
		    if row["name"] == sys.argv[2]:
		        calls = sorted(row["last_calls"], key=lambda c: (c["tid"], c["ns"]))
		        print("\n".join(c["result"] for c in calls if "result" in c))
	END
}

calls_build()
{
	[ -e "$T/calls" ] || for level in -O0 -O2; do
		g++ -std=c++17 -g $level -DHOTPATH -finstrument-functions \
			-finstrument-functions-exclude-file-list=/usr -I"$ROOT/include" \
			-o "$T/calls$level" "$ROOT/test/behave/programs/header_calls.cc" -lpthread
	done
}

@test "header: names of functions" {
	local level
	calls_build
	for level in -O0 -O2; do
		echo "--- $level"
		watched "$T/calls$level"
		[ "$(field plain calls)" = 42 ]
		[ "$(field 'name after a block' calls)" = 42 ]
		[ "$(field 'thing<...>::run' calls)" = 42 ]
		[ "$(field 'keeps_its_name()' calls)" = 42 ]
		[ "$(field "calls$level::main" calls)" = 1 ]
		if grep -e wrong -e plain_name "$T/report"; then return 1; fi
	done
}

@test "header: results of calls" {
	local level
	calls_build
	for level in -O0 -O2; do
		echo "--- $level"
		watched "$T/calls$level"
		[ "$(results 'with_result(int)')" = "$(printf 'turn %s\n' 1 0; seq -f 'turn %g' 39 -1 0)" ]
		[ "$(results 'without_result(int)')" = "only here" ]
		[ "$(results 'long_result()' | head -n 1)" = "$(printf '0123456789%.0s' {1..11})01234567" ]
		[ "$(nested_results 'nested_result(int)')" = "$(printf 'depth %s\n' 0 1 2 3 4 5 0 1 2 3 4 5)" ]
		[ "$(results has-result | uniq)" = "of the block" ]
		[ "$(results 'result_of_block()' | uniq)" = "of the function" ]
		[ "$(results 'result_by_helper()' | uniq)" = "a helper's" ]
	done
	HOTPATH_LOGS_LIMIT=0 watched "$T/calls-O2"
	if grep '"result"' "$T/report"; then return 1; fi
	# The last of all threads, 1 or 39: which one it is depends on the machine.
	HOTPATH_LOGS_LIMIT=1 watched "$T/calls-O2"
	[[ $(results 'with_result(int)') =~ ^turn\ (1|39)$ ]]
	# The outermost call ends last, when its text has made room for the nested ones'.
	[ "$(results 'nested_result(int)')" = "" ]
}

# --- a program's own settings ---

# with_defaults NAME TEXT [FLAGS...] - a program that has them.
with_defaults()
{
	local name=$1 text=$2
	shift 2
	printf '%s\n' '#include <hotpath.h>' "HOTPATH_DEFAULTS(\"$text\");" \
		'int main(void) { HOTPATH_BLOCK("block"); return 0; }' |
		gcc -x c -DHOTPATH -I"$ROOT/include" "$@" -o "$T/$name" -
}

# columns COMMAND... - the percentiles of the report's first table.
columns()
{
	HOTPATH_KEEP=0 "$@" 2>&1 | grep -m 1 '^Function' | grep -o -w 'P[0-9.]*' | tr '\n' ' '
}

@test "header: defaults: flag, environment, code, built-in" {
	local flags
	for flags in -fPIE "-fno-pic -no-pie" -flto -s; do
		# shellcheck disable=SC2086
		with_defaults defaults "percentiles=1,2 functions-limit=7" $flags
		export LD_PRELOAD=$HP_LIB
		[ "$(columns "$T/defaults")" = "P1 P2 " ]
		[ "$(HOTPATH_PERCENTILES=3 columns "$T/defaults")" = "P3 " ]
		unset LD_PRELOAD
		[ "$(columns "$HP_RUN" "$T/defaults")" = "P1 P2 " ]
		[ "$(HOTPATH_PERCENTILES=3 columns "$HP_RUN" "$T/defaults")" = "P3 " ]
		[ "$(HOTPATH_PERCENTILES=3 columns "$HP_RUN" --percentiles 4 "$T/defaults")" = "P4 " ]
	done
	with_defaults none ""
	[ "$(columns "$HP_RUN" "$T/none")" = "P95 " ]
}

@test "header: defaults of the session's first program apply to all, also later" {
	with_defaults child "percentiles=8"
	printf '%s\n' '#include <hotpath.h>' '#include <stdlib.h>' \
		'HOTPATH_DEFAULTS("percentiles=9 timing=exact"); HOTPATH_DEFAULTS("logs_limit=3");' \
		'HOTPATH_DEFAULTS("HOTPATH_THREADS_INTERVAL_MS=777");' \
		"int main(void) { HOTPATH_BLOCK(\"block\"); return system(\"$T/child\"); }" |
		sed 's/; HOTPATH/;\nHOTPATH/' |
		gcc -x c -DHOTPATH -I"$ROOT/include" -o "$T/parent" -
	HOTPATH_SEGMENT_PATH=$T/segment LD_PRELOAD=$HP_LIB "$T/parent" 2>"$T/err"
	grep -q ' P9 ' "$T/err"
	[ "$(columns "$HP_BUILD/hotpath" report "$T/segment")" = "P9 " ]
	[ "$(columns "$HP_BUILD/hotpath" report -p 10 "$T/segment")" = "P10 " ]
	[ "$(HOTPATH_PERCENTILES=11 columns "$HP_BUILD/hotpath" report "$T/segment")" = "P11 " ]
	# timing and logs_limit in the header; the sampler's interval.
	[ "$(od -A n -t u4 -j 28 -N 4 "$T/segment" | tr -d ' ')" = 1 ]
	[ "$(od -A n -t u4 -j 40 -N 4 "$T/segment" | tr -d ' ')" = 3 ]
	"$HP_BUILD/hotpath" report -f json "$T/segment" | grep -q '"sample_interval_ms":777,'
}

@test "header: invalid defaults are reported once, and the rest applies" {
	local run
	with_defaults bad "percentile=5 timing=weight percentiles=6 nonsense"
	for run in "$HP_RUN" "env LD_PRELOAD=$HP_LIB"; do
		HOTPATH_KEEP=0 $run "$T/bad" 2>"$T/err"
		[ "$(grep -c "HOTPATH_DEFAULTS: 'percentile=5' is not a setting; use NAME=VALUE" "$T/err")" = 1 ]
		[ "$(grep -c "HOTPATH_DEFAULTS: 'nonsense' is not a setting" "$T/err")" = 1 ]
		[ "$(grep -c "HOTPATH_TIMING: 'weight' is not allowed; adaptive|exact" "$T/err")" = 1 ]
		[ "$(grep -c ' P6 ' "$T/err")" = 1 ]
	done
}

@test "header: a reported file cannot choose where to write" {
	with_defaults writes "output_path=$T/written percentiles=12"
	HOTPATH_SEGMENT_PATH=$T/segment LD_PRELOAD=$HP_LIB "$T/writes"
	grep -q ' P12 ' "$T/written"
	rm "$T/written"
	[ "$(columns "$HP_BUILD/hotpath" report "$T/segment")" = "P12 " ]
	[ ! -e "$T/written" ]
}

# --- more blocks than there is room for ---

@test "header: a process that is not recorded has no blocks" {
	scenes_build
	export HOTPATH_KEEP=0
	HOTPATH_ONLY=another HOTPATH_OUTPUT_FORMAT=json LD_PRELOAD=$HP_LIB "$T/scenes.gcc" threads 1000 \
		>"$T/out" 2>"$T/err"
	grep -q '"type":"hotpath_report"' "$T/err"
	if grep in-thread "$T/err"; then return 1; fi
	grep -q "calls twice 16000" "$T/out"
}

@test "header: 3000 labels in a small segment: none is lost or wrong" {
	{
		echo '#include <hotpath.h>'
		echo '#include <stdio.h>'
		echo 'int main(void) { for (int i = 0; i < 3; i++) {'
		for i in $(seq 3000); do echo "{ HOTPATH_BLOCK(\"b$i\"); __asm__ volatile(\"\"); }"; done
		echo '} puts("sum all 9000"); return 0; }'
	} | gcc -x c -O0 -DHOTPATH -I"$ROOT/include" -o "$T/many" -
	HOTPATH_SEGMENT_SIZE=1M watched "$T/many"
	"$ROOT/test/behave/hooks_check.py" "$T/report" "$T/out" full
	[ "$(field b1 calls)" = 3 ]
	[ "$(field '<other>' calls)" -gt 0 ]
	python3 - "$T/report" <<-'END'
		import json, sys
		rows = json.load(open(sys.argv[1]))["functions_timing"]["raw"]
		wrong = [r["name"] for r in rows if r["name"] != "<other>" and "::main" not in r["name"]
		         and r["calls"] != 3]
		sys.exit(f"told with another number than 3: {wrong}" if wrong else 0)
	END
	watched "$T/many"
	[ "$(grep -o '"name":"b[0-9]*"' "$T/report" | sort -u | wc -l)" = 3000 ]
}

@test "header: a block across co_await is counted and reported" {
	cat >"$T/await.cc" <<-'END'
		#include <coroutine>
		#include <cstdio>
		#include <hotpath.h>
		struct task {
			struct promise_type {
				task get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
				std::suspend_never initial_suspend() { return {}; }
				std::suspend_always final_suspend() noexcept { return {}; }
				void return_void() {}
				void unhandled_exception() {}
			};
			std::coroutine_handle<promise_type> handle;
		};
		static task waits()
		{
			HOTPATH_BLOCK("across");
			co_await std::suspend_always{};
			HOTPATH_BLOCK("behind");
		}
		__attribute__((noinline)) static void around()
		{
			HOTPATH_BLOCK("around");
			task t = waits();
			t.handle.resume();
			t.handle.destroy();
		}
		int main()
		{
			for (int i = 0; i < 100; i++)
				around();
			std::puts("calls around 100\ncalls across 100\ncalls behind 100");
		}
	END
	g++ -std=c++20 -O1 -DHOTPATH -I"$ROOT/include" -o "$T/await" "$T/await.cc"
	watched "$T/await"
	"$ROOT/test/behave/hooks_check.py" "$T/report" "$T/out" unpaired
}

@test "header: the examples do what their comments say" {
	watched "$HP_BUILD/examples/blocks"
	[ "$(field 'handle a message' calls)" = 40000 ]
	[ "$(field check calls)" = 40000 ]
	[ "$(field decode calls)" = "$(field 'sort and sum' calls)" ]
	[ "$(field wait calls)" = 2020 ]
	[ "$(field send calls)" = 2000 ]
	[ "$(results batch | awk '{ n += $3 } END { print NR, n }')" = "20 $((40000 - $(field decode calls)))" ]
	grep -q '"percentiles":\[50.0,99.0\]' "$T/report"
	if grep -e random_next -e do_handle_msg "$T/report"; then return 1; fi
	watched "$HP_BUILD/examples/blocks_cxx"
	[ "$(field sort calls)" = 2 ]
	[ "$(field parse calls)" = 3000 ]
	[ "$(field account.book calls)" = 3000 ]
	[ "$(field checking calls)" = 3000 ]
	[ "$(results account.book | sort -u | tr '\n' ' ')" = "books bread rent " ]
}

# Each macro once; the program is not run, so the kind of object does not matter.
every_macro()
{
	cat <<'END'
#include <hotpath.h>
HOTPATH_DEFAULTS("percentiles=50,99");
HOTPATH_SKIP int every(int fd, void *object, unsigned long room);
int every(int fd, void *object, unsigned long room)
{
	HOTPATH_NAME("name");
	HOTPATH_BLOCK("block");
#ifdef __cplusplus
	HOTPATH_GUARD(guard, "guard");
	guard.end();
#endif
	HOTPATH_BEGIN("begin");
	HOTPATH_END("begin");
	HOTPATH_RESULT("text");
	HOTPATH_LOCK(object, "lock");
	HOTPATH_LABEL_FD(fd, "fd");
	HOTPATH_CHANNEL(object, "queue", room);
	HOTPATH_CHANNEL_SEND(object);
	HOTPATH_CHANNEL_RECEIVE(object);
	HOTPATH_CHANNEL_CLOSE(object);
	HOTPATH_STREAM(object, "stream");
	HOTPATH_STREAM_ITEM(object, room);
	HOTPATH_STREAM_LOG(object, 1, "text");
	HOTPATH_STREAM_END(object);
	HOTPATH_STREAM_FAIL(object);
	HOTPATH_LOOP("loop");
	HOTPATH_VAL("value", room);
	HOTPATH_GAUGE_SET("gauge", fd);
	HOTPATH_GAUGE_INC("gauge", 1);
	HOTPATH_GAUGE_DEC("gauge", 1);
	fd = HOTPATH_DBG(fd + 1);
	HOTPATH_FUTURE(object, "future");
	HOTPATH_FUTURE_POLL(object);
	HOTPATH_FUTURE_PENDING(object);
	HOTPATH_FUTURE_READY(object, "result");
	HOTPATH_FUTURE_CANCEL(object);
	(void)fd, (void)object, (void)room;
	return 0;
}
END
}

@test "header: every macro compiles without a warning, on and off" {
	local standard flags
	every_macro >"$T/every.c"
	# Everything documented in the header is in this program.
	sed -n 's/^ \*\t\(HOTPATH_[A-Z_]*\).*/\1/p' "$ROOT/include/hotpath.h" | sort -u >"$T/macros"
	[ "$(wc -l <"$T/macros")" -gt 10 ]
	while read -r macro; do
		grep -qw "$macro" "$T/every.c" || { echo "not here: $macro"; return 1; }
	done <"$T/macros"
	for flags in "" -DHOTPATH; do
		for standard in c99 c11; do
			gcc -x c -std=$standard $flags $STRICT -fsyntax-only "$T/every.c"
			clang -x c -std=$standard $flags $STRICT -fsyntax-only "$T/every.c"
		done
		for standard in c++11 c++20; do
			g++ -x c++ -std=$standard $flags $STRICT -Wold-style-cast -fsyntax-only "$T/every.c"
			clang++ -x c++ -std=$standard $flags $STRICT -Wold-style-cast -fsyntax-only "$T/every.c"
		done
	done
}

@test "header: the manual page has every macro" {
	local macro
	for macro in $(sed -n 's/^ \*\t\(HOTPATH_[A-Z_]*\).*/\1/p' "$ROOT/include/hotpath.h" | sort -u); do
		grep -qw "$macro" "$ROOT/doc/man/hotpath.h.3" || { echo "not in hotpath.h.3: $macro"; return 1; }
	done
}
