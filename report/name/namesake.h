/* SPDX-License-Identifier: MIT */
/*
 * namesake.h - rows of a table that would look the same.
 */
#ifndef HP_REPORT_NAME_NAMESAKE_H
#define HP_REPORT_NAME_NAMESAKE_H

#include <stddef.h>
#include <stdint.h>

#define HP_NAME_DETAILS 4	/* the last one differs in all rows */

/* Detail 0, 1, ... of a row, such as its line or address: a fresh text, or NULL. */
typedef char *hp_name_detail_of(void *context, size_t row, unsigned detail);

/*
 * Appends details to names that several rows of one kind have, the next one only
 * while they are still the same: "worker (tid 12)". Names are fresh texts and
 * replaced in place; NULL names and details that do not help are skipped.
 * `kinds` NULL: all rows are of one kind.
 */
void hp_names_part(char **names, const uint32_t *kinds, size_t count, hp_name_detail_of *detail_of,
		   void *context);

#endif
