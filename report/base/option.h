/* SPDX-License-Identifier: MIT */
/*
 * option.h - getopt_long(3) with our form of error messages, and tables of
 * options for commands.
 */
#ifndef HP_REPORT_BASE_OPTION_H
#define HP_REPORT_BASE_OPTION_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * The next option's letter or value, -1 at their end. '?' = invalid; one line
 * on stderr gave the reason and the remedy. argv[0] is the command's name.
 * `letters` as for getopt_long, without a leading ':'.
 */
int hp_option_next(int argc, char **argv, const char *letters, const struct option *options,
		   int *index);

/* The options of a command. */
struct hp_option_table {
	const struct option *options;	/* `val` a letter: there is -LETTER, too; ends with zeroes */
	const char *usage;	/* for -h and --help, which need no entry */
	/* False = the value is invalid, which was reported. `value` NULL = takes none. */
	bool (*take)(void *command, int val, const char *value);
};

#define HP_OPTIONS_MAX 16	/* of a table */

/*
 * Passes each option to `take` with `command`; optind is then the first other
 * word. Returns -1 to continue, else the exit status.
 */
int hp_options_read(const struct hp_option_table *table, void *command, int argc, char **argv);

/* The last option as the user wrote it, "-n" or "--limit"; valid until the next one. */
const char *hp_option_spelled(void);

/*
 * `line` complains about a variable's value, and begins with the variable's name.  Fresh, with the
 * name of the last option instead, since that is what the user wrote.
 */
char *hp_option_complaint(const char *variable, const char *line);

/* The word of `words` (up to NULL) that is nearest to `word`; NULL = none has a letter in common. */
const char *hp_option_nearest(const char *word, const char *const *words);

#endif
