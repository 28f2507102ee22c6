/* SPDX-License-Identifier: MIT */
/*
 * process.c - this process in the session.
 *
 * A process takes over the record and blocks of an ended process of the same
 * executable: so ten thousand short processes need only the room of those that
 * run concurrently. The sampler frees records of killed processes.
 */
#include "preload/thread/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/guest/above.h"
#include "preload/guest/bulky.h"
#include "preload/guest/claim.h"
#include "preload/guest/confine.h"
#include "preload/guest/kernel_call.h"
#include "preload/guest/pages.h"
#include "preload/guest/ticks.h"
#include "preload/guest/tid.h"
#include "preload/thread/account.h"
#include "preload/thread/level.h"
#include "preload/thread/module.h"
#include "preload/thread/room.h"
#include "segment/clock.h"
#include "util/count.h"

static uint64_t ticks_now(void)
{
	return hp_ticks_about();
}

static void *at(uint64_t offset)
{
	return (char *)hp_segment.header + offset;
}

/*
 * From getauxval(), asked once: a forked child has a page fault for each 64 KiB of code that it
 * runs.
 */
static uintptr_t headers;
static uint64_t tick_ns;	/* of start times; 0 = unknown */

bool hp_self_init(void)
{
	uint64_t rate = getauxval(AT_CLKTCK);

	tick_ns = rate ? 1000000000 / rate : 0;
	headers = (uintptr_t)getauxval(AT_PHDR);
	hp_self = hp_part_wiped(sizeof(*hp_self));
	hp_account_image((uint32_t)getpid());
	return hp_self != NULL;
}

/* Not on the stack, which may be small. Only the thread that makes the record uses it. */
HP_SCRATCH static char text[HP_PAGE / 2 + 1];

/* Reads a small file into `text`, 0-terminated.  Returns its length, or -1. */
static ssize_t read_text(const char *path)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : syscall(SYS_read, fd, text, sizeof(text) - 1);

	/* Not by syscall(), whose stand-in looks the descriptor up in tables that may be untouched. */
	if (fd >= 0)
		hp_kernel_call(SYS_close, fd, 0, 0);
	text[length > 0 ? length : 0] = 0;
	return length;
}

uint64_t hp_self_boot_ns(void)
{
	struct timespec time;

	if (hp_kernel_call(SYS_clock_gettime, CLOCK_BOOTTIME, (long)(uintptr_t)&time, 0) != 0)
		return 0;
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The start time of a process forked since `before_ns`, in the kernel's ticks; 0 = may be two. */
static uint64_t start_since(uint64_t before_ns)
{
	if (!before_ns || !tick_ns || before_ns / tick_ns != hp_self_boot_ns() / tick_ns)
		return 0;
	return before_ns / tick_ns;
}

/*
 * Field 22 of /proc/self/stat: the process's start time. Reading it takes longer than the rest of
 * a forked child's record.
 */
static uint64_t start_time(void)
{
	uint64_t value = start_since(hp_self->forked_after_ns);
	char *p;

	if (value || read_text("/proc/self/stat") <= 0)
		return value;
	p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	while (p && *++p >= '0' && *p <= '9')
		value = value * 10 + (uint64_t)(*p - '0');
	return value;
}

/* The arguments, joined by spaces. */
static uint64_t command_new(void)
{
	ssize_t length = read_text("/proc/self/cmdline");

	while (length > 0 && text[length - 1] == 0)
		length--;
	for (ssize_t i = 0; i < length; i++)
		if (text[i] == 0)
			text[i] = ' ';
	return length > 0 ? hp_text_new(text, (size_t)length) : 0;
}

/*
 * The executable is an object like others. hp_module_of needs a record for the
 * module; `draft` is private and used until there is one.
 */
static uint64_t executable(struct hp_process *draft)
{
	const struct hp_module *module;

	memset(draft, 0, sizeof(*draft));
	hp_self->process = draft;
	module = hp_module_of(headers);
	return module ? module->object : 0;
}

/* It has no owner until it is filled: the sampler must not attribute it to its last owner. */
static struct hp_process *take_over(uint64_t object)
{
	_Atomic uint32_t *free = &hp_segment_vacant(&hp_segment)->processes;
	uint64_t offset = 0;

	if (object && atomic_load_explicit(free, memory_order_relaxed))
		offset = atomic_load_explicit(&hp_segment.header->processes, memory_order_acquire);
	while (offset) {
		struct hp_process *process = at(offset);

		if (process->object == object && hp_claim(&process->state, HP_FREE, HP_MOVING)) {
			atomic_fetch_sub_explicit(free, 1, memory_order_relaxed);
			return process;
		}
		offset = process->next;
	}
	return NULL;
}

/* In a confined process this is the only thread: a forked child, at its first hook. */
static uint32_t own_pid(void)
{
	return hp_is_confined() ? hp_tid() : (uint32_t)getpid();
}

/*
 * Records of this process's earlier images. The kernel keeps counting CPU time
 * across exec, so the last image's value includes theirs. An image of the same
 * executable continues in its own record; otherwise a program that keeps
 * executing itself would fill the segment. Nobody else takes it, since the
 * process is alive.
 */
static struct hp_process *image_before(uint64_t object, uint64_t started)
{
	uint64_t offset = atomic_load_explicit(&hp_segment.header->processes, memory_order_acquire);
	struct hp_process *found = NULL, *process;
	uint32_t pid = own_pid();

	for (; offset && started; offset = process->next) {
		process = at(offset);
		if (process->pid != pid || process->starttime != started ||
		    atomic_load_explicit(&process->state, memory_order_acquire) != HP_TAKEN ||
		    atomic_load_explicit(&process->ending, memory_order_relaxed) != HP_ENDING_EXEC)
			continue;
		process->cpu_ns = process->folded_cpu_ns;
		if (found || !object || process->object != object ||
		    !hp_claim(&process->state, HP_TAKEN, HP_MOVING))
			continue;
		HP_ABOVE(free, process);
		found = process;
	}
	return found;
}

static void fold(struct hp_process *process)
{
	hp_account_fold(process);
	hp_count_up(&process->folded);
	process->folded_cpu_ns = process->cpu_ns;
	process->folded_ticks += hp_clock_between(process->start_ticks, process->end_ticks);
	HP_ABOVE(fold, process);
	process->end_ticks = 0;
	atomic_store_explicit(&process->modules, 0, memory_order_relaxed);
	atomic_store_explicit(&process->ending, HP_ENDING_NONE, memory_order_relaxed);
}

/*
 * A child that was forked into another PID namespace has no parent there. An image that was executed
 * there has joined by the socket, so the sampler knows both of its pids.
 */
static void note_nested(uint32_t parent)
{
	static bool is_later, is_nested;	/* children inherit both */

	if (is_later && !parent && !hp_room_is_seen())
		is_nested = true;
	is_later = true;
	/* Relaxed: the record's state follows. */
	if (is_nested)
		atomic_store_explicit(&hp_segment_vacant(&hp_segment)->nested, 1,
				      memory_order_relaxed);
}

static void describe(struct hp_process *process, uint64_t started)
{
	process->pid = own_pid();
	process->start_ticks = ticks_now();
	if (hp_is_confined())
		return;
	process->parent_pid = (uint32_t)getppid();
	note_nested(process->parent_pid);
	process->starttime = started;
	syscall(SYS_prctl, PR_GET_NAME, process->comm);
}

static struct hp_process *process_new(uint64_t object, uint64_t started)
{
	uint64_t offset = hp_segment_take_searched(&hp_segment, sizeof(struct hp_process));
	struct hp_process *process = hp_segment_at(&hp_segment, offset, sizeof(*process));

	if (!process)
		return NULL;
	process->object = object;
	process->command = hp_is_confined() ? 0 : command_new();
	describe(process, started);
	atomic_store_explicit(&process->state, HP_TAKEN, memory_order_relaxed);
	hp_list_push(&hp_segment.header->processes, offset, &process->next);
	return process;
}

static struct hp_process *process_get(void)
{
	static struct hp_process draft;
	uint64_t object = executable(&draft);
	uint64_t started = hp_is_confined() ? 0 : start_time();
	/* Just forked, it has no earlier image. Each search of all records is many page faults. */
	uint64_t searched = hp_self->forked_after_ns ? 0 : started;
	struct hp_account_begin begin;

	hp_account_before(own_pid(), searched, &begin);
	struct hp_process *process = image_before(object, searched);

	if (!process)
		process = take_over(object);
	if (process) {
		fold(process);
		describe(process, started);
	} else {
		process = process_new(object, started);
	}
	if (process) {
		hp_account_open(process, &begin);
		atomic_store_explicit(&process->modules, atomic_load(&draft.modules),
				      memory_order_release);
	}
	HP_ASSERT(!process || atomic_load(&process->state) != HP_FREE);
	/* Release: a reader that sees it taken also sees its owner. */
	if (process)
		atomic_store_explicit(&process->state, HP_TAKEN, memory_order_release);
	return process;
}

/*
 * Another thread makes the record. It may have been preempted while we keep our
 * processor, so after a while we sleep, for half a second in total. Not with
 * nanosleep(), which is a cancellation point.
 */
static bool opening_ends(uint32_t state)
{
	static const struct timespec nap = { 0, 20000 };
	int saved = errno;

	/* Our connection to the helper passes the stand-ins of socket functions. */
	if (atomic_load_explicit(&hp_self->opener, memory_order_relaxed) == hp_tid_pointer())
		return state == HP_SELF_OPEN;
	for (int i = 0; i < 10000 && state == HP_SELF_OPENING; i++) {
		if (i < 1000)
			sched_yield();
		else
			syscall(SYS_nanosleep, &nap, NULL);
		state = atomic_load_explicit(&hp_self->state, memory_order_acquire);
	}
	errno = saved;
	return state == HP_SELF_OPEN;
}

/* Recreates everything attached to the previous record. */
static void self_forget(void)
{
	memset(&hp_self->ended_blocks, 0, sizeof(hp_self->ended_blocks));
	memset(&hp_self->ended_heaps, 0, sizeof(hp_self->ended_heaps));
	memset(&hp_self->ended_waiters, 0, sizeof(hp_self->ended_waiters));
	atomic_store_explicit(&hp_self->locals, NULL, memory_order_relaxed);
	atomic_store_explicit(&hp_self->heaps, NULL, memory_order_relaxed);
	atomic_store_explicit(&hp_self->heap_count, 0, memory_order_relaxed);
	atomic_store_explicit(&hp_self->heap_sum, 0, memory_order_relaxed);
	atomic_store_explicit(&hp_self->waiters, NULL, memory_order_relaxed);
	atomic_store_explicit(&hp_self->locks, NULL, memory_order_relaxed);
	atomic_store_explicit(&hp_self->direct, NULL, memory_order_relaxed);
}

static bool open_now(void)
{
	struct hp_process *process;

	if (!hp_level_enter()) {
		atomic_store_explicit(&hp_self->state, HP_SELF_REFUSED, memory_order_release);
		return false;
	}
	self_forget();
	/* Children of a process that unmapped a part of the segment have the same small part. */
	process = hp_room_may_look() ? process_get() : NULL;
	hp_self->process = process;
	hp_self->pid = own_pid();
	if (process)
		atomic_fetch_add_explicit(&hp_segment.header->joined, 1, memory_order_relaxed);
	atomic_store_explicit(&hp_self->state, process ? HP_SELF_OPEN : HP_SELF_REFUSED,
			      memory_order_release);
	if (process)
		HP_ABOVE(opened);
	return process != NULL;
}

static bool self_open(bool is_forked)
{
	uint32_t state = HP_SELF_NONE;

	if (!hp_self)
		return false;
	/*
	 * A child may have fewer privileges than its parent, after clone() or a raw system call. It
	 * has the user namespace of its parent if it has not run yet.
	 */
	if (atomic_load_explicit(&hp_self->state, memory_order_acquire) == HP_SELF_NONE &&
	    !hp_is_confined() && hp_level_has_changed(!is_forked))
		hp_self_drop(false);
	if (!atomic_compare_exchange_strong_explicit(&hp_self->state, &state, HP_SELF_OPENING,
						     memory_order_acq_rel, memory_order_acquire))
		return opening_ends(state);
	atomic_store_explicit(&hp_self->opener, hp_tid_pointer(), memory_order_relaxed);
	bool is_open = open_now();
	atomic_store_explicit(&hp_self->opener, 0, memory_order_relaxed);
	return is_open;
}

bool hp_self_open(void)
{
	return self_open(false);
}

bool hp_self_open_forked(uint64_t before_ns)
{
	if (!hp_self)
		return false;
	/*
	 * The child has no other thread. Its page of zeroes is written before it is read, since both
	 * would be page faults.
	 */
	hp_self->forked_after_ns = before_ns;
	bool is_open = self_open(true);
	if (hp_self)
		hp_self->forked_after_ns = 0;
	return is_open;
}

/*
 * Stores only; the sampler adds the time. A vfork child is indistinguishable
 * from its parent here; the parent's own end corrects its entry.
 */
static void end_confined(uint32_t ending, int code)
{
	if (!hp_self || ending == HP_ENDING_EXEC || ending == HP_ENDING_DROP ||
	    atomic_load_explicit(&hp_self->state, memory_order_acquire) != HP_SELF_OPEN)
		return;
	hp_self->process->exit_code = code;
	atomic_store_explicit(&hp_self->process->ending, ending, memory_order_release);
}

/*
 * Includes reaped children, since killed or unrecorded ones leave no data.  Of the process itself
 * only images of the session: the kernel's figure includes the program that started the first one.
 */
static void note_peak(struct hp_process *process, uint64_t peak_kb)
{
	if (peak_kb > process->peak_rss_kb)
		process->peak_rss_kb = peak_kb;
}

void hp_self_end(uint32_t ending, int code)
{
	struct hp_process *process;
	struct rusage usage, children = { .ru_maxrss = 0 };

	/* It ends in its current segment. A vfork child would enter it for its parent, with its own pid. */
	if (ending != HP_ENDING_EXEC && ending != HP_ENDING_DROP && hp_level_is_out() &&
	    !hp_is_confined() && !hp_self_is_borrowed())
		hp_self_open();
	HP_ABOVE(end, ending == HP_ENDING_EXEC || ending == HP_ENDING_DROP);
	if (hp_is_confined())
		end_confined(ending, code);
	if (!hp_self_is_me())
		return;
	process = hp_self->process;
	/* The first one: a thread may call _exit while exit waits for the report. */
	if (atomic_load_explicit(&process->ending, memory_order_relaxed) != HP_ENDING_NONE)
		return;
	if (syscall(SYS_getrusage, RUSAGE_CHILDREN, &children) == 0)
		note_peak(process, (uint64_t)children.ru_maxrss);
	if (syscall(SYS_getrusage, RUSAGE_SELF, &usage) == 0) {
		note_peak(process, hp_account_end(process, &usage, &children));
		process->cpu_ns =
			process->folded_cpu_ns +
			(uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
			(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
	}
	/* The kernel keeps counting, so the next record includes everything. */
	if (ending == HP_ENDING_DROP)
		process->cpu_ns = process->folded_cpu_ns;
	process->exit_code = code;
	process->end_ticks = ticks_now();
	atomic_store_explicit(&process->ending, ending, memory_order_release);
}

static bool is_left(const struct hp_process *process)
{
	for (const struct hp_recorder *const *each = hp_above.recorders; *each; each++)
		if ((*each)->is_left && !(*each)->is_left(process))
			return false;
	return true;
}

/*
 * Another process may take over this record if none of its threads still
 * records; otherwise the sampler frees it. Not the root's, which the report
 * describes. A later hook makes a new record.
 */
void hp_self_leave(void)
{
	struct hp_process *process;

	if (!hp_self_is_me())
		return;
	HP_ABOVE(leave);
	if (hp_segment.header->root_pid == hp_self->pid)
		return;
	process = hp_self->process;
	if (!is_left(process))
		return;
	hp_self->process = NULL;
	self_forget();
	atomic_store_explicit(&hp_self->state, HP_SELF_NONE, memory_order_relaxed);
	/* The next owner finds the end that hp_self_end noted. */
	atomic_fetch_add_explicit(&hp_segment_vacant(&hp_segment)->processes, 1,
				  memory_order_relaxed);
	hp_claim_end(&process->state);
}

/* NULL = no memory. */
static struct hp_self *self_new(const struct hp_self *before)
{
	struct hp_self *self = hp_part_wiped(sizeof(*self));

	if (!self)
		return NULL;
	self->spent = before->spent;
	self->pid = own_pid();
	/* In the private mapping: another thread may be about to read it. */
	self->process = before->process;
	return self;
}

/*
 * The record stays taken: before the process has another one, the helper finds it by this. The
 * helper frees it when the process has ended.
 */
static void record_leave(void)
{
	HP_ABOVE(drop);
	hp_self_end(HP_ENDING_DROP, 0);
	HP_ABOVE(leave);
}

static void leave(void)
{
	struct hp_self *self = hp_self ? self_new(hp_self) : NULL;

	if (hp_self_is_me())
		record_leave();
	if (!hp_segment_leave(&hp_segment))
		hp_level_taint();
	hp_self_before = hp_self;
	if (self)
		__atomic_store_n(&hp_self, self, __ATOMIC_RELEASE);
	else if (hp_self)
		atomic_store(&hp_self->state, HP_SELF_REFUSED);
}

void hp_self_drop(bool is_told)
{
	static _Atomic uint32_t is_leaving;

	if (atomic_exchange(&is_leaving, 1))
		return;
	if (!is_told)
		hp_level_taint();
	/* Before anything is forgotten: new records go to the next segment. */
	hp_level_leaves();
	leave();
	hp_level_left();
	HP_ABOVE(dropped);
	atomic_store(&is_leaving, 0);
}

void hp_self_go_on(void)
{
	HP_ABOVE(go_on);
	if (!hp_self_is_me())
		return;
	hp_self->process->end_ticks = 0;
	atomic_store_explicit(&hp_self->process->ending, HP_ENDING_NONE, memory_order_release);
}
