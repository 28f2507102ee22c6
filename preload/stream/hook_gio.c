/* SPDX-License-Identifier: MIT */
/*
 * hook_gio.c - stand-ins for GInputStream of GLib, if the program has it
 * (preload/guest/absent.h).
 *
 * A stream starts when it is first read. It ends when a read reaches its end
 * or it is closed: objects are freed in many ways. GIO's own reads are not
 * recorded.
 */
#include <errno.h>
#include <sys/types.h>

#include "preload/guest/absent.h"
#include "preload/lock/glib.h"
#include "preload/stream/stream.h"

static struct hp_absent read_real = HP_ABSENT("g_input_stream_read");
static struct hp_absent close_real = HP_ABSENT("g_input_stream_close");

static bool is_counted(void)
{
	return hp_stream_is_wanted && !hp_is_early() && !hp_glib_is_without;
}

static struct hp_stream_open *opens(uint64_t key, uintptr_t caller)
{
	const struct hp_stream_wish wish = { .kind = HP_STREAM_GINPUT,
					     .origin = HP_STREAM_FIRST,
					     .caller = caller };

	return hp_stream_is_on() ? hp_stream_opens(key, &wish) : NULL;
}

static void was_read(void *stream, ssize_t got, uintptr_t caller)
{
	uint64_t key = (uint64_t)(uintptr_t)stream;
	struct hp_stream_open *open = hp_stream_of(key);
	struct hp_stream_part *part;

	if (!open && got > 0)
		open = opens(key, caller);
	part = open ? atomic_load_explicit(&open->part, memory_order_acquire) : NULL;
	if (!part)
		return;
	if (got > 0)
		hp_stream_items(part, 1, (uint64_t)got, NULL);
	else if (got == 0)
		hp_stream_ends(open, HP_STREAM_ENDED);
	else
		hp_stream_ends(open, HP_STREAM_FAILED);
}

ssize_t g_input_stream_read(void *stream, void *buffer, size_t size, void *cancel, void **error);
HP_EXPORT ssize_t g_input_stream_read(void *stream, void *buffer, size_t size, void *cancel,
				      void **error)
{
	ssize_t (*real)(void *, void *, size_t, void *, void **) =
		(ssize_t(*)(void *, void *, size_t, void *, void **))(
			uintptr_t)hp_absent_real(&read_real, HP_CALLER);
	ssize_t got;
	int saved;

	if (!real)
		return -1;
	got = real(stream, buffer, size, cancel, error);
	if (size && is_counted()) {
		saved = errno;
		was_read(stream, got, HP_CALLER);
		errno = saved;
	}
	return got;
}

int g_input_stream_close(void *stream, void *cancel, void **error);
HP_EXPORT int g_input_stream_close(void *stream, void *cancel, void **error)
{
	int (*real)(void *, void *, void **) =
		(int (*)(void *, void *, void **))(uintptr_t)hp_absent_real(&close_real, HP_CALLER);
	struct hp_stream_open *open =
		is_counted() ? hp_stream_of((uint64_t)(uintptr_t)stream) : NULL;

	if (open)
		hp_stream_ends(open, HP_STREAM_CLOSED);
	return real ? real(stream, cancel, error) : 0;
}
