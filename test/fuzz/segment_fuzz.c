/* SPDX-License-Identifier: MIT */
/*
 * segment_fuzz.c - every view of a segment whose records differ from what a
 * target wrote.  The input is a list of changes (base.c).
 */
#include "test/fuzz/fuzz.h"
#include "test/fuzz/views.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fuzz_base *base = fuzz_base();
	struct hp_segment segment = fuzz_base_changed(base, data, size);

	fuzz_views(base, &segment, true);
	hp_segment_release(&segment);
	return 0;
}
