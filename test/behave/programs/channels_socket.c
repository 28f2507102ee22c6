/* SPDX-License-Identifier: MIT */
/*
 * channels_socket.c MODE - uses objects that resemble a pipe and aren't one, and
 * prints its actions: lines "what number".
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long sent, sent_bytes, received, received_bytes, most;
static int fds[2];
static const char *argument = "";	/* of the mode */

static void need(int is_good, const char *what)
{
	if (is_good)
		return;
	perror(what);
	exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
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

static void deepest(long depth)
{
	most = depth > most ? depth : most;
}

static void pair(int type)
{
	need(socketpair(AF_UNIX, type, 0, fds) == 0, "socketpair");
}

static struct msghdr message_of(struct iovec *part, void *bytes, size_t size)
{
	*part = (struct iovec){ bytes, size };
	return (struct msghdr){ .msg_iov = part, .msg_iovlen = 1 };
}

/* Every existing call, there and back. */
static void calls(int from, int to, int has_messages)
{
	char buffer[64] = "";
	struct iovec part;
	struct msghdr message = message_of(&part, buffer, 21);
	struct iovec parts[3] = { { buffer, 3 }, { buffer, 4 }, { buffer, 5 } };
	struct mmsghdr several[3] = { { .msg_hdr = { .msg_iov = &parts[0], .msg_iovlen = 1 } },
				      { .msg_hdr = { .msg_iov = &parts[1], .msg_iovlen = 1 } },
				      { .msg_hdr = { .msg_iov = &parts[2], .msg_iovlen = 1 } } };

	note_send(write(from, buffer, 10));
	note_send(send(from, buffer, 11, MSG_NOSIGNAL));
	note_send(sendto(from, buffer, 12, 0, NULL, 0));
	note_send(sendmsg(from, &message, 0));
	note_send(writev(from, parts, 3));
	deepest(has_messages ? 5 : 66);
	need(recv(to, buffer, 5, MSG_PEEK) == 5, "peek");
	note_receive(read(to, buffer, 10));
	note_receive(recv(to, buffer, 11, 0));
	note_receive(recvfrom(to, buffer, 12, 0, NULL, NULL));
	note_receive(recvmsg(to, &message, 0));
	note_receive(readv(to, parts, 3));
	need(sendmmsg(from, several, 3, 0) == 3, "sendmmsg");
	sent += 3, sent_bytes += 12;
	/* A stream fills the parts, one after the other. */
	need(recvmmsg(to, several, 3, MSG_DONTWAIT, NULL) == 3, "recvmmsg");
	received += 3, received_bytes += 12;
	need(recv(to, buffer, 5, MSG_DONTWAIT) == -1 && errno == EAGAIN, "empty");
}

static void both_ways(int has_messages)
{
	for (int i = 0; i < 100; i++) {
		calls(fds[0], fds[1], has_messages);
		calls(fds[1], fds[0], has_messages);
	}
}

static void stream(void)
{
	pair(SOCK_STREAM);
	both_ways(0);
}

static void packet(void)
{
	pair(SOCK_SEQPACKET);
	both_ways(1);
}

static void datagram(void)
{
	pair(SOCK_DGRAM);
	both_ways(1);
	note_send(send(fds[0], "", 0, 0));
	note_receive(recv(fds[1], &(char){ 0 }, 1, 0));
}

/* Tokens: additions are sent, removals are received. */
static void event(void)
{
	int counter = eventfd(3, EFD_NONBLOCK), tokens = eventfd(0, EFD_SEMAPHORE);
	eventfd_t value;

	for (int i = 1; i <= 100; i++) {
		need(eventfd_write(counter, (eventfd_t)i) == 0, "write");
		value = 2;
		need(write(tokens, &value, 8) == 8, "write");
		sent += i + 2;
		if (i % 3 == 0) {
			need(read(counter, &value, 8) == 8, "read");
			received += (long)value;
		}
		need(eventfd_read(tokens, &value) == 0, "read");
		received += 1;
	}
	deepest(98 + 99 + 97);
	printf("is_empty %d\n", eventfd_read(counter, &value) == 0);
	received += (long)value;
	printf("is_empty %d\n", eventfd_read(counter, &value) == -1 && errno == EAGAIN);
}

static void fifo(void)
{
	char path[] = "/tmp/hotpath-fifo.XXXXXX", buffer[100] = "";
	int end;

	need(mkdtemp(path) != NULL, "mkdtemp");
	need(chdir(path) == 0 && mkfifo("fifo", 0600) == 0, "mkfifo");
	end = open("fifo", O_RDWR);
	need(end >= 0, "open");
	fds[0] = open("fifo", O_RDONLY);
	fds[1] = open("fifo", O_WRONLY);
	for (int i = 0; i < 50; i++) {
		note_send(write(fds[1], buffer, 60));
		note_send(write(end, buffer, 40));
		deepest(100);
		note_receive(read(i % 2 ? end : fds[0], buffer, 100));
	}
	need(unlink("fifo") == 0 && chdir("/") == 0 && rmdir(path) == 0, "rmdir");
}

/* From one descriptor to another, without our memory. */
static void splices(void)
{
	char buffer[1000] = "";
	struct iovec part = { buffer, 300 };
	int other[2], file = open("/proc/self/exe", O_RDONLY);

	need(pipe(fds) == 0 && pipe(other) == 0, "pipe");
	note_send(vmsplice(fds[1], &part, 1, 0));
	note_send(tee(fds[0], other[1], 100, 0));
	note_send(splice(fds[0], NULL, other[1], NULL, 300, 0));
	note_receive(300);
	note_receive(read(other[0], buffer, 1000));
	note_send(sendfile(fds[1], file, NULL, 777));
	note_send(splice(file, NULL, fds[1], NULL, 111, 0));
	note_receive(read(fds[0], buffer, 1000));
	deepest(888);
}

static void give(int socket, int fd)
{
	char room[CMSG_SPACE(sizeof(int))] = "", byte = 0;
	struct iovec part;
	struct msghdr message = message_of(&part, &byte, 1);
	struct cmsghdr *control;

	message.msg_control = room;
	message.msg_controllen = sizeof(room);
	control = CMSG_FIRSTHDR(&message);
	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(control), &fd, sizeof(fd));
	need(sendmsg(socket, &message, 0) == 1, "sendmsg");
}

static int get(int socket)
{
	char room[CMSG_SPACE(sizeof(int))] = "", byte = 0;
	struct iovec part;
	struct msghdr message = message_of(&part, &byte, 1);
	int got;

	message.msg_control = room;
	message.msg_controllen = sizeof(room);
	need(recvmsg(socket, &message, 0) == 1, "recvmsg");
	memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(got));
	return got;
}

/* A child gets the pipe over a socket, and reads there. */
static void given(void)
{
	char buffer[10] = "";
	int ends[2], got;
	pid_t child;

	pair(SOCK_STREAM);
	child = fork();
	need(child >= 0, "fork");
	if (child == 0) {
		got = get(fds[1]);
		while (read(got, buffer, sizeof(buffer)) > 0)
			;
		_exit(0);
	}
	need(pipe(ends) == 0, "pipe");
	give(fds[0], ends[0]);
	close(ends[0]);
	for (int i = 0; i < 500; i++)
		need(write(ends[1], buffer, 10) == 10, "write");
	close(ends[1]);
	waitpid(child, NULL, 0);
	/* The socket's byte, too. */
	sent = 501, sent_bytes = 5001, received_bytes = 5001;
}

static void tokens(int fd, int adds, int takes)
{
	eventfd_t value;

	for (int i = 0; i < adds; i++)
		need(eventfd_write(fd, 1) == 0, "write");
	for (int i = 0; i < takes; i++)
		need(eventfd_read(fd, &value) == 0, "read");
}

/* Use of `handed` in its child. */
static void taker(void)
{
	int socket = atoi(argument), fd = get(socket);

	tokens(fd, 10, 40);
	need(write(socket, "x", 1) == 1, "write");
	_exit(0);
}

/*
 * Another program receives an eventfd over a socket, adds 10 to the 50 and takes 40. With "unseen"
 * it has no library; with "all" it is the only one that takes.
 */
static void handed(void)
{
	int counter, is_all = strcmp(argument, "all") == 0;
	char number[12], byte;

	pair(SOCK_STREAM);
	snprintf(number, sizeof(number), "%d", fds[1]);
	if (fork() == 0) {
		if (strcmp(argument, "unseen") == 0)
			unsetenv("LD_PRELOAD");
		execl("/proc/self/exe", "taker", "taker", number, NULL);
		_exit(127);
	}
	counter = eventfd(0, EFD_SEMAPHORE);
	tokens(counter, 50, is_all ? 0 : 5);
	give(fds[0], counter);
	need(read(fds[0], &byte, 1) == 1, "read");
	tokens(counter, 0, is_all ? 0 : 15);
	wait(NULL);
}

/* The other end belongs to another program: one that reads directly, and one that uses stdio. */
static void programs(void)
{
	need(pipe(fds) == 0, "pipe");
	if (fork() == 0) {
		dup2(fds[0], 0);
		close(fds[0]);
		close(fds[1]);
		execlp("cat", "cat", NULL);
		_exit(127);
	}
	close(fds[0]);
	for (int i = 0; i < 100; i++)
		note_send(write(fds[1], "\n", 1));
	close(fds[1]);
	wait(NULL);
	received_bytes = 100;
}

static void stdio(void)
{
	char buffer[100];
	FILE *file;

	need(pipe(fds) == 0, "pipe");
	file = fdopen(fds[1], "w");
	setlinebuf(file);
	for (int i = 0; i < 10; i++) {
		fprintf(file, "line\n");
		note_receive(read(fds[0], buffer, 100));
	}
	fclose(file);
	/* The number now refers to something else. */
	need(eventfd(0, 0) == fds[1], "eventfd");
	need(write(fds[1], &(uint64_t){ 1 }, 8) == 8, "write");
	sent = 1;
}

/* There is one at a time, however late the other thread is. */
static void *drip(void *data)
{
	(void)data;
	for (int i = 0; i < 10; i++) {
		while (__atomic_load_n(&received, __ATOMIC_ACQUIRE) != i + 1)
			usleep(200);
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
		note_send(write(fds[1], "x", 1));
	}
	return NULL;
}

/* Waits by epoll and by poll, then reads. */
static void idle(void)
{
	int set = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };
	double since, waited = 0;
	pthread_t thread;
	char c;

	need(pipe(fds) == 0 && epoll_ctl(set, EPOLL_CTL_ADD, fds[0], &event) == 0, "epoll");
	note_send(write(fds[1], "x", 1));
	deepest(1);
	note_receive(read(fds[0], &c, 1));
	pthread_create(&thread, NULL, drip, NULL);
	for (int i = 0; i < 10; i++) {
		since = now();
		if (i % 2)
			need(epoll_wait(set, &event, 1, -1) == 1, "epoll_wait");
		else
			need(poll(&(struct pollfd){ .fd = fds[0], .events = POLLIN }, 1, -1) == 1,
			     "poll");
		waited += now() - since;
		note_receive(read(fds[0], &c, 1));
	}
	pthread_join(thread, NULL);
	printf("starved_ns %.0f\n", waited);
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = { { "stream", stream },	{ "packet", packet }, { "datagram", datagram },
		      { "event", event },	{ "fifo", fifo },     { "splices", splices },
		      { "given", given },	{ "stdio", stdio },   { "idle", idle },
		      { "programs", programs }, { "handed", handed }, { "taker", taker } };

	if (count > 2)
		argument = arguments[2];
	for (size_t i = 0; count > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(arguments[1], modes[i].name) == 0)
			modes[i].run();
	printf("sent_count %ld\nsent_bytes %ld\nreceived_count %ld\nreceived_bytes %ld\n", sent,
	       sent_bytes, received, received_bytes);
	printf("max_queue_size %ld\n", most);
	return 0;
}
