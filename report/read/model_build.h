/* SPDX-License-Identifier: MIT */
/*
 * model_build.h - what of a model outlives a look: which records there are.
 *
 * Who looks at a program that runs finds the same records again, with other
 * counters in them, and perhaps further ones.  Records are never removed, the head
 * of a list leads from the newest to the oldest, and what says whose counters
 * they are is set once.  So a look reads the heads of lists up to what is known,
 * and then the counters of all rows; sums are made anew, and are those that a
 * first look would make.
 */
#ifndef HP_REPORT_READ_MODEL_BUILD_H
#define HP_REPORT_READ_MODEL_BUILD_H

#include "report/base/map.h"
#include "report/read/model.h"
#include "report/read/tree.h"

struct hp_model_build {
	struct hp_tree tree;
	struct hp_map objects; /* offset -> place + 1 */
	uint64_t object_heads[1 + HP_LEVELS_MOST]; /* of the lists, when they were read last */
	struct hp_map same_objects; /* what is in it -> place + 1 */
	struct hp_map modules; /* offset -> object's place + 1 */
	struct hp_map same_functions; /* object and address -> place */
	struct hp_map blocks; /* offset -> place + 1 */
	size_t object_room;
	size_t function_room;
	size_t record_room;
	size_t block_room;
	uint64_t *offsets; /* of new records of a list */
	size_t offset_room;
	bool is_broken; /* a list did not end where it should: the next look begins from nothing */
};

/* A model without anything, or one that was paused: makes room for the segment that its reader has. */
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
