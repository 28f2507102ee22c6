/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - names of code without a file: the kernel (/proc/kallsyms) and JIT
 * code (/tmp/perf-PID.map, which V8, the JVM, LuaJIT and others write on
 * demand).
 */
#ifndef HP_REPORT_NAME_KERNEL_H
#define HP_REPORT_NAME_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/user.h"

struct hp_names {
	char *text;
	struct hp_name_entry *entries;	/* by address */
	size_t count;
	bool is_kernel;	/* empty: the kernel's names are one list for all */
};

/*
 * Empty if the file is unreadable, hides its addresses, or is untrusted. The
 * kernel has many names: a process reads them once, in one thread, on first
 * use.
 */
void hp_names_init_kernel(struct hp_names *names);

/* Call before that: the place of a copy of the kernel's names (kernel_copy.h). */
void hp_names_kernel_copy(const char *path);

/* Call at the end: writes that copy if the names had to be read. */
void hp_names_kernel_keep(void);

/*
 * Opens the file with the rights of `user`, whose process named it. Returns why
 * an existing file was rejected, as a text after its path; NULL = accepted, or
 * no file.
 */
const char *hp_names_init_map(struct hp_names *names, const char *path, struct hp_user user);
void hp_names_release(struct hp_names *names);

/* The name of a system call in which a thread waits, from enum hp_wait_on. */
const char *hp_names_wait(uint32_t on);

/* NULL = not known. */
const char *hp_names_at(const struct hp_names *names, uint64_t address);

#endif
