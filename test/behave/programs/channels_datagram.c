/* SPDX-License-Identifier: MIT */
/*
 * channels_datagram.c MODE - uses datagram sockets with names, and prints its
 * actions: lines "what number".  `full TYPE` makes a sender wait for room, for known
 * durations.
 */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long sent, sent_bytes, received, received_bytes, most;
static char buffer[65536];
static int fds[2];

static void need(int is_good, const char *what)
{
	if (is_good)
		return;
	perror(what);
	exit(1);
}

static void note_send(ssize_t got)
{
	need(got >= 0, "send");
	sent++;
	sent_bytes += got;
}

static void note_receive(ssize_t got)
{
	need(got >= 0, "receive");
	received++;
	received_bytes += got;
}

static int new_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	need(fd >= 0, "socket");
	return fd;
}

/* A path, or with '@' an abstract name of this process. */
static socklen_t address_of(struct sockaddr_un *to, const char *name)
{
	memset(to, 0, sizeof(*to));
	to->sun_family = AF_UNIX;
	if (name[0] != '@') {
		strcpy(to->sun_path, name);
		return sizeof(*to);
	}
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)sprintf(to->sun_path + 1, "%s-%d", name + 1, getpid()));
}

static void bind_to(int fd, const char *name)
{
	struct sockaddr_un to;

	need(bind(fd, (struct sockaddr *)&to, address_of(&to, name)) == 0, "bind");
}

static void connect_to(int fd, const char *name)
{
	struct sockaddr_un to;

	need(connect(fd, (struct sockaddr *)&to, address_of(&to, name)) == 0, "connect");
}

static void send_connected(int fd)
{
	struct iovec parts[3] = { { buffer, 3 }, { buffer, 4 }, { buffer, 5 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 3 };
	struct mmsghdr two[2] = { { .msg_hdr = { .msg_iov = &parts[0], .msg_iovlen = 1 } },
				  { .msg_hdr = { .msg_iov = &parts[1], .msg_iovlen = 1 } } };

	note_send(send(fd, buffer, 10, 0));
	note_send(write(fd, buffer, 11));
	note_send(sendmsg(fd, &message, 0));
	need(sendmmsg(fd, two, 2, 0) == 2, "sendmmsg");
	sent += 2, sent_bytes += 7;
}

static void send_named(int fd, const char *name)
{
	struct sockaddr_un to;
	socklen_t length = address_of(&to, name);
	struct iovec part = { buffer, 13 };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_name = &to, .msg_namelen = length
	};
	struct mmsghdr two[2] = { { .msg_hdr = message }, { .msg_hdr = message } };

	note_send(sendto(fd, buffer, 12, 0, (struct sockaddr *)&to, length));
	note_send(sendmsg(fd, &message, 0));
	need(sendmmsg(fd, two, 2, 0) == 2, "sendmmsg");
	sent += 2, sent_bytes += 26;
}

static void receive(int fd, int count)
{
	struct iovec part = { buffer, sizeof(buffer) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct mmsghdr two[2] = { { .msg_hdr = message }, { .msg_hdr = message } };
	int i = 0;

	most = count > most ? count : most;
	need(recv(fd, buffer, 1, MSG_PEEK) >= 0, "peek");
	if (count > 4) {
		note_receive(read(fd, buffer, 100));
		note_receive(recvfrom(fd, buffer, 100, 0, NULL, NULL));
		note_receive(recvmsg(fd, &message, 0));
		need(recvmmsg(fd, two, 2, 0, NULL) == 2, "recvmmsg");
		received += 2, received_bytes += two[0].msg_len + two[1].msg_len;
		i = 5;
	}
	for (; i < count; i++)
		note_receive(recv(fd, buffer, 100, 0));
	need(recv(fd, buffer, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN, "empty");
}

static void exchange(const char *name)
{
	int to = new_socket(), from = new_socket(), open = new_socket();

	bind_to(to, name);
	connect_to(from, name);
	for (int i = 0; i < 100; i++) {
		/* No more than ten: net.unix.max_dgram_qlen. */
		send_connected(from);
		receive(to, 5);
		send_named(open, name);
		send_named(from, name);
		receive(to, 8);
	}
	need(sendto(open, buffer, 1, 0, (struct sockaddr *)8, 20) == -1 && errno == EFAULT, "bad");
	need(sendmsg(open, (struct msghdr *)8, 0) == -1 && errno == EFAULT, "bad");
	close(to);
	need(send(from, buffer, 1, 0) == -1 && errno == ECONNREFUSED, "refused");
	close(from);
	close(open);
}

static void path(void)
{
	exchange("socket");
}

static void abstract(void)
{
	exchange("@hotpath-test");
}

/* The kernel gives it a name; and an answer goes to the name that came with the question. */
static void autobind(void)
{
	int a = new_socket(), b = new_socket();
	struct sockaddr_un from = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(from);

	need(bind(a, (struct sockaddr *)&from, sizeof(from.sun_family)) == 0, "autobind");
	bind_to(b, "socket");
	connect_to(a, "socket");
	for (int i = 0; i < 50; i++) {
		note_send(send(a, buffer, 20, 0));
		size = sizeof(from);
		note_receive(recvfrom(b, buffer, 100, 0, (struct sockaddr *)&from, &size));
		note_send(sendto(b, buffer, 5, 0, (struct sockaddr *)&from, size));
		note_receive(recv(a, buffer, 100, 0));
	}
	most = 1;
}

/* One path, two sockets, one after the other: the first connection remains. */
static void rebound(void)
{
	int first = new_socket(), second = new_socket(), old = new_socket(), new = new_socket();

	bind_to(first, "socket");
	connect_to(old, "socket");
	unlink("socket");
	bind_to(second, "socket");
	connect_to(new, "socket");
	for (int i = 0; i < 30; i++) {
		send_connected(old);
		if (i % 2)
			send_named(old, "socket");
		send_connected(new);
		receive(first, 5);
		receive(second, i % 2 ? 9 : 5);
	}
	connect_to(first, "socket");
	note_send(send(first, buffer, 7, 0));
	receive(second, 1);
}

/* Another process of the session sends. */
static void child(void)
{
	int to = new_socket(), from;

	bind_to(to, "socket");
	if (fork() == 0) {
		from = new_socket();
		connect_to(from, "socket");
		for (int i = 0; i < 200; i++)
			note_send(send(from, buffer, 100, 0));
		_exit(0);
	}
	for (int i = 0; i < 200; i++)
		note_receive(recv(to, buffer, 1000, 0));
	wait(NULL);
	sent = 200, sent_bytes = 20000;
}

/* `outsider` is not profiled: it receives 20 messages, then sends one. */
static void outside(void)
{
	int fd = new_socket(), open = new_socket();
	struct sockaddr_un to;
	socklen_t length = address_of(&to, "outsider");

	bind_to(fd, "socket");
	connect_to(fd, "outsider");
	for (int i = 0; i < 10; i++)
		note_send(send(fd, buffer, 10, 0));
	for (int i = 0; i < 10; i++)
		note_send(sendto(open, buffer, 20, 0, (struct sockaddr *)&to, length));
	note_receive(recv(fd, buffer, 100, 0));
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static size_t message_size;

static size_t take(void *data)
{
	ssize_t got = read(fds[0], data, message_size);

	note_receive(got);
	return (size_t)got;
}

/* Sleeps while the sender waits. */
static void *drain(void *data)
{
	struct timespec nap = { 0, 100000000 };

	for (size_t left = 64 * message_size; left; nanosleep(&nap, NULL))
		for (size_t got, all = 0; all < 4 * sizeof(buffer) && left; all += got, left -= got)
			got = take(data);
	return NULL;
}

static void full(const char *type)
{
	static char room[65536];
	double waited = 0, since;
	pthread_t thread;

	message_size = 32768;
	if (strcmp(type, "pipe") == 0)
		need(pipe(fds) == 0, "pipe");
	else if (strcmp(type, "named") == 0) {
		fds[0] = new_socket();
		fds[1] = new_socket();
		bind_to(fds[0], "socket");
		connect_to(fds[1], "socket");
	} else
		need(socketpair(AF_UNIX,
				strcmp(type, "stream") == 0   ? SOCK_STREAM
				: strcmp(type, "packet") == 0 ? SOCK_SEQPACKET
							      : SOCK_DGRAM,
				0, fds) == 0,
		     "socketpair");
	pthread_create(&thread, NULL, drain, room);
	for (int i = 0; i < 64; i++) {
		since = now();
		note_send(write(fds[1], buffer, message_size));
		since = now() - since;
		/* Copying does not count as a wait. */
		waited += since > 1e6 ? since : 0;
	}
	shutdown(fds[1], SHUT_WR);
	close(fds[1]);
	pthread_join(thread, NULL);
	printf("blocked_ns %.0f\n", waited);
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = { { "path", path },	      { "abstract", abstract }, { "autobind", autobind },
		      { "rebound", rebound }, { "child", child },	{ "outside", outside } };
	char directory[] = "/tmp/hotpath-datagram.XXXXXX";
	const char *there = getenv("THERE");

	need(chdir(there ? there : mkdtemp(directory)) == 0, "chdir");
	for (size_t i = 0; count > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(arguments[1], modes[i].name) == 0)
			modes[i].run();
	if (count > 1 && strncmp(arguments[1], "full-", 5) == 0)
		full(arguments[1] + 5);
	unlink("socket");
	if (!there)
		rmdir(directory);
	printf("sent_count %ld\nsent_bytes %ld\nreceived_count %ld\nreceived_bytes %ld\n", sent,
	       sent_bytes, received, received_bytes);
	printf("max_queue_size %ld\n", most);
	return 0;
}
