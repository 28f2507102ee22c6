#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# unwind_oracle.bats - the frames that unwind/ finds are those of libunwind, instruction by instruction.

load helper

setup_file()
{
	local objects
	[ "$(uname -m)" = x86_64 ] || { echo "steps x86-64 only" >"$T/impossible"; return; }
	ldconfig -p | grep -q libunwind-x86_64.so.8 || { echo "no libunwind here" >"$T/impossible"; return; }
	mapfile -t objects < <(find "$HP_BUILD"/obj/{report,segment,sampler,unwind} -name '*.o' ! -name main.o)
	ar rcsP "$T/all.a" "${objects[@]}"
	gcc -std=gnu11 -D_GNU_SOURCE -O2 -I"$ROOT" -o "$T/oracle" "$ROOT/test/behave/unwind_oracle.c" "$T/all.a" \
		-Wl,--as-needed -ldw -lelf -lcjson -lz -liberty -lm -lpthread -ldl
	if "$T/oracle" 10 sleep 10 2>&1 | grep -q 'not permitted'; then
		echo "no ptrace here" >"$T/impossible"
	fi

	# Exceptions, signals and the C++ library.
	LANGUAGE=c++ CC=g++ compile throws -O2 -fno-instrument-functions <<-'END'
		#include <csignal>
		#include <map>
		#include <stdexcept>
		#include <string>
		static volatile int sink;
		static void on(int) { sink = sink + 1; }
		__attribute__((noinline)) static int thrower(long n)
		{
			std::string s((size_t)(n % 50), 'x');
			if (n % 3 == 0)
				throw std::runtime_error(s);
			return (int)s.size();
		}
		__attribute__((noinline)) static int catcher(long n)
		{
			try {
				return thrower(n);
			} catch (const std::exception &e) {
				return (int)std::string(e.what()).size();
			}
		}
		int main()
		{
			std::map<long, std::string> all;
			signal(SIGUSR1, on);
			for (long i = 0;; i++) {
				all[i % 1000] += (char)catcher(i);
				if (i % 100 == 0) {
					all.clear();
					raise(SIGUSR1);
				}
			}
		}
	END

	# Callbacks from the C library, alloca, recursion.
	compile sorts -O2 -fno-instrument-functions <<-'END'
		#include <alloca.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		static int order(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
		static __attribute__((noinline)) long deep(int n, char *before)
		{
			char *here = alloca((size_t)n % 64 + 8);
			snprintf(here, 8, "%d", n);
			return n ? deep(n - 1, here) + here[0] : before[0];
		}
		int main(void)
		{
			char *all[200], start[] = "a";
			for (;;) {
				for (int i = 0; i < 200; i++)
					snprintf(all[i] = malloc(20), 20, "%d", rand());
				qsort(all, 200, sizeof(*all), order);
				for (int i = 0; i < 200; i++)
					free(all[i]);
				deep(30, start);
			}
		}
	END
}

setup()
{
	[ ! -e "$T/impossible" ] || skip "$(cat "$T/impossible")"
	stacks=1000
	[ "${HP_TEST_FULL:-}" != 1 ] || stacks=25000
}

# same PROGRAM... - all stacks are the same; few end early.
same()
{
	run -0 timeout 400 "$T/oracle" "$stacks" "$@"
	echo "$output"
	[[ $output == "$stacks compared, 0 different, "* ]]
	[ "$(sed 's/.*different, \([0-9]*\) shorter.*/\1/' <<<"$output")" -le $((stacks / 4)) ]
}

@test "oracle: C++ with exceptions and signal handlers" {
	same "$T/throws"
}

@test "oracle: C with callbacks, alloca and recursion" {
	same "$T/sorts"
}

@test "oracle: python" {
	# The interpreter itself: python3 may be a script that starts it.
	same "$(python3 -c 'import sys; print(sys.executable)')" -c 'import json
while 1: json.dumps(list(range(100)))'
}

@test "oracle: a shell in its signal handlers" {
	same bash -c 'trap : USR1; while :; do kill -USR1 $$; done'
}

@test "oracle: Rust" {
	command -v rustc >/dev/null || skip "no rustc"
	cat >"$T/errors.rs" <<-'END'
		use std::collections::HashMap;
		fn half(n: u64) -> Result<u64, String> {
		    if n % 7 == 0 { Err(format!("bad {}", n)) } else { Ok(n / 2) }
		}
		fn main() {
		    let mut seen = HashMap::new();
		    for i in 1u64.. {
		        match half(i) {
		            Ok(v) => *seen.entry(v % 1000).or_insert(0u64) += 1,
		            Err(e) => { seen.insert(e.len() as u64, i); }
		        }
		        if i % 1000 == 0 { seen.clear(); }
		    }
		}
	END
	rustc -O -g -o "$T/errors" "$T/errors.rs" || skip "rustc does not work"
	same "$T/errors"
}
