/* SPDX-License-Identifier: MIT */
/*
 * kernel_copy.h - a copy of the kernel's names in a file, sorted.
 *
 * The kernel prints 120,000 lines for /proc/kallsyms, which takes longer than
 * the rest of a report. Apart from modules and BPF programs they stay the same
 * until the next boot, so the copy only has the kernel's own text. It is used
 * while the boot-id is the same and the start of /proc/kallsyms shows this
 * process the same addresses: if they are hidden now, the copy is not used
 * either.
 */
#ifndef HP_REPORT_NAME_KERNEL_COPY_H
#define HP_REPORT_NAME_KERNEL_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_kernel_copy {
	const struct hp_kernel_copy_head *head;	/* mapped; NULL = none */
	size_t size;
};

/* False = no file, accessible to other users, or from another boot. */
bool hp_kernel_copy_open(struct hp_kernel_copy *copy, const char *path);

/* True if the address is in the kernel's own text, where the copy is complete. */
bool hp_kernel_copy_covers(const struct hp_kernel_copy *copy, uint64_t address);
const char *hp_kernel_copy_at(const struct hp_kernel_copy *copy, uint64_t address);

struct hp_kernel_name {
	uint64_t address;
	const char *name;
};

/*
 * Writes a copy of the names from `_stext` to `_etext`, sorted by address.
 * Replaces the file only when the new one is complete; a failure leaves no
 * partial file.
 */
void hp_kernel_copy_write(const char *path, const struct hp_kernel_name *names, size_t count);

#endif
