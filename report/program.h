/* SPDX-License-Identifier: MIT */
/*
 * program.h - which file a command means, and whether it can be profiled.
 *
 * ld.so loads our library into a program; where there is no ld.so, or where it
 * will not, the user is told before the program runs, not by an empty report.
 */
#ifndef HP_REPORT_PROGRAM_H
#define HP_REPORT_PROGRAM_H

#include <limits.h>

struct hp_program {
	char path[PATH_MAX];	/* what to exec */
	const char *obstacle;	/* why the library cannot be loaded; NULL = it can */
};

/* As execvp looks for it.  Returns 0, -ENOENT, or -EACCES (found, not executable). */
int hp_program_find(struct hp_program *program, const char *name);

/* Sets `obstacle`.  Follows one `#!`. */
void hp_program_inspect(struct hp_program *program);

#endif
