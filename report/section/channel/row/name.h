/* SPDX-License-Identifier: MIT */
/*
 * name.h - a report's channels, and their names.
 */
#ifndef HP_REPORT_SECTION_CHANNEL_ROW_NAME_H
#define HP_REPORT_SECTION_CHANNEL_ROW_NAME_H

#include "report/section/channel/row/channel.h"
#include "report/section/core/report.h"

/* They are read when they are first requested, and so are their names. */
const struct hp_channels *hp_channel_rows(const struct hp_report *report);

/* The name of rows[i]. */
const char *hp_channel_row_name(struct hp_report *report, size_t i);

/* The name of the hp_channel at an offset of the segment. */
const char *hp_channel_name_at(struct hp_report *report, uint64_t at);

/* Where it was created or first used; NULL = not known. */
const struct hp_symbol_spot *hp_channel_spot(struct hp_report *report,
					     const struct hp_channel_row *row);

/* The same as a fresh text; for an inherited one, its kind. */
char *hp_channel_source_text(struct hp_report *report, const struct hp_channel_row *row);

const char *hp_channel_kind_name(uint32_t kind);

/* The object of the wait: a channel of some kind that is empty (HP_SIDE_READ) or full. */
const char *hp_channel_kind_text(uint32_t kind, uint32_t side);

#endif
