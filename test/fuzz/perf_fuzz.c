/* SPDX-License-Identifier: MIT */
/*
 * perf_fuzz.c - records as from a ring of the kernel: the input is consecutive
 * records, truncated as their headers say.
 */
#include <stdlib.h>

#include "sampler/sample/sample.h"
#include "segment/segment.h"
#include "test/fuzz/fuzz.h"

#define SEGMENT_SIZE (4 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct hp_samples samples;
	static _Alignas(8) uint8_t record[65536];
	struct hp_segment_wish wish = { .size = SEGMENT_SIZE, .token = "0123456789abcdef" };
	struct hp_segment segment;
	struct perf_event_header header;
	struct hp_sampling *sampling;
	uint64_t at;

	if (hp_segment_create(&segment, &wish) < 0)
		abort();
	at = hp_segment_take(&segment, sizeof(*sampling), HP_LINE);
	sampling = hp_segment_at(&segment, at, sizeof(*sampling));
	if (!sampling || !hp_samples_init(&samples, &segment, sampling))
		abort();
	samples.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			      PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |
			      PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	hp_samples_note_wait_id(&samples, 7);
	while (size >= sizeof(header)) {
		memcpy(&header, data, sizeof(header));
		if (header.size < sizeof(header) || header.size > size)
			break;
		memcpy(record, data, header.size);
		hp_samples_handle(&samples, (struct perf_event_header *)record);
		data += header.size;
		size -= header.size;
	}
	hp_samples_release(&samples);
	hp_segment_release(&segment);
	return 0;
}
