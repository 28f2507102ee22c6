#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# own_malloc.bats - a program that brings malloc, calloc, realloc and free itself, and none of the rest, as bash does:
# no block of another allocator comes to its free().

load helper

setup_file()
{
	LANGUAGE=c++ CC=g++ compile own -fno-builtin -w <<-'EOF'
		#include <dirent.h>
		#include <new>
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <string>
		#include <unistd.h>
		struct head { size_t size, magic; };
		static char heap[64 << 20] __attribute__((aligned(16)));
		static size_t used;
		static bool is_mine(void *block)
		{
			return (char *)block >= heap && (char *)block < heap + sizeof(heap) &&
			       ((head *)block)[-1].magic == 0x1234567;
		}
		extern "C" void *malloc(size_t size)
		{
			size_t at = __atomic_fetch_add(&used, (size + 31 + sizeof(head)) & ~15UL, __ATOMIC_SEQ_CST);
			head *block = (head *)(heap + at);
			block->size = size;
			block->magic = 0x1234567;
			return block + 1;
		}
		extern "C" void free(void *block)
		{
			if (block && !is_mine(block)) {
				(void)!write(2, "a foreign block\n", 16);
				abort();
			}
		}
		extern "C" void *calloc(size_t count, size_t each) { return memset(malloc(count * each), 0, count * each); }
		extern "C" void *realloc(void *old, size_t size)
		{
			void *block = malloc(size);
			if (old && !is_mine(old))
				abort();
			if (old)
				memcpy(block, old, ((head *)old)[-1].size < size ? ((head *)old)[-1].size : size);
			return block;
		}
		static void *run(void *argument) { free(strdup("thread")); return argument; }
		int main()
		{
			char *line = NULL, *text;
			size_t length = 0;
			pthread_t thread;
			int *array = (int *)reallocarray(NULL, 10, sizeof(int));
			array = (int *)reallocarray(array, 1000, sizeof(int));
			free(array);
			free(strdup("copy"));
			if (asprintf(&text, "%d", 42) == 2)
				free(text);
			FILE *file = open_memstream(&text, &length);
			fprintf(file, "%s", "stream");
			fclose(file);
			free(text);
			file = fopen("/proc/self/maps", "r");
			while (getline(&line, &length, file) > 0)
				;
			free(line);
			fclose(file);
			free(realpath(".", NULL));
			free(getcwd(NULL, 0));
			closedir(opendir("/"));
			pthread_create(&thread, NULL, run, NULL);
			pthread_join(thread, NULL);
			std::string string;
			for (int i = 0; i < 1000; i++)
				string += "x";
			delete new int;
			delete[] new (std::nothrow) char[100];
			printf("%zu %d\n", string.size(), is_mine(&string[0]));
			return 3;
		}
	EOF
}

@test "own malloc: the program's free never gets another allocator's block" {
	run "$T/own"
	[ "$status" = 3 ]
	[ "$output" = "1000 1" ]
	HOTPATH_REPORT=all HOTPATH_OUTPUT_FORMAT=none LD_PRELOAD=$HP_LIB run "$T/own"
	echo "$output"
	[ "$status" = 3 ]
	[ "$output" = "1000 1" ]
}

@test "beside other programs: the heap's totals are of those, and a note says whose are missing" {
	HOTPATH_REPORT=short HOTPATH_SEGMENT_PATH=$T/seg "$HP_RUN" sh -c "'$T/own' >/dev/null; sed --version >/dev/null" 2>"$T/err"
	cat "$T/err"
	tr '\n' ' ' <"$T/err" | tr -s ' ' | grep -q "the heap's figures are without the blocks of own, whose malloc is linked statically"
	"$HP_BUILD/hotpath" report -r alloc-sites "$T/seg" | tr '\n' ' ' | tr -s ' ' | grep -q 'without the blocks of own, whose malloc is linked statically'
	"$HP_BUILD/hotpath" report -r alloc-sites -f json "$T/seg" | jq -e '.alloc_sites | .allocated_count > 0 and (.unseen_allocator | endswith("/own"))'
	# Nobody's are missing without it.
	HOTPATH_REPORT=short HOTPATH_OUTPUT_PATH=$T/all "$HP_RUN" sh -c 'sed --version >/dev/null'
	run ! grep 'without the blocks' "$T/all"
}
