/* SPDX-License-Identifier: MIT */
/*
 * views.h - each view of a segment, as the report and its exports make it.
 */
#ifndef HP_TEST_FUZZ_VIEWS_H
#define HP_TEST_FUZZ_VIEWS_H

#include <stdbool.h>
#include <stdint.h>

#include "test/fuzz/base.h"

/*
 * Makes the tables and JSON, and with `exports` all other forms.  Returns a hash of the tables and
 * JSON: the same for the same segment.  The segment is not modified, and remains the caller's.
 */
uint64_t fuzz_views(const struct fuzz_base *base, struct hp_segment *segment, bool with_exports);

#endif
