/* SPDX-License-Identifier: MIT */
/*
 * stack.c - see stack.h.
 *
 * The limit itself is not changed, because commands start other programs, which
 * must inherit it. A hard limit could not be raised anyway.
 */
#include "report/base/stack.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#define STACK_SIZE (8 << 20)

struct call {
	int (*run)(int argc, char **argv);
	int argc;
	char **argv;
	sigset_t mask;
};

static void *call_run(void *argument)
{
	struct call *call = argument;

	pthread_sigmask(SIG_SETMASK, &call->mask, NULL);
	/* Exits instead of returning: after a fork this is the child's only thread. */
	exit(call->run(call->argc, call->argv));
}

/* The process's signals go to this thread, as they would to the only one. */
static int start(struct call *call, pthread_t *thread)
{
	pthread_attr_t attributes;
	sigset_t all;

	pthread_attr_init(&attributes);
	int error = pthread_attr_setstacksize(&attributes, STACK_SIZE);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &call->mask);
	if (!error)
		pthread_setattr_default_np(&attributes);
	if (!error)
		error = pthread_create(thread, &attributes, call_run, call);
	if (error)
		pthread_sigmask(SIG_SETMASK, &call->mask, NULL);
	pthread_attr_destroy(&attributes);
	return error;
}

int hp_stack_run(int (*run)(int argc, char **argv), int argc, char **argv)
{
	struct call call = { .run = run, .argc = argc, .argv = argv };
	struct rlimit limit;
	pthread_t thread;

	if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur >= STACK_SIZE ||
	    start(&call, &thread) != 0)
		return run(argc, argv);
	pthread_join(thread, NULL);
	return 1;	/* not reached */
}
