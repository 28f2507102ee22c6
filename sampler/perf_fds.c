/* SPDX-License-Identifier: MIT */
/*
 * perf_fds.c - see perf_fds.h.
 *
 * poll() tells POLLHUP of an event whose thread has ended and that has no live heirs (is_event_hup in the
 * kernel's kernel/events/core.c), which is just what is asked here.
 */
#include "sampler/perf_fds.h"

#include <poll.h>
#include <unistd.h>

#define AT_ONCE 64

/* Which of up to AT_ONCE are over. */
static void ask(const int *fds, uint32_t count, struct pollfd *asked)
{
	for (uint32_t i = 0; i < count; i++)
		asked[i] = (struct pollfd){ .fd = fds[i] };
	if (poll(asked, count, 0) < 0)
		for (uint32_t i = 0; i < count; i++)
			asked[i].revents = 0;
}

uint32_t hp_perf_fds_trim(int *fds, uint32_t count)
{
	struct pollfd asked[AT_ONCE];
	uint32_t left = 0;

	for (uint32_t from = 0; from < count; from += AT_ONCE) {
		uint32_t some = count - from < AT_ONCE ? count - from : AT_ONCE;

		ask(fds + from, some, asked);
		for (uint32_t i = 0; i < some; i++) {
			if (asked[i].revents & POLLHUP)
				close(asked[i].fd);
			else
				fds[left++] = asked[i].fd;
		}
	}
	return left;
}
