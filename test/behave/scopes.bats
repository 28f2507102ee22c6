#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# scopes.bats - names of inlined functions that the linker does not know: with interposed functions, and
# as instrumented functions.

load helper

# Alternately, half of the CPU time each: a lambda, and a function of an unnamed namespace; both
# inlined into a static member. They rarely read the clock, so the kernel's part is small on any
# machine.
setup_file()
{
	cat >"$T/inner.cc" <<-'END'
		#include <cstdio>
		#include <ctime>
		static volatile unsigned long sink;
		static inline __attribute__((always_inline, no_instrument_function)) double cpu_ms()
		{
			timespec t;
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
			return double(t.tv_sec) * 1e3 + double(t.tv_nsec) / 1e6;
		}
		namespace app {
		namespace {
		#ifdef FORCED
		__attribute__((always_inline))
		#endif
		inline void hidden(double until)
		{
			while (cpu_ms() < until)
				for (int i = 0; i < 100000; i++) sink = sink + 7;
		}
		}
		struct Worker {
			static __attribute__((noinline)) void run(double start);
		};
		void Worker::run(double start)
		{
			auto inner = [](double until)
		#ifdef FORCED
				__attribute__((always_inline))
		#endif
			{
				while (cpu_ms() < until)
					for (int i = 0; i < 100000; i++) sink = sink + 3;
			};
			for (int i = 0; i < 20; i++) {
				inner(start + 20 * i + 10);
				hidden(start + 20 * i + 20);
			}
		}
		}
		int main()
		{
			app::Worker::run(cpu_ms());
			return 0;
		}
	END
	g++ -O2 -g -DFORCED -o "$T/inner" "$T/inner.cc"
	g++ -O2 -g -finstrument-functions -o "$T/hooked" "$T/inner.cc"
}

profile()
{
	HOTPATH_REPORT=functions-cpu,functions-timing HOTPATH_LIMIT=0 HOTPATH_OUTPUT_FORMAT=json \
		HOTPATH_OUTPUT_PATH="$T/json" "$HP_RUN" "$@"
	[ "$(jq -r '.functions_cpu.raw | length' "$T/json")" -gt 0 ] || skip "no samples: $(jq -r .functions_cpu.message "$T/json")"
	jq -r '.functions_cpu.raw[] | "\(.self_ns / 1e6) ms  \(.name)"' "$T/json"
}

# Percent of all samples that are the function's own; 0 = no such row.
self_percent()
{
	jq -r --arg n "$1" '.functions_cpu | ([.raw[] | select(.name == $n) | .self_ns] | add // 0) / .total_samples / 10 | floor' \
		"$T/json"
}

# halves FUNCTION FUNCTION - each has half of the samples, and the function that they are inlined
# into has almost none. The clock and the start of the program have some, too.
halves()
{
	[ "$(self_percent "$1")" -ge 30 ]
	[ "$(self_percent "$2")" -ge 30 ]
	[ "$(self_percent "app::Worker::run(double)")" -le 10 ]
}

@test "scopes: inlined functions are named with namespace, class and function" {
	profile "$T/inner"
	line=$(grep -n 'auto inner' "$T/inner.cc" | cut -d: -f1)
	halves "app::(anonymous namespace)::hidden" "app::Worker::run(double)::{lambda:$line}::operator()"
	! jq -r '.functions_cpu.raw[].name' "$T/json" | grep -qx -e 'operator()' -e hidden
}

@test "scopes: the same for a kept run, and in the flame graph" {
	profile "$T/inner"
	"$HP_BUILD/hotpath" report --export folded -o "$T/folded"
	cat "$T/folded"
	grep -q "app::(anonymous namespace)::hidden" "$T/folded"
	grep -q "{lambda:[0-9]*}::operator()" "$T/folded"
}

@test "scopes: samples of an inlined copy are those of the instrumented function" {
	profile "$T/hooked"
	hidden="app::(anonymous namespace)::hidden(double)"
	inner="app::Worker::run(double)::{lambda(double)#1}::operator()(double) const"
	[ "$(jq --arg n "$hidden" '.functions_timing.raw[] | select(.name == $n) | .calls' "$T/json")" = 20 ]
	[ "$(jq --arg n "$inner" '.functions_timing.raw[] | select(.name == $n) | .calls' "$T/json")" = 20 ]
	halves "$hidden" "$inner"
}
