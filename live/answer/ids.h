/* SPDX-License-Identifier: MIT */
/*
 * ids.h - numbers by which clients ask for one row again: they stay the same
 * from look to look, while places in the model do not.
 *
 * A sequence for each section, from 1, in the order in which rows were met.
 */
#ifndef HP_LIVE_ANSWER_IDS_H
#define HP_LIVE_ANSWER_IDS_H

#include <stdint.h>

#include "report/base/map.h"
#include "report/section/core/report.h"

struct cJSON;
struct hp_section;

#define HP_IDS_SECTIONS HP_SECTIONS_MOST

struct hp_ids {
	struct hp_map maps[HP_IDS_SECTIONS];	/* of each section: key -> id */
};

void hp_ids_release(struct hp_ids *ids);

/* Fresh ids of the model's functions, beside them; the last one is of the program's life. */
uint32_t *hp_ids_of_functions(struct hp_ids *ids, const struct hp_model *model);

/*
 * Puts ids into the rows of a list of another section, `data` and `raw` alike.
 * Rows are told by their names; of several with one name, by their order.
 */
void hp_ids_settle(struct hp_ids *ids, const struct hp_section *section, struct cJSON *list);

#endif
