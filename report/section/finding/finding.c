/* SPDX-License-Identifier: MIT */
/*
 * finding.c - see finding.h.
 */
#include "report/section/finding/finding.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/section/core/section.h"
#include "report/section/finding/rule.h"

const char *hp_confidence_text(enum hp_confidence confidence)
{
	static const char *const texts[] = { [HP_GUESS] = "a guess",
					     [HP_POSSIBLE] = "possible",
					     [HP_LIKELY] = "likely",
					     [HP_MEASURED] = "measured" };

	return texts[confidence];
}

const char *hp_finding_rule(const struct hp_finding *finding)
{
	return finding->rule->key;
}

/* --- adding --- */

struct hp_finding *hp_finding_add(struct hp_survey *survey, const struct hp_rule *rule,
				  char *subject)
{
	struct hp_findings *findings = survey->findings;

	findings->list =
		hp_xgrow(findings->list, findings->count, &findings->room, sizeof(*findings->list));
	findings->list[findings->count] = (struct hp_finding){ .rule = rule, .subject = subject };
	return &findings->list[findings->count++];
}

struct hp_finding *hp_finding_add_function(struct hp_survey *survey, const struct hp_rule *rule,
					   uint32_t function)
{
	struct hp_finding *finding =
		hp_finding_add(survey, rule, hp_answer_function(survey->report, function));

	hp_survey_line(survey, function, &finding->file, &finding->line);
	return finding;
}

void hp_finding_evidence(struct hp_finding *finding, const struct hp_section *section, char *row,
			 char *text)
{
	if (finding->evidence_count == HP_EVIDENCE_MAX) {
		free(row);
		free(text);
		return;
	}
	finding->evidence[finding->evidence_count++] = (struct hp_evidence){ section, row, text };
}

char *hp_finding_where(const struct hp_finding *finding)
{
	if (!finding->file)
		return hp_xstrdup(finding->subject);
	return hp_xprintf("%s (%s:%d)", finding->subject, hp_name_file(finding->file),
			  finding->line);
}

/* --- texts --- */

char *hp_finding_gain_text(struct hp_report *report, const struct hp_finding *finding)
{
	double wall_ns = (double)report->model.elapsed_ns;
	struct hp_text_cell cell;

	if (finding->gain_ns > 0)
		return hp_xprintf("at most %s (%.0f%%) less",
				  hp_format_time(&cell, finding->gain_ns),
				  wall_ns > 0 ? 100 * finding->gain_ns / wall_ns : 0);
	if (finding->gain_bytes)
		return hp_xprintf("at most %s less", hp_format_bytes(&cell, finding->gain_bytes));
	return NULL;
}

char *hp_finding_explain(struct hp_report *report, const struct hp_finding *finding)
{
	char *gain = hp_finding_gain_text(report, finding), *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out) {
		free(gain);
		return hp_xstrdup("");
	}
	fprintf(out, "%u. %s\n\n", finding->number, finding->advice);
	fprintf(out, "rule        %s\n", finding->rule->key);
	fprintf(out, "gain        %s\n", gain ? gain : "not bounded: this is a fact, not a saving");
	fprintf(out, "confidence  %s\n", hp_confidence_text(finding->confidence));
	if (finding->file)
		fprintf(out, "place       %s:%d\n", finding->file, finding->line);
	fprintf(out, "facts       %s\n", finding->facts);
	fprintf(out, "\nEvidence\n");
	for (size_t i = 0; i < finding->evidence_count; i++)
		fprintf(out, "  %s, row \"%s\": %s\n", finding->evidence[i].section->json,
			finding->evidence[i].row, finding->evidence[i].text);
	fprintf(out, "\nThe rule\n  %s\n", finding->rule->pattern);
	fprintf(out, "\nWhen it is wrong\n  %s\n", finding->rule->wrong);
	fprintf(out, "\nHow to verify it\n  %s\n", finding->rule->verify);
	free(gain);
	return fclose(out) == 0 ? text : hp_xstrdup("");
}
