/* SPDX-License-Identifier: MIT */
/*
 * compare.h - two saved reports beside each other: what became more, what less.
 *
 * Rows are matched by section, name and place (the file or module; lines move
 * with every edit).  A change is told as one only if it is larger than what the
 * two figures may be off: their intervals, and the noise of a machine between
 * two runs, which no single run knows.
 *
 * Folder: report/compare - `hotpath compare`: two reports beside each other
 * May use: report/store report/view report/section report/section/wait
 *   report/section/memory report/section/cpu report/section/timing
 *   report/section/core report/name report/base segment util
 */
#ifndef HP_REPORT_COMPARE_COMPARE_H
#define HP_REPORT_COMPARE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

struct cJSON;
struct hp_section;

enum hp_compare_unit { HP_COMPARE_TIME = 0, HP_COMPARE_BYTES, HP_COMPARE_COUNT };

enum hp_compare_verdict {
	HP_COMPARE_SAME = 0,	/* no change beyond the error */
	HP_COMPARE_MORE,
	HP_COMPARE_LESS,
	HP_COMPARE_NEW,	/* only in B */
	HP_COMPARE_GONE,	/* only in A */
	HP_COMPARE_UNKNOWN,	/* one report tells not all rows, and not this one */
};

/* One figure of one row.  A side without the row has 0, except if it is not known. */
struct hp_compare_row {
	char *name;
	char *place;	/* file or module; NULL = not told */
	double a, b;	/* ns, bytes or a number */
	double error;	/* half of the 95 % interval of b - a, noise included */
	double calls_a, calls_b;	/* < 0: it has none */
	enum hp_compare_verdict verdict;
};

/* What is compared in a section. */
struct hp_compare_measure {
	const struct hp_section *section;
	bool is_by_key;	/* its title is the section's key; else the name */
	const char *what;	/* of the rows, for people */
	const char *value;	/* key of the figure in `raw` */
	const char *low, *high;	/* keys of its interval; NULL = none */
	const char *samples;	/* key of the number of samples it is of; NULL = none */
	const char *calls;	/* key of how often; NULL = none */
	enum hp_compare_unit unit;
	bool is_noisy;	/* a time: another run of the same program would have another one */
};

/* What it is called in titles. */
const char *hp_compare_title(const struct hp_compare_measure *measure);

struct hp_compare_section {
	const struct hp_compare_measure *measure;
	struct hp_compare_row *rows;	/* the largest change first, those without one last */
	size_t count;
	size_t changed;	/* rows with a change beyond the error */
	double total_a, total_b;	/* of the largest row, or the sum: what percent are of */
};

struct hp_compare {
	struct hp_compare_section *sections;
	size_t count;
};

/*
 * Compares two reports in JSON.  `noise` is what two runs of one program may
 * differ by, percent.  Never fails: sections that one of them has not are left out.
 */
void hp_compare_init(struct hp_compare *compare, const struct cJSON *a, const struct cJSON *b,
		     double noise);
void hp_compare_release(struct hp_compare *compare);

/* By how many percent a row surely grew; 0 = not surely; of a new row infinity. */
double hp_compare_growth(const struct hp_compare_row *row);

/* A report in JSON of what `path` names, as hp_input_open understands it, or JSON in a file. */
struct cJSON *hp_compare_load(const char *path);

/* `hotpath compare`: gets its own argv and returns the exit status, report/base/exit.h. */
int hp_cmd_compare(int argc, char **argv);

#endif
