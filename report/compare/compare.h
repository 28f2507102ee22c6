/* SPDX-License-Identifier: MIT */
/*
 * compare.h - compares two sets of runs: differences beyond chance.
 *
 * Counts come first.  How often a function is called or allocates does not depend
 * on how busy the machine is: if all runs of a side agree, one run per side is
 * enough to show a difference. Times do depend on it. Two runs of one binary differ
 * by 20 % and more, and a single run cannot tell by how much. So times are judged
 * only with at least HP_COMPARE_RUNS_MIN alternating runs per side, by the rank-sum
 * test (rank.h), and not at all if the runs had to wait for a core.
 *
 * Rows are matched by section and name.  Rows of equal names are summed: which of them
 * comes first changes from run to run.
 *
 * Folder: report/compare - `hotpath compare`: compares two sets of runs
 * May use: report/store report/view report/section report/section/wait
 *   report/section/memory report/section/cpu report/section/timing
 *   report/section/core report/section/thread report/section/channel report/name
 *   report/base segment util
 */
#ifndef HP_REPORT_COMPARE_COMPARE_H
#define HP_REPORT_COMPARE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

struct cJSON;
struct hp_section;
struct hp_report;

#define HP_COMPARE_RUNS_MIN 5	/* a side, to judge times */
#define HP_COMPARE_RUNS_STRONG 10	/* with fewer, verdicts on times are weak */
#define HP_COMPARE_RUNS_MAX 1000	/* a side */

enum hp_compare_unit { HP_COMPARE_TIME = 0, HP_COMPARE_BYTES, HP_COMPARE_COUNT };

enum hp_compare_kind {
	HP_COMPARE_EXACT = 0,	/* counted; the same in each run of most programs */
	HP_COMPARE_LOOSE,	/* counted, but influenced by the machine */
	HP_COMPARE_CLOCKED,	/* a time that was measured */
	HP_COMPARE_SAMPLED,	/* a time that was estimated from samples */
};

enum hp_compare_verdict {
	HP_COMPARE_SAME = 0,	/* no difference beyond chance */
	HP_COMPARE_MORE,
	HP_COMPARE_LESS,
	HP_COMPARE_NEW,	/* only in B */
	HP_COMPARE_GONE,	/* only in A */
	HP_COMPARE_UNSURE,	/* they differ, but these runs cannot tell whether by chance */
	HP_COMPARE_UNKNOWN,	/* a report was limited, and leaves this row out */
	HP_COMPARE_UNJUDGED,	/* a time that is not judged: see hp_compare.refused */
};

/* A figure of a section's rows. */
struct hp_compare_measure {
	const struct hp_section *section;	/* NULL = of the whole run */
	const char *metric;	/* its name, in tables, JSON and policies */
	const char *value;	/* key of the figure, in `raw` or `summary` */
	enum hp_compare_unit unit;
	enum hp_compare_kind kind;
	bool is_detail;	/* has the same data by call path as another one by function */
};

extern const struct hp_compare_measure hp_compare_measures[];
extern const size_t hp_compare_measure_count;

static inline bool hp_compare_is_time(const struct hp_compare_measure *measure)
{
	return measure->kind == HP_COMPARE_CLOCKED || measure->kind == HP_COMPARE_SAMPLED;
}

/* One figure, in all runs.  A run without the row has 0, or NAN if its report is limited. */
struct hp_compare_row {
	const struct hp_compare_measure *measure;
	char *name;	/* "" = of the whole run */
	double *values;	/* of A's runs, then of B's */
	double a, b;	/* their medians; NAN = not known */
	bool is_varying;	/* not the same in all runs of a side */
	double chance;	/* of a judged time: that this is one; else NAN */
	double unseen;	/* of a judged time: smaller relative changes would not be detected; NAN = none would */
	double relative;	/* if that decided: its change relative to the run's other functions; else NAN */
	enum hp_compare_verdict verdict;
};

/* Facts about one run besides its rows. */
struct hp_compare_run {
	double ready;	/* share of its threads' time without a core; NAN = not known */
	double started;	/* seconds; NAN = not known */
	double threads;
	double status;	/* as from wait(2); NAN = not known */
};

struct hp_compare_side {
	char *name;
	size_t count;
	const struct hp_compare_run *runs;
	double ready;	/* the median; NAN = not known */
};

struct hp_compare_reading;

struct hp_compare {
	struct hp_compare_run *runs;	/* of A, then of B */
	size_t run_count;
	struct hp_compare_side a, b;
	struct hp_compare_row *rows;	/* in the order of the measures, the largest change first */
	size_t row_count;
	size_t row_room;
	struct hp_compare_reading *reading;	/* of compare.c */
	const char **sections;	/* parallel to the measures: why one is left out; NULL = it is not */
	char *refused;	/* why times are not judged; NULL = they are */
	bool is_weak;	/* fewer than HP_COMPARE_RUNS_STRONG runs a side */
	size_t judged;	/* times that were judged, totals apart */
};

/*
 * Takes `a_count` reports in JSON of A, then `b_count` of B, in any order; at last
 * hp_compare_judge of judge.h, which calls hp_compare_settle: that omits the rows that one
 * side lacks.  Never fails.
 */
void hp_compare_init(struct hp_compare *compare, const char *a, size_t a_count, const char *b,
		     size_t b_count);
void hp_compare_add(struct hp_compare *compare, size_t run, const struct cJSON *report);
void hp_compare_settle(struct hp_compare *compare);
void hp_compare_release(struct hp_compare *compare);

/* True if the verdict says that the row changed. */
bool hp_compare_is_change(const struct hp_compare_row *row);

/* The change in percent of A; of a new row infinity, NAN if it is not known. */
double hp_compare_percent(const struct hp_compare_row *row);

/* The word for a verdict in JSON. */
const char *hp_compare_word(enum hp_compare_verdict verdict);

/* Examines a run while it is open. */
typedef void hp_compare_seen(void *context, struct hp_report *report);

/*
 * A report in JSON of the run `path`, as for hp_input_open, or JSON in a file. `seen` is
 * called with the run, if there is more than JSON; may be NULL.
 */
struct cJSON *hp_compare_load(const char *path, hp_compare_seen *seen, void *context);

/* `hotpath compare`: gets its own argv and returns the exit status, report/base/exit.h. */
int hp_cmd_compare(int argc, char **argv);

#endif
