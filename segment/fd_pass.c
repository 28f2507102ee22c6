/* SPDX-License-Identifier: MIT */
/*
 * fd_pass.c - see fd_pass.h.
 */
#include "segment/fd_pass.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#define FUSE_MAGIC 0x65735546
#define PROC_MAGIC 0x9fa0

/* Alignment leaves room for a second descriptor, which a sender may use. */
union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

void hp_fd_send(int socket, int fd)
{
	char byte = 1;
	union control control;
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

static void close_all(const struct cmsghdr *header)
{
	size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(header) + i * sizeof(fd), sizeof(fd));
		close(fd);
	}
}

int hp_fd_receive(int socket, int flags)
{
	char byte;
	union control control;
	struct iovec part = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int fd;

	ssize_t size = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
	if (size < 0)
		return -errno;
	const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	bool is_rights =
		header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS;
	if (size == 0 || !is_rights || header->cmsg_len != CMSG_LEN(sizeof(fd))) {
		if (is_rights)
			close_all(header);
		return size == 0 ? -ENODATA : -EPROTO;
	}
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

/* A read from a file system that a process of the peer's serves may last forever. */
static bool is_of_peer(int socket, int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	struct statfs system;
	struct stat status;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
		return false;
	return peer.uid == 0 ||
	       (fstat(fd, &status) == 0 && status.st_uid == peer.uid && fstatfs(fd, &system) == 0 &&
		system.f_type != FUSE_MAGIC && system.f_type != PROC_MAGIC);
}

int hp_fd_receive_to_read(int socket, int flags)
{
	int fd = hp_fd_receive(socket, flags);

	if (fd < 0 || geteuid() != 0 || is_of_peer(socket, fd))
		return fd;
	close(fd);
	return -EPERM;
}
