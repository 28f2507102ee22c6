/* SPDX-License-Identifier: MIT */
/*
 * report_inline_test.c - functions and lines by address: hp_inlines_until gives the range of an
 * answer, and earlier lookups do not change later ones.
 */
#include "test/test.h"

#include <string.h>
#include <sys/stat.h>

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
