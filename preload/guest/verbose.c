/* SPDX-License-Identifier: MIT */
/*
 * verbose.c - see verbose.h.
 *
 * A function is hooked if ours comes first in the loader's search order: the
 * program, or a library loaded before ours, may define it, too. dl_iterate_phdr
 * lists objects in that order; dlsym would take a loader lock that another
 * thread may hold.
 */
#include "preload/guest/verbose.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "preload/guest/dynamic.h"
#include "preload/guest/say.h"

#ifndef HP_BUILD_FLAGS
#define HP_BUILD_FLAGS "flags not known"
#endif

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif
#define MESSAGE_MAX 400	/* hp_say cuts at 512 */
#define DIGITS_MAX 21

static bool is_on;

/* --- lines --- */

/* Comma-separated words; printed when the next one does not fit. */
struct words {
	const char *title;
	size_t used;
	char text[MESSAGE_MAX];
};

static void words_tell(struct words *words)
{
	if (words->used)
		hp_say(words->title, words->text, NULL);
	words->used = 0;
}

static void words_add(struct words *words, const char *word)
{
	size_t length = strlen(word);

	if (words->used + length + 3 > sizeof(words->text))
		words_tell(words);
	if (length + 3 > sizeof(words->text))
		return;
	if (words->used) {
		memcpy(words->text + words->used, ", ", 2);
		words->used += 2;
	}
	memcpy(words->text + words->used, word, length + 1);
	words->used += length;
}

static const char *number_text(uint64_t number, char room[DIGITS_MAX])
{
	char *end = room + DIGITS_MAX - 1;

	*end = 0;
	do
		*--end = (char)('0' + number % 10);
	while (number /= 10);
	return end;
}

/* --- settings --- */

/* A reader of the output need not have access to the server. */
static bool is_secret(const char *name)
{
	static const char end[] = "_TOKEN";
	size_t length = strlen(name);

	return length >= sizeof(end) && strcmp(name + length - (sizeof(end) - 1), end) == 0;
}

static void settings_tell(const struct hp_settings *settings)
{
	static const char *const origins[] = {
		[HP_ORIGIN_BUILT_IN] = "default",
		[HP_ORIGIN_PROGRAM] = "the program's default",
		[HP_ORIGIN_GIVEN] = "environment",
	};
	char room[HP_SETTING_TEXT_MAX];

	for (size_t i = 0; i < hp_setting_count; i++) {
		const struct hp_setting *setting = &hp_setting_table[i];
		const char *value = hp_setting_text(settings, setting, room);

		if (!value)
			hp_say(setting->name, " is not set", NULL);
		else
			hp_say(setting->name, "=", is_secret(setting->name) ? "..." : value, " (",
			       origins[hp_setting_origin(settings, setting)], ")", NULL);
	}
}

/* --- hooked functions --- */

static int find_own(struct dl_phdr_info *info, size_t size, void *context)
{
	struct hp_dynamic *own = context, object = hp_dynamic_read(info);

	(void)size;
	if (!hp_dynamic_holds(&object, (uintptr_t)hp_verbose_begin))
		return 0;
	*own = object;
	return 1;
}

/* The definitions of a function: the first in order, and whether there are others. */
struct definers {
	const char *name;
	uintptr_t own_begin;
	bool is_ours;
	bool is_others;
	char first[64];	/* object whose definition precedes ours; "" = none */
};

static int find_definers(struct dl_phdr_info *info, size_t size, void *context)
{
	struct definers *definers = context;
	struct hp_dynamic object = hp_dynamic_read(info);

	(void)size;
	if (!object.section || !hp_dynamic_function(&object, definers->name))
		return 0;
	if (object.begin == definers->own_begin) {
		definers->is_ours = true;
		return 0;
	}
	definers->is_others = true;
	if (!definers->is_ours && !definers->first[0])
		strncpy(definers->first,
			*object.file ? hp_dynamic_base(object.file) : "the program",
			sizeof(definers->first) - 1);
	return 0;
}

static struct definers definers_of(const struct hp_dynamic *own, const char *name)
{
	struct definers definers = { .name = name, .own_begin = own->begin };

	dl_iterate_phdr(find_definers, &definers);
	return definers;
}

/* Alphabetical order, since the table's is arbitrary. */
static const char *name_after(const struct hp_dynamic *own, const char *last)
{
	uint32_t end = hp_dynamic_end(own);
	const char *next = NULL;

	for (uint32_t i = end ? own->hash[1] : 0; i < end; i++) {
		const char *name = hp_dynamic_name(own, i);

		if (name && strcmp(name, last) > 0 && (!next || strcmp(name, next) < 0))
			next = name;
	}
	return next;
}

static void hooked_tell(const struct hp_dynamic *own)
{
	struct words words = { .title = "hooked: " };

	for (const char *name = ""; (name = name_after(own, name));) {
		struct definers definers = definers_of(own, name);

		if (definers.first[0])
			hp_say("not hooked: ", name, ", which ", definers.first,
			       " defines before us", NULL);
		else if (definers.is_others)
			words_add(&words, name);
	}
	words_tell(&words);
}

/* A library with them may be loaded later. */
static void idle_tell(const struct hp_dynamic *own)
{
	struct words words = { .title = "in no loaded library: " };

	/* No other library defines those of include/hotpath.h. */
	for (const char *name = ""; (name = name_after(own, name));)
		if (!definers_of(own, name).is_others && strncmp(name, "hotpath_", 8) != 0)
			words_add(&words, name);
	words_tell(&words);
}

static void hooks_tell(void)
{
	struct hp_dynamic own = { .section = NULL };

	if (!dl_iterate_phdr(find_own, &own))
		return;
	hooked_tell(&own);
	idle_tell(&own);
}

/* --- begin and end --- */

void hp_verbose_begin(const struct hp_segment *segment, const struct hp_settings *settings)
{
	if (!settings->is_verbose || segment->header->root_pid != (uint32_t)getpid() ||
	    atomic_load_explicit(&segment->header->joined, memory_order_relaxed))
		return;
	is_on = true;
	hp_say("version " HP_VERSION ", built by " COMPILER " with " HP_BUILD_FLAGS, NULL);
	settings_tell(settings);
	hooks_tell();
}

static bool lost_tell(uint64_t count, const char *what)
{
	char room[DIGITS_MAX];

	if (count)
		hp_say("lost: ", number_text(count, room), " ", what, NULL);
	return count != 0;
}

void hp_verbose_end(const struct hp_segment *segment)
{
	const struct hp_header *header = segment->header;
	const struct hp_room *room = (const void *)((const char *)header + HP_ROOM_AT);
	bool is_lost = false;

	if (!is_on)
		return;
	is_on = false;
	is_lost |= lost_tell(header->lost_calls, "calls of threads without room");
	is_lost |= lost_tell(header->lost_threads, "threads without room");
	is_lost |= lost_tell(header->refused,
			     "times the segment was full; HOTPATH_SEGMENT_SIZE makes it larger");
	is_lost |= lost_tell(room->refusals, "times the kernel refused memory or an answer");
	if (!is_lost)
		hp_say("lost: nothing", NULL);
}
