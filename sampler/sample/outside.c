/* SPDX-License-Identifier: MIT */
/*
 * outside.c - see outside.h.
 *
 * The frame pointer of a waiting thread is unknown, so a stack ends at the
 * first function that needs it; the C library's do not, so that function is
 * the one that made the call.
 */
#include "sampler/sample/outside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sampler/base/proc.h"
#include "segment/clock.h"

#define COST_RATIO 20	/* pauses are so many times longer than scans */
#define MOST_NS UINT64_C(5000000)	/* of a scan; the next one continues with the other threads */
#define STACK_MAX 32768u	/* bytes that are read */
#define PAGE UINT64_C(4096)

/* The function in which a thread waits. */
struct wait {
	long call;
	uint64_t first;	/* its first argument, */
	uint64_t second;	/* and its second */
	uint64_t sp;
	uint64_t pc;
};

/* ---- cause ---- */

struct call {
	long number;
	enum hp_wait_on on;
};

/* Calls whose first argument is a file are classified by the file's type. */
static const struct call calls[] = {
	{ SYS_futex, HP_ON_FUTEX },
	{ SYS_nanosleep, HP_ON_SLEEP },
	{ SYS_clock_nanosleep, HP_ON_SLEEP },
	{ SYS_ppoll, HP_ON_POLL },
	{ SYS_pselect6, HP_ON_POLL },
	{ SYS_epoll_pwait, HP_ON_POLL },
#ifdef SYS_poll
	{ SYS_poll, HP_ON_POLL },
	{ SYS_select, HP_ON_POLL },
	{ SYS_epoll_wait, HP_ON_POLL },
	{ SYS_pause, HP_ON_SIGNAL },
#endif
	{ SYS_rt_sigtimedwait, HP_ON_SIGNAL },
	{ SYS_rt_sigsuspend, HP_ON_SIGNAL },
	{ SYS_wait4, HP_ON_CHILD },
	{ SYS_waitid, HP_ON_CHILD },
	{ SYS_fsync, HP_ON_DISK },
	{ SYS_fdatasync, HP_ON_DISK },
	{ SYS_sync, HP_ON_DISK },
	{ SYS_syncfs, HP_ON_DISK },
	{ SYS_sync_file_range, HP_ON_DISK },
	{ SYS_accept, HP_ON_SOCKET },
	{ SYS_accept4, HP_ON_SOCKET },
	{ SYS_connect, HP_ON_SOCKET },
	{ SYS_recvfrom, HP_ON_SOCKET },
	{ SYS_recvmsg, HP_ON_SOCKET },
	{ SYS_sendto, HP_ON_SOCKET },
	{ SYS_sendmsg, HP_ON_SOCKET },
};

static const long file_calls[] = { SYS_read,  SYS_readv,  SYS_pread64,
				   SYS_write, SYS_writev, SYS_pwrite64 };

static enum hp_wait_on on_file(uint32_t pid, uint64_t fd)
{
	char path[64], target[64];

	snprintf(path, sizeof(path), "/proc/%u/fd/%u", pid, (unsigned)fd);
	ssize_t size = readlink(path, target, sizeof(target) - 1);
	if (size <= 0)
		return HP_ON_OTHER;
	target[size] = '\0';
	if (strncmp(target, "pipe:", 5) == 0)
		return HP_ON_PIPE;
	if (strncmp(target, "socket:", 7) == 0)
		return HP_ON_SOCKET;
	return target[0] == '/' && strncmp(target, "/dev/", 5) != 0 ? HP_ON_DISK : HP_ON_OTHER;
}

/* A poll or select without descriptors; what may be NULL with the latter is not looked at. */
static bool is_nap(const struct wait *wait)
{
#ifdef SYS_poll
	if (wait->call == SYS_poll)
		return wait->second == 0;
	if (wait->call == SYS_select)
		return wait->first == 0;
#endif
	return (wait->call == SYS_ppoll && wait->second == 0) ||
	       (wait->call == SYS_pselect6 && wait->first == 0);
}

static enum hp_wait_on on_of(uint32_t pid, const struct wait *wait)
{
	if (is_nap(wait))
		return HP_ON_SLEEP;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == wait->call)
			return calls[i].on;
	for (size_t i = 0; i < sizeof(file_calls) / sizeof(file_calls[0]); i++)
		if (file_calls[i] == wait->call)
			return on_file(pid, wait->first);
	return HP_ON_OTHER;
}

/* ---- where ---- */

/* "NUMBER SIX ARGUMENTS SP PC", or "-1 SP PC" outside a call, or "running". */
static bool wait_read(uint32_t pid, uint32_t tid, struct wait *wait)
{
	char path[64], text[256], *at = text;

	hp_proc_task_path(path, pid, tid, "syscall");
	if (hp_proc_read(path, text, sizeof(text)) <= 0 || text[0] < '0' || text[0] > '9')
		return false;
	wait->call = strtol(at, &at, 10);
	wait->first = strtoull(at, &at, 16);
	wait->second = strtoull(at, &at, 16);
	for (int i = 0; i < 4; i++)
		strtoull(at, &at, 16);
	wait->sp = strtoull(at, &at, 16);
	wait->pc = strtoull(at, &at, 16);
	return wait->sp && wait->pc;
}

/* As much of the stack as exists, page by page. */
static size_t stack_read(uint32_t pid, uint64_t sp, uint8_t *copy)
{
	struct iovec here = { copy, STACK_MAX }, there[STACK_MAX / PAGE + 1];
	size_t count = 0;

	for (uint64_t at = sp, end = sp + STACK_MAX; at < end; count++) {
		uint64_t next = (at & ~(PAGE - 1)) + PAGE;

		next = next < end ? next : end;
		there[count] = (struct iovec){ (void *)(uintptr_t)at, (size_t)(next - at) };
		at = next;
	}
	ssize_t got = process_vm_readv((pid_t)pid, &here, 1, there, count, 0);
	return got > 0 ? (size_t)got : 0;
}

/* The tree's node; 0 = not known. */
static uint32_t node_of(struct hp_samples *samples, uint32_t pid, const struct wait *wait)
{
	static uint8_t copy[STACK_MAX];
	size_t size = stack_read(pid, wait->sp, copy);
	struct hp_wait_stack stack = {
		.pid = pid, .pc = wait->pc, .sp = wait->sp, .copy = copy, .size = size
	};

	return size ? hp_samples_wait_node(samples, &stack, on_of(pid, wait)) : 0;
}

uint32_t hp_outside_look(struct hp_samples *samples, uint64_t least_ns)
{
	uint64_t now_ns = hp_clock_raw_ns(), since_ns = now_ns - least_ns;
	uint32_t found = 0, room = samples->waits.room;

	for (uint32_t n = 0; n < room && hp_clock_raw_ns() < now_ns + MOST_NS; n++) {
		struct hp_wait_thread *thread =
			&samples->waits.threads[samples->outside_at++ & (room - 1)];
		struct wait wait;

		if (!thread->out_ns || thread->out_ns > since_ns || thread->wait_node ||
		    !thread->pid || !wait_read(thread->pid, thread->tid, &wait))
			continue;
		thread->wait_node = node_of(samples, thread->pid, &wait);
		thread->look_ns = hp_clock_raw_ns();
		found++;
	}
	return found;
}

uint64_t hp_outside_next(uint64_t since_ns, uint64_t interval_ns)
{
	uint64_t now_ns = hp_clock_raw_ns(), rest_ns = (now_ns - since_ns) * COST_RATIO;

	return now_ns + (rest_ns > interval_ns ? rest_ns : interval_ns);
}
