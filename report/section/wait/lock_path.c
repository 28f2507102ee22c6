/* SPDX-License-Identifier: MIT */
/*
 * lock_path.c - see lock_path.h.
 */
#include "report/section/wait/lock_path.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "report/section/wait/lock_section.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/name/wrapper.h"
#include "segment/layout/heap.h"
#include "util/hash.h"

#define FRAMES_MOST 256
#define STEPS_MOST \
	(FRAMES_MOST + 16)	/* our own functions are steps, too; and a damaged file has circles */
#define TEXT_MOST 160	/* columns of a path in a table */

/* --- reading --- */

static bool is_ours(const struct hp_model *model, uint32_t object)
{
	const char *path = object < model->object_count ? model->objects[object].path : "";

	return strncmp(hp_name_file(path), "libhotpath.so", 13) == 0;
}

/* One step; false = it is no code. */
static bool place_of(const struct hp_step *step, struct hp_lock_place *place,
		     hp_lock_find_object find, void *context)
{
	place->object = HP_NONE;
	place->address = step->address;
	if (step->object & HP_STEP_PLAIN)
		place->address |= (uint64_t)(step->object & ~HP_STEP_PLAIN) << 32;
	else if (step->object)
		place->object = find(context, (uint64_t)step->object * HP_LINE);
	else
		return false;
	return true;
}

/* Records are found by whole lines. */
static bool read_step(struct hp_model *model, uint32_t id, struct hp_step *step)
{
	uint64_t at = (uint64_t)id * sizeof(*step);
	struct hp_step line[HP_LINE / sizeof(*step)];

	if (!id || !hp_reader_copy(&model->reader, at / HP_LINE * HP_LINE, line, sizeof(line)))
		return false;
	*step = line[at % HP_LINE / sizeof(line[0])];
	return true;
}

static size_t read_places(struct hp_model *model, uint32_t id, struct hp_lock_place *places,
			  hp_lock_find_object find, void *context)
{
	struct hp_step step;
	size_t count = 0;

	for (int i = 0; i < STEPS_MOST && count < FRAMES_MOST && read_step(model, id, &step); i++) {
		/* Between frames of the program, too: pthread_once calls a function of ours. */
		if (place_of(&step, &places[count], find, context) &&
		    !is_ours(model, places[count].object))
			count++;
		id = step.caller;
	}
	return count;
}

static uint64_t hash_of(const struct hp_lock_place *places, size_t count)
{
	uint64_t hash = count;

	for (size_t i = 0; i < count; i++)
		hash = hp_hash_add(hash, places[i].address ^ (uint64_t)places[i].object << 40);
	return hash | 1;
}

static bool is_same(const struct hp_lock_path *path, const struct hp_lock_place *places,
		    size_t count)
{
	if (path->count != count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (path->places[i].object != places[i].object ||
		    path->places[i].address != places[i].address)
			return false;
	return true;
}

static uint32_t place_in(struct hp_lock_paths *paths, const struct hp_lock_place *places,
			 size_t count)
{
	uint64_t hash = hash_of(places, count);
	struct hp_lock_path *path;
	uint32_t *found;
	bool is_new;

	for (;; hash += 2) {
		found = hp_map_at(&paths->same, hash, &is_new);
		if (is_new)
			break;
		if (is_same(&paths->all[*found - 1], places, count))
			return *found;
	}
	paths->all = hp_xgrow(paths->all, paths->count, &paths->room, sizeof(*paths->all));
	path = &paths->all[paths->count++];
	path->count = count;
	path->places = hp_xcalloc(count, sizeof(*places));
	memcpy(path->places, places, count * sizeof(*places));
	return *found = (uint32_t)paths->count;
}

uint32_t hp_lock_path_read(struct hp_lock_paths *paths, struct hp_model *model, uint32_t step,
			   hp_lock_find_object find, void *context)
{
	struct hp_lock_place places[FRAMES_MOST];
	uint32_t *known;
	size_t count;
	bool is_new;

	if (!step)
		return HP_NONE;
	known = hp_map_at(&paths->steps, step, &is_new);
	if (is_new) {
		count = read_places(model, step, places, find, context);
		*known = count ? place_in(paths, places, count) : 0;
	}
	return *known ? *known - 1 : HP_NONE;
}

void hp_lock_paths_release(struct hp_lock_paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		free(paths->all[i].places);
	free(paths->all);
	hp_map_release(&paths->same);
	hp_map_release(&paths->steps);
}

/* --- telling --- */

static const struct hp_lock_path *path_at(const struct hp_report *report, uint32_t path)
{
	const struct hp_lock_paths *paths = &hp_lock_view_locks(hp_lock_view(report))->paths;

	return path < paths->count ? &paths->all[path] : NULL;
}

/* What calls these is the same in all programs. */
static bool is_outermost(const char *name)
{
	return strcmp(name, "main") == 0 || strcmp(name, "start_thread") == 0 ||
	       strncmp(name, "clone", 5) == 0 || strncmp(name, "__libc_start", 12) == 0;
}

/* Between a function and the thread that it is the first of. */
static bool is_plumbing(const char *name)
{
	static const char *const patterns[] = { "*std::__invoke*",	 "*std::thread::_*",
						"*std::__1::__thread_*", "*std::__1::__invoke*",
						"__pthread_once*",	 "__gthread_*" };

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (hp_wrapper_matches(patterns[i], strlen(patterns[i]), name))
			return true;
	return false;
}

static size_t columns_of(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += (*text & 0xc0) != 0x80;
	return count;
}

/* Appends a caller; false = there is no room for it. */
static bool caller_add(char **text, const char *name, bool is_short)
{
	char *whole = hp_name_short(name, 2), *caller = hp_name_plain(whole), *longer;

	free(whole);
	if (is_short && columns_of(*text) + columns_of(caller) + 3 > TEXT_MOST) {
		free(caller);
		longer = hp_xprintf("%s \342\206\220 \342\200\246", *text);
		free(*text);
		*text = longer;
		return false;
	}
	longer = hp_xprintf("%s \342\206\220 %s", *text, caller);
	free(*text);
	free(caller);
	*text = longer;
	return true;
}

/* The innermost function that is no wrapper of a lock; the innermost one if all are. */
static size_t first_of(struct hp_report *report, const struct hp_lock_path *path)
{
	const struct hp_symbol_spot *spot;

	for (size_t i = 0; i < path->count; i++) {
		spot = hp_lock_code(report, &path->places[i]);
		if (!spot || !hp_wrapper_waits(spot->name))
			return spot && is_outermost(spot->name) && strcmp(spot->name, "main") != 0
				       ? 0
				       : i;
	}
	return 0;
}

char *hp_lock_path_text(struct hp_report *report, const struct hp_lock_place *at, uint32_t path)
{
	const struct hp_lock_path *known = path_at(report, path);
	size_t first = known ? first_of(report, known) : 0;
	char *text = hp_lock_place_text(report, known ? &known->places[first] : at);
	const struct hp_symbol_spot *spot;

	for (size_t i = first; known && i < known->count; i++) {
		spot = hp_lock_code(report, &known->places[i]);
		if (spot && i > first && is_plumbing(spot->name))
			continue;
		if (!spot ||
		    (i > first && is_outermost(spot->name) && strcmp(spot->name, "main") != 0) ||
		    (i > first && !caller_add(&text, spot->name, true)) || is_outermost(spot->name))
			break;
	}
	return text;
}

char *hp_lock_holder_text(struct hp_report *report, const struct hp_lock_place *holder,
			  uint32_t release)
{
	const struct hp_symbol_spot *spot = hp_lock_code(report, holder);
	const struct hp_lock_path *known = path_at(report, release);

	if (known && spot && hp_wrapper_waits(spot->name))
		holder = &known->places[first_of(report, known)];
	return hp_lock_place_text(report, holder);
}

void hp_lock_path_add(struct hp_report *report, uint32_t path, const char *key, cJSON *entry)
{
	const struct hp_lock_path *known = path_at(report, path);
	cJSON *array = cJSON_AddArrayToObject(entry, key);

	for (size_t i = 0; known && i < known->count; i++) {
		const struct hp_symbol_spot *spot = hp_lock_code(report, &known->places[i]);
		cJSON *frame;

		if (!spot)
			continue;
		frame = cJSON_CreateObject();
		cJSON_AddStringToObject(frame, "function", spot->name);
		if (spot->file) {
			cJSON_AddStringToObject(frame, "file", spot->file);
			cJSON_AddNumberToObject(frame, "line", spot->line);
		}
		cJSON_AddItemToArray(array, frame);
	}
}

void hp_lock_path_name(struct hp_report *report, uint32_t path)
{
	const struct hp_lock_path *known = path_at(report, path);

	for (size_t i = 0; known && i < known->count; i++)
		hp_lock_code(report, &known->places[i]);
}
