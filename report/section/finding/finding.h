/* SPDX-License-Identifier: MIT */
/*
 * finding.h - recommendations for a run: patterns of waste, each with the most it can
 * cost.
 *
 * A rule searches the model for one pattern.  It reports a finding only if it can bound the
 * pattern's cost, or if the fact itself is worth knowing.  A gain is an upper bound of
 * wall time: the fix saves that or less.  No finding does not mean that nothing is wasted;
 * it means that there is no known pattern.
 *
 * A new rule is one file with a struct hp_rule, and one line in rules.h.
 *
 * Folder: report/section/finding - patterns of waste, with bounds of their cost, and
 *   recommendations
 * May use: report/section/answer report/section/loop report/section/stream report/section/thread report/section/channel
 *   report/section/channel/row report/section/wait report/section/memory
 *   report/section/cpu report/section/timing report/section/core report/name
 *   report/read report/elf report/base segment segment/layout util
 */
#ifndef HP_REPORT_SECTION_FINDING_FINDING_H
#define HP_REPORT_SECTION_FINDING_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/section/core/report.h"

#define HP_FINDINGS_TOLD 4	/* in the default report */
#define HP_EVIDENCE_MAX 4

/* How sure a finding is, least sure first. */
enum hp_confidence {
	HP_GUESS,	/* from a name */
	HP_POSSIBLE,
	HP_LIKELY,	/* from samples and names of known functions */
	HP_MEASURED,	/* each wait or block was recorded */
};

struct hp_section;

/* A row that a finding follows from. */
struct hp_evidence {
	const struct hp_section *section;
	char *row;	/* the row's name there */
	char *text;	/* its texts */
};

struct hp_rule;

struct hp_finding {
	const struct hp_rule *rule;
	char *advice;	/* one sentence: the recommendation, and where */
	char *facts;	/* its evidence, in short */
	double gain_ns;	/* at most, of the wall time; 0 = not bounded */
	uint64_t gain_bytes;	/* at most, of memory; 0 = none */
	enum hp_confidence confidence;
	char *subject;	/* its subject: a function, a lock, a program; never NULL */
	const char *file;	/* of the place in the source; NULL = not known */
	int line;
	struct hp_evidence evidence[HP_EVIDENCE_MAX];
	size_t evidence_count;
	uint32_t number;	/* from 1, in order */
};

enum hp_findings_state {
	HP_FINDINGS_SOME,
	HP_FINDINGS_NONE,	/* no known pattern */
	HP_FINDINGS_FEW,	/* the run is too short, or has too few samples, to judge */
};

struct hp_findings {
	struct hp_finding *list;	/* the largest gain first; a leak before churn of its blocks */
	size_t count;
	size_t room;
	enum hp_findings_state state;
	char *none;	/* a sentence, if there is none about time: what dominates it; else NULL */
};

/* Made on first request; lives as long as the report. */
const struct hp_findings *hp_findings_of(struct hp_report *report);

/* "measured", "likely", "possible", "a guess" */
const char *hp_confidence_text(enum hp_confidence confidence);

/* "at most 2.72 s (81%) less", "at most 300 MB less"; fresh, NULL = no gain is bounded. */
char *hp_finding_gain_text(struct hp_report *report, const struct hp_finding *finding);

/* The rule's key, and its texts. */
const char *hp_finding_rule(const struct hp_finding *finding);

/* A fresh text of several lines: evidence, the rule, when it is wrong, how to verify it. */
char *hp_finding_explain(struct hp_report *report, const struct hp_finding *finding);

struct cJSON;

/* Adds evidence that its row in a table lacks. */
void hp_finding_json(struct hp_report *report, const struct hp_finding *finding,
		     struct cJSON *entry);
#define HP_FINDING_KEYS \
	"number:i text:s facts:s gain:s subject:s location:@location " \
	"evidence:[@evidence]"

/* A fresh array of all of them. */
struct cJSON *hp_findings_json(struct hp_report *report);

#endif
