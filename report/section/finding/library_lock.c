/* SPDX-License-Identifier: MIT */
/*
 * library_lock.c - threads wait for a lock that a function of the C library takes in each call.
 *
 * Such locks are not recorded: the library does not call its own public functions for them.  The
 * futex calls below such a function show them.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/finding/owned.h"
#include "report/section/finding/rules.h"

#define CPU_MIN 0.1 /* of the CPU time, in futex calls of such functions */

static const char *const randoms[] = { "rand",	  "random",  "lrand48", "mrand48",
				       "drand48", "srandom", "srand",	NULL };
static const char *const streams[] = { "putc",	  "fputc",  "putchar", "_IO_putc", "fputs",
				       "puts",	  "fwrite", "printf",  "fprintf",  "vfprintf",
				       "vprintf", "getc",   "fgetc",   "_IO_getc", "getchar",
				       "fgets",	  "fread",  "getline", NULL };

/* "_IO_puts" and "__random" are "puts" and "random". */
static const char *plain(const char *name)
{
	name += strncmp(name, "_IO_", 4) == 0 ? 4 : 0;
	while (*name == '_')
		name++;
	return name;
}

static bool is_locking(const char *callee)
{
	return hp_name_is_one_of(plain(callee), randoms) ||
	       hp_name_is_one_of(plain(callee), streams);
}

static bool is_wait(const struct hp_owned_call *call)
{
	return strcmp(call->entry, "futex") == 0 && is_locking(call->callee);
}

static bool is_call(const struct hp_owned_call *call)
{
	return is_locking(call->callee);
}

static char *advice_of(const char *where, const char *callee)
{
	if (hp_name_is_one_of(plain(callee), randoms))
		return hp_xprintf(
			"%s calls %s, which takes a lock that all threads share: give each "
			"thread a generator of its own (rand_r, random_r, erand48 or <random>).",
			where, plain(callee));
	return hp_xprintf(
		"%s calls %s, which takes the lock of a stream that threads share: collect "
		"the data of each thread, and pass more of it with each call.",
		where, plain(callee));
}

static void find(struct hp_survey *survey)
{
	struct hp_text_cell time, share;
	struct hp_owned most;
	char *where, *callee;
	double waits, gain;

	if (!hp_survey_has_samples(survey) || survey->worked < 2)
		return;
	waits = hp_owned_all(survey, is_wait);
	most = hp_owned_most(survey, is_wait);
	if (most.samples < HP_RULE_SAMPLES_OF || most.callee == HP_NONE ||
	    !hp_survey_is_part(survey, waits, CPU_MIN))
		return;
	gain = hp_survey_worth(survey, hp_owned_all(survey, is_call));
	if (!hp_survey_is_worth(survey, gain))
		return;
	where = hp_owned_where(survey, most.function);
	callee = hp_answer_function(survey->report, most.callee);
	hp_owned_finding(survey, &hp_rule_library_lock, most.function, advice_of(where, callee),
			 hp_xprintf("%s of CPU time (%s) to wait for that lock and to wake up "
				    "others",
				    hp_format_time(&time, waits),
				    hp_survey_share(survey, waits, &share)),
			 gain, HP_LIKELY);
	free(callee);
	free(where);
}

static const struct hp_rule_over over[] = { { "oversubscribed", false }, { NULL, false } };

const struct hp_rule hp_rule_library_lock = {
	.key = "library-lock",
	.find = find,
	.over = over,
	.pattern =
		"Threads spend at least 10% of the CPU time in futex calls of functions that lock inside "
		"the C library: rand, random and the like, or those of streams such as fputs and getc.  "
		"The gain is the time of all such functions.",
	.wrong = "All threads must write to one stream in order.",
	.verify = "Give each thread its own generator or buffer, and compare both with hotpath "
		  "compare.",
};
