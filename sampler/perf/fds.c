/* SPDX-License-Identifier: MIT */
/*
 * fds.c - see fds.h.
 *
 * poll() reports POLLHUP for an event whose thread has ended and that has no live heirs
 * (is_event_hup in the kernel's kernel/events/core.c), exactly the condition needed here.
 */
#include "sampler/perf/fds.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT_ONCE 64

/* Which of up to AT_ONCE have ended. */
static void ask(const int *fds, uint32_t count, struct pollfd *asked)
{
	for (uint32_t i = 0; i < count; i++)
		asked[i] = (struct pollfd){ .fd = fds[i] };
	if (poll(asked, count, 0) < 0)
		for (uint32_t i = 0; i < count; i++)
			asked[i].revents = 0;
}

bool hp_perf_fds_keep(struct hp_perf_fds *fds, int fd)
{
	if (fds->count == fds->room) {
		uint32_t room = fds->room ? fds->room * 2 : 16;
		int *list = realloc(fds->list, room * sizeof(*list));

		if (!list)
			return false;
		fds->list = list;
		fds->room = room;
	}
	fds->list[fds->count++] = fd;
	return true;
}

void hp_perf_fds_trim(struct hp_perf_fds *fds)
{
	struct pollfd asked[AT_ONCE];
	uint32_t left = 0;

	for (uint32_t from = 0; from < fds->count; from += AT_ONCE) {
		uint32_t some = fds->count - from < AT_ONCE ? fds->count - from : AT_ONCE;

		ask(fds->list + from, some, asked);
		for (uint32_t i = 0; i < some; i++) {
			if (asked[i].revents & POLLHUP)
				close(asked[i].fd);
			else
				fds->list[left++] = asked[i].fd;
		}
	}
	fds->count = left;
}

void hp_perf_fds_close(struct hp_perf_fds *fds)
{
	for (uint32_t i = 0; i < fds->count; i++)
		close(fds->list[i]);
	free(fds->list);
	memset(fds, 0, sizeof(*fds));
}
