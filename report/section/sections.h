/* SPDX-License-Identifier: MIT */
/*
 * sections.h - all sections, and a report that shows some of them.
 *
 * Folder: report/section - the table of all sections, and the report that
 *   shows some of them
 * May use: report/section/finding report/section/future report/section/loop report/section/stream report/section/mixed report/section/thread report/section/channel
 *   report/section/wait report/section/memory report/section/cpu
 *   report/section/value report/section/timing report/section/core report/base segment util
 */
#ifndef HP_REPORT_SECTION_SECTIONS_H
#define HP_REPORT_SECTION_SECTIONS_H

#include "report/section/core/section.h"

/* All of them, in the order of the report; its last one is NULL. */
extern const struct hp_section *const hp_sections[];
extern const size_t hp_section_count;

/* Its place there. */
size_t hp_section_place(const struct hp_section *section);

/* The one with that key in JSON; NULL = none. */
const struct hp_section *hp_section_of_json(const char *json);

/* All of them, those of `first` first; fresh. */
const struct hp_section **hp_sections_arrange(const struct hp_section *const *first, size_t count);

/* Takes over the segment.  Complaints about sections and focus go to `complain`. */
void hp_report_init(struct hp_report *report, struct hp_segment *segment,
		    const struct hp_settings *settings, hp_complain complain, void *context);

/* The same for a run that was kept or will be. */
void hp_report_init_record(struct hp_report *report, struct hp_segment *segment,
			   const struct hp_record *record, const struct hp_settings *settings,
			   hp_complain complain, void *context);

/* The same after hp_report_begin: chooses the shown rows, which reads much of it. */
void hp_report_init_rest(struct hp_report *report, hp_complain complain, void *context);

/* Determines the shown sections for a caller that set `is_lazy`: reads all of them. */
void hp_report_choose(struct hp_report *report);

#endif
