/* SPDX-License-Identifier: MIT */
/*
 * name.c - how names are shortened in the default report and in findings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/name/short.h"
#include "report/name/name.h"
#include "report/name/wrapper.h"
#include "report/section/answer/answer.h"
#include "report/section/cpu/cpu.h"
#include "report/section/wait/lock_section.h"

#define LOCK_DEPTH 2 /* of a name's parts: "Account::m" */
#define TIMES "\303\227"
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

/* "python3.11+0x5899ae" is a place in a file of the run without a symbol: the file's name, fresh; NULL = not one. */
static char *file_of(const struct hp_report *report, const char *text)
{
	const char *end = strstr(text, "+0x");
	size_t length = end ? (size_t)(end - text) : 0;

	for (size_t i = 0; length && i < report->model.object_count; i++) {
		const char *file = hp_name_file(report->model.objects[i].path);

		if (strncmp(file, text, length) == 0 && !file[length])
			return hp_xstrdup(file);
	}
	return NULL;
}

/* A place in the source has its file's name alone; a lock on a file has its path. */
char *hp_answer_lock(struct hp_report *report, const struct hp_lock_row *lock)
{
	const char *name = hp_lock_name(report, lock);
	bool is_place = !lock->label && lock->kind != HP_LOCK_FILE &&
			lock->kind != HP_LOCK_CHANNEL && !strchr(name, '<') && !strchr(name, ' ');

	char *file = file_of(report, name), *text;
	const char *times = strstr(name, TIMES);

	if (!file)
		return hp_name_display(is_place ? hp_name_file(name) : name, LOCK_DEPTH,
				       HP_NAME_SHORT);
	text = hp_xprintf("of [%s]%s%s", file, times ? " " : "", times ? times : "");
	free(file);
	return text;
}

char *hp_answer_lock_kind(struct hp_report *report, const struct hp_lock_row *lock, uint32_t side)
{
	const char *kind = hp_lock_row_kind(lock, side);
	char *name = hp_answer_lock(report, lock);
	char *text = hp_xprintf("%s %s", strcmp(kind, "cond") == 0 ? "condition" : kind, name);

	free(name);
	return text;
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

/* Callers of main, or of a thread's first function, say nothing. */
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

		if (count && is_outermost(step))
			break;
		if (!is_again) {
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
	char *file = file_of(report, path);
	FILE *out = file ? NULL : open_memstream(&text, &size);

	if (file) {
		free(whole);
		text = hp_xprintf("[%s] (no symbols)", file);
		free(file);
		return text;
	}
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
