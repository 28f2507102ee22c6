/* SPDX-License-Identifier: MIT */
/*
 * note_test.c - notes in a program's file are untrusted bytes: whatever they
 * contain, nothing beyond their end is read.
 */
#include "test/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "segment/defaults.h"
#include "segment/layout/process.h"
#include "segment/note.h"

/* Bytes that end where an unreadable page starts. */
static char *at_end_of_page(const void *bytes, size_t size)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED && size <= 4096);
	mprotect(pages + 4096, 4096, PROT_NONE);
	return memcpy(pages + 4096 - size, bytes, size);
}

struct note {
	uint32_t name_size, size, type;
	char name[8];
	char text[24];
};

#define NOTE(type_, name_, text_) \
	{ \
		sizeof(name_), sizeof(text_), type_, name_, text_ \
	}

static const struct note notes[] = {
	NOTE(3, "GNU", "\1\2\3"),
	NOTE(2, "hotpath", "percentiles=50"),
	NOTE(9, "hotpath", "of a later version"),
	NOTE(2, "hotpath", "sort=calls"),
};

/* The same without the unused part of `text`. */
static size_t pack(char *to)
{
	size_t used = 0;

	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		size_t name = (notes[i].name_size + 3) & ~3u, size = (notes[i].size + 3) & ~3u;

		memcpy(to + used, &notes[i], 12);
		memcpy(to + used + 12, notes[i].name, name);
		memcpy(to + used + 12 + name, notes[i].text, size);
		used += 12 + name + size;
	}
	return used;
}

TEST(note, ours_are_found_among_others)
{
	char bytes[4 * sizeof(struct note)];
	size_t size = pack(bytes);
	char *at = at_end_of_page(bytes, size);
	const char *from = at;
	struct hp_note note;

	CHECK((from = hp_note_next(from, at + size, &note)) != NULL);
	CHECK_EQ(note.type, 2);
	CHECK_STR(note.data, "percentiles=50");
	CHECK((from = hp_note_next(from, at + size, &note)) != NULL);
	CHECK_EQ(note.type, 9);
	CHECK((from = hp_note_next(from, at + size, &note)) != NULL);
	CHECK_STR(note.data, "sort=calls");
	CHECK(hp_note_next(from, at + size, &note) == NULL);
}

TEST(note, cut_anywhere)
{
	char bytes[4 * sizeof(struct note)], text[HP_DEFAULTS_MAX];
	size_t size = pack(bytes);

	for (size_t i = 0; i <= size; i++) {
		char *at = at_end_of_page(bytes, i);

		text[0] = 0;
		hp_defaults_add(text, at, at + i);
		CHECK(strlen(text) <= strlen("percentiles=50 sort=calls"));
		munmap((char *)((uintptr_t)at & ~UINT64_C(4095)), 4096);
	}
	CHECK_STR(text, "percentiles=50 sort=calls");
}

TEST(note, any_word_any_size)
{
	static const uint32_t sizes[] = { 0,   1,	   3,	       4,	   8,
					  100, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff };
	char bytes[4 * sizeof(struct note)], text[HP_DEFAULTS_MAX];
	size_t size = pack(bytes);

	for (size_t i = 0; i + 4 <= size; i += 4)
		for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
			char *at = at_end_of_page(bytes, size);

			memcpy(at + i, &sizes[j], 4);
			text[0] = 0;
			hp_defaults_add(text, at, at + size);
			CHECK(strlen(text) < size);
			munmap((char *)((uintptr_t)at & ~UINT64_C(4095)), 8192);
		}
}

TEST(note, more_than_there_is_room_for)
{
	static struct {
		uint32_t name_size, size, type;
		char name[8], text[3000];
	} big = { 8, 3000, 2, "hotpath", "" };
	char text[HP_DEFAULTS_MAX] = "";

	memset(big.text, 'x', sizeof(big.text));
	hp_defaults_add(text, (char *)&big, (char *)(&big + 1));
	CHECK_EQ(strlen(text), HP_DEFAULTS_MAX - 1);
	hp_defaults_add(text, (char *)&big, (char *)(&big + 1));
	CHECK_EQ(strlen(text), HP_DEFAULTS_MAX - 1);
}

TEST(defaults, kept_in_a_segment)
{
	char *base = aligned_alloc(4096, 16384);
	struct hp_segment segment = { .header = (struct hp_header *)base, .size = 16384, .fd = -1 };
	char text[HP_DEFAULTS_MAX];

	memset(base, 0, 16384);
	segment.header->used = HP_PAGE;
	hp_defaults_read(&segment, text);
	CHECK_STR(text, "");
	hp_defaults_keep(&segment, "");
	CHECK_EQ(segment.header->defaults, 0);
	hp_defaults_keep(&segment, "percentiles=50");
	hp_defaults_read(&segment, text);
	CHECK_STR(text, "percentiles=50");
	((struct hp_text *)(base + HP_PAGE))->length = 16384;
	hp_defaults_read(&segment, text);
	CHECK_STR(text, "");
	segment.header->defaults = UINT16_MAX;
	hp_defaults_read(&segment, text);
	CHECK_STR(text, "");
	free(base);
}
