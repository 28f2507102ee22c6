/* SPDX-License-Identifier: MIT */
/*
 * crate.c - see crate.h.
 */
#include "live/export/crate.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "live/answer/lists.h"
#include "live/export/number.h"
#include "report/section/core/list.h"
#include "report/section/sections.h"

/* Of a row or of the whole list. */
struct family {
	const char *key;
	enum hp_family_kind kind;
	const char *name;
	const char *help;
	double scale;	/* 0 = 1 */
};

static const struct family gauges[] = {
	{ "last", HP_FAMILY_GAUGE, "hotpath_gauge", "Current value of each gauge.", 0 },
	{ "min", HP_FAMILY_GAUGE, "hotpath_gauge_min", "Least value of each gauge since the start.",
	  0 },
	{ "max", HP_FAMILY_GAUGE, "hotpath_gauge_max",
	  "Largest value of each gauge since the start.", 0 },
	{ "count", HP_FAMILY_COUNTER, "hotpath_gauge_updates", "How often each gauge was set.", 0 },
	{ 0 },
};

static const struct family runtime[] = {
	{ "num_workers", HP_FAMILY_GAUGE, "hotpath_tokio_workers", "Event loops.", 0 },
	{ "num_alive_tasks", HP_FAMILY_GAUGE, "hotpath_tokio_alive_tasks",
	  "Descriptors that event loops watch.", 0 },
	{ "global_queue_depth", HP_FAMILY_GAUGE, "hotpath_tokio_global_queue_depth",
	  "Jobs of no loop yet; always 0.", 0 },
	{ "remote_schedule_count", HP_FAMILY_COUNTER, "hotpath_tokio_remote_schedules",
	  "Waits that another thread ended.", 0 },
	{ "io_driver_fd_registered_count", HP_FAMILY_COUNTER, "hotpath_tokio_io_fd_registered",
	  "Descriptors added to epoll instances.", 0 },
	{ "io_driver_fd_deregistered_count", HP_FAMILY_COUNTER, "hotpath_tokio_io_fd_deregistered",
	  "Descriptors removed from them, or closed.", 0 },
	{ "io_driver_ready_count", HP_FAMILY_COUNTER, "hotpath_tokio_io_ready_events",
	  "Events that waits returned.", 0 },
	{ 0 },
};

static const struct family workers[] = {
	{ "park_count", HP_FAMILY_COUNTER, "hotpath_tokio_worker_parks",
	  "Waits of each loop that were allowed to sleep.", 0 },
	{ "busy_duration_ms", HP_FAMILY_COUNTER, "hotpath_tokio_worker_busy_seconds",
	  "Time between waits of each loop.", 1e-3 },
	{ "poll_count", HP_FAMILY_COUNTER, "hotpath_tokio_worker_polls", "Events of each loop.",
	  0 },
	{ "local_queue_depth", HP_FAMILY_GAUGE, "hotpath_tokio_worker_local_queue_depth",
	  "Events that the last wait of each loop returned.", 0 },
	{ 0 },
};

static void sample(struct hp_exposition *to, const struct family *family, const cJSON *row,
		   const struct hp_label_pair *labels)
{
	double number;

	if (hp_number_of(row, family->key, &number))
		hp_sample(to, labels, family->scale > 0 ? number * family->scale : number);
}

static void begin(struct hp_exposition *to, const struct family *family)
{
	hp_family_begin(to, family->kind, family->name, family->help);
}

/* `raw` has the numbers of the rows of `entries`, in the same order. */
static void gauges_write(struct hp_exposition *to, const cJSON *list)
{
	const cJSON *entries = cJSON_GetObjectItemCaseSensitive(list, "entries");
	const cJSON *raws = cJSON_GetObjectItemCaseSensitive(list, "raw");
	struct hp_label_pair labels[] = { { "key", NULL }, { NULL, NULL } };

	for (const struct family *family = gauges; family->key; family++) {
		const cJSON *raw = raws ? raws->child : NULL;

		begin(to, family);
		for (const cJSON *row = entries ? entries->child : NULL; row && raw;
		     row = row->next, raw = raw->next) {
			const char *type = cJSON_GetStringValue(
				cJSON_GetObjectItemCaseSensitive(row, "entry_type"));

			labels[0].value = cJSON_GetStringValue(
				cJSON_GetObjectItemCaseSensitive(row, "expression"));
			if (type && labels[0].value && strcmp(type, "gauge") == 0)
				sample(to, family, raw, labels);
		}
	}
}

static void loops_write(struct hp_exposition *to, const cJSON *list)
{
	const cJSON *rows = cJSON_GetObjectItemCaseSensitive(list, "workers");
	struct hp_label_pair labels[] = { { "worker", NULL }, { NULL, NULL } };
	char index[24];

	if (!rows || !rows->child)
		return;
	for (const struct family *family = runtime; family->key; family++) {
		begin(to, family);
		sample(to, family, list, NULL);
	}
	for (const struct family *family = workers; family->key; family++) {
		int at = 0;

		begin(to, family);
		for (const cJSON *row = rows->child; row; row = row->next) {
			snprintf(index, sizeof(index), "%d", at++);
			labels[0].value = index;
			sample(to, family, row, labels);
		}
	}
}

void hp_crate_metrics_write(struct hp_exposition *to, struct hp_snapshot *snapshot)
{
	cJSON *list = hp_list_json(snapshot, &hp_debug_section);

	gauges_write(to, list);
	cJSON_Delete(list);
	list = hp_list_json(snapshot, &hp_loops_section);
	loops_write(to, list);
	cJSON_Delete(list);
}
