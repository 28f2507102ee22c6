/* SPDX-License-Identifier: MIT */
/*
 * wide.h - memory of large pages, for tables that are looked up at random.
 *
 * With pages of 4 KiB each such look-up also waits for the page's address, in a virtual machine
 * for two tables of them.  Where the kernel gives none (transparent_hugepage is "never"), or only
 * a part is touched, it is memory like any other.
 */
#ifndef HP_SAMPLER_BASE_WIDE_H
#define HP_SAMPLER_BASE_WIDE_H

#include <stddef.h>

#define HP_WIDE_PAGE ((size_t)2 << 20)

/* Zeroed, aligned as its pages; NULL = none exists. */
void *hp_wide_new(size_t size);

/* With the size it was made with; NULL is nothing. */
void hp_wide_free(void *memory, size_t size);

#endif
