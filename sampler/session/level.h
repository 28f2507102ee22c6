/* SPDX-License-Identifier: MIT */
/*
 * level.h - a process's rights: its trust level.
 *
 * Two processes have the same level if the kernel lets each of them trace the other
 * (util/rights.h).
 */
#ifndef HP_SAMPLER_SESSION_LEVEL_H
#define HP_SAMPLER_SESSION_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

#include "util/rights.h"

struct hp_level {
	struct hp_rights rights;	/* settled */
	uint32_t user, group;	/* effective; reported, not compared */
};

/*
 * Of a live process, and its parent's pid (NULL = not requested).  False = it is gone,
 * or /proc is missing.
 */
bool hp_level_read(struct hp_level *level, uint32_t pid, uint32_t *parent);

/* The same through its open status file. */
bool hp_level_again(struct hp_level *level, int status, uint32_t pid, uint32_t *parent);

bool hp_level_is_same(const struct hp_level *a, const struct hp_level *b);

/* Can `above` control `below` completely?  Also true of equal ones. */
bool hp_level_rules(const struct hp_level *above, const struct hp_level *below);

#endif
