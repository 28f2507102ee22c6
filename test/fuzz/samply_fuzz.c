/* SPDX-License-Identifier: MIT */
/*
 * samply_fuzz.c - arbitrary text in place of samply's profile.
 */
#include <stdlib.h>
#include <unistd.h>

#include "sampler/samply/profile.h"
#include "segment/segment.h"
#include "test/fuzz/fuzz.h"

#define SEGMENT_SIZE (4 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hp_segment_wish wish = { .size = SEGMENT_SIZE, .token = "0123456789abcdef" };
	int fd = fuzz_file(data, size);
	char path[64], error[HP_SAMPLY_TEXT] = "";
	struct hp_sampling *record;
	struct hp_segment segment;
	uint64_t at;

	if (hp_segment_create(&segment, &wish) < 0)
		abort();
	at = hp_segment_take(&segment, sizeof(*record), HP_LINE);
	record = hp_segment_at(&segment, at, sizeof(*record));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* Missing samples are explained in a line. */
	if (!hp_samply_read(&segment, record, path, error) && (!*error || strchr(error, '\n')))
		abort();
	hp_segment_release(&segment);
	close(fd);
	return 0;
}
