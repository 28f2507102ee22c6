/* SPDX-License-Identifier: MIT */
/*
 * order.c - see order.h.
 */
#include "report/section/order.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/base/top.h"
#include "report/section/core/list.h"
#include "report/section/timing/function.h"
#include "report/section/sections.h"
#include "util/near.h"

#define LISTED_MAX 200	/* letters of a list of columns in a message */
#define WORD_MAX 48

struct word {
	char text[WORD_MAX];
};

/* The user's word or a JSON key, in normalised form. */
static void word_make(const char *text, struct word *word)
{
	size_t length = 0;

	for (; *text && length + 1 < sizeof(word->text); text++) {
		if (isalnum((unsigned char)*text) || *text == '.')
			word->text[length++] = (char)tolower((unsigned char)*text);
		else if (length && word->text[length - 1] != '-')
			word->text[length++] = '-';
	}
	while (length && word->text[length - 1] == '-')
		length--;
	word->text[length] = 0;
}

static bool is_word(const char *text, const struct word *wanted)
{
	struct word word;

	if (!text)
		return false;
	word_make(text, &word);
	return strcmp(word.text, wanted->text) == 0;
}

/* "P95" of the title "P" is the column with the percentile 95. */
static bool is_percentile(const struct hp_column *column, const struct hp_settings *settings,
			  const struct word *wanted, double *percentile)
{
	for (uint32_t i = 0; i < settings->percentiles.count; i++) {
		struct hp_text_cell cell;
		char title[WORD_MAX];

		*percentile = settings->percentiles.at[i];
		snprintf(title, sizeof(title), "%s%s", column->title,
			 hp_format_percentile(&cell, *percentile));
		if (is_word(title, wanted))
			return true;
	}
	return false;
}

/* The column of that name; titles take precedence over keys, since the user reads those. NULL =
 * none. */
static const struct hp_column *column_find(const struct hp_section *section,
					   const struct hp_settings *settings,
					   const struct word *wanted, double *percentile)
{
	const struct hp_column *column;

	*percentile = 0;
	for (column = section->columns; hp_column_is(column); column++) {
		if (column->title && column->is_percentiles) {
			if (is_percentile(column, settings, wanted, percentile))
				return column;
		} else if (is_word(column->title, wanted)) {
			return column;
		}
	}
	for (column = section->columns; hp_column_is(column); column++)
		if (!column->is_percentiles &&
		    (is_word(column->key, wanted) || is_word(column->raw, wanted)))
			return column;
	return NULL;
}

/* --- rows --- */

struct keyed {
	const void *row;
	double number;
	char *text;	/* NULL = the number counts */
	bool is_unknown;
	size_t place;	/* of the section's own order, which breaks ties */
};

static int compare_keyed(const void *left, const void *right)
{
	const struct keyed *a = left, *b = right;
	int order = a->text && b->text ? strcmp(a->text, b->text) : 0;

	if (a->is_unknown != b->is_unknown)
		return a->is_unknown ? 1 : -1;
	if (order)
		return order;
	if (a->number < b->number || a->number > b->number)
		return a->number < b->number ? 1 : -1;
	return a->place < b->place ? -1 : a->place > b->place;
}

/* A tree's rows belong below their parents. */
static bool is_tree(struct hp_report *report, const struct hp_section *section,
		    const struct hp_list *list)
{
	const struct hp_column *first = section->columns;

	while (hp_column_is(first) && !first->title)
		first++;
	for (size_t i = 0; i < list->total; i++) {
		const struct hp_cell cell = { report, list->rows[i], first, 0 };
		struct hp_value value = { .text = NULL };

		hp_cell_get(&cell, &value);
		if (value.indent)
			return true;
	}
	return section->is_deep;
}

static void list_sort(struct hp_report *report, const struct hp_column *column, double percentile,
		      struct hp_list *list)
{
	struct keyed *keyed = hp_xcalloc(list->total, sizeof(*keyed));

	for (size_t i = 0; i < list->total; i++) {
		const struct hp_cell cell = { report, list->rows[i], column, percentile };
		struct hp_value value = { .text = NULL };

		hp_cell_get(&cell, &value);
		keyed[i] = (struct keyed){ .row = list->rows[i],
					   .number = value.number,
					   .text = value.text ? hp_xstrdup(value.text) : NULL,
					   .is_unknown = value.is_unknown,
					   .place = i };
	}
	if (list->total)
		qsort(keyed, list->total, sizeof(*keyed), compare_keyed);
	for (size_t i = 0; i < list->total; i++) {
		list->rows[i] = keyed[i].row;
		free(keyed[i].text);
	}
	free(keyed);
}

void hp_section_fill(struct hp_report *report, const struct hp_section *section,
		     struct hp_list *list)
{
	const struct hp_column *column = NULL;
	struct word wanted;
	double percentile;

	if (hp_settings_sorts(report->settings)) {
		word_make(report->settings->sort, &wanted);
		column = column_find(section, report->settings, &wanted, &percentile);
	}
	/* The table of functions by time has its own meanings for its four words. */
	if (!column || (section == &hp_functions_section && hp_functions_sorts_by(wanted.text))) {
		section->fill(report, list);
		return;
	}
	report->is_uncut = true;
	section->fill(report, list);
	report->is_uncut = false;
	if (list->shown == list->total && !is_tree(report, section, list))
		list_sort(report, column, percentile, list);
	hp_section_cut(section, report, list);
}

/* --- words --- */

struct words {
	char *text;	/* with ", " between them; NULL = none */
	unsigned distance;
	struct word best;
};

static bool has_word(const struct words *words, const char *word)
{
	size_t length = strlen(word);
	const char *at = words->text;

	while (at && (at = strstr(at, word))) {
		bool begins = at == words->text || at[-1] == ' ';

		if (begins && (!at[length] || at[length] == ','))
			return true;
		at += length;
	}
	return false;
}

static void word_add(struct words *words, const char *title, const struct word *wanted)
{
	struct word word;
	unsigned distance;
	char *more;

	word_make(title, &word);
	if (!word.text[0] || has_word(words, word.text))
		return;
	distance = hp_near(wanted->text, strlen(wanted->text), word.text, strlen(word.text));
	if (distance < words->distance) {
		words->distance = distance;
		words->best = word;
	}
	more = hp_xprintf("%s%s%s", words->text ? words->text : "", words->text ? ", " : "",
			  word.text);
	free(words->text);
	words->text = more;
}

static void words_add(struct words *words, const struct hp_section *section,
		      const struct hp_settings *settings, const struct word *wanted)
{
	const struct hp_percentiles *percentiles = &settings->percentiles;

	for (const struct hp_column *column = section->columns; hp_column_is(column); column++) {
		if (!column->title || column->unit == HP_UNIT_ERROR)
			continue;
		if (!column->is_percentiles)
			word_add(words, column->title, wanted);
		for (uint32_t p = 0; column->is_percentiles && p < percentiles->count; p++) {
			struct hp_text_cell cell;
			char title[WORD_MAX];

			snprintf(title, sizeof(title), "%s%s", column->title,
				 hp_format_percentile(&cell, percentiles->at[p]));
			word_add(words, title, wanted);
		}
	}
}

/* Sections whose rows can be sorted, among the requested ones. */
static bool is_candidate(const struct hp_section *section, const struct hp_settings *settings)
{
	return section->columns && section->json[0] && !section->is_deep &&
	       hp_settings_asks(settings, section->key);
}

char *hp_sort_fault(const struct hp_settings *settings)
{
	struct words words = { .distance = UINT32_MAX };
	struct word wanted;
	double percentile;
	char *text;

	word_make(settings->sort, &wanted);
	for (size_t i = 0; i < hp_section_count; i++) {
		if (!is_candidate(hp_sections[i], settings))
			continue;
		if (column_find(hp_sections[i], settings, &wanted, &percentile) ||
		    (hp_sections[i] == &hp_functions_section &&
		     hp_functions_sorts_by(wanted.text))) {
			free(words.text);
			return NULL;
		}
	}
	for (size_t i = 0; i < hp_section_count; i++) {
		if (hp_sections[i] == &hp_functions_section &&
		    is_candidate(hp_sections[i], settings))
			for (const char *const *word = hp_functions_sorts; *word; word++)
				word_add(&words, *word, &wanted);
		if (is_candidate(hp_sections[i], settings))
			words_add(&words, hp_sections[i], settings, &wanted);
	}
	/* All columns of all sections are a screen full. */
	if (words.text && strlen(words.text) > LISTED_MAX)
		text = hp_xprintf("no column '%s'; the nearest is '%s'; choose a section to see "
				  "its columns",
				  settings->sort, words.best.text);
	else
		text = hp_xprintf("no column '%s'; the nearest is '%s'; columns: %s",
				  settings->sort, words.text ? words.best.text : "",
				  words.text ? words.text : "none");
	free(words.text);
	return text;
}
