/* SPDX-License-Identifier: MIT */
/*
 * setting_text.c - a setting's value as text.
 */
#include <string.h>

#include "segment/setting.h"

#define AFTER_POINT 1000000000	/* of a percentile: setting.c reads as many digits */

static char *digits_put(char *at, uint64_t number)
{
	char digits[20];
	size_t count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count)
		*at++ = digits[--count];
	return at;
}

static const char *choice_text(const char *words, uint32_t number, char *room)
{
	size_t length;

	for (; number; number--)
		words += strcspn(words, "|") + 1;
	length = strcspn(words, "|");
	memcpy(room, words, length);
	room[length] = 0;
	return room;
}

static const char *size_text(uint64_t bytes, char *room)
{
	static const char units[] = "KMG";
	char *at = room;
	int unit = -1;

	while (bytes && bytes % 1024 == 0 && unit + 1 < (int)sizeof(units) - 1) {
		bytes /= 1024;
		unit++;
	}
	at = digits_put(at, bytes);
	if (unit >= 0)
		*at++ = units[unit];
	*at = 0;
	return room;
}

static char *percentile_put(char *at, double percentile)
{
	uint64_t whole = (uint64_t)percentile;
	uint64_t part = (uint64_t)((percentile - (double)whole) * AFTER_POINT + 0.5);

	if (part == AFTER_POINT) {
		whole++;
		part = 0;
	}
	at = digits_put(at, whole);
	if (!part)
		return at;
	*at++ = '.';
	for (uint64_t place = AFTER_POINT / 10; part; place /= 10) {
		*at++ = (char)('0' + part / place);
		part %= place;
	}
	return at;
}

static const char *percentiles_text(const struct hp_percentiles *list, char *room)
{
	char *at = room;

	for (uint32_t i = 0; i < list->count; i++) {
		if (i)
			*at++ = ',';
		at = percentile_put(at, list->at[i]);
	}
	*at = 0;
	return room;
}

/* Without control characters for a terminal; truncated to the room. */
static const char *clean_text(const char *text, char *room)
{
	size_t i = 0;

	for (; text[i] && i + 1 < HP_SETTING_TEXT_MAX; i++)
		room[i] = (unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i];
	room[i] = 0;
	return room;
}

enum hp_setting_origin hp_setting_origin(const struct hp_settings *settings,
					 const struct hp_setting *setting)
{
	size_t place = (size_t)(setting - hp_setting_table);

	if (settings->is_given[place])
		return HP_ORIGIN_GIVEN;
	return settings->is_defaulted[place] ? HP_ORIGIN_PROGRAM : HP_ORIGIN_BUILT_IN;
}

const char *hp_setting_text(const struct hp_settings *settings, const struct hp_setting *setting,
			    char room[HP_SETTING_TEXT_MAX])
{
	const void *place = (const char *)settings + setting->place;
	const char *text;
	uint64_t number;
	uint32_t word;

	if (!setting->usual && hp_setting_origin(settings, setting) == HP_ORIGIN_BUILT_IN)
		return NULL;
	switch (setting->kind) {
	case HP_SETTING_CHOICE:
		memcpy(&word, place, sizeof(word));
		return choice_text(setting->allowed, word, room);
	case HP_SETTING_BOOL:
		memcpy(&word, place, sizeof(word));
		return word ? "1" : "0";
	case HP_SETTING_COUNT:
		memcpy(&number, place, sizeof(number));
		*digits_put(room, number) = 0;
		return room;
	case HP_SETTING_SIZE:
		memcpy(&number, place, sizeof(number));
		return size_text(number, room);
	case HP_SETTING_PERCENTILES:
		return percentiles_text(place, room);
	case HP_SETTING_TEXT:
	case HP_SETTING_PAIRS:
	case HP_SETTING_SECTIONS:
	case HP_SETTING_ADDRESS:
	case HP_SETTING_TOKEN:
	case HP_SETTING_BUCKETS:
	case HP_SETTING_LIBRARIES:
		break;
	}
	memcpy(&text, place, sizeof(text));
	return text ? clean_text(text, room) : NULL;
}
