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

/* An option that sets a HOTPATH_ variable. */
struct hp_option_variable {
	const char *name;
	int letter;	/* 0 = none */
	const char *variable;
	const char *value;	/* NULL = the option takes one */
};

/* The options of a command. */
struct hp_option_table {
	const struct option
		*options;	/* NULL = none; ends with zeroes. `val` a letter: there is -LETTER, too */
	const char *usage;	/* for -h and --help, which need no entry */
	/* False = the value is invalid, which was reported. `value` NULL = takes none. */
	bool (*take)(void *command, int val, const char *value);
	const struct hp_option_variable *variables;	/* ends with zeroes; NULL = none */
	bool (*set)(void *command, const struct hp_option_variable *option, const char *value);
	bool ends_at_word;	/* options end at the first other word; optind starts at 0 */
};

#define HP_OPTIONS_MAX 32	/* of a table, with its variables */
#define HP_OPTION_READ (-2)

/*
 * Passes the next option to `take` or `set` with `command`. argv[0] is the command's name.
 * Returns HP_OPTION_READ, -1 at the end of the options, else the exit status; a line on
 * stderr then gave the reason and the remedy.
 */
int hp_option_read(const struct hp_option_table *table, void *command, int argc, char **argv);

/* The same for all options; optind is then the first other word. Returns -1 to continue. */
int hp_options_read(const struct hp_option_table *table, void *command, int argc, char **argv);

/* The last option as the user wrote it, "-n" or "--limit"; valid until the next one. */
const char *hp_option_spelled(void);

/*
 * False, after one line on stderr, if a word of the last option's list names no section: a setting
 * would only warn, since it must not stop the program.
 */
bool hp_option_sections(const char *command, const char *list);

/*
 * `line` complains about a variable's value, and begins with the variable's name.  Fresh, with the
 * name of the last option instead, as the user wrote it.
 */
char *hp_option_complaint(const char *variable, const char *line);

/* The word of `words` (up to NULL) that is nearest to `word`; NULL = none has a letter in common. */
const char *hp_option_nearest(const char *word, const char *const *words);

#endif
