/* SPDX-License-Identifier: MIT */
/*
 * stream.h - streams: files, directories and sockets that yield one item after
 * the other, and those that the program marks with HOTPATH_STREAM.
 *
 * A table of the process leads from an address or a descriptor to the open
 * instance. All counts are in the segment: in the instance's part of the
 * record of the place that opened it. So ten thousand files opened by one
 * place are one record, with as many parts as were open at once.
 *
 * Counts are exact. Time stamps cost a clock reading, so as many items are
 * stamped as fit into 2 % of the time; without credit, two in a row are
 * stamped at random, which gives one gap.
 *
 * Folder: preload/stream - streams: files, directories, listening
 *   sockets, and those that the program marks
 * May use: preload/channel preload/lock preload/wait preload/heap preload/call
 *   preload/thread preload/guest segment segment/layout util include
 */
#ifndef HP_PRELOAD_STREAM_STREAM_H
#define HP_PRELOAD_STREAM_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/guest/above.h"
#include "preload/guest/guest.h"
#include "segment/layout/stream.h"
#include "util/hash.h"

/* Keys beside addresses. */
#define HP_STREAM_KEY_CUSTOM (UINT64_C(1) << 62)	/* with an address */
#define HP_STREAM_KEY_FD (UINT64_C(1) << 61)	/* with a descriptor */

#define HP_STREAMS_BITS 12	/* log2 of the places in the table */
#define HP_STREAM_PROBES 16

/* An open instance. In pages that a forked child finds empty. */
struct hp_stream_open {
	_Atomic uint64_t key;	/* 0 = never used */
	_Atomic(struct hp_stream_part *) part;	/* in the segment; NULL = not open */
	_Atomic(void *) owner;	/* files: the struct hp_streamer that may count without atomics */
	_Atomic uint64_t start;	/* files: position, or place in the buffer, from which bytes count */
	_Atomic uint64_t end;	/* files: of that buffer */
	_Atomic uint32_t flags;	/* files: HP_FILE_* */
	uint32_t reserved[5];
};

static_assert(sizeof(struct hp_stream_open) == 64, "two streams do not share a line");

struct hp_stream_wish {
	enum hp_stream_kind kind;
	enum hp_stream_origin origin;
	uintptr_t caller;
	const char *name;	/* NULL = none */
	const char *label;	/* NULL = none */
};

/* --- life.c --- */

extern const struct hp_recorder hp_stream_recorder;

extern HP_HIDDEN struct hp_stream_open *hp_stream_table;	/* NULL = none was opened yet */
extern HP_HIDDEN bool hp_stream_is_wanted;	/* known once the library has started */

/* Starts the library. True if streams are recorded and the process has its record. */
bool hp_stream_is_on(void);

/* --- open.c: the table --- */

/* Opens an instance, whatever had the key before; NULL = no room, which is counted. */
struct hp_stream_open *hp_stream_opens(uint64_t key, const struct hp_stream_wish *wish);

/* NULL = not open. */
struct hp_stream_open *hp_stream_find(uint64_t key);

static HP_HOT struct hp_stream_open *hp_stream_of(uint64_t key)
{
	return HP_UNLIKELY(!hp_stream_table) ? NULL : hp_stream_find(key);
}

/* The instance ends; false = it was no longer open. */
bool hp_stream_ends(struct hp_stream_open *open, enum hp_stream_end how);

/* Those that are open. */
void hp_stream_each(void (*visit)(struct hp_stream_open *open));

/* Forgets all open instances. */
void hp_stream_forget(void);

/* --- stream.c: records and counts --- */

/* A part for one instance; NULL = no room there, or in the table: counted. */
struct hp_stream_part *hp_stream_part_new(const struct hp_stream_wish *wish, bool has_place);
void hp_stream_part_end(struct hp_stream_part *part, enum hp_stream_end how);

/* Only counts an instance, and compares its name with the first one's. */
void hp_stream_tally(const struct hp_stream_wish *wish);

struct hp_stream *hp_stream_of_part(const struct hp_stream_part *part);
void hp_stream_label(struct hp_stream *stream, const char *text);

/* Counts items of `size` bytes in all (UINT64_MAX = not known); `text` for the log, or NULL. */
void hp_stream_items(struct hp_stream_part *part, uint64_t count, uint64_t size, const char *text);

/* The end was reached, after the last item. */
void hp_stream_meets_end(struct hp_stream_part *part);

/* Flags of the record: HP_STREAM_NO_BYTES and the like. */
void hp_stream_flag(const struct hp_stream_part *part, uint32_t flags);

/* The record belonged to an ended process, whose open objects are left behind. */
void hp_stream_fold(struct hp_process *process);

/* Items of the current instance so far. */
static inline uint64_t hp_stream_number(const struct hp_stream_part *part)
{
	return __atomic_load_n(&part->items, __ATOMIC_RELAXED) +
	       atomic_load_explicit(&part->more_items, memory_order_relaxed) -
	       atomic_load_explicit(&part->base, memory_order_relaxed);
}

/* --- fd.c --- */

static inline uint64_t hp_stream_fd_key(int fd)
{
	return HP_STREAM_KEY_FD | (uint64_t)fd;
}

/* A descriptor that is a stream was read; is about to be closed. */
void hp_stream_fd_read(int fd, const void *buffer, size_t size);
void hp_stream_fd_closed(int fd);

/* --- mark.c: HOTPATH_STREAM and the like --- */

/* hotpath_label() of include/hotpath.h, with one of the stream marks. */
void hp_stream_mark(int what, const void *object, const char *text, uintptr_t caller);

#endif
