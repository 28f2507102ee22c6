#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# alloc_hard.bats - other allocators, and odd cases: the program behaves as it does without
# us.

load helper

setup_file()
{
	gcc -D_GNU_SOURCE -g -O1 -o "$T/hard" "$ROOT/test/behave/programs/alloc_hard.c" -ldl
	printf '#include <stdlib.h>\nint use(int x) { int *volatile p = malloc(40); *p = x; x = *p + 1; free(p); return x; }\n' |
		gcc -shared -fPIC -g -O1 -o "$T/library.so" -x c -
	gcc -D_GNU_SOURCE -g -O1 -o "$T/family" "$ROOT/test/behave/programs/alloc_family.c"
	g++ -g -O1 -std=c++17 -o "$T/stl" "$ROOT/test/behave/programs/alloc_stl.cc"
	printf '#include <stdlib.h>\nint main(void) { free(malloc(atoi("100"))); return 0; }\n' | tee "$T/own.c" |
		gcc -O0 -g -o "$T/plain" -x c -
}

setup()
{
	export HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/report HOTPATH_LIMIT=0 HOTPATH_KEEP=0
	rm -f "$T/report"
}

# same COMMAND... - the same with and without the library, except for the report.
same()
{
	local bare=0 status=0
	"$@" >"$T/bare" 2>&1 || bare=$?
	LD_PRELOAD="$HP_LIB${LD_PRELOAD:+ $LD_PRELOAD}" "$@" >"$T/out" 2>&1 || status=$?
	diff "$T/bare" "$T/out" && [ $status = $bare ]
}

total()
{
	jq -r "[.alloc_sites | .$1] | join(\" \")" "$T/report"
}

@test "hard: sizes of 0, overflow, alignments, mallopt, malloc_trim, MALLOC_PERTURB_" {
	same "$T/hard" odd
	export MALLOC_PERTURB_=90
	same "$T/hard" odd
	[ "$(total live_count)" -ge 1 ]
}

@test "hard: handlers that allocate" {
	same "$T/hard" signal 500
	[ "$(jq '[.alloc_sites.raw[] | select(.frames[0].function == "handler") | .count] | add' "$T/report")" = 500 ]
}

@test "hard: libraries that are unloaded" {
	same "$T/hard" library "$T/library.so" 30
	[ "$(jq '[.alloc_sites.raw[] | select(.frames[0].function == "use") | .count] | add' "$T/report")" = 30 ]
	[ "$(total cache_mismatches)" = 0 ]
}

@test "hard: jemalloc, tcmalloc, mimalloc preloaded behind us" {
	local name file count=0
	for name in libjemalloc libtcmalloc_minimal libmimalloc; do
		file=$(found $name) || continue
		count=$((count + 1))
		# A realloc to 0 frees in all of them, but not all return NULL then: the program would stop.
		LD_PRELOAD=$file same "$T/stl"
		[ "$(total allocator)" = "$file" ] || [ "$(basename "$(total allocator)")" = "$(basename "$file")" ]
		LD_PRELOAD=$file same "$T/plain"
		[ "$(jq '[.alloc_sites.raw[] | select(.frames[0].function == "main") | .total_bytes] | add' "$T/report")" = 100 ]
	done
	[ $count -gt 0 ] || skip "no allocator here"
}

@test "hard: an allocator that cannot be recorded is named" {
	local file
	file=$(found libjemalloc) || skip "no jemalloc here"
	LD_PRELOAD="$file $HP_LIB" "$T/plain"
	[[ "$(total message)" == *"libjemalloc.so.2, which is loaded before libhotpath.so"* ]]
	printf '#include <stddef.h>\nstatic char room[1 << 20]; static size_t used;
void *malloc(size_t n) { void *p = room + used; used += (n + 31) & ~15ul; return p; }
void free(void *p) { (void)p; } void *calloc(size_t a, size_t b) { return malloc(a * b); }
void *realloc(void *p, size_t n) { (void)p; return malloc(n); }\n' | gcc -O1 -g -o "$T/own" "$T/own.c" -x c - -fno-builtin
	LD_PRELOAD=$HP_LIB "$T/own"
	[[ "$(total message)" == *"own has its own malloc"* ]]
}

# A program that is not position-independent and takes malloc's address has a symbol malloc, too.
@test "hard: a program that takes malloc's address does not define a malloc" {
	local file
	compile address -no-pie -fno-pie -fno-instrument-functions <<-'EOF'
		#include <stdio.h>
		#include <stdlib.h>
		int main(void)
		{
			void *(*volatile allocate)(size_t) = malloc;
			void *volatile block = allocate(100);
			puts(block ? "done" : "no memory");
			return 0;
		}
	EOF
	readelf -W --dyn-syms "$T/address" | grep -E ' 0*[1-9a-f][0-9a-f]* +0 FUNC .* UND malloc' || skip "no such symbols on this machine"
	same "$T/address"
	[[ "$(total allocator)" == */libc.so* ]]
	[ -z "$(total message)" ]
	[ "$(jq '[.alloc_sites.raw[] | select(.frames[0].function == "main") | .total_bytes] | add' "$T/report")" = 100 ]
	file=$(found libjemalloc) || return 0
	LD_PRELOAD="$file $HP_LIB" "$T/address"
	[[ "$(total message)" == *"libjemalloc.so.2, which is loaded before libhotpath.so"* ]]
}

@test "hard: redis-server, linked with jemalloc, serves as without the library" {
	command -v redis-server >/dev/null && command -v redis-cli >/dev/null || skip "no redis here"
	local kind lib
	for kind in bare ours; do
		lib=
		[ $kind = bare ] || lib=$HP_LIB
		LD_PRELOAD=$lib redis-server --port 0 --unixsocket "$T/redis.sock" --save "" --appendonly no \
			--dir "$T" >"$T/redis.$kind.log" 2>&1 &
		eventually redis-cli -s "$T/redis.sock" ping
		{
			seq 1 2000 | sed 's/.*/SET key:& value-&-abcdefghijklmnopqrstuvwxyz/'
			echo 'DBSIZE'
			seq 1 7 2000 | sed 's/.*/GET key:&/'
			echo 'LPUSH list a b c d'; echo 'SORT list ALPHA'; echo 'FLUSHALL'; echo 'DBSIZE'
		} | redis-cli -s "$T/redis.sock" >"$T/redis.$kind"
		redis-cli -s "$T/redis.sock" shutdown nosave || true
		wait $!
	done
	diff "$T/redis.bare" "$T/redis.ours"
	report_comes "$T/report"
	[ "$(total allocated_count)" -gt 4000 ]
}

# With MAP_FIXED a program may map something where it has just unmapped something.
@test "hard: the library maps nothing where the program reserved space" {
	compile hole -fno-instrument-functions <<-'EOF'
		#include <stdio.h>
		#include <stdlib.h>
		#include <sys/mman.h>
		#define SIZE (512L << 20)
		static void *volatile kept;
		__attribute__((noinline)) static void left(int depth, unsigned path);
		__attribute__((noinline)) static void right(int depth, unsigned path);
		static void down(int depth, unsigned path)
		{
			if (!depth)
				free((void *)(kept = malloc(24)));
			else if (path & 1)
				left(depth - 1, path >> 1);
			else
				right(depth - 1, path >> 1);
		}
		static void left(int depth, unsigned path)
		{
			down(depth, path);
			__asm__ volatile("");
		}
		static void right(int depth, unsigned path)
		{
			down(depth, path);
			__asm__ volatile("");
		}
		int main(void)
		{
			int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
			char *room = mmap(NULL, SIZE, PROT_NONE, flags, -1, 0);
			munmap(room, SIZE);
			/* 16,384 paths: the tables grow several times. */
			for (unsigned path = 0; path < 1u << 14; path++)
				down(14, path);
			return mmap(room, SIZE, PROT_NONE, flags | MAP_FIXED_NOREPLACE, -1, 0) != room;
		}
	EOF
	"$T/hole"
	HOTPATH_REPORT=alloc-sites LD_PRELOAD=$HP_LIB HOTPATH_OUTPUT_FORMAT=json HOTPATH_OUTPUT_PATH=$T/hole.json "$T/hole"
	[ "$(python3 -c "import json; print(len(json.load(open('$T/hole.json'))['alloc_sites']['raw']) > 0)")" = True ]
}

# With all of its address space in use, no words are mapped for the last block, 100 MB behind the one before it.
@test "hard: a block that cannot be found again does not make the one before it count twice" {
	compile few -fno-instrument-functions <<-'EOF'
		#include <fcntl.h>
		#include <malloc.h>
		#include <stdlib.h>
		#include <sys/resource.h>
		#include <unistd.h>
		static void *volatile block;
		static rlim_t mapped(void)
		{
			char text[100] = "";
			int fd = open("/proc/self/statm", O_RDONLY);
			if (read(fd, text, sizeof(text) - 1) <= 0)
				_exit(7);
			close(fd);
			return strtoul(text, NULL, 10) * sysconf(_SC_PAGESIZE);
		}
		int main(void)
		{
			mallopt(M_MMAP_THRESHOLD, 1 << 30);
			mallopt(M_TRIM_THRESHOLD, 1 << 30);
			free(block = malloc(200 << 20));
			/* We give some of it back each time. */
			for (int i = 0; i < 4; i++)
				if (setrlimit(RLIMIT_AS, &(struct rlimit){ mapped(), RLIM_INFINITY }))
					return 8;
			block = malloc(100 << 20);
			block = malloc(100);
			_exit(0);
		}
	EOF
	LD_PRELOAD=$HP_LIB "$T/few"
	jq -c '.alloc_sites | [.allocated_count, .allocated_bytes, .live_bytes]' "$T/report"
	[ "$(total allocated_count,.allocated_bytes)" = "3 $((300 * 1024 * 1024 + 100))" ]
}
