/* SPDX-License-Identifier: MIT */
/*
 * offcpu_note.h - where threads waited, from their own notes: see preload/wait/offcpu_note.h.
 *
 * A note describes a finished call, and a span of time whose waits in the
 * kernel's records all belong to that call. Until then they were counted
 * without a place.
 */
#ifndef HP_SAMPLER_SAMPLE_OFFCPU_NOTE_H
#define HP_SAMPLER_SAMPLE_OFFCPU_NOTE_H

#include "sampler/sample/sample.h"

struct hp_offcpu_notes {
	const struct hp_segments *segments;	/* NULL = nobody was asked */
	struct hp_samples *samples;
	uint64_t free_ns;	/* when rings of ended processes were searched for */
	uint64_t due_ns;	/* rings are not read before */
	uint32_t last;	/* notes that the last reading found */
};

/* From now on threads note their waits. */
void hp_offcpu_notes_ask(struct hp_offcpu_notes *notes, const struct hp_segments *segments,
			 struct hp_samples *samples);

/* After that: only calls of at least this length, or again all that may have waited. */
void hp_offcpu_notes_long(const struct hp_offcpu_notes *notes, uint64_t long_ns);
void hp_offcpu_notes_all(const struct hp_offcpu_notes *notes);

/* No further notes; the remaining ones are still read. */
void hp_offcpu_notes_leave(struct hp_offcpu_notes *notes);

/*
 * Reads notes up to that time, ns; the kernel's records up to then were read.  Returns how many. With
 * many rings, it does nothing if it was called a moment ago, and returns what it found then; at
 * UINT64_MAX it always reads all.
 */
uint32_t hp_offcpu_notes_read(struct hp_offcpu_notes *notes, uint64_t until_ns);

#endif
