#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# hooks.bats - the hooks' hard cases: whatever a program does with its stack, its threads and its
# processes, every call is counted once, times stay sane, and its output is as without us.

load helper

# build NAME FLAGS... - programs/NAME, instrumented, to $T/NAME of that compiler and level.
build()
{
	local name=$1 source cc=$2 language=c level=$3
	shift 3
	source=$(echo "$ROOT/test/behave/programs/$name".c*)
	[ "${source##*.}" = c ] || { language=c++; cc=${cc/gcc/g++}; cc=${cc/clang/clang++}; }
	[ "$cc" != clang++ ] || set -- -finstrument-functions-after-inlining "$@"
	[ "$cc" = clang++ ] || set -- -finstrument-functions "$@"
	"$cc" -x $language -D_GNU_SOURCE -g "$level" -o "$T/$name.$cc.$level" "$source" "$@" -lpthread -ldl \
		-Wl,-z,now	# binding a function lazily takes 3 KiB of stack
}

# library NAME FUNCTION FLAGS... - instrumented, all with the same layout.
library()
{
	local name=$1 function=$2
	shift 2
	gcc -g -O2 -fPIC -shared -finstrument-functions -DNAME="$function" "$@" -o "$T/$name.so" \
		"$ROOT/test/behave/programs/hooks_library.c"
}

libraries()
{
	library one library_one
	library two library_two
	library three library_three
	library life library_life -DLIFE
	echo 'void library_life(void); int main(void) { library_life(); return 0; }' |
		gcc -x c - -x none "$T/life.so" -o "$T/life" -Wl,-rpath,"$T"
}

# 2000 functions, each called twice by each of 8 threads which live at once.
many_functions()
{
	{
		echo '#include "hooks.h"'
		echo '#include <pthread.h>'
		for i in $(seq 2000); do echo "static void f$i(void) { __asm__ volatile(\"\"); }"; done
		echo 'static pthread_barrier_t all;'
		echo 'UNSEEN static void *run(void *unused) {'
		echo 'pthread_barrier_wait(&all); for (int i = 0; i < 2; i++) {'
		for i in $(seq 2000); do echo "f$i();"; done
		echo '} pthread_barrier_wait(&all); return unused; }'
		echo 'UNSEEN int main(void) { pthread_t t[8]; pthread_barrier_init(&all, NULL, 8);'
		echo 'for (int i = 0; i < 8; i++) pthread_create(&t[i], NULL, run, NULL);'
		echo 'for (int i = 0; i < 8; i++) pthread_join(t[i], NULL);'
		echo 'puts("sum all 32000"); return 3; }'
	} >"$T/hooks_many.c"
	gcc -D_GNU_SOURCE -O1 -g -fno-inline -finstrument-functions -I "$ROOT/test/behave/programs" \
		-w -o "$T/many" "$T/hooks_many.c" -lpthread
}

setup_file()
{
	local name
	for name in jump thread signal stack fork code; do
		build hooks_$name gcc -O0 &
		build hooks_$name gcc -O2 &
		wait
	done
	build hooks_jump clang -O2
	build hooks_code clang -O2
	build hooks_guest gcc -O2
	build hooks_load gcc -O2
	gcc -D_GNU_SOURCE -O2 -o "$T/deny" "$ROOT/test/behave/programs/hooks_deny.c"
	libraries
	many_functions
	build hooks_throw gcc -O0
	build hooks_throw gcc -O2
	build hooks_throw clang -O2
	build hooks_tls gcc -O2
}

teardown_file()
{
	rm -f "$T"/seg*
}

# watched PROGRAM ARGS... - with the library; leaves $T/report, $T/out, $T/err and the status.
watched()
{
	local status=0
	rm -f "$T/report"
	HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_FUNCTIONS_LIMIT=0 \
		LD_PRELOAD=$HP_LIB "$@" >"$T/out" 2>"$T/err" || status=$?
	report_comes "$T/report" "$T/err" || return
	return $status
}

# true_counts NAME ARGS... [-- FLAGS...] - counts match the program's own, in each build of it.
true_counts()
{
	local name=$1 program arguments=() found=0
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		arguments+=("$1")
		shift
	done
	shift || true
	for program in "$T/hooks_$name".*; do
		found=1
		echo "--- ${program##*/} ${arguments[*]}"
		watched "$program" "${arguments[@]}" || { echo "status $?"; cat "$T/err"; return 1; }
		cat "$T/err"
		[ ! -s "$T/err" ] || return 1
		"$ROOT/test/behave/hooks_check.py" "$T/report" "$T/out" "$@" || return 1
	done
	[ $found = 1 ]
}

@test "hooks: longjmp out of recursion, 10^5 times" {
	true_counts jump again 100000
}

@test "hooks: longjmp out of 5000 levels" {
	true_counts jump deep 5000
}

@test "hooks: siglongjmp past other frames' sigsetjmp" {
	true_counts jump nested 3000
}

@test "hooks: siglongjmp out of a signal handler" {
	true_counts jump signal_home 20000
}

@test "hooks: siglongjmp out of a handler on a signal stack" {
	true_counts jump signal_own 20000
}

@test "hooks: siglongjmp out of anything, at any instruction" {
	true_counts jump async 500 -- unpaired torn
}

@test "hooks: exceptions across instrumented and other frames" {
	true_counts throw exceptions 5000
}

# clang's code calls no exit hook when an exception leaves a function.
@test "hooks: a call after a caught exception is not a callee of the function that threw" {
	local compiler
	for compiler in gcc clang; do
		LANGUAGE=c++ CC=$compiler compile caught."$compiler" -lstdc++ <<-'END'
			extern "C" __attribute__((noinline)) int thrower(int i)
			{
				if (i % 2)
					throw i;
				return i;
			}
			extern "C" __attribute__((noinline)) int next(int i)
			{
				volatile char larger_frame[4096] = { 1 };
				return larger_frame[0] + i;
			}
			extern "C" __attribute__((noinline)) int catcher(void)
			{
				int sum = 0;
				for (int i = 0; i < 1000; i++) {
					try {
						sum += thrower(i);
					} catch (int) {
					}
					sum += next(i);
				}
				return sum;
			}
			int main()
			{
				return catcher() == 0;
			}
		END
		HOTPATH_REPORT=calltree watched "$T/caught.$compiler"
		jq -c '.calltree.tree as $tree | $tree[] | select(.name == "next") | .parent as $parent |
			[.calls, ($tree[] | select(.id == $parent) | .name)]' "$T/report" | tee "$T/parents"
		[ "$(cat "$T/parents")" = '[1000,"catcher"]' ]
	done
}

# Between the coroutine's last hook and the jump there is none on the program's stack.
@test "hooks: a jump right after a coroutine ends the calls that it leaves" {
	compile jumped <<-'END'
		#include <setjmp.h>
		#include <ucontext.h>
		static jmp_buf again;
		static ucontext_t here, there;
		static char stack[65536];
		__attribute__((noinline)) void inside(void) { __asm__ volatile(""); }
		void coroutine(void)
		{
			for (;;) {
				inside();
				swapcontext(&there, &here);
			}
		}
		__attribute__((noinline)) void jumper(void)
		{
			swapcontext(&here, &there);
			longjmp(again, 1);
		}
		__attribute__((noinline)) int next(int i)
		{
			volatile char larger_frame[4096] = { 1 };
			return larger_frame[0] + i;
		}
		__attribute__((noinline)) int catcher(void)
		{
			volatile int sum = 0;
			for (volatile int i = 0; i < 1000; i++) {
				if (!setjmp(again))
					jumper();
				sum += next(i);
			}
			return sum;
		}
		int main(void)
		{
			getcontext(&there);
			there.uc_stack.ss_sp = stack;
			there.uc_stack.ss_size = sizeof(stack);
			makecontext(&there, coroutine, 0);
			return catcher() == 0;
		}
	END
	HOTPATH_REPORT=calltree watched "$T/jumped"
	jq -c '.calltree.tree as $tree | $tree[] | select(.name == "next") | .parent as $parent |
		[.calls, ($tree[] | select(.id == $parent) | .name)]' "$T/report" | tee "$T/parents"
	[ "$(cat "$T/parents")" = '[1000,"catcher"]' ]
}

@test "hooks: pthread_exit through C++ frames" {
	true_counts throw exits 200 -- parallel
}

@test "hooks: pthread_exit" {
	true_counts thread exits 300 -- parallel
}

@test "hooks: pthread_cancel" {
	true_counts thread cancels 100 -- parallel
}

@test "hooks: asynchronous pthread_cancel" {
	true_counts thread async_cancels 100 -- parallel
}

@test "hooks: destructors of keys" {
	true_counts thread keys 50 -- parallel
}

@test "hooks: thread_local objects" {
	true_counts tls threads 50 -- parallel
}

@test "hooks: detached threads outlive main" {
	true_counts thread detached 20 -- parallel
}

@test "hooks: main leaves before its last thread" {
	true_counts thread main_leaves -- parallel
}

@test "hooks: 200 threads at once" {
	true_counts thread crowd 200 -- parallel
}

@test "hooks: 10 000 threads one after the other" {
	true_counts thread one_by_one 10000 -- parallel
}

@test "hooks: 8 threads of 10^6 calls" {
	true_counts thread eight 1000000 -- parallel
}

@test "hooks: signals while new paths, depths and stacks appear" {
	true_counts signal home 5000 -- coroutines
}

@test "hooks: the same on a small signal stack" {
	true_counts signal small 5000 -- coroutines
}

@test "hooks: the first calls of all on a signal stack of 2 KiB" {
	true_counts signal first 1408
}

@test "hooks: errno is kept" {
	true_counts signal errno 20000
}

@test "hooks: handlers interrupt each other" {
	true_counts signal nested 20
}

@test "hooks: coroutines on adjacent small stacks" {
	true_counts stack adjacent 50 -- coroutines
}

@test "hooks: coroutines abandoned halfway, their stacks reused" {
	true_counts stack abandoned 500 -- coroutines
}

@test "hooks: a coroutine drives another" {
	true_counts stack nested 50 -- coroutines
}

@test "hooks: stacks switched by hand" {
	true_counts stack by_hand 3000
}

@test "hooks: a stack moves between threads" {
	true_counts stack migrating 500 -- parallel unpaired
}

@test "hooks: recursion, 10 deep" {
	true_counts stack recursion 10
}

@test "hooks: recursion, 10 000 deep" {
	true_counts stack recursion 10000
}

@test "hooks: recursion, a million deep" {
	ulimit -s unlimited 2>/dev/null || skip "stack limit cannot be raised"
	true_counts stack recursion 1000000
}

@test "hooks: mutual recursion has the time of its outermost call" {
	true_counts stack mutual 200
}

@test "hooks: fork" {
	true_counts fork fork 40 -- parallel unpaired
}

@test "hooks: _Fork, which runs no handlers" {
	true_counts fork _Fork 40 -- parallel unpaired
}

@test "hooks: clone without the C library" {
	true_counts fork clone 40 -- parallel unpaired
}

@test "hooks: fork in a program of several threads" {
	true_counts fork in_threads 40 -- parallel unpaired
}

@test "hooks: forked children start threads" {
	true_counts fork then_threads 40 -- parallel unpaired
}

@test "hooks: fork in a signal handler" {
	true_counts fork in_handler 40 -- parallel unpaired
}

@test "hooks: vfork, exec, posix_spawn" {
	true_counts fork execs 20 -- parallel
}

@test "hooks: daemon" {
	true_counts fork daemon 50 -- parallel
}

@test "hooks: 2000 children that end by exit" {
	true_counts fork exit 2000 -- parallel
}

# used PROGRAM ARGS... - bytes of the segment that it took.
used()
{
	rm -f "$T/segment"
	HOTPATH_SEGMENT_PATH=$T/segment watched "$@" || return
	od -A n -t u8 -j 64 -N 8 "$T/segment" | tr -d ' '
}

@test "hooks: many short threads and children do not fill the segment" {
	local threads children few=$((1 << 20))
	threads=$(used "$T/hooks_thread.gcc.-O2" one_by_one 10000)
	children=$(used "$T/hooks_fork.gcc.-O2" exit 2000)
	echo "10000 threads $threads bytes, 2000 children $children"
	[ "$threads" -lt $few ]
	[ "$children" -lt $few ]
}

@test "hooks: 10 000 children" {
	only_in_full
	[ "$(used "$T/hooks_fork.gcc.-O2" exit 10000)" -lt $((8 << 20)) ]
	"$ROOT/test/behave/hooks_check.py" "$T/report" "$T/out" parallel
}

@test "hooks: 10^5 signals" {
	only_in_full
	true_counts signal home 100000 -- coroutines
}

@test "hooks: 8 threads of 10^7 calls" {
	only_in_full
	true_counts thread eight 10000000 -- parallel
}

@test "hooks: a shell script of 1000 processes is one session" {
	local before after count=200
	[ -z "$HP_TEST_FULL" ] || count=1000
	echo "for i in \$(seq $count); do /bin/true; done; echo done" >"$T/script"
	[ "$(used sh "$T/script")" -lt $((1 << 20)) ]
	[ "$(cat "$T/out")" = "done" ]
	[ "$(grep -c '"type"' "$T/report")" = 1 ]
}

@test "hooks: shapes of functions" {
	true_counts code shapes 3000
}

@test "hooks: libraries that share an address" {
	export LIBS=$T
	true_counts load turns 50
}

@test "hooks: libraries are loaded and unloaded beside a running thread" {
	export LIBS=$T
	true_counts load beside 100 -- parallel
}

@test "hooks: dlmopen" {
	export LIBS=$T
	true_counts load spaces 20
}

@test "hooks: constructors and destructors of libraries" {
	watched "$T/life"
	cat "$T/err"
	"$ROOT/test/behave/counts.py" "$T/report" in_constructor in_destructor library_life >"$T/counts"
	cat "$T/counts"
	[ "$(tr '\n' ' ' <"$T/counts")" = "in_constructor 7 in_destructor 9 library_life 1 " ]
}

@test "hooks: the program does not notice the library" {
	"$T/hooks_guest.gcc.-O2" show >"$T/bare" 2>"$T/err" </dev/null
	watched "$T/hooks_guest.gcc.-O2" show </dev/null
	diff "$T/bare" "$T/out"
	[ ! -s "$T/err" ]
}

@test "hooks: registers, control words and errno are kept" {
	local timing
	for timing in adaptive exact; do
		HOTPATH_TIMING=$timing true_counts guest registers 200000 -- made_up
	done
}

@test "hooks: a full segment costs the program nothing but names" {
	local status=0
	HOTPATH_SEGMENT_SIZE=1M watched "$T/many" || status=$?
	cat "$T/err" "$T/out"
	[ $status = 3 ]
	"$ROOT/test/behave/hooks_check.py" "$T/report" "$T/out" full parallel
	HOTPATH_SEGMENT_SIZE=1M LD_PRELOAD=$HP_LIB "$T/many" 2>"$T/err" >/dev/null || true
	cat "$T/err"
	grep -q HOTPATH_SEGMENT_SIZE "$T/err"
}

# denied WHAT... - the program runs as without the library, whatever the kernel refuses. Its
# output goes through pipes, since files may be refused; the helper keeps the one for stderr
# open until it ends.
denied()
{
	local status
	rm -f "$T/report"
	{
		TARGET_PRELOAD=$HP_LIB HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report \
			HOTPATH_FUNCTIONS_LIMIT=0 "$T/deny" "$@" "$T/many" 2>&5 3>&- 5>&- | cat >"$T/out"
		echo "${PIPESTATUS[0]}" >"$T/status"
	} 5>&1 | cat >"$T/err"
	status=$(cat "$T/status")
	echo "$*: status $status; $(cat "$T/err"); report $(wc -c <"$T/report" 2>/dev/null)"
	[ $status = 3 ] && [ "$(cat "$T/out")" = "sum all 32000" ] || return 1
	! grep -q 'not profiled' "$T/err" || return 0
	[ ! -s "$T/report" ] || "$ROOT/test/behave/hooks_check.py" "$T/report" "$T/out" full parallel
	# Nothing may be missing without a message.
	[ -s "$T/report" ] || [ -s "$T/err" ]
}

@test "hooks: little address space" {
	denied as=120000000
	denied as=400000000
}

@test "hooks: small files only" {
	denied fsize=0
	denied fsize=100000
	denied fsize=3000000
}

@test "hooks: few descriptors" {
	denied nofile=5
	denied nofile=6
}

@test "hooks: system calls refused by a filter" {
	local error
	for error in 1 38; do
		denied memfd=$error
		denied socket=$error
		denied madvise=$error
		denied clone=$error
	done
}
