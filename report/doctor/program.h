/* SPDX-License-Identifier: MIT */
/*
 * program.h - which file a command means, and whether it can be profiled.
 *
 * ld.so loads our library into a program; where there is no ld.so, or where it
 * will not, the user is told before the program runs, not by an empty report.
 * `hotpath run` looks each time, so this reads a few hundred bytes and no more;
 * `hotpath doctor` goes on from here with libelf (report/elf/binary.h).
 */
#ifndef HP_REPORT_DOCTOR_PROGRAM_H
#define HP_REPORT_DOCTOR_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

#include "segment/setting.h"

/* Why the library cannot be loaded. */
struct hp_obstacle {
	const char *id;
	const char *what;	/* goes behind the program's name */
	const char *remedy;
};

struct hp_program {
	char path[PATH_MAX];	/* what to exec */
	char checked[PATH_MAX];	/* what was looked at: `path`, or the program behind its #! */
	char linker[PATH_MAX];	/* its ld.so; "" = none, or no ELF file */
	char missing[PATH_MAX];	/* what it is started by and is not there; "" = nothing */
	const struct hp_obstacle *obstacle;	/* NULL = the library can be loaded */
	char defaults[HP_DEFAULTS_MOST];	/* settings that it brings along; "" = none */
	bool is_elf;	/* `checked` is; of any kind of processor */
	bool would_end;	/* the loader would end it, with the library: it is started without */
	bool has_asan;	/* needs the shared AddressSanitizer, which wants to be loaded first */
};

/* As execvp looks for it.  Returns 0, -ENOENT, or -EACCES (found, not executable). */
int hp_program_find(struct hp_program *program, const char *name);

/*
 * After hp_program_inspect: an obstacle, too, is a C library of the program's own that is older than `library`
 * needs.  Costs nothing for a program that is loaded as we are.
 */
void hp_program_meet(struct hp_program *program, const char *library);

/* Fills the rest.  Follows `#!` as often as the kernel does. */
void hp_program_inspect(struct hp_program *program);

#endif
