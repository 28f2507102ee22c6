/* SPDX-License-Identifier: MIT */
/*
 * end_fork.c - see end_fork.h.
 */
#include "sampler/session/end_fork.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/base/open.h"
#include "segment/newer.h"
#include "segment/segment.h"
#include "segment/session.h"
#include "util/tell.h"

typedef int report_main(int argc, char **argv);

extern char **environ;

/* The one at `place` is kept by exec. */
static void move(int fd, int place)
{
	if (fd == place)
		fcntl(fd, F_SETFD, 0);
	else
		dup2(fd, place);
}

static void descriptors_move(const struct hp_end_copy *copy)
{
	const struct hp_segments *segments = copy->segments;

	/* First: its number may be one of the others' places. */
	if (copy->input >= 0)
		move(copy->input, 0);
	move(segments->at[0]->fd, HP_SAMPLER_SEGMENT_FD);
	for (uint32_t i = 1; i < segments->count; i++)
		move(segments->at[i]->fd, HP_LEVEL_FD + (int)i - 1);
}

/* Those that the report does not need, as the socket by which processes join. False = an old kernel. */
static bool descriptors_close(const struct hp_end_copy *copy)
{
	unsigned end = HP_LEVEL_FD + copy->segments->count - 1;

	return syscall(SYS_close_range, HP_SAMPLER_SEGMENT_FD + 1, HP_LEVEL_FD - 1, 0) == 0 &&
	       syscall(SYS_close_range, end, ~0U, 0) == 0;
}

/* The kernel would take our mapping for one of a process of the session (hp_end_is_alone). */
static void segments_unmap(const struct hp_segments *segments)
{
	for (uint32_t i = 0; i < segments->count; i++)
		munmap(segments->at[i]->header, segments->at[i]->size);
}

static void handlers_reset(void)
{
	static const int handled[] = { SIGBUS, SIGTERM, SIGALRM };

	for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
		signal(handled[i], SIG_DFL);
}

/* An object of another build may read another format. */
static report_main *load(const char *path)
{
	void *object = dlopen(path, RTLD_NOW);
	const uint32_t *format = object ? dlsym(object, "hp_report_format") : NULL;

	if (!format || *format != HP_FORMAT)
		return NULL;
	hp_opener *opener = (hp_opener *)(uintptr_t)dlsym(object, "hp_debug_open");
	if (!opener)
		return NULL;
	hp_open_by(opener);
	return (report_main *)(uintptr_t)dlsym(object, "hp_report_main");
}

static _Noreturn void be_program(const struct hp_end_copy *copy, const sigset_t *none)
{
	sigprocmask(SIG_SETMASK, none, NULL);
	execve(copy->program, copy->arguments, environ);
	hp_tell("hotpath: no report: %s: %s; HOTPATH_BIN names the folder of hotpath\n",
		copy->program, strerror(errno));
	_exit(1);
}

/*
 * A new process goes before the one that forked it, and one of SCHED_BATCH does not when it wakes
 * up. False if nobody wants it any more.
 */
static bool wait_held(void)
{
	static const struct sched_param none;
	char byte;

	sched_setscheduler(0, SCHED_BATCH, &none);
	return read(0, &byte, 1) == 1;
}

static _Noreturn void be_report(const struct hp_end_copy *copy)
{
	sigset_t none;
	int count = 0;

	sigemptyset(&none);
	handlers_reset();
	/* Linux before 5.9 has no close_range; exec closes ours as well. */
	descriptors_move(copy);
	bool is_closed = descriptors_close(copy);
	if (copy->is_held && !wait_held())
		_exit(0);
	report_main *report = is_closed ? load(copy->object) : NULL;
	if (!report)
		be_program(copy, &none);
	segments_unmap(copy->segments);
	prctl(PR_SET_NAME, "hotpath");
	while (copy->arguments[count])
		count++;
	sigprocmask(SIG_SETMASK, &none, NULL);
	exit(report(count - 1, (char **)(uintptr_t)copy->arguments + 1));
}

pid_t hp_end_fork(const struct hp_end_copy *copy)
{
	sigset_t all, before;

	/* Ours would be handled by the child, which has our handlers at first. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t child = fork();
	if (child == 0)
		be_report(copy);
	int error = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return child < 0 ? -error : child;
}
