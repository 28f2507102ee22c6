/* SPDX-License-Identifier: MIT */
/*
 * fd.c - reads from descriptors that are streams of events.
 */
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>

#include "preload/stream/stream.h"

/* The kernel has written whole events, each with its length. */
static uint64_t events_in(const char *buffer, size_t size)
{
	struct inotify_event event;
	uint64_t count = 0;

	for (size_t at = 0; at + sizeof(event) <= size; at += sizeof(event) + event.len) {
		memcpy(&event, buffer + at, sizeof(event));
		count++;
	}
	return count;
}

void hp_stream_fd_read(int fd, const void *buffer, size_t size)
{
	struct hp_stream_open *open = hp_stream_of(hp_stream_fd_key(fd));
	struct hp_stream_part *part =
		open ? atomic_load_explicit(&open->part, memory_order_acquire) : NULL;
	uint64_t count = 1;

	if (!part)
		return;
	switch (hp_stream_of_part(part)->kind) {
	case HP_STREAM_SIGNAL:
		count = size / sizeof(struct signalfd_siginfo);
		break;
	case HP_STREAM_INOTIFY:
		count = events_in(buffer, size);
		break;
	default:
		break;
	}
	hp_stream_items(part, count, size, NULL);
}

void hp_stream_fd_closed(int fd)
{
	struct hp_stream_open *open = hp_stream_of(hp_stream_fd_key(fd));

	struct hp_stream_part *part =
		open ? atomic_load_explicit(&open->part, memory_order_acquire) : NULL;

	/* They have no end: a close means that the reader has finished, if there was one. */
	if (part)
		hp_stream_ends(open, hp_stream_number(part) ? HP_STREAM_ENDED : HP_STREAM_CLOSED);
}
