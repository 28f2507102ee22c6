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
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "segment/fd_prompt.h"

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

/* The byte of the message, and its descriptor. What came besides is closed if it `closes`. */
static int receive(int socket, int flags, bool closes, unsigned char *byte)
{
	union control control;
	struct iovec part = { byte, 1 };
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
		if (is_rights && closes)
			close_all(header);
		return size == 0 ? -ENODATA : -EPROTO;
	}
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

int hp_fd_receive(int socket, int flags)
{
	unsigned char byte;

	return receive(socket, flags, true, &byte);
}

/* --- from another user --- */

/*
 * In a process of its own: takes the descriptor, and passes it on, or the error. Even closing
 * a file may take forever (FUSE's FLUSH), and cannot be interrupted.
 */
static void check(int socket, int flags, uid_t owner, int asker)
{
	unsigned char byte;
	int fd = receive(socket, flags, false, &byte);

	if (fd >= 0 && hp_fd_is_prompt(fd, owner)) {
		hp_fd_send(asker, fd);
	} else {
		byte = (unsigned char)(fd < 0 ? -fd : EPERM);
		send(asker, &byte, 1, MSG_NOSIGNAL);
	}
	_exit(0);
}

/* A process that nobody waits for, and whose end nobody hears of. */
static bool check_elsewhere(int socket, int flags, uid_t owner, int asker)
{
	pid_t child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	int status;

	if (child == 0) {
		child = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
		if (child == 0)
			check(socket, flags, owner, asker);
		_exit(child < 0);
	}
	return child > 0 && waitpid(child, &status, __WALL) == child && status == 0;
}

static int receive_from(int socket, int flags, uid_t owner)
{
	unsigned char error = 0;
	int ends[2], fd = -EAGAIN;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return -errno;
	bool is_asked = check_elsewhere(socket, flags, owner, ends[1]);
	close(ends[1]);
	if (is_asked)
		fd = receive(ends[0], 0, true, &error);
	close(ends[0]);
	return fd == -EPROTO ? -(int)error : fd;
}

int hp_fd_receive_to_read(int socket, int flags)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (geteuid() != 0)
		return hp_fd_receive(socket, flags);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
		return -errno;
	return peer.uid == 0 ? hp_fd_receive(socket, flags) : receive_from(socket, flags, peer.uid);
}
