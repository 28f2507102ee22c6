/* SPDX-License-Identifier: MIT */
/*
 * leak.h - finds blocks that nothing points to at the process's end.
 *
 * Like memcheck's leak check: writable memory outside the heap (data of all objects, the stack,
 * other mappings) is searched for words that point into a block, then those blocks in turn, and
 * so on.  Blocks not reached are lost.  Conservative: a number that happens to equal an address
 * keeps a block.
 *
 * Only where the result is certain enough: glibc's malloc, whose free memory is known by its
 * headers, and one thread, since registers of others are not available without stopping them.
 * Only if the section `leaks` is named, since it takes time: some 10 ns for each 8 bytes.
 */
#ifndef HP_PRELOAD_HEAP_LEAK_H
#define HP_PRELOAD_HEAP_LEAK_H

#include <stdbool.h>

#include "segment/setting.h"

void hp_leak_configure(const struct hp_settings *settings, bool is_glibc);

/* Called once at the end, by exit(), after all handlers and destructors. */
void hp_leak_scan(void);

#endif
