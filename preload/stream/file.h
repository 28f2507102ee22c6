/* SPDX-License-Identifier: MIT */
/*
 * file.h - FILE streams: common parts of stand-ins of stdio.
 *
 * A call on a FILE whose buffer is not empty certainly yields an item. So the
 * usual call counts one and jumps to the real function, without seeing the
 * result. Only a call that finds the buffer empty, once in many lines, is
 * watched until it returns: it may reach the end.
 *
 * The bytes of a regular file are its position when the stream is closed, minus the rest
 * of the buffer, minus the initial position. That costs nothing per item, and is correct
 * whatever reads the FILE. Without such a position
 * (pipes, terminals, files also written to) bytes are counted: within a buffer
 * by its pointers, and each call that may fill the buffer is watched.
 */
#ifndef HP_PRELOAD_STREAM_FILE_H
#define HP_PRELOAD_STREAM_FILE_H

#include <stdio.h>

#include "preload/guest/early.h"
#include "preload/guest/thread_list.h"
#include "preload/stream/stream.h"

/* hp_stream_open.flags */
#define HP_FILE_MET 1	/* how its bytes are counted is known */
#define HP_FILE_PLACED 2	/* bytes are its position */
#define HP_FILE_FRESH 4	/* its descriptor is new: it starts at 0 */
#define HP_FILE_MIXED 8	/* it is written to, as well */
#define HP_FILE_SEEK 16	/* one seek: bytes are counted from here on */
#define HP_FILE_SEEKS_MAX 8	/* after this many its position is no longer queried */

/*
 * A thread's own state; in a MADV_WIPEONFORK page. Another thread may clear `file` and
 * `near`. They are not atomics, since compilers would load those into a register first.
 */
struct hp_streamer {
	uint64_t *items;	/* of `file` and `near`, in the segment */
	struct hp_thread_node node;
	FILE *file;	/* this thread alone counts its items, whatever the call; NULL = none */
	FILE *near;	/* the same of calls that do not fill the buffer */
	struct hp_stream_open *open;	/* of `near` */
};

static_assert(HP_EARLY_ZERO(offsetof(struct hp_streamer, file)), "see preload/guest/early.h");
static_assert(HP_EARLY_ZERO(offsetof(struct hp_streamer, near)), "the same");

HP_THREAD_POINTER(struct hp_streamer, streamer)

/* The stream of a newly opened FILE; `mode` as in fopen, `name` or NULL. */
void hp_file_opened(FILE *file, const char *name, const char *mode, uintptr_t caller);

/* It is about to be closed; its position is about to change by a seek, and has changed. */
void hp_file_closes(FILE *file);
void hp_file_seeks(FILE *file);
void hp_file_sought(FILE *file);

/* A call that is watched. */
struct hp_file_call {
	struct hp_stream_part *part;	/* NULL = not counted */
	struct hp_stream_open *open;
	bool is_placed;	/* its bytes are not counted */
	const char *begin;	/* contents of the buffer */
	const char *end;
};

void hp_file_begin(struct hp_file_call *call, FILE *file, uintptr_t caller);

/* `size`: bytes that the call took, if it says so. */
void hp_file_end(const struct hp_file_call *call, FILE *file, bool is_item, uint64_t size);

/* The same for one that fills the buffer for characters that are read without a call. */
void hp_file_end_refill(const struct hp_file_call *call, FILE *file, bool is_filled);

/* Bytes of a text that fgets put into `text`. */
uint64_t hp_file_text_size(const struct hp_file_call *call, const FILE *file, const char *text,
			   size_t room);

/* The usual case: counts, and leaves the call to the real function. */
static HP_HOT bool hp_file_count(FILE *file)
{
	struct hp_streamer *me = hp_streamer();

	if (HP_UNLIKELY(me->file != file) || HP_UNLIKELY(file->_IO_read_ptr >= file->_IO_read_end))
		return false;
	++*me->items;
	return true;
}

/* The same for a call that reads `size` bytes, not 0, if the buffer has them. */
static HP_HOT bool hp_file_count_near(FILE *file, size_t size)
{
	struct hp_streamer *me = hp_streamer();

	if (HP_UNLIKELY(me->near != file) ||
	    HP_UNLIKELY(size > (size_t)(file->_IO_read_end - file->_IO_read_ptr)))
		return false;
	++*me->items;
	return true;
}

/* For life.c: the library starts; all streams are forgotten; the process ends. */
void hp_file_configure(void);
void hp_file_forget(void);
void hp_file_leave(void);

#endif
