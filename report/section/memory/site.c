/* SPDX-License-Identifier: MIT */
/*
 * site.c - see site.h.
 */
#include "report/section/memory/site.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"

#define LEAVE_SITES (1 << 16) /* some 8 MiB of the segment */

/* Work of a refresh with 100 000 sites: kept small, apart from the sums. */
struct hp_alloc_seen {
	uint64_t offset;
	uint64_t stamp;	/* of its counters */
	uint32_t step;	/* place in the tree */
	bool is_noted;	/* its bytes at the peak are the recorded ones */
	bool has_spread;
};

struct hp_alloc_sum hp_alloc_site_sum(const struct hp_site *site, const struct hp_alloc_peak *peak)
{
	struct hp_alloc_sum sum = {
		.count = site->allocs + site->temporary,
		.bytes = site->bytes + site->temporary_bytes,
		.frees = site->frees + site->far_frees + site->temporary,
		.freed_bytes = site->freed + site->far_freed + site->temporary_bytes,
		.temporary = site->temporary,
		.temporary_bytes = site->temporary_bytes,
		.live = (int64_t)(site->allocs - site->frees - site->far_frees),
		.live_bytes = (int64_t)(site->bytes - site->freed - site->far_freed),
	};
	bool is_noted = !peak->is_now && site->epoch == peak->epoch;

	sum.peak_bytes = hp_alloc_plus(site->folded_peak,
				       is_noted ? site->at_peak
						: hp_alloc_minus(sum.live_bytes, site->base));
	return sum;
}

/*
 * Different counters have different stamps, except by chance. The factors are odd
 * and without a pattern; the products are independent of each other.
 */
static uint64_t stamp_of(const struct hp_site *site)
{
	return site->allocs * UINT64_C(0x9e3779b97f4a7c15) +
	       site->bytes * UINT64_C(0xbf58476d1ce4e5b9) +
	       site->frees * UINT64_C(0x94d049bb133111eb) +
	       site->freed * UINT64_C(0xff51afd7ed558ccd) +
	       site->temporary * UINT64_C(0xc4ceb9fe1a85ec53) +
	       site->temporary_bytes * UINT64_C(0xd6e8feb86659fd93) +
	       site->far_frees * UINT64_C(0xa0761d6478bd642f) +
	       site->far_freed * UINT64_C(0xe7037ed1a0b428db) +
	       (uint64_t)site->at_peak * UINT64_C(0x8ebc6af09c88c6e3) +
	       (uint64_t)site->base * UINT64_C(0x589965cc75374cc3) +
	       (uint64_t)site->folded_peak * UINT64_C(0x1d8e4e27c47d124f) +
	       ((uint64_t)site->spread << 32 | site->lost) * UINT64_C(0xeb44accab455d165) +
	       site->lost_bytes * UINT64_C(0x6c9c8e4b0f1d2a7b);
}

/* The sum of a step, made when it is needed: most steps only lead to others. */
static struct hp_alloc_sum *own_of(struct hp_alloc *alloc, uint32_t step)
{
	if (!alloc->steps[step].own) {
		alloc->sums = hp_xgrow(alloc->sums, alloc->sum_count, &alloc->sum_room,
				       sizeof(*alloc->sums));
		alloc->sums[alloc->sum_count] = (struct hp_alloc_sum){ .count = 0 };
		alloc->steps[step].own = (uint32_t)alloc->sum_count++;
	}
	return &alloc->sums[alloc->steps[step].own];
}

void hp_alloc_count(struct hp_alloc *alloc, uint32_t step, const struct hp_alloc_sum *difference)
{
	hp_alloc_add(own_of(alloc, step), difference);
	hp_alloc_add(&alloc->all, difference);
	if (!alloc->is_fresh)
		hp_alloc_change(&alloc->changes, step, difference);
}

static void spread_add(struct hp_alloc *alloc, uint32_t step, uint32_t place)
{
	alloc->spreads = hp_xgrow(alloc->spreads, alloc->spread_count, &alloc->spread_room,
				  sizeof(*alloc->spreads));
	alloc->spreads[alloc->spread_count++] =
		(struct hp_alloc_spread){ .step = step, .offset = (uint64_t)place * HP_LINE };
}

static void site_look(struct hp_alloc *alloc, struct hp_alloc_seen *seen,
		      struct hp_alloc_sum *before, const struct hp_site *site,
		      const struct hp_alloc_peak *peak)
{
	bool is_noted = !peak->is_now && site->epoch == peak->epoch;
	uint64_t stamp = stamp_of(site);
	struct hp_alloc_sum now, difference;

	if (stamp == seen->stamp && is_noted == seen->is_noted)
		return;
	seen->stamp = stamp;
	seen->is_noted = is_noted;
	now = hp_alloc_site_sum(site, peak);
	now.lost = site->lost;
	now.lost_bytes = site->lost_bytes;
	if (before) {
		difference = hp_alloc_difference(&now, before);
		*before = now;
	} else {
		difference = now;
	}
	hp_alloc_count(alloc, seen->step, &difference);
	if (site->spread && !seen->has_spread)
		spread_add(alloc, seen->step, site->spread);
	seen->has_spread = site->spread != 0;
}

static void site_new(struct hp_alloc_sites *sites, uint64_t offset, uint32_t step)
{
	sites->seen = hp_xgrow(sites->seen, sites->count, &sites->room, sizeof(*sites->seen));
	if (!sites->is_once) {
		sites->sums =
			hp_xgrow(sites->sums, sites->count, &sites->sum_room, sizeof(*sites->sums));
		sites->sums[sites->count] = (struct hp_alloc_sum){ .count = 0 };
	}
	sites->seen[sites->count++] = (struct hp_alloc_seen){ .offset = offset, .step = step };
}

/* The list leads from the newest to the oldest; in memory the oldest is first. */
static void turn(struct hp_alloc_sites *sites, size_t first)
{
	for (size_t i = first, j = sites->count; i + 1 < j; i++) {
		struct hp_alloc_seen seen = sites->seen[i];

		sites->seen[i] = sites->seen[--j];
		sites->seen[j] = seen;
	}
}

/* Of 10^6 sites, the pages of those behind would be as large as all that is made of them. */
static void pages_leave(const struct hp_alloc_sites *sites, const struct hp_reader *reader,
			size_t at)
{
	if (sites->is_once && at % LEAVE_SITES == LEAVE_SITES - 1)
		hp_reader_pages_leave(reader);
}

bool hp_alloc_sites_look(struct hp_alloc_sites *sites, struct hp_alloc *alloc,
			 struct hp_reader *reader, uint64_t head, const struct hp_alloc_peak *peak,
			 const struct hp_alloc_places *places)
{
	size_t known = sites->count;
	bool is_whole = true;
	uint64_t at = head;
	struct hp_site site;

	for (; at != sites->head && hp_reader_step(reader, at, &site, sizeof(site));
	     at = site.next) {
		site_new(sites, at, hp_alloc_place_of(places, site.step));
		is_whole &= !site.step || sites->seen[sites->count - 1].step;
		pages_leave(sites, reader, sites->count);
	}
	turn(sites, known);
	for (size_t i = 0; i < sites->count; i++) {
		if (hp_reader_copy(reader, sites->seen[i].offset, &site, sizeof(site)))
			site_look(alloc, &sites->seen[i], sites->is_once ? NULL : &sites->sums[i],
				  &site, peak);
		pages_leave(sites, reader, i);
	}
	is_whole &= at == sites->head;
	sites->head = head;
	return is_whole;
}

void hp_alloc_sites_release(struct hp_alloc_sites *sites)
{
	free(sites->seen);
	free(sites->sums);
}
