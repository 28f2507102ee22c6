/* SPDX-License-Identifier: MIT */
#include "segment/fd_pass.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/test.h"

static int ends[2];

static void ends_make(void)
{
	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
}

static void ends_close(void)
{
	close(ends[0]);
	close(ends[1]);
}

static int open_count(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

/* A message with `count` descriptors of /dev/null; 0 = without any. */
static void several_send(int count)
{
	char byte = 1;
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} control;
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	memset(&control, 0, sizeof(control));
	if (count) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
		for (int i = 0; i < count; i++)
			memcpy(CMSG_DATA(header) + (size_t)i * sizeof(fd), &fd, sizeof(fd));
	}
	CHECK(sendmsg(ends[0], &message, 0) == 1);
	close(fd);
}

TEST(fd_pass, one_descriptor_arrives_and_is_closed_at_exec)
{
	struct stat sent, got;

	ends_make();
	int fd = open("/", O_RDONLY | O_DIRECTORY);
	hp_fd_send(ends[0], fd);
	CHECK(fstat(fd, &sent) == 0);
	close(fd);
	fd = hp_fd_receive(ends[1], 0);
	CHECK(fd >= 0);
	CHECK(fstat(fd, &got) == 0 && got.st_ino == sent.st_ino);
	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	ends_close();
}

TEST(fd_pass, a_message_with_no_or_several_descriptors_leaves_none_open)
{
	ends_make();
	int before = open_count();
	for (int count = 0; count < 8; count += count ? 1 : 2) {
		several_send(count);
		CHECK(hp_fd_receive(ends[1], 0) == -EPROTO);
	}
	CHECK(open_count() == before);
	ends_close();
}

TEST(fd_pass, an_empty_socket_and_an_end_are_reported)
{
	ends_make();
	CHECK(hp_fd_receive(ends[1], MSG_DONTWAIT) == -EAGAIN);
	close(ends[0]);
	CHECK(hp_fd_receive(ends[1], 0) == -ENODATA);
	close(ends[1]);
}
