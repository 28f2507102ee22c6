/* SPDX-License-Identifier: MIT */
/*
 * answer.h - what debug information said of a system library's functions, in a file.
 *
 * The C library's debug file (libc6-dbg and the like) has compressed sections: to unpack them
 * takes longer than the rest of a small report, for a few addresses, and the same functions
 * are asked about in every run.  So the answers for all addresses of a function are kept by
 * build-id, and are right as long as the debug file is the same.
 */
#ifndef HP_REPORT_ELF_ANSWER_H
#define HP_REPORT_ELF_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "report/elf/inline.h"

struct hp_answers;

/* Where they are from now on; NULL = nowhere, as at first.  The text stays the caller's. */
void hp_answers_folder(const char *folder, bool may_write);

/* Those of a build-id and its debug file; NULL = they are not kept. */
struct hp_answers *hp_answers_open(const unsigned char *id, size_t size, const struct stat *debug);

/* Writes the file, if there is anything new. */
void hp_answers_close(struct hp_answers *answers);

/* True if the address is known; texts are the answers' own.  *count may be 0. */
bool hp_answers_find(const struct hp_answers *answers, uint64_t address,
		     struct hp_inline list[HP_INLINES_MOST], size_t *count);

/* Notes what is said of addresses from `low` up to `high`. */
void hp_answers_add(struct hp_answers *answers, uint64_t low, uint64_t high,
		    const struct hp_inline *list, size_t count);

/* After several: then they are found. */
void hp_answers_settle(struct hp_answers *answers);

#endif
