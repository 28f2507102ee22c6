/* SPDX-License-Identifier: MIT */
/*
 * order.h - the rows of a section in the order that HOTPATH_SORT requests.
 *
 * Any column of a table can be sorted by.  Its word is its title in lower case, with - for
 * anything but letters and digits ("Wait avg" is wait-avg); its keys in JSON are accepted, too.
 */
#ifndef HP_REPORT_SECTION_ORDER_H
#define HP_REPORT_SECTION_ORDER_H

#include "report/section/core/section.h"

/*
 * Fills the list like section->fill, sorted by the requested column if the section has it: numbers
 * from the largest down, texts from A to Z, unknown values last.  Trees keep their order.
 */
void hp_section_fill(struct hp_report *report, const struct hp_section *section,
		     struct hp_list *list);

/*
 * NULL if a requested section has the column that HOTPATH_SORT names; else a fresh text with the
 * reason, the nearest word and all words.
 */
char *hp_sort_fault(const struct hp_settings *settings);

#endif
