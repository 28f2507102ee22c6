/* SPDX-License-Identifier: MIT */
/*
 * view.c - `hotpath compare`: its tables, its JSON, its exit status.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/exit.h"
#include "report/compare/compare.h"
#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/base/option.h"
#include "report/view/view.h"
#include "segment/setting.h"
#include "report/section/core/section.h"

#define NOISE_USUAL 5	/* percent */
#define LEAST_USUAL 1	/* percent */
#define ROWS_USUAL 15
#define EXIT_ABOVE 3
#define NAME_LEAST 12	/* columns */
#define CELLS 4

extern char **environ;

struct ask {
	const char *paths[2];
	double noise;	/* percent */
	double least;	/* percent of the section's total, for --fail-above */
	double above;	/* percent; < 0 = not asked for */
	size_t rows;	/* of each section; 0 = all */
	bool is_json;
};

static const char usage_text[] =
	"Usage: hotpath compare [OPTION]... A B\n"
	"Say what became more and what less between two runs: A before, B after.  Each is a kept\n"
	"run (see hotpath list), a file, or a report in JSON (hotpath report -f json --limit 0).\n"
	"Rows are matched by name and file.  What lies within the error of both is no change.\n\n"
	"  -f, --format=WORD     table, json\n"
	"  -n, --limit=N         rows of each section; 0 = all (15)\n"
	"      --noise=PERCENT   what times of two runs of one program may differ by (5)\n"
	"      --fail-above=PCT  exit status 3 if a row surely grew by more than PCT percent\n"
	"      --least=PERCENT   of its section, for rows that --fail-above looks at (1)\n"
	"  -h, --help            this\n";

static const char *const verdicts[] = { "same", "more", "less", "new", "gone", "unknown" };
static const char *const units[] = { "ns", "bytes", "count" };

/* --- what fails --- */

static bool is_above(const struct hp_compare_section *section, const struct hp_compare_row *row,
		     const struct ask *ask)
{
	double total = fmax(section->total_a, section->total_b);

	return ask->above >= 0 && fmax(row->a, row->b) >= ask->least / 100 * total &&
	       hp_compare_growth(row) > ask->above;
}

static size_t above_count(const struct hp_compare *compare, const struct ask *ask)
{
	size_t count = 0;

	for (size_t i = 0; i < compare->count; i++)
		for (size_t j = 0; j < compare->sections[i].count; j++)
			count +=
				is_above(&compare->sections[i], &compare->sections[i].rows[j], ask);
	return count;
}

/* --- the tables --- */

static void value_write(struct hp_text_cell *cell, enum hp_compare_unit unit, double value)
{
	if (unit == HP_COMPARE_TIME)
		hp_format_time(cell, fabs(value));
	else if (unit == HP_COMPARE_BYTES)
		hp_format_bytes(cell, hp_whole(fabs(value)));
	else
		hp_format_count(cell, hp_whole(fabs(value)));
}

/* A, B, the change, the change in percent: with no digit that the error makes worthless. */
static void cells_write(struct hp_text_cell cells[CELLS], const struct hp_compare_row *row,
			enum hp_compare_unit unit)
{
	struct hp_text_cell value;
	double change = row->b - row->a;

	value_write(&cells[0], unit, row->a);
	value_write(&cells[1], unit, row->b);
	if (row->verdict == HP_COMPARE_NEW || row->verdict == HP_COMPARE_UNKNOWN)
		strcpy(row->verdict == HP_COMPARE_NEW || row->calls_a < 0 ? cells[0].text
									  : cells[1].text,
		       row->verdict == HP_COMPARE_NEW ? "-" : "?");
	if (row->verdict == HP_COMPARE_GONE)
		strcpy(cells[1].text, "-");
	value_write(&value, unit, change);
	snprintf(cells[2].text, sizeof(cells[2].text), "%s%.40s", change < 0 ? "-" : "+",
		 value.text);
	snprintf(cells[3].text, sizeof(cells[3].text), "%s", verdicts[row->verdict]);
	if (row->verdict == HP_COMPARE_SAME || row->verdict == HP_COMPARE_UNKNOWN)
		strcpy(cells[2].text, "-");
	else if (row->a > 0 && row->b > 0)
		snprintf(cells[3].text, sizeof(cells[3].text), "%+.*f%%",
			 fabs(change) < row->a / 10 ? 1 : 0, 100 * change / row->a);
}

static void pad(const char *text, size_t width, bool is_left)
{
	size_t own = hp_text_width(text);
	int blanks = own < width ? (int)(width - own) : 0;

	if (is_left)
		printf("%s%*s", text, blanks, "");
	else
		printf("%*s%s", blanks, "", text);
}

static void line_write(const char *name, size_t name_width, struct hp_text_cell cells[CELLS],
		       const size_t widths[CELLS])
{
	pad(name, name_width, true);
	for (int c = 0; c < CELLS; c++) {
		fputs("  ", stdout);
		pad(cells[c].text, widths[c], false);
	}
	putchar('\n');
}

static size_t rows_shown(const struct hp_compare_section *section, const struct ask *ask)
{
	size_t changed = 0;

	while (changed < section->count && section->rows[changed].verdict != HP_COMPARE_SAME)
		changed++;
	return ask->rows && changed > ask->rows ? ask->rows : changed;
}

static void rows_write(const struct hp_compare_section *section, size_t shown, size_t columns)
{
	struct hp_text_cell head[CELLS] = { { "A" }, { "B" }, { "Change" }, { "" } };
	struct hp_text_cell *cells = hp_xcalloc(shown + 1, CELLS * sizeof(*cells));
	size_t widths[CELLS] = { 1, 1, 6, 0 }, taken = 0;

	for (size_t i = 0; i < shown; i++)
		cells_write(&cells[i * CELLS], &section->rows[i], section->measure->unit);
	for (int c = 0; c < CELLS; c++) {
		for (size_t i = 0; i < shown; i++)
			widths[c] = hp_text_width(cells[i * CELLS + (size_t)c].text) > widths[c]
					    ? hp_text_width(cells[i * CELLS + (size_t)c].text)
					    : widths[c];
		taken += widths[c] + 2;
	}
	size_t width = columns > taken + NAME_LEAST ? columns - taken : NAME_LEAST;
	line_write("Name", width, head, widths);
	for (size_t i = 0; i < shown; i++) {
		char *name = hp_name_fit(section->rows[i].name, width);

		line_write(name, width, &cells[i * CELLS], widths);
		free(name);
	}
	free(cells);
}

static void section_write(const struct hp_compare_section *section, const struct ask *ask,
			  size_t columns)
{
	size_t shown = rows_shown(section, ask);

	printf("\n%s - %s: ", hp_compare_title(section->measure), section->measure->what);
	if (!shown) {
		printf("no change beyond the error in %zu rows.\n", section->count);
		return;
	}
	printf("%zu of %zu rows changed beyond the error.\n", section->changed, section->count);
	rows_write(section, shown, columns);
}

static double summary_of(const cJSON *report, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(
		cJSON_GetObjectItemCaseSensitive(report, "summary"), key);

	return cJSON_IsNumber(value) ? value->valuedouble : -1;
}

static const struct {
	const char *key, *title;
	enum hp_compare_unit unit;
} summaries[] = {
	{ "wall_ns", "wall", HP_COMPARE_TIME },
	{ "cpu_ns", "CPU", HP_COMPARE_TIME },
	{ "blocked_ns", "blocked", HP_COMPARE_TIME },
	{ "peak_rss_bytes", "peak RSS", HP_COMPARE_BYTES },
};

static void head_write(const cJSON *a, const cJSON *b)
{
	for (size_t i = 0; i < sizeof(summaries) / sizeof(summaries[0]); i++) {
		double before = summary_of(a, summaries[i].key),
		       after = summary_of(b, summaries[i].key);
		struct hp_text_cell left, right;

		if (before < 0 || after < 0)
			continue;
		value_write(&left, summaries[i].unit, before);
		value_write(&right, summaries[i].unit, after);
		printf("%-10s%s -> %s", summaries[i].title, left.text, right.text);
		if (before > 0)
			printf("  (%+.0f%%)", 100 * (after - before) / before);
		putchar('\n');
	}
}

static void tables_write(const struct hp_compare *compare, const cJSON *a, const cJSON *b,
			 const struct ask *ask)
{
	struct hp_settings settings;

	hp_settings_read(&settings, environ, NULL, NULL);
	head_write(a, b);
	for (size_t i = 0; i < compare->count; i++)
		section_write(&compare->sections[i], ask, hp_look_of(1, &settings).width);
	printf("\nTimes: changes within their 95 %% intervals and %g %% noise (--noise) are none. "
	       "Counts and bytes are exact.\n",
	       ask->noise);
}

/* --- JSON --- */

static void side_add(cJSON *json, const char *key, double value, bool is_known)
{
	if (is_known)
		cJSON_AddNumberToObject(json, key, value);
	else
		cJSON_AddNullToObject(json, key);
}

static cJSON *row_json(const struct hp_compare_section *section, const struct hp_compare_row *row,
		       const struct ask *ask)
{
	cJSON *json = cJSON_CreateObject();
	bool has_a = row->verdict != HP_COMPARE_NEW, has_b = row->verdict != HP_COMPARE_GONE;

	cJSON_AddStringToObject(json, "name", row->name);
	if (row->place)
		cJSON_AddStringToObject(json, "place", row->place);
	cJSON_AddStringToObject(json, "verdict", verdicts[row->verdict]);
	side_add(json, "a", row->a, has_a && (row->verdict != HP_COMPARE_UNKNOWN || row->a > 0));
	side_add(json, "b", row->b, has_b && (row->verdict != HP_COMPARE_UNKNOWN || row->b > 0));
	side_add(json, "change", row->b - row->a, row->verdict != HP_COMPARE_UNKNOWN);
	cJSON_AddNumberToObject(json, "change_error", row->error);
	if (row->calls_a >= 0 || row->calls_b >= 0) {
		side_add(json, "calls_a", row->calls_a, row->calls_a >= 0);
		side_add(json, "calls_b", row->calls_b, row->calls_b >= 0);
	}
	if (ask->above >= 0)
		cJSON_AddBoolToObject(json, "is_above", is_above(section, row, ask));
	return json;
}

static void json_write(const struct hp_compare *compare, const cJSON *a, const cJSON *b,
		       const struct ask *ask)
{
	cJSON *json = cJSON_CreateObject();
	cJSON *summary = cJSON_AddObjectToObject(json, "summary");
	cJSON *sections = cJSON_AddObjectToObject(json, "sections");
	char *text;

	cJSON_AddNumberToObject(json, "noise_percent", ask->noise);
	for (size_t i = 0; i < sizeof(summaries) / sizeof(summaries[0]); i++) {
		cJSON *both = cJSON_AddObjectToObject(summary, summaries[i].key);

		side_add(both, "a", summary_of(a, summaries[i].key), true);
		side_add(both, "b", summary_of(b, summaries[i].key), true);
	}
	for (size_t i = 0; i < compare->count; i++) {
		const struct hp_compare_section *section = &compare->sections[i];
		cJSON *one = cJSON_AddObjectToObject(sections, section->measure->section->json);
		size_t shown = rows_shown(section, ask);

		cJSON_AddStringToObject(one, "unit", units[section->measure->unit]);
		cJSON_AddNumberToObject(one, "total_count", (double)section->count);
		cJSON_AddNumberToObject(one, "changed_count", (double)section->changed);
		cJSON *rows = cJSON_AddArrayToObject(one, "rows");
		for (size_t j = 0; j < shown; j++)
			cJSON_AddItemToArray(rows, row_json(section, &section->rows[j], ask));
	}
	text = cJSON_PrintUnformatted(json);
	puts(text ? text : "");
	free(text);
	cJSON_Delete(json);
}

/* --- the command --- */

static bool percent_read(const char *option, const char *text, double *percent)
{
	char *end;
	double number = strtod(text, &end);

	if (end != text && !*end && number >= 0 && number <= 1e6) {
		*percent = number;
		return true;
	}
	fprintf(stderr, "hotpath compare: --%s: '%s' is no percentage; give a number, as in 10\n",
		option, text);
	return false;
}

static bool limit_read(const char *text, size_t *rows)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (*text >= '0' && *text <= '9' && !*end) {
		*rows = number;
		return true;
	}
	fprintf(stderr, "hotpath compare: --limit: '%s' is no number of rows; 0 = all\n", text);
	return false;
}

static bool option_take(struct ask *ask, int letter)
{
	switch (letter) {
	case 'f':
		ask->is_json = strcmp(optarg, "json") == 0;
		if (ask->is_json || strcmp(optarg, "table") == 0)
			return true;
		fprintf(stderr, "hotpath compare: --format: '%s' is neither table nor json\n",
			optarg);
		return false;
	case 'n':
		return limit_read(optarg, &ask->rows);
	case 'N':
		return percent_read("noise", optarg, &ask->noise);
	case 'A':
		return percent_read("fail-above", optarg, &ask->above);
	case 'L':
		return percent_read("least", optarg, &ask->least);
	default:
		return false;
	}
}

/* Returns -1 to go on, else the exit status. */
static int options_read(struct ask *ask, int argc, char **argv)
{
	static const struct option options[] = {
		{ "format", required_argument, NULL, 'f' },
		{ "limit", required_argument, NULL, 'n' },
		{ "noise", required_argument, NULL, 'N' },
		{ "fail-above", required_argument, NULL, 'A' },
		{ "least", required_argument, NULL, 'L' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int letter;

	while ((letter = hp_option_next(argc, argv, "f:n:h", options, NULL)) != -1) {
		if (letter == 'h') {
			fputs(usage_text, stdout);
			return 0;
		}
		if (!option_take(ask, letter))
			return HP_EXIT_USAGE;
	}
	if (argc - optind != 2) {
		fprintf(stderr, "hotpath compare: needs two runs, before and after; see hotpath "
				"compare --help\n");
		return HP_EXIT_USAGE;
	}
	ask->paths[0] = argv[optind];
	ask->paths[1] = argv[optind + 1];
	return -1;
}

int hp_cmd_compare(int argc, char **argv)
{
	struct ask ask = {
		.noise = NOISE_USUAL, .least = LEAST_USUAL, .above = -1, .rows = ROWS_USUAL
	};
	struct hp_compare compare;
	int status = options_read(&ask, argc, argv);
	cJSON *a, *b;

	if (status >= 0)
		return status;
	a = hp_compare_load(ask.paths[0]);
	b = a ? hp_compare_load(ask.paths[1]) : NULL;
	if (!a || !b) {
		cJSON_Delete(a);
		return HP_EXIT_FAILED;
	}
	hp_compare_init(&compare, a, b, ask.noise);
	if (ask.is_json)
		json_write(&compare, a, b, &ask);
	else
		tables_write(&compare, a, b, &ask);
	size_t above = above_count(&compare, &ask);
	if (above)
		fprintf(stderr, "hotpath compare: %zu rows grew by more than %g %%\n", above,
			ask.above);
	hp_compare_release(&compare);
	cJSON_Delete(a);
	cJSON_Delete(b);
	return above ? EXIT_ABOVE : 0;
}
