// SPDX-License-Identifier: MIT
//
// alloc_new.cc - operator new and delete in all forms, and malloc with delete, new with free. Prints its actions:
// blocks, bytes, blocks and bytes left. `alloc_new ROUNDS [throw|THREADS]`
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

struct alignas(64) Wide {
	char text[192];
};

static std::atomic<size_t> blocks, bytes, left, left_bytes;

static void *made(void *block, size_t size)
{
	if (!block)
		abort();
	blocks++;
	bytes += size;
	left++;
	left_bytes += size;
	return block;
}

static void *gone(void *block, size_t size)
{
	left--;
	left_bytes -= size;
	return block;
}

static constexpr std::align_val_t wide{ 64 };

// libstdc++ asks malloc for a multiple of the alignment (ROUNDED=1).
static size_t asked(size_t size)
{
	static bool is_rounded = getenv("ROUNDED");
	return is_rounded ? (size + 63) & ~size_t(63) : size;
}

__attribute__((noinline)) static void forms(size_t n)
{
	const std::nothrow_t &quiet = std::nothrow;
	void *all[] = {
		made(operator new(n + 1), n + 1),
		made(operator new[](n + 2), n + 2),
		made(operator new(n + 3, quiet), n + 3),
		made(operator new[](n + 4, quiet), n + 4),
		made(operator new(n + 5), n + 5),
		made(operator new[](n + 6), n + 6),
		made(operator new(n + 7, wide), asked(n + 7)),
		made(operator new[](n + 8, wide), asked(n + 8)),
		made(operator new(n + 9, wide, quiet), asked(n + 9)),
		made(operator new[](n + 10, wide, quiet), asked(n + 10)),
		made(operator new(n + 11, wide), asked(n + 11)),
		made(operator new[](n + 12, wide), asked(n + 12)),
	};
	operator delete(gone(all[0], n + 1));
	operator delete[](gone(all[1], n + 2));
	operator delete(gone(all[2], n + 3), quiet);
	operator delete[](gone(all[3], n + 4), quiet);
	operator delete(gone(all[4], n + 5), n + 5);
	operator delete[](gone(all[5], n + 6), n + 6);
	operator delete(gone(all[6], asked(n + 7)), wide);
	operator delete[](gone(all[7], asked(n + 8)), wide);
	operator delete(gone(all[8], asked(n + 9)), wide, quiet);
	operator delete[](gone(all[9], asked(n + 10)), wide, quiet);
	operator delete(gone(all[10], asked(n + 11)), n + 11, wide);
	operator delete[](gone(all[11], asked(n + 12)), n + 12, wide);
	operator delete(nullptr);
	operator delete[](nullptr, size_t(8), wide);
}

// Each allocator here accepts its own blocks in either form.
__attribute__((noinline)) static void mixed(size_t n)
{
	free(gone(made(operator new(n), n), n));
	operator delete(gone(made(malloc(n), n), n));
	void *grown = realloc(gone(made(operator new[](n), n), n), 2 * n);
	operator delete[](gone(made(grown, 2 * n), 2 * n));
}

__attribute__((noinline)) static void lost(size_t n)
{
	static Wide *volatile kept;
	kept = new Wide;
	made(kept, asked(sizeof(Wide)));
	made(operator new(n + 13), n + 13);
}

__attribute__((noinline)) static void refused()
{
	static volatile size_t most = size_t(1) << 60;
	try {
		operator new(most);
	} catch (const std::bad_alloc &) {
		return;
	}
	abort();
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	int threads = argc > 2 ? atoi(argv[2]) : 0;
	bool has_mixed = !getenv("NOT_MIXED");

	auto work = [&] {
		for (int i = 0; i < rounds; i++) {
			forms(i % 300);
			if (has_mixed)
				mixed(40 + i % 50);
			if (i % 10 == 0)
				lost(i);
			if (argc > 2 && strcmp(argv[2], "throw") == 0)
				refused();
		}
	};
	work();
	// A block that one thread allocates and another one frees.
	for (int i = 0; i < threads; i++) {
		void *block = made(operator new(1000), 1000);
		std::thread([&] {
			work();
			operator delete(gone(block, 1000));
		}).join();
	}
	printf("%zu %zu %zu %zu\n", blocks.load(), bytes.load(), left.load(), left_bytes.load());
}
