/* SPDX-License-Identifier: MIT */
/*
 * hook_gio.c - stand-ins for GInputStream of GLib, if the program has it
 * (preload/guest/absent.h).
 *
 * A stream starts when it is first read. It ends when a read reaches its end
 * or it is closed: objects are freed in many ways. Asynchronous reads count
 * when the program takes their result. GIO's own reads are not recorded: a call
 * of the program may make several of them, on this or another stream.
 */
#include <errno.h>
#include <stdbool.h>

#include "preload/guest/absent.h"
#include "preload/lock/glib.h"
#include "preload/stream/gio.h"
#include "preload/stream/stream.h"
#include "preload/thread/module.h"

HP_GIO_LIST(HP_ABSENT_REAL)

#define FIND HP_ABSENT_FIND
#define ADDRESS(function) ((uintptr_t)(function))

/* What a call of the program read. */
struct got {
	ssize_t size;	/* < 0: none */
	bool is_item;
	bool is_end;
	bool has_failed;
	bool has_more;	/* bytes that are not counted: the line's end */
};

static bool is_wanted(uintptr_t real, uintptr_t caller)
{
	struct hp_module own;

	if (!hp_stream_is_wanted || hp_is_early() || hp_glib_is_without)
		return false;
	return !hp_module_span(real, &own) || caller - own.begin >= own.end - own.begin;
}

static struct hp_stream_open *opens(uint64_t key, uintptr_t caller)
{
	const struct hp_stream_wish wish = { .kind = HP_STREAM_GINPUT,
					     .origin = HP_STREAM_FIRST,
					     .caller = caller };

	return hp_stream_is_on() ? hp_stream_opens(key, &wish) : NULL;
}

static void count(void *stream, const struct got *got, uintptr_t caller)
{
	uint64_t key = (uint64_t)(uintptr_t)stream;
	struct hp_stream_open *open = hp_stream_of(key);
	struct hp_stream_part *part;

	if (!open && got->is_item)
		open = opens(key, caller);
	part = open ? atomic_load_explicit(&open->part, memory_order_acquire) : NULL;
	if (!part)
		return;
	if (got->has_more)
		hp_stream_flag(part, HP_STREAM_NO_BYTES);
	if (got->is_item)
		hp_stream_items(part, 1, (uint64_t)got->size, NULL);
	if (got->is_end)
		hp_stream_ends(open, HP_STREAM_ENDED);
	else if (got->has_failed)
		hp_stream_ends(open, HP_STREAM_FAILED);
}

static void was_read(void *stream, const struct got *got, uintptr_t real, uintptr_t caller)
{
	int saved = errno;

	if (is_wanted(real, caller))
		count(stream, got, caller);
	errno = saved;
}

/* --- bytes --- */

static struct got got_size(ssize_t size)
{
	return (struct got){
		.size = size, .is_item = size > 0, .is_end = size == 0, .has_failed = size < 0
	};
}

HP_EXPORT ssize_t g_input_stream_read(void *stream, void *buffer, size_t size, void *cancel,
				      void **error)
{
	g_input_stream_read_type real = FIND(g_input_stream_read);
	struct got got;

	if (!real)
		return -1;
	got = got_size(real(stream, buffer, size, cancel, error));
	if (size)
		was_read(stream, &got, ADDRESS(real), HP_CALLER);
	return got.size;
}

HP_EXPORT ssize_t g_input_stream_read_finish(void *stream, void *result, void **error)
{
	g_input_stream_read_finish_type real = FIND(g_input_stream_read_finish);
	struct got got;

	if (!real)
		return -1;
	got = got_size(real(stream, result, error));
	was_read(stream, &got, ADDRESS(real), HP_CALLER);
	return got.size;
}

/* --- as much as there is room for --- */

/* Less than that is the end; `size` 0: not known. */
static struct got got_all(bool is_fine, size_t read, size_t size)
{
	return (struct got){ .size = (ssize_t)read,
			     .is_item = read > 0,
			     .is_end = is_fine && (read < size || !read),
			     .has_failed = !is_fine };
}

HP_EXPORT int g_input_stream_read_all(void *stream, void *buffer, size_t size, size_t *read,
				      void *cancel, void **error)
{
	g_input_stream_read_all_type real = FIND(g_input_stream_read_all);
	size_t own = 0;
	struct got got;
	int is_fine;

	if (!real)
		return 0;
	read = read ? read : &own;
	is_fine = real(stream, buffer, size, read, cancel, error);
	got = got_all(is_fine, *read, size);
	if (size)
		was_read(stream, &got, ADDRESS(real), HP_CALLER);
	return is_fine;
}

HP_EXPORT int g_input_stream_read_all_finish(void *stream, void *result, size_t *read, void **error)
{
	g_input_stream_read_all_finish_type real = FIND(g_input_stream_read_all_finish);
	size_t own = 0;
	struct got got;
	int is_fine;

	if (!real)
		return 0;
	read = read ? read : &own;
	is_fine = real(stream, result, read, error);
	got = got_all(is_fine, *read, 0);
	was_read(stream, &got, ADDRESS(real), HP_CALLER);
	return is_fine;
}

/* --- GBytes --- */

static struct hp_absent size_of = HP_ABSENT("g_bytes_get_size");

static struct got got_bytes(const void *bytes, uintptr_t real)
{
	size_t (*get)(const void *) =
		bytes ? (size_t(*)(const void *))(uintptr_t)hp_absent_real(&size_of, real) : NULL;

	return bytes && !get ? (struct got){ .is_item = true, .has_more = true }
			     : got_size(bytes ? (ssize_t)get(bytes) : -1);
}

HP_EXPORT void *g_input_stream_read_bytes(void *stream, size_t size, void *cancel, void **error)
{
	g_input_stream_read_bytes_type real = FIND(g_input_stream_read_bytes);
	void *bytes = real ? real(stream, size, cancel, error) : NULL;
	struct got got;

	if (real && size && hp_stream_is_wanted) {
		got = got_bytes(bytes, ADDRESS(real));
		was_read(stream, &got, ADDRESS(real), HP_CALLER);
	}
	return bytes;
}

HP_EXPORT void *g_input_stream_read_bytes_finish(void *stream, void *result, void **error)
{
	g_input_stream_read_bytes_finish_type real = FIND(g_input_stream_read_bytes_finish);
	void *bytes = real ? real(stream, result, error) : NULL;
	struct got got;

	if (real && hp_stream_is_wanted) {
		got = got_bytes(bytes, ADDRESS(real));
		was_read(stream, &got, ADDRESS(real), HP_CALLER);
	}
	return bytes;
}

/* --- lines --- */

/* Without room for an error, nobody knows whether this is one. */
static struct got got_line(const char *line, size_t length, void **error)
{
	return (struct got){ .size = (ssize_t)length,
			     .is_item = line != NULL,
			     .is_end = !line && !(error && *error),
			     .has_failed = !line && error && *error,
			     .has_more = line != NULL };
}

#define LINE(name, args, second, third) \
	HP_EXPORT char *name args \
	{ \
		name##_type real = FIND(name); \
		size_t own = 0; \
		struct got got; \
		char *line; \
\
		if (!real) \
			return NULL; \
		length = length ? length : &own; \
		line = real(stream, second, third, error); \
		got = got_line(line, *length, error); \
		was_read(stream, &got, ADDRESS(real), HP_CALLER); \
		return line; \
	}

LINE(g_data_input_stream_read_line, (void *stream, size_t *length, void *cancel, void **error),
     length, cancel)
LINE(g_data_input_stream_read_line_utf8, (void *stream, size_t *length, void *cancel, void **error),
     length, cancel)
LINE(g_data_input_stream_read_line_finish,
     (void *stream, void *result, size_t *length, void **error), result, length)
LINE(g_data_input_stream_read_line_finish_utf8,
     (void *stream, void *result, size_t *length, void **error), result, length)

/* --- the end --- */

static void closes(void *stream, uintptr_t real, uintptr_t caller)
{
	struct hp_stream_open *open =
		is_wanted(real, caller) ? hp_stream_of((uint64_t)(uintptr_t)stream) : NULL;

	if (open)
		hp_stream_ends(open, HP_STREAM_CLOSED);
}

HP_EXPORT int g_input_stream_close(void *stream, void *cancel, void **error)
{
	g_input_stream_close_type real = FIND(g_input_stream_close);

	closes(stream, ADDRESS(real), HP_CALLER);
	return real ? real(stream, cancel, error) : 0;
}

HP_EXPORT void g_input_stream_close_async(void *stream, int priority, void *cancel,
					  void (*done)(void *, void *, void *), void *data)
{
	g_input_stream_close_async_type real = FIND(g_input_stream_close_async);

	closes(stream, ADDRESS(real), HP_CALLER);
	if (real)
		real(stream, priority, cancel, done, data);
}
