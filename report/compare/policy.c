/* SPDX-License-Identifier: MIT */
/*
 * policy.c - see policy.h.
 */
#include "report/compare/policy.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/section/core/section.h"

#define POLICY_MAX (1 << 20)	/* bytes */
#define WORDS 4
#define TOTAL "total"

static const struct {
	const char *word;
	double times;
} units[] = {
	{ "", 1 },   { "K", 1024 }, { "M", 1048576 }, { "G", 1073741824 },
	{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 },    { "s", 1e9 },
};

static bool fits(const char *pattern, const char *text)
{
	return strcmp(pattern, text) == 0 || fnmatch(pattern, text, FNM_NOESCAPE) == 0;
}

static bool limit_read(struct hp_policy_rule *rule, const char *text)
{
	char *end;

	if (strcmp(text, "off") == 0) {
		rule->is_off = true;
		return true;
	}
	rule->limit = strtod(text, &end);
	if (end == text || !isfinite(rule->limit) || rule->limit < 0)
		return false;
	if (strcmp(end, "%") == 0) {
		rule->is_percent = true;
		return true;
	}
	for (size_t i = 0; *text == '+' && i < sizeof(units) / sizeof(units[0]); i++)
		if (strcmp(end, units[i].word) == 0) {
			rule->limit *= units[i].times;
			return true;
		}
	return false;
}

/* By its key, or by its name in reports. */
static bool is_section(const struct hp_section *section, const char *pattern)
{
	if (!section)
		return fits(pattern, TOTAL);
	return fits(pattern, section->key) || fits(pattern, section->name);
}

static bool is_metric(const char *section, const char *metric)
{
	bool is_known = false;

	for (size_t i = 0; i < hp_compare_measure_count; i++) {
		const struct hp_compare_measure *measure = &hp_compare_measures[i];

		is_known |= is_section(measure->section, section) && fits(metric, measure->metric);
	}
	return is_known;
}

/* Fields have blanks or, since names of functions have blanks, tabs between them. */
static size_t words_split(char *line, char *words[WORDS])
{
	const char *blanks = strchr(line, '\t') ? "\t\r" : " \r";
	size_t count = 0;

	for (char *word = strtok_r(line, blanks, &line); word;
	     word = strtok_r(NULL, blanks, &line)) {
		if (count == WORDS)
			return WORDS + 1;
		words[count++] = word;
	}
	return count;
}

/* A metric of two words, as in own time, is written own-time. */
static const char *metric_of(char *word)
{
	for (size_t i = 0; i < hp_compare_measure_count; i++) {
		const char *metric = hp_compare_measures[i].metric;
		size_t at = 0;

		while (metric[at] &&
		       (metric[at] == word[at] || (metric[at] == ' ' && word[at] == '-')))
			at++;
		if (!metric[at] && !word[at])
			return metric;
	}
	return word;
}

/* NULL, or the error in the line. */
static const char *line_read(struct hp_policy *policy, char *line)
{
	char *words[WORDS] = { NULL };
	struct hp_policy_rule rule = { .section = NULL };
	size_t count;

	line[strcspn(line, "#")] = 0;
	count = words_split(line, words);
	if (!count)
		return NULL;
	if (count != WORDS)
		return "needs a section, a function, a metric and a limit";
	rule.section = words[0];
	rule.function = words[1];
	rule.metric = metric_of(words[2]);
	if (!is_metric(rule.section, rule.metric))
		return "this section has no such metric; hotpath compare --format=json lists them";
	if (!limit_read(&rule, words[3]))
		return "the limit must be a percentage (5%), a number after a + (+64K), or off";
	policy->rules = hp_xgrow(policy->rules, policy->count, &policy->room, sizeof(rule));
	policy->rules[policy->count++] = rule;
	return NULL;
}

static char *file_read(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text;
	size_t size;

	if (!file)
		return NULL;
	text = hp_xmalloc(POLICY_MAX + 1);
	size = fread(text, 1, POLICY_MAX + 1, file);
	if (size > POLICY_MAX)
		errno = EFBIG;
	if (size > POLICY_MAX || ferror(file)) {
		free(text);
		text = NULL;
	} else
		text[size] = 0;
	fclose(file);
	return text;
}

bool hp_policy_read(struct hp_policy *policy, const char *path)
{
	size_t number = 0;
	char *rest, *line;

	*policy = (struct hp_policy){ .text = file_read(path) };
	if (!policy->text) {
		fprintf(stderr, "hotpath compare: --policy: %s: %s\n", path, strerror(errno));
		return false;
	}
	rest = policy->text;
	while ((line = strsep(&rest, "\n"))) {
		const char *wrong = line_read(policy, line);

		number++;
		if (wrong) {
			fprintf(stderr, "hotpath compare: --policy: %s:%zu: %s\n", path, number,
				wrong);
			hp_policy_release(policy);
			return false;
		}
	}
	return true;
}

void hp_policy_release(struct hp_policy *policy)
{
	free(policy->text);
	free(policy->rules);
	*policy = (struct hp_policy){ .text = NULL };
}

const struct hp_policy_rule *hp_policy_of(const struct hp_policy *policy,
					  const struct hp_compare_row *row)
{
	const char *name = *row->name ? row->name : "-";

	for (size_t i = 0; i < policy->count; i++) {
		const struct hp_policy_rule *rule = &policy->rules[i];

		if (is_section(row->measure->section, rule->section) &&
		    fits(rule->metric, row->measure->metric) && fits(rule->function, name))
			return rule;
	}
	return NULL;
}

bool hp_policy_fails(const struct hp_policy_rule *rule, const struct hp_compare_row *row)
{
	if (rule->is_off || (row->verdict != HP_COMPARE_MORE && row->verdict != HP_COMPARE_NEW))
		return false;
	if (rule->is_percent)
		return hp_compare_percent(row) > rule->limit;
	return row->b - row->a > rule->limit;
}
