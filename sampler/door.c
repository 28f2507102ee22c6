/* SPDX-License-Identifier: MIT */
/*
 * door.c - see door.h.
 */
#include "sampler/door.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "segment/session.h"

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

/* A reader says so by its own address: it gets a descriptor that it cannot write to. */
static bool is_reader(const struct sockaddr_un *address, socklen_t size)
{
	static const char name[] = HP_READER_NAME;
	size_t least = offsetof(struct sockaddr_un, sun_path) + 1 + sizeof(name) - 1;

	return size >= least && address->sun_path[0] == 0 &&
	       memcmp(address->sun_path + 1, name, sizeof(name) - 1) == 0;
}

static void send_readable(int socket, int segment)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", segment);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	send_fd(socket, fd);
	close(fd);
}

void hp_door_answer(int socket, int segment, struct hp_members *members)
{
	struct sockaddr_un address;
	socklen_t length = sizeof(address);
	struct ucred peer;
	int fd;

	for (; (fd = accept4(socket, (struct sockaddr *)&address, &length,
			     SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;
	     length = sizeof(address)) {
		socklen_t size = sizeof(peer);
		bool is_known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
				is_welcome(&peer, members);

		if (is_known && is_reader(&address, length)) {
			send_readable(fd, segment);
		} else if (is_known) {
			/* Answer first: it waits.  A pid of 0 is of a namespace we cannot see. */
			send_fd(fd, segment);
			hp_members_add(members, (uint32_t)peer.pid);
		}
		close(fd);
	}
}
