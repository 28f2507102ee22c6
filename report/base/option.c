/* SPDX-License-Identifier: MIT */
/*
 * option.c - see option.h.
 */
#include "report/base/option.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/exit.h"
#include "report/base/memory.h"
#include "segment/setting.h"
#include "util/assert.h"
#include "util/near.h"

#define NAMES_MAX 64
#define VARIABLE_FIRST 1024	/* values of options without a letter */

static char spelled[64];

static void complain(const char *command, const char *what, const char *option)
{
	fprintf(stderr, "hotpath %s: %s %s; see hotpath %s --help\n", command, what, option,
		command);
}

const char *hp_option_nearest(const char *word, const char *const *words)
{
	unsigned least = (unsigned)strlen(word);
	const char *nearest = NULL;

	for (; *words; words++) {
		unsigned distance = hp_near(word, strlen(word), *words, strlen(*words));

		if (distance < least) {
			least = distance;
			nearest = *words;
		}
	}
	return nearest;
}

bool hp_option_sections(const char *command, const char *list)
{
	const char *word, *nearest;
	size_t length, size;

	while ((word = hp_section_next(&list, &length))) {
		bool is_out = *word == '-';

		word += is_out;
		length -= is_out;
		if (hp_section_is_known(word, length))
			continue;
		nearest = hp_section_nearest(word, length, &size);
		fprintf(stderr, "%s: %s: no section '%.*s'", command, hp_option_spelled(),
			(int)length, word);
		if (nearest)
			fprintf(stderr, "; the nearest is '%.*s'", (int)size, nearest);
		fprintf(stderr, "; hotpath help sections lists all\n");
		return false;
	}
	return true;
}

/* `word` is --name or --name=value. */
static void complain_unknown(const char *command, const char *word, const struct option *options)
{
	const char *names[NAMES_MAX + 1];
	char *name = hp_xprintf("%.*s", (int)strcspn(word + 2, "="), word + 2);
	const char *nearest;
	size_t count = 0;

	for (; options->name && count < NAMES_MAX; options++)
		names[count++] = options->name;
	names[count] = NULL;
	nearest = hp_option_nearest(name, names);
	if (nearest)
		fprintf(stderr,
			"hotpath %s: unknown option %s; the nearest is --%s; see hotpath %s "
			"--help\n",
			command, word, nearest, command);
	else
		complain(command, "unknown option", word);
	free(name);
}

/* A table's options in the form of getopt_long(3). */
struct getopt_form {
	struct option options[HP_OPTIONS_MAX + 2];
	char letters[2 * HP_OPTIONS_MAX + 4];
	size_t count, used;
};

static void form_add(struct getopt_form *form, struct option option)
{
	HP_ASSERT(form->count <= HP_OPTIONS_MAX);
	form->options[form->count++] = option;
	if (option.val > UCHAR_MAX || !isalpha(option.val))
		return;
	form->letters[form->used++] = (char)option.val;
	if (option.has_arg == required_argument)
		form->letters[form->used++] = ':';
}

/* An option without a letter gets a value beyond those of `options`. */
static int variable_val(const struct hp_option_table *table, size_t at)
{
	const struct hp_option_variable *variable = &table->variables[at];

	return variable->letter ? variable->letter : VARIABLE_FIRST + (int)at;
}

static void form_make(struct getopt_form *form, const struct hp_option_table *table)
{
	const struct hp_option_variable *variable = table->variables;

	*form = (struct getopt_form){ 0 };
	if (table->ends_at_word)
		form->letters[form->used++] = '+';
	form->letters[form->used++] = ':';	/* getopt then reports missing values separately */
	for (size_t i = 0; variable && variable[i].name; i++)
		form_add(form, (struct option){ variable[i].name,
						variable[i].value ? no_argument : required_argument,
						NULL, variable_val(table, i) });
	for (const struct option *option = table->options; option && option->name; option++)
		form_add(form, *option);
	form_add(form, (struct option){ "help", no_argument, NULL, 'h' });
}

/* The next option's value, -1 at their end, '?' = invalid, which was reported. */
static int next(int argc, char **argv, const struct getopt_form *form)
{
	int letter, at = -1;
	const char *word;

	opterr = 0;
	letter = getopt_long(argc, argv, form->letters, form->options, &at);
	if (at >= 0)
		snprintf(spelled, sizeof(spelled), "--%s", form->options[at].name);
	else
		snprintf(spelled, sizeof(spelled), "-%c", letter);
	if (letter != '?' && letter != ':')
		return letter;
	word = argv[optind - 1];
	if (letter == ':')
		complain(argv[0], "missing value for", word);
	else if (strncmp(word, "--", 2) == 0 && optopt)
		complain(argv[0], "unexpected value for", word);
	else if (strncmp(word, "--", 2) == 0)
		complain_unknown(argv[0], word, form->options);
	else
		complain(argv[0], "unknown option", (char[]){ '-', (char)optopt, 0 });
	return '?';
}

static bool option_take(const struct hp_option_table *table, void *command, int val)
{
	const struct hp_option_variable *variable = table->variables;

	for (size_t i = 0; variable && variable[i].name; i++)
		if (variable_val(table, i) == val)
			return table->set(command, &variable[i],
					  variable[i].value ? variable[i].value : optarg);
	return table->take(command, val, optarg);
}

int hp_option_read(const struct hp_option_table *table, void *command, int argc, char **argv)
{
	struct getopt_form form;
	int val;

	form_make(&form, table);
	val = next(argc, argv, &form);
	if (val == -1)
		return -1;
	if (val == 'h') {
		fputs(table->usage, stdout);
		return 0;
	}
	return val != '?' && option_take(table, command, val) ? HP_OPTION_READ : HP_EXIT_USAGE;
}

int hp_options_read(const struct hp_option_table *table, void *command, int argc, char **argv)
{
	int status;

	if (table->ends_at_word)
		optind = 0;	/* glibc starts over, and reads the + */
	do
		status = hp_option_read(table, command, argc, argv);
	while (status == HP_OPTION_READ);
	return status;
}

const char *hp_option_spelled(void)
{
	return spelled;
}

char *hp_option_complaint(const char *variable, const char *line)
{
	size_t length = strlen(variable);

	if (strncmp(line, variable, length) == 0 && line[length] == ':')
		return hp_xprintf("%s%s", spelled, line + length);
	return hp_xstrdup(line);
}
