/* SPDX-License-Identifier: MIT */
/*
 * owned.h - shared parts of rules about what a function calls outside the program.
 */
#ifndef HP_REPORT_SECTION_FINDING_OWNED_H
#define HP_REPORT_SECTION_FINDING_OWNED_H

#include "report/section/finding/rule.h"

/* CPU time of a function of the program, in samples that a test accepts. */
struct hp_owned {
	uint32_t function;	/* place in hp_cpu.functions; HP_NONE = there is none */
	uint32_t callee;	/* of a library, in most of that time; HP_NONE = not known */
	uint64_t ns;
	uint64_t samples;
};

/* What a sample's function calls. */
struct hp_owned_call {
	char *callee;	/* "" = not known; NULL = no sample to be judged */
	char *entry;	/* the kernel's work; "" = none */
	uint32_t marks;	/* HP_SIGN_BIT of what is below the function */
};

typedef bool hp_owned_test(const struct hp_owned_call *call);

/* Frees what the functions below remember in `survey`. */
void hp_owned_release(struct hp_survey *survey);

/* The function with a name that spends most CPU time on it. */
struct hp_owned hp_owned_most(struct hp_survey *survey, hp_owned_test *is_it);

/* CPU time of all functions in such samples, ns. */
double hp_owned_all(struct hp_survey *survey, hp_owned_test *is_it);

/* The pieces of it in which one function spends this time (report/section/finding/again.h). */
uint64_t hp_owned_pieces(struct hp_survey *survey, hp_owned_test *is_it, uint32_t function);

/*
 * The sum of several functions' CPU time: of those that spend at least this share of their own on
 * it, all of it.
 */
double hp_owned_whole(struct hp_survey *survey, hp_owned_test *is_it, double share);

/* Adds a finding; takes over the texts. `gain` 0 = a fact. */
void hp_owned_finding(struct hp_survey *survey, const struct hp_rule *rule, uint32_t function,
		      char *advice, char *facts, double gain, enum hp_confidence confidence);

/* "f (file.c:12)": a function with its place; fresh. */
char *hp_owned_where(struct hp_survey *survey, uint32_t function);

/* True if the name is one of these words, in full. NULL ends the list. */
bool hp_name_is_one_of(const char *name, const char *const *words);

#endif
