/* SPDX-License-Identifier: MIT */
/*
 * defaults.c - see defaults.h.
 */
#include "segment/defaults.h"
#include "segment/layout/process.h"

#include <string.h>

#include "segment/note.h"

#define NOTE_DEFAULTS 2	/* HOTPATH_NOTE_DEFAULTS of include/hotpath.h */

void hp_defaults_add(char text[HP_DEFAULTS_MAX], const char *notes, const char *end)
{
	struct hp_note note;

	while ((notes = hp_note_next(notes, end, &note))) {
		size_t used = strlen(text);
		size_t size = strnlen(note.data, note.size);

		if (note.type != NOTE_DEFAULTS || used + 1 >= HP_DEFAULTS_MAX)
			continue;
		if (used)
			text[used++] = ' ';
		if (size > HP_DEFAULTS_MAX - 1 - used)
			size = HP_DEFAULTS_MAX - 1 - used;
		memcpy(text + used, note.data, size);
		text[used + size] = 0;
	}
}

/* The first record directly follows the page at which the segment's own offsets begin. */
static uint64_t begin_of(const struct hp_segment *segment)
{
	const struct hp_levels *levels = hp_segment_levels(segment);

	return levels ? levels->begin : 0;
}

void hp_defaults_keep(const struct hp_segment *segment, const char *text)
{
	size_t length = strlen(text);
	size_t size = sizeof(struct hp_text) + length + 1;
	uint64_t offset = length ? hp_segment_take(segment, size, HP_LINE) : 0;
	uint64_t place = offset ? (offset - begin_of(segment)) / HP_LINE : 0;
	struct hp_text *record = hp_segment_at(segment, offset, size);

	/* It is the first record of all, so its place fits into 16 bits. */
	if (!record || place > UINT16_MAX)
		return;
	record->length = (uint32_t)length;
	memcpy(record->bytes, text, length);
	segment->header->defaults = (uint16_t)place;
}

void hp_defaults_read(const struct hp_segment *segment, char text[HP_DEFAULTS_MAX])
{
	uint64_t place = segment->header->defaults;
	uint64_t offset = place ? begin_of(segment) + place * HP_LINE : 0;
	const struct hp_text *record = hp_segment_at(segment, offset, sizeof(*record));
	uint32_t length = record ? record->length : 0;

	text[0] = 0;
	if (length == 0 || length >= HP_DEFAULTS_MAX ||
	    !hp_segment_at(segment, offset, sizeof(*record) + length))
		return;
	memcpy(text, record->bytes, length);
	text[length] = 0;
}
