/* SPDX-License-Identifier: MIT */
/*
 * level.h - the segments of a session: who owns each, and what is in it.
 *
 * Processes with equal rights write one segment (doc/internals/safety.md). The
 * first is the session's own, whose words about the others are believed.
 */
#ifndef HP_REPORT_READ_LEVEL_H
#define HP_REPORT_READ_LEVEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "segment/layout/header.h"

#define HP_LEVEL_PIDS 64	/* the others are counted only */

struct hp_process;
struct hp_reader;

struct hp_model_level {
	bool has_owner;	/* the next two are known */
	uint32_t user;
	uint32_t group;
	bool is_tainted;	/* a process with fewer rights could write it */
	bool is_complete;	/* no chunk was refused, and no thread and call lost */
	uint64_t bytes;	/* in use */
	uint64_t runs;	/* of programs: process records, and those folded into them; a process that
			 * drops privileges has one in both segments */
	uint32_t pids[HP_LEVEL_PIDS];	/* of the records, without those that continue elsewhere */
	uint32_t pid_count;
};

struct hp_model_levels {
	struct hp_model_level at[1 + HP_LEVELS_MAX];
	uint32_t count;
	uint32_t refused;	/* requests for one more that were refused */
	bool are_missing;	/* the session has others, which are not in this file */
};

void hp_levels_read(struct hp_model_levels *levels, const struct hp_reader *reader);

/* Adds the process at offset `at`. */
void hp_levels_add(struct hp_model_levels *levels, const struct hp_reader *reader, uint64_t at,
		   const struct hp_process *process);

/* Is there more to say than that everything is in one segment? */
bool hp_levels_are_special(const struct hp_model_levels *levels);

#endif
