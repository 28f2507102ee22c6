/* SPDX-License-Identifier: MIT */
/*
 * compare_fuzz.c - JSON reports to compare, separated by a 0: one run of each side,
 * then six of each.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

#include "report/compare/judge.h"
#include "report/compare/lines.h"
#include "test/fuzz/fuzz.h"

/* A row's verdict must not contradict its own figures. */
static void look_at(const struct hp_compare *compare)
{
	for (size_t i = 0; i < compare->row_count; i++) {
		const struct hp_compare_row *row = &compare->rows[i];

		if (row->verdict == HP_COMPARE_MORE && isnan(row->relative) && !(row->b > row->a))
			abort();
		if (row->verdict == HP_COMPARE_LESS && isnan(row->relative) && !(row->b < row->a))
			abort();
		if (row->chance < 0 || row->chance > 1)
			abort();
		if (row->measure->kind >= HP_COMPARE_CLOCKED && hp_compare_is_change(row) &&
		    compare->a.count < HP_COMPARE_RUNS_MIN)
			abort();
	}
}

static void write_all(const struct hp_compare *compare)
{
	struct hp_compare_ask ask = { .rows = 3, .above = 1, .is_all = true };
	struct hp_compare_text text;
	char *said = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&said, &size);

	if (!out)
		abort();
	hp_compare_text_init(&text, compare, &ask);
	hp_compare_table_write(&text, 80, out);
	hp_compare_markdown_write(&text, out);
	hp_compare_json_write(compare, &ask, out);
	hp_compare_text_release(&text);
	fclose(out);
	free(said);
}

static void compare_runs(const cJSON *a, const cJSON *b, size_t runs)
{
	struct hp_compare compare;

	hp_compare_init(&compare, "a", runs, "b", runs);
	for (size_t i = 0; i < 2 * runs; i++)
		hp_compare_add(&compare, i, i < runs ? a : b);
	hp_compare_judge(&compare);
	look_at(&compare);
	write_all(&compare);
	hp_compare_release(&compare);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	const char *second = strlen(text) < size ? text + strlen(text) + 1 : text;
	cJSON *a = cJSON_Parse(text), *b = cJSON_Parse(second);

	if (a && b) {
		compare_runs(a, b, 1);
		compare_runs(a, b, 6);
	}
	cJSON_Delete(a);
	cJSON_Delete(b);
	free(text);
	return 0;
}
