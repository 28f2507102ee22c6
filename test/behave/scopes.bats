#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# scopes.bats - names of inlined functions that the linker does not know: with what they stand in, and as
# instrumented functions.

load helper

# A third each in a lambda, a function of an unnamed namespace and a static member; all inlined.
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
				for (int i = 0; i < 1000; i++) sink = sink + 7;
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
					for (int i = 0; i < 1000; i++) sink = sink + 3;
			};
			inner(start + 100);
			hidden(start + 200);
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

# Milliseconds of the function itself; 0 = there is no such row.
self_ms()
{
	jq -r --arg n "$1" '[.functions_cpu.raw[] | select(.name == $n) | .self_ns] | add // 0 | . / 1000000 | floor' "$T/json"
}

@test "scopes: what was inlined is named with its namespace, class and function" {
	profile "$T/inner"
	line=$(grep -n 'auto inner' "$T/inner.cc" | cut -d: -f1)
	# Each took 100 ms of CPU time.
	[ "$(self_ms "app::(anonymous namespace)::hidden")" -ge 50 ]
	[ "$(self_ms "app::Worker::run(double)::{lambda:$line}::operator()")" -ge 50 ]
	[ "$(self_ms "app::Worker::run(double)")" -le 20 ]
	! jq -r '.functions_cpu.raw[].name' "$T/json" | grep -qx -e 'operator()' -e hidden
}

@test "scopes: the same of a kept run, and on the flame graph" {
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
	[ "$(jq --arg n "$hidden" '.functions_timing.raw[] | select(.name == $n) | .calls' "$T/json")" = 1 ]
	[ "$(jq --arg n "$inner" '.functions_timing.raw[] | select(.name == $n) | .calls' "$T/json")" = 1 ]
	[ "$(self_ms "$hidden")" -ge 50 ]
	[ "$(self_ms "$inner")" -ge 50 ]
	[ "$(self_ms "app::Worker::run(double)")" -le 20 ]
}
