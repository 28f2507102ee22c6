/* SPDX-License-Identifier: MIT */
/*
 * trend.c - the time lines above the list, the newest on the right.
 */
#include <math.h>
#include <stdio.h>

#include "live/console/draw/draw.h"
#include "report/base/format.h"

struct line {
	const char *title;
	enum hp_ink ink;
	bool is_bytes;
	const char *none;	/* text without data */
};

static const struct line lines[HP_TREND_LINES] = {
	[HP_TREND_CPU] = { "CPU", HP_INK_CPU, false, "-" },
	[HP_TREND_BYTES] = { "Held", HP_INK_BYTES, true, "-" },
	[HP_TREND_WAIT] = { "Lock wait", HP_INK_WAIT, false, "-" },
};

static const char *value_text(const struct line *line, double value, struct hp_text_cell *cell)
{
	if (isnan(value))
		return line->none;
	return line->is_bytes ? hp_format_signed_bytes(cell, value)
			      : hp_format_percent(cell, value, 1);
}

/* The scale begins at 0; for percentages it ends at one core or more. */
static double scale_of(const struct hp_app *app, enum hp_trend_line which, int width)
{
	double most = hp_trend_most(&app->trend, which, (size_t)width);

	return lines[which].is_bytes ? (most > 0 ? most : 1) : (most > 100 ? most : 100);
}

static void graph_draw(const struct hp_app *app, enum hp_trend_line which, struct hp_area area)
{
	double scale = scale_of(app, which, area.width);

	for (int i = 0; i < area.width; i++) {
		double value = hp_trend_at(&app->trend, which, (size_t)(area.width - 1 - i));

		if (value > 0)
			hp_graph(area.y + area.height - 1, area.x + i, area.height,
				 lines[which].ink, value / scale);
	}
}

static void line_draw(const struct hp_app *app, enum hp_trend_line which, struct hp_area area)
{
	const struct line *line = &lines[which];
	struct hp_text_cell cell;
	const char *now = value_text(line, hp_trend_at(&app->trend, which, 0), &cell);
	int title = hp_width(line->title), x = area.x + 1;

	if (area.height == 1) {
		hp_print(area.y, x, HP_INK_DIM, "%s", line->title);
		hp_put(area.y, x + title + 1, 9, line->ink, HP_RIGHT, HP_CUT_END, now);
		x += title + 11;
		area.width -= x - area.x + 1;
		area.x = x;
		if (area.width > 0)
			graph_draw(app, which, area);
		return;
	}
	hp_print(area.y, x, HP_INK_DIM, "%s", line->title);
	hp_print(area.y + 1, x, line->ink, "%s", now);
	area.x = x + 11;
	area.width -= 13;
	hp_print(area.y + area.height - 1, x, HP_INK_DIM, "of %s",
		 value_text(line, scale_of(app, which, area.width), &cell));
	graph_draw(app, which, area);
}

void hp_draw_trend(const struct hp_app *app, int y, int height)
{
	int third = hp_screen.width / HP_TREND_LINES;

	for (int i = 0; i < HP_TREND_LINES; i++)
		line_draw(app, (enum hp_trend_line)i,
			  (struct hp_area){ y, i * third, height, third });
}
