/* SPDX-License-Identifier: MIT */
/*
 * note.h - the ELF notes called "hotpath", which include/hotpath.h puts into
 * programs.  The library finds them in memory, `hotpath run` in the file.
 */
#ifndef HP_SEGMENT_NOTE_H
#define HP_SEGMENT_NOTE_H

#include <stdint.h>

struct hp_note {
	uint32_t type;	/* HOTPATH_NOTE_... */
	uint32_t size;	/* bytes of data */
	const char *data;
};

/*
 * The first note called "hotpath" between `from` and `end`, the memory or the
 * bytes of a PT_NOTE segment.  Returns where to continue for the next one; NULL
 * = none.
 */
const char *hp_note_next(const char *from, const char *end, struct hp_note *note);

#endif
