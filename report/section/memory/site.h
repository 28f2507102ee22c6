/* SPDX-License-Identifier: MIT */
/*
 * site.h - the counters of the call paths of a heap, from refresh to refresh.
 *
 * A running program changes few of its paths from one second to the next, so a
 * path's last values are kept, and only changed ones are summed again. A 64-bit
 * hash of all its counters decides that.
 */
#ifndef HP_REPORT_SECTION_MEMORY_SITE_H
#define HP_REPORT_SECTION_MEMORY_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/section/memory/alloc.h"

struct hp_alloc_seen;

/* The sites of a heap, as far as they are known, the oldest first. */
struct hp_alloc_sites {
	uint64_t head;	/* of their list when it was last read */
	struct hp_alloc_seen *seen;
	size_t count;
	size_t room;
	bool is_once;	/* never read again, so their values are not needed */
	struct hp_alloc_sum *sums;	/* beside them: their values */
	size_t sum_room;
};

/* A process's part of its sites' bytes at the peak. */
struct hp_alloc_peak {
	uint32_t epoch;	/* number of the last one noted */
	bool is_now;	/* more is held now than then */
};

/* From ids of steps to places in the tree. */
struct hp_alloc_places {
	uint32_t *of;
	size_t count;
};

static inline uint32_t hp_alloc_place_of(const struct hp_alloc_places *places, uint32_t step)
{
	return step < places->count ? places->of[step] : 0;
}

/* A site's values. Lost blocks are separate. */
struct hp_alloc_sum hp_alloc_site_sum(const struct hp_site *site, const struct hp_alloc_peak *peak);

/* Adds to a step, to all, and to the changes for earlier readers. */
void hp_alloc_count(struct hp_alloc *alloc, uint32_t step, const struct hp_alloc_sum *difference);

/*
 * Reads new entries of the list from `head` on, and counts changes in any of
 * them. False = the list did not end where it should.
 */
bool hp_alloc_sites_look(struct hp_alloc_sites *sites, struct hp_alloc *alloc,
			 struct hp_reader *reader, uint64_t head, const struct hp_alloc_peak *peak,
			 const struct hp_alloc_places *places);
void hp_alloc_sites_release(struct hp_alloc_sites *sites);

#endif
