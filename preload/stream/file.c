/* SPDX-License-Identifier: MIT */
/*
 * file.c - see file.h.
 *
 * A thread that reads a FILE alone has it in its struct hp_streamer and counts
 * without atomics. When a second thread reads it, the FILE leaves the first
 * one's struct for good: from then on all calls are watched.
 */
#include "preload/stream/file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/begin.h"
#include "preload/guest/confine.h"
#include "preload/guest/pages.h"
#include "preload/guest/readable.h"
#include "preload/guest/self.h"
#include "preload/thread/end.h"

#define FILE_MAGIC 0xfbad0000u	/* glibc's, in the upper half of _flags */
#define FILE_MAGIC_MASK 0xffff0000u
#define FILE_AT_END 0x0010
#define FILE_BACKUP 0x0100	/* the buffer's pointers are elsewhere: after ungetc */
#define NOWHERE UINT64_MAX
#define UNGOT_MAX 8	/* characters that ungetc may have put back */

static struct hp_streamer unborn;
static struct hp_streamer shared;	/* owner of FILEs that several threads read */
__thread struct hp_streamer *hp_streamer_pointer = &unborn;

static struct hp_thread_list streamers;
static int end_number = -1;	/* of preload/thread/end.h */

/* --- threads --- */

static void file_set(FILE **place, FILE *file)
{
	__atomic_store_n(place, file, __ATOMIC_SEQ_CST);
}

static void thread_end(void *data)
{
	struct hp_streamer *me = data;

	if (me != hp_streamer())
		return;
	hp_streamer_set(&unborn);
	file_set(&me->file, NULL);
	file_set(&me->near, NULL);
	hp_thread_list_give(&me->node);
}

/* In a forked child it is wiped, so it is free. */
static struct hp_streamer *streamer_open(void)
{
	struct hp_streamer *me = hp_streamer();

	if (me != &unborn && atomic_load_explicit(&me->node.state, memory_order_relaxed))
		return me;
	if (hp_is_confined())
		return NULL;
	me = hp_thread_list_get(&streamers, sizeof(*me), offsetof(struct hp_streamer, node));
	if (!me)
		return NULL;
	hp_streamer_set(me);
	hp_end_watch(end_number, me);
	return me;
}

/* The thread that has it in its struct must look it up again. */
static void leave_owner(struct hp_stream_open *open, FILE *file, struct hp_streamer *next)
{
	struct hp_streamer *owner = atomic_exchange(&open->owner, next);
	FILE *same = file;

	if (!owner || owner == next)
		return;
	__atomic_compare_exchange_n(&owner->file, &file, NULL, 0, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(&owner->near, &same, NULL, 0, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
}

static bool is_shared(const struct hp_stream_open *open)
{
	return atomic_load_explicit(&open->owner, memory_order_relaxed) == &shared;
}

/* This thread counts it alone, unless another one reads it, too. */
static void own(struct hp_stream_open *open, FILE *file, struct hp_stream_part *part)
{
	uint32_t flags = atomic_load_explicit(&open->flags, memory_order_relaxed);
	bool is_placed = flags & HP_FILE_PLACED;
	struct hp_streamer *me = hp_streamer();
	void *owner = NULL;

	if (flags & HP_FILE_MIXED)
		return;
	if (me->near == file && (!is_placed || me->file == file))
		return;
	me = streamer_open();
	if (!me)
		return;
	if (!atomic_compare_exchange_strong(&open->owner, &owner, me) && owner != me) {
		leave_owner(open, file, &shared);
		return;
	}
	file_set(&me->file, NULL);
	file_set(&me->near, NULL);
	atomic_signal_fence(memory_order_seq_cst);
	me->items = &part->items;
	me->open = open;
	atomic_signal_fence(memory_order_seq_cst);
	file_set(&me->near, file);
	if (is_placed)
		file_set(&me->file, file);
	/* Another thread has read it meanwhile, and may not have found it here. */
	if (atomic_load(&open->owner) != me) {
		file_set(&me->file, NULL);
		file_set(&me->near, NULL);
	}
}

/* --- positions --- */

static bool is_sane(const FILE *file)
{
	return ((unsigned)file->_flags & FILE_MAGIC_MASK) == FILE_MAGIC;
}

/* Unread bytes in the buffer; NOWHERE = unknown. */
static uint64_t left_in(const FILE *file)
{
	const char *at = file->_IO_read_ptr, *end = file->_IO_read_end;

	if (file->_flags & FILE_BACKUP || end < at)
		return NOWHERE;
	return (uint64_t)(end - at);
}

/* The position of the next byte to read; NOWHERE = none. */
static uint64_t position(const FILE *file)
{
	uint64_t left = left_in(file);
	long at = left == NOWHERE ? -1 : syscall(SYS_lseek, file->_fileno, 0L, SEEK_CUR);

	return at < 0 || (uint64_t)at < left ? NOWHERE : (uint64_t)at - left;
}

static bool is_regular(int fd)
{
	struct stat stat;

	return fd >= 0 && syscall(SYS_fstat, fd, &stat) == 0 && S_ISREG(stat.st_mode);
}

/* Where counting bytes starts; 0 = at the position of the next call. */
static void mark_place(struct hp_stream_open *open, const FILE *file, bool is_known)
{
	bool is_told = is_known && !is_shared(open) &&
		       !(atomic_load_explicit(&open->flags, memory_order_relaxed) & HP_FILE_MIXED);

	atomic_store_explicit(&open->start, is_told ? (uintptr_t)file->_IO_read_ptr : 0,
			      memory_order_relaxed);
	atomic_store_explicit(&open->end, is_told ? (uintptr_t)file->_IO_read_end : 0,
			      memory_order_relaxed);
}

/* Before its first read, or at its end. */
static void meet(struct hp_stream_open *open, struct hp_stream_part *part, const FILE *file)
{
	uint32_t flags = atomic_load_explicit(&open->flags, memory_order_relaxed) | HP_FILE_MET;
	uint64_t start = 0;
	int saved = errno;

	if (!(flags & HP_FILE_MIXED) && flags < HP_FILE_SEEKS_MAX * HP_FILE_SEEK &&
	    !hp_is_confined() && is_regular(file->_fileno)) {
		start = flags & HP_FILE_FRESH ? 0 : position(file);
		if (start != NOWHERE)
			flags |= HP_FILE_PLACED;
	}
	errno = saved;
	atomic_store_explicit(&open->flags, flags, memory_order_release);
	if (flags & HP_FILE_PLACED)
		atomic_store_explicit(&open->start, start, memory_order_relaxed);
	else
		mark_place(open, file, true);
	atomic_store_explicit(&part->settled, !(flags & HP_FILE_PLACED), memory_order_relaxed);
}

/* Adds the bytes read since the start. How bytes are counted from here on is undecided. */
static void settle(struct hp_stream_open *open, struct hp_stream_part *part, const FILE *file)
{
	uint64_t start = atomic_load_explicit(&open->start, memory_order_relaxed), now;
	int saved = errno;

	now = hp_is_confined() ? NOWHERE : position(file);
	errno = saved;
	if (now == NOWHERE || now < start)
		hp_stream_flag(part, HP_STREAM_NO_BYTES);
	else
		atomic_fetch_add_explicit(&part->bytes, now - start, memory_order_relaxed);
	atomic_fetch_and_explicit(&open->flags,
				  ~(uint32_t)(HP_FILE_PLACED | HP_FILE_MET | HP_FILE_FRESH),
				  memory_order_relaxed);
	atomic_store_explicit(&part->settled, 1, memory_order_relaxed);
}

/*
 * Bytes that calls took within the buffer since the last one that was watched. If something
 * else has filled it (getc_unlocked is not a call, fscanf is not counted), they are unknown.
 */
static void catch_up(const struct hp_stream_open *open, struct hp_stream_part *part,
		     const FILE *file)
{
	uint64_t start = atomic_load_explicit(&open->start, memory_order_relaxed);
	uint64_t end = atomic_load_explicit(&open->end, memory_order_relaxed);
	uint64_t now = (uintptr_t)file->_IO_read_ptr;

	if (!start || now == start)
		return;
	/* Below: ungetc. */
	if (end == (uintptr_t)file->_IO_read_end && now + UNGOT_MAX >= start)
		atomic_store_explicit(&part->bytes,
				      atomic_load_explicit(&part->bytes, memory_order_relaxed) +
					      (now - start),
				      memory_order_relaxed);
	else
		hp_stream_flag(part, HP_STREAM_NO_BYTES | HP_STREAM_NO_ITEMS);
}

/* --- opening and closing --- */

static uint64_t key_of(const FILE *file)
{
	return (uint64_t)(uintptr_t)file;
}

/* One that was closed in an unrecorded way. */
static void drop_stale(FILE *file)
{
	struct hp_stream_open *open = hp_stream_of(key_of(file));
	struct hp_stream_part *part =
		open ? atomic_load_explicit(&open->part, memory_order_acquire) : NULL;

	if (!part)
		return;
	leave_owner(open, file, NULL);
	if (atomic_load_explicit(&open->flags, memory_order_relaxed) & HP_FILE_PLACED)
		hp_stream_flag(part, HP_STREAM_NO_BYTES);
	hp_stream_ends(open, HP_STREAM_CLOSED);
}

static struct hp_stream_open *opens(FILE *file, const struct hp_stream_wish *wish, uint32_t flags)
{
	struct hp_stream_open *open;

	drop_stale(file);
	open = hp_stream_opens(key_of(file), wish);
	if (open)
		atomic_store_explicit(&open->flags, flags, memory_order_release);
	return open;
}

void hp_file_opened(FILE *file, const char *name, const char *mode, uintptr_t caller)
{
	struct hp_stream_wish wish = {
		.kind = HP_STREAM_FILE, .origin = HP_STREAM_OPENED, .caller = caller, .name = name
	};
	uint32_t flags = 0;
	int saved;

	/* Before the loader has relocated us, errno is inaccessible. */
	if (!file || !hp_stream_is_wanted || hp_is_early())
		return;
	saved = errno;
	if (!hp_stream_is_on()) {
		errno = saved;
		return;
	}
	/* One that is only written to: another FILE may have had this address. */
	if (mode[0] != 'r' && !strchr(mode, '+')) {
		drop_stale(file);
		wish.kind = HP_STREAM_WRITTEN;
		hp_stream_tally(&wish);
		errno = saved;
		return;
	}
	flags |= strchr(mode, '+') ? HP_FILE_MIXED : 0;
	flags |= name ? HP_FILE_FRESH : 0;
	opens(file, &wish, flags);
	errno = saved;
}

static struct hp_stream_open *first_use(FILE *file, uintptr_t caller)
{
	const struct hp_stream_wish wish = { .kind = HP_STREAM_FILE,
					     .origin = file == stdin ? HP_STREAM_STDIN
								     : HP_STREAM_FIRST,
					     .caller = caller };

	return hp_stream_is_on() ? opens(file, &wish, 0) : NULL;
}

/* The rest to be counted.  The FILE may be at its end, or closed. */
static void finish(struct hp_stream_open *open, struct hp_stream_part *part, const FILE *file)
{
	uint32_t flags = atomic_load_explicit(&open->flags, memory_order_relaxed);

	if (!is_sane(file)) {
		hp_stream_flag(part, HP_STREAM_NO_BYTES);
		return;
	}
	/* Wide characters are converted ahead of reads. */
	if (file->_mode > 0 && !(file->_flags & FILE_AT_END))
		hp_stream_flag(part, HP_STREAM_NO_BYTES);
	/* No call was recorded: from the beginning of a file it is known nevertheless. */
	if (!(flags & HP_FILE_MET)) {
		if (file->_IO_read_base)
			hp_stream_flag(part, HP_STREAM_NO_ITEMS);
		if (flags & HP_FILE_FRESH)
			meet(open, part, file);
		else if (file->_IO_read_base)
			hp_stream_flag(part, HP_STREAM_NO_BYTES);
	}
	if (atomic_load_explicit(&open->flags, memory_order_relaxed) & HP_FILE_PLACED)
		settle(open, part, file);
	else
		catch_up(open, part, file);
	mark_place(open, file, false);
}

static struct hp_stream_part *part_of(const struct hp_stream_open *open)
{
	return open ? atomic_load_explicit(&open->part, memory_order_acquire) : NULL;
}

void hp_file_closes(FILE *file)
{
	struct hp_stream_open *open = file ? hp_stream_of(key_of(file)) : NULL;
	struct hp_stream_part *part = part_of(open);

	if (!part || !hp_self_is_me())
		return;
	leave_owner(open, file, NULL);
	finish(open, part, file);
	hp_stream_ends(open, ferror_unlocked(file) ? HP_STREAM_FAILED
			     : feof_unlocked(file) ? HP_STREAM_ENDED
						   : HP_STREAM_CLOSED);
}

/* Everything read so far is counted; then it continues elsewhere. */
void hp_file_seeks(FILE *file)
{
	struct hp_stream_open *open = file ? hp_stream_of(key_of(file)) : NULL;
	struct hp_stream_part *part = part_of(open);

	if (!part)
		return;
	leave_owner(open, file, is_shared(open) ? &shared : NULL);
	finish(open, part, file);
	if (atomic_load_explicit(&open->flags, memory_order_relaxed) <
	    HP_FILE_SEEKS_MAX * HP_FILE_SEEK)
		atomic_fetch_add_explicit(&open->flags, HP_FILE_SEEK, memory_order_relaxed);
	atomic_fetch_and_explicit(&open->flags, ~(uint32_t)(HP_FILE_FRESH | HP_FILE_MET),
				  memory_order_relaxed);
}

void hp_file_sought(FILE *file)
{
	struct hp_stream_open *open = file ? hp_stream_of(key_of(file)) : NULL;
	struct hp_stream_part *part = part_of(open);

	if (part)
		meet(open, part, file);
}

/* --- calls that are watched --- */

/* Not the FILE that this thread counts alone, as far as it knows. */
static HP_COLD struct hp_stream_open *find(FILE *file, uintptr_t caller)
{
	int saved = errno;
	struct hp_stream_open *open = hp_stream_of(key_of(file));
	struct hp_stream_part *part;

	if (!open)
		open = first_use(file, caller);
	errno = saved;
	part = part_of(open);
	if (!part)
		return NULL;
	if (!(atomic_load_explicit(&open->flags, memory_order_acquire) & HP_FILE_MET))
		meet(open, part, file);
	own(open, file, part);
	return open;
}

static bool is_owner(const FILE *file)
{
	return hp_streamer()->near == file;
}

void hp_file_begin(struct hp_file_call *call, FILE *file, uintptr_t caller)
{
	call->part = NULL;
	if (!hp_stream_is_wanted || hp_is_early() || !file)
		return;
	call->open = HP_LIKELY(is_owner(file)) ? hp_streamer()->open : find(file, caller);
	call->part = part_of(call->open);
	if (!call->part)
		return;
	call->begin = file->_IO_read_ptr;
	call->end = file->_IO_read_end;
	call->is_placed =
		atomic_load_explicit(&call->open->flags, memory_order_relaxed) & HP_FILE_PLACED;
	if (!call->is_placed)
		catch_up(call->open, call->part, file);
}

/* The usual case of a thread that counts it alone: no atomics, no clock. */
static bool count_plainly(struct hp_stream_part *part, uint64_t size)
{
	if (hp_stream_number(part) + 1 >= atomic_load_explicit(&part->due, memory_order_relaxed))
		return false;
	part->items++;
	atomic_store_explicit(&part->bytes,
			      atomic_load_explicit(&part->bytes, memory_order_relaxed) + size,
			      memory_order_relaxed);
	return true;
}

void hp_file_end(const struct hp_file_call *call, FILE *file, bool is_item, uint64_t size)
{
	if (!call->part)
		return;
	if (!is_item)
		hp_stream_meets_end(call->part);
	else if (!is_owner(file) || !count_plainly(call->part, call->is_placed ? 0 : size))
		hp_stream_items(call->part, 1, call->is_placed ? UINT64_MAX : size, NULL);
	if (!call->is_placed)
		mark_place(call->open, file, true);
}

void hp_file_end_refill(const struct hp_file_call *call, FILE *file, bool is_filled)
{
	if (!call->part)
		return;
	hp_stream_flag(call->part, HP_STREAM_NO_ITEMS);
	if (!is_filled)
		hp_stream_meets_end(call->part);
	else if (!call->is_placed)
		atomic_fetch_add_explicit(&call->part->bytes, 1, memory_order_relaxed);
	if (!call->is_placed)
		mark_place(call->open, file, true);
}

/* In the existing buffer; in that and the next one; in more. */
uint64_t hp_file_text_size(const struct hp_file_call *call, const FILE *file, const char *text,
			   size_t room)
{
	uint64_t before = (uint64_t)(call->end - call->begin);
	uint64_t now = (uint64_t)(file->_IO_read_ptr - file->_IO_read_base);
	uint64_t within = (uint64_t)(file->_IO_read_ptr - call->begin);

	if (call->is_placed)
		return 0;
	if (is_shared(call->open) || file->_flags & FILE_BACKUP)
		return strlen(text);
	if (file->_IO_read_end == call->end && within < room && !text[within])
		return within;
	if (now + before < room && !text[now + before])
		return now + before;
	return strlen(text);
}

/* --- the process --- */

void hp_file_configure(void)
{
	end_number = hp_end_new(thread_end);
}

void hp_file_forget(void)
{
	struct hp_thread_node *node = hp_thread_list_first(&streamers);

	for (; node; node = node->next) {
		struct hp_streamer *me = HP_THREAD_OF(struct hp_streamer, node);

		file_set(&me->file, NULL);
		file_set(&me->near, NULL);
	}
}

/* A FILE that was closed in an unrecorded way may no longer be mapped. */
static void leave_one(struct hp_stream_open *open)
{
	FILE *file = (FILE *)(uintptr_t)atomic_load_explicit(&open->key, memory_order_relaxed);
	struct hp_stream_part *part = part_of(open);

	if (!part || hp_stream_of_part(part)->kind != HP_STREAM_FILE || hp_is_confined() ||
	    !hp_readable_few((uintptr_t)file, sizeof(*file)))
		return;
	leave_owner(open, file, NULL);
	finish(open, part, file);
}

void hp_file_leave(void)
{
	hp_stream_each(leave_one);
}
