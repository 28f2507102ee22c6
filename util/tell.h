/* SPDX-License-Identifier: MIT */
/*
 * tell.h - print a line on stderr from our own processes without blocking.
 *
 * stderr is the program's, and may be a pipe that nobody reads. The first line
 * waits at most 200 ms; after that it is dropped, and so are later ones until
 * there is room.
 */
#ifndef HP_UTIL_TELL_H
#define HP_UTIL_TELL_H

#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define HP_TELL_WAIT_MS 200
#define HP_TELL_MAX 4096	/* a writable pipe has this much room */

/* True if the next line can be written. */
static inline bool hp_tell_has_room(bool *is_stuck)
{
	struct pollfd to = { .fd = 2, .events = POLLOUT };

	*is_stuck = poll(&to, 1, *is_stuck ? 0 : HP_TELL_WAIT_MS) == 0;
	return !*is_stuck;
}

__attribute__((format(printf, 1, 2))) static inline void hp_tell(const char *format, ...)
{
	static bool is_stuck;
	char line[HP_TELL_MAX];
	va_list list;

	va_start(list, format);
	int size = vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	if (size <= 0 || !hp_tell_has_room(&is_stuck))
		return;
	size = size < (int)sizeof(line) ? size : (int)sizeof(line) - 1;
	(void)!write(2, line, (size_t)size);
}

#endif
