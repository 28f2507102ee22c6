/* SPDX-License-Identifier: MIT */
/*
 * option.c - see option.h.
 */
#include "report/base/option.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "report/base/exit.h"
#include "util/assert.h"

#define LETTERS_MAX 128

static void complain(const char *command, const char *what, const char *option)
{
	fprintf(stderr, "hotpath %s: %s %s; see hotpath %s --help\n", command, what, option,
		command);
}

int hp_option_next(int argc, char **argv, const char *letters, const struct option *options,
		   int *index)
{
	char with_colon[LETTERS_MAX];	/* getopt then reports missing values separately */
	int plus = *letters == '+', letter;
	const char *word;

	snprintf(with_colon, sizeof(with_colon), "%s:%s", plus ? "+" : "", letters + plus);
	opterr = 0;
	letter = getopt_long(argc, argv, with_colon, options, index);
	if (letter != '?' && letter != ':')
		return letter;
	word = argv[optind - 1];
	if (letter == ':')
		complain(argv[0], "missing value for", word);
	else if (strncmp(word, "--", 2) == 0)
		complain(argv[0], optopt ? "unexpected value for" : "unknown option", word);
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
