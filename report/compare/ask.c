/* SPDX-License-Identifier: MIT */
/*
 * ask.c - the options of `hotpath compare`, and the words after them.
 *
 * Options end at the first other word, as in all commands that run programs: the rest
 * may be a program's options.  But if runs are given, options may follow them.
 * Both sides are divided by "--"; two runs need none.
 */
#include "report/compare/ask.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/exit.h"
#include "report/base/memory.h"
#include "report/base/option.h"

#define ROWS_USUAL 15
#define LEAST_USUAL 1	/* percent */

static const char usage_text[] =
	"Usage: hotpath compare [OPTION]... A B\n"
	"       hotpath compare [OPTION]... A... -- B...\n"
	"       hotpath compare --runs=N [OPTION]... COMMAND [ARGUMENT]... -- COMMAND [ARGUMENT]...\n"
	"Compare A with B.  Each is a run (see hotpath list), several runs, or a\n"
	"command that is run N times, alternating with the other one.  A run is a kept one, a file,\n"
	"or a report in JSON (hotpath report -f json -n 0).\n\n"
	"Counts (calls, blocks, bytes, locks, messages) need one run a side.  Times need 5, better\n"
	"10, alternating on a quiet machine; otherwise they are shown but not judged.\n\n"
	"  -r, --runs=N          run both commands N times, alternating\n"
	"      --input=FILE      the commands' standard input (/dev/null)\n"
	"  -f, --format=WORD     table, markdown, json, html\n"
	"  -o, --output=FILE     write there, not to standard output\n"
	"  -n, --limit=N         rows of counts and of times; 0 = all (15)\n"
	"      --all             call paths of allocations, too\n"
	"      --fail-above=PCT  exit status 3 if something grew by more than PCT percent\n"
	"      --least=PERCENT   of its total, for rows that --fail-above checks (1)\n"
	"      --policy=FILE     exit status 3 if something grew by more than FILE allows\n"
	"  -h, --help            this\n";

static bool percent_read(const char *option, const char *text, double *percent)
{
	char *end;
	double number = strtod(text, &end);

	if (end != text && !*end && number >= 0 && number <= 1e6) {
		*percent = number;
		return true;
	}
	fprintf(stderr,
		"hotpath compare: --%s: '%s' is not a percentage; give a number, such as 10\n",
		option, text);
	return false;
}

static bool number_read(const char *option, const char *text, size_t least, size_t most,
			size_t *number)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text >= '0' && *text <= '9' && !*end && value >= least && value <= most) {
		*number = value;
		return true;
	}
	fprintf(stderr, "hotpath compare: --%s: '%s' is not valid; give a number from %zu to %zu\n",
		option, text, least, most);
	return false;
}

static bool format_read(const char *text, enum hp_compare_format *format)
{
	static const char *const words[] = { "table", "json", "markdown", "html" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(text, words[i]) == 0) {
			*format = (enum hp_compare_format)i;
			return true;
		}
	fprintf(stderr,
		"hotpath compare: --format: '%s' is not one of table, markdown, json, html\n",
		text);
	return false;
}

enum { ASK_INPUT = 256, ASK_ALL, ASK_FAIL_ABOVE, ASK_LEAST, ASK_POLICY };

static const struct option options[] = {
	{ "runs", required_argument, NULL, 'r' },
	{ "input", required_argument, NULL, ASK_INPUT },
	{ "format", required_argument, NULL, 'f' },
	{ "output", required_argument, NULL, 'o' },
	{ "limit", required_argument, NULL, 'n' },
	{ "all", no_argument, NULL, ASK_ALL },
	{ "fail-above", required_argument, NULL, ASK_FAIL_ABOVE },
	{ "least", required_argument, NULL, ASK_LEAST },
	{ "policy", required_argument, NULL, ASK_POLICY },
	{ NULL, 0, NULL, 0 },
};

static bool option_take(void *command, int val, const char *value)
{
	struct hp_compare_ask *ask = command;

	switch (val) {
	case 'r':
		return number_read("runs", value, 1, HP_COMPARE_RUNS_MAX, &ask->runs);
	case ASK_INPUT:
		ask->input = value;
		return true;
	case 'f':
		return format_read(value, &ask->format);
	case 'o':
		ask->output = value;
		return true;
	case 'n':
		return number_read("limit", value, 0, 1000000, &ask->rows);
	case ASK_ALL:
		ask->is_all = true;
		return true;
	case ASK_FAIL_ABOVE:
		return percent_read("fail-above", value, &ask->above);
	case ASK_LEAST:
		return percent_read("least", value, &ask->least);
	default:	/* ASK_POLICY */
		hp_policy_release(&ask->policy);
		return hp_policy_read(&ask->policy, value);
	}
}

/* Words that are not options, with NULL for each "--" between them. */
struct words {
	char **list;
	size_t count;
};

/*
 * Takes a "--" if that is next.  getopt would treat it as the end of all options, and
 * return to it at the second one.
 */
static bool divider_take(int argc, char **argv)
{
	int at = optind ? optind : 1;

	if (at >= argc || strcmp(argv[at], "--") != 0)
		return false;
	optind = at + 1;
	return true;
}

/* Returns -1 to continue, else the exit status. */
static int words_read(struct hp_compare_ask *ask, struct words *words, int argc, char **argv)
{
	static const struct hp_option_table table = {
		.options = options, .usage = usage_text, .take = option_take, .ends_at_word = true
	};

	optind = 0;	/* glibc starts over, and reads the + */
	for (bool is_over = false;;) {
		if (divider_take(argc, argv)) {
			if (words->count)
				words->list[words->count++] = NULL;
			is_over |= !words->count;
			continue;
		}
		int status = is_over ? -1 : hp_option_read(&table, ask, argc, argv);

		if (status == HP_OPTION_READ)
			continue;
		if (status >= 0)
			return status;
		if (optind >= argc)
			return -1;
		words->list[words->count++] = argv[optind++];
		is_over |= ask->runs > 0;
	}
}

static int refuse(const char *what)
{
	fprintf(stderr, "hotpath compare: %s; see hotpath compare --help\n", what);
	return HP_EXIT_USAGE;
}

/* Words before the first divider are A, the rest is B. */
static int sides_split(struct hp_compare_ask *ask, struct words *words)
{
	size_t at = 0;

	while (at < words->count && words->list[at])
		at++;
	ask->a = words->list;
	ask->a_count = at;
	if (at < words->count) {
		ask->b = words->list + at + 1;
		ask->b_count = words->count - at - 1;
	} else if (!ask->runs && at == 2) {
		ask->a_count = ask->b_count = 1;
		ask->b = words->list + 1;
	}
	/* A further divider belongs to the second command. */
	for (size_t i = 0; i < ask->b_count; i++) {
		static char divider[] = "--";

		if (!ask->b[i] && !ask->runs)
			return refuse("there is a second -- after the runs of B");
		ask->b[i] = ask->b[i] ? ask->b[i] : divider;
	}
	if (ask->a_count && ask->b_count)
		return -1;
	return refuse(ask->runs ? "--runs needs two commands with -- between them"
				: "needs two runs, or runs of A, --, and runs of B");
}

int hp_compare_ask_read(struct hp_compare_ask *ask, int argc, char **argv)
{
	struct words words = { .list = hp_xcalloc((size_t)argc + 2, sizeof(*words.list)) };
	int status;

	*ask = (struct hp_compare_ask){
		.rows = ROWS_USUAL, .above = -1, .least = LEAST_USUAL, .input = "/dev/null"
	};
	ask->a = words.list;
	status = words_read(ask, &words, argc, argv);
	if (status < 0)
		status = sides_split(ask, &words);
	if (status < 0 && !ask->runs &&
	    (ask->a_count > HP_COMPARE_RUNS_MAX || ask->b_count > HP_COMPARE_RUNS_MAX))
		status = refuse("there are more than 1000 runs on a side");
	return status;
}

void hp_compare_ask_release(struct hp_compare_ask *ask)
{
	hp_policy_release(&ask->policy);
	free(ask->a);
	ask->a = NULL;
}
