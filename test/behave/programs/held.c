/* SPDX-License-Identifier: MIT */
/*
 * held.c WHAT [outside] - threads that wait for something while they hold a lock, or just before they
 * take it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define APART __attribute__((noinline))
#define THREADS 3
#define ROUNDS 120
#define PAUSE_US 1000

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other_lock = PTHREAD_MUTEX_INITIALIZER;
static volatile double table;
static int is_outside, ends[2], file, server;
static struct sockaddr_un name = { .sun_family = AF_UNIX };
static socklen_t name_size = sizeof(name);
static char bytes[4096];

/* --- the other side --- */

static void *feed(void *none)
{
	while (usleep(PAUSE_US), write(ends[1], "x", 1) == 1)
		;
	return none;
}

static void *drain(void *none)
{
	static char drained[sizeof(bytes)];

	while (usleep(PAUSE_US), read(ends[0], drained, sizeof(drained)) > 0)
		;
	return none;
}

static void *serve(void *none)
{
	for (;;) {
		usleep(PAUSE_US);
		close(accept(server, NULL, NULL));
	}
	return none;
}

static void *own(void *none)
{
	for (;;) {
		pthread_mutex_lock(&other_lock);
		usleep(PAUSE_US);
		pthread_mutex_unlock(&other_lock);
		usleep(100);
	}
	return none;
}

/* --- waits --- */

static void by_sleep(void)
{
	usleep(PAUSE_US);
}

static void by_read(void)
{
	char byte;

	if (read(ends[0], &byte, 1) != 1)
		abort();
}

static void by_poll(void)
{
	struct pollfd ready = { .fd = ends[0], .events = POLLIN };

	poll(&ready, 1, -1);
	by_read();
}

static void by_write(void)
{
	if (write(ends[1], bytes, sizeof(bytes)) < 0)
		abort();
}

static void by_fsync(void)
{
	if (write(file, "line\n", 5) < 0 || fsync(file) < 0)
		abort();
}

static void by_connect(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (const struct sockaddr *)&name, name_size) < 0)
		abort();
	close(fd);
}

static void by_lock(void)
{
	pthread_mutex_lock(&other_lock);
	pthread_mutex_unlock(&other_lock);
}

static const struct kind {
	const char *name;
	void (*wait)(void);
	void *(*side)(void *none);
} kinds[] = {
	{ "sleep", by_sleep, NULL },  { "read", by_read, feed },   { "poll", by_poll, feed },
	{ "write", by_write, drain }, { "fsync", by_fsync, NULL }, { "connect", by_connect, serve },
	{ "lock", by_lock, own },
};

static const struct kind *kind;

APART static void visit(void)
{
	if (is_outside)
		kind->wait();
	pthread_mutex_lock(&table_lock);
	if (!is_outside)
		kind->wait();
	for (int i = 0; i < 20000; i++)
		table = table * .999 + i;
	pthread_mutex_unlock(&table_lock);
}

static void *run(void *none)
{
	for (int i = 0; i < ROUNDS; i++)
		visit();
	return none;
}

static void open_all(void)
{
	char path[] = "held.out.XXXXXX";

	if (pipe(ends) < 0)
		abort();
	fcntl(ends[1], F_SETPIPE_SZ, (int)sizeof(bytes));
	file = mkstemp(path);
	unlink(path);
	server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(server, (struct sockaddr *)&name, sizeof(sa_family_t)) < 0 ||
	    listen(server, 0) < 0)
		abort();
	getsockname(server, (struct sockaddr *)&name, &name_size);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS], side;

	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, argv[1]) == 0)
			kind = &kinds[i];
	if (!kind)
		return 2;
	is_outside = argc > 2;
	open_all();
	if (kind->side)
		pthread_create(&side, NULL, kind->side, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	_exit(0);
}
