/* SPDX-License-Identifier: MIT */
/*
 * say.c - messages to the user from inside the target.
 *
 * Uses one write, so that lines of several processes do not mix. The program's
 * stderr may be a closed pipe, a file at its size limit, a terminal of another
 * foreground job, or a full pipe: then the line is lost, and the program
 * neither gets a signal nor blocks.
 */
#include "preload/guest/say.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/guest/confine.h"

#define HP_SIGNALS_SIZE 8	/* the kernel's sigset_t */

static const uint64_t raised =
	UINT64_C(1) << (SIGPIPE - 1) | UINT64_C(1) << (SIGXFSZ - 1) | UINT64_C(1) << (SIGTTOU - 1);

static void write_line(const char *line, size_t size)
{
	static const struct timespec now = { 0, 0 };
	struct pollfd to = { .fd = STDERR_FILENO, .events = POLLOUT };
	uint64_t mask = 0, before = 0, after = 0;

	if (syscall(SYS_ppoll, &to, 1, &now, NULL, 0) != 1)
		return;
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &raised, &mask, HP_SIGNALS_SIZE);
	syscall(SYS_rt_sigpending, &before, HP_SIGNALS_SIZE);
	syscall(SYS_write, STDERR_FILENO, line, size);
	syscall(SYS_rt_sigpending, &after, HP_SIGNALS_SIZE);
	/* New ones are ours; an earlier pending one belongs to the program. */
	after &= raised & ~before;
	if (after)
		syscall(SYS_rt_sigtimedwait, &after, NULL, &now, HP_SIGNALS_SIZE);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, HP_SIGNALS_SIZE);
}

void hp_say(const char *text, ...)
{
	int saved = errno;

	if (hp_is_confined())
		return;
	char line[512] = "hotpath: ";
	size_t used = strlen(line);
	va_list list;

	va_start(list, text);
	for (; text; text = va_arg(list, const char *)) {
		size_t length = strlen(text), room = sizeof(line) - 1 - used;

		length = length < room ? length : room;
		memcpy(line + used, text, length);
		used += length;
	}
	va_end(list);
	line[used++] = '\n';
	write_line(line, used);
	errno = saved;
}
