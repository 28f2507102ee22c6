/* SPDX-License-Identifier: MIT */
/*
 * model_build.h - the part of a model that outlives a refresh: the known
 * records.
 *
 * Each refresh of a running program finds the same records with new counters,
 * and perhaps further records. Records are never removed, lists run from the
 * newest to the oldest, and a record's identity is set once. So a refresh reads
 * lists down to the known records, then the counters of all rows, and
 * recomputes the sums. The result equals that of a first refresh.
 */
#ifndef HP_REPORT_READ_MODEL_BUILD_H
#define HP_REPORT_READ_MODEL_BUILD_H

#include "report/base/map.h"
#include "report/read/model.h"
#include "report/read/tree.h"

struct hp_model_build {
	struct hp_tree tree;
	struct hp_map objects; /* offset -> place + 1 */
	uint64_t object_heads[1 + HP_LEVELS_MAX]; /* of the lists at the last refresh */
	struct hp_map same_objects; /* content -> place + 1 */
	struct hp_map modules; /* offset -> object's place + 1 */
	struct hp_map same_functions; /* object and address -> place */
	struct hp_map blocks; /* offset -> place + 1 */
	size_t object_room;
	size_t function_room;
	size_t record_room;
	size_t block_room;
	uint64_t *offsets; /* of new records of a list */
	size_t offset_room;
	bool is_broken; /* a list did not end as expected: the next refresh starts from scratch */
};

/* Prepares an empty or paused model for its reader's segment. */
void hp_model_build_begin(struct hp_model *model);
void hp_model_build_release(struct hp_model *model);

/* New objects. */
void hp_model_build_objects(struct hp_model *model);

/* Place + 1 of the object at an offset, 0 = unknown. */
uint32_t hp_model_build_object_at(const struct hp_model *model, uint64_t offset);

/* The block at `offset`, with its new functions and rows. */
struct hp_model_block *hp_model_build_block(struct hp_model *model, uint64_t offset,
					    const struct hp_block *record);

#endif
