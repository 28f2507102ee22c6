/* SPDX-License-Identifier: MIT */
/*
 * wide.h - memory with large pages, for tables with random access.
 *
 * With pages of 4 KiB each such lookup also waits for the page's address, in a virtual machine
 * for two tables of them. If the kernel provides none (transparent_hugepage is "never"), or only
 * a part is used, it is ordinary memory.
 */
#ifndef HP_SAMPLER_BASE_WIDE_H
#define HP_SAMPLER_BASE_WIDE_H

#include <stddef.h>

#define HP_WIDE_PAGE ((size_t)2 << 20)

/* Zeroed, aligned like its pages; NULL = no memory. */
void *hp_wide_new(size_t size);

/* With its original size; NULL has no effect. */
void hp_wide_free(void *memory, size_t size);

#endif
