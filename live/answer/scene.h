/* SPDX-License-Identifier: MIT */
/*
 * scene.h - what answers are made from: the report of one moment, and what
 * outlives it.  The worker of live/cache/picture.c alone touches it.
 */
#ifndef HP_LIVE_ANSWER_SCENE_H
#define HP_LIVE_ANSWER_SCENE_H

#include <stdbool.h>
#include <stdint.h>

#include "live/answer/ids.h"
#include "live/answer/route.h"
#include "live/answer/snapshot.h"
#include "live/answer/target.h"
#include "report/section/core/report.h"

struct hp_scene {
	const struct hp_routes *routes;	/* what can be asked; never changes, any thread may read it */
	struct hp_target target;
	struct hp_settings settings;
	char defaults[HP_DEFAULTS_MOST];	/* of the program, and */
	char default_values[HP_DEFAULTS_MOST];	/* their words */
	bool has_report;
	struct hp_report report;
	struct hp_carry carry;	/* what outlives a look of it */
	struct hp_ids ids;	/* of rows, from look to look */
	uint32_t *function_ids;	/* of the report's functions */
	uint64_t taken_ns;	/* when its segment was read, CLOCK_MONOTONIC_RAW */
	uint64_t cost_ns;	/* what that took, mean of late */
	uint64_t missing;	/* names that the look itself asked for in vain */
	uint64_t missing_before;	/* hp_scene_missing before the look */
	struct hp_snapshot snapshot;	/* of the CPU's samples */
};

/* Takes over the target.  The routes stay the caller's.  `settings` are of flags and environment; the program's defaults are added. */
void hp_scene_init(struct hp_scene *scene, const struct hp_target *target,
		   const struct hp_settings *settings, const struct hp_routes *routes);

/* Looks again.  False = there is nothing to see; of a run that is over: nothing new. */
bool hp_scene_look(struct hp_scene *scene);

/*
 * Names are looked up aside (report/name/resolver.h).  How many were asked for in vain
 * so far: if it grew while an answer was made, or the look says so, names are
 * still to come.
 */
uint64_t hp_scene_missing(const struct hp_scene *scene);

/* Lets go of the report, whose memory may be a lot. */
void hp_scene_drop(struct hp_scene *scene);
void hp_scene_release(struct hp_scene *scene);

#endif
