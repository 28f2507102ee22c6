/* SPDX-License-Identifier: MIT */
/*
 * sampler_row_test.c - a row cached for a span of code matches its unwind information.
 *
 * The code is that of this program's libraries: each address, requested
 * at random and again, until rows have been evicted many times.
 */
#include "sampler/sample/row.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "test/test.h"

#define ASKED 60000	/* of each object */

struct object {
	struct hp_cfi cfi;
	uintptr_t code;
	uintptr_t code_size;
};

static unsigned chance = 1;

static uintptr_t random_below(uintptr_t n)
{
	chance = chance * 1664525 + 1013904223;
	return (uintptr_t)((uint64_t)chance * n >> 32);
}

/* The C library and the like, which have enough code. */
static int collect(struct dl_phdr_info *info, size_t size, void *data)
{
	struct object *objects = data, object = { .cfi.begin = UINTPTR_MAX };

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + p->p_vaddr, end = begin + p->p_memsz;

		if (p->p_type == PT_GNU_EH_FRAME)
			object.cfi.header = (const uint8_t *)begin;
		if (p->p_type != PT_LOAD)
			continue;
		object.cfi.begin = begin < object.cfi.begin ? begin : object.cfi.begin;
		object.cfi.end = end > object.cfi.end ? end : object.cfi.end;
		if (p->p_flags & PF_X) {
			object.code = begin;
			object.code_size = p->p_memsz;
		}
	}
	while (objects->cfi.header)
		objects++;
	if (object.cfi.header && object.code_size > 65536 && !objects[1].cfi.end)
		*objects = object;
	return 0;
}

static bool is_same(const struct hp_cfi_row *a, const struct hp_cfi_row *b)
{
	if (a->kind != b->kind || a->kind >= HP_ROW_END)
		return a->kind == b->kind;
	return a->cfa_offset == b->cfa_offset && a->fp_offset == b->fp_offset &&
	       a->ra_offset == b->ra_offset;
}

TEST(sampler_row, cached_rows_match_the_information)
{
	static struct object objects[8];
	static uint64_t room[HP_CFI_ROOM / 8];
	struct hp_rows rows;
	unsigned count = 0, wrong = 0;

	objects[6].cfi.end = 1;	/* the list ends before */
	dl_iterate_phdr(collect, objects);
	CHECK(hp_rows_init(&rows));
	for (struct object *o = objects; o->cfi.header; o++) {
		o->cfi.room = room;
		/* Half of the addresses are near earlier ones. */
		for (uintptr_t at = 0; count < ASKED * (unsigned)(o - objects + 1); count++) {
			struct hp_cfi_row said;

			at = count % 2 ? at + random_below(64) : random_below(o->code_size);
			hp_cfi_find_call(&o->cfi, o->code + at, &said);
			wrong += !is_same(hp_rows_find(&rows, &o->cfi, o->code + at), &said);
		}
	}
	CHECK_EQ(wrong, 0);
	CHECK(count >= ASKED);
	CHECK(rows.shape_count > 10);
	hp_rows_release(&rows);
}

TEST(sampler_row, a_span_ends_where_the_row_does)
{
	static struct object objects[8];
	static uint64_t room[HP_CFI_ROOM / 8];
	unsigned spans = 0, wrong = 0;

	objects[6].cfi.end = 1;
	dl_iterate_phdr(collect, objects);
	CHECK(objects->cfi.header != NULL);
	objects->cfi.room = room;
	for (uintptr_t pc = objects->code; pc < objects->code + 65536;) {
		struct hp_cfi_span span, other;
		struct hp_cfi_row row, end;

		hp_cfi_find_span(&objects->cfi, pc, &row, &span);
		hp_cfi_find_span(&objects->cfi, span.last, &end, &other);
		wrong += pc < span.first || pc > span.last || !is_same(&row, &end);
		wrong += row.kind <= HP_ROW_FP_LOAD && other.first != span.first &&
			 span.first != span.last;
		spans += span.last > span.first;
		pc = span.last + 1;
	}
	CHECK_EQ(wrong, 0);
	CHECK(spans > 100);
}

/* Onwards through functions, with jumps back and to other functions. */
TEST(sampler_row, a_program_that_is_continued_gives_the_same_rows)
{
	static struct object objects[8];
	static uint64_t room[HP_CFI_ROOM / 8], kept_room[HP_CFI_ROOM / 8];
	unsigned count = 0, wrong = 0;

	objects[6].cfi.end = 1;
	dl_iterate_phdr(collect, objects);
	for (struct object *o = objects; o->cfi.header; o++) {
		struct hp_cfi kept = o->cfi;
		uintptr_t at = 0, far = 0;

		o->cfi.room = room;
		kept.room = kept_room;
		kept.has_kept = true;
		for (unsigned i = 0; i < ASKED; i++, count++) {
			struct hp_cfi_row row, other;
			struct hp_cfi_span span, other_span;
			uintptr_t pc;

			at = i % 64 ? at + random_below(32) : random_below(o->code_size);
			far = i % 4 ? at : random_below(o->code_size);
			pc = o->code + far % o->code_size;
			hp_cfi_find_span(&o->cfi, pc, &row, &span);
			hp_cfi_find_span(&kept, pc, &other, &other_span);
			wrong += !is_same(&row, &other) || span.first != other_span.first ||
				 span.last != other_span.last;
		}
	}
	CHECK_EQ(wrong, 0);
	CHECK(count >= ASKED);
}
