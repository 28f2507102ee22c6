/* SPDX-License-Identifier: MIT */
/*
 * gio.h - the functions of GIO's GInputStream that we interpose.  Its headers are not needed: objects are addresses here.
 */
#ifndef HP_PRELOAD_STREAM_GIO_H
#define HP_PRELOAD_STREAM_GIO_H

#include <stddef.h>
#include <sys/types.h>

#define HP_GIO_LIST(X) \
	X(ssize_t, g_input_stream_read, (void *, void *, size_t, void *, void **)) \
	X(ssize_t, g_input_stream_read_finish, (void *, void *, void **)) \
	X(int, g_input_stream_read_all, (void *, void *, size_t, size_t *, void *, void **)) \
	X(int, g_input_stream_read_all_finish, (void *, void *, size_t *, void **)) \
	X(void *, g_input_stream_read_bytes, (void *, size_t, void *, void **)) \
	X(void *, g_input_stream_read_bytes_finish, (void *, void *, void **)) \
	X(char *, g_data_input_stream_read_line, (void *, size_t *, void *, void **)) \
	X(char *, g_data_input_stream_read_line_utf8, (void *, size_t *, void *, void **)) \
	X(char *, g_data_input_stream_read_line_finish, (void *, void *, size_t *, void **)) \
	X(char *, g_data_input_stream_read_line_finish_utf8, (void *, void *, size_t *, void **)) \
	X(int, g_input_stream_close, (void *, void *, void **)) \
	X(void, g_input_stream_close_async, \
	  (void *, int, void *, void (*)(void *, void *, void *), void *))

#endif
