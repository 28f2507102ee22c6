/* SPDX-License-Identifier: MIT */
/*
 * sections.h - a report, and which of all sections it shows.
 */
#ifndef HP_REPORT_SECTION_SECTIONS_H
#define HP_REPORT_SECTION_SECTIONS_H

#include "report/section/core/section.h"

/* Takes over the segment.  Complaints about sections and focus go to `complain`. */
void hp_report_init(struct hp_report *report, struct hp_segment *segment,
		    const struct hp_settings *settings, hp_complain complain, void *context);

/* The same of a run that was kept, or is to be. */
void hp_report_init_record(struct hp_report *report, struct hp_segment *segment,
			   const struct hp_record *record, const struct hp_settings *settings,
			   hp_complain complain, void *context);

/* Settles which sections are shown, for whoever said `is_lazy`: that reads all of them. */
void hp_report_choose(struct hp_report *report);

#endif
