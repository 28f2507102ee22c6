/* SPDX-License-Identifier: MIT */
/*
 * program.h - finds the file of a command and whether it can be profiled.
 *
 * ld.so loads our library into a program. If ld.so is missing or refuses, the
 * user gets a message before the program runs instead of an empty report.
 * `hotpath run` checks each time, so this only reads a few hundred bytes;
 * `hotpath doctor` continues with libelf (report/elf/binary.h).
 */
#ifndef HP_REPORT_DOCTOR_PROGRAM_H
#define HP_REPORT_DOCTOR_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

#include "segment/setting.h"

/* Why the library cannot be loaded. */
struct hp_obstacle {
	const char *id;
	const char *what;	/* printed after the program's name */
	const char *remedy;
};

struct hp_program {
	char path[PATH_MAX];	/* file to exec */
	char checked[PATH_MAX];	/* inspected file: `path`, or the program after its #! */
	char linker[PATH_MAX];	/* its ld.so; "" = none, or not an ELF file */
	char missing[PATH_MAX];	/* missing interpreter; "" = none */
	const struct hp_obstacle *obstacle;	/* NULL = the library can be loaded */
	char defaults[HP_DEFAULTS_MAX];	/* its own settings (HOTPATH_DEFAULTS); "" = none */
	bool is_elf;	/* `checked` is an ELF file for any processor */
	bool would_end;	/* the loader would end it with the library, so it is started without */
	bool has_asan;	/* needs the shared AddressSanitizer, which must be loaded first */
};

/* Searches like execvp.  Returns 0, -ENOENT, or -EACCES (found, not executable). */
int hp_program_find(struct hp_program *program, const char *name);

/*
 * After hp_program_inspect: also checks for a C library of the program's own
 * that is older than `library` needs. Costs nothing for a program with our own
 * loader.
 */
void hp_program_meet(struct hp_program *program, const char *library);

/* Fills the other fields. Follows `#!` as often as the kernel does. */
void hp_program_inspect(struct hp_program *program);

#endif
