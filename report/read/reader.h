/* SPDX-License-Identifier: MIT */
/*
 * reader.h - walks the records of a segment that may be torn, old or hostile.
 *
 * Records are copied out before anything is looked at, since their writers may
 * go on writing.  Offsets are checked by hp_segment_at.  Lists that bite their
 * own tail end too: every record has a place of its own, so there are at most as many of
 * them as lines are stored (hp_segment.records_most), and the reader takes no more steps than
 * that in total.  What the header claims beyond that costs nothing.
 */
#ifndef HP_REPORT_READ_READER_H
#define HP_REPORT_READ_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "segment/segment.h"
#include "segment/layout/call.h"

/* A further segment of the session, mapped behind the first (report/store/parts.h). */
struct hp_reader_part {
	uint64_t begin; /* its header */
	uint64_t end; /* of what is in use */
	uint64_t processes; /* heads of lists */
	uint64_t objects;
};

struct hp_reader {
	struct hp_segment segment;
	struct hp_header header;	/* as it was at the start */
	uint64_t mapped;	/* segment.size is the part in use */
	uint64_t steps;	/* still allowed */
	uint64_t groups;	/* of histograms, which may still be made: as many as are stored */
	bool is_damaged;	/* an offset led nowhere, or a list never ended */
	uint32_t part_count;
	struct hp_reader_part parts[HP_LEVELS_MOST];
};

/* Takes over a segment that hp_segment_map_* accepted. */
void hp_reader_init(struct hp_reader *reader, struct hp_segment *segment);
void hp_reader_release(struct hp_reader *reader);

/* Begins to count anew: each record may be met so many times. */
void hp_reader_restart(struct hp_reader *reader, unsigned times);

/* The first process of all segments, and the one after that at `at`, which says that `next` is; 0 = none. */
uint64_t hp_reader_processes(const struct hp_reader *reader);
uint64_t hp_reader_after(struct hp_reader *reader, uint64_t at, uint64_t next);

/* Reads the heads of the lists of objects again. */
void hp_reader_objects(struct hp_reader *reader);

/* Copies `size` bytes at `offset`; false = there are none. */
bool hp_reader_copy(struct hp_reader *reader, uint64_t offset, void *record, size_t size);

/* The same for the next record of a list; also false at its end. */
bool hp_reader_step(struct hp_reader *reader, uint64_t offset, void *record, size_t size);

/*
 * What is at `offset` is about to be read.  Records lie far from each other, and perhaps in the
 * cache of a processor that counts in them: one after the other they are waited for ten times
 * as long as several at once.  (Always inlined: as a function of its own gcc takes it for one
 * without effect, and leaves out its calls.)
 */
static inline __attribute__((always_inline)) void hp_reader_soon(const struct hp_reader *reader,
								 uint64_t offset, size_t size)
{
	const char *there = hp_segment_at(&reader->segment, offset, size);

	for (size_t i = 0; there && i < size; i += HP_LINE)
		__builtin_prefetch(there + i, 0, 2);
}

/* The counters of `size` bytes at `offset` themselves, to be read word by word; NULL = none. */
const void *hp_reader_see(struct hp_reader *reader, uint64_t offset, size_t size);

/*
 * The `size` bytes of an array whose length a record says: its lines are taken as steps, too, so
 * many records that all claim a large one do not make a reader go through it for each.
 */
const void *hp_reader_take(struct hp_reader *reader, uint64_t offset, size_t size);

/* One more group of a histogram is to be held.  False = more than can be stored were: records share them. */
bool hp_reader_group(struct hp_reader *reader);

/* The last moment that is known, ticks: of a session that goes on, that of this look. */
uint64_t hp_reader_end_ticks(const struct hp_reader *reader);

/* One word of the record of `size` bytes at `offset`, `at` bytes in; 0 where there is none. */
uint32_t hp_reader_word(struct hp_reader *reader, uint64_t offset, size_t size, size_t at);

/* The port of the program's figures over HTTP; 0 = none. */
uint16_t hp_reader_port(const struct hp_reader *reader);

/* Odd while the sampler folds rows of threads, and another number behind that. */
uint32_t hp_reader_folding(const struct hp_reader *reader);

/* What the session recorded: bits of enum hp_recorded_kind; 0 = not known. */
uint32_t hp_reader_recorded(const struct hp_reader *reader);

/* How often the kernel refused the library memory or an answer. */
uint64_t hp_reader_refusals(const struct hp_reader *reader);

/* Calls of the function that go on. */
uint32_t hp_reader_active(struct hp_reader *reader, const struct hp_function *function);

/* The same by the offset of its hp_gist. */
uint32_t hp_reader_gist_active(struct hp_reader *reader, uint64_t at);

/* How many records there can be: those that the reader accepts lie below HP_LINE times this. */
size_t hp_reader_places(const struct hp_reader *reader);

/* A fresh copy of the hp_text at `offset`, without control characters; NULL = none. */
char *hp_reader_text(struct hp_reader *reader, uint64_t offset);

#endif
