#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# vectors.bats - whole vector registers, as arguments, as results, and live across calls of hooks and
# stand-ins, while CPU samples interrupt; the x87 stack and the control words too. (Registers of each
# stand-in: same.bats.)

load helper

setup_file()
{
	cat >"$T/vectors.c" <<-'EOF'
		#include <fenv.h>
		#include <stdint.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <time.h>

		typedef uint64_t lanes __attribute__((vector_size(WIDTH)));
		#define COUNT (WIDTH / 8)

		static __attribute__((noinline)) lanes next(lanes a, lanes b)
		{
			free(malloc(10));
			return (a ^ b) * 6364136223846793005u + 1442695040888963407u;
		}

		static __attribute__((noinline)) lanes deep(lanes a, lanes b, int depth)
		{
			lanes c = next(a, b);

			return depth ? deep(b, c, depth - 1) + a : c + b;
		}

		static __attribute__((noinline)) long double exact(long double x)
		{
			return x * 1.0000001L;
		}

		int main(int argc, char **argv)
		{
			long rounds = atol(argv[argc - 1]);
			long double x = 1;
			lanes a = { 1 }, b = { 2 };

			fesetround(FE_UPWARD);
			for (long i = 0; i < rounds; i++) {
				lanes c = deep(a, b, (int)(i % 7));

				a = b;
				b = c;
				x = exact(x);
			}
			for (int i = 0; i < COUNT; i++)
				printf("%016lx ", (unsigned long)b[i]);
			printf("%.20Lg %d\n", x, fegetround() == FE_UPWARD);
			return 0;
		}
	EOF
}

# with FLAG WIDTH
compare()
{
	grep -qw "$1" /proc/cpuinfo || skip "this processor has no $1"
	gcc -O2 -g "-m$1" -DWIDTH="$2" -finstrument-functions -Wno-psabi -o "$T/vectors.$2" "$T/vectors.c" -lm
	"$T/vectors.$2" 200000 >"$T/bare"
	for source in auto timer; do
		for timing in adaptive exact; do
			HOTPATH_CPU=$source HOTPATH_CPU_HZ=999 HOTPATH_TIMING=$timing HOTPATH_REPORT=all HOTPATH_OUTPUT_FORMAT=none \
				LD_PRELOAD=$HP_LIB "$T/vectors.$2" 200000 >"$T/out"
			diff "$T/bare" "$T/out"
		done
	done
}

@test "vectors: 256 bits" {
	compare avx2 32
}

@test "vectors: 512 bits" {
	compare avx512f 64
}
