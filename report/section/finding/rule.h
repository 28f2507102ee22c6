/* SPDX-License-Identifier: MIT */
/*
 * rule.h - a rule, and its queries of a run.
 */
#ifndef HP_REPORT_SECTION_FINDING_RULE_H
#define HP_REPORT_SECTION_FINDING_RULE_H

#include "report/base/format.h"
#include "report/section/answer/answer.h"
#include "report/section/answer/owner.h"
#include "report/section/finding/finding.h"
#include "report/section/finding/sign.h"
#include "report/section/thread/thread.h"

#define HP_GAIN_MIN 0.04	/* of the wall time, and */
#define HP_GAIN_MIN_NS 1e7
#define HP_RULE_SAMPLES 50	/* of the run, for a rule based on samples, */
#define HP_RULE_SAMPLES_OF 20	/* and of its finding */

struct hp_survey;

/* A finding of another rule that this one's finding makes superfluous. */
struct hp_rule_over {
	const char *rule;	/* its key; NULL ends the list */
	bool is_of_subject;	/* only if both have the same subject */
};

struct hp_rule {
	const char *key;	/* "lock-contention" */
	void (*find)(struct hp_survey *survey);
	const struct hp_rule_over *over;	/* NULL = none */
	const char *after;	/* of the same function, findings of that rule come later; NULL = none */
	const char *pattern;	/* the rule in words, with its thresholds */
	const char *wrong;	/* when it is wrong */
	const char *verify;	/* how to verify it */
};

/* CPU time of one owner (report/section/answer/owner.h), including callees. */
struct hp_cost {
	uint32_t function;
	uint32_t depth;	/* how often it is at most on the stack in half of its samples */
	uint64_t ns;
	uint64_t samples;
	uint64_t marked_ns[HP_SIGNS];	/* of it: below the owner is a function with that mark */
	uint64_t marked_samples[HP_SIGNS];
	uint64_t leaf_ns;	/* the owner itself is innermost */
	uint32_t value;	/* with HP_SIGN_COPIED for a value: the constructor */
	uint64_t hooks_ns;	/* not in `ns`: in the profiler's hooks that it called, */
	uint64_t value_hooks_ns;	/* or that were called for HP_SIGN_VALUE */
	uint64_t called_ns;	/* not in `ns`: owners that a library's sort or search calls back for it */
};

/* Waits of one owner for one kind of thing. */
struct hp_stall {
	uint32_t function;	/* HP_NONE = not known */
	const char *on;	/* as report/section/wait/offcpu.h says it */
	bool is_sync;
	bool is_join;
	uint64_t waits;
	uint64_t ns;
	uint64_t write_ns;	/* of that: in write and the like, */
	uint64_t file_ns;	/* in calls that open, create, rename or remove a file */
	uint64_t guessed_ns;	/* estimated, since waits were recorded in bursts */
};

struct hp_survey {
	struct hp_report *report;
	const struct hp_answer *answer;
	const struct hp_threads *threads;
	struct hp_findings *findings;
	double wall_ns;
	double cores;	/* 1 if it is not known */
	double cpu_ns;	/* of samples except the profiler's */
	uint64_t samples;
	double effective;	/* their number, fewer if their weights differ */
	double missed;	/* part of the CPU time without samples, 0 to 1 */
	double ran_ns;	/* all threads */
	double ready_ns;
	double life_ns;	/* of threads that did more than wait for others to end */
	double busiest_ns;	/* time that the busiest thread ran or was ready */
	size_t busy;	/* threads that ran for at least a twentieth of the wall time */
	size_t worked;	/* threads that ran at all */
	bool is_full;	/* all cores were used */
	bool is_serial;	/* one thread ran at a time */
	bool has_programs;	/* several processes */

	struct hp_cost *costs;	/* most first */
	size_t cost_count;
	size_t cost_room;
	uint32_t *stack_marks;	/* by stack: HP_SIGN_BIT of what is below its owner; NULL = too few samples */
	struct hp_stall *stalls;
	size_t stall_count;
	size_t stall_room;
	struct hp_owned_call *calls;	/* by stack; owned.c makes them when first needed */
};

/* --- bounds of a gain --- */

/* An upper bound in wall time of the samples' CPU time, with the error of the samples. */
double hp_survey_worth(const struct hp_survey *survey, double sample_ns);

/*
 * The same where the profiler's hooks took `hooks_ns` meanwhile: a part of their time is the
 * program's.
 */
double hp_survey_worth_hooked(const struct hp_survey *survey, double sample_ns, double hooks_ns);

/* A lower bound in wall time of the samples' CPU time. */
double hp_survey_least(const struct hp_survey *survey, double sample_ns);

/*
 * The error of CPU time from samples, ns: that of the function's share in the table, with the CPU
 * time that has no samples.
 */
double hp_survey_error(const struct hp_survey *survey, double sample_ns);

/* It is at least this part of the CPU time, whatever the error. */
bool hp_survey_is_part(const struct hp_survey *survey, double sample_ns, double least);

/* Its share of the CPU time: "73%", or where some has no samples "73%, accurate to 39 points". */
const char *hp_survey_share(const struct hp_survey *survey, double sample_ns,
			    struct hp_text_cell *cell);

/* The end of that, "" or ", accurate to 39 points". */
const char *hp_survey_accuracy(const struct hp_survey *survey, double sample_ns,
			       struct hp_text_cell *cell);

/* Enough for a finding. */
bool hp_survey_is_worth(const struct hp_survey *survey, double gain_ns);

/* There are enough samples for rules based on them. */
bool hp_survey_has_samples(const struct hp_survey *survey);

/* Waits of all owners for one kind of thing, ns. */
double hp_survey_blocked(const struct hp_survey *survey, const char *on);

/* NULL = it has no sample. */
const struct hp_cost *hp_survey_cost(const struct hp_survey *survey, uint32_t function);

/* CPU time of an owner, ns; 0 = none. */
double hp_survey_cpu_of(const struct hp_survey *survey, uint32_t function);

/* --- findings --- */

/* Adds one, all zeroes except the rule; takes over `subject`. */
struct hp_finding *hp_finding_add(struct hp_survey *survey, const struct hp_rule *rule,
				  char *subject);

/* The same about a function of hp_cpu, with its place in the source. */
struct hp_finding *hp_finding_add_function(struct hp_survey *survey, const struct hp_rule *rule,
					   uint32_t function);

/* "~" before numbers of waits that are estimated, as the other sections mark them. */
static inline const char *hp_stall_mark(const struct hp_stall *stall)
{
	return stall->guessed_ns ? "~" : "";
}

/* Hardly any of it is estimated. */
static inline bool hp_stall_is_measured(const struct hp_stall *stall)
{
	return stall->guessed_ns <= stall->ns / 10;
}

/* A row that it follows from; takes over the texts.  Beyond HP_EVIDENCE_MAX they are dropped. */
void hp_finding_evidence(struct hp_finding *finding, const struct hp_section *section, char *row,
			 char *text);

/* The name of a function of hp_cpu in tables and JSON; fresh. */
char *hp_survey_row(const struct hp_survey *survey, uint32_t function);

/* "f (file.c:12)", or "f": the subject of a finding with its place; fresh. */
char *hp_finding_where(const struct hp_finding *finding);

/* --- parts of the survey, each in its own file --- */

void hp_survey_init(struct hp_survey *survey, struct hp_report *report,
		    struct hp_findings *findings);
void hp_survey_release(struct hp_survey *survey);
void hp_costs_make(struct hp_survey *survey);
void hp_stalls_make(struct hp_survey *survey);

/* The line of an owner with most CPU and waiting time. */
void hp_survey_line(struct hp_survey *survey, uint32_t function, const char **file, int *line);

#endif
