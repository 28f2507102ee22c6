/* SPDX-License-Identifier: MIT */
/*
 * note.c - see note.h.
 */
#include "segment/note.h"

#include <stddef.h>
#include <string.h>

static const char name[] = "hotpath";

struct head {
	uint32_t name_size;
	uint32_t size;
	uint32_t type;
};

/* Name and data are padded to 4 bytes.  (A note of GNU is padded to 8; its size is, too.) */
static uint64_t padded(uint32_t size)
{
	return ((uint64_t)size + 3) & ~UINT64_C(3);
}

const char *hp_note_next(const char *from, const char *end, struct hp_note *note)
{
	struct head head;

	while (end - from >= (ptrdiff_t)sizeof(head)) {
		const char *text = from + sizeof(head);
		uint64_t room = (uint64_t)(end - text);

		memcpy(&head, from, sizeof(head));
		if (padded(head.name_size) > room || head.size > room - padded(head.name_size))
			return NULL;
		*note = (struct hp_note){ head.type, head.size, text + padded(head.name_size) };
		room -= padded(head.name_size);
		from = note->data + (padded(head.size) < room ? padded(head.size) : room);
		if (head.name_size == sizeof(name) && memcmp(text, name, sizeof(name)) == 0)
			return from;
	}
	return NULL;
}
