/* SPDX-License-Identifier: MIT */
/*
 * table.c - a table in an area: chooses columns and widths, and draws the
 * visible rows.
 *
 * The name shrinks last and is never dropped. Columns are dropped in the order
 * of their `keep`, lowest first; texts are shortened before that. Remaining
 * space goes to bars beside the share.
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/console/draw/draw.h"
#include "live/console/state/cell.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/name/short.h"

#define WORD_WIDE 40 /* of HP_KIND_TEXT with enough room, */
#define WORD_NARROW 16 /* and without */
#define BAR_MIN 8
#define BAR_MAX 32
#define ROWS_MEASURED 2000

struct layout {
	int width[HP_COLUMNS_MAX]; /* 0 = not shown */
	int name; /* column; -1 = none */
	int bar;
	int gap;
};

enum hp_ink hp_ink_of_share(double share)
{
	if (share < 0)
		return HP_INK_PLAIN;
	return share >= 25    ? HP_INK_HOT
	       : share >= 5   ? HP_INK_WARM
	       : share >= 0.5 ? HP_INK_MILD
			      : HP_INK_COLD;
}

/* --- widths --- */

static int indent_of(const struct hp_table *table, const struct hp_table_row *row)
{
	return table->form == HP_FORM_LIST ? 0 : (int)row->depth * 2 + 2;
}

static int natural_width(const struct hp_table *table, size_t i)
{
	const struct hp_table_column *column = &table->columns[i];
	bool is_name = column->field->kind == HP_KIND_NAME;
	int most = hp_width(column->title) + (table->sort == (int)i ? 1 : 0);
	char room[HP_CELL_SIZE];

	for (size_t row = 0; row < table->count && row < ROWS_MEASURED; row++) {
		const struct hp_table_row *one = &table->rows[row];
		int width;

		if (one->frame && !is_name)
			continue;
		width = hp_width(hp_table_cell(table, one, column, room)) +
			(is_name ? indent_of(table, one) : 0);
		most = width > most ? width : most;
	}
	return most;
}

static int taken(const struct hp_table *table, const struct layout *layout)
{
	int sum = 0;

	for (size_t i = 0; i < table->column_count; i++)
		if (layout->width[i] && (int)i != layout->name)
			sum += layout->width[i] + layout->gap;
	return sum;
}

static bool words_shorten(const struct hp_table *table, struct layout *layout)
{
	bool has_any = false;

	for (size_t i = 0; i < table->column_count; i++)
		if (table->columns[i].field->kind == HP_KIND_TEXT &&
		    layout->width[i] > WORD_NARROW) {
			layout->width[i] = WORD_NARROW;
			has_any = true;
		}
	return has_any;
}

static bool goes_before(const struct hp_field *field, const struct hp_field *other)
{
	return field->keep < other->keep ||
	       (field->keep == other->keep && !(field == other && field->is_percentiles));
}

/* Among equals the rightmost is dropped first, among percentiles the lowest. */
static bool column_drop(const struct hp_table *table, struct layout *layout)
{
	int least = -1;

	for (size_t i = 0; i < table->column_count; i++)
		if (layout->width[i] && (int)i != layout->name &&
		    (least < 0 ||
		     goes_before(table->columns[i].field, table->columns[least].field)))
			least = (int)i;
	if (least < 0)
		return false;
	layout->width[least] = 0;
	return true;
}

/* The least width of the name before columns are dropped. */
static int name_wanted(const struct hp_table *table, int natural, int width)
{
	int least = table->form == HP_FORM_LIST ? width * 3 / 10 : width * 2 / 5;

	least = least > 16 ? least : 16;
	return natural < least ? natural : least;
}

static void layout_make(const struct hp_table *table, int width, struct layout *layout)
{
	int natural = 0, wanted, left;
	bool has_share = false;

	*layout = (struct layout){ .name = -1, .gap = width >= 100 ? 3 : 2 };
	for (size_t i = 0; i < table->column_count; i++) {
		enum hp_kind kind = table->columns[i].field->kind;

		if (!table->columns[i].is_there)
			continue;
		layout->width[i] = natural_width(table, i);
		if (kind == HP_KIND_TEXT && layout->width[i] > WORD_WIDE)
			layout->width[i] = WORD_WIDE;
		if (kind == HP_KIND_NAME && layout->name < 0) {
			layout->name = (int)i;
			natural = layout->width[i];
		}
		has_share = has_share || kind == HP_KIND_SHARE;
	}
	wanted = name_wanted(table, natural, width);
	if (taken(table, layout) + wanted > width)
		layout->gap = 2;
	if (taken(table, layout) + wanted > width)
		words_shorten(table, layout);
	while (taken(table, layout) + wanted > width && column_drop(table, layout))
		;
	left = width - taken(table, layout);
	if (layout->name >= 0)
		layout->width[layout->name] = natural < left ? natural : left > 1 ? left : 1;
	left -= natural + layout->gap;
	if (has_share && left >= BAR_MIN)
		layout->bar = left < BAR_MAX ? left : BAR_MAX;
}

/* --- head --- */

static void head_draw(const struct hp_table *table, const struct layout *layout,
		      struct hp_area area, struct hp_app *app)
{
	int x = area.x;

	hp_put(area.y, area.x, area.width, HP_INK_HEAD, HP_LEFT, HP_CUT_END, "");
	for (size_t i = 0; i < table->column_count; i++) {
		const struct hp_table_column *column = &table->columns[i];
		bool is_sorted = table->sort == (int)i;
		char title[40];

		if (!layout->width[i])
			continue;
		snprintf(title, sizeof(title), "%s%s", column->title,
			 !is_sorted	       ? ""
			 : table->is_ascending ? "▲"
					       : "▼");
		hp_put(area.y, x, layout->width[i], is_sorted ? HP_INK_HEAD_SORT : HP_INK_HEAD,
		       hp_kind_is_text(column->field->kind) ? HP_LEFT : HP_RIGHT, HP_CUT_END,
		       title);
		if (app)
			hp_spot_add(app, HP_SPOT_COLUMN, (int)i, area.y, x, layout->width[i]);
		x += layout->width[i] + layout->gap;
	}
}

/* --- rows --- */

static enum hp_ink ink_of_word(const char *word)
{
	static const struct {
		const char *word;
		enum hp_ink ink;
	} words[] = {
		{ "active", HP_INK_MILD },   { "Running", HP_INK_GOOD },
		{ "running", HP_INK_CPU },   { "ready", HP_INK_MILD },
		{ "closed", HP_INK_WARM },   { "full", HP_INK_HOT },
		{ "cancelled", HP_INK_HOT }, { "suspended", HP_INK_WARM },
		{ "pending", HP_INK_DIM },   { "Sleeping", HP_INK_DIM },
		{ "Exited", HP_INK_DIM },    { "Blocked", HP_INK_HOT },
		{ "Zombie", HP_INK_HOT },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(words[i].word, word) == 0)
			return words[i].ink;
	return HP_INK_PLAIN;
}

static const char *mark_of(const struct hp_table_row *row)
{
	return !row->has_children ? "  " : row->is_open ? "▾ " : "▸ ";
}

/* "main shop.c:99 (std::operator+)": what it calls, after its own name; parameters have no blank. */
static bool has_callee(const char *text)
{
	size_t at = strlen(text);
	int depth = 0;

	if (!at || text[at - 1] != ')')
		return false;
	while (at > 0) {
		at--;
		depth += (text[at] == ')') - (text[at] == '(');
		if (depth == 0)
			return at > 0 && text[at - 1] == ' ';
	}
	return false;
}

char *hp_draw_name(const char *text, int width)
{
	char *name, *fitted;
	const char *place = strstr(text, ") ("), *open = strchr(text, '(');
	bool has_parameters = open > text && open[-1] != ' ';

	if (strstr(text, " ← ") || (place ? hp_width(text) <= width : has_callee(text)) ||
	    (!has_parameters && !strstr(text, "::")))
		return NULL;
	name = hp_xstrdup(text);
	if (place)
		name[place + 1 - text] = 0;
	fitted = hp_name_display(name, 0, HP_NAME_SHORT);
	free(name);
	name = hp_name_fit(fitted, width > 1 ? (size_t)width : 1);
	free(fitted);
	return name;
}

static void cell_draw(const struct hp_table *table, const struct hp_table_row *row, size_t i,
		      struct hp_area at, enum hp_ink ink)
{
	const struct hp_table_column *column = &table->columns[i];
	enum hp_kind kind = column->field->kind;
	bool is_name = kind == HP_KIND_NAME;
	bool is_node = is_name && table->form != HP_FORM_LIST;
	char text[HP_CELL_SIZE], line[HP_CELL_SIZE + 512], *fitted = NULL;

	hp_table_cell(table, row, column, text);
	if (hp_kind_is_text(kind) && !row->frame)
		fitted = hp_draw_name(hp_table_name(row, column, text),
				      at.width - (is_node ? indent_of(table, row) : 0));
	if (ink == HP_INK_PLAIN && kind == HP_KIND_SHARE)
		ink = hp_ink_of_share(hp_table_share(table, row));
	else if (ink == HP_INK_PLAIN && kind == HP_KIND_TEXT)
		ink = ink_of_word(text);
	else if (ink == HP_INK_PLAIN && (row->frame || strcmp(text, "-") == 0))
		ink = HP_INK_DIM;
	if (is_node)
		snprintf(line, sizeof(line), "%*s%s%s", (int)row->depth * 2, "",
			 row->frame ? "  " : mark_of(row), fitted ? fitted : text);
	else
		snprintf(line, sizeof(line), "%s", fitted ? fitted : text);
	free(fitted);
	hp_put(at.y, at.x, at.width, ink, hp_kind_is_text(kind) ? HP_LEFT : HP_RIGHT,
	       is_name && table->form == HP_FORM_LIST ? HP_CUT_MIDDLE : HP_CUT_END, line);
}

/* 100 % is a whole bar, or the largest share if that is more: threads add up. */
static double most_share(const struct hp_table *table)
{
	double most = 100;

	for (size_t i = 0; i < table->count; i++) {
		double share = hp_table_share(table, &table->rows[i]);

		most = share > most ? share : most;
	}
	return most;
}

static void row_draw(const struct hp_table *table, size_t place, const struct layout *layout,
		     struct hp_area line, enum hp_ink ink, double most)
{
	const struct hp_table_row *row = &table->rows[place];
	double share = hp_table_share(table, row);
	int x = line.x;

	if (ink != HP_INK_PLAIN)
		hp_put(line.y, line.x, line.width, ink, HP_LEFT, HP_CUT_END, "");
	for (size_t i = 0; i < table->column_count; i++) {
		if (!layout->width[i])
			continue;
		/* A frame has only a name, which may use the whole line. */
		if (!row->frame)
			cell_draw(table, row, i, (struct hp_area){ line.y, x, 1, layout->width[i] },
				  ink);
		else if ((int)i == layout->name)
			cell_draw(table, row, i,
				  (struct hp_area){ line.y, x, 1, line.x + line.width - x }, ink);
		x += layout->width[i] + layout->gap;
	}
	if (layout->bar && share > 0 && row->data)
		hp_bar(line.y, x, layout->bar, ink == HP_INK_PLAIN ? hp_ink_of_share(share) : ink,
		       share / most);
}

/* Headings begin at the left. */
static void text_draw(struct hp_table *table, struct hp_area area)
{
	size_t height = (size_t)area.height;

	table->top = table->chosen + height <= table->count ? table->chosen
		     : table->count > height		    ? table->count - height
							    : 0;
	for (size_t i = 0; i < height && table->top + i < table->count; i++) {
		const struct hp_table_row *row = &table->rows[table->top + i];
		const cJSON *line = hp_json_at(row->data, table->fields->key);
		const char *text = cJSON_IsString(line) ? line->valuestring : "";

		hp_put(area.y + (int)i, area.x, area.width,
		       *text == ' ' ? HP_INK_PLAIN : HP_INK_STRONG, HP_LEFT, HP_CUT_END, text);
	}
}

void hp_draw_table(struct hp_table *table, struct hp_area area, bool has_focus, struct hp_app *app,
		   struct hp_area *rows)
{
	struct layout layout;
	double most = most_share(table);
	size_t height;

	*rows = (struct hp_area){ area.y + 1, area.x, area.height - 1, area.width };
	if (area.height < 1 || area.width < 4)
		return;
	if (table->form == HP_FORM_TEXT) {
		*rows = area;
		text_draw(table, area);
		return;
	}
	layout_make(table, area.width, &layout);
	head_draw(table, &layout, area, app);
	height = rows->height > 0 ? (size_t)rows->height : 0;
	if (table->chosen < table->top)
		table->top = table->chosen;
	if (height && table->chosen >= table->top + height)
		table->top = table->chosen - height + 1;
	if (table->top + height > table->count)
		table->top = table->count > height ? table->count - height : 0;
	for (size_t i = 0; i < height && table->top + i < table->count; i++) {
		bool is_chosen = table->top + i == table->chosen;
		struct hp_area line = { rows->y + (int)i, area.x, 1, area.width };

		row_draw(table, table->top + i, &layout, line,
			 !is_chosen  ? HP_INK_PLAIN
			 : has_focus ? HP_INK_CHOSEN
				     : HP_INK_CHOSEN_AWAY,
			 most);
	}
}
