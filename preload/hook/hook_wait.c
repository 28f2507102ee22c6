/* SPDX-License-Identifier: MIT */
/*
 * hook_wait.c - interposes wait() and related functions: to learn how killed
 * children ended, and for process 1.
 *
 * The helper process is an orphan, and process 1 adopts orphans. If that is the
 * program itself, as in a container without init, the helper is an unexpected
 * child: `while (wait(NULL) > 0)` would never end. So waiting for any child
 * skips it, and fails with ECHILD without other children. The helper has its
 * own session, so waiting for a process group never finds it. A target that is
 * a subreaper is not one while the helper is created (session.c). In all other
 * processes this costs one test.
 *
 * These are cancellation points: nothing is held across the real calls.
 *
 * Not covered: if two threads wait for any child at once, one stays in the
 * kernel after the other got the last child.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/hook/helper.h"
#include "preload/lock/lock.h"
#include "preload/thread/account.h"
#include "preload/wait/offcpu_note.h"

#define SLICE_NS 5000000
#define PIDS_MAX 32768	/* checked one by one: a namespace without its own /proc is small */

/* Does a list of numbers printed by the kernel contain another one than `but`? */
static bool lists_other(int fd, int but)
{
	char text[256];
	ssize_t size;
	int value = 0;

	while ((size = syscall(SYS_read, fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < size; i++) {
			if (text[i] >= '0' && text[i] <= '9') {
				value = value * 10 + (text[i] - '0');
				continue;
			}
			if (value && value != but)
				return true;
			value = 0;
		}
	return false;
}

static bool is_parent_of(idtype_t type, int id)
{
	siginfo_t info;

	return syscall(SYS_waitid, type, id, &info, WEXITED | WNOHANG | WNOWAIT, NULL) == 0;
}

/*
 * Is there a child besides `but`? Without a list, tries each number; most
 * children are in our own process group, unlike the helper.
 */
static bool has_other(int but)
{
	bool has = is_parent_of(P_PGID, (int)syscall(SYS_getpgid, 0));

	for (int pid = 2; !has && pid <= PIDS_MAX; pid++)
		has = pid != but && is_parent_of(P_PID, pid);
	return has;
}

/* Children of the thread in /proc/self/task/`tid`. */
static bool has_other_child(int tasks, const char *tid, int but)
{
	char path[32] = "";
	int fd;
	bool has;

	strncat(path, tid, 16);
	strcat(path, "/children");
	fd = (int)syscall(SYS_openat, tasks, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return has_other(but);
	has = lists_other(fd, but);
	syscall(SYS_close, fd);
	return has;
}

struct entry {	/* of getdents64 */
	uint64_t inode;
	int64_t next;
	unsigned short size;
	unsigned char type;
	char name[];
};

static bool scan(int tasks, int but)
{
	union {
		struct entry first;
		char bytes[512];
	} room;
	long size;

	while ((size = syscall(SYS_getdents64, tasks, &room, sizeof(room))) > 0)
		for (long at = 0; at < size;) {
			const struct entry *entry = (const struct entry *)(room.bytes + at);

			if (entry->name[0] != '.' && has_other_child(tasks, entry->name, but))
				return true;
			at += entry->size;
		}
	return size < 0;
}

/* The /proc of an outer namespace lists our children by their outer pids. */
static bool is_proc_ours(void)
{
	char self[16];

	return syscall(SYS_readlinkat, AT_FDCWD, "/proc/self", self, sizeof(self)) == 1 &&
	       self[0] == '1';
}

/*
 * True if the hidden child is the only one. Checks twice, since the lists
 * change while they are read.
 */
static bool is_alone(int but)
{
	bool has_listed = false;

	if (!is_proc_ours())
		return !has_other(but);
	for (int i = 0; i < 2 && !has_listed; i++) {
		int tasks = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task",
					 O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (tasks < 0)
			return !has_other(but);
		has_listed = scan(tasks, but);
		syscall(SYS_close, tasks);
	}
	return !has_listed;
}

/*
 * With SIGCHLD ignored, children vanish silently, and waiting for all of them
 * would wait for the hidden one.
 */
static bool vanish_silently(void)
{
	struct sigaction action;

	return sigaction(SIGCHLD, NULL, &action) == 0 &&
	       (action.sa_handler == SIG_IGN || action.sa_flags & SA_NOCLDWAIT);
}

enum hp_wait_next { NOBODY_ELSE, NOTHING_YET, LOOK_AGAIN, MAY_BLOCK };

/* Nothing has happened to the other children. */
static enum hp_wait_next next_step(int but, int options)
{
	static const struct timespec slice = { 0, SLICE_NS };

	if (is_alone(but))
		return NOBODY_ELSE;
	if (options & WNOHANG)
		return NOTHING_YET;
	if (!vanish_silently())
		return MAY_BLOCK;
	nanosleep(&slice, NULL);
	return LOOK_AGAIN;
}

static int no_child(void)
{
	errno = ECHILD;
	return -1;
}

/* True if `got` was the hidden child; forgets it if it has ended. */
static bool was_hidden(pid_t got, int but, bool is_gone)
{
	if (got != but)
		return false;
	if (is_gone)
		atomic_store_explicit(&hp_helper_child, 0, memory_order_relaxed);
	return true;
}

/* Records how `got` ended; a killed one cannot record that itself. */
static void ended(pid_t got, int status)
{
	if (got > 0 && (WIFEXITED(status) || WIFSIGNALED(status)))
		hp_account_waited((uint32_t)got, status);
}

static void ended_info(const siginfo_t *info)
{
	if (info->si_code == CLD_EXITED)
		ended(info->si_pid, W_EXITCODE(info->si_status & 0xff, 0));
	else if (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED)
		ended(info->si_pid,
		      info->si_status | (info->si_code == CLD_DUMPED ? WCOREFLAG : 0));
}

static pid_t wait_any(int but, int *status, int options, struct rusage *usage)
{
	int saved = errno, value = 0;
	int now = WNOHANG;

	for (;;) {
		pid_t got = hp_real()->wait4(-1, &value, options | now, usage);

		if (was_hidden(got, but, !WIFSTOPPED(value) && !WIFCONTINUED(value)))
			continue;
		if (got != 0) {
			ended(got, value);
			if (got > 0 && status)
				*status = value;
			return got;
		}
		switch (next_step(but, options)) {
		case NOBODY_ELSE:
			return no_child();
		case NOTHING_YET:
			errno = saved;
			return 0;
		case LOOK_AGAIN:
			break;
		case MAY_BLOCK:
			now = 0;
			break;
		}
		errno = saved;
	}
}

/* Not by the exported name, which is invalid while the loader relocates (preload/guest/early.h). */
static pid_t wait_for(pid_t pid, int *status, int options, struct rusage *usage)
{
	int but = hp_helper_hidden(), value = 0;
	pid_t got;

	if (HP_LIKELY(but == 0) || (pid != -1 && pid != but)) {
		hp_lock_sleeps();
		HP_OFFCPU_NOTED(got = hp_real()->wait4(pid, status ? status : &value, options,
						       usage),
				HP_ON_CHILD, HP_OFFCPU_NO_FD);
		if (got > 0)
			ended(got, status ? *status : value);
		return got;
	}
	return pid == but ? no_child() : wait_any(but, status, options, usage);
}

HP_EXPORT pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	return wait_for(pid, status, options, usage);
}

HP_EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
	return wait_for(-1, status, options, usage);
}

HP_EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
	return wait_for(pid, status, options, NULL);
}

HP_EXPORT pid_t wait(int *status)
{
	return wait_for(-1, status, 0, NULL);
}

static int waitid_any(int but, siginfo_t *info, int options)
{
	int saved = errno, now = WNOHANG;

	for (;;) {
		siginfo_t found = { .si_signo = 0 };
		int result = hp_real()->waitid(P_ALL, 0, &found, options | now);
		bool is_gone = found.si_code == CLD_EXITED || found.si_code == CLD_KILLED ||
			       found.si_code == CLD_DUMPED;

		if (result == 0 && was_hidden(found.si_pid, but, is_gone)) {
			/* It was only peeked at (WNOWAIT): reap it. */
			if (options & WNOWAIT)
				hp_real()->waitid(P_PID, (id_t)but, &found,
						  (options & ~WNOWAIT) | WNOHANG);
			continue;
		}
		if (result == 0 && found.si_pid == 0) {
			enum hp_wait_next next = next_step(but, options);

			if (next == NOBODY_ELSE)
				return no_child();
			if (next == MAY_BLOCK)
				now = 0;
			errno = saved;
			if (next != NOTHING_YET)
				continue;
		}
		if (result == 0)
			ended_info(&found);
		if (result == 0 && info)
			*info = found;
		return result;
	}
}

HP_EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	int but = hp_helper_hidden(), result;
	siginfo_t found = { .si_signo = 0 };

	if (HP_LIKELY(but == 0) || (type != P_ALL && (type != P_PID || id != (id_t)but))) {
		hp_lock_sleeps();
		HP_OFFCPU_NOTED(result = hp_real()->waitid(type, id, info ? info : &found, options),
				HP_ON_CHILD, HP_OFFCPU_NO_FD);
		if (result == 0)
			ended_info(info ? info : &found);
		return result;
	}
	return type == P_PID ? no_child() : waitid_any(but, info, options);
}
