/* SPDX-License-Identifier: MIT */
/*
 * command.c - `hotpath compare`: reads or makes the runs, prints the differences, and exits
 * with a status for build servers.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/exit.h"
#include "report/base/memory.h"
#include "report/compare/judge.h"
#include "report/compare/lines.h"
#include "report/compare/run.h"
#include "report/view/view.h"
#include "segment/setting.h"

#define EXIT_ABOVE 3

extern char **environ;

/* A command with its arguments, or the first of several runs. */
static char *side_name(const struct hp_compare_ask *ask, char **words, size_t count)
{
	char *name = hp_xstrdup(words[0]);

	if (!ask->runs && count > 1) {
		char *more = hp_xprintf("%s and %zu more", name, count - 1);

		free(name);
		return more;
	}
	for (size_t i = 1; i < count && ask->runs; i++) {
		char *longer = hp_xprintf("%s %s", name, words[i]);

		free(name);
		name = longer;
	}
	return name;
}

static bool runs_load(struct hp_compare *compare, const struct hp_compare_ask *ask,
		      hp_compare_seen *seen, void *const contexts[2])
{
	for (size_t i = 0; i < ask->a_count + ask->b_count; i++) {
		const char *path = i < ask->a_count ? ask->a[i] : ask->b[i - ask->a_count];
		cJSON *report = hp_compare_load(path, seen, contexts[i >= ask->a_count]);

		if (!report)
			return false;
		hp_compare_add(compare, i, report);
		cJSON_Delete(report);
	}
	return true;
}

static void compare_write(const struct hp_compare *compare, const struct hp_compare_ask *ask,
			  struct hp_compare_flame *flame, FILE *out)
{
	struct hp_compare_text text;
	struct hp_settings settings;

	if (ask->format == HP_COMPARE_JSON) {
		hp_compare_json_write(compare, ask, out);
		return;
	}
	hp_compare_text_init(&text, compare, ask);
	if (ask->format == HP_COMPARE_MARKDOWN) {
		hp_compare_markdown_write(&text, out);
	} else if (ask->format == HP_COMPARE_HTML) {
		hp_compare_html_write(&text, flame, out);
	} else {
		hp_settings_read(&settings, environ, NULL, NULL);
		hp_compare_table_write(&text, hp_look_of(fileno(out), &settings).width, out);
	}
	hp_compare_text_release(&text);
}

static bool output_write(const struct hp_compare *compare, const struct hp_compare_ask *ask,
			 struct hp_compare_flame *flame)
{
	FILE *out = ask->output ? fopen(ask->output, "we") : stdout;
	bool is_written;

	if (!out) {
		fprintf(stderr, "hotpath compare: --output: %s: %s\n", ask->output,
			strerror(errno));
		return false;
	}
	compare_write(compare, ask, flame, out);
	is_written = !ferror(out);
	if ((ask->output ? fclose(out) : fflush(out)) != 0 || !is_written) {
		fprintf(stderr, "hotpath compare: %s: %s\n",
			ask->output ? ask->output : "standard output", strerror(errno));
		return false;
	}
	return true;
}

static size_t failures_tell(const struct hp_compare *compare, const struct hp_compare_ask *ask)
{
	size_t count = 0;

	for (size_t i = 0; i < compare->row_count; i++)
		count += hp_compare_fails(compare, &compare->rows[i], ask);
	if (count)
		fprintf(stderr, "hotpath compare: %zu figure%s grew by more than allowed\n", count,
			count == 1 ? "" : "s");
	return count;
}

static int compare_asked(const struct hp_compare_ask *ask)
{
	size_t a_count = ask->runs ? ask->runs : ask->a_count;
	size_t b_count = ask->runs ? ask->runs : ask->b_count;
	char *a = side_name(ask, ask->a, ask->a_count), *b = side_name(ask, ask->b, ask->b_count);
	struct hp_compare_flame flame;
	hp_compare_seen *seen = ask->format == HP_COMPARE_HTML ? hp_compare_flame_add : NULL;
	void *const contexts[2] = { &flame.sides[0], &flame.sides[1] };
	struct hp_compare compare;
	bool is_read;
	int status = HP_EXIT_FAILED;

	hp_compare_init(&compare, a, a_count, b, b_count);
	hp_compare_flame_init(&flame);
	is_read = ask->runs ? hp_compare_run_all(&compare, ask, seen, contexts)
			    : runs_load(&compare, ask, seen, contexts);
	if (is_read) {
		hp_compare_judge(&compare);
		if (output_write(&compare, ask, &flame))
			status = failures_tell(&compare, ask) ? EXIT_ABOVE : 0;
	}
	hp_compare_flame_release(&flame);
	hp_compare_release(&compare);
	free(a);
	free(b);
	return status;
}

int hp_cmd_compare(int argc, char **argv)
{
	struct hp_compare_ask ask;
	int status = hp_compare_ask_read(&ask, argc, argv);

	if (status < 0)
		status = compare_asked(&ask);
	hp_compare_ask_release(&ask);
	return status;
}
