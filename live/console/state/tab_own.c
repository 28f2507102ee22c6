/* SPDX-License-Identifier: MIT */
/*
 * tab_own.c - see tab.h: tabs for our own server, which the Rust crate's
 * console lacks.
 */
#include "live/console/state/tab_part.h"

/* --- 7 Memory --- */

static const struct hp_field site_fields[] = {
	{ "Call path", "name", NULL, HP_KIND_NAME, 9, false },
	{ "Count", "count", "count", HP_KIND_COUNT, 6, false },
	{ "Avg", "avg", "avg_bytes", HP_KIND_BYTES, 4, false },
	{ "Temp%", "percent_temporary", NULL, HP_KIND_LOAD, 3, false },
	{ "Peak", "peak", "peak_bytes", HP_KIND_BYTES, 6, false },
	{ "Left", "live", "live_bytes", HP_KIND_BYTES, 7, false },
	{ "Total", "total", "total_bytes", HP_KIND_BYTES, 8, false },
	{ "% Total", "percent_total", "percent_total", HP_KIND_SHARE, 8, false },
};

#define MEMORY_NOTES \
	{ \
		{ "allocated", "total_allocated", HP_KIND_BYTES }, \
			{ "live", "live_bytes", HP_KIND_BYTES }, \
			{ "in blocks", "live_count", HP_KIND_COUNT }, \
		{ \
			"peak", "peak_bytes", HP_KIND_BYTES \
		} \
	}

static const struct hp_view sites = {
	.name = "Sites",
	.route = "/alloc_sites",
	.form = HP_FORM_FRAMES,
	DATA,
	FIELDS(site_fields),
	.notes = MEMORY_NOTES,
	.empty = "nothing was allocated yet",
};

static const struct hp_field leak_fields[] = {
	{ "Call path", "name", NULL, HP_KIND_NAME, 9, false },
	{ "Blocks", "count", "live_count", HP_KIND_COUNT, 7, false },
	{ "Held", "live", "live_bytes", HP_KIND_BYTES, 8, false },
	{ "% Held", "percent_live", "percent_live", HP_KIND_SHARE, 8, false },
};

static const struct hp_view leaks = {
	.name = "Held now",
	.brief = "Held",
	.about = "Call paths of memory held now.",
	.route = "/leaks",
	.form = HP_FORM_FRAMES,
	DATA,
	FIELDS(leak_fields),
	.notes = MEMORY_NOTES,
	.empty = "nothing is held",
};

/* --- 8 Waits --- */

static const struct hp_field wait_fields[] = {
	{ "Object", "object", NULL, HP_KIND_NAME, 9, false },
	{ "Kind", "kind", NULL, HP_KIND_TEXT, 4, false },
	{ "Waits at", "at", NULL, HP_KIND_TEXT, 8, false },
	{ "Held by", "holder", NULL, HP_KIND_TEXT, 6, false },
	{ "Waits", "count", "count", HP_KIND_COUNT, 7, false },
	{ "Total", "total", "total_ns", HP_KIND_TIME, 7, false },
	{ "Longest", "longest", "longest_ns", HP_KIND_TIME, 5, false },
	{ "% Waits", "percent_total", "percent_total", HP_KIND_SHARE, 8, false },
};

static const struct hp_view waits = {
	.name = "Waits",
	.route = "/waits",
	.form = HP_FORM_FRAMES,
	DATA,
	FIELDS(wait_fields),
	.empty = "no thread waited for a lock",
};

static const struct hp_field waiting_fields[] = {
	{ "Thread", "thread", NULL, HP_KIND_NAME, 9, false },
	{ "Waits for", "object", NULL, HP_KIND_TEXT, 8, false },
	{ "Kind", "kind", NULL, HP_KIND_TEXT, 4, false },
	{ "At", "at", NULL, HP_KIND_TEXT, 7, false },
	{ "Since", "since", "since_ns", HP_KIND_TIME, 8, false },
	{ "Held by", "holder", NULL, HP_KIND_TEXT, 7, false },
};

static const struct hp_view waiting = {
	.name = "Waiting now",
	.brief = "Now",
	.about = "Threads that wait now, and for whom.",
	.route = "/waiting",
	.form = HP_FORM_FRAMES,
	DATA,
	FIELDS(waiting_fields),
	.empty = "no thread waits for a lock now",
};

static const struct hp_field order_fields[] = {
	{ "Lock", "first", NULL, HP_KIND_NAME, 9, false },
	{ "And", "second", NULL, HP_KIND_TEXT, 9, false },
	{ "In this order", "at", NULL, HP_KIND_TEXT, 7, false },
	{ "And the other way round", "contrary_at", NULL, HP_KIND_TEXT, 7, false },
};

static const struct hp_view order = {
	.name = "Order",
	.brief = "Ord",
	.route = "/lock_order",
	DATA,
	FIELDS(order_fields),
	.empty = "no locks were taken in both orders",
};

#define ONE_WAIT(counts, ...) \
	{ "Label", "label", NULL, HP_KIND_NAME, 9, false }, \
		{ counts, "count", "count", HP_KIND_COUNT, 8, false }, __VA_ARGS__, \
		{ "Wait", "wait_avg", "wait_avg_ns", HP_KIND_TIME, 7, false }, \
		{ "P%", "wait_percentiles/p%", "wait_p%_ns", HP_KIND_TIME, 3, true }, \
		{ "Longest", "wait_max", "wait_max_ns", HP_KIND_TIME, 5, false }, \
	{ \
		"Waited", "@wait_total_ns", "wait_total_ns", HP_KIND_TIME, 6, false \
	}

static const struct hp_field cond_fields[] = {
	ONE_WAIT("Waits", { "Signals", "signals", "signals", HP_KIND_COUNT, 6, false },
		 { "Timeouts", "timeouts", "timeouts", HP_KIND_COUNT, 4, false }),
	{ "Wake P%", "@wake_p%_ns", "wake_p%_ns", HP_KIND_TIME, 2, true },
};

static const struct hp_view conds = {
	.name = "Conds",
	.brief = "Cnd",
	.route = "/conds",
	DATA,
	FIELDS(cond_fields),
	.empty = "the program uses none",
};

static const struct hp_field sem_fields[] = {
	ONE_WAIT("Taken", { "Posts", "posts", "posts", HP_KIND_COUNT, 6, false },
		 { "Waits", "@contended", "contended", HP_KIND_COUNT, 5, false }),
};

static const struct hp_view sems = {
	.name = "Semaphores",
	.brief = "Sem",
	.route = "/sems",
	DATA,
	FIELDS(sem_fields),
	.empty = "the program uses none",
};

static const struct hp_field barrier_fields[] = {
	ONE_WAIT("Arrivals", { "Latest", "latest", NULL, HP_KIND_TEXT, 5, false },
		 { "Imbalance", "imbalance", "imbalance_ns", HP_KIND_TIME, 5, false }),
};

static const struct hp_view barriers = {
	.name = "Barriers",
	.brief = "Bar",
	.route = "/barriers",
	DATA,
	FIELDS(barrier_fields),
	.empty = "the program uses none",
};

/* --- the tabs --- */

const struct hp_view *const hp_memory_views[] = { &sites, &leaks, NULL };
const struct hp_view *const hp_wait_views[] = { &waits, &waiting,  &order, &conds,
						&sems,	&barriers, NULL };

/* --- 0 Answers --- */

static const struct hp_field line_fields[] = {
	{ "Line", "line", NULL, HP_KIND_NAME, 9, false },
};

static const struct hp_view answers = {
	.name = "Report",
	.about = "What the report would say now.",
	.route = HP_ANSWERS_ROUTE "$",
	.form = HP_FORM_TEXT,
	.rows = { "data" },
	FIELDS(line_fields),
	.empty = "there is no report yet",
};

const struct hp_view *const hp_answer_views[] = { &answers, NULL };
