/* SPDX-License-Identifier: MIT */
/*
 * tab_section.c - views of sections without one in tab.c: built from their
 * definitions, in the tab of their subject.
 */
#include <ctype.h>
#include <pthread.h>
#include <string.h>

#include "live/console/state/tab_part.h"
#include "report/base/memory.h"
#include "report/section/sections.h"

/* --- columns --- */

static enum hp_kind kind_of(const struct hp_column *column, bool is_first)
{
	static const enum hp_kind kinds[] = {
		[HP_UNIT_NAME] = HP_KIND_NAME,	  [HP_UNIT_CHAIN] = HP_KIND_TEXT,
		[HP_UNIT_TEXT] = HP_KIND_TEXT,	  [HP_UNIT_COUNT] = HP_KIND_COUNT,
		[HP_UNIT_TIME] = HP_KIND_TIME,	  [HP_UNIT_SHARE] = HP_KIND_SHARE,
		[HP_UNIT_LOAD] = HP_KIND_LOAD,	  [HP_UNIT_ERROR] = HP_KIND_LOAD,
		[HP_UNIT_BYTES] = HP_KIND_BYTES,  [HP_UNIT_DIFFERENCE] = HP_KIND_BYTES,
		[HP_UNIT_NUMBER] = HP_KIND_COUNT, [HP_UNIT_RATE] = HP_KIND_RATE,
	};

	return is_first ? HP_KIND_NAME : kinds[column->unit];
}

/* A key of `raw`; for percentiles one per number. */
static char *raw_key(const struct hp_column *column, const char *before)
{
	const char *percent = column->is_percentiles ? "%" : "";
	const char *unit = column->is_percentiles && column->unit == HP_UNIT_TIME ? "_ns" : "";

	return hp_xprintf("%s%s%s%s", before, column->raw, percent, unit);
}

/* The first columns are kept longest. */
static unsigned keep_of(enum hp_kind kind, size_t place)
{
	if (kind == HP_KIND_NAME)
		return 9;
	if (kind == HP_KIND_SHARE)
		return 8;
	return place < 7 ? 8 - (unsigned)place : 1;
}

static struct hp_field field_of(const struct hp_column *column, size_t place)
{
	const char *percent = column->is_percentiles ? "%" : "";
	struct hp_field field = { .kind = kind_of(column, place == 0),
				  .is_percentiles = column->is_percentiles };

	field.title = hp_xprintf("%s%s", column->title, percent);
	field.key = column->key ? hp_xprintf("%s%s", column->key, percent) : raw_key(column, "@");
	if (column->raw && field.kind != HP_KIND_NAME && field.kind != HP_KIND_TEXT)
		field.raw = raw_key(column, "");
	field.keep = keep_of(field.kind, place);
	return field;
}

static void fields_make(struct hp_view *view, const struct hp_section *section)
{
	struct hp_field *fields = NULL;
	size_t room = 0;

	for (const struct hp_column *column = section->columns; hp_column_is(column); column++) {
		if (!column->title || (!column->key && !column->raw))
			continue;
		fields = hp_xgrow(fields, view->field_count, &room, sizeof(*fields));
		fields[view->field_count] = field_of(column, view->field_count);
		view->field_count++;
	}
	view->fields = fields;
}

/* --- views --- */

/* "file_locks": "File locks". */
static char *title_of(const char *name)
{
	char *title = hp_xstrdup(name);

	for (char *c = title; *c; c++)
		if (*c == '-' || *c == '_')
			*c = ' ';
	title[0] = (char)toupper((unsigned char)title[0]);
	return title;
}

static struct hp_view *view_new(const struct hp_section *section)
{
	const char *raw_keys = section->extra.raw_keys;
	struct hp_view *view = hp_xcalloc(1, sizeof(*view));

	*view = (struct hp_view){ DATA };
	view->name = title_of(section->name);
	view->route = hp_xprintf("/%s", section->json);
	if (raw_keys && strstr(raw_keys, "frames:"))
		view->form = HP_FORM_FRAMES;
	view->empty = section->none ? section->none : "there are none";
	fields_make(view, section);
	return view;
}

static bool has_view(const struct hp_section *section)
{
	for (size_t tab = 0; tab < HP_TAB_COUNT; tab++)
		for (size_t i = 0; hp_tab_table[tab].views[i]; i++)
			if (strcmp(hp_tab_table[tab].views[i]->route + 1, section->json) == 0)
				return true;
	return false;
}

/* --- the tabs --- */

static const struct hp_view *views[HP_TAB_COUNT][HP_TAB_VIEWS + 1];
static struct hp_tab tabs[HP_TAB_COUNT];

static void section_add(const struct hp_section *section)
{
	for (size_t tab = 0; tab < HP_TAB_COUNT; tab++) {
		size_t count = 0;

		if (!(tabs[tab].subjects & 1U << section->subject))
			continue;
		while (views[tab][count])
			count++;
		if (count < HP_TAB_VIEWS)
			views[tab][count] = view_new(section);
		return;
	}
}

static void tabs_make(void)
{
	for (size_t tab = 0; tab < HP_TAB_COUNT; tab++) {
		tabs[tab] = hp_tab_table[tab];
		tabs[tab].views = views[tab];
		for (size_t i = 0; hp_tab_table[tab].views[i]; i++)
			views[tab][i] = hp_tab_table[tab].views[i];
	}
	for (size_t i = 0; i < hp_section_count; i++)
		if (hp_section_is_listed(hp_sections[i]) && !hp_sections[i]->has_no_tab &&
		    !has_view(hp_sections[i]))
			section_add(hp_sections[i]);
}

const struct hp_tab *hp_tabs(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, tabs_make);
	return tabs;
}
