/* SPDX-License-Identifier: MIT */
/*
 * samply.h - HOTPATH_CPU=samply: the sampler has samply do it, by hotpath-samply
 * (sampler/samply/).
 */
#ifndef HP_SAMPLER_SESSION_SAMPLY_H
#define HP_SAMPLER_SESSION_SAMPLY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "segment/segment.h"
#include "segment/layout/sample.h"

struct hp_samply {
	const struct hp_segment *segment;
	struct hp_sampling *record;
	char folder[PATH_MAX];	/* of the session; empty = none was started */
	char wrapper[PATH_MAX];
	bool is_read;
};

/* Makes the session's folder and starts its worker on a process. */
void hp_samply_start(struct hp_samply *samply, const struct hp_segment *segment,
		     struct hp_sampling *record, uint32_t pid);

/* Stops it and has its results put into the record: takes up to some seconds. */
void hp_samply_finish(struct hp_samply *samply);

#endif
