/* SPDX-License-Identifier: MIT */
/*
 * hook_dir.c - stand-ins for directories.
 *
 * A readdir takes far longer than a count, so each call is watched. A NULL with
 * an unchanged errno is the end; otherwise it is an error.
 */
#include <dirent.h>
#include <errno.h>

#include "preload/channel/channel.h"
#include "preload/guest/real.h"
#include "preload/stream/stream.h"

#define ENDED 1	/* hp_stream_open.flags */
#define FAILED 2

static uint64_t key_of(const DIR *dir)
{
	return (uint64_t)(uintptr_t)dir;
}

static struct hp_stream_open *opens(uint64_t key, const char *path, enum hp_stream_origin origin,
				    uintptr_t caller)
{
	const struct hp_stream_wish wish = {
		.kind = HP_STREAM_DIR, .origin = origin, .caller = caller, .name = path
	};
	struct hp_stream_open *open = NULL;
	int saved;

	/* Before the loader has relocated us, errno is inaccessible. */
	if (!hp_stream_is_wanted || hp_is_early())
		return NULL;
	saved = errno;
	if (hp_stream_is_on())
		open = hp_stream_opens(key, &wish);
	errno = saved;
	return open;
}

static DIR *opened(DIR *dir, const char *path, uintptr_t caller)
{
	if (dir)
		opens(key_of(dir), path, HP_STREAM_OPENED, caller);
	return dir;
}

HP_EXPORT DIR *opendir(const char *path)
{
	return opened(hp_real()->opendir(path), path, HP_CALLER);
}

HP_EXPORT DIR *fdopendir(int fd)
{
	return opened(hp_real()->fdopendir(fd), NULL, HP_CALLER);
}

/* A program may pass NULL, although the declaration of closedir forbids it. */
static void forget(DIR *dir)
{
	__asm__("" : "+r"(dir));
	if (dir)
		hp_channel_forget(dirfd(dir));
}

HP_EXPORT int closedir(DIR *dir)
{
	struct hp_stream_open *open = hp_stream_of(key_of(dir));
	uint32_t flags = open ? atomic_load_explicit(&open->flags, memory_order_relaxed) : 0;

	if (open)
		hp_stream_ends(open, flags & FAILED  ? HP_STREAM_FAILED
				     : flags & ENDED ? HP_STREAM_ENDED
						     : HP_STREAM_CLOSED);
	forget(dir);
	return hp_real()->closedir(dir);
}

/* `error`: of a call without a result; 0 = the end. */
static void entry_read(DIR *dir, bool is_entry, int error, uintptr_t caller)
{
	struct hp_stream_open *open = hp_stream_of(key_of(dir));
	struct hp_stream_part *part;

	open = open ? open : opens(key_of(dir), NULL, HP_STREAM_FIRST, caller);
	part = open ? atomic_load_explicit(&open->part, memory_order_acquire) : NULL;
	if (!part)
		return;
	if (is_entry) {
		hp_stream_items(part, 1, UINT64_MAX, NULL);
		return;
	}
	hp_stream_meets_end(part);
	atomic_fetch_or_explicit(&open->flags, error ? FAILED : ENDED, memory_order_relaxed);
}

#define READ(type, name) \
	HP_EXPORT type *name(DIR *dir) \
	{ \
		int saved, error; \
		type *entry; \
\
		if (HP_UNLIKELY(!hp_stream_is_wanted || hp_is_early())) \
			return hp_real()->name(dir); \
		saved = errno; \
		errno = 0; \
		entry = hp_real()->name(dir); \
		error = errno; \
		entry_read(dir, entry != NULL, error, HP_CALLER); \
		errno = error ? error : saved; \
		return entry; \
	}

READ(struct dirent, readdir)
READ(struct dirent64, readdir64)

/* It reads a whole directory inside the C library; items are the entries that it returns. */
static int scanned(const char *path, const void *list, int count, uintptr_t caller)
{
	struct hp_stream_open *open;
	struct hp_stream_part *part;

	open = count >= 0 ? opens((uint64_t)(uintptr_t)list, path, HP_STREAM_OPENED, caller) : NULL;
	part = open ? atomic_load_explicit(&open->part, memory_order_acquire) : NULL;
	if (!part)
		return count;
	if (count)
		hp_stream_items(part, (uint64_t)count, UINT64_MAX, NULL);
	hp_stream_ends(open, HP_STREAM_ENDED);
	return count;
}

HP_EXPORT int scandir(const char *path, struct dirent ***list,
		      int (*selects)(const struct dirent *),
		      int (*compares)(const struct dirent **, const struct dirent **))
{
	return scanned(path, list, hp_real()->scandir(path, list, selects, compares), HP_CALLER);
}

HP_EXPORT int scandir64(const char *path, struct dirent64 ***list,
			int (*selects)(const struct dirent64 *),
			int (*compares)(const struct dirent64 **, const struct dirent64 **))
{
	return scanned(path, list, hp_real()->scandir64(path, list, selects, compares), HP_CALLER);
}
