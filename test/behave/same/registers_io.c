/* SPDX-License-Identifier: MIT */
/*
 * registers_io.c - descriptors, queues, jumps and ends of processes, called with patterns in the registers:
 * see registers.c.
 */
#include "registers.h"

#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* Functions called by a program compiled with _FORTIFY_SOURCE. */
extern ssize_t __read_chk(int, void *, size_t, size_t);
extern ssize_t __recv_chk(int, void *, size_t, size_t, int);
extern ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
extern int __poll_chk(struct pollfd *, nfds_t, int, size_t);
extern int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
extern mqd_t __mq_open_2(const char *, int);
extern void __longjmp_chk(jmp_buf, int);
extern char *__fgets_chk(char *, size_t, int, FILE *);
extern char *__fgets_unlocked_chk(char *, size_t, int, FILE *);
extern size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
extern size_t __fread_unlocked_chk(void *, size_t, size_t, size_t, FILE *);
extern int _IO_getc(FILE *);

static char text[64] = "some text that goes from here to there";
static struct iovec part = { text, 4 };
static struct timespec none;

static void make_and_close(void)
{
	static int ends[2], pair[2];
	int copy;

	CALL(pipe, P(ends));
	copy = (int)CALL(dup, ends[0]);
	CALL(dup3, ends[1], copy, O_CLOEXEC);
	CALL(close, copy);
	CALL(close_range, 900, 910, 0);
	CALL(closefrom, 900);
	close(ends[0]);
	close(ends[1]);
	CALL(socketpair, AF_UNIX, SOCK_DGRAM, 0, P(pair));
	close(pair[0]);
	close(pair[1]);
}

static char *line;
static size_t room;

/* Each is called with an empty buffer, or at the end, and with a full one. */
static void read_each(FILE *file)
{
	static fpos_t place;
	static char to[64];

	CALL(fgets, P(to), 60, P(file));
	CALL(fgets_unlocked, P(to), 60, P(file));
	CALL(__fgets_chk, P(to), 60, 60, P(file));
	CALL(__fgets_unlocked_chk, P(to), 60, 60, P(file));
	CALL(getline, P(&line), P(&room), P(file));
	CALL(getdelim, P(&line), P(&room), ' ', P(file));
	CALL(__getdelim, P(&line), P(&room), ' ', P(file));
	CALL(fread, P(to), 1, 4, P(file));
	CALL(fread_unlocked, P(to), 1, 4, P(file));
	CALL(__fread_chk, P(to), 60, 1, 4, P(file));
	CALL(__fread_unlocked_chk, P(to), 60, 1, 4, P(file));
	CALL(getc, P(file));
	CALL(fgetc, P(file));
	CALL(_IO_getc, P(file));
	CALL(getc_unlocked, P(file));
	CALL(fgetc_unlocked, P(file));
	CALL(__uflow, P(file));
	CALL(getchar, 0);
	CALL(getchar_unlocked, 0);
	fgetpos(file, &place);
	CALL(fsetpos, P(file), P(&place));
	CALL(fsetpos64, P(file), P(&place));
	CALL(fseek, P(file), 1, SEEK_SET);
	CALL(fseeko, P(file), 1, SEEK_SET);
	CALL(fseeko64, P(file), 1, SEEK_SET);
	CALL(rewind, P(file));
}

static void streams(void)
{
	int fd = open("/dev/null", O_RDWR);
	FILE *file = (FILE *)CALL(fdopen, fd, P("r"));

	file = (FILE *)CALL(freopen, P("/dev/null"), P("r"), P(file));
	file = (FILE *)CALL(freopen64, P("/dev/null"), P("r"), P(file));
	CALL(fclose, P(file));
	CALL(pclose, CALL(popen, P("true"), P("r")));
	CALL(fclose, CALL(fopen64, P("/dev/null"), P("r")));
	file = (FILE *)CALL(fopen, P("/proc/self/maps"), P("r"));
	for (int round = 0; round < 2; round++) {
		read_each(file);
		file = freopen("/dev/null", "r", file);
	}
	CALL(fclose, P(file));
}

static void directories_and_accepts(void)
{
	DIR *dir = (DIR *)CALL(opendir, P("/proc/self/fd"));
	struct dirent **list;
	static sigset_t set;
	static struct itimerspec tomorrow, never, old;
	int timer, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	CALL(readdir, P(dir));
	CALL(readdir64, P(dir));
	CALL(closedir, P(dir));
	CALL(closedir, CALL(fdopendir, open("/", O_RDONLY | O_DIRECTORY)));
	CALL(scandir, P("/proc/self/task"), P(&list), 0, 0);
	CALL(scandir64, P("/proc/self/task"), P(&list), 0, 0);
	listen(fd, 1);
	CALL(accept, fd, 0, 0);
	CALL(accept4, fd, 0, 0, 0);
	close(fd);
	sigemptyset(&set);
	tomorrow.it_value.tv_sec = INT32_MAX;
	timer = (int)CALL(timerfd_create, CLOCK_MONOTONIC, 0);
	CALL(timerfd_settime, timer, TFD_TIMER_ABSTIME, P(&tomorrow), P(&old));
	CALL(timerfd_settime, timer, 0, P(&never), 0);
	CALL(timerfd_settime, -1, 0, P(&never), 0);
	close(timer);
	close((int)CALL(signalfd, -1, P(&set), 0));
	close((int)CALL(inotify_init, 0));
	close((int)CALL(inotify_init1, 0));
}

static void vectors(void)
{
	int fd = open("registers.tmp", O_RDWR | O_CREAT | O_TRUNC, 0600);

	CALL(pwritev2, fd, P(&part), 1, 0, 0);
	CALL(pwritev64v2, fd, P(&part), 1, 4, 0);
	CALL(preadv2, fd, P(&part), 1, 0, 0);
	CALL(preadv64v2, fd, P(&part), 1, 4, 0);
	CALL(lockf, fd, F_LOCK, 1);
	CALL(lockf64, fd, F_TLOCK, 1);
	CALL(lockf, fd, F_ULOCK, 1);
	close(fd);
	unlink("registers.tmp");
}

static void between(void)
{
	static int from[2], to[2];
	static off_t at;
	int fd = open("/bin/sh", O_RDONLY);

	CALL(pipe2, P(from), O_NONBLOCK);
	CALL(pipe2, P(to), O_NONBLOCK);
	CALL(vmsplice, from[1], P(&part), 1, 0);
	CALL(tee, from[0], to[1], 100, 0);
	CALL(splice, from[0], 0, to[1], 0, 100, 0);
	CALL(sendfile, to[1], fd, P(&at), 100);
	CALL(sendfile64, to[1], fd, P(&at), 100);
	CALL(__read_chk, to[0], P(text), 8, sizeof(text));
	close(fd);
	for (int i = 0; i < 2; i++) {
		close(from[i]);
		close(to[i]);
	}
}

static void ready(void)
{
	static struct epoll_event event;
	static uint64_t value;
	static struct timeval no_time;
	static struct pollfd polled;
	fd_set set;
	int queue = epoll_create1(EPOLL_CLOEXEC);
	int fd = (int)CALL(eventfd, 0, EFD_NONBLOCK);

	CALL(eventfd_write, fd, 5);
	CALL(eventfd_read, fd, P(&value));
	FD_ZERO(&set);
	FD_SET(fd, &set);
	CALL(select, fd + 1, P(&set), 0, 0, P(&no_time));
	CALL(pselect, fd + 1, P(&set), 0, 0, P(&none), 0);
	polled = (struct pollfd){ fd, POLLIN, 0 };
	CALL(ppoll, P(&polled), 1, P(&none), 0);
	CALL(__poll_chk, P(&polled), 1, 0, sizeof(polled));
	CALL(__ppoll_chk, P(&polled), 1, P(&none), 0, sizeof(polled));
	CALL(epoll_ctl, queue, EPOLL_CTL_ADD, fd, P(&event));
	CALL(epoll_wait, queue, P(&event), 1, 0);
	CALL(epoll_pwait, queue, P(&event), 1, 0, 0);
	CALL(epoll_pwait2, queue, P(&event), 1, P(&none), 0);
	close(fd);
	close(queue);
}

static void sockets(void)
{
	static struct sockaddr address = { .sa_family = AF_UNIX };	/* the kernel chooses a name */
	static struct mmsghdr messages_two[2] = {
		{ .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } },
		{ .msg_hdr = { .msg_iov = &part, .msg_iovlen = 1 } }
	};
	static int pair[2];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	CALL(bind, fd, P(&address), sizeof(address.sa_family));
	CALL(listen, fd, 5);
	close(fd);
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0)
		exit(2);
	for (int i = 0; i < 2; i++)
		CALL(sendmmsg, pair[0], P(messages_two), 2, 0);
	CALL(recvmmsg, pair[1], P(messages_two), 2, MSG_DONTWAIT, 0);
	CALL(__recv_chk, pair[1], P(text), 4, sizeof(text), 0);
	CALL(__recvfrom_chk, pair[1], P(text), 4, sizeof(text), 0, 0);
	close(pair[0]);
	close(pair[1]);
}

/* Waits for time (0) and for the disk (of a file in memory). */
static void pauses(void)
{
	static char page[8192] __attribute__((aligned(4096)));
	int fd = memfd_create("registers", MFD_CLOEXEC);

	CALL(nanosleep, P(&none), 0);
	CALL(clock_nanosleep, CLOCK_MONOTONIC, 0, P(&none), 0);
	CALL(usleep, 1);
	CALL(sleep, 0);
	CALL(thrd_sleep, P(&none), 0);
	CALL(fsync, fd);
	CALL(fdatasync, fd);
	CALL(syncfs, fd);
	CALL(sync_file_range, fd, 0, 0, 0);
	CALL(msync, P(page), 4096, MS_ASYNC);
	CALL(sync, 0);
	close(fd);
}

void descriptors(void)
{
	make_and_close();
	streams();
	directories_and_accepts();
	vectors();
	between();
	ready();
	pauses();
	sockets();
}

/* Without these files the kernel returns that error, but the call was made. */
void messages(void)
{
	static struct mq_attr attr = { .mq_maxmsg = 2, .mq_msgsize = 32 };
	static struct {
		long type;
		char text[8];
	} message = { 1, "text" };
	static char name[32], room[32];
	static unsigned priority;
	int queue, id;

	snprintf(name, sizeof(name), "/registers.%d", getpid());
	for (int al = 0; al <= 8; al += 8) {
		queue = (int)CALL_AL(al, mq_open, P(name), O_CREAT | O_RDWR, 0600, P(&attr));
		CALL(mq_send, queue, P(text), 8, 1);
		CALL(mq_timedsend, queue, P(text), 8, 1, P(&none));
		CALL(mq_receive, queue, P(room), 32, P(&priority));
		CALL(mq_timedreceive, queue, P(room), 32, P(&priority), P(&none));
		CALL(mq_close, queue);
	}
	queue = (int)CALL(__mq_open_2, P(name), O_RDONLY);
	mq_close(queue);
	mq_unlink(name);
	id = (int)CALL(msgget, IPC_PRIVATE, 0600);
	CALL(msgsnd, id, P(&message), 8, IPC_NOWAIT);
	CALL(msgrcv, id, P(&message), 8, 0, IPC_NOWAIT);
	CALL(msgctl, id, IPC_RMID, 0);
}

static ucontext_t here, there;

static void come_back(void)
{
}

#define JUMP(function) \
	call_jump(#function, (void *)(uintptr_t)function, (const long[6]){ P(buffer), 5 }, \
		  (void *)(uintptr_t)__sigsetjmp, buffer)

void jumps(void)
{
	static jmp_buf buffer;
	static char stack[65536] __attribute__((aligned(16)));

	JUMP(longjmp);
	JUMP(_longjmp);
	JUMP(siglongjmp);
	JUMP(__longjmp_chk);
	call_jump("setcontext", (void *)(uintptr_t)setcontext, (const long[6]){ P(&here) },
		  (void *)(uintptr_t)getcontext, &here);
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = &here;
	CALL(makecontext, P(&there), P(come_back), 0);
	CALL(swapcontext, P(&here), P(&there));
}

/* A child that has become a daemon reports its results through a pipe. */
static void become_daemon(void)
{
	int ends[2];
	char found = 1;
	pid_t pid;

	fflush(stdout);
	if (pipe(ends) != 0)
		exit(2);
	pid = fork();
	if (pid == 0) {
		CALL(daemon, 1, 1);
		found = wrong_calls() != 0;
		(void)!write(ends[1], &found, 1);
		_exit(0);
	}
	close(ends[1]);
	call("daemon", NULL, NULL, 0);
	count_child(pid);
	if (read(ends[0], &found, 1) != 1 || found)
		printf("daemon: wrong in the child\n");
	close(ends[0]);
}

void endings(void)
{
	int before = wrong_calls();
	pid_t pid;

	call_end("_exit", (void *)(uintptr_t)_exit, 3);
	call_end("_Exit", (void *)(uintptr_t)_Exit, 4);
	call_end("quick_exit", (void *)(uintptr_t)quick_exit, 5);
	become_daemon();
	fflush(stdout);
	pid = (pid_t)CALL(fork, 0);
	if (pid == 0)
		_exit(wrong_calls() != before);
	count_child(pid);
}
