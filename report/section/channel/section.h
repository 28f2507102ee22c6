/* SPDX-License-Identifier: MIT */
/*
 * section.h - the sections of channels: rows, names, columns.
 */
#ifndef HP_REPORT_SECTION_CHANNEL_SECTION_H
#define HP_REPORT_SECTION_CHANNEL_SECTION_H

#include "report/section/channel/row/channel.h"
#include "report/section/core/section.h"

struct hp_channel_view;
struct cJSON;

/* The report's channels: they are read when they are first asked for, and so are their names. */
struct hp_channel_view *hp_channel_view(const struct hp_report *report);

const struct hp_channels *hp_channel_view_channels(const struct hp_channel_view *view);

/* Asks for all names: a kept run has to carry them. */
void hp_channel_view_name_all(struct hp_report *report);

extern const struct hp_column hp_channel_columns[];
extern const struct hp_column hp_latency_columns[];

const char *hp_channels_describe(const struct hp_report *report);
const char *hp_channels_note(struct hp_report *report);
void hp_channels_fill(struct hp_report *report, struct hp_list *list);
bool hp_channels_has_data(const struct hp_report *report);
const char *hp_channels_empty(struct hp_report *report);

const char *hp_latency_describe(const struct hp_report *report);
void hp_latency_fill(struct hp_report *report, struct hp_list *list);
bool hp_latency_has_data(const struct hp_report *report);

/* What entries have in JSON beside their columns; with their messages in `raw`. */
void hp_channel_entry_add(struct hp_report *report, const void *row, struct cJSON *entry);
void hp_channel_messages_add(struct hp_report *report, const void *row, struct cJSON *entry);

#endif
