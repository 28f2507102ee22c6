/* SPDX-License-Identifier: MIT */
/*
 * kernel_copy.h - a copy of the kernel's names in a file, sorted.
 *
 * The kernel prints 120,000 lines for /proc/kallsyms, which takes longer than all the
 * rest of a report.  They are the same until the next boot, apart from modules and BPF
 * programs: so the copy has the kernel's own text only.  It is used as long as the boot-id is
 * the same and /proc/kallsyms shows this process the same addresses at its beginning:
 * where they are hidden by now, the copy tells nothing either.
 */
#ifndef HP_REPORT_NAME_KERNEL_COPY_H
#define HP_REPORT_NAME_KERNEL_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_kernel_copy {
	const struct hp_kernel_copy_head *head;	/* mapped; NULL = there is none */
	size_t size;
};

/* False = there is no file, it is not this user's alone, or of another boot. */
bool hp_kernel_copy_open(struct hp_kernel_copy *copy, const char *path);

/* True if the address is in the kernel's own text: then the copy has all names around it. */
bool hp_kernel_copy_covers(const struct hp_kernel_copy *copy, uint64_t address);
const char *hp_kernel_copy_at(const struct hp_kernel_copy *copy, uint64_t address);

struct hp_kernel_name {
	uint64_t address;
	const char *name;
};

/*
 * Writes one of names by address, those from `_stext` to `_etext`; a file is replaced
 * when the new one is complete.  What fails leaves none.
 */
void hp_kernel_copy_write(const char *path, const struct hp_kernel_name *names, size_t count);

#endif
