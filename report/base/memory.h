/* SPDX-License-Identifier: MIT */
/*
 * memory.h - allocate or exit: a report truncated by a failed allocation helps
 * nobody, and exiting loses nothing.
 *
 * Folder: report/base - common parts of all commands: memory, text and numbers,
 *   JSON, maps, options, exit codes
 * May use: segment util
 */
#ifndef HP_REPORT_BASE_MEMORY_H
#define HP_REPORT_BASE_MEMORY_H

#include <stddef.h>

void *hp_xmalloc(size_t size);
void *hp_xcalloc(size_t count, size_t size);
void *hp_xrealloc(void *old, size_t count, size_t size);
char *hp_xstrdup(const char *text);

/*
 * A zeroed array with a place for each record that a file may claim. Few are
 * ever used, and only those cost memory.  Grows from `count` to `more`
 * places; `old` NULL = none yet.
 */
void *hp_xsparse(void *old, size_t count, size_t more, size_t size);
void hp_xsparse_free(void *array, size_t count, size_t size);

/* printf into fresh memory. */
char *hp_xprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Room for one more of `size` bytes in `*array`, which holds `count`; grows by doubling. */
void *hp_xgrow(void *array, size_t count, size_t *room, size_t size);

#endif
