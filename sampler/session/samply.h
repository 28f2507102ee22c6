/* SPDX-License-Identifier: MIT */
/*
 * samply.h - HOTPATH_CPU=samply: the sampler lets samply take the samples,
 * through hotpath-samply (sampler/samply/).
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

/* Creates the session's folder and starts its worker on a process. */
void hp_samply_start(struct hp_samply *samply, const struct hp_segment *segment,
		     struct hp_sampling *record, uint32_t pid);

/* Stops it and adds its results to the record, which takes up to some seconds. */
void hp_samply_finish(struct hp_samply *samply);

#endif
