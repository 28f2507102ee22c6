/* SPDX-License-Identifier: MIT */
/*
 * name.h - a report's channels, and what they are called.
 */
#ifndef HP_REPORT_SECTION_CHANNEL_ROW_NAME_H
#define HP_REPORT_SECTION_CHANNEL_ROW_NAME_H

#include "report/section/channel/row/channel.h"
#include "report/section/core/report.h"

/* They are read when they are first requested, and so are their names. */
const struct hp_channels *hp_channel_rows(const struct hp_report *report);

/* The name of rows[i]. */
const char *hp_channel_row_name(struct hp_report *report, size_t i);

/* What the hp_channel at an offset of the segment is called. */
const char *hp_channel_name_at(struct hp_report *report, uint64_t at);

/* Where it was made or used first; NULL = not known. */
const struct hp_symbol_spot *hp_channel_spot(struct hp_report *report,
					     const struct hp_channel_row *row);

/* The same as a fresh text; of one that was there before the program, what it is. */
char *hp_channel_source_text(struct hp_report *report, const struct hp_channel_row *row);

const char *hp_channel_kind_name(uint32_t kind);

/* What is waited for: a kind of channel that is empty (HP_SIDE_READ) or full. */
const char *hp_channel_kind_text(uint32_t kind, uint32_t side);

#endif
