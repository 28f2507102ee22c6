/* SPDX-License-Identifier: MIT */
/*
 * door.c - see door.h.
 */
#include "sampler/door.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void send_fd(int socket, int fd)
{
	char byte = 1;
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	memset(&control, 0, sizeof(control));
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static bool is_welcome(const struct ucred *peer, const struct hp_members *members)
{
	return peer->uid == 0 || peer->uid == geteuid() || peer->uid == getuid() ||
	       hp_members_find(members, (uint32_t)peer->pid);
}

void hp_door_answer(int socket, int segment, struct hp_members *members)
{
	struct ucred peer;
	int fd;

	while ((fd = accept4(socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		socklen_t size = sizeof(peer);

		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
		    is_welcome(&peer, members)) {
			/* Answer first: it waits.  A pid of 0 is of a namespace we cannot see. */
			send_fd(fd, segment);
			hp_members_add(members, (uint32_t)peer.pid);
		}
		close(fd);
	}
}
