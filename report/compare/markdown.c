/* SPDX-License-Identifier: MIT */
/*
 * markdown.c - a comparison in the Markdown of GitHub and GitLab, for a comment on a change.
 */
#include <string.h>
#include <stdlib.h>

#include "report/compare/lines.h"

/* Nothing in a name is markup, and nothing ends its cell. */
static void text_write(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (*text == '&')
			fputs("&amp;", out);
		else if (*text == '<')
			fputs("&lt;", out);
		else if (*text == '>')
			fputs("&gt;", out);
		else if (strchr("\\`*_{}[]#|~@", *text))
			fprintf(out, "&#%d;", *text);
		else
			putc(*text == '\n' ? ' ' : *text, out);
	}
}

static void lines_write(const char *title, const struct hp_compare_lines *lines, FILE *out)
{
	fprintf(out, "\n**%s**\n\n", title);
	if (lines->count)
		fputs("| | | A | B | change | | |\n|---|---|--:|--:|--:|--:|---|\n", out);
	for (size_t i = 0; i < lines->count; i++) {
		const struct hp_compare_line *line = &lines->list[i];
		char *name = hp_text_clean(line->row->name);

		fprintf(out, "| %s | ", line->row->measure->metric);
		text_write(name, out);
		fprintf(out, " | %s | %s | %s | %s | %s |\n", line->a.text, line->b.text,
			line->change.text, line->percent.text, line->remark);
		free(name);
	}
	if (*lines->note)
		fprintf(out, "%s%s\n", lines->count ? "\n" : "", lines->note);
}

void hp_compare_markdown_write(const struct hp_compare_text *text, FILE *out)
{
	fputs("### hotpath compare\n\nA: ", out);
	text_write(text->a, out);
	fputs("  \nB: ", out);
	text_write(text->b, out);
	putc('\n', out);
	lines_write("Counts", &text->counts, out);
	lines_write("Times, medians", &text->times, out);
	if (*text->notes)
		fprintf(out, "\n%s", text->notes);
}
