/* SPDX-License-Identifier: MIT */
/*
 * check.h - the checks of `hotpath doctor`, as data.
 *
 * A check is an id, a function and its possible outcomes: for each outcome the
 * working parts, the missing parts, and the remedy. The function returns the
 * outcome and its finding; the texts are in the table.
 */
#ifndef HP_REPORT_DOCTOR_CHECK_H
#define HP_REPORT_DOCTOR_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "report/elf/binary.h"
#include "report/doctor/program.h"
#include "segment/session.h"

#define HP_OUTCOMES_MAX 6

enum hp_level {
	HP_LEVEL_OK,
	HP_LEVEL_LIMITED,	/* a part is missing; the rest works */
	HP_LEVEL_FAILED,	/* calls cannot be counted and timed */
};

struct hp_outcome {
	enum hp_level level;
	const char *works;	/* NULL = no text */
	const char *missing;
	const char *remedy;
};

/* The result of a check. The texts are fresh memory or NULL. */
struct hp_finding {
	char *found;
	char *remedy;	/* replaces the outcome's text if that needs a name */
};

struct hp_library {
	char *path;
	struct hp_binary binary;
};

/* Data shared by the checks: the parts of hotpath, and the program in question. */
struct hp_patient {
	char folder[HP_HELPER_PATH];	/* of the command */
	char command[HP_HELPER_PATH];
	char library[HP_HELPER_PATH];
	bool has_library;
	const char *name;	/* as given; NULL = checks the machine */
	const char *root;	/* root folder of another system to check, or NULL */
	struct hp_program program;
	bool is_executable;	/* otherwise it may be a library */
	struct hp_binary binary;
	struct hp_library *libraries;	/* libraries that the loader loads into it */
	size_t library_count;
	char *lost;	/* names of missing libraries; NULL = none */
	bool is_asked;	/* the loader was */
	bool is_preloaded;	/* it accepts libhotpath.so */
};

#define HP_NO_OUTCOME SIZE_MAX	/* result of a check: does not apply to this program */

struct hp_check {
	const char *id;
	size_t (*look)(struct hp_patient *patient, struct hp_finding *finding);
	struct hp_outcome outcomes[HP_OUTCOMES_MAX];
};

/* Checks of one subject, in a file each. */
struct hp_check_group {
	const char *title;
	const struct hp_check *checks;
	size_t count;
};

extern const struct hp_check_group hp_check_parts;	/* hotpath itself */
extern const struct hp_check_group hp_check_room;	/* memory and limits */
extern const struct hp_check_group hp_check_kernel;	/* kernel, clock, container */
extern const struct hp_check_group hp_check_tools;	/* other software */
extern const struct hp_check_group hp_check_samples;	/* timers and samply */
extern const struct hp_check_group hp_check_program;	/* of patient->name */
extern const struct hp_check_group hp_check_root;	/* of patient->root */

/* The first line of a small file in fresh memory, or NULL. */
char *hp_first_line(const char *path);

/* Stores the loader's information about the program; patient->program is already filled. */
void hp_patient_examine(struct hp_patient *patient);
void hp_patient_release(struct hp_patient *patient);

#endif
