/* SPDX-License-Identifier: MIT */
/*
 * section.c - the section of findings.
 */
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/finding.h"

static void get_text(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = ((const struct hp_finding *)cell->row)->advice;
	value->is_label = true;
}

static void get_gain(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = ((const struct hp_finding *)cell->row)->gain_ns;
	value->is_unknown = value->number <= 0;
}

static void get_share(const struct hp_cell *cell, struct hp_value *value)
{
	double wall_ns = (double)cell->report->model.elapsed_ns;

	get_gain(cell, value);
	value->number = wall_ns > 0 ? 100 * value->number / wall_ns : 0;
}

static void get_bytes(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = (double)((const struct hp_finding *)cell->row)->gain_bytes;
	value->is_unknown = value->number <= 0;
}

static void get_confidence(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = hp_confidence_text(((const struct hp_finding *)cell->row)->confidence);
}

static void get_rule(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = hp_finding_rule(cell->row);
}

static const struct hp_column columns[] = {
	{ "What to do", "name", "name", HP_UNIT_NAME, .get = get_text },
	{ "At most", "gain", "gain_ns", HP_UNIT_TIME, .get = get_gain },
	{ "% Wall", "gain_percent", "gain_percent", HP_UNIT_SHARE, .get = get_share },
	{ "Memory", "gain_memory", "gain_bytes", HP_UNIT_BYTES, .get = get_bytes,
	  .need = HP_NEED_KNOWN },
	{ "Sure", "confidence", "confidence", HP_UNIT_TEXT, .get = get_confidence },
	{ "Rule", "rule", "rule", HP_UNIT_TEXT, .get = get_rule },
	{ 0 },
};

static void fill(struct hp_report *report, struct hp_list *list)
{
	const struct hp_findings *findings = hp_findings_of(report);

	list->total = findings->count;
	list->rows = hp_xcalloc(list->total, sizeof(*list->rows));
	for (size_t i = 0; i < list->total; i++)
		list->rows[i] = &findings->list[i];
	hp_section_cut(&hp_findings_section, report, list);
}

static const char *empty(struct hp_report *report)
{
	const struct hp_findings *findings = hp_findings_of(report);

	return findings->none ? findings->none : "";
}

static void raw_add(struct hp_report *report, const void *row, struct cJSON *entry)
{
	hp_finding_json(report, row, entry);
}

const struct hp_section hp_findings_section = {
	.key = "findings",
	.json = "findings",
	.name = "findings",
	.help = "what to do: patterns of waste, and an upper bound of their cost",
	.subject = HP_SUBJECT_ANSWER,
	.columns = columns,
	.fill = fill,
	.is_prose = true,
	.about = "Patterns of waste, and the most that a fix can gain.",
	.empty = empty,
	.array = hp_findings_json,
	.extra = { .raw = raw_add, .raw_keys = HP_FINDING_KEYS },
	.tool = { .help = "What to do about this run: patterns of waste with evidence, and the most "
			  "that a fix can gain.  Ask this first.",
		  .meaning =
			  "Each finding is a known pattern of waste.  Its gain is an upper bound "
			  "of wall time (or memory), not a forecast.  Without a finding there may still be waste.",
		  .next = "The sections named in a finding's evidence; then change the program "
			  "and compare two runs." },
};
