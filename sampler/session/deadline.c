/* SPDX-License-Identifier: MIT */
/*
 * deadline.c - see deadline.h.
 */
#include "sampler/session/deadline.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "segment/clock.h"
#include "util/tell.h"

#define GRACE_NS UINT64_C(2000000000)

void hp_deadline_init(struct hp_deadline *deadline, uint64_t start_ns, uint64_t window_ms)
{
	*deadline = (struct hp_deadline){ .due_ns = 0 };
	if (window_ms)
		deadline->due_ns = start_ns + window_ms * 1000000;
}

/* By its pidfd, which never refers to another process. */
static int send(const struct hp_member *member, int signal_number)
{
	if (member->pidfd >= 0)
		return (int)syscall(SYS_pidfd_send_signal, member->pidfd, signal_number, NULL, 0);
	return kill((pid_t)member->pid, signal_number);
}

static void send_all(const struct hp_members *members, int signal_number)
{
	for (int i = 0; i < HP_MEMBER_BUCKETS; i++)
		for (const struct hp_member *m = members->buckets[i]; m; m = m->next)
			if (send(m, signal_number) < 0 && errno != ESRCH)
				hp_tell("hotpath: HOTPATH_SHUTDOWN_MS: process %u: %s\n", m->pid,
					strerror(errno));
}

void hp_deadline_do(struct hp_deadline *deadline, struct hp_members *members, bool is_root_there)
{
	if (!deadline->due_ns || hp_clock_raw_ns() < deadline->due_ns)
		return;
	hp_members_scan(members);	/* for those that joined since the last one */
	if (deadline->is_asked) {
		deadline->due_ns = 0;
		send_all(members, SIGKILL);
		return;
	}
	deadline->due_ns = is_root_there ? hp_clock_raw_ns() + GRACE_NS : 0;
	if (!is_root_there)
		return;
	deadline->is_asked = true;
	members->segment->header->shut_down = 1;
	send_all(members, SIGTERM);
	send_all(members, SIGCONT);	/* a stopped one would not notice */
}
