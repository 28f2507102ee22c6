/* SPDX-License-Identifier: MIT */
/*
 * name.c - how names are shortened in the default report and in findings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/name/short.h"
#include "report/name/wrapper.h"
#include "report/section/answer/answer.h"
#include "report/section/cpu/cpu.h"

#define ARROW " \342\206\220 "

char *hp_answer_name(const struct hp_report *report, const char *name)
{
	return hp_name_display(name, (size_t)report->settings->name_depth, HP_NAME_SHORT);
}

/* Tables prefix main with its program to distinguish it; here it is main. */
char *hp_answer_function(struct hp_report *report, uint32_t function)
{
	const struct hp_cpu_function *f = &hp_report_cpu(report)->functions[function];
	const char *name = hp_cpu_name(report, f);

	return hp_answer_name(report, name == report->caller ? f->name : name);
}

/* One function of a path. */
struct step {
	char *at;
	size_t length; /* of what is shown of it: of code without a name only the file */
};

static struct step step_of(char *path)
{
	char *end = strstr(path, ARROW), *bracket;
	struct step step = { path, end ? (size_t)(end - path) : strlen(path) };

	if (*path != '[')
		return step;
	bracket = memchr(path, ']', step.length);
	step.length = bracket ? (size_t)(bracket + 1 - path) : step.length;
	return step;
}

/* What called main, or a thread's first function, says nothing. */
static bool is_outermost(struct step step)
{
	char *name = hp_xprintf("%.*s", (int)step.length, step.at);
	bool is = hp_wrapper_is_outermost(name) && strcmp(name, "main") != 0;

	free(name);
	return is;
}

static bool is_same(struct step a, struct step b)
{
	return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

/* Code without names is one step, however often its file comes. */
static void steps_write(char *path, size_t most, FILE *out)
{
	struct step last = { NULL, 0 };
	size_t count = 0;

	for (char *at = path; at && count < most;) {
		struct step step = step_of(at);
		char *next = strstr(at, ARROW);
		bool is_again = last.at && *at == '[' && is_same(step, last);

		if (!is_again && !(count && is_outermost(step))) {
			fprintf(out, "%s%.*s", count ? ARROW : "", (int)step.length, step.at);
			count++;
		}
		last = step;
		at = next ? next + strlen(ARROW) : NULL;
	}
	if (count == 1 && last.at && *path == '[')
		fputs(" (no symbols)", out);
}

char *hp_answer_path_of(const struct hp_report *report, const char *path, size_t most)
{
	char *whole = hp_name_display_path(path, (size_t)report->settings->name_depth);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return whole;
	steps_write(whole, most, out);
	if (fclose(out) != 0)
		return whole;
	free(whole);
	return text;
}

char *hp_answer_path(const struct hp_report *report, const char *path)
{
	return hp_answer_path_of(report, path, SIZE_MAX);
}
