/* SPDX-License-Identifier: MIT */
/*
 * segment.h - create, join, map and give out the shared segment.
 *
 * Folder: segment - the shared segment, settings and clocks, for the library
 *   and the commands
 * May use: segment/layout util
 *
 * The creator (the library in the session's root, or `hotpath run`) calls
 * hp_segment_create; everybody else in the session gets its descriptor and
 * calls hp_segment_attach; readers map it read-only.  No descriptor is needed
 * once it is mapped: hp_segment_close_fd leaves the mapping.
 *
 * Used inside the target: system calls only, no malloc, no stdio, errno kept.
 */
#ifndef HP_SEGMENT_SEGMENT_H
#define HP_SEGMENT_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "segment/layout/header.h"

#define HP_SEGMENT_SHARE 16	/* it takes one part in so many of the addresses that are allowed */

/*
 * What the header says of a session's begin, for whom members could write something else there by
 * now: how files are named and whom the helper looks after hangs on it.  root_pid 0 = not known.
 */
struct hp_begin {
	uint32_t root_pid;
	uint32_t runner_pid;
	uint64_t start_ns;
	int64_t created_unix_ns;
};

static inline struct hp_begin hp_begin_of(const struct hp_header *header)
{
	return (struct hp_begin){ header->root_pid, header->runner_pid, header->start.ns,
				  header->created_unix_ns };
}

/* Readers: where further segments of the session are mapped, behind the first one. */
struct hp_parts {
	uint32_t count;
	uint64_t begin[HP_LEVELS_MOST];	/* ascending; there is a copy of its header */
	int fd[HP_LEVELS_MOST];	/* somebody else's; -1 = none */
};

struct hp_segment {
	struct hp_header *header;	/* NULL = none; it is the start of the mapping */
	uint64_t size;	/* bytes mapped; offsets end here */
	int fd;	/* -1 = none */
	bool is_lent;	/* the mapping is another one's, which outlives this: release leaves it */
	const char *failed;	/* after a failure: what was tried, a static text */
	uint64_t records_most;	/* readers: there are no more, by what is really stored; 0 = not known */
	struct hp_moment now;	/* readers of a session that goes on: of this look; 0 = not known */
	struct hp_begin begin;	/* readers: believed instead of the header */
	struct hp_parts parts;	/* readers */
	uint64_t span;	/* writers: bytes of addresses from its start that are ours; 0 = `size` */
	void *spare;	/* writers: what it is replaced by when it is left; NULL = nothing is there */
	uint64_t spare_size;
	uint64_t records_at;	/* writers: mapped are the header's page and what is from here on */
	bool is_private;	/* writers: it was left, nobody else sees it */
};

/* All segments that the helper writes, the session's own first. */
struct hp_segments {
	uint32_t count;
	struct hp_segment *at[1 + HP_LEVELS_MOST];
};

#define HP_SEGMENT_NONE \
	{ \
		.header = NULL, .size = 0, .fd = -1, .is_lent = false, .failed = NULL, \
		.records_most = 0, .now = { 0, 0 }, .begin = { .root_pid = 0 }, .parts = { \
			.count = 0 \
		} \
	}

/* What the creator asks for. */
struct hp_segment_wish {
	uint64_t size;	/* HOTPATH_SEGMENT_SIZE; 0 = HP_SIZE_DEFAULT */
	const char *path;	/* HOTPATH_SEGMENT_PATH, `%p` = pid; NULL or "" = a memfd */
	uint32_t timing;	/* enum hp_timing */
	uint32_t logs_limit;
	uint32_t root_pid;	/* 0 = not known yet (the runner sets it) */
	uint32_t runner_pid;	/* 0 = none */
	const char *token;	/* HP_TOKEN_SIZE hex digits, see session.h */
};

/*
 * Makes, maps and fills a segment: the header is complete and readable after
 * it, clock included; only the cost_ fields are left 0.  It is as large as
 * wished, or smaller if RLIMIT_AS, RLIMIT_FSIZE or the cgroup ask for it.
 * Returns 0, or -errno and then `segment` holds nothing but `failed`.
 */
int hp_segment_create(struct hp_segment *segment, const struct hp_segment_wish *wish);

/*
 * Makes a segment for a trust level below that of `session`: the same header, but offsets from
 * `begin` to `end`.  Returns 0 or -errno.
 */
int hp_segment_create_level(struct hp_segment *segment, const struct hp_segment *session,
			    uint64_t begin, uint64_t end);

/* Bytes that the cgroup of this process may use, v2 and v1; UINT64_MAX = no limit. */
uint64_t hp_segment_cgroup_limit(void);

/*
 * Maps the segment behind `fd` for writing.  Takes over fd if it succeeds.
 * Returns 0, or -errno (-EPROTO: it is not a segment of this format).
 */
int hp_segment_attach(struct hp_segment *segment, int fd);

/* Closes the descriptor, keeps the mapping. */
void hp_segment_close_fd(struct hp_segment *segment);

/* Unmaps and closes.  Accepts a half-made one and HP_SEGMENT_NONE. */
void hp_segment_release(struct hp_segment *segment);

/*
 * Zeroed room of `bytes`, at a multiple of `align` (a power of two, at least
 * HP_LINE): its offset, or 0 when the segment is full; then `refused` counts.
 * Any thread, any process, also in a signal handler.
 */
uint64_t hp_segment_take(const struct hp_segment *segment, uint64_t bytes, uint64_t align);

/* --- leave.c: processes that give up rights --- */

/* Bytes of offsets that each further level gets. */
uint64_t hp_segment_level_size(uint64_t session_size);

/*
 * Before anybody knows an address in it, and while its descriptor is open: reserves addresses for
 * what follows.  They are not accessible and take no memory.  The mapping moves.  False = it
 * stays as it is, and leaving it takes a copy.
 */
bool hp_segment_reserve(struct hp_segment *segment);

/* Gives the reserved addresses back. */
void hp_segment_unreserve(struct hp_segment *segment);

/* Bytes of addresses from its start that are ours. */
uint64_t hp_segment_addresses(const struct hp_segment *segment);

/*
 * From now on this process has a private mapping in its place, of the same contents.  False = the
 * kernel refused, and it is as before.  System calls only.
 */
bool hp_segment_leave(struct hp_segment *segment);

/*
 * After that: maps the segment of another level behind `fd`.  Where no addresses are reserved it gets a
 * new start, if it `may_move`: no other thread may use it then.  The descriptor stays the caller's.
 * Returns 0 or -errno, and then it is private still.
 */
int hp_segment_enter(struct hp_segment *segment, int fd, bool may_move);

/* Is `fd` another segment of this session?  Where its records begin (0 = behind the header), and its size. */
bool hp_segment_level_of(int fd, const struct hp_header *session, uint64_t *begin, uint64_t *size);

/* --- room.c: processes that map a part of the segment only --- */

#define HP_HOLDER_UNSEEN 0	/* who narrows it cannot be asked about */

/*
 * This process's mapping shall be of `most` bytes, or what is given out already: the rest is
 * unmapped, and nobody of the session is given room in it while `holder` lives, its pid as the
 * sampler sees it, or one that it forked; HP_HOLDER_UNSEEN = for ever.  Returns false if there
 * is nothing to unmap.  Any thread; not in a signal handler that interrupted it.
 */
bool hp_segment_narrow(struct hp_segment *segment, uint64_t most, uint32_t holder);

/* A part only is mapped here: by this process, or before it was forked. */
bool hp_segment_is_narrow(const struct hp_segment *segment);

/*
 * A forked child, before it looks at any record: nobody is to be given room beyond what it has
 * mapped, as in hp_segment_narrow.  It may be a vfork child, whose memory is its parent's.
 * False = somebody was already, and it must not look.
 */
bool hp_segment_stay_narrow(const struct hp_segment *segment, uint32_t holder, uint32_t parent);

/*
 * All of the segment is given out again, if who did not have all of it is gone, as `is_gone`
 * says of a pid.  True = somebody is there still.  The sampler alone.
 */
bool hp_segment_widen(const struct hp_segment *segment, bool (*is_gone)(uint32_t pid));

/*
 * Address of a record at `offset`, or NULL if a record of `bytes` there would
 * be misaligned or outside of what is mapped.  Readers use nothing else to
 * follow an offset.
 */
static inline void *hp_segment_at(const struct hp_segment *segment, uint64_t offset, uint64_t bytes)
{
	/* Once: hp_segment_narrow may make it less meanwhile. */
	uint64_t size = __atomic_load_n(&segment->size, __ATOMIC_RELAXED);

	if (offset < HP_PAGE || offset % HP_LINE || offset >= size || bytes > size - offset)
		return NULL;
	return (char *)segment->header + offset;
}

/* The ports of the live server, in the header's page; NULL = a reader has less than that. */
static inline struct hp_ports *hp_segment_ports(const struct hp_segment *segment)
{
	if (!segment->header || segment->size < HP_PAGE)
		return NULL;
	return (struct hp_ports *)((char *)segment->header + HP_PORTS_AT);
}

static inline struct hp_room *hp_segment_room(const struct hp_segment *segment)
{
	if (!segment->header || __atomic_load_n(&segment->size, __ATOMIC_RELAXED) < HP_PAGE)
		return NULL;
	return (struct hp_room *)((char *)segment->header + HP_ROOM_AT);
}

/* In the header's page, which each whole segment has. */
static inline struct hp_levels *hp_segment_levels(const struct hp_segment *segment)
{
	if (!segment->header || __atomic_load_n(&segment->size, __ATOMIC_RELAXED) < HP_PAGE)
		return NULL;
	return (struct hp_levels *)((char *)segment->header + HP_LEVELS_AT);
}

static inline struct hp_ticking *hp_segment_ticking(const struct hp_segment *segment)
{
	return (struct hp_ticking *)((char *)segment->header + HP_TICKING_AT);
}

/* Writers: is the record in the segment that is written now? */
static inline bool hp_segment_holds(const struct hp_segment *segment, const void *address)
{
	uint64_t offset = (uint64_t)((const char *)address - (const char *)segment->header);

	return !segment->is_private && offset >= segment->records_at && offset < segment->size;
}

/* In the header's page, too. */
static inline struct hp_looks *hp_segment_looks(const struct hp_segment *segment)
{
	return (struct hp_looks *)((char *)segment->header + HP_LOOKS_AT);
}

/* Offset of an address inside the segment. */
static inline uint64_t hp_segment_offset(const struct hp_segment *segment, const void *address)
{
	return (uint64_t)((const char *)address - (const char *)segment->header);
}

/* Why a reader cannot use a segment. */
enum hp_segment_fault {
	HP_SEGMENT_FINE = 0,
	HP_SEGMENT_MISSING,	/* no such file; errno says why */
	HP_SEGMENT_FOREIGN,	/* a file, but not one of ours */
	HP_SEGMENT_TRUNCATED,	/* ours, but its end is missing */
	HP_SEGMENT_NEWER,	/* of a later format */
	HP_SEGMENT_CORRUPTED,	/* ours, but its header contradicts itself */
	HP_SEGMENT_UNMAPPED,	/* the kernel refused; errno says why */
};

/*
 * Readers: map read-only and check the header.  `size` is what is really there:
 * a saved file may hold the used part only.  Every record behind the header is
 * still to be treated as torn, old or hostile.  The descriptor stays the caller's.
 */
enum hp_segment_fault hp_segment_map_fd(struct hp_segment *segment, int fd);

/*
 * How many records there can be in what is stored: a file may claim 64 GiB and hold two pages.
 * For hp_segment.records_most of a segment that grows; hp_segment_map_fd sets it.
 */
uint64_t hp_segment_records_most(int fd, uint64_t size);

/* What is wrong with a header of which, with all behind it, `file_size` bytes are there. */
enum hp_segment_fault hp_segment_check(const struct hp_header *header, uint64_t file_size);

/* A text that goes after the file's name and a colon. */
const char *hp_segment_fault_text(enum hp_segment_fault fault);

static inline struct hp_recorded *hp_segment_recorded_at(const struct hp_segment *segment)
{
	return (struct hp_recorded *)((char *)segment->header + HP_RECORDED_AT);
}

/* Notes that something is recorded: bits of enum hp_recorded_kind.  Any thread, any process. */
static inline void hp_segment_recorded(const struct hp_segment *segment, uint32_t kinds)
{
	atomic_fetch_or_explicit(&hp_segment_recorded_at(segment)->kinds, kinds,
				 memory_order_relaxed);
}

/* What was noted so far. */
static inline uint32_t hp_segment_recorded_kinds(const struct hp_segment *segment)
{
	return atomic_load_explicit(&hp_segment_recorded_at(segment)->kinds, memory_order_relaxed);
}

#endif
