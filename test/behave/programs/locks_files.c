/* SPDX-License-Identifier: MIT */
/*
 * locks_files.c - once-only actions, locks on files, locks of streams.
 *
 *	once	two threads, where one waits for the other's once-only action
 *	file	PATH: locks of all kinds, tries that fail, and a wait for a child's lock
 *	stream	flockfile, again and again, and a thread that waits for it
 */
#include "asleep.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

/* --- once --- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_once_t inner = PTHREAD_ONCE_INIT;
static once_flag flag = ONCE_FLAG_INIT;
static pthread_barrier_t begun;
static int done;
static int late_tid;

static void init_inner(void)
{
	done++;
}

/* The other thread arrives while this is in progress. */
static void init(void)
{
	pthread_barrier_wait(&begun);
	until_asleep(getpid(), late_tid);
	pthread_once(&inner, init_inner);
	done++;
}

static void *late(void *arg)
{
	late_tid = gettid();
	pthread_barrier_wait(&begun);
	pthread_once(&once, init);
	return arg;
}

static void run_once(void)
{
	pthread_t thread;

	pthread_barrier_init(&begun, NULL, 2);
	pthread_create(&thread, NULL, late, NULL);
	pthread_once(&once, init);
	pthread_join(thread, NULL);
	for (int i = 0; i < 1000; i++)
		pthread_once(&once, init);
	call_once(&flag, init_inner);
	call_once(&flag, init_inner);
	printf("done %d times\n", done);
}

/* --- files --- */

static int record(int fd, int command, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_len = 10 };

	return fcntl(fd, command, &lock);
}

/* A child holds the file's lock when this returns, and ends once `ends` was written to and we
 * wait. */
static pid_t child_with(const char *path, int *ends, int by_record)
{
	int begins[2], give[2];
	char byte = 0;
	pid_t child;

	if (pipe(begins) != 0 || pipe(give) != 0)
		exit(1);
	child = fork();
	if (child == 0) {
		int fd = open(path, O_RDWR);

		if (by_record ? record(fd, F_SETLK, F_WRLCK) : flock(fd, LOCK_EX))
			_exit(2);
		if (write(begins[1], &byte, 1) != 1 || read(give[0], &byte, 1) != 1)
			_exit(3);
		until_asleep(getppid(), getppid());
		_exit(0);
	}
	if (read(begins[0], &byte, 1) != 1)
		exit(1);
	*ends = give[1];
	return child;
}

static void say(const char *what, int result)
{
	printf("%s %d %s\n", what, result, result ? strerror(errno) : "");
}

static void run_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600), ends, state;
	char byte = 0;
	pid_t child;

	for (int i = 0; i < 100; i++) {
		flock(fd, LOCK_SH);
		flock(fd, LOCK_UN);
	}
	child = child_with(path, &ends, 0);
	say("flock nb", flock(fd, LOCK_EX | LOCK_NB));
	say("pipe", (int)write(ends, &byte, 1) - 1);
	say("flock", flock(fd, LOCK_EX));
	waitpid(child, &state, 0);
	flock(fd, LOCK_UN);
	child = child_with(path, &ends, 1);
	say("setlk", record(fd, F_SETLK, F_RDLCK));
	say("tlock", lockf(fd, F_TLOCK, 10));
	say("pipe", (int)write(ends, &byte, 1) - 1);
	say("setlkw", record(fd, F_SETLKW, F_RDLCK));
	waitpid(child, &state, 0);
	say("lockf", lockf(fd, F_LOCK, 10));
	say("ulock", lockf(fd, F_ULOCK, 10));
	say("ofd", record(fd, F_OFD_SETLKW, F_WRLCK));
	say("bad", flock(-1, LOCK_EX));
	say("bad", record(-1, F_SETLKW, F_WRLCK));
	say("dup", fcntl(fd, F_DUPFD, 100) - 100);
	say("getfl", fcntl(fd, F_GETFL) - (O_RDWR | 0100000));
}

/* --- streams --- */

static void *hold(void *arg)
{
	FILE *stream = arg;

	flockfile(stream);
	flockfile(stream);
	pthread_barrier_wait(&begun);
	until_asleep(getpid(), getpid());
	funlockfile(stream);
	funlockfile(stream);
	return arg;
}

static void run_stream(void)
{
	FILE *stream = fopen("/dev/null", "w");
	pthread_t thread;

	pthread_barrier_init(&begun, NULL, 2);
	pthread_create(&thread, NULL, hold, stream);
	pthread_barrier_wait(&begun);
	printf("try %d\n", ftrylockfile(stream) != 0);
	flockfile(stream);
	fputs("text", stream);
	funlockfile(stream);
	pthread_join(thread, NULL);
	for (int i = 0; i < 100; i++) {
		flockfile(stream);
		funlockfile(stream);
	}
	fclose(stream);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "once") == 0)
		run_once();
	else if (strcmp(what, "stream") == 0)
		run_stream();
	else if (strcmp(what, "file") == 0 && argc > 2)
		run_file(argv[2]);
	return 0;
}
