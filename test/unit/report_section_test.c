/* SPDX-License-Identifier: MIT */
/*
 * report_section_test.c - definitions of sections: all required members exist, and
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

TEST(sections, are_distinguished)
{
	for (size_t i = 0; i < hp_section_count; i++) {
		const struct hp_section *section = hp_sections[i];

		CHECK(of_key(section->key) == section);
		CHECK(!section->json[0] || hp_section_of_json(section->json) == section);
		CHECK_EQ(hp_section_place(section), i);
	}
}

TEST(sections, have_descriptions)
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

/* "name - what it is" above each table. */
TEST(sections, have_titles_of_80_columns)
{
	for (size_t i = 0; i < hp_section_count; i++) {
		const struct hp_section *section = hp_sections[i];

		if (section->columns && section->about)
			CHECK(strlen(section->name) + strlen(" - ") + strlen(section->about) <= 80);
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

/* The settings know which words mean a section, without its definition. */
TEST(sections, match_the_words_of_the_settings)
{
#define KEY(name, key) key,
	static const char *const keys[] = { HP_SECTION_LIST(KEY, KEY) };

	CHECK_EQ(sizeof(keys) / sizeof(keys[0]), hp_section_count);
	for (size_t i = 0; i < hp_section_count; i++) {
		CHECK_STR(hp_sections[i]->key, keys[i]);
		CHECK(hp_section_is_known(keys[i], strlen(keys[i])));
	}
}
