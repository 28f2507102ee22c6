/* SPDX-License-Identifier: MIT */
/*
 * brief_finding.c - recommendations: the findings, in the default report.
 *
 * Each is a sentence, and below it an upper bound of the gain, the evidence and its
 * certainty.  Lines are wrapped between words.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/finding/finding.h"
#include "report/view/brief_part.h"

#define MARGIN 2
#define INDENT 5 /* "  1. " */
#define LINES_MAX 4 /* of one finding's sentence or facts */

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

static const char *ink(const struct hp_look *look, const char *code)
{
	return look->is_coloured ? code : "";
}

/* Bytes of the first line of a text that has `width` columns. */
static size_t line_length(const char *text, size_t width)
{
	size_t most = hp_text_start(text, width), at = most;

	if (!text[most])
		return most;
	while (at > 0 && text[at] != ' ')
		at--;
	return at ? at : most;
}

void hp_part_wrapped_write(const char *text, int indent, const struct hp_look *look, FILE *out)
{
	size_t width = look->width > INDENT + 20 ? look->width - (size_t)indent : 20;

	for (int line = 0; *text && line < LINES_MAX; line++) {
		size_t length = line_length(text, width), shown = length;

		while (shown && text[shown - 1] == ' ')
			shown--;
		fprintf(out, "%*s%.*s\n", line ? indent : 0, "", (int)shown, text);
		text += length;
		while (*text == ' ')
			text++;
	}
}

static void finding_write(struct hp_report *report, const struct hp_finding *finding,
			  const struct hp_look *look, FILE *out)
{
	char *gain = hp_finding_gain_text(report, finding);
	char *facts = hp_xprintf("%s%s%s [%s]", gain ? gain : "", gain ? "; " : "", finding->facts,
				 hp_confidence_text(finding->confidence));

	fprintf(out, "  %u. ", finding->number);
	hp_part_wrapped_write(finding->advice, INDENT, look, out);
	fprintf(out, "%s%*s", ink(look, DIM), INDENT, "");
	hp_part_wrapped_write(facts, INDENT, look, out);
	fputs(ink(look, PLAIN), out);
	free(facts);
	free(gain);
}

void hp_part_findings_write(struct hp_report *report, const struct hp_look *look, FILE *out)
{
	const struct hp_findings *findings = hp_findings_of(report);
	size_t told = findings->count < HP_FINDINGS_TOLD ? findings->count : HP_FINDINGS_TOLD;

	fprintf(out, "\n%sWhat to do%s", ink(look, BOLD), ink(look, PLAIN));
	if (findings->count > told)
		fprintf(out, "  %sthe first %zu of %zu findings%s", ink(look, DIM), told,
			findings->count, ink(look, PLAIN));
	fputc('\n', out);
	if (findings->none) {
		fputs("  ", out);
		hp_part_wrapped_write(findings->none, MARGIN, look, out);
	}
	for (size_t i = 0; i < told; i++)
		finding_write(report, &findings->list[i], look, out);
}
