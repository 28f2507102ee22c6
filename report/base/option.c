/* SPDX-License-Identifier: MIT */
/*
 * option.c - see option.h.
 */
#include "report/base/option.h"

#include <stdio.h>
#include <string.h>

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
