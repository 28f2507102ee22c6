/* SPDX-License-Identifier: MIT */
/*
 * compare.c - see compare.h.
 *
 * Intervals: of an estimate the report has one; of a figure made of samples it is
 * 1.96 times the square root of their number (they are drawn independently, so
 * their number is Poisson's).  Those of the two sides are added as independent
 * errors are, by squares; the noise, which is no interval, on top.
 */
#include "report/compare/compare.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "util/hash.h"

static const struct hp_compare_measure measures[] = {
	{ &hp_functions_section, true, "time in each function, callees included", "inclusive_ns",
	  "inclusive_low_ns", "inclusive_high_ns", NULL, "calls", HP_COMPARE_TIME, true },
	{ &hp_cpu_section, false, "CPU time of each function, without callees", "self_ns", NULL,
	  NULL, "self_samples", NULL, HP_COMPARE_TIME, true },
	{ &hp_alloc_functions_section, false, "bytes that each function allocated", "total_bytes",
	  NULL, NULL, NULL, "count", HP_COMPARE_BYTES, false },
	{ &hp_alloc_sites_section, false, "bytes by call path", "total_bytes", NULL, NULL, NULL,
	  "count", HP_COMPARE_BYTES, false },
	{ &hp_leaks_section, false, "bytes that were left", "live_bytes", NULL, NULL, NULL,
	  "live_count", HP_COMPARE_BYTES, false },
	{ &hp_offcpu_section, false, "time that threads waited", "blocked_ns", NULL, NULL, NULL,
	  "waits", HP_COMPARE_TIME, true },
	{ &hp_mutexes_section, false, "time that threads waited for each", "wait_total_ns", NULL,
	  NULL, NULL, "count", HP_COMPARE_TIME, true },
};

const char *hp_compare_title(const struct hp_compare_measure *measure)
{
	return measure->is_by_key ? measure->section->key : measure->section->name;
}

/* Of the noise, one part in so many is of the whole section: an interrupt hits small rows, too. */
#define SMALL 50

#define MEASURES (sizeof(measures) / sizeof(measures[0]))

/* A row of one side. */
struct side {
	char *name;	/* fresh */
	const char *place;
	double value;
	double error;
	double calls;
	bool is_taken;	/* has its match */
};

struct sides {
	struct side *rows;
	size_t count;
	bool is_whole;	/* no row was left out for the limit */
};

static double number_of(const cJSON *row, const char *key, double usual)
{
	const cJSON *value = key ? cJSON_GetObjectItemCaseSensitive(row, key) : NULL;

	return cJSON_IsNumber(value) && isfinite(value->valuedouble) ? value->valuedouble : usual;
}

static const char *text_of(const cJSON *row, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, key);

	return cJSON_IsString(value) ? value->valuestring : NULL;
}

/* --- reading --- */

static double error_of(const struct hp_compare_measure *measure, const cJSON *row, double value)
{
	double low = number_of(row, measure->low, value),
	       high = number_of(row, measure->high, value);
	double samples = number_of(row, measure->samples, 0);

	if (samples > 0)
		return 1.96 * value / sqrt(samples);
	return high > low ? (high - low) / 2 : 0;
}

/* "f file.c:12 ← main" without the place: call paths are matched by their functions. */
static void places_strip(char *name)
{
	static const char arrow[] = " \342\206\220 ";
	char *to = name;

	for (char *step = name, *next; step; step = next) {
		char *end = strstr(step, arrow), *colon, *blank;
		size_t size = end ? (size_t)(end - step) : strlen(step), kept = size;

		next = end ? end + sizeof(arrow) - 1 : NULL;
		colon = memrchr(step, ':', size);
		blank = colon ? memrchr(step, ' ', (size_t)(colon - step)) : NULL;
		if (blank && colon + 1 < step + size &&
		    strspn(colon + 1, "0123456789") >= size - (size_t)(colon + 1 - step))
			kept = (size_t)(blank - step);
		memmove(to, step, kept);
		to += kept;
		if (next)
			to = (char *)memmove(to, arrow, sizeof(arrow) - 1) + sizeof(arrow) - 1;
	}
	*to = 0;
}

/* Fresh; the program's main is called by the program's name, which may be another one. */
static char *name_of(const cJSON *row, const char *caller)
{
	const char *name = text_of(row, "name");
	char *copy;

	if (!name)
		return NULL;
	copy = hp_xstrdup(caller && strcmp(name, caller) == 0 ? "main" : name);
	if (cJSON_GetObjectItemCaseSensitive(row, "frames"))
		places_strip(copy);
	return copy;
}

static struct side side_of(const struct hp_compare_measure *measure, const cJSON *row,
			   const char *caller)
{
	const char *place = text_of(row, "file");

	struct side side = {
		.name = name_of(row, caller),
		.place = place ? place : text_of(row, "module"),
		.value = number_of(row, measure->value, 0),
		.calls = number_of(row, measure->calls, -1),
	};

	side.error = error_of(measure, row, side.value);
	return side;
}

static struct sides sides_read(const struct hp_compare_measure *measure, const cJSON *report)
{
	const cJSON *section = cJSON_GetObjectItemCaseSensitive(report, measure->section->json);
	const cJSON *raw = cJSON_GetObjectItemCaseSensitive(section, "raw"), *row;
	const char *caller = text_of(
		cJSON_GetObjectItemCaseSensitive(report, hp_functions_section.json), "caller_name");
	int count = cJSON_IsArray(raw) ? cJSON_GetArraySize(raw) : 0;
	struct sides sides = { .rows = hp_xcalloc((size_t)count + 1, sizeof(*sides.rows)) };

	cJSON_ArrayForEach(row, raw)
	{
		struct side side = side_of(measure, row, caller);

		if (side.name && sides.count < (size_t)count)
			sides.rows[sides.count++] = side;
	}
	sides.is_whole = number_of(section, "total_count", 0) <=
			 number_of(section, "included_count", (double)sides.count);
	return sides;
}

static void sides_free(struct sides *sides)
{
	for (size_t i = 0; i < sides->count; i++)
		free(sides->rows[i].name);
	free(sides->rows);
}

/* --- matching --- */

static uint64_t hash_of(const char *text, uint64_t hash)
{
	return text ? hp_fnv_text(hash, text) : hash;
}

static bool is_match(const struct side *a, const struct side *b)
{
	if (strcmp(a->name, b->name) != 0)
		return false;
	return !a->place || !b->place || strcmp(a->place, b->place) == 0;
}

/* Of several of one name the first that is free: they stand in the order of their size. */
static struct side *match_of(const struct side *side, struct sides *others,
			     const struct hp_map *by_name, const uint32_t *next)
{
	const uint32_t *first = hp_map_find(by_name, hash_of(side->name, 7) | 1);

	for (uint32_t i = first ? *first : 0; i; i = next[i - 1])
		if (!others->rows[i - 1].is_taken && is_match(side, &others->rows[i - 1]))
			return &others->rows[i - 1];
	return NULL;
}

static enum hp_compare_verdict verdict_of(const struct hp_compare_row *row, bool has_a, bool has_b,
					  const struct sides *a, const struct sides *b)
{
	if ((!has_a && !a->is_whole) || (!has_b && !b->is_whole))
		return HP_COMPARE_UNKNOWN;
	/* That a function is called at all is no matter of noise; that it has a sample is. */
	bool is_called = row->calls_a > 0 || row->calls_b > 0;
	if ((!is_called || (has_a && has_b)) && fabs(row->b - row->a) <= row->error)
		return HP_COMPARE_SAME;
	if (!has_a || !has_b)
		return has_a ? HP_COMPARE_GONE : HP_COMPARE_NEW;
	return row->b > row->a ? HP_COMPARE_MORE : HP_COMPARE_LESS;
}

static void row_add(struct hp_compare_section *section, const struct side *a, const struct side *b,
		    double noise)
{
	const struct side *one = a ? a : b;
	struct hp_compare_row *row = &section->rows[section->count++];
	double larger = fmax(a ? a->value : 0, b ? b->value : 0);

	*row = (struct hp_compare_row){
		.name = hp_xstrdup(one->name),
		.place = one->place ? hp_xstrdup(one->place) : NULL,
		.a = a ? a->value : 0,
		.b = b ? b->value : 0,
		.calls_a = a ? a->calls : -1,
		.calls_b = b ? b->calls : -1,
	};
	row->error = hypot(a ? a->error : 0, b ? b->error : 0);
	if (section->measure->is_noisy)
		row->error += noise / 100 * larger +
			      noise / 100 / SMALL * fmax(section->total_a, section->total_b);
}

static int compare_changes(const void *left, const void *right)
{
	const struct hp_compare_row *a = left, *b = right;
	bool is_a = a->verdict != HP_COMPARE_SAME, is_b = b->verdict != HP_COMPARE_SAME;
	double change_a = fabs(a->b - a->a), change_b = fabs(b->b - b->a);

	if (is_a != is_b)
		return is_a ? -1 : 1;
	if (change_a != change_b)
		return change_a > change_b ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void section_match(struct hp_compare_section *section, struct sides *a, struct sides *b,
			  double noise)
{
	struct hp_map by_name = HP_MAP_NONE;
	uint32_t *next = hp_xcalloc(b->count + 1, sizeof(*next));
	bool is_new;

	/* From the last on, so that each list starts with the first. */
	for (size_t i = b->count; i-- > 0;) {
		uint32_t *first = hp_map_at(&by_name, hash_of(b->rows[i].name, 7) | 1, &is_new);

		next[i] = is_new ? 0 : *first;
		*first = (uint32_t)i + 1;
	}
	section->rows = hp_xcalloc(a->count + b->count + 1, sizeof(*section->rows));
	for (size_t i = 0; i < a->count; i++) {
		struct side *match = match_of(&a->rows[i], b, &by_name, next);

		if (match)
			match->is_taken = true;
		row_add(section, &a->rows[i], match, noise);
		section->rows[section->count - 1].verdict =
			verdict_of(&section->rows[section->count - 1], true, match != NULL, a, b);
	}
	for (size_t i = 0; i < b->count; i++) {
		if (b->rows[i].is_taken)
			continue;
		row_add(section, NULL, &b->rows[i], noise);
		section->rows[section->count - 1].verdict =
			verdict_of(&section->rows[section->count - 1], false, true, a, b);
	}
	hp_map_release(&by_name);
	free(next);
}

/* What shares are of: the largest row where rows contain each other, else their sum. */
static double total_of(const struct hp_compare_measure *measure, const struct sides *sides)
{
	double total = 0;

	for (size_t i = 0; i < sides->count; i++)
		total = measure->low ? fmax(total, sides->rows[i].value)
				     : total + sides->rows[i].value;
	return total;
}

static size_t changed_count(const struct hp_compare_section *section)
{
	size_t count = 0;

	for (size_t i = 0; i < section->count; i++)
		count += section->rows[i].verdict != HP_COMPARE_SAME &&
			 section->rows[i].verdict != HP_COMPARE_UNKNOWN;
	return count;
}

void hp_compare_init(struct hp_compare *compare, const cJSON *a, const cJSON *b, double noise)
{
	*compare = (struct hp_compare){
		.sections = hp_xcalloc(MEASURES, sizeof(*compare->sections)),
	};
	for (size_t i = 0; i < MEASURES; i++) {
		struct hp_compare_section *section = &compare->sections[compare->count];
		struct sides left, right;

		if (!cJSON_GetObjectItemCaseSensitive(a, measures[i].section->json) ||
		    !cJSON_GetObjectItemCaseSensitive(b, measures[i].section->json))
			continue;
		left = sides_read(&measures[i], a);
		right = sides_read(&measures[i], b);
		section->measure = &measures[i];
		section->total_a = total_of(&measures[i], &left);
		section->total_b = total_of(&measures[i], &right);
		section_match(section, &left, &right, noise);
		section->changed = changed_count(section);
		if (section->count)
			qsort(section->rows, section->count, sizeof(*section->rows),
			      compare_changes);
		compare->count++;
		sides_free(&left);
		sides_free(&right);
	}
}

void hp_compare_release(struct hp_compare *compare)
{
	for (size_t i = 0; i < compare->count; i++) {
		for (size_t j = 0; j < compare->sections[i].count; j++) {
			free(compare->sections[i].rows[j].name);
			free(compare->sections[i].rows[j].place);
		}
		free(compare->sections[i].rows);
	}
	free(compare->sections);
	*compare = (struct hp_compare){ .sections = NULL };
}

double hp_compare_growth(const struct hp_compare_row *row)
{
	double sure = row->b - row->a - row->error;

	if ((row->verdict != HP_COMPARE_MORE && row->verdict != HP_COMPARE_NEW) || sure <= 0)
		return 0;
	return row->a > 0 ? 100 * sure / row->a : INFINITY;
}
