/* SPDX-License-Identifier: MIT */
/*
 * json.c - findings in JSON.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/json.h"
#include "report/section/core/section.h"
#include "report/section/finding/finding.h"

void hp_finding_json(struct hp_report *report, const struct hp_finding *finding, cJSON *entry)
{
	char *gain = hp_finding_gain_text(report, finding);
	cJSON *evidence;

	hp_json_whole(entry, "number", finding->number);
	hp_json_text(entry, "text", finding->advice);
	hp_json_text(entry, "facts", finding->facts);
	hp_json_text(entry, "gain", gain);
	hp_json_text(entry, "subject", finding->subject);
	if (finding->file)
		hp_json_location(entry, finding->file, finding->line, 0);
	evidence = cJSON_AddArrayToObject(entry, "evidence");
	for (size_t i = 0; i < finding->evidence_count; i++) {
		const struct hp_evidence *from = &finding->evidence[i];
		cJSON *to = cJSON_CreateObject();

		cJSON_AddStringToObject(to, "section", from->section->json);
		hp_json_text(to, "row", from->row);
		hp_json_text(to, "text", from->text);
		cJSON_AddItemToArray(evidence, to);
	}
	free(gain);
}

cJSON *hp_findings_json(struct hp_report *report)
{
	const struct hp_findings *findings = hp_findings_of(report);
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < findings->count; i++) {
		cJSON *entry = cJSON_CreateObject();

		cJSON_AddStringToObject(entry, "rule", hp_finding_rule(&findings->list[i]));
		cJSON_AddStringToObject(entry, "confidence",
					hp_confidence_text(findings->list[i].confidence));
		hp_json_whole(entry, "gain_ns", hp_whole(findings->list[i].gain_ns));
		hp_json_whole(entry, "gain_bytes", findings->list[i].gain_bytes);
		hp_finding_json(report, &findings->list[i], entry);
		cJSON_AddItemToArray(array, entry);
	}
	return array;
}
