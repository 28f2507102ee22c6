/* SPDX-License-Identifier: MIT */
/*
 * free.c - gauges that the program does not set: figures recorded anyway, as numbers that go up
 * and down.  Their presence depends on the recorded sections.
 */
#include <math.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/read/size.h"
#include "report/section/channel/row/name.h"
#include "report/section/channel/section.h"
#include "report/section/memory/section.h"
#include "report/section/thread/thread.h"
#include "report/section/value/value.h"

struct build {
	struct hp_values *values;
	size_t *room;
	uint32_t id;
};

static struct hp_value_row *gauge_add(struct build *b, char *name, double last, double most)
{
	struct hp_values *values = b->values;
	struct hp_value_row *row;

	values->rows = hp_xgrow(values->rows, values->count, b->room, sizeof(*values->rows));
	row = &values->rows[values->count++];
	*row = (struct hp_value_row){ .id = b->id++,
				      .kind = HP_VALUE_GAUGE,
				      .name = name,
				      .is_free = true,
				      .last = { .number = 1, .type = HP_VALUE_DOUBLE },
				      .least = HUGE_VAL,
				      .most = most };
	memcpy(&row->last.bits, &last, sizeof(last));
	return row;
}

static double alive(struct hp_report *report)
{
	const struct hp_threads *threads = hp_threads_of(report);
	double count = 0;

	for (size_t i = 0; i < threads->count; i++)
		count += threads->rows[i].thread->state != 'x' && threads->rows[i].is_seen;
	return count;
}

/* Ids follow the list of channels, so that they are stable. */
static void queues_add(struct hp_report *report, struct build *b, uint32_t first)
{
	const struct hp_channels *channels = hp_channel_view_channels(hp_channel_view(report));

	for (size_t i = 0; i < channels->count; i++) {
		const struct hp_channel_row *row = &channels->rows[i];

		if (row->lock || row->kind == HP_CHANNEL_THREAD || !row->sent_count ||
		    row->is_sender_partial || row->is_receiver_partial)
			continue;
		b->id = first + (uint32_t)i;
		gauge_add(b, hp_xprintf("queue: %s", hp_channel_row_name(report, i)),
			  (double)row->queue, (double)row->most);
	}
}

void hp_values_add_free(struct hp_report *report, struct hp_values *values, size_t *room)
{
	struct build b = { .values = values, .room = room, .id = HP_VALUE_FREE };
	const struct hp_model *model = &report->model;
	const struct hp_alloc *alloc = hp_alloc_of(report);
	struct hp_size_descriptors descriptors = hp_model_descriptors(model);

	if (model->rss_kb)
		gauge_add(&b, hp_xstrdup("resident bytes"), (double)model->rss_kb * 1024,
			  (double)model->peak_rss_kb * 1024);
	b.id = HP_VALUE_FREE + 1;
	if (alloc && alloc->is_recorded)
		gauge_add(&b, hp_xstrdup("live bytes"), (double)alloc->all.live_bytes,
			  (double)alloc->all.peak_bytes);
	b.id = HP_VALUE_FREE + 2;
	if (model->thread_count)
		gauge_add(&b, hp_xstrdup("live threads"), alive(report), -HUGE_VAL);
	b.id = HP_VALUE_FREE + 3;
	if (descriptors.last)
		gauge_add(&b, hp_xstrdup("open descriptors"), descriptors.last, descriptors.most);
	queues_add(report, &b, HP_VALUE_FREE + 10);
}
