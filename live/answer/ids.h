/* SPDX-License-Identifier: MIT */
/*
 * ids.h - row ids for clients: they are stable across refreshes, while places
 * in the model are not.
 *
 * A sequence per section, from 1, in the order in which rows first appeared.
 */
#ifndef HP_LIVE_ANSWER_IDS_H
#define HP_LIVE_ANSWER_IDS_H

#include <stdint.h>

#include "report/base/map.h"
#include "report/section/core/report.h"

struct cJSON;
struct hp_section;

#define HP_IDS_SECTIONS HP_SECTIONS_MAX

struct hp_ids {
	struct hp_map maps[HP_IDS_SECTIONS];	/* of each section: key -> id */
};

void hp_ids_release(struct hp_ids *ids);

/* Fresh ids, parallel to the model's functions; the last one is for the whole program. */
uint32_t *hp_ids_of_functions(struct hp_ids *ids, const struct hp_model *model);

/*
 * Adds ids to the rows of another section's list, in both `data` and `raw`.
 * Rows are identified by name; rows of the same name by their order.
 */
void hp_ids_settle(struct hp_ids *ids, const struct hp_section *section, struct cJSON *list);

#endif
