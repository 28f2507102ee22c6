/* SPDX-License-Identifier: MIT */
/*
 * compare_fuzz.c - two reports in JSON beside each other, a 0 between them; the
 * first one alone is beside itself.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

#include "report/compare/compare.h"
#include "test/fuzz/fuzz.h"

/* What is said of a row must not contradict its own figures. */
static void look_at(const struct hp_compare *compare)
{
	for (size_t i = 0; i < compare->count; i++)
		for (size_t k = 0; k < compare->sections[i].count; k++) {
			const struct hp_compare_row *row = &compare->sections[i].rows[k];

			if (row->verdict == HP_COMPARE_MORE && !(row->b > row->a))
				abort();
			if (row->verdict == HP_COMPARE_LESS && !(row->b < row->a))
				abort();
			if (isnan(hp_compare_growth(row)))
				abort();
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	const char *second = strlen(text) < size ? text + strlen(text) + 1 : text;
	cJSON *a = cJSON_Parse(text), *b = cJSON_Parse(second);
	struct hp_compare compare;

	if (a && b) {
		hp_compare_init(&compare, a, b, 5);
		look_at(&compare);
		hp_compare_release(&compare);
	}
	cJSON_Delete(a);
	cJSON_Delete(b);
	free(text);
	return 0;
}
