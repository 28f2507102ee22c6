/* SPDX-License-Identifier: MIT */
/*
 * merge.c - merges equal stacks, and sorts stacks with a common outer part next
 * to each other.
 *
 * Each frame has a key: the place of the call or, for an interrupted frame, its
 * function, since threads doing the same are at different instructions.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/stacks/stacks.h"
#include "util/hash.h"

struct keyed {
	uint32_t thread;	/* place in take.threads */
	uint32_t count;
	uint64_t *keys;	/* keys of its frames, outermost first, without ours */
};

/* --- frames --- */

const struct hp_stack_object *hp_stacks_object(const struct hp_stacks *stacks,
					       const struct hp_stack_frame *frame)
{
	const struct hp_stack_map *map =
		hp_stack_process_at(&stacks->process, frame->pc - !frame->is_exact);

	return map && map->object < stacks->process.object_count
		       ? &stacks->process.objects[map->object]
		       : NULL;
}

const struct hp_stack *hp_stacks_first(const struct hp_stacks *stacks,
				       const struct hp_stack_group *group)
{
	return &stacks->stacks[group->threads[0]];
}

/* The address for name lookups: an exact pc is not a return address. */
static struct hp_frame_place *place_of(struct hp_stacks *stacks, const struct hp_stack_frame *frame,
				       uint32_t *object, uint64_t *address)
{
	const struct hp_stack_object *of = hp_stacks_object(stacks, frame);

	*object = of ? (uint32_t)(of - stacks->process.objects) : HP_NONE;
	*address = frame->pc - (of ? of->bias : 0) + frame->is_exact;
	return hp_frames_at(stacks->frames, *object, *address);
}

static bool is_left_out(const struct hp_stacks *stacks, const struct hp_stack_frame *frame)
{
	const struct hp_stack_object *object = hp_stacks_object(stacks, frame);

	return object && object->is_ours;
}

static uint64_t key_of(struct hp_stacks *stacks, const struct hp_stack_frame *frame)
{
	uint32_t object;
	uint64_t address;
	const struct hp_frame_place *place = place_of(stacks, frame, &object, &address);
	bool is_function = frame->is_exact && object != HP_NONE &&
			   hp_frames_start(stacks->frames, place) != UINT64_MAX;

	return is_function ? hp_hash_add(hp_hash_add(11, object), place->function)
			   : hp_hash_add(hp_hash_add(13, object), address);
}

static void keys_make(struct hp_stacks *stacks, struct keyed *keyed)
{
	const struct hp_stack *stack = &stacks->stacks[keyed->thread];

	keyed->keys = hp_xcalloc(stack->count + 1, sizeof(*keyed->keys));
	for (size_t i = stack->count; i-- > 0;)
		if (!is_left_out(stacks, &stack->frames[i]))
			keyed->keys[keyed->count++] = key_of(stacks, &stack->frames[i]);
}

static int compare_keyed(const void *left, const void *right)
{
	const struct keyed *a = left, *b = right;
	uint32_t shorter = a->count < b->count ? a->count : b->count;

	for (uint32_t i = 0; i < shorter; i++)
		if (a->keys[i] != b->keys[i])
			return a->keys[i] < b->keys[i] ? -1 : 1;
	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static bool is_equal(const struct keyed *a, const struct keyed *b)
{
	return a->count == b->count &&
	       (!a->count || memcmp(a->keys, b->keys, a->count * sizeof(*a->keys)) == 0);
}

/* --- lines --- */

static void line_add(struct hp_stack_group *group, size_t *room, struct hp_stack_line line)
{
	group->lines = hp_xgrow(group->lines, group->line_count, room, sizeof(*group->lines));
	group->lines[group->line_count++] = line;
}

/* True if all threads of the group are at the same pc, and so the same line. */
static bool is_at_one_place(const struct hp_stacks *stacks, const struct hp_stack_group *group,
			    size_t frame)
{
	uint64_t pc = hp_stacks_first(stacks, group)->frames[frame].pc;

	for (size_t i = 1; i < group->count; i++) {
		const struct hp_stack *other = &stacks->stacks[group->threads[i]];

		if (frame >= other->count || other->frames[frame].pc != pc)
			return false;
	}
	return true;
}

static void frame_lines(struct hp_stacks *stacks, struct hp_stack_group *group, size_t *room,
			size_t at)
{
	const struct hp_stack_frame *frame = &hp_stacks_first(stacks, group)->frames[at];
	const struct hp_frame_place *place;
	uint32_t object;
	uint64_t address;

	place = place_of(stacks, frame, &object, &address);
	if (frame->is_exact && !is_at_one_place(stacks, group, at)) {
		line_add(group, room,
			 (struct hp_stack_line){ .function = place->name, .frame = (uint32_t)at });
		return;
	}
	place = hp_frames_lines(stacks->frames, object, address);
	for (size_t i = 0; i < place->count; i++)
		line_add(group, room,
			 (struct hp_stack_line){
				 .function = place->frames[i].name,
				 .file = place->frames[i].file,
				 .line = place->frames[i].line,
				 .frame = (uint32_t)at,
				 .is_inlined = i + 1 < place->count,
			 });
}

/* Texts of places stay valid; the places themselves may move. */
static void lines_make(struct hp_stacks *stacks, struct hp_stack_group *group)
{
	const struct hp_stack *stack = hp_stacks_first(stacks, group);
	size_t room = 0;

	for (size_t i = 0; i < stack->count; i++)
		if (!is_left_out(stacks, &stack->frames[i]))
			frame_lines(stacks, group, &room, i);
}

/* --- groups --- */

static int compare_groups(const void *left, const void *right)
{
	const struct hp_stack_group *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	if (a->line_count != b->line_count)
		return a->line_count > b->line_count ? -1 : 1;
	return a->threads[0] < b->threads[0] ? -1 : a->threads[0] > b->threads[0];
}

static bool is_same_line(const struct hp_stack_line *a, const struct hp_stack_line *b)
{
	return a->line == b->line && a->is_inlined == b->is_inlined &&
	       strcmp(a->function, b->function) == 0 && !a->file == !b->file &&
	       (!a->file || strcmp(a->file, b->file) == 0);
}

static size_t common(const struct hp_stack_group *a, const struct hp_stack_group *b)
{
	size_t most = a->line_count < b->line_count ? a->line_count : b->line_count, count = 0;

	while (count < most && is_same_line(&a->lines[a->line_count - 1 - count],
					    &b->lines[b->line_count - 1 - count]))
		count++;
	return count;
}

/* Moves the group that has most in common with the previous one to the front of those from
 * `first` on. */
static void neighbour_choose(struct hp_stacks *stacks, size_t first)
{
	struct hp_stack_group *groups = stacks->groups, chosen;
	size_t best = first, most = 0;

	for (size_t i = first; i < stacks->group_count; i++) {
		size_t shared = common(&groups[first - 1], &groups[i]);

		if (shared > most) {
			most = shared;
			best = i;
		}
	}
	/* Frames that every thread starts with do not count as common. */
	if (most <= 2)
		best = first;
	chosen = groups[best];
	memmove(groups + first + 1, groups + first, (best - first) * sizeof(*groups));
	groups[first] = chosen;
	groups[first].common = common(&groups[first - 1], &groups[first]);
}

static void groups_make(struct hp_stacks *stacks, const struct keyed *keyed, size_t count)
{
	size_t room = 0;

	for (size_t i = 0, end; i < count; i = end) {
		struct hp_stack_group *group;

		for (end = i + 1; end < count && is_equal(&keyed[i], &keyed[end]);)
			end++;
		stacks->groups = hp_xgrow(stacks->groups, stacks->group_count, &room,
					  sizeof(*stacks->groups));
		group = &stacks->groups[stacks->group_count++];
		*group = (struct hp_stack_group){ .count = end - i };
		group->threads = hp_xcalloc(group->count, sizeof(*group->threads));
		for (size_t k = i; k < end; k++)
			group->threads[k - i] = keyed[k].thread;
		lines_make(stacks, group);
	}
}

void hp_stacks_merge(struct hp_stacks *stacks)
{
	struct keyed *keyed = hp_xcalloc(stacks->take.count + 1, sizeof(*keyed));
	size_t count = 0;

	for (size_t i = 0; i < stacks->take.count; i++) {
		if (stacks->take.threads[i].outcome != HP_STOP_DONE)
			continue;
		keyed[count].thread = (uint32_t)i;
		keys_make(stacks, &keyed[count++]);
	}
	if (count)
		qsort(keyed, count, sizeof(*keyed), compare_keyed);
	groups_make(stacks, keyed, count);
	if (stacks->group_count)
		qsort(stacks->groups, stacks->group_count, sizeof(*stacks->groups), compare_groups);
	for (size_t i = 1; i < stacks->group_count; i++)
		neighbour_choose(stacks, i);
	for (size_t i = 0; i < count; i++)
		free(keyed[i].keys);
	free(keyed);
}

void hp_stacks_unmerge(struct hp_stacks *stacks)
{
	for (size_t i = 0; i < stacks->group_count; i++) {
		free(stacks->groups[i].threads);
		free(stacks->groups[i].lines);
	}
	free(stacks->groups);
	stacks->groups = NULL;
	stacks->group_count = 0;
}
