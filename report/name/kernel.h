/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - names of code that is in no file: the kernel's (/proc/kallsyms)
 * and what a compiler made at run time (/tmp/perf-PID.map, which V8, the JVM,
 * LuaJIT and others write on demand).
 */
#ifndef HP_REPORT_NAME_KERNEL_H
#define HP_REPORT_NAME_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_names {
	char *text;
	struct hp_name_entry *entries;	/* by address */
	size_t count;
	bool is_kernel;	/* nothing of it is here: the kernel's are one list for all */
};

/*
 * Empty where the file cannot be read, hides its addresses, or is not to be
 * trusted.  The kernel's are many: a process reads them once, in one thread, when the
 * first name is asked for.
 */
void hp_names_init_kernel(struct hp_names *names);

/* Before that: where a copy of the kernel's names may be (kernel_copy.h). */
void hp_names_kernel_copy(const char *path);

/* At the end: makes that copy, if the names had to be read. */
void hp_names_kernel_keep(void);

/* Returns why a file that is there was not taken, as a text after its path; NULL = it was, or there is none. */
const char *hp_names_init_map(struct hp_names *names, const char *path);
void hp_names_release(struct hp_names *names);

/* A call of the kernel in which a thread waits, as enum hp_wait_on tells it. */
const char *hp_names_wait(uint32_t on);

/* NULL = not known. */
const char *hp_names_at(const struct hp_names *names, uint64_t address);

#endif
