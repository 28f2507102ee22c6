/* SPDX-License-Identifier: MIT */
/*
 * lines.h - a comparison in sentences: texts that the table, Markdown and the page share.
 */
#ifndef HP_REPORT_COMPARE_LINES_H
#define HP_REPORT_COMPARE_LINES_H

#include <stddef.h>
#include <stdio.h>

#include "report/base/format.h"
#include "report/compare/ask.h"
#include "report/compare/flame.h"

/* One figure. */
struct hp_compare_line {
	const struct hp_compare_row *row;
	struct hp_text_cell a, b, change, percent;
	char *remark;	/* fresh; "" = none */
};

/* Counts or times. */
struct hp_compare_lines {
	struct hp_compare_line *list;
	size_t count, room;
	char *note;	/* facts about the rows that are not listed */
};

struct hp_compare_text {
	char *a, *b;	/* a line about each side */
	struct hp_compare_lines counts, times;
	char *notes;	/* lines about both; "" = none */
};

void hp_compare_text_init(struct hp_compare_text *text, const struct hp_compare *compare,
			  const struct hp_compare_ask *ask);
void hp_compare_text_release(struct hp_compare_text *text);

/* True if the row makes `hotpath compare` exit with 3. */
bool hp_compare_fails(const struct hp_compare *compare, const struct hp_compare_row *row,
		      const struct hp_compare_ask *ask);

/* The views. */
void hp_compare_table_write(const struct hp_compare_text *text, size_t columns, FILE *out);
void hp_compare_markdown_write(const struct hp_compare_text *text, FILE *out);
void hp_compare_html_write(const struct hp_compare_text *text, struct hp_compare_flame *flame,
			   FILE *out);
void hp_compare_json_write(const struct hp_compare *compare, const struct hp_compare_ask *ask,
			   FILE *out);

#endif
