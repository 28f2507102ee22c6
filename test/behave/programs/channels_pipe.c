/* SPDX-License-Identifier: MIT */
/*
 * channels_pipe.c MODE - uses pipes, and prints its actions: lines "what
 * number".
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long sent, sent_bytes, received, received_bytes, most;
static double delay_ns, blocked_ns, starved_ns;
static int fds[2];

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

static void nap(long ns)
{
	nanosleep(&(struct timespec){ 0, ns }, NULL);
}

static void note_send(ssize_t got)
{
	if (got < 0)
		return;
	sent++;
	sent_bytes += got;
	if (sent_bytes - received_bytes > most)
		most = sent_bytes - received_bytes;
}

static void note_receive(ssize_t got)
{
	if (got <= 0)
		return;
	received++;
	received_bytes += got;
}

/* Queues of many depths, one after the other, with all existing calls. */
static void count(void)
{
	char buffer[4096] = "";

	for (int round = 1; round <= 200; round++) {
		struct iovec parts[2] = { { buffer, (size_t)round }, { buffer, 7 } };

		for (int i = 0; i < round % 11 + 1; i++)
			note_send(write(fds[1], buffer, (size_t)(round * 3 + i)));
		note_send(writev(fds[1], parts, 2));
		while (sent_bytes > received_bytes + 100)
			note_receive(read(fds[0], buffer, (size_t)(round % 97 + 1)));
		parts[0].iov_len = 50;
		parts[1].iov_len = 49;
		note_receive(readv(fds[0], parts, 2));
	}
}

/* Calls that fail, are cut short, or do nothing: no message. */
static void odd(void)
{
	void *volatile nowhere = (void *)8;
	char buffer[70000] = "";

	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	note_receive(read(fds[0], buffer, 10));
	printf("empty %d\n", errno == EAGAIN);
	note_send(write(fds[1], buffer, sizeof(buffer)));
	note_send(write(fds[1], buffer, sizeof(buffer)));
	printf("refused %d\n", errno == EAGAIN);
	note_receive(read(fds[0], buffer, 0));
	for (int i = 0; i < 5; i++)
		note_receive(read(fds[0], buffer, 16384));
	printf("bad %zd %d\n", write(fds[1], nowhere, 100), errno);
	printf("bad %zd %d\n", writev(fds[1], nowhere, 2), errno);
	printf("bad %zd %d\n", readv(fds[0], nowhere, 2), errno);
	printf("bad %zd %d\n", read(-1, buffer, 1), errno);
	printf("bad %zd %d\n", read(100000, buffer, 1), errno);
}

struct stamped {
	double at;
	char more[24];
};

static void *send_stamped(void *data)
{
	long count = *(long *)data;

	for (long i = 0; i < count; i++) {
		struct stamped message = { .at = now() };

		note_send(write(fds[1], &message, sizeof(message)));
		nap(i % 10 ? 20000 : 400000);
	}
	return NULL;
}

static void latency(void)
{
	long count = 2000;
	struct stamped message;
	pthread_t thread;

	pthread_create(&thread, NULL, send_stamped, &count);
	while (received < count) {
		/* In steps, so that some wait in the queue. */
		if (received % 100 == 0)
			nap(1000000);
		note_receive(read(fds[0], &message, sizeof(message)));
		delay_ns += now() - message.at;
	}
	pthread_join(thread, NULL);
	printf("delay_ns %.0f\n", delay_ns);
}

static void *drain_slowly(void *data)
{
	static char buffer[65536];

	(void)data;
	for (int i = 0; i < 10; i++) {
		nap(20000000);
		for (int j = 0; j < 2; j++)
			note_receive(read(fds[0], buffer, sizeof(buffer)));
	}
	return NULL;
}

/* One side that is slow makes the other one wait. */
static void blocked(void)
{
	static char buffer[65536];
	pthread_t thread;

	pthread_create(&thread, NULL, drain_slowly, NULL);
	for (int i = 0; i < 20; i++) {
		double since = now();

		note_send(write(fds[1], buffer, sizeof(buffer)));
		blocked_ns += now() - since;
	}
	pthread_join(thread, NULL);
	printf("blocked_ns %.0f\n", blocked_ns);
}

static void *drip(void *data)
{
	(void)data;
	for (int i = 0; i < 10; i++) {
		nap(20000000);
		note_send(write(fds[1], "x", 1));
	}
	return NULL;
}

static void starved(void)
{
	pthread_t thread;
	char c;

	pthread_create(&thread, NULL, drip, NULL);
	for (int i = 0; i < 10; i++) {
		double since = now();

		note_receive(read(fds[0], &c, 1));
		starved_ns += now() - since;
	}
	pthread_join(thread, NULL);
	printf("starved_ns %.0f\n", starved_ns);
}

/* Several threads at both ends: none counts for another. */
static void *send_many(void *data)
{
	(void)data;
	for (int i = 0; i < 20000; i++)
		if (write(fds[1], "0123456789", 10) != 10)
			abort();
	return NULL;
}

static void *receive_many(void *data)
{
	char buffer[10];

	(void)data;
	for (int i = 0; i < 20000; i++)
		if (read(fds[0], buffer, 10) != 10)
			abort();
	return NULL;
}

static void threads(void)
{
	pthread_t all[6];

	for (int i = 0; i < 6; i++)
		pthread_create(&all[i], NULL, i % 2 ? send_many : receive_many, NULL);
	for (int i = 0; i < 6; i++)
		pthread_join(all[i], NULL);
	sent = received = 60000;
	sent_bytes = received_bytes = 600000;
}

/* The other end is a child's. */
static void child(void)
{
	char buffer[64] = "";
	pid_t pid = fork();

	if (pid == 0) {
		close(fds[1]);
		while (read(fds[0], buffer, sizeof(buffer)) > 0)
			;
		_exit(0);
	}
	close(fds[0]);
	for (int i = 0; i < 1000; i++)
		note_send(write(fds[1], buffer, sizeof(buffer)));
	close(fds[1]);
	waitpid(pid, NULL, 0);
}

static void *read_for_ever(void *data)
{
	char c;

	for (;;)
		note_receive(read(fds[0], &c, 1));
	return data;
}

static void *write_for_ever(void *data)
{
	static char buffer[4096];

	for (;;)
		note_send(write(fds[1], buffer, sizeof(buffer)));
	return data;
}

static void cancel(void *(*what)(void *), int (*is_there)(void))
{
	pthread_t thread;
	void *result;

	pthread_create(&thread, NULL, what, NULL);
	while (!is_there())
		nap(1000000);
	nap(5000000);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	printf("canceled %d\n", result == PTHREAD_CANCELED);
}

static int has_read_three(void)
{
	return *(volatile long *)&received == 3;
}

static int has_filled_it(void)
{
	return *(volatile long *)&sent_bytes == 65536;
}

/* Threads cancelled in the calls: immediately in those that wait. */
static void cancelled(void)
{
	note_send(write(fds[1], "123", 3));
	cancel(read_for_ever, has_read_three);
	sent_bytes = received_bytes = most = 0;
	cancel(write_for_ever, has_filled_it);
	sent_bytes += 3, received_bytes += 3;
}

static void on_signal(int number)
{
	int saved = errno;

	(void)number;
	note_send(write(fds[1], "s", 1));
	errno = saved;
}

/* A handler that writes into the pipe that the program is writing into. */
static void signals(void)
{
	static const struct itimerval often = { { 0, 200 }, { 0, 200 } };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	sigset_t all, before;
	char buffer[8192];

	sigfillset(&all);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 30000; i++) {
		ssize_t got = write(fds[1], "m", 1);

		sigprocmask(SIG_BLOCK, &all, &before);
		note_send(got);
		sigprocmask(SIG_SETMASK, &before, NULL);
		if (i % 100 == 99)
			note_receive(read(fds[0], buffer, sizeof(buffer)));
	}
	setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 0 }, { 0, 0 } }, NULL);
}

/* A child in its parent's memory changes its own descriptors. */
static void borrowed(void)
{
	char buffer[10] = "";
	pid_t pid = vfork();

	if (pid == 0) {
		dup2(fds[1], 7);
		close(fds[0]);
		close(fds[1]);
		execlp("true", "true", NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	note_send(write(fds[1], buffer, 10));
	need(write(7, buffer, 5) == -1, "no descriptor");
	note_receive(read(fds[0], buffer, 10));
}

static void make(void)
{
	need(pipe(fds) == 0, "pipe");
}

/* One place, many pipes. */
static void many(void)
{
	char c = 'x';

	for (int i = 0; i < 3000; i++) {
		make();
		for (int j = 0; j < 3; j++)
			note_send(write(fds[1], &c, 1));
		for (int j = 0; j < 2; j++)
			note_receive(read(fds[0], &c, 1));
		close(fds[0]);
		close(fds[1]);
	}
	most = 3;
}

/* Copies of the descriptors, and other objects under their old numbers. */
static void copies(void)
{
	int a = dup(fds[1]), b = fcntl(fds[0], F_DUPFD_CLOEXEC, 50), file;
	char buffer[100] = "";

	note_send(write(a, "12345", 5));
	note_receive(read(b, buffer, 5));
	dup2(a, 60);
	close(fds[1]);
	close(a);
	note_send(write(60, "1234567", 7));
	file = open("/dev/null", O_RDWR);
	dup2(file, fds[0]);
	need(write(fds[0], buffer, 100) == 100, "write");
	need(write(fds[1], "x", 1) == -1 || fds[1] == file, "closed");
	dup3(b, 61, O_CLOEXEC);
	close_range(50, 59, 0);
	note_receive(read(61, buffer, 100));
}

int main(int count_of, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(void);
		int is_made;
	} modes[] = { { "count", count, 1 },	 { "odd", odd, 1 },
		      { "latency", latency, 1 }, { "blocked", blocked, 1 },
		      { "starved", starved, 1 }, { "threads", threads, 1 },
		      { "child", child, 1 },	 { "cancelled", cancelled, 1 },
		      { "signals", signals, 1 }, { "borrowed", borrowed, 1 },
		      { "many", many, 0 },	 { "copies", copies, 1 } };

	for (size_t i = 0; count_of > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(arguments[1], modes[i].name) != 0)
			continue;
		if (modes[i].is_made)
			make();
		modes[i].run();
	}
	printf("sent_count %ld\nsent_bytes %ld\nreceived_count %ld\nreceived_bytes %ld\n", sent,
	       sent_bytes, received, received_bytes);
	printf("max_queue_size %ld\n", most);
	return 0;
}
