/* SPDX-License-Identifier: MIT */
/*
 * answer.h - a cache file of debug information on a library's functions.
 *
 * The C library's debug file (libc6-dbg and the like) has compressed sections.
 * Unpacking them for a few addresses takes longer than the rest of a small
 * report, and every run needs the same functions. So the answers for all
 * addresses of a function are cached by build-id. They are valid as long as the
 * debug file is the same.
 */
#ifndef HP_REPORT_ELF_ANSWER_H
#define HP_REPORT_ELF_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "report/elf/inline.h"

struct hp_answers;

/* Sets the folder of the cache files; NULL = none, the initial state. The caller keeps the text. */
void hp_answers_folder(const char *folder, bool may_write);

/* The answers for a build-id and its debug file; NULL = not cached. */
struct hp_answers *hp_answers_open(const unsigned char *id, size_t size, const struct stat *debug);

/* Writes the file, if there is anything new. */
void hp_answers_close(struct hp_answers *answers);

/* True if the address is known; texts are the answers' own.  *count may be 0. */
bool hp_answers_find(const struct hp_answers *answers, uint64_t address,
		     struct hp_inline list[HP_INLINES_MAX], size_t *count);

/* Adds an answer for the addresses from `low` up to `high`. */
void hp_answers_add(struct hp_answers *answers, uint64_t low, uint64_t high,
		    const struct hp_inline *list, size_t count);

/* True if answers were added to a file that had some, there is room for more, and it will be written. */
bool hp_answers_grow(const struct hp_answers *answers);

/* True if all addresses from `low` up to `high` are known. */
bool hp_answers_has(const struct hp_answers *answers, uint64_t low, uint64_t high);

/* Sorts after additions, so that they are found. */
void hp_answers_settle(struct hp_answers *answers);

#endif
