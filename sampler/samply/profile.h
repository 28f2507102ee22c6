/* SPDX-License-Identifier: MIT */
/*
 * profile.h - samples of a profile that samply wrote (Firefox's "processed
 * profile", version 49 and its like), into the segment's tree of stacks.
 */
#ifndef HP_SAMPLER_SAMPLY_PROFILE_H
#define HP_SAMPLER_SAMPLY_PROFILE_H

#include <stdbool.h>

#include "sampler/samply/session.h"
#include "segment/layout/sample.h"
#include "segment/segment.h"

/* False = `error` explains why it has no samples. */
bool hp_samply_read(const struct hp_segment *segment, struct hp_sampling *record, const char *path,
		    char error[HP_SAMPLY_TEXT]);

#endif
