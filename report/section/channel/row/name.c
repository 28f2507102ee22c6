/* SPDX-License-Identifier: MIT */
/*
 * name.c - see name.h.
 */
#include "report/section/channel/row/name.h"

#include <stdio.h>
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "segment/layout/lock.h"

struct view {
	struct hp_channels channels;
	char **names;	/* parallel to channels.rows; NULL = not requested yet */
};

static void view_free(void *held)
{
	struct view *view = held;

	for (size_t i = 0; i < view->channels.count; i++)
		free(view->names[i]);
	free(view->names);
	hp_channels_release(&view->channels);
	free(view);
}

static struct view *view_of(const struct hp_report *asked)
{
	static const struct hp_view_kind kind = { .free = view_free };
	struct hp_report *report = (struct hp_report *)(uintptr_t)asked;
	struct view *view = hp_views_get(&report->views, &kind);

	if (view)
		return view;
	view = hp_views_add(&report->views, &kind, hp_xcalloc(1, sizeof(*view)));
	hp_channels_init(&view->channels, &report->model);
	view->names = hp_xcalloc(view->channels.count, sizeof(*view->names));
	return view;
}

const struct hp_channels *hp_channel_rows(const struct hp_report *report)
{
	return &view_of(report)->channels;
}

/* --- names --- */

const struct hp_symbol_spot *hp_channel_spot(struct hp_report *report,
					     const struct hp_channel_row *row)
{
	/* A return address is after the call: the byte before it belongs to the call's line. */
	return row->site.address ? hp_symbols_spot(report->symbols, row->site.object,
						   row->site.address - 1, false)
				 : NULL;
}

static char *found_text(const struct hp_channel_row *row)
{
	static const char *const names[] = { "stdin", "stdout", "stderr" };

	if (row->number < sizeof(names) / sizeof(names[0]))
		return hp_xstrdup(names[row->number]);
	return hp_xprintf("descriptor %u", row->number);
}

char *hp_channel_source_text(struct hp_report *report, const struct hp_channel_row *row)
{
	return row->origin == HP_CHANNEL_FOUND ? found_text(row)
					       : hp_spot_text(hp_channel_spot(report, row));
}

static bool is_pair(const struct hp_channel_row *row)
{
	return row->kind >= HP_CHANNEL_STREAM && row->kind <= HP_CHANNEL_DATAGRAM;
}

static char *name_of(struct hp_report *report, const struct hp_channel_row *row)
{
	char *base = row->label ? hp_text_clean(row->label) : hp_channel_source_text(report, row);
	char number[64] = "";
	struct hp_text_cell cell;
	char *name;

	if (row->number && row->origin != HP_CHANNEL_FOUND)
		snprintf(number, sizeof(number), "-%u", row->number + 1);
	else if (row->instances > 1)
		snprintf(number, sizeof(number), "\303\227%s",
			 hp_format_count(&cell, row->instances));
	name = hp_xprintf("%s%s%s", base, number,
			  !is_pair(row) || row->way > 1 ? ""
			  : row->way			? " \342\206\220"
							: " \342\206\222");
	free(base);
	return name;
}

const char *hp_channel_row_name(struct hp_report *report, size_t i)
{
	struct view *view = view_of(report);
	char **name = &view->names[i];

	if (!*name)
		*name = name_of(report, &view->channels.rows[i]);
	return *name;
}

const char *hp_channel_name_at(struct hp_report *report, uint64_t at)
{
	const struct hp_channels *channels = hp_channel_rows(report);
	const struct hp_channel_row *row = hp_channels_row_at(channels, at);

	return row ? hp_channel_row_name(report, (size_t)(row - channels->rows)) : "<other>";
}

struct kind {
	const char *text;
	const char *empty;
	const char *full;
};

#define KIND(text) \
	{ \
		text, text " empty", text " full" \
	}

static const struct kind kinds[HP_CHANNEL_ROW_KINDS] = {
	[HP_CHANNEL_PIPE] = KIND("pipe"),	  [HP_CHANNEL_FIFO] = KIND("fifo"),
	[HP_CHANNEL_STREAM] = KIND("stream"),	  [HP_CHANNEL_PACKET] = KIND("seqpacket"),
	[HP_CHANNEL_DATAGRAM] = KIND("datagram"), [HP_CHANNEL_EVENT] = KIND("eventfd"),
	[HP_CHANNEL_MQ] = KIND("mqueue"),	  [HP_CHANNEL_SYSV] = KIND("msgqueue"),
	[HP_CHANNEL_QUEUE] = KIND("GAsyncQueue"), [HP_CHANNEL_THREAD] = KIND("thread"),
	[HP_CHANNEL_CUSTOM] = KIND("channel"),	  [HP_CHANNEL_TOKENS] = KIND("semaphore"),
};

const char *hp_channel_kind_name(uint32_t kind)
{
	return kinds[kind].text;
}

const char *hp_channel_kind_text(uint32_t kind, uint32_t side)
{
	return side == HP_SIDE_READ ? kinds[kind].empty : kinds[kind].full;
}
