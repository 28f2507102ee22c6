/* SPDX-License-Identifier: MIT */
/*
 * report_inline_test.c - functions and lines by address: hp_inlines_until gives the range of an
 * answer, and earlier lookups do not change later ones.
 */
#include "test/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/elf/answer.h"
#include "report/elf/debug.h"
#include "report/elf/inline.h"

#define BYTES_MAX 200000	/* bytes of code that are examined */

/* This program: it has debug information, and functions inlined into others. */
static void file_read(struct hp_symbol_file *file, struct hp_model_object *object)
{
	static char path[] = "/proc/self/exe";
	struct stat status;

	CHECK_EQ(stat(path, &status), 0);
	*object = (struct hp_model_object){
		.kind = HP_OBJECT_ELF, .path = path, .device = status.st_dev, .inode = status.st_ino
	};
	memset(file, 0, sizeof(*file));
	hp_symbol_file_read(file, object, INT64_MAX);
	CHECK(!file->fault);
	CHECK(file->count > 0);
}

static bool is_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same(const struct hp_inline *a, size_t count, const struct hp_inline *b,
		    size_t others)
{
	bool same = count == others;

	for (size_t i = 0; same && i < count; i++)
		same = is_text(a[i].name, b[i].name) && is_text(a[i].file, b[i].file) &&
		       a[i].line == b[i].line && a[i].is_inlined == b[i].is_inlined;
	return same;
}

/* Each address from `low` on has the answer of the step that contains it; returns the inlined ones. */
static size_t steps_check(struct hp_inlines *inlines, struct hp_symbol_file *file, uint64_t low,
			  uint64_t high)
{
	struct hp_inline first[HP_INLINES_MAX], list[HP_INLINES_MAX];
	uint64_t until = low;
	size_t count = 0, deep = 0;

	for (uint64_t at = low; at < high; at++) {
		size_t found = hp_inlines_in(inlines, file, at, list);

		deep += found > 1;
		if (at == until) {
			until = hp_inlines_until(inlines, file, at);
			CHECK(until > at);
			memcpy(first, list, sizeof(first));
			count = found;
		}
		CHECK(is_same(first, count, list, found));
	}
	return deep;
}

TEST(inline, an_answer_goes_as_far_as_it_says)
{
	struct hp_inlines *inlines = hp_inlines_new();
	struct hp_symbol_file file;
	struct hp_model_object object;
	uint64_t bytes = 0, from = 0;
	size_t deep = 0;

	file_read(&file, &object);
	for (size_t i = 0; i < file.count && bytes < BYTES_MAX; i++) {
		const struct hp_symbol *symbol = &file.symbols[i];

		if (symbol->address < from)
			continue;
		from = symbol->address + symbol->size;
		bytes += symbol->size;
		deep += steps_check(inlines, &file, symbol->address, from);
	}
	CHECK(deep > 0);
	hp_inlines_free(inlines);
	hp_symbol_file_release(&file);
}

/* A function is read when one of its addresses is requested: in any order the answers are the same. */
TEST(inline, order_does_not_matter)
{
	struct hp_inlines *up = hp_inlines_new(), *down = hp_inlines_new();
	struct hp_symbol_file file;
	struct hp_model_object object;
	struct hp_inline list[HP_INLINES_MAX], other[HP_INLINES_MAX];

	file_read(&file, &object);
	for (size_t i = file.count; i-- > 0;)
		hp_inlines_in(down, &file, file.symbols[i].address + file.symbols[i].size / 2,
			      list);
	for (size_t i = 0; i < file.count; i++)
		for (uint64_t part = 0; part < 8; part++) {
			uint64_t at = file.symbols[i].address + file.symbols[i].size * part / 8;
			size_t count = hp_inlines_in(up, &file, at, list);

			CHECK(is_same(list, count, other, hp_inlines_in(down, &file, at, other)));
		}
	hp_inlines_free(up);
	hp_inlines_free(down);
	hp_symbol_file_release(&file);
}

/*
 * Symbols that overlap: one in another, one without a size, two of different sizes at one address, and
 * one that ends inside the next. Two functions with debug information are covered by one symbol.
 */
static __attribute__((noinline, used)) int overlapped(int a)
{
	return a * 3 + (int)sizeof(struct hp_symbol_file);
}

static __attribute__((noinline, used)) int overlapped_next(int a)
{
	return overlapped(a) * 5;
}

__asm__(".text\n"
	".type over_outer, @function\nover_outer: .skip 16, 0x90\n"
	".type over_inner, @function\nover_inner: .skip 8, 0x90\n.size over_inner, 8\n"
	".type over_none, @function\nover_none: .skip 8, 0x90\n"
	".type over_alias, @function\nover_alias:\n.type over_long, @function\nover_long: .skip 16, 0x90\n"
	".size over_alias, 4\n.size over_long, 24\n"
	".size over_outer, 40\n"
	".type over_next, @function\nover_next: .skip 16, 0x90\n.size over_next, 16\n"
	".type over_two, @function\n.set over_two, overlapped\n.size over_two, 256\n");

/* Asks for each of `count` addresses through the cache, in steps of `stride`. */
static void cache_ask(struct hp_symbol_file *file, struct hp_inlines *inlines,
		      const uint64_t *addresses, size_t count, size_t stride)
{
	struct hp_debug debug;

	for (size_t i = 0, at = 0; i < count; i++, at = (at + stride) % count) {
		hp_debug_init(&debug, inlines, file, addresses[at], HP_WANT_INLINES);
		hp_debug_release(&debug);
	}
}

static void cache_check(struct hp_symbol_file *file, struct hp_inlines *inlines,
			const uint64_t *addresses, size_t count)
{
	struct hp_inline list[HP_INLINES_MAX], other[HP_INLINES_MAX];
	size_t others;

	for (size_t i = 0; i < count; i++) {
		size_t found = hp_inlines_in(inlines, file, addresses[i], list);

		CHECK(hp_answers_find(file->answers, addresses[i], other, &others));
		CHECK(is_same(list, found, other, others));
	}
}

static size_t addresses_near(const struct hp_symbol_file *file, uint64_t *addresses, size_t most)
{
	size_t count = 0;

	for (size_t i = 0; i < file->count; i++)
		if (strncmp(file->symbols[i].name, "over", 4) == 0)
			for (uint64_t at = 0; at < 40 && count < most; at++)
				addresses[count++] = file->symbols[i].address + at;
	return count;
}

/* Whole functions are cached when one of their addresses is requested: overlapping ones in any order. */
TEST(inline, cached_answers_do_not_depend_on_the_order)
{
	static const size_t strides[] = { 1, 7, 101, SIZE_MAX };
	char folder[] = "/tmp/inline.XXXXXX";
	uint64_t addresses[499];
	size_t count;

	CHECK(mkdtemp(folder));
	hp_answers_folder(folder, false);
	for (size_t i = 0; i < sizeof(strides) / sizeof(strides[0]); i++) {
		struct hp_inlines *inlines = hp_inlines_new();
		struct hp_symbol_file file;
		struct hp_model_object object;
		struct stat status = { .st_size = 1 };

		file_read(&file, &object);
		count = addresses_near(&file, addresses, 499);
		CHECK(count > 200);
		file.answers = hp_answers_open((const unsigned char *)"order", 5, &status);
		cache_ask(&file, inlines, addresses, count,
			  strides[i] == SIZE_MAX ? count - 1 : strides[i]);
		cache_check(&file, inlines, addresses, count);
		hp_answers_close(file.answers);
		file.answers = NULL;
		hp_inlines_free(inlines);
		hp_symbol_file_release(&file);
	}
	CHECK_EQ(rmdir(folder), 0);
}
