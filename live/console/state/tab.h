/* SPDX-License-Identifier: MIT */
/*
 * tab.h - what the console shows, as data: tabs, their views, each with its
 * route and columns.  A new view is a line in tab.c; sections of our own server have
 * one by themselves (tab_section.c).
 *
 * Keys lead through nested objects by '/'.  A key that starts with '@' is of the
 * row in `raw`, plain numbers, which only our own server has.  In fields for
 * percentiles '%' stands for the number.  A column that no row has is not shown.
 */
#ifndef HP_LIVE_CONSOLE_STATE_TAB_H
#define HP_LIVE_CONSOLE_STATE_TAB_H

#include <stdbool.h>
#include <stddef.h>

enum hp_kind {
	HP_KIND_NAME,	/* the row's name: gets what room is left, and never goes */
	HP_KIND_TEXT,
	HP_KIND_COUNT,
	HP_KIND_ID,	/* a number without commas */
	HP_KIND_TIME,	/* ns, if it is a number */
	HP_KIND_BYTES,
	HP_KIND_SHARE,	/* percent of the whole: gives the row its colour */
	HP_KIND_LOAD,	/* percent of one core */
	HP_KIND_RATE,	/* a second */
};

struct hp_field {
	const char *title;
	const char *key;	/* in `data` */
	const char *raw;	/* in `raw`, what is sorted by; NULL = the text's own number */
	enum hp_kind kind;
	unsigned keep;	/* where room is scarce, the least goes first; 9 = never */
	bool is_percentiles;
};

enum hp_form {
	HP_FORM_LIST,
	HP_FORM_TREE,	/* rows name their parents */
	HP_FORM_FRAMES,	/* a row unfolds to its call path, `frames` in `raw` */
};

struct hp_note {
	const char *title;
	const char *key;
	enum hp_kind kind;
};

#define HP_VIEW_NOTES 6

struct hp_view {
	const char *name;
	const char *brief;	/* where room is scarce */
	const char *about;	/* instead of the description of a report; may be NULL */
	const char *route;	/* % = id of the function that was asked about */
	enum hp_form form;
	const char *rows[2];	/* arrays; of the second if the first is not there, or not wanted */
	const char *raw[2];
	const struct hp_field *fields;
	size_t field_count;
	struct hp_note notes[HP_VIEW_NOTES];	/* of the list as a whole */
	const char *logs;	/* path; % = id, @KEY/ = the row's KEY; NULL = none */
	const char *log_rows[2];	/* both are shown, one after the other */
	const struct hp_field *log_fields;
	size_t log_field_count;
	const char *empty;	/* if the list does not say itself why it has no row */
};

#define HP_TAB_VIEWS 12

struct hp_tab {
	const char *name;
	const char *brief;
	const struct hp_view *const *views;	/* up to NULL */
	unsigned subjects;	/* bits, enum hp_subject: of these it has views of sections, too */
};

#define HP_TAB_COUNT 8

/* Made once; they stay.  Sections that have no view here get one behind those that have. */
const struct hp_tab *hp_tabs(void);

#endif
