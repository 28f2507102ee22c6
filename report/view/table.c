/* SPDX-License-Identifier: MIT */
/*
 * table.c - the report as text.
 *
 * Tables fit the width: numbers are never cut and are right-aligned, the name
 * column gets the remaining width, but at least NAME_MIN columns.  Chains after
 * it shrink down to CHAIN_MIN; if that is not enough, the longest get separate
 * lines below their rows.  Some columns are left out before any line gets too
 * long.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "report/section/timing/calls.h"
#include "report/section/core/list.h"
#include "report/section/memory/view.h"
#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/name/short.h"
#include "report/section/order.h"
#include "report/section/sections.h"
#include "report/view/view.h"

#define SPARE_MAX 2 /* hp_column.spare */
#define NAME_MIN 12
#define CHAIN_MIN 32
#define BELOW "  "	/* before the names of its children */
#define WIDTH_USUAL 80
#define WIDTH_MIN 20
#define WIDTH_MAX 1000
#define GAP 2
#define INDENT_MAX 10	/* levels of a table that is not a tree */
#define COLUMNS_MAX 40

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define HEADER "\033[1;36m"
#define PLAIN "\033[0m"

/* A column of this table: percentiles have several. */
struct column {
	const struct hp_column *column;
	double percentile;
	size_t width;
	bool is_below;	/* its cells are below their rows */
	char title[40];
};

struct grid {
	struct hp_report *report;
	const struct hp_look *look;
	struct hp_list list;
	struct column columns[COLUMNS_MAX];
	size_t column_count;
	char **cells;	/* row by row */
	bool has_estimates;
	bool is_deep;
	bool is_prose;	/* the first column is a sentence below its row */
	size_t indent_most;	/* levels; deeper ones are not indented further */
};

/* --- capabilities of the stream --- */

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

static bool is_coloured(int fd, uint32_t color)
{
	const char *term = getenv("TERM");
	const char *forced = getenv("CLICOLOR_FORCE");

	if (color != HP_COLOR_AUTO)
		return color == HP_COLOR_ALWAYS;
	if (is_set("NO_COLOR"))
		return false;
	if (forced && *forced && strcmp(forced, "0") != 0)
		return true;
	return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

static size_t width_of(int fd)
{
	const char *columns = getenv("COLUMNS");
	unsigned long width = columns ? strtoul(columns, NULL, 10) : 0;
	struct winsize size;

	if (!width && ioctl(fd, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	if (!width)
		return WIDTH_USUAL;
	return width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width;
}

struct hp_look hp_look_of(int fd, const struct hp_settings *settings)
{
	return (struct hp_look){ .width = width_of(fd),
				 .is_coloured = is_coloured(fd, settings->color) };
}

static const char *ink(const struct hp_look *look, const char *code)
{
	return look->is_coloured ? code : "";
}

/* --- cells --- */

static bool is_text(const struct hp_column *column)
{
	return column->unit == HP_UNIT_NAME || column->unit == HP_UNIT_TEXT ||
	       column->unit == HP_UNIT_CHAIN;
}

/* Held bytes may be slightly below zero if threads race. */
static const char *bytes_text(double number, struct hp_text_cell *cell)
{
	return hp_format_bytes(cell, hp_whole(number));
}

static const char *number_text(const struct hp_column *column, double number,
			       struct hp_text_cell *cell)
{
	switch (column->unit) {
	case HP_UNIT_BYTES:
		return bytes_text(number, cell);
	case HP_UNIT_DIFFERENCE:
		return hp_format_signed_bytes(cell, number);
	case HP_UNIT_TIME:
		return hp_format_time(cell, number);
	case HP_UNIT_SHARE:
		return hp_format_percent(cell, number, 2);
	case HP_UNIT_LOAD:
		return hp_format_percent(cell, number, 1);
	case HP_UNIT_ERROR:
		return hp_format_percent(cell, number, number < 9.95 ? 1 : 0);
	case HP_UNIT_RATE:
		return hp_format_rate(cell, number);
	default:
		return hp_format_count(cell, hp_whole(number));
	}
}

/* A call too short to measure is below the resolution, and never 0. */
static bool is_next_to_nothing(const struct hp_column *column, const struct hp_value *value)
{
	double least = column->unit == HP_UNIT_SHARE ? 0.005 : 0.5;

	return value->upper > 0 && value->number < least;
}

static char *below_text(const struct hp_column *column, double upper)
{
	struct hp_text_cell cell;
	double least = column->unit == HP_UNIT_SHARE ? 0.01 : 1;

	return hp_xprintf("<%s", number_text(column, upper > least ? upper : least, &cell));
}

/* A value that is not a name. */
static char *cell_text(struct grid *grid, const struct column *column, const void *row)
{
	const struct hp_cell asked = { grid->report, row, column->column, column->percentile };
	struct hp_value value = { .text = NULL };
	struct hp_text_cell cell;

	hp_cell_get(&asked, &value);
	if (value.is_unknown)
		return hp_xstrdup("-");
	if (value.text && column->column->unit == HP_UNIT_CHAIN)
		return hp_name_display_path(value.text, (size_t)grid->report->settings->name_depth);
	if (value.text)
		return hp_xstrdup(value.text);
	grid->has_estimates |= value.is_estimated;
	if (is_next_to_nothing(column->column, &value))
		return below_text(column->column, value.upper);
	return hp_xprintf("%s%s%s", value.is_bound ? "\342\211\245 " : "",
			  value.is_estimated ? "~" : "",
			  number_text(column->column, value.number, &cell));
}

/* Takes over the name, with the level and the mark of its row. */
static char *name_text(const struct grid *grid, const struct hp_value *value, char *name)
{
	unsigned indent =
		value->indent < grid->indent_most ? value->indent : (unsigned)grid->indent_most;
	char *whole;

	/* Deeper than there is room for: the level as a number. */
	if (grid->is_deep && value->indent > indent)
		whole = hp_xprintf("%*s[%u] %s", (int)indent, "", value->indent, name);
	else
		whole = hp_xprintf("%*s%s%s%s", (int)indent, "", name, value->mark ? " " : "",
				   value->mark ? value->mark : "");
	free(name);
	return whole;
}

/* --- the grid --- */

static void column_add(struct grid *grid, const struct hp_column *column, double percentile)
{
	struct column *to = &grid->columns[grid->column_count];
	struct hp_text_cell cell;

	if (grid->column_count == COLUMNS_MAX)
		return;
	grid->column_count++;
	to->column = column;
	to->percentile = percentile;
	snprintf(to->title, sizeof(to->title), "%s%s", column->title,
		 column->is_percentiles ? hp_format_percentile(&cell, percentile) : "");
}

static void columns_make(struct grid *grid, const struct hp_section *section)
{
	const struct hp_percentiles *percentiles = &grid->report->settings->percentiles;

	for (const struct hp_column *column = section->columns; hp_column_is(column); column++) {
		if (!column->title)
			continue;
		if (!column->is_percentiles)
			column_add(grid, column, 0);
		for (uint32_t p = 0; column->is_percentiles && p < percentiles->count; p++)
			column_add(grid, column, percentiles->at[p]);
	}
}

static char **cell_at(struct grid *grid, size_t row, size_t column)
{
	return &grid->cells[row * grid->column_count + column];
}

/* Different names must look different, so they are made together; names from the source are not
 * changed. */
static void names_make(struct grid *grid, size_t i)
{
	size_t count = grid->list.shown;
	struct hp_value *values = hp_xcalloc(count, sizeof(*values));
	const char **names = hp_xcalloc(count, sizeof(*names));
	char **copies = hp_xcalloc(count, sizeof(*copies));
	char **display = hp_xcalloc(count, sizeof(*display));

	for (size_t row = 0; row < count; row++) {
		const struct hp_cell asked = { grid->report, grid->list.rows[row],
					       grid->columns[i].column, 0 };

		hp_cell_get(&asked, &values[row]);
		copies[row] = hp_xstrdup(
			values[row].is_unknown || !values[row].text ? "-" : values[row].text);
		names[row] = values[row].is_label ? NULL : copies[row];
	}
	hp_names_display(names, count, (size_t)grid->report->settings->name_depth, display);
	for (size_t row = 0; row < count; row++) {
		*cell_at(grid, row, i) =
			name_text(grid, &values[row], names[row] ? display[row] : copies[row]);
		if (names[row])
			free(copies[row]);
	}
	free(values);
	free(names);
	free(copies);
	free(display);
}

struct named_row {
	const char *name;
	size_t row;
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct named_row *)a)->name, ((const struct named_row *)b)->name);
}

/* Which rows have the name of another one; fresh. A report may have 10^6 rows, so they are sorted. */
static bool *twins_find(struct grid *grid)
{
	size_t count = grid->list.shown;
	struct named_row *sorted = hp_xcalloc(count, sizeof(*sorted));
	bool *is_twin = hp_xcalloc(count, sizeof(*is_twin));

	for (size_t row = 0; row < count; row++)
		sorted[row] = (struct named_row){ *cell_at(grid, row, 0), row };
	qsort(sorted, count, sizeof(*sorted), compare_names);
	for (size_t i = 1; i < count; i++)
		if (compare_names(&sorted[i - 1], &sorted[i]) == 0)
			is_twin[sorted[i - 1].row] = is_twin[sorted[i].row] = true;
	free(sorted);
	return is_twin;
}

/* Rows that would look the same get more specific names. */
static void twins_name(struct grid *grid, enum hp_alloc_detail detail)
{
	bool *is_twin = twins_find(grid);

	for (size_t row = 0; row < grid->list.shown; row++) {
		char *name = is_twin[row] ? hp_alloc_row_lined_name(grid->report,
								    grid->list.rows[row], detail)
					  : NULL;

		if (!name)
			continue;
		free(*cell_at(grid, row, 0));
		*cell_at(grid, row, 0) =
			hp_name_display_path(name, (size_t)grid->report->settings->name_depth);
		free(name);
	}
	free(is_twin);
}

/* By the lines of their callers; those of one line by the address of the call. */
static void twins_tell_apart(struct grid *grid)
{
	twins_name(grid, HP_ALLOC_LINES);
	twins_name(grid, HP_ALLOC_ADDRESSES);
}

static void cells_make(struct grid *grid)
{
	grid->cells = hp_xcalloc(grid->list.shown * grid->column_count, sizeof(*grid->cells));
	for (size_t i = 0; i < grid->column_count; i++) {
		if (grid->columns[i].column->unit == HP_UNIT_NAME) {
			names_make(grid, i);
			continue;
		}
		for (size_t row = 0; row < grid->list.shown; row++)
			*cell_at(grid, row, i) =
				cell_text(grid, &grid->columns[i], grid->list.rows[row]);
	}
}

/* No row knows its value. */
static bool is_empty(struct grid *grid, size_t column)
{
	for (size_t row = 0; row < grid->list.shown; row++)
		if (strcmp(*cell_at(grid, row, column), "-") != 0)
			return false;
	return true;
}

/* The column of intervals is shown only if something was estimated. */
static void columns_drop(struct grid *grid)
{
	for (size_t i = 0; i < grid->column_count; i++) {
		const struct hp_column *column = grid->columns[i].column;

		if ((column->need == HP_NEED_ESTIMATE && !grid->has_estimates) ||
		    (column->need == HP_NEED_KNOWN && is_empty(grid, i)))
			grid->columns[i].title[0] = 0;
	}
}

static bool is_dropped(const struct column *column)
{
	return column->title[0] == 0 || column->is_below;
}

static void widths_find(struct grid *grid)
{
	for (size_t i = 0; i < grid->column_count; i++) {
		struct column *column = &grid->columns[i];

		column->width = hp_text_width(column->title);
		for (size_t row = 0; row < grid->list.shown; row++) {
			size_t width = hp_text_width(*cell_at(grid, row, i));

			if (width > column->width)
				column->width = width;
		}
	}
}

/* All rows have 0. */
static bool says_nothing(struct grid *grid, size_t column)
{
	struct hp_text_cell cell;
	const char *nothing = number_text(grid->columns[column].column, 0, &cell);

	for (size_t row = 0; row < grid->list.shown; row++)
		if (strcmp(*cell_at(grid, row, column), "-") != 0 &&
		    strcmp(*cell_at(grid, row, column), nothing) != 0)
			return false;
	return true;
}

static size_t width_whole(const struct grid *grid)
{
	size_t whole = 0;

	for (size_t i = 0; i < grid->column_count; i++)
		if (!is_dropped(&grid->columns[i]))
			whole += grid->columns[i].width + (whole ? GAP : 0);
	return whole;
}

/* A name is more informative than a column of zeros. */
static void zeros_drop(struct grid *grid)
{
	for (size_t i = 1; i < grid->column_count && width_whole(grid) > grid->look->width; i++)
		if (grid->columns[i].column->need == HP_NEED_ROOM && says_nothing(grid, i))
			grid->columns[i].title[0] = 0;
}

static bool gives_way(const struct grid *grid, size_t i)
{
	return !is_dropped(&grid->columns[i]) && grid->columns[i].column->unit == HP_UNIT_CHAIN;
}

static size_t lesser(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t chain_least(const struct grid *grid, size_t i)
{
	const struct column *column = &grid->columns[i];
	size_t title = hp_text_width(column->title);

	return title > CHAIN_MIN ? title : lesser(column->width, CHAIN_MIN);
}

/* The width of the table after all shortening. */
static size_t width_least(const struct grid *grid)
{
	size_t whole = width_whole(grid) - grid->columns[0].width +
		       lesser(grid->columns[0].width, NAME_MIN);

	for (size_t i = 1; i < grid->column_count; i++)
		if (gives_way(grid, i))
			whole -= grid->columns[i].width - chain_least(grid, i);
	return whole;
}

/* Lines that the terminal breaks are hard to read; JSON and the console have all columns. */
static void spares_drop(struct grid *grid)
{
	for (unsigned rank = 1; rank <= SPARE_MAX; rank++)
		for (size_t i = grid->column_count; i-- && width_least(grid) > grid->look->width;)
			if (grid->columns[i].column->spare == rank)
				grid->columns[i].title[0] = 0;
}

static struct column *chain_widest(struct grid *grid, bool can_shrink)
{
	struct column *widest = NULL;

	for (size_t i = 1; i < grid->column_count; i++)
		if (gives_way(grid, i) &&
		    (!can_shrink || grid->columns[i].width > chain_least(grid, i)) &&
		    (!widest || grid->columns[i].width > widest->width))
			widest = &grid->columns[i];
	return widest;
}

/* A place with its file and line needs some room: without it, it gets its own line. */
static void chains_move(struct grid *grid)
{
	struct column *widest = chain_widest(grid, false);

	if (width_least(grid) <= grid->look->width)
		return;
	while (widest && widest->width > CHAIN_MIN / 2 && width_whole(grid) > grid->look->width) {
		widest->is_below = true;
		widest = chain_widest(grid, false);
	}
}

/* Cuts the cells of a column down to `width`. */
static void column_fit(struct grid *grid, size_t i, size_t width)
{
	char **cells = hp_xcalloc(grid->list.shown, sizeof(*cells));

	for (size_t row = 0; row < grid->list.shown; row++)
		cells[row] = *cell_at(grid, row, i);
	if (grid->columns[i].column->unit == HP_UNIT_CHAIN)
		hp_paths_fit(cells, grid->list.shown, width);
	else
		hp_names_fit(cells, grid->list.shown, width);
	for (size_t row = 0; row < grid->list.shown; row++)
		*cell_at(grid, row, i) = cells[row];
	free(cells);
}

/*
 * Chains after the first column: if the table is too wide, the widest is
 * shortened; so is the name while it is wider.
 */
static void chains_fit(struct grid *grid)
{
	size_t whole, name = grid->columns[0].width;

	chains_move(grid);
	for (whole = width_whole(grid); whole > grid->look->width; whole--) {
		struct column *widest = chain_widest(grid, true);

		if (name > NAME_MIN && (!widest || name > widest->width))
			name--;
		else if (widest)
			widest->width--;
		else
			break;
	}
	for (size_t i = 1; i < grid->column_count; i++)
		if (gives_way(grid, i))
			column_fit(grid, i, grid->columns[i].width);
}

/* In a tree each level has less room, and its ancestors identify a row. */
static void tree_fit(struct grid *grid, size_t room)
{
	for (size_t row = 0; row < grid->list.shown; row++) {
		char **cell = cell_at(grid, row, 0);
		size_t indent = strspn(*cell, " ");
		char *fitted, *whole;

		if (indent > room / 2)
			indent = room / 2;
		fitted = hp_name_fit(*cell + strspn(*cell, " "), room - indent);
		whole = hp_xprintf("%*s%s", (int)indent, "", fitted);
		free(fitted);
		free(*cell);
		*cell = whole;
	}
}

static bool is_tree(struct grid *grid)
{
	for (size_t row = 0; row < grid->list.shown; row++)
		if (**cell_at(grid, row, 0) == ' ')
			return true;
	return false;
}

/* The first column is the name; it gets the remaining width. */
static void name_fit(struct grid *grid)
{
	size_t others = 0, room;

	for (size_t i = 1; i < grid->column_count; i++)
		if (!is_dropped(&grid->columns[i]))
			others += GAP + grid->columns[i].width;
	room = grid->look->width > others ? grid->look->width - others : 0;
	if (room < NAME_MIN)
		room = NAME_MIN;
	if (grid->columns[0].width <= room)
		return;
	if (grid->columns[0].column->unit == HP_UNIT_NAME && is_tree(grid))
		tree_fit(grid, room);
	else
		column_fit(grid, 0, room);
	grid->columns[0].width = hp_text_width(grid->columns[0].title);
	for (size_t row = 0; row < grid->list.shown; row++) {
		size_t width = hp_text_width(*cell_at(grid, row, 0));

		if (width > grid->columns[0].width)
			grid->columns[0].width = width;
	}
}

static void pad(size_t width, FILE *out)
{
	fprintf(out, "%*s", (int)width, "");
}

static void cell_write(const struct column *column, size_t place, const char *text, bool is_last,
		       FILE *out)
{
	size_t space = column->width - hp_text_width(text);

	if (place)
		pad(GAP, out);
	if (!is_text(column->column))
		pad(space, out);
	fputs(text, out);
	if (is_text(column->column) && !is_last)
		pad(space, out);
}

static void rule_write(const struct grid *grid, FILE *out)
{
	size_t width = 0;

	for (size_t i = 0; i < grid->column_count; i++)
		if (!is_dropped(&grid->columns[i]))
			width += grid->columns[i].width + (width ? GAP : 0);
	fputs(ink(grid->look, DIM), out);
	while (width--)
		fputs("\342\224\200", out);
	fprintf(out, "%s\n", ink(grid->look, PLAIN));
}

/* Unknown values need no line. */
static void below_write(struct grid *grid, size_t row, size_t title, FILE *out)
{
	size_t margin = strlen(BELOW) + title + GAP;
	size_t room = grid->look->width > margin + NAME_MIN ? grid->look->width - margin : NAME_MIN;

	for (size_t i = 1; i < grid->column_count; i++) {
		const struct column *column = &grid->columns[i];
		const char *cell = *cell_at(grid, row, i);
		char *fitted;

		if (!column->title[0] || !column->is_below || strcmp(cell, "-") == 0)
			continue;
		fitted = hp_xstrdup(cell);
		hp_paths_fit(&fitted, 1, room);
		fprintf(out, BELOW "%s%-*s%s%*s%s\n", ink(grid->look, DIM), (int)title,
			column->title, ink(grid->look, PLAIN), GAP, "", fitted);
		free(fitted);
	}
}

/* A sentence, in lines of whole words that begin with the margin. */
static void wrapped_write(const char *text, const char *margin, size_t most, FILE *out)
{
	size_t width = 0;

	while (*text) {
		size_t length = strcspn(text, " ");
		char *word = hp_xprintf("%.*s", (int)length, text);
		size_t more = hp_text_width(word) + (width ? 1 : strlen(margin));

		if (width && width + more > most) {
			fputc('\n', out);
			more += strlen(margin) - 1;
			width = 0;
		}
		fprintf(out, "%s%s", width ? " " : margin, word);
		width += more;
		text += length + (text[length] == ' ');
		free(word);
	}
	fputc('\n', out);
}

static void row_write(struct grid *grid, size_t row, size_t last, FILE *out)
{
	size_t place = 0;

	for (size_t i = 0; i <= last; i++)
		if (!is_dropped(&grid->columns[i]))
			cell_write(&grid->columns[i], place++, *cell_at(grid, row, i), i == last,
				   out);
	fputc('\n', out);
	if (grid->is_prose)
		wrapped_write(*cell_at(grid, row, 0), BELOW, grid->look->width, out);
}

static void grid_write(struct grid *grid, FILE *out)
{
	size_t last = 0, title = 0;

	for (size_t i = 0; i < grid->column_count; i++) {
		size_t width = hp_text_width(grid->columns[i].title);

		if (!is_dropped(&grid->columns[i]))
			last = i;
		else if (grid->columns[i].is_below && width > title)
			title = width;
	}
	fputs(ink(grid->look, HEADER), out);
	for (size_t i = 0, place = 0; i <= last; i++)
		if (!is_dropped(&grid->columns[i]))
			cell_write(&grid->columns[i], place++, grid->columns[i].title, i == last,
				   out);
	fprintf(out, "%s\n", ink(grid->look, PLAIN));
	rule_write(grid, out);
	for (size_t row = 0; row < grid->list.shown; row++) {
		row_write(grid, row, last, out);
		below_write(grid, row, title, out);
	}
}

static void grid_release(struct grid *grid)
{
	for (size_t i = 0; i < grid->list.shown * grid->column_count; i++)
		free(grid->cells[i]);
	free(grid->cells);
	free(grid->list.rows);
}

/* --- sections --- */

/* Exclusive, inclusive, both: 3/13 is shown only when rows are missing. */
static void title_write(struct grid *grid, const struct hp_section *section, FILE *out)
{
	const char *note = section->note ? section->note(grid->report) : NULL;
	bool is_cut = grid->list.shown < grid->list.total;
	const char *what = hp_section_about(section, grid->report);
	size_t length = strlen(section->name) + 3 + strlen(what) + 3 + (note ? strlen(note) : 0) +
			(is_cut ? 12 : 0);

	fprintf(out, "\n%s%s%s - %s", ink(grid->look, BOLD), section->name, ink(grid->look, PLAIN),
		what);
	/* Parts that do not fit beside it go below it. */
	if (note || is_cut)
		fprintf(out, "%s(%s%s", length > (size_t)grid->look->width ? "\n" : " ",
			note ? note : "", note && is_cut ? ", " : "");
	if (is_cut)
		fprintf(out, "%zu/%zu", grid->list.shown, grid->list.total);
	fputs(note || is_cut ? ")\n" : "\n", out);
}

/* Instead of rows, like the crate: a table of one column with the reason and the remedy. */
static void error_write(const struct grid *grid, const struct hp_section *section, FILE *out)
{
	fprintf(out, "\n%s%s%s - report unavailable\n%sError%s\n", ink(grid->look, BOLD),
		section->name, ink(grid->look, PLAIN), ink(grid->look, HEADER),
		ink(grid->look, PLAIN));
	for (size_t i = 0; i < grid->look->width; i++)
		fputs("\342\224\200", out);
	fputc('\n', out);
	wrapped_write(hp_section_none(section, grid->report), "", grid->look->width, out);
}

/* Removes insignificant rows from the list, unless all are. Returns the number removed. */
static size_t faint_drop(struct hp_report *report, const struct hp_section *section,
			 struct hp_list *list)
{
	size_t kept = 0, shown = list->shown;

	if (!section->is_faint || !shown || section->is_faint(report, list->rows[0]))
		return 0;
	for (size_t i = 0; i < shown; i++)
		if (!section->is_faint(report, list->rows[i]))
			list->rows[kept++] = list->rows[i];
	list->shown = kept;
	list->total -= shown - kept;
	return shown - kept;
}

static bool section_write(struct hp_report *report, const struct hp_section *section,
			  const struct hp_look *look, FILE *out)
{
	struct grid grid = { .report = report,
			     .look = look,
			     .is_deep = section->is_deep,
			     .is_prose = section->is_prose,
			     .indent_most = section->is_deep ? look->width * 2 / 5 : INDENT_MAX };

	size_t faint;

	hp_section_fill(report, section, &grid.list);
	faint = faint_drop(report, section, &grid.list);
	if (!grid.list.shown && section->is_failed && section->is_failed(report)) {
		error_write(&grid, section, out);
		grid_release(&grid);
		return false;
	}
	title_write(&grid, section, out);
	if (grid.list.shown) {
		columns_make(&grid, section);
		cells_make(&grid);
		if (section == &hp_alloc_sites_section || section == &hp_leaks_section)
			twins_tell_apart(&grid);
		columns_drop(&grid);
		grid.columns[0].is_below = grid.is_prose;
		widths_find(&grid);
		zeros_drop(&grid);
		spares_drop(&grid);
		chains_fit(&grid);
		if (!grid.is_prose)
			name_fit(&grid);
		grid_write(&grid, out);
	} else {
		wrapped_write(hp_section_none(section, report), "", look->width, out);
	}
	if (faint)
		fprintf(out, "and %zu %s\n", faint, section->faint);
	if (section->after && section->after(report))
		wrapped_write(section->after(report), "",
			      section->is_command_after ? SIZE_MAX : look->width, out);
	grid_release(&grid);
	return grid.has_estimates;
}

/* The meanings of `~`, in order. */
static const char *const estimates[HP_ESTIMATES] = {
	[HP_ESTIMATE_FUNCTIONS] =
		"~ estimated: hot, short functions: every call counted, durations sampled.\n"
		"  \302\26195% is half of the total's 95 % interval. "
		"HOTPATH_TIMING=exact times all;\n"
		"  even then, the hooks' cost is known only to some ns per call.\n",
	[HP_ESTIMATE_HOLDS] =
		"~ estimated: durations of short lock holds are sampled;\n"
		"  HOTPATH_TIMING=exact times all. A hold that had not ended counts,\n"
		"  unless another thread released it.\n",
	[HP_ESTIMATE_MESSAGES] =
		"~ estimated: fast channels: every message counted, delays sampled.\n",
	[HP_ESTIMATE_WAITS] =
		("~ estimated: waits below 1 ms were recorded in bursts; HOTPATH_REPORT=offcpu records all.\n"
		 "  \302\26195% is half of the 95 % interval of Blocked.\n"),
};

void hp_table_write(struct hp_report *report, const struct hp_look *look, FILE *out)
{
	bool has[HP_ESTIMATES] = { false };
	const char *gap = "\n";

	hp_head_write(report, look, out);
	if (report->answer)
		has[HP_ESTIMATE_FUNCTIONS] = section_write(report, report->answer, look, out);
	for (size_t i = 0; i < hp_section_count; i++)
		if (report->is_shown[i] && section_write(report, hp_sections[i], look, out))
			has[hp_sections[i]->estimate] = true;
	for (int i = 0; i < HP_ESTIMATES; i++) {
		if (!has[i])
			continue;
		fprintf(out, "%s%s", gap, estimates[i]);
		gap = "";
	}
}
