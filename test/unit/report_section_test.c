/* SPDX-License-Identifier: MIT */
/*
 * report_section_test.c - definitions of sections: what has to be there is there, and
 * no two have the same name.
 */
#include <string.h>

#include "report/section/core/list.h"
#include "segment/section_key.h"
#include "test/test.h"
#include "report/section/sections.h"

static const struct hp_section *of_key(const char *key)
{
	for (size_t i = 0; i < hp_section_count; i++)
		if (strcmp(hp_sections[i]->key, key) == 0)
			return hp_sections[i];
	return NULL;
}

TEST(sections, are_told_apart)
{
	for (size_t i = 0; i < hp_section_count; i++) {
		const struct hp_section *section = hp_sections[i];

		CHECK(of_key(section->key) == section);
		CHECK(!section->json[0] || hp_section_of_json(section->json) == section);
		CHECK_EQ(hp_section_place(section), i);
	}
}

TEST(sections, say_what_they_are)
{
	for (size_t i = 0; i < hp_section_count; i++) {
		const struct hp_section *section = hp_sections[i];

		CHECK(section->name && *section->name);
		CHECK(section->help && *section->help);
		CHECK(!section->columns == !!section->absent);
		if (!section->columns)
			continue;
		CHECK(section->fill);
		CHECK(section->about || section->describe);
		CHECK(section->none || section->empty);
	}
}

/* In `data`, and in `raw`, a key is there once. */
TEST(sections, columns_have_keys_of_their_own)
{
	for (size_t i = 0; i < hp_section_count; i++)
		for (const struct hp_column *a = hp_sections[i]->columns; a && hp_column_is(a); a++)
			for (const struct hp_column *b = a + 1; hp_column_is(b); b++) {
				CHECK(!a->key || !b->key || strcmp(a->key, b->key) != 0);
				CHECK(!a->raw || !b->raw || strcmp(a->raw, b->raw) != 0);
			}
}

TEST(sections, those_that_recorders_ask_for_are_there)
{
	static const char *const keys[] = {
		HP_KEY_FUNCTIONS_ALLOC, HP_KEY_ALLOC_CALLERS, HP_KEY_ALLOC_SITES,
		HP_KEY_ALLOC_SIZES,	HP_KEY_ALLOC_LIVES,   HP_KEY_LEAKS,
		HP_KEY_DIRECT_MAPS,	HP_KEY_FUNCTIONS_CPU, HP_KEY_OFFCPU,
		HP_KEY_BOUND,		HP_KEY_CHANNELS,      HP_KEY_RW_LOCKS,
		HP_KEY_MUTEXES,		HP_KEY_CONDS,	      HP_KEY_SEMS,
		HP_KEY_BARRIERS,	HP_KEY_FILE_LOCKS,    HP_KEY_WAITS,
		HP_KEY_LOCK_ORDER,	HP_KEY_WAITING,	      HP_KEY_THREADS,
		HP_KEY_THREAD_STATES,
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		CHECK(of_key(keys[i]));
}
