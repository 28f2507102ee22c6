/* SPDX-License-Identifier: MIT */
/*
 * take.c - see take.h.
 */
#include "report/stacks/take.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "segment/clock.h"

#define RED_ZONE 128	/* bytes below the stack pointer that belong to the innermost function */
#define STACK_MAX (16 << 20)	/* bytes copied of a stack, */
#define HEAP_MAX (256 << 10)	/* and of one in other memory: of a coroutine or signal handler */
#define NEAR_MAX (1 << 20)	/* up to this size the rest of a mapping is copied completely */
#define SPIN_NS 300000	/* wait for a thread without sleeping, */
#define WAIT_NS 20000000	/* then with; then the others come first, */
#define LATE_NS 300000000	/* and finally all late ones together */
#define THREADS_MAX 65536
#define PASSES 8	/* passes over /proc/PID/task, until no thread is new */
#define CUTS 100	/* times that a tid had gone to another process */

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif

#if defined(__x86_64__)
uint64_t hp_registers_pc(const struct user_regs_struct *registers)
{
	return registers->rip;
}

uint64_t hp_registers_sp(const struct user_regs_struct *registers)
{
	return registers->rsp;
}
#else
uint64_t hp_registers_pc(const struct user_regs_struct *registers)
{
	return registers->pc;
}

uint64_t hp_registers_sp(const struct user_regs_struct *registers)
{
	return registers->sp;
}
#endif

/* State of the tracing thread. */
struct taking {
	struct hp_take *take;
	struct hp_stack_process *process;
	uint8_t *room;	/* STACK_MAX: buffer for stacks while threads are stopped, */
	size_t used;
	size_t room_count;	/* number of copies of one thread */
	uint64_t begins[HP_STACK_COPIES];
	size_t sizes[HP_STACK_COPIES];
	struct hp_taken **late;	/* late threads, awaited at the end */
	uint64_t *since;	/* when they were interrupted */
	size_t late_count;
	struct hp_map known;	/* tids */
	size_t next;	/* threads before it are done */
	bool is_again;
	bool is_cut;	/* a stranger is traced: end this thread of ours, which releases it, and continue in another */
	bool is_other;	/* the process has ended, or is another program or user */
};

/* --- interrupted system calls --- */

/*
 * The kernel restarts most system calls if only we interrupted them. These
 * return EINTR instead, which a program without signal handlers need not
 * expect. They have done nothing at that point, so EINTR in the kernel's return
 * register is replaced with "restart this, unless a handler runs".
 */
#if defined(__x86_64__)
#define NO_HANDLER_RESTART 514	/* the kernel's ERESTARTNOHAND */

static bool returns_eintr(long number)
{
	switch (number) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_rt_sigtimedwait:
	case SYS_io_getevents:
	case SYS_msgrcv:
	case SYS_msgsnd:
	/* Sockets with a time limit (SO_RCVTIMEO), old inotify. */
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_writev:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
		return true;
	default:
		return false;
	}
}

static void restart_settle(pid_t tid, struct user_regs_struct *registers)
{
	struct user_regs_struct changed = *registers;
	struct iovec part = { &changed, sizeof(changed) };

	if ((long)registers->orig_rax < 0 || (long)registers->rax != -EINTR ||
	    !returns_eintr((long)registers->orig_rax))
		return;
	changed.rax = (unsigned long long)-NO_HANDLER_RESTART;
	ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &part);
}
#else
static void restart_settle(pid_t tid, struct user_regs_struct *registers)
{
	(void)tid, (void)registers;
}
#endif

/* --- one thread --- */

/* Name and state, from a line of /proc: "TID (NAME) S ...". */
static void stat_read(const struct hp_stack_process *process, struct hp_taken *thread)
{
	char path[64], text[128];
	ssize_t size = -1;

	snprintf(path, sizeof(path), "task/%d/stat", (int)thread->tid);
	int fd = openat(process->folder, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		size = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[size > 0 ? size : 0] = 0;
	const char *open = strchr(text, '('), *end = strrchr(text, ')');
	if (!open || !end)
		return;
	snprintf(thread->name, sizeof(thread->name), "%.*s", (int)(end - open - 1), open + 1);
	thread->state = end[1] ? end[2] : 0;
}

/* The end of the useful copy from an address. */
static uint64_t end_of(const struct hp_stack_process *process, uint64_t begin)
{
	const struct hp_stack_map *map = hp_stack_process_at(process, begin);
	const struct hp_stack_map *below;
	uint64_t size;

	if (!map)	/* created since then */
		return begin + HEAP_MAX;
	size = map->end - begin;
	below = map > process->maps ? map - 1 : NULL;
	if (size <= NEAR_MAX)
		return map->end;
	/*
	 * A thread's stack has an unreadable page below it; otherwise it is
	 * part of something larger.
	 */
	if (!map->is_main_stack && !(below && below->end == map->begin && !below->is_readable))
		return begin + HEAP_MAX;
	return begin + (size < STACK_MAX ? size : STACK_MAX);
}

static void copy(struct taking *taking, pid_t tid, uint64_t begin)
{
	uint64_t size = end_of(taking->process, begin) - begin;
	ssize_t got;

	if (size > STACK_MAX - taking->used)
		size = STACK_MAX - taking->used;
	got = hp_stack_memory_read(tid, begin, taking->room + taking->used, size);
	if (got <= 0)
		return;
	taking->begins[taking->room_count] = begin;
	taking->sizes[taking->room_count++] = (size_t)got;
	taking->used += (size_t)got;
}

/* For a stopped thread. */
static int look(struct taking *taking, struct hp_taken *thread, bool may_restart)
{
	struct iovec part = { &thread->registers, sizeof(thread->registers) };

	taking->used = taking->room_count = 0;
	if (ptrace(PTRACE_GETREGSET, thread->tid, NT_PRSTATUS, &part) < 0)
		return errno;
	if (part.iov_len != sizeof(thread->registers))
		return ENOEXEC;	/* a process of 32 bits */
	copy(taking, thread->tid, hp_registers_sp(&thread->registers) - RED_ZONE);
	for (size_t i = 0; i < HP_STACK_COPIES - 1; i++)
		if (thread->wanted[i])
			copy(taking, thread->tid, thread->wanted[i] & ~UINT64_C(7));
	if (may_restart)
		restart_settle(thread->tid, &thread->registers);
	return 0;
}

static void copies_free(struct hp_taken *thread)
{
	for (uint32_t i = 0; i < thread->copy_count; i++)
		free(thread->copies[i].bytes);
	thread->copy_count = 0;
}

/* Copied out of the buffer once the thread continues. */
static void copies_keep(const struct taking *taking, struct hp_taken *thread)
{
	const uint8_t *from = taking->room;

	copies_free(thread);
	for (size_t i = 0; i < taking->room_count; i++) {
		struct hp_stack_part *to = &thread->copies[thread->copy_count++];

		to->begin = taking->begins[i];
		to->end = to->begin + taking->sizes[i];
		to->bytes = hp_xmalloc(taking->sizes[i]);
		memcpy(to->bytes, from, taking->sizes[i]);
		from += taking->sizes[i];
	}
}

/* It has stopped or ended, as in `status`. */
static void stopped(struct taking *taking, struct hp_taken *thread, int status, uint64_t since)
{
	bool is_event, is_group;
	long signal = 0;
	int error;

	if (!WIFSTOPPED(status)) {
		thread->outcome = HP_STOP_GONE;
		return;
	}
	/* Another kind of stop is a signal being delivered: pass it on to the thread. */
	if (status >> 16 == PTRACE_EVENT_EXEC) {	/* not the program that we know */
		ptrace(PTRACE_DETACH, thread->tid, NULL, NULL);
		thread->outcome = HP_STOP_GONE;
		taking->is_other = true;
		return;
	}
	is_event = status >> 16 == PTRACE_EVENT_STOP;
	is_group = is_event && WSTOPSIG(status) != SIGTRAP;
	if (!is_event)
		signal = WSTOPSIG(status);
	error = look(taking, thread, is_event && !is_group);
	/* If it was killed meanwhile, perhaps by exec in another thread, the copy is of an unknown moment. */
	if (ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)signal) < 0)
		error = ESRCH;
	thread->taken_ns = hp_clock_raw_ns();
	thread->still_ns = thread->taken_ns - since;
	thread->error = error;
	thread->outcome = !error ? HP_STOP_DONE : error == ESRCH ? HP_STOP_GONE : HP_STOP_REFUSED;
	if (!error)
		copies_keep(taking, thread);
}

/* Checks once. True = done. */
static bool ask(struct taking *taking, struct hp_taken *thread, uint64_t since)
{
	int status;
	pid_t got = waitpid(thread->tid, &status, __WALL | WNOHANG);

	if (got == 0 || (got < 0 && errno == EINTR))
		return false;
	if (got < 0)
		thread->outcome = HP_STOP_GONE;
	else
		stopped(taking, thread, status, since);
	return true;
}

static void late_ask(struct taking *taking)
{
	for (size_t i = 0; i < taking->late_count;) {
		if (!ask(taking, taking->late[i], taking->since[i])) {
			i++;
			continue;
		}
		taking->late[i] = taking->late[--taking->late_count];
		taking->since[i] = taking->since[taking->late_count];
	}
}

static void late_add(struct taking *taking, struct hp_taken *thread, uint64_t since)
{
	size_t count = taking->late_count + 1;

	taking->late = hp_xrealloc(taking->late, count, sizeof(*taking->late));
	taking->since = hp_xrealloc(taking->since, count, sizeof(*taking->since));
	taking->late[taking->late_count] = thread;
	taking->since[taking->late_count++] = since;
	thread->outcome = HP_STOP_BUSY;
}

/* A zombie thread cannot be traced either. */
static void refused(const struct taking *taking, struct hp_taken *thread, int error)
{
	thread->error = error;
	if (error != ESRCH)
		stat_read(taking->process, thread);
	thread->outcome = error == ESRCH || thread->state == 'Z' || thread->state == 'X'
				  ? HP_STOP_GONE
				  : HP_STOP_REFUSED;
}

/*
 * Since it was listed, the tid, or the pid, may have gone to a process that nobody asked about and
 * that the user may not even see: we may have more rights. It is traced now, so this is final. It
 * has not been stopped, so it cannot be detached; the end of our thread does that.
 */
static bool is_stranger(struct taking *taking, const struct hp_taken *thread)
{
	taking->is_cut = !hp_stack_process_has(taking->process, thread->tid);
	taking->is_other = !hp_stack_process_is_same(taking->process);
	return taking->is_cut || taking->is_other;
}

static void take_one(struct taking *taking, struct hp_taken *thread)
{
	static const struct timespec slice = { 0, 50000 };
	uint64_t since, now;

	if (ptrace(PTRACE_SEIZE, thread->tid, NULL, (void *)PTRACE_O_TRACEEXEC) < 0) {
		refused(taking, thread, errno);
		return;
	}
	if (is_stranger(taking, thread)) {
		thread->outcome = HP_STOP_GONE;
		return;
	}
	since = hp_clock_raw_ns();
	if (ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL) < 0) {
		thread->outcome = HP_STOP_GONE;
		return;
	}
	for (;;) {
		if (ask(taking, thread, since))
			return;
		now = hp_clock_raw_ns() - since;
		if (now > WAIT_NS)
			break;
		if (now > SPIN_NS)
			nanosleep(&slice, NULL);
		else
			sched_yield();
	}
	late_add(taking, thread, since);
}

/* --- all threads --- */

/* Adds new threads; returns their number, or -errno. */
static int threads_list(struct taking *taking)
{
	struct hp_take *take = taking->take;
	size_t before = take->count;
	struct dirent *entry;
	int fd = openat(taking->process->folder, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	DIR *folder = fdopendir(fd);
	if (!folder) {
		close(fd);
		return -ENOMEM;
	}
	while ((entry = readdir(folder)) && take->count < THREADS_MAX) {
		pid_t tid = atoi(entry->d_name);
		bool is_new = false;

		if (tid > 0)
			hp_map_at(&taking->known, (uint64_t)tid, &is_new);
		if (!is_new)
			continue;
		take->threads = hp_xrealloc(take->threads, take->count + 1, sizeof(*take->threads));
		take->threads[take->count] = (struct hp_taken){ .tid = tid };
		stat_read(taking->process, &take->threads[take->count++]);
	}
	closedir(folder);
	return (int)(take->count - before);
}

static bool is_over(const struct taking *taking)
{
	return taking->is_cut || taking->is_other;
}

static void take_rest(struct taking *taking)
{
	struct hp_take *take = taking->take;

	while (taking->next < take->count && !is_over(taking)) {
		struct hp_taken *thread = &take->threads[taking->next++];

		if (taking->is_again && !thread->wanted[0])
			continue;
		take_one(taking, thread);
		late_ask(taking);
	}
}

/* The list may move, so late threads are settled before it grows. */
static void late_wait(struct taking *taking)
{
	static const struct timespec slice = { 0, 100000 };
	uint64_t since = hp_clock_raw_ns();

	while (taking->late_count && !is_over(taking) && hp_clock_raw_ns() - since < LATE_NS) {
		late_ask(taking);
		nanosleep(&slice, NULL);
	}
	taking->late_count = 0;
}

static void take_all(struct taking *taking)
{
	for (int i = 0; i < PASSES && !is_over(taking); i++) {
		int added = threads_list(taking);

		if (added < 0 && !taking->take->count)
			taking->take->error = -added;
		if (added < 0 || taking->next == taking->take->count)
			return;
		take_rest(taking);
		late_wait(taking);
	}
}

static void *run(void *context)
{
	struct taking *taking = context;

	if (taking->is_again) {
		take_rest(taking);
		late_wait(taking);
	} else {
		take_all(taking);
	}
	return NULL;
}

static void run_and_join(struct taking *taking)
{
	pthread_t thread;
	int cuts = 0;

	taking->room = hp_xmalloc(STACK_MAX);
	memset(taking->room, 0, NEAR_MAX);	/* otherwise the copy would fault on these pages */
	do {
		taking->is_cut = false;
		if (pthread_create(&thread, NULL, run, taking) == 0)
			pthread_join(thread, NULL);
		else
			taking->take->error = EAGAIN;
	} while (taking->is_cut && !taking->is_other && cuts++ < CUTS);
	/* Nobody asked about the rest. */
	for (; taking->next < taking->take->count; taking->next++)
		if (!taking->is_again || taking->take->threads[taking->next].wanted[0])
			taking->take->threads[taking->next].outcome = HP_STOP_GONE;
	hp_map_release(&taking->known);
	free(taking->room);
	free(taking->late);
	free(taking->since);
}

static int compare_threads(const void *left, const void *right)
{
	const struct hp_taken *a = left, *b = right;

	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

/* The error if no thread was taken. */
static void error_settle(struct hp_take *take)
{
	for (size_t i = 0; i < take->count; i++) {
		if (take->threads[i].outcome == HP_STOP_DONE ||
		    take->threads[i].outcome == HP_STOP_BUSY) {
			take->error = 0;
			return;
		}
		if (take->threads[i].outcome == HP_STOP_REFUSED)
			take->error = take->threads[i].error;
	}
	if (!take->error)
		take->error = ESRCH;
}

void hp_take_init(struct hp_take *take, struct hp_stack_process *process)
{
	struct taking taking = { .take = take, .process = process };

	*take = (struct hp_take){ .threads = NULL };
	run_and_join(&taking);
	error_settle(take);
	if (take->count)
		qsort(take->threads, take->count, sizeof(*take->threads), compare_threads);
}

void hp_take_again(struct hp_take *take, struct hp_stack_process *process)
{
	struct taking taking = { .take = take, .process = process, .is_again = true };

	run_and_join(&taking);
}

void hp_take_release(struct hp_take *take)
{
	for (size_t i = 0; i < take->count; i++)
		copies_free(&take->threads[i]);
	free(take->threads);
	*take = (struct hp_take){ .threads = NULL };
}
