/* SPDX-License-Identifier: MIT */
/*
 * setting_section.c - which sections HOTPATH_REPORT requests.
 *
 * It is a list of words: `auto`, `all`, sections, and sections prefixed with -,
 * which are excluded. Unknown words have no effect.
 */
#include "segment/setting.h"

#include <string.h>

#include "segment/section_key.h"
#include "segment/setting_check.h"
#include "util/near.h"

#define WORD(name, key) "|" key
#define NO_WORD(name, key)

static const char words[] = "short|auto|all" HP_SECTION_LIST(WORD, NO_WORD);
static const char absent[] = HP_SECTION_LIST(NO_WORD, WORD);

/* Some keys have a first part that may be left out: its length, or 0. */
static size_t family_size(const char *section)
{
	static const char *const families[] = { "functions-", "tokio_" };

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (strncmp(section, families[i], strlen(families[i])) == 0)
			return strlen(families[i]);
	return 0;
}

static const char *without_family(const char *section, size_t length)
{
	size_t family = family_size(section);

	return strlen(section) == length + family ? section + family : section;
}

bool hp_section_is(const char *word, size_t length, const char *section)
{
	section = without_family(section, length);
	for (size_t i = 0; i < length; i++)
		if (section[i] != word[i] && !(word[i] == '-' && section[i] == '_') &&
		    !(word[i] == '_' && section[i] == '-'))
			return false;
	return length && !section[length];
}

static bool is_among(const char *list, const char *word, size_t length)
{
	char one[HP_NEAR_MAX + 1];

	for (; *list; list += *list == '|') {
		size_t size = (size_t)(strchrnul(list, '|') - list);

		memcpy(one, list, size);
		one[size] = 0;
		if (hp_section_is(word, length, one))
			return true;
		list += size;
	}
	return false;
}

bool hp_section_is_known(const char *word, size_t length)
{
	return is_among(words, word, length) || is_among(absent, word, length);
}

const char *hp_section_nearest(const char *word, size_t length, size_t *size)
{
	unsigned least = (unsigned)(length + 1) / 2 + 1;
	const char *nearest = NULL;

	for (const char *at = words; *at; at += strspn(at, "|")) {
		size_t whole = strcspn(at, "|"), family = family_size(at);

		for (size_t skip = 0;; skip = family) {
			unsigned distance = hp_near(word, length, at + skip, whole - skip);

			if (distance < least) {
				least = distance;
				nearest = at + skip;
				*size = whole - skip;
			}
			if (skip == family)
				break;
		}
		at += whole;
	}
	return nearest;
}

static bool is_short(const char *word, size_t length)
{
	return length == 5 && memcmp(word, "short", 5) == 0;
}

/* A word that stands for many sections. */
static bool is_of_many(const char *word, size_t length)
{
	return (length == 3 && memcmp(word, "all", 3) == 0) ||
	       (length == 4 && memcmp(word, "auto", 4) == 0) || is_short(word, length);
}

/* One word of a list: 1 = requests it, 0 = excludes it, -1 = does not concern it. */
static int word_asks(const char *word, size_t length, const char *section)
{
	bool is_out = length && *word == '-';

	word += is_out, length -= is_out;
	if (is_of_many(word, length) || hp_section_is(word, length, section))
		return !is_out;
	/* Findings need everything; to leave them out leaves nothing else out. */
	if (!is_out && hp_section_is(word, length, HP_KEY_FINDINGS))
		return 1;
	return -1;
}

const char *hp_section_next(const char **list, size_t *length)
{
	const char *word = *list;

	/* Not strspn(): as in hp_setting_address(). */
	while (*word == ' ' || *word == ',')
		word++;
	*length = (size_t)(strchrnul(word, ',') - word);
	*list = word + *length;
	while (*length && word[*length - 1] == ' ')
		--*length;
	return *length ? word : NULL;
}

bool hp_settings_begins_with_auto(const struct hp_settings *settings)
{
	const char *list = settings->report ? settings->report : "";
	const char *word;
	size_t length;

	while ((word = hp_section_next(&list, &length))) {
		bool is_out = *word == '-';

		if (hp_section_is_known(word + is_out, length - is_out))
			return is_out;
	}
	return true;
}

/* Settings for the look of tables: they imply tables. */
static const uint32_t of_tables[] = {
	offsetof(struct hp_settings, sort),
	offsetof(struct hp_settings, limit),
	offsetof(struct hp_settings, functions_limit),
	offsetof(struct hp_settings, threads_limit),
	offsetof(struct hp_settings, alloc_limit),
	offsetof(struct hp_settings, channels_limit),
	offsetof(struct hp_settings, channels_iter),
	offsetof(struct hp_settings, percentiles),
	offsetof(struct hp_settings, focus),
	offsetof(struct hp_settings, is_exclusive),
	offsetof(struct hp_settings, exclude_wrapper),
	offsetof(struct hp_settings, name_depth),
	offsetof(struct hp_settings, cpu_is_inclusive),
	offsetof(struct hp_settings, alloc_metric),
	offsetof(struct hp_settings, alloc_cumulative),
	offsetof(struct hp_settings, internals),
};

static bool is_of_tables(const struct hp_setting *setting)
{
	for (size_t i = 0; i < sizeof(of_tables) / sizeof(of_tables[0]); i++)
		if (setting->place == of_tables[i])
			return true;
	return false;
}

/* Whether the setting stored at `place` was given, or set by the program's defaults. */
static bool is_chosen(const struct hp_settings *settings, size_t place)
{
	size_t i = 0;

	while (i < hp_setting_count && hp_setting_table[i].place != place)
		i++;
	return i < hp_setting_count &&
	       hp_setting_origin(settings, &hp_setting_table[i]) != HP_ORIGIN_BUILT_IN;
}

bool hp_settings_sorts(const struct hp_settings *settings)
{
	return is_chosen(settings, offsetof(struct hp_settings, sort));
}

/* The word was given explicitly; it is also the default. */
static bool is_short_asked(const struct hp_settings *settings)
{
	return is_chosen(settings, offsetof(struct hp_settings, report)) &&
	       hp_settings_names(settings, "short");
}

bool hp_settings_wants_tables(const struct hp_settings *settings)
{
	const char *list = settings->report ? settings->report : "";
	const char *word;
	size_t length;
	bool wants = false;

	if (is_short_asked(settings))
		return false;
	while ((word = hp_section_next(&list, &length))) {
		bool is_out = *word == '-';

		wants |= !is_short(word, length) &&
			 hp_section_is_known(word + is_out, length - is_out);
	}
	for (size_t i = 0; i < hp_setting_count && !wants; i++)
		wants = is_of_tables(&hp_setting_table[i]) &&
			hp_setting_origin(settings, &hp_setting_table[i]) != HP_ORIGIN_BUILT_IN;
	return wants;
}

bool hp_settings_asks(const struct hp_settings *settings, const char *section)
{
	const char *list = settings->report ? settings->report : "";
	bool asks = hp_settings_begins_with_auto(settings);
	const char *word;
	size_t length;

	while ((word = hp_section_next(&list, &length))) {
		int said = word_asks(word, length, section);

		asks = said < 0 ? asks : said;
	}
	return asks;
}

bool hp_settings_names(const struct hp_settings *settings, const char *section)
{
	const char *list = settings->report ? settings->report : "";
	const char *word;
	size_t length;

	while ((word = hp_section_next(&list, &length)))
		if (hp_section_is(word, length, section))
			return true;
	return false;
}

bool hp_settings_without(const struct hp_settings *settings, const char *library)
{
	const char *list = settings->without ? settings->without : "";
	const char *word;
	size_t length;

	while ((word = hp_section_next(&list, &length)))
		if (strlen(library) == length && memcmp(word, library, length) == 0)
			return true;
	return false;
}

bool hp_settings_asks_threads(const struct hp_settings *settings)
{
	return hp_settings_asks(settings, HP_KEY_THREADS) ||
	       hp_settings_names(settings, HP_KEY_THREAD_STATES);
}

bool hp_settings_wants_samples(const struct hp_settings *settings)
{
	return settings->cpu == HP_CPU_PERF || settings->cpu == HP_CPU_TIMER ||
	       hp_settings_names(settings, HP_KEY_FUNCTIONS_CPU) ||
	       hp_settings_names(settings, HP_KEY_BOUND);
}

bool hp_settings_wants_waits(const struct hp_settings *settings)
{
	return hp_settings_names(settings, HP_KEY_OFFCPU) ||
	       hp_settings_names(settings, HP_KEY_BOUND) ||
	       hp_settings_names(settings, HP_KEY_THREAD_STATES);
}

uint64_t hp_settings_cpu_hz(const struct hp_settings *settings)
{
	if (settings->cpu_hz)
		return settings->cpu_hz;
	return hp_settings_wants_samples(settings) ? HP_CPU_HZ : HP_CPU_HZ_UNASKED;
}
