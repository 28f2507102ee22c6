/* SPDX-License-Identifier: MIT */
/*
 * trail.c - see trail.h.
 */
#include "sampler/sample/trail.h"

#include <stdlib.h>
#include <string.h>

#define WORD sizeof(uint64_t)

static bool holds(const struct hp_trail_frame *frame, const struct hp_stack_copy *copy)
{
	if (frame->word_count > HP_TRAIL_WORDS)
		return false;
	for (uint32_t i = 0; i < frame->word_count; i++) {
		uint64_t address = frame->words[i].address, word;

		if (address < copy->begin || address >= copy->end || copy->end - address < WORD)
			return false;
		memcpy(&word, copy->bytes + (address - copy->begin), WORD);
		if (word != frame->words[i].value)
			return false;
	}
	return true;
}

uint32_t hp_trail_valid(const struct hp_trail *trail, const struct hp_stack_copy *copy)
{
	uint32_t count = 0;

	while (count < trail->count && holds(&trail->frames[count], copy))
		count++;
	return count;
}

/* If the caller does not need the frame pointer, its word does not matter. */
static void fp_settle(struct hp_trail_frame *frame, bool caller_needs_fp)
{
	bool is_loaded = frame->fp_word != 0;

	if (is_loaded && !caller_needs_fp && frame->word_count <= HP_TRAIL_WORDS) {
		frame->words[frame->fp_word - 1] = frame->words[frame->word_count - 1];
		frame->word_count--;
	}
	frame->needs_fp = frame->uses_fp || (caller_needs_fp && !is_loaded);
}

void hp_trail_extend(struct hp_trail *trail, uint32_t kept, const struct hp_trail_frame *fresh,
		     uint32_t count)
{
	bool needs_fp = kept && trail->frames[kept - 1].needs_fp;

	if (kept + count > HP_TRAIL_MAX) {
		trail->count = 0;
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct hp_trail_frame *frame = &trail->frames[kept + i];

		*frame = fresh[count - 1 - i];
		fp_settle(frame, needs_fp);
		needs_fp = frame->needs_fp;
	}
	trail->count = kept + count;
}

bool hp_trails_init(struct hp_trails *trails)
{
	trails->list = calloc(HP_TRAILS, sizeof(struct hp_trail *));
	return trails->list != NULL;
}

void hp_trails_release(struct hp_trails *trails)
{
	for (uint32_t i = 0; trails->list && i < HP_TRAILS; i++)
		free(trails->list[i]);
	free(trails->list);
	trails->list = NULL;
}

struct hp_trail *hp_trails_of(struct hp_trails *trails, uint32_t pid, uint32_t tid, uint64_t mapped)
{
	struct hp_trail **place = &trails->list[tid % HP_TRAILS];
	struct hp_trail *trail = *place;

	if (!trail && !(trail = *place = calloc(1, sizeof(*trail))))
		return NULL;
	if (trail->pid != pid || trail->tid != tid || trail->mapped != mapped) {
		trail->pid = pid;
		trail->tid = tid;
		trail->mapped = mapped;
		trail->count = 0;
	}
	return trail;
}
