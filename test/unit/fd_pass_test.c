/* SPDX-License-Identifier: MIT */
#include "segment/fd_pass.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

/* --- another user's files --- */

#define PEER 65534

/* What root receives if the peer sends `fd`: -EPERM, or a descriptor, which is closed. */
static int received(int fd)
{
	int got;

	/* The peer of a pair is the process as it was when it made the pair. */
	CHECK(seteuid(PEER) == 0);
	ends_make();
	CHECK(seteuid(0) == 0);
	hp_fd_send(ends[0], fd);
	got = hp_fd_receive_to_read(ends[1], 0);
	if (got >= 0)
		close(got);
	ends_close();
	return got < 0 ? got : 0;
}

static void answer(int device, uint64_t unique, const void *data, size_t size)
{
	char text[512];
	struct fuse_out_header head = { .len = (uint32_t)(sizeof(head) + size), .unique = unique };

	memcpy(text, &head, sizeof(head));
	memcpy(text + sizeof(head), data, size);
	if (write(device, text, head.len) < 0)
		_exit(1);
}

/* A file system of one file that can be opened. Nothing else is ever answered. */
static void serve(int device)
{
	static char request[1 << 17];

	alarm(60);
	while (read(device, request, sizeof(request)) > 0) {
		const struct fuse_in_header *head = (const void *)request;
		const struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
						    .minor = FUSE_KERNEL_MINOR_VERSION,
						    .max_write = 4096 };
		const struct fuse_open_out open = { .fh = 1 };

		if (head->opcode == FUSE_INIT)
			answer(device, head->unique, &init, sizeof(init));
		else if (head->opcode == FUSE_OPEN)
			answer(device, head->unique, &open, sizeof(open));
	}
	_exit(0);
}

/* Mounts such a file system at `path`; its server's pid, or -1: there is no FUSE here. */
static pid_t server_start(const char *path)
{
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[128];
	pid_t server;

	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=100644,user_id=%d,group_id=0,allow_other", device, PEER);
	if (device < 0 || mount("served", path, "fuse", 0, options) != 0)
		return -1;
	server = fork();
	if (server == 0)
		serve(device);
	close(device);
	return server;
}

/* In a process of its own, since even closing the file asks the server. */
static pid_t served_send(const char *path)
{
	pid_t sender = fork();

	if (sender == 0) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			_exit(1);
		hp_fd_send(ends[0], fd);
		pause();
	}
	return sender;
}

/* Whoever asks the server waits until its end, and cannot be killed. */
static void served_check(const char *path)
{
	pid_t server = server_start(path), sender;

	if (server < 0)
		SKIP("no FUSE here: the rest was checked");
	CHECK(seteuid(PEER) == 0);
	ends_make();
	CHECK(seteuid(0) == 0);
	sender = served_send(path);
	CHECK_EQ(hp_fd_receive_to_read(ends[1], 0), -EPERM);
	CHECK(waitpid(server, NULL, WNOHANG) == 0);
	kill(server, SIGKILL);
	kill(sender, SIGKILL);
	waitpid(server, NULL, 0);
	waitpid(sender, NULL, 0);
	umount2(path, MNT_DETACH);
	ends_close();
}

TEST(fd_pass, root_reads_no_file_that_another_user_may_never_answer_for)
{
	char path[] = "/tmp/fd_pass.XXXXXX", environ_of[64];
	int plain, fd, ready[2];
	char byte;
	pid_t other;

	if (geteuid() != 0)
		SKIP("needs root: to be somebody else");
	plain = mkstemp(path);
	CHECK(received(plain) == -EPERM);
	CHECK(fchown(plain, PEER, PEER) == 0);
	CHECK(received(plain) == 0);
	fd = memfd_create("memory", MFD_CLOEXEC);
	CHECK(fchown(fd, PEER, PEER) == 0);
	CHECK(received(fd) == 0);
	close(fd);

	CHECK(pipe(ready) == 0);
	other = fork();
	if (other == 0) {
		if (setresuid(PEER, PEER, PEER) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0)
			_exit(1);
		close(ready[1]);
		pause();
		_exit(1);
	}
	close(ready[1]);
	CHECK(read(ready[0], &byte, 1) == 0);
	close(ready[0]);
	snprintf(environ_of, sizeof(environ_of), "/proc/%d/environ", other);
	fd = open(environ_of, O_RDONLY | O_CLOEXEC);
	CHECK(received(fd) == -EPERM);
	close(fd);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);

	close(plain);
	served_check(path);
	unlink(path);
}
