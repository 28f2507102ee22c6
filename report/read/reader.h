/* SPDX-License-Identifier: MIT */
/*
 * reader.h - walks the records of a segment that may be torn, old or hostile.
 *
 * Records are copied before any check, since their writers may continue
 * writing. Offsets are checked by hp_segment_at. Circular lists end, too: there
 * are at most as many records as stored lines (hp_segment.records_most), and
 * the reader takes no more steps than that in total. Larger claims in the
 * header cost nothing.
 */
#ifndef HP_REPORT_READ_READER_H
#define HP_REPORT_READ_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "segment/segment.h"
#include "segment/layout/call.h"

/* A further segment of the session, mapped after the first (report/store/parts.h). */
struct hp_reader_part {
	uint64_t begin; /* its header */
	uint64_t end; /* end of the used part */
	uint64_t processes; /* heads of lists */
	uint64_t objects;
};

struct hp_reader {
	struct hp_segment segment;
	struct hp_header header;	/* as it was at the start */
	uint64_t mapped;	/* segment.size is the part in use */
	uint64_t steps;	/* steps still allowed */
	uint64_t groups;	/* histogram groups still allowed: as many as are stored */
	bool is_damaged;	/* an invalid offset or an endless list was found */
	uint32_t part_count;
	struct hp_reader_part parts[HP_LEVELS_MAX];
};

/* Takes over a segment that hp_segment_map_* accepted. */
void hp_reader_init(struct hp_reader *reader, struct hp_segment *segment);
void hp_reader_release(struct hp_reader *reader);

/* Resets the step count: each record may be visited this many times. */
void hp_reader_restart(struct hp_reader *reader, unsigned times);

/*
 * Most of a large segment was read: its pages need not count as our memory until they are read
 * again. Nothing changes.
 */
void hp_reader_pages_leave(const struct hp_reader *reader);

/*
 * The first process of all segments, and the successor of the one at `at` with
 * this `next`; 0 = none.
 */
uint64_t hp_reader_processes(const struct hp_reader *reader);
uint64_t hp_reader_after(struct hp_reader *reader, uint64_t at, uint64_t next);

/* The segment of an offset: 0 = the session's own, else its place in `parts` + 1. */
uint32_t hp_reader_part_of(const struct hp_reader *reader, uint64_t offset);

/* Reads the heads of the lists of objects again. */
void hp_reader_objects(struct hp_reader *reader);

/*
 * The user who named an object: the user of its segment (0 = the session's own,
 * else the place of the part + 1), or of the processes that have it mapped.
 */
struct hp_object;
struct hp_user hp_reader_user(const struct hp_reader *reader, uint32_t part,
			      const struct hp_object *object);

/* Copies `size` bytes at `offset`; false = invalid. */
bool hp_reader_copy(struct hp_reader *reader, uint64_t offset, void *record, size_t size);

/* The same for the next record of a list; false also at its end. */
bool hp_reader_step(struct hp_reader *reader, uint64_t offset, void *record, size_t size);

/*
 * Prefetches `offset`. Records are far apart and perhaps in the cache of a
 * processor that updates them: reading them one by one waits ten times as long
 * as prefetching several. (Always inlined: gcc considers it a function without
 * effect and removes calls to it.)
 */
static inline __attribute__((always_inline)) void hp_reader_soon(const struct hp_reader *reader,
								 uint64_t offset, size_t size)
{
	const char *there = hp_segment_at(&reader->segment, offset, size);

	for (size_t i = 0; there && i < size; i += HP_LINE)
		__builtin_prefetch(there + i, 0, 2);
}

/* Pointer to the counters of `size` bytes at `offset`, to be read word by word; NULL = none. */
const void *hp_reader_see(struct hp_reader *reader, uint64_t offset, size_t size);

/*
 * The `size` bytes of an array with a length from a record. Its lines count as
 * steps, so many records claiming the same large array cannot make the reader
 * scan it for each.
 */
const void *hp_reader_take(struct hp_reader *reader, uint64_t offset, size_t size);

/* Allows one more histogram group. False = more than can be stored: records share them. */
bool hp_reader_group(struct hp_reader *reader);

/* The last known moment, ticks: in a live session, that of this refresh. */
uint64_t hp_reader_end_ticks(const struct hp_reader *reader);

/* One word of the record of `size` bytes at `offset`, `at` bytes in; 0 if none exists. */
uint32_t hp_reader_word(struct hp_reader *reader, uint64_t offset, size_t size, size_t at);

/* The port of the program's HTTP server; 0 = none. */
uint16_t hp_reader_port(const struct hp_reader *reader);

/* Odd while the sampler folds rows of threads; changes with each fold. */
uint32_t hp_reader_folding(const struct hp_reader *reader);

/* Where the threads are that are folded into rows of others; 0 = none. */
uint64_t hp_reader_folded(const struct hp_reader *reader);

/* The session's recorded data: bits of enum hp_recorded_kind; 0 = unknown. */
uint32_t hp_reader_recorded(const struct hp_reader *reader);

/* CPU time of the sampler, ns; 0 = unknown. */
uint64_t hp_reader_helper_cpu_ns(const struct hp_reader *reader);

/* What a sampling interrupt takes, ns, and an empty call whose hooks do nothing, fine ticks; 0 = unknown. */
uint32_t hp_reader_interrupt_ns(const struct hp_reader *reader);
uint32_t hp_reader_bare_fine(const struct hp_reader *reader);

/* CPUs that were online when the session began; 0 = unknown. */
uint32_t hp_reader_cores(const struct hp_reader *reader);

/* Time the machine was suspended meanwhile, ns. */
uint64_t hp_reader_suspended_ns(const struct hp_reader *reader);

/* How often the kernel refused the library memory or a system call. */
uint64_t hp_reader_refusals(const struct hp_reader *reader);

/* Open calls of the function. */
uint32_t hp_reader_active(struct hp_reader *reader, const struct hp_function *function);

/* The same by the offset of its hp_gist. */
uint32_t hp_reader_gist_active(struct hp_reader *reader, uint64_t at);

/* Upper limit of the number of records: accepted offsets are below HP_LINE times this. */
size_t hp_reader_places(const struct hp_reader *reader);

/* A fresh copy of the hp_text at `offset`, which may contain control characters; NULL = none. */
char *hp_reader_text(struct hp_reader *reader, uint64_t offset);

#endif
