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
#include "util/assert.h"
#include "util/near.h"

#define LETTERS_MAX 128
#define NAMES_MAX 64

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

int hp_option_next(int argc, char **argv, const char *letters, const struct option *options,
		   int *index)
{
	char with_colon[LETTERS_MAX];	/* getopt then reports missing values separately */
	int plus = *letters == '+', letter, at = -1;
	const char *word;

	snprintf(with_colon, sizeof(with_colon), "%s:%s", plus ? "+" : "", letters + plus);
	opterr = 0;
	letter = getopt_long(argc, argv, with_colon, options, &at);
	if (index && at >= 0)
		*index = at;
	if (at >= 0)
		snprintf(spelled, sizeof(spelled), "--%s", options[at].name);
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
		complain_unknown(argv[0], word, options);
	else
		complain(argv[0], "unknown option", (char[]){ '-', (char)optopt, 0 });
	return '?';
}

int hp_options_read(const struct hp_option_table *table, void *command, int argc, char **argv)
{
	struct option options[HP_OPTIONS_MAX + 2] = { { NULL, 0, NULL, 0 } };
	char letters[2 * HP_OPTIONS_MAX + 2];
	size_t count = 0, used = 0;
	int val;

	for (; table->options[count].name; count++) {
		const struct option *option = &table->options[count];

		HP_ASSERT(count < HP_OPTIONS_MAX);
		options[count] = *option;
		if (option->val > UCHAR_MAX || !isalpha(option->val))
			continue;
		letters[used++] = (char)option->val;
		if (option->has_arg == required_argument)
			letters[used++] = ':';
	}
	options[count] = (struct option){ "help", no_argument, NULL, 'h' };
	strcpy(letters + used, "h");
	while ((val = hp_option_next(argc, argv, letters, options, NULL)) != -1) {
		if (val == 'h') {
			fputs(table->usage, stdout);
			return 0;
		}
		if (val == '?' || !table->take(command, val, optarg))
			return HP_EXIT_USAGE;
	}
	return -1;
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
