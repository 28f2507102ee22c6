/* SPDX-License-Identifier: MIT */
/*
 * section.h - the sections of channels: rows, names, columns.
 *
 * Folder: report/section/channel - the sections of channels, with the
 *   semaphores that pass tokens
 * May use: report/section/wait report/section/channel/row report/section/core
 *   report/read report/base segment/layout
 */
#ifndef HP_REPORT_SECTION_CHANNEL_SECTION_H
#define HP_REPORT_SECTION_CHANNEL_SECTION_H

#include "report/section/channel/row/channel.h"
#include "report/section/core/section.h"

struct hp_channel_view;
struct cJSON;

/* The report's channels, which are read on first request, and so are their names. */
struct hp_channel_view *hp_channel_view(const struct hp_report *report);

const struct hp_channels *hp_channel_view_channels(const struct hp_channel_view *view);

/* Requests all names: a kept run must contain them. */
void hp_channel_view_name_all(struct hp_report *report);

#endif
