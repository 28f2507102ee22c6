/* SPDX-License-Identifier: MIT */
/*
 * base.h - the real run that a target starts from: a kept file, named by FUZZ_BASE.
 *
 * A segment has too much structure to be found by chance, and a committed one would
 * soon have an outdated format. So the build under test records one, and the
 * fuzzer's input says what to change in it.
 */
#ifndef HP_TEST_FUZZ_BASE_H
#define HP_TEST_FUZZ_BASE_H

#include <stddef.h>
#include <stdint.h>

#include "report/section/core/facts.h"
#include "report/store/kept.h"
#include "report/section/core/report.h"

struct fuzz_base {
	struct hp_kept kept;
	uint64_t used;	/* bytes of its segment */
};

/* Read once; ends the program with a message if there is none. */
const struct fuzz_base *fuzz_base(void);

/* A private copy of its segment, changed as the input says. */
struct hp_segment fuzz_base_changed(const struct fuzz_base *base, const uint8_t *data, size_t size);

/* The same changes, in a copy that others may be reading. */
void fuzz_base_change(char *segment, uint64_t used, const uint8_t *data, size_t size);

#endif
