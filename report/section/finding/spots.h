/* SPDX-License-Identifier: MIT */
/*
 * spots.h - the hottest addresses of a run, for rules about its machine code.
 */
#ifndef HP_REPORT_SECTION_FINDING_SPOTS_H
#define HP_REPORT_SECTION_FINDING_SPOTS_H

#include "report/elf/code.h"
#include "report/section/finding/rule.h"

/* An address with samples. */
struct hp_spot {
	uint32_t object;
	uint32_t function;	/* the owner */
	uint64_t address;
	uint64_t ns;
	uint64_t samples;
};

struct hp_spots {
	struct hp_spot *list;	/* most first */
	size_t count;
	size_t room;
};

/* The list is the caller's to free. */
struct hp_spots hp_spots_make(const struct hp_survey *survey);

/* All samples of one owner between two addresses. */
struct hp_spot hp_spots_sum(const struct hp_spots *spots, const struct hp_spot *of, uint64_t begin,
			    uint64_t end);

/*
 * True if the code around the loop has hardly any samples.  A condition that usually holds at once
 * is part of a larger loop, which has samples, too.
 */
bool hp_spots_are_alone(const struct hp_spots *spots, const struct hp_spot *sum,
			const struct hp_code_loop *loop);

#endif
