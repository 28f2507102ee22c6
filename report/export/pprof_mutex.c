/* SPDX-License-Identifier: MIT */
/*
 * pprof_mutex.c - waits for locks as pprof's profile.proto: how often and how
 * long, by the call path that waited.
 *
 * Each sample has the labels `lock` and `holder` (of the longest wait), so `go
 * tool pprof -tagfocus` and `-tags` distinguish locks. The time of a path
 * covers all its waits for one lock.
 */
#include <stdlib.h>

#include "report/export/export.h"
#include "report/section/wait/lock_section.h"
#include "report/base/format.h"
#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/export/pprof.h"
#include "report/name/symbol.h"
#include "util/hash.h"

struct build {
	struct hp_report *report;
	struct hp_pprof profile;
	struct hp_map locations; /* of object and address -> its id */
	uint64_t last; /* id of a location, and of its function */
};

/*
 * The id of a place in code, added when new. Each has its own function; pprof
 * merges them by name.
 */
static uint64_t location_of(struct build *b, const struct hp_lock_place *place)
{
	struct hp_pprof_bytes m = { .at = NULL }, line = { .at = NULL };
	const struct hp_symbol_spot *spot;
	bool is_new;
	uint32_t *id =
		hp_map_at(&b->locations,
			  hp_hash_add(hp_hash_add(1, place->object), place->address) | 1, &is_new);

	if (!is_new)
		return *id;
	*id = (uint32_t)++b->last;
	spot = hp_lock_code(b->report, place);
	hp_pprof_function(&b->profile, b->last, spot ? spot->name : "?",
			  spot && spot->file ? spot->file : NULL);
	hp_pprof_number(&m, 1, b->last);
	hp_pprof_number(&m, 3, place->address);
	hp_pprof_number(&line, 1, b->last);
	hp_pprof_number(&line, 2, spot && spot->line > 0 ? (uint64_t)spot->line : 0);
	hp_pprof_message(&m, 4, &line);
	hp_pprof_message(&b->profile.all, 4, &m);
	free(m.at);
	free(line.at);
	return b->last;
}

static void label_put(struct build *b, struct hp_pprof_bytes *sample, const char *key,
		      const char *text)
{
	struct hp_pprof_bytes label = { .at = NULL };

	hp_pprof_number(&label, 1, hp_pprof_string(&b->profile, key));
	hp_pprof_number(&label, 2, hp_pprof_string(&b->profile, text));
	hp_pprof_message(sample, 3, &label);
	free(label.at);
}

static void contest_put(struct build *b, const struct hp_lock_contest *contest)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(b->report));
	struct hp_pprof_bytes m = { .at = NULL }, packed = { .at = NULL };
	char *holder = hp_lock_place_text(b->report, &contest->holder);
	const struct hp_lock_path *path =
		contest->path == HP_NONE ? NULL : &locks->paths.all[contest->path];

	for (size_t i = 0; path && i < path->count; i++)
		hp_pprof_varint(&packed, location_of(b, &path->places[i]));
	if (!path)
		hp_pprof_varint(&packed, location_of(b, &contest->at));
	hp_pprof_message(&m, 1, &packed);
	hp_pprof_varint(&packed, contest->count);
	hp_pprof_varint(&packed, hp_whole((double)contest->ticks * b->report->model.ns_per_tick));
	hp_pprof_message(&m, 2, &packed);
	label_put(b, &m, "lock", hp_lock_name(b->report, &locks->rows[contest->lock]));
	label_put(b, &m, "holder", holder);
	hp_pprof_message(&b->profile.all, 2, &m);
	free(holder);
	free(m.at);
	free(packed.at);
}

int hp_export_pprof_mutex(struct hp_report *report, int fd)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));
	struct build b = { .report = report };
	int error;

	hp_pprof_init(&b.profile);
	hp_pprof_type(&b.profile, 1, "contentions", "count");
	hp_pprof_type(&b.profile, 1, "delay", "nanoseconds");
	for (size_t i = 0; i < locks->contest_count; i++)
		if (locks->contests[i].count)
			contest_put(&b, &locks->contests[i]);
	hp_pprof_number(&b.profile.all, 9, (uint64_t)report->model.reader.header.created_unix_ns);
	hp_pprof_number(&b.profile.all, 10, report->model.elapsed_ns);
	hp_pprof_type(&b.profile, 11, "contentions", "count");
	hp_pprof_number(&b.profile.all, 12, 1);
	error = hp_pprof_write(&b.profile, fd);
	hp_pprof_release(&b.profile);
	hp_map_release(&b.locations);
	return error;
}
