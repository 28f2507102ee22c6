/* SPDX-License-Identifier: MIT */
/*
 * tell.h - print a line on stderr from our own processes without blocking.
 *
 * stderr is the program's, and may be a pipe that nobody reads. The first line
 * waits at most 200 ms; after that it is dropped, and so are later ones until
 * there is room. A closed pipe, a file at its size limit or a terminal of
 * another foreground job raise no signal: `hotpath run` must not end or stop
 * instead of the program.
 */
#ifndef HP_UTIL_TELL_H
#define HP_UTIL_TELL_H

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
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

static inline void hp_tell_write(const char *line, size_t size)
{
	static const int raised[] = { SIGPIPE, SIGXFSZ, SIGTTOU };
	static const struct timespec now;
	sigset_t ours, before, mask;

	sigemptyset(&ours);
	for (size_t i = 0; i < sizeof(raised) / sizeof(raised[0]); i++)
		sigaddset(&ours, raised[i]);
	sigprocmask(SIG_BLOCK, &ours, &mask);
	sigpending(&before);
	(void)!write(2, line, size);
	/* One that was pending before is not of this line. */
	for (size_t i = 0; i < sizeof(raised) / sizeof(raised[0]); i++)
		if (sigismember(&before, raised[i]))
			sigdelset(&ours, raised[i]);
	sigtimedwait(&ours, NULL, &now);
	sigprocmask(SIG_SETMASK, &mask, NULL);
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
	hp_tell_write(line, (size_t)size);
}

#endif
