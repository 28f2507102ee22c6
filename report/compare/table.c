/* SPDX-License-Identifier: MIT */
/*
 * table.c - a comparison for the terminal.
 */
#include <string.h>
#include <stdlib.h>

#include "report/compare/lines.h"
#include "report/name/name.h"
#include "report/base/memory.h"

#define NAME_MIN 16	/* columns */
#define CELLS 4

static void pad(const char *text, size_t width, bool is_left, FILE *out)
{
	size_t own = hp_text_width(text);
	int blanks = own < width ? (int)(width - own) : 0;

	if (is_left)
		fprintf(out, "%s%*s", text, blanks, "");
	else
		fprintf(out, "%*s%s", blanks, "", text);
}

static const char *cell_of(const struct hp_compare_line *line, int cell)
{
	const struct hp_text_cell *const cells[CELLS] = { &line->a, &line->b, &line->change,
							  &line->percent };

	return cells[cell]->text;
}

struct widths {
	size_t metric, name, cells[CELLS];
};

static size_t wider(size_t width, const char *text)
{
	size_t own = hp_text_width(text);

	return own > width ? own : width;
}

static struct widths widths_of(const struct hp_compare_lines *lines, size_t columns)
{
	struct widths widths = { 0, 0, { 1, 1, 1, 0 } };
	size_t taken, remark = 0, room;

	for (size_t i = 0; i < lines->count; i++) {
		const struct hp_compare_line *line = &lines->list[i];

		widths.metric = wider(widths.metric, line->row->measure->metric);
		widths.name = wider(widths.name, line->row->name);
		remark = wider(remark, line->remark);
		for (int c = 0; c < CELLS; c++)
			widths.cells[c] = wider(widths.cells[c], cell_of(line, c));
	}
	taken = widths.metric + 2 + (remark ? remark + 2 : 0);
	for (int c = 0; c < CELLS; c++)
		taken += widths.cells[c] + 2;
	room = columns > taken + NAME_MIN ? columns - taken : NAME_MIN;
	widths.name = widths.name < room ? widths.name : room;
	return widths;
}

static void line_write(const struct hp_compare_line *line, const struct widths *widths, FILE *out)
{
	char *name = hp_name_fit(line->row->name, widths->name);

	fputs("  ", out);
	pad(line->row->measure->metric, widths->metric, true, out);
	fputs("  ", out);
	pad(name, widths->name, true, out);
	for (int c = 0; c < CELLS; c++) {
		fputs("  ", out);
		pad(cell_of(line, c), widths->cells[c], false, out);
	}
	fprintf(out, "%s%s\n", *line->remark ? "  " : "", line->remark);
	free(name);
}

/* Breaks lines at blanks. */
static void wrapped_write(const char *text, size_t columns, FILE *out)
{
	size_t at = 0;

	while (*text) {
		size_t size = strcspn(text, " \n");

		if (at && at + 1 + size > columns) {
			putc('\n', out);
			at = 0;
		}
		fprintf(out, "%s%.*s", at ? " " : "", (int)size, text);
		at += size + (at ? 1 : 0);
		text += size;
		if (*text == '\n') {
			putc('\n', out);
			at = 0;
		}
		text += *text != 0;
	}
	if (at)
		putc('\n', out);
}

static void lines_write(const char *title, const struct hp_compare_lines *lines, size_t columns,
			FILE *out)
{
	struct widths widths = widths_of(lines, columns - 2);

	fprintf(out, "\n%s\n", title);
	for (size_t i = 0; i < lines->count; i++)
		line_write(&lines->list[i], &widths, out);
	wrapped_write(lines->note, columns, out);
}

void hp_compare_table_write(const struct hp_compare_text *text, size_t columns, FILE *out)
{
	columns = columns < 40 ? 40 : columns;
	fprintf(out, "A  %s\nB  %s\n", text->a, text->b);
	lines_write("Counts  A, B, change", &text->counts, columns, out);
	lines_write("Times  A, B, change of the medians", &text->times, columns, out);
	if (*text->notes) {
		putc('\n', out);
		wrapped_write(text->notes, columns, out);
	}
}
