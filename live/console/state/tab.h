/* SPDX-License-Identifier: MIT */
/*
 * tab.h - the console's content as data: tabs and views, each with its route
 * and columns. A new view is a line in tab.c; sections of our own server get
 * one automatically (tab_section.c).
 *
 * '/' in a key descends into nested objects. A key that starts with '@' is in
 * the row of `raw`, plain numbers that only our own server sends. In percentile
 * fields '%' stands for the number. Columns without data are not shown.
 */
#ifndef HP_LIVE_CONSOLE_STATE_TAB_H
#define HP_LIVE_CONSOLE_STATE_TAB_H

#include <stdbool.h>
#include <stddef.h>

enum hp_kind {
	HP_KIND_NAME,	/* the row's name: gets the remaining width and is never dropped */
	HP_KIND_TEXT,
	HP_KIND_COUNT,
	HP_KIND_ID,	/* a number without commas */
	HP_KIND_TIME,	/* ns, if it is a number */
	HP_KIND_BYTES,
	HP_KIND_SHARE,	/* percent of the total: determines the row's colour */
	HP_KIND_LOAD,	/* percent of one core */
	HP_KIND_RATE,	/* a second */
};

struct hp_field {
	const char *title;
	const char *key;	/* in `data` */
	const char *raw;	/* sort value in `raw`; NULL = the text's own number */
	enum hp_kind kind;
	unsigned keep;	/* if space is short, the lowest is dropped first; 9 = never */
	bool is_percentiles;
};

enum hp_form {
	HP_FORM_LIST,
	HP_FORM_TREE,	/* rows name their parents */
	HP_FORM_FRAMES,	/* a row unfolds to its call path, `frames` in `raw` */
	HP_FORM_TEXT,	/* lines of text in its only column, without a heading */
};

struct hp_note {
	const char *title;
	const char *key;
	enum hp_kind kind;
};

#define HP_VIEW_NOTES 6

struct hp_view {
	const char *name;
	const char *brief;	/* if space is short */
	const char *about;	/* replaces the description of a report; may be NULL */
	const char *route;	/* % = id of the selected function, $ at its end = the screen's width */
	enum hp_form form;
	const char *rows[2];	/* arrays; the second if the first is absent or not wanted */
	const char *raw[2];
	const struct hp_field *fields;
	size_t field_count;
	struct hp_note notes[HP_VIEW_NOTES];	/* totals of the list */
	const char *logs;	/* path; % = id, @KEY/ = the row's KEY; NULL = none */
	const char *log_rows[2];	/* both are shown in turn */
	const struct hp_field *log_fields;
	size_t log_field_count;
	const char *empty;	/* default reason for an empty list */
};

#define HP_TAB_VIEWS 12

struct hp_tab {
	const char *name;
	const char *brief;
	const struct hp_view *const *views;	/* up to NULL */
	unsigned subjects;	/* bits, enum hp_subject: also has views of these sections */
};

#define HP_TAB_COUNT 9
#define HP_TAB_ANSWERS 8	/* shown first, with the digit 0: the others keep the crate's digits */
#define HP_TAB_OF(digit) ((unsigned)((digit) + HP_TAB_ANSWERS) % HP_TAB_COUNT)

#define HP_ANSWERS_ROUTE "/answers?columns="

/* Created once, never freed. Sections without a view here get one after the others. */
const struct hp_tab *hp_tabs(void);

#endif
