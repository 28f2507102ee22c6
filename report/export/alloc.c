/* SPDX-License-Identifier: MIT */
/*
 * alloc.c - allocations by call path for other tools: collapsed stacks
 * (a line for each path, outermost function first, then a number), and a heap
 * profile for pprof.
 *
 * Inlined functions are frames of their own.  Paths that appear to hold less
 * than zero, due to a fork or torn record, are omitted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/section/memory/section.h"
#include "report/export/export.h"
#include "report/base/format.h"
#include "report/name/frame.h"
#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/export/pprof.h"
#include "util/hash.h"

/* --- collapsed stacks --- */

static void name_write(const char *name, FILE *out)
{
	fputc(';', out);
	for (; *name; name++)
		fputc(*name == ';' ? ':' : *name == '\n' ? ' ' : *name, out);
}

static void step_write(struct hp_report *report, const struct hp_alloc_step *step, FILE *out)
{
	const struct hp_frame_place *place;

	if (step->mark) {
		name_write(hp_alloc_mark_name(step->mark), out);
		return;
	}
	place = hp_frames_lines(hp_alloc_frames(report), step->object, step->address);
	for (size_t i = place->count; i-- > 0;)
		name_write(place->frames[i].name, out);
}

static void path_write(struct hp_report *report, uint32_t at, uint32_t *chain, FILE *out)
{
	const struct hp_alloc_step *steps = hp_alloc_of(report)->steps;
	size_t count = 0;

	for (; at; at = steps[at].caller)
		chain[count++] = at;
	fputs(report->caller, out);
	while (count-- > 0)
		step_write(report, &steps[chain[count]], out);
}

/* `place` is the offset of a word in struct hp_alloc_sum. */
static int folded_write(struct hp_report *report, int fd, size_t place)
{
	const struct hp_alloc *alloc = hp_alloc_of(report);
	uint32_t *chain = hp_xcalloc(alloc->count, sizeof(*chain));
	int copy = dup(fd);
	FILE *out = copy < 0 ? NULL : fdopen(copy, "w");
	int error = out ? 0 : -errno;

	for (uint32_t i = 0; out && i < alloc->count; i++) {
		int64_t number;

		memcpy(&number, (const char *)hp_alloc_own(alloc, i) + place, sizeof(number));
		if (number <= 0)
			continue;
		path_write(report, i, chain, out);
		fprintf(out, " %lld\n", (long long)number);
	}
	if (out && fclose(out) != 0)
		error = -errno;
	free(chain);
	return error;
}

#define FOLDED(name, field) \
	int hp_export_folded_##name(struct hp_report *report, int fd) \
	{ \
		return folded_write(report, fd, offsetof(struct hp_alloc_sum, field)); \
	}

FOLDED(bytes, bytes)
FOLDED(count, count)
FOLDED(live, live_bytes)
FOLDED(peak, peak_bytes)
FOLDED(temporary, temporary)

/* --- pprof --- */

struct heap {
	struct hp_pprof profile;
	struct hp_map functions;	/* hash of name and file -> its place in `known` */
	char **known;
	size_t count;
	size_t room;
};

static uint64_t hash_of(const char *text)
{
	return hp_fnv_text(HP_FNV_SEED, text) | 1;
}

/* The id of the function, added to the profile if new. */
static uint64_t function_id(struct heap *heap, const char *name, const char *file)
{
	char *key = hp_xprintf("%s\n%s", name, file ? file : "");
	uint32_t *number;
	bool is_new;

	for (uint64_t hash = hash_of(key);; hash += 2) {
		number = hp_map_at(&heap->functions, hash, &is_new);
		if (is_new)
			break;
		if (strcmp(heap->known[*number], key) == 0) {
			free(key);
			return *number + 1u;
		}
	}
	*number = (uint32_t)heap->count;
	heap->known = hp_xgrow(heap->known, heap->count, &heap->room, sizeof(*heap->known));
	heap->known[heap->count++] = key;
	hp_pprof_function(&heap->profile, heap->count, name, file);
	return heap->count;
}

static void line_put(struct heap *heap, struct hp_pprof_bytes *location, const char *name,
		     const char *file, int number)
{
	struct hp_pprof_bytes line = { .at = NULL };

	hp_pprof_number(&line, 1, function_id(heap, name, file));
	hp_pprof_number(&line, 2, hp_whole(number));
	hp_pprof_message(location, 4, &line);
	free(line.at);
}

/* Each step is a separate location: a place on several paths appears several times. */
static void locations_put(struct heap *heap, struct hp_report *report)
{
	const struct hp_alloc *alloc = hp_alloc_of(report);
	struct hp_pprof_bytes location = { .at = NULL };

	for (uint32_t i = 1; i < alloc->count; i++) {
		const struct hp_alloc_step *step = &alloc->steps[i];
		const struct hp_frame_place *place;

		hp_pprof_number(&location, 1, i);
		hp_pprof_number(&location, 3, step->address);
		if (step->mark)
			line_put(heap, &location, hp_alloc_mark_name(step->mark), NULL, 0);
		place = step->mark ? NULL
				   : hp_frames_lines(hp_alloc_frames(report), step->object,
						     step->address);
		for (size_t f = 0; place && f < place->count; f++)
			line_put(heap, &location, place->frames[f].name, place->frames[f].file,
				 place->frames[f].line);
		hp_pprof_message(&heap->profile.all, 4, &location);
	}
	free(location.at);
}

static uint64_t positive(int64_t number)
{
	return hp_whole(number);
}

static void samples_put(struct heap *heap, const struct hp_alloc *alloc)
{
	struct hp_pprof_bytes sample = { .at = NULL }, packed = { .at = NULL };

	for (uint32_t i = 1; i < alloc->count; i++) {
		const struct hp_alloc_sum *sum = hp_alloc_own(alloc, i);

		if (!sum->count)
			continue;
		for (uint32_t at = i; at; at = alloc->steps[at].caller)
			hp_pprof_varint(&packed, at);
		hp_pprof_message(&sample, 1, &packed);
		hp_pprof_varint(&packed, sum->count);
		hp_pprof_varint(&packed, sum->bytes);
		hp_pprof_varint(&packed, positive(sum->live));
		hp_pprof_varint(&packed, positive(sum->live_bytes));
		hp_pprof_varint(&packed, positive(sum->peak_bytes));
		hp_pprof_message(&sample, 2, &packed);
		hp_pprof_message(&heap->profile.all, 2, &sample);
	}
	free(sample.at);
	free(packed.at);
}

/* `first` is the default sample type. */
static int heap_export(struct hp_report *report, int fd, const char *first)
{
	struct heap heap = { .count = 0 };
	struct hp_pprof *profile = &heap.profile;
	int error;

	hp_pprof_init(profile);
	hp_pprof_type(profile, 1, "alloc_objects", "count");
	hp_pprof_type(profile, 1, "alloc_space", "bytes");
	hp_pprof_type(profile, 1, "inuse_objects", "count");
	hp_pprof_type(profile, 1, "inuse_space", "bytes");
	hp_pprof_type(profile, 1, "peak_space", "bytes");
	samples_put(&heap, hp_alloc_of(report));
	locations_put(&heap, report);
	hp_pprof_number(&profile->all, 9, (uint64_t)report->model.reader.header.created_unix_ns);
	hp_pprof_number(&profile->all, 10, report->model.elapsed_ns);
	hp_pprof_number(&profile->all, 14, hp_pprof_string(profile, first));
	error = hp_pprof_write(profile, fd);
	for (size_t i = 0; i < heap.count; i++)
		free(heap.known[i]);
	free(heap.known);
	hp_map_release(&heap.functions);
	hp_pprof_release(profile);
	return error;
}

int hp_export_pprof_heap(struct hp_report *report, int fd)
{
	return heap_export(report, fd, "inuse_space");
}

int hp_export_pprof_allocs(struct hp_report *report, int fd)
{
	return heap_export(report, fd, "alloc_space");
}
