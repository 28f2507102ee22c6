/* SPDX-License-Identifier: MIT */
/*
 * segment.h - create, join, map and allocate from the shared segment.
 *
 * Folder: segment - the shared segment, settings and clocks, for the library
 *   and the commands
 * May use: segment/layout util
 *
 * The creator (the library in the session's root, or `hotpath run`) calls
 * hp_segment_create; every other process of the session gets its descriptor and
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
#include "util/user.h"

#define HP_SEGMENT_SHARE 16	/* it takes 1/this of the allowed address space */

/*
 * The header's data on the session's start, copied early, because members could
 * overwrite it later: file names and the processes that the helper watches
 * depend on it. root_pid 0 = unknown.
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

/* Readers: where further segments of the session are mapped, after the first. */
struct hp_parts {
	uint32_t count;
	uint64_t begin[HP_LEVELS_MAX];	/* ascending; a copy of its header is there */
	int fd[HP_LEVELS_MAX];	/* another user's; -1 = none */
};

struct hp_segment {
	struct hp_header *header;	/* NULL = none; it is the start of the mapping */
	uint64_t size;	/* bytes mapped; offsets end here */
	int fd;	/* -1 = none */
	bool is_shared;	/* the pages are the file's: nothing is lost if they are dropped */
	bool is_lent;	/* the mapping is borrowed from a longer-lived one: release leaves it */
	const char *failed;	/* after a failure: the step that failed, a static text */
	uint64_t records_most;	/* readers: upper limit from the stored bytes; 0 = unknown */
	struct hp_moment now;	/* readers of a live session: value at this refresh; 0 = unknown */
	struct hp_begin begin;	/* readers: trusted instead of the header */
	struct hp_parts parts;	/* readers */
	struct hp_user owner;	/* readers: of the file that it came from */
	uint64_t span;	/* writers: bytes of our address space from its start; 0 = `size` */
	void *spare;	/* writers: replacement mapping for leaving; NULL = none */
	uint64_t spare_size;
	uint64_t records_at;	/* writers: only the header page and the part from here on are mapped */
	bool is_private;	/* writers: left; nobody else sees it */
};

/* All segments that the helper writes, the session's own first. */
struct hp_segments {
	uint32_t count;
	struct hp_segment *at[1 + HP_LEVELS_MAX];
};

#define HP_SEGMENT_NONE \
	{ \
		.header = NULL, .size = 0, .fd = -1, .is_lent = false, .failed = NULL, \
		.records_most = 0, .now = { 0, 0 }, .begin = { .root_pid = 0 }, .parts = { \
			.count = 0 \
		} \
	}

/* The creator's wishes. */
struct hp_segment_wish {
	uint64_t size;	/* HOTPATH_SEGMENT_SIZE; 0 = HP_SIZE_DEFAULT */
	const char *path;	/* HOTPATH_SEGMENT_PATH, `%p` = pid; NULL or "" = a memfd */
	uint32_t timing;	/* enum hp_timing */
	uint32_t logs_limit;
	uint32_t root_pid;	/* 0 = not yet known (the runner sets it) */
	uint32_t runner_pid;	/* 0 = none */
	const char *token;	/* HP_TOKEN_SIZE hex digits, see session.h */
};

/*
 * Creates, maps and fills a segment: the header is then complete, including the
 * clock; only the cost_ fields are still 0. It has the requested size, or less
 * if RLIMIT_AS, RLIMIT_FSIZE or the cgroup require it. Returns 0, or -errno and
 * then `segment` holds nothing but `failed`.
 */
int hp_segment_create(struct hp_segment *segment, const struct hp_segment_wish *wish);

/*
 * Creates a segment for a trust level below that of `session`: the same header, but offsets from
 * `begin` to `end`.  Returns 0 or -errno.
 */
int hp_segment_create_level(struct hp_segment *segment, const struct hp_segment *session,
			    uint64_t begin, uint64_t end);

/* Bytes that the cgroup of this process may use, v2 and v1; UINT64_MAX = no limit. */
uint64_t hp_segment_cgroup_limit(void);

/*
 * Maps the segment behind `fd` for writing.  On success it owns fd.  Returns 0,
 * or -errno (-EPROTO: it is not a segment of this format).
 */
int hp_segment_attach(struct hp_segment *segment, int fd);

/* The same, with address space for later segments reserved at once (hp_segment_reserve) if possible. */
int hp_segment_attach_reserved(struct hp_segment *segment, int fd);

/* The owner of a reader's segment. */
struct hp_user hp_segment_owner(int fd);

/* Closes the descriptor, keeps the mapping. */
void hp_segment_close_fd(struct hp_segment *segment);

/* Unmaps and closes.  Accepts a half-created one and HP_SEGMENT_NONE. */
void hp_segment_release(struct hp_segment *segment);

/*
 * Allocates `bytes` zeroed bytes, aligned to `align` (a power of two, at least
 * HP_LINE). Returns the offset, or 0 when the segment is full; then `refused`
 * grows. Any thread, any process, also in a signal handler.
 */
uint64_t hp_segment_take(const struct hp_segment *segment, uint64_t bytes, uint64_t align);

/*
 * The same for records that each process searches when it starts. They lie side by side: otherwise
 * each of them is on a page of its own, between the records of its process, and each page that the
 * search touches is a page fault.
 */
uint64_t hp_segment_take_searched(const struct hp_segment *segment, uint64_t bytes);

/* --- leave.c: processes that drop privileges --- */

/* Bytes of offsets that each further level gets. */
uint64_t hp_segment_level_size(uint64_t session_size);

/*
 * Reserves address space for later segments. They are inaccessible and take no
 * memory. Call it before anybody knows an address in the segment and while its
 * descriptor is open, because the mapping moves. False = unchanged; leaving
 * then takes a copy.
 */
bool hp_segment_reserve(struct hp_segment *segment);

/* The same for one that is not mapped yet, only its descriptor and its size are known: maps it. */
bool hp_segment_map_reserved(struct hp_segment *segment, uint64_t size);

/* Releases the reserved address space. */
void hp_segment_unreserve(struct hp_segment *segment);

/* Bytes of our address space from its start. */
uint64_t hp_segment_addresses(const struct hp_segment *segment);

/*
 * Replaces the mapping in this process with a private one of the same contents.
 * False = the kernel refused and nothing changed. System calls only.
 */
bool hp_segment_leave(struct hp_segment *segment);

/*
 * Then maps the segment of another level, `fd`. Without reserved addresses it
 * gets a new start if it `may_move`; no other thread may use it meanwhile. The
 * caller keeps the descriptor. Returns 0, or -errno and the mapping stays
 * private.
 */
int hp_segment_enter(struct hp_segment *segment, int fd, bool may_move);

/*
 * Is `fd` another segment of this session?  Where its records begin (0 = after the
 * header), and its size.
 */
bool hp_segment_level_of(int fd, const struct hp_header *session, uint64_t *begin, uint64_t *size);

/* --- room.c: processes that map only a part of the segment --- */

#define HP_HOLDER_UNSEEN 0	/* the narrowing process cannot be checked */

/*
 * Shrinks this process's mapping to `most` bytes, or to the allocated part if
 * that is larger, and unmaps the rest. No process of the session allocates
 * beyond it while `holder` (a pid as the sampler sees it) or a process forked
 * from it lives; HP_HOLDER_UNSEEN = forever. Returns false if there is nothing
 * to unmap. Any thread, but not a signal handler that interrupted this
 * function.
 */
bool hp_segment_narrow(struct hp_segment *segment, uint64_t most, uint32_t holder);

/* Only a part is mapped here: narrowed by this process or before it was forked. */
bool hp_segment_is_narrow(const struct hp_segment *segment);

/*
 * For a forked child, before it reads any record: keeps others from allocating
 * beyond its mapping, as in hp_segment_narrow. It may be a vfork child, which
 * shares its parent's memory. False = another thread already allocated there,
 * and the child must not read.
 */
bool hp_segment_stay_narrow(const struct hp_segment *segment, uint32_t holder, uint32_t parent);

/*
 * Lifts the bound if every process that narrowed its mapping is gone; `is_gone`
 * tells for a pid. True = some are left. Sampler only.
 */
bool hp_segment_widen(const struct hp_segment *segment, bool (*is_gone)(uint32_t pid));

/* True while a bound may be lifted later. Any thread of any process. */
bool hp_segment_is_bounded(const struct hp_segment *segment);

/*
 * Address of a record at `offset`, or NULL if a record of `bytes` there
 * would be misaligned or outside the mapped part.  Readers use nothing else to
 * follow an offset.
 */
static inline void *hp_segment_at(const struct hp_segment *segment, uint64_t offset, uint64_t bytes)
{
	/* Read once: hp_segment_narrow may shrink it meanwhile. */
	uint64_t size = __atomic_load_n(&segment->size, __ATOMIC_RELAXED);

	if (offset < HP_PAGE || offset % HP_LINE || offset >= size || bytes > size - offset)
		return NULL;
	return (char *)segment->header + offset;
}

/* The ports of the live server, in the header's page; NULL = the reader's mapping is too short. */
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

/* Writers: is the record in the current segment? */
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

static inline struct hp_credit *hp_segment_credit(const struct hp_segment *segment)
{
	return (struct hp_credit *)((char *)segment->header + HP_CREDIT_AT);
}

static inline struct hp_vacant *hp_segment_vacant(const struct hp_segment *segment)
{
	return (struct hp_vacant *)((char *)segment->header + HP_VACANT_AT);
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
	HP_SEGMENT_TRUNCATED,	/* ours, but truncated */
	HP_SEGMENT_NEWER,	/* of a later format */
	HP_SEGMENT_CORRUPTED,	/* ours, but its header contradicts itself */
	HP_SEGMENT_UNMAPPED,	/* the kernel refused; errno says why */
};

/*
 * Readers: map read-only and check the header.  `size` is the real size: a
 * saved file may hold only the used part.  Every record after the header must
 * still be treated as torn, old or hostile.  The caller keeps the descriptor.
 */
enum hp_segment_fault hp_segment_map_fd(struct hp_segment *segment, int fd);

/*
 * Upper limit of the number of records from the stored bytes: a file may claim
 * 64 GiB and hold two pages. Used for hp_segment.records_most of a growing
 * segment; hp_segment_map_fd sets it otherwise.
 */
uint64_t hp_segment_records_most(int fd, uint64_t size);

/* Checks the header of a segment whose file has `file_size` bytes. */
enum hp_segment_fault hp_segment_check(const struct hp_header *header, uint64_t file_size);

/* A message to print after the file's name and a colon. */
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

/* The kinds recorded so far. */
static inline uint32_t hp_segment_recorded_kinds(const struct hp_segment *segment)
{
	return atomic_load_explicit(&hp_segment_recorded_at(segment)->kinds, memory_order_relaxed);
}

/* CPU time that the sampler has used so far, ns; 0 = unknown. */
static inline uint64_t hp_segment_helper_cpu_ns(const struct hp_segment *segment)
{
	return atomic_load_explicit(&hp_segment_recorded_at(segment)->helper_cpu_ns,
				    memory_order_relaxed);
}

/* What a sampling interrupt takes the program, ns; 0 = unknown. */
static inline uint32_t hp_segment_interrupt_ns(const struct hp_segment *segment)
{
	return atomic_load_explicit(&hp_segment_recorded_at(segment)->interrupt_ns,
				    memory_order_relaxed);
}

/* Time the machine was suspended since the helper's start, ns. */
static inline uint64_t hp_segment_suspended_ns(const struct hp_segment *segment)
{
	return atomic_load_explicit(&hp_segment_recorded_at(segment)->suspended_ns,
				    memory_order_relaxed);
}

/* CPUs that were online when the session began; 0 = unknown. */
static inline uint32_t hp_segment_cores(const struct hp_segment *segment)
{
	return atomic_load_explicit(&hp_segment_recorded_at(segment)->cores, memory_order_relaxed);
}

/* An empty call whose hooks do nothing, fine ticks; 0 = unknown. */
static inline uint32_t hp_segment_bare_fine(const struct hp_segment *segment)
{
	return atomic_load_explicit(&hp_segment_recorded_at(segment)->bare_fine,
				    memory_order_relaxed);
}

#endif
