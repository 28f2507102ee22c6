/* SPDX-License-Identifier: MIT */
/*
 * hooks_fork.c - children of every kind: fork, _Fork, raw clone, vfork, spawn,
 * daemon; of a multithreaded program, from a signal handler, ten thousand.
 */
#include "hooks.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;
static volatile long passes;

COUNTER(parent_step);
SEEN static void parent_step(void)
{
	CALLED(parent_step);
	passes++;
}

COUNTER(child_step);
SEEN static void child_step(void)
{
	CALLED(child_step);
	passes++;
}

COUNTER(child_outer);
SEEN static void child_outer(long count)
{
	CALLED(child_outer);
	for (long i = 0; i < count; i++)
		child_step();
}

COUNTER(grandchild);
SEEN static void grandchild(void)
{
	CALLED(grandchild);
	child_step();
}

UNSEEN static void reap(pid_t pid)
{
	int status;

	DIE_IF(pid < 0);
	DIE_IF(waitpid(pid, &status, 0) != pid || status != 0);
}

/* The fork is inside an instrumented function, which the child leaves too. */
COUNTER(forker);
SEEN static pid_t forker(pid_t (*how)(void))
{
	pid_t pid;

	CALLED(forker);
	pid = how();
	if (pid == 0)
		child_outer(10);
	parent_step();
	return pid;
}

static pid_t raw_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

UNSEEN static void forks_by(pid_t (*how)(void), long count)
{
	for (long i = 0; i < count; i++) {
		pid_t pid = forker(how);

		if (pid == 0) {
			if (i % 4 == 0 && (pid = fork()) != 0)
				reap(pid);
			else if (i % 4 == 0)
				grandchild();
			_exit(0);
		}
		reap(pid);
	}
}

static void by_fork(long count)
{
	forks_by(fork, count);
}

#if !__GLIBC_PREREQ(2, 34)
static pid_t _Fork(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}
#endif

static void by_Fork(long count)
{
	forks_by(_Fork, count);
}

static void by_clone(long count)
{
	forks_by(raw_clone, count);
}

/* Children that end by exit, as daemons do. */
static void by_exit(long count)
{
	for (long i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			child_outer(10);
			exit(0);
		}
		reap(pid);
	}
}

static volatile int stop;

COUNTER(busy);
SEEN static void *busy(void *unused)
{
	CALLED(busy);
	(void)unused;
	while (!stop)
		parent_step();
	return NULL;
}

static void in_threads(long count)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		DIE_IF(pthread_create(&threads[i], NULL, busy, NULL));
	forks_by(fork, count);
	forks_by(raw_clone, count);
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

COUNTER(threaded_child);
SEEN static void *threaded_child(void *unused)
{
	CALLED(threaded_child);
	(void)unused;
	child_outer(10);
	return NULL;
}

/* Children that start threads of their own. */
static void then_threads(long count)
{
	for (long i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			pthread_t threads[3];

			for (int k = 0; k < 3; k++)
				pthread_create(&threads[k], NULL, threaded_child, NULL);
			for (int k = 0; k < 3; k++)
				pthread_join(threads[k], NULL);
			_exit(0);
		}
		reap(pid);
	}
}

COUNTER(vforker);
SEEN static pid_t vforker(char *const argv[])
{
	pid_t pid;

	CALLED(vforker);
	pid = vfork();
	if (pid == 0) {
		execv(argv[0], argv);
		_exit(97);
	}
	return pid;
}

/* `true` in every possible way, and one vfork whose exec fails. */
static void execs(long count)
{
	char *const no[] = { (char *)"/nowhere", NULL };
	char *const yes[] = { (char *)"/bin/true", NULL };

	for (long i = 0; i < count; i++) {
		int status;
		pid_t pid = vforker(yes);

		parent_step();
		reap(pid);
		pid = vforker(no);
		DIE_IF(waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 97);
		DIE_IF(posix_spawn(&pid, yes[0], NULL, NULL, yes, environ));
		reap(pid);
		parent_step();
	}
}

COUNTER(handler);
SEEN static void handler(int number)
{
	pid_t pid;

	CALLED(handler);
	(void)number;
	pid = fork();
	if (pid == 0) {
		child_outer(10);
		_exit(0);
	}
	reap(pid);
}

COUNTER(raiser);
SEEN static void raiser(void)
{
	CALLED(raiser);
	raise(SIGUSR1);
	parent_step();
}

static void in_handler(long count)
{
	struct sigaction action = { .sa_handler = handler };

	DIE_IF(sigaction(SIGUSR1, &action, NULL) < 0);
	for (long i = 0; i < count; i++)
		raiser();
}

/* The process that continues is not the one that was started. */
static void as_daemon(long count)
{
	int tube[2];
	char byte;

	DIE_IF(pipe(tube) < 0);
	if (fork() == 0) {
		DIE_IF(daemon(1, 1) < 0);
		child_outer(count);
		_exit(0);
	}
	close(tube[1]);
	/* Ends when the daemon has ended: it holds the other end. */
	DIE_IF(read(tube[0], &byte, 1) != 0);
	parent_step();
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = {
		{ "fork", by_fork }, { "_Fork", by_Fork },	   { "clone", by_clone },
		{ "exit", by_exit }, { "in_threads", in_threads }, { "then_threads", then_threads },
		{ "execs", execs },  { "in_handler", in_handler }, { "daemon", as_daemon },
		{ NULL, NULL },
	};

	return scene_run(scenes, argc, argv);
}
