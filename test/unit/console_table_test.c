/* SPDX-License-Identifier: MIT */
/*
 * console_table_test.c - answers become rows whatever they contain; texts stay
 * in their columns; words are sorted by the numbers that they stand for.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/console/draw/draw.h"
#include "live/console/state/cell.h"
#include "live/console/state/table.h"
#include "live/console/state/text.h"
#include "live/console/state/trend.h"
#include "report/base/format.h"
#include "test/test.h"

static const struct hp_view *view_of(const char *route)
{
	for (size_t tab = 0; tab < HP_TAB_COUNT; tab++)
		for (size_t i = 0; hp_tabs()[tab].views[i]; i++)
			if (strcmp(hp_tabs()[tab].views[i]->route, route) == 0)
				return hp_tabs()[tab].views[i];
	return NULL;
}

static const char *name_at(const struct hp_table *table, size_t row, char room[HP_CELL_SIZE])
{
	return row < table->count
		       ? hp_table_cell(table, &table->rows[row], &table->columns[0], room)
		       : "(none)";
}

TEST(console, a_text_never_takes_more_than_its_columns)
{
	static const char *const texts[] = {
		"",
		"short",
		"a name that is far too long for its column",
		"宽宽宽宽宽宽宽宽",
		"a宽b宽c宽d",
		"\033[31mred\033[0m",
		"\xff\xfe broken \xc3",
		"≥ 1.00 µs",
		"left \u202e right",
	};
	char room[256];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (size_t width = 0; width < 40; width++)
			for (int how = 0; how < 4; how++) {
				bool is_utf8 = how & 1;
				size_t used = hp_console_fit(room, sizeof(room), texts[i], width,
							     how & 2 ? HP_CUT_MIDDLE : HP_CUT_END,
							     is_utf8);

				CHECK(used <= width);
				CHECK(used == hp_text_width(room));
				CHECK(strpbrk(room, "\033\x07") == NULL);
				CHECK(strstr(room, "\u202e") == NULL);
				for (const char *at = room; *at && !is_utf8; at++)
					CHECK((unsigned char)*at < 0x80);
			}
}

TEST(console, both_ends_of_a_name_are_seen)
{
	char room[64];

	hp_console_fit(room, sizeof(room), "std::collections::HashMap::insert", 15, HP_CUT_MIDDLE,
		       true);
	CHECK_STR(room, "std::co…:insert");
	hp_console_fit(room, sizeof(room), "std::collections", 8, HP_CUT_END, false);
	CHECK_STR(room, "std::co~");
}

TEST(console, a_call_path_keeps_its_function)
{
	char *name = hp_draw_name("main shop.c:99 (std::operator+)", 20);

	CHECK(!name);	/* cut at its end instead */
	name = hp_draw_name("shop::find(int) (shop.c:12)", 20);
	CHECK_STR(name, "shop::find");
	free(name);
	name = hp_draw_name("void (anonymous namespace)::find(int)", 20);
	CHECK(name && strstr(name, "find"));
	free(name);
}

TEST(console, words_are_the_numbers_that_they_stand_for)
{
	static const struct {
		const char *text;
		double number;
	} cases[] = {
		{ "17 ns", 17 },
		{ "1.65 µs", 1650 },
		{ "2.00 ms", 2e6 },
		{ "3.25 s", 3.25e9 },
		{ "25,616", 25616 },
		{ "~12.5%", 12.5 },
		{ "≥ 435.26 ms", 435.26e6 },
		{ "4.5 KB", 4500 },
		{ "-1.0 MB", -1000000 },
		{ "0 B", 0 },
	};
	double number;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK(hp_console_number(cases[i].text, &number));
		CHECK(fabs(number - cases[i].number) < 1e-3 + fabs(cases[i].number) * 1e-9);
	}
	CHECK(!hp_console_number("-", &number));
	CHECK(!hp_console_number("", &number));
	CHECK(!hp_console_number("now", &number));
}

TEST(console, rows_are_sorted_by_plain_numbers_and_unknown_ones_are_last)
{
	cJSON *list = cJSON_Parse(
		"{\"percentiles\":[95],\"data\":["
		"{\"id\":1,\"name\":\"a\",\"calls\":5,\"total\":\"1.00 ms\"},"
		"{\"id\":2,\"name\":\"b\",\"calls\":7,\"total\":\"-\"},"
		"{\"id\":3,\"name\":\"c\",\"calls\":6,\"total\":\"1.00 ms\"}],"
		"\"raw\":[{\"total_ns\":1000001},{\"total_ns\":null},{\"total_ns\":1000002}]}");
	struct hp_table table;
	char room[HP_CELL_SIZE];

	hp_table_init(&table, view_of("/functions_timing"));
	hp_table_fill(&table, list);
	CHECK_STR(name_at(&table, 0, room), "a");
	while (table.sort < 0 || strcmp(table.columns[table.sort].title, "Total") != 0)
		hp_table_sort_by_next(&table, 1);
	CHECK_STR(name_at(&table, 0, room), "c");
	CHECK_STR(name_at(&table, 2, room), "b");
	table.is_ascending = true;
	hp_table_renew(&table);
	CHECK_STR(name_at(&table, 0, room), "a");
	CHECK_STR(name_at(&table, 2, room), "b");
	hp_table_release(&table);
	cJSON_Delete(list);
}

TEST(console, the_choice_goes_with_its_row)
{
	cJSON *one =
		cJSON_Parse("{\"data\":[{\"id\":1,\"name\":\"a\"},{\"id\":2,\"name\":\"b\"}]}");
	cJSON *two = cJSON_Parse("{\"data\":[{\"id\":3,\"name\":\"x\"},{\"id\":2,\"name\":\"b\"},"
				 "{\"id\":1,\"name\":\"a\"}]}");
	struct hp_table table;
	char room[HP_CELL_SIZE];

	hp_table_init(&table, view_of("/functions_timing"));
	hp_table_fill(&table, one);
	hp_table_move(&table, 0);
	hp_table_fill(&table, two);
	CHECK(table.chosen == 0);	/* nobody has moved: the first row */
	hp_table_move(&table, 2);
	CHECK_STR(name_at(&table, table.chosen, room), "a");
	hp_table_fill(&table, one);
	CHECK_STR(name_at(&table, table.chosen, room), "a");
	hp_table_fill(&table, two);
	CHECK(table.chosen == 2);
	hp_table_release(&table);
	cJSON_Delete(one);
	cJSON_Delete(two);
}

TEST(console, a_tree_of_any_shape_is_shown)
{
	static const char *const trees[] = {
		"{\"total_elapsed_ns\":100,\"tree\":["
		"{\"id\":1,\"parent\":0,\"name\":\"a\",\"inclusive_ns\":90},"
		"{\"id\":2,\"parent\":1,\"name\":\"b\",\"inclusive_ns\":80},"
		"{\"id\":3,\"parent\":2,\"name\":\"c\",\"inclusive_ns\":1}]}",
		/* Parents that do not exist, that come later, that are the row itself. */
		"{\"tree\":[{\"id\":1,\"parent\":9},{\"id\":1,\"parent\":1},{\"id\":5,\"parent\":7},"
		"{\"id\":7,\"parent\":5},null,3,\"x\",[],{\"id\":\"x\",\"parent\":{}}]}",
		"{\"tree\":{}}",
		"{\"tree\":[[]]}",
		"[]",
		"null",
		"7",
	};
	struct hp_table table;
	char room[HP_CELL_SIZE];

	hp_table_init(&table, view_of("/calltree"));
	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
		cJSON *list = cJSON_Parse(trees[i]);

		hp_table_fill(&table, list);
		hp_table_fold_all(&table, true);
		if (i == 0) {
			CHECK(table.count == 3);
			CHECK(table.rows[2].depth == 2);
			CHECK_STR(name_at(&table, 2, room), "c");
			hp_table_fold(&table, 0, false);
			CHECK(table.count == 1);
			strcpy(table.filter, "c");
			hp_table_renew(&table);
			CHECK(table.count == 3);	/* with its children below */
			table.filter[0] = 0;
		}
		CHECK(table.count <= 9);
		for (size_t row = 0; row < table.count; row++)
			for (size_t column = 0; column < table.column_count; column++)
				CHECK(*hp_table_cell(&table, &table.rows[row],
						     &table.columns[column], room));
		hp_table_fill(&table, NULL);
		cJSON_Delete(list);
	}
	CHECK(table.count == 0);
	hp_table_release(&table);
}

TEST(console, time_lines_are_differences_by_the_uptimes)
{
	struct hp_trend trend;

	hp_trend_init(&trend);
	for (int i = 0; i < 3; i++) {
		char text[160];
		cJSON *status;

		snprintf(text, sizeof(text),
			 "{\"uptime_ns\":%d,\"cpu_ns\":%d,\"live_bytes\":%d,\"lock_wait_ns\":%d}",
			 i * 2000, i * 1000, 100 - i, i * 3000);
		status = cJSON_Parse(text);
		CHECK(hp_trend_is_in(status));
		hp_trend_add_status(&trend, status);
		hp_trend_add_status(&trend, status);	/* the same refresh again: nothing */
		cJSON_Delete(status);
	}
	CHECK(trend.count == 2);
	CHECK(fabs(hp_trend_at(&trend, HP_TREND_CPU, 0) - 50) < 1e-9);
	CHECK(fabs(hp_trend_at(&trend, HP_TREND_WAIT, 1) - 150) < 1e-9);
	CHECK(fabs(hp_trend_at(&trend, HP_TREND_BYTES, 0) - 98) < 1e-9);
	CHECK(fabs(hp_trend_most(&trend, HP_TREND_BYTES, 2) - 99) < 1e-9);
	CHECK(isnan(hp_trend_at(&trend, HP_TREND_CPU, 2)));
}
