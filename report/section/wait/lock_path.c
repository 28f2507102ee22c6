/* SPDX-License-Identifier: MIT */
/*
 * lock_path.c - see lock_path.h: reading.
 */
#include "report/section/wait/lock_path.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/name/name.h"
#include "segment/layout/heap.h"
#include "util/hash.h"

#define FRAMES_MAX 256
#define STEPS_MAX \
	(FRAMES_MAX + 16)	/* our own functions are steps, too; and a damaged file has circles */

static bool is_ours(const struct hp_model *model, uint32_t object)
{
	return object < model->object_count && model->objects[object].is_profiler;
}

/* One step; false = not code. */
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

	for (int i = 0; i < STEPS_MAX && count < FRAMES_MAX && read_step(model, id, &step); i++) {
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
	struct hp_lock_place places[FRAMES_MAX];
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
