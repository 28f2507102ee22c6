/* SPDX-License-Identifier: MIT */
/*
 * account.c - see account.h.
 */
#include "preload/thread/account.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/guest/kernel_call.h"
#include "preload/guest/pages.h"
#include "preload/guest/self.h"
#include "preload/guest/ticks.h"
#include "segment/clock.h"
#include "util/count.h"

#define NAMES_MAX 64	/* names per executable; further ones are added to the last */

static char image_name[16];
static uint32_t image_pid;
static uint32_t opened_pid;	/* a forked child finds its parent's */
static uint64_t start_ns;	/* CPU time of our start in this image */

/*
 * The kernel's counts when the process last ended a record. If it continues in another segment,
 * it may do much before it joins that.
 */
static struct {
	uint32_t pid;
	struct hp_account_begin at;
} left;

static void *at(uint64_t offset)
{
	return (char *)hp_segment.header + offset;
}

static struct hp_account *account_of(const struct hp_process *process)
{
	return process->account ? at((uint64_t)process->account * HP_LINE) : NULL;
}

static uint64_t cpu_of(const struct rusage *usage)
{
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000;
}

static uint64_t beyond(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

uint64_t hp_account_cpu_ns(void)
{
	struct rusage usage;

	return syscall(SYS_getrusage, RUSAGE_SELF, &usage) == 0 ? cpu_of(&usage) : 0;
}

void hp_account_started(uint64_t since_ns)
{
	struct hp_process *process = hp_self ? hp_self->process : NULL;
	struct hp_account *account = process ? account_of(process) : NULL;

	if (since_ns)
		start_ns += beyond(hp_account_cpu_ns(), since_ns);
	if (account)
		account->start_us = (uint32_t)(start_ns / 1000);
}

void hp_account_image(uint32_t pid)
{
	image_pid = pid;
	syscall(SYS_prctl, PR_GET_NAME, image_name);
}

bool hp_account_is_image(void)
{
	return hp_self && hp_self->pid == image_pid;
}

/* ---- the previous image ---- */

/* Newest of the images of this process that ended by exec. */
static const struct hp_process *image_find(uint32_t pid, uint64_t started)
{
	uint64_t offset = atomic_load_explicit(&hp_segment.header->processes, memory_order_acquire);
	const struct hp_process *found = NULL, *process;

	for (; offset; offset = process->next) {
		process = at(offset);
		if (process->pid == pid && process->starttime == started && process->account &&
		    atomic_load_explicit(&process->state, memory_order_acquire) == HP_TAKEN &&
		    atomic_load_explicit(&process->ending, memory_order_relaxed) ==
			    HP_ENDING_EXEC &&
		    (!found || process->start_ticks > found->start_ticks))
			found = process;
	}
	return found;
}

void hp_account_before(uint32_t pid, uint64_t started, struct hp_account_begin *begin)
{
	const struct hp_process *process = started ? image_find(pid, started) : NULL;
	struct hp_account *account;

	*begin = (struct hp_account_begin){ 0 };
	if (!process)
		return;
	account = account_of(process);
	account->is_followed = 1;
	if (account->began == HP_BEGAN_FORK) {
		account->is_joined = 1;
		begin->cpu_ns = account->base_cpu_ns;
		begin->minor_faults = account->base_minor;
		begin->major_faults = account->base_major;
		begin->start_ticks = process->start_ticks - account->lead_ticks;
		return;
	}
	begin->cpu_ns = account->base_cpu_ns + account->cpu_ns;
	begin->minor_faults = account->base_minor + account->minor_faults;
	begin->major_faults = account->base_major + account->major_faults;
	begin->start_ticks = process->end_ticks;
}

/* ---- its end, from outside ---- */

/*
 * The newest of that process that did not note its end: it may be free already, but not another's. Another PID
 * namespace may have the same number, but hardly with the same parent.
 */
static struct hp_process *killed_find(uint32_t pid)
{
	uint64_t offset = atomic_load_explicit(&hp_segment.header->processes, memory_order_acquire);
	struct hp_process *found = NULL, *process;

	for (; offset; offset = process->next) {
		process = at(offset);
		if (process->pid == pid && process->parent_pid == hp_self->pid &&
		    process->account &&
		    atomic_load_explicit(&process->state, memory_order_acquire) != HP_MOVING &&
		    (!found || process->start_ticks > found->start_ticks))
			found = process;
	}
	return found && atomic_load_explicit(&found->ending, memory_order_relaxed) == HP_ENDING_NONE
		       ? found
		       : NULL;
}

void hp_account_waited(uint32_t pid, int status)
{
	struct hp_process *process = hp_segment.header && hp_self ? killed_find(pid) : NULL;

	if (process)
		atomic_store_explicit(&account_of(process)->waited, (uint32_t)status + 1,
				      memory_order_relaxed);
}

/* As from wait(); -1 = unknown. */
static int status_of(const struct hp_process *process, const struct hp_account *account)
{
	uint32_t ending = atomic_load_explicit(&process->ending, memory_order_relaxed);

	if (ending == HP_ENDING_EXEC || ending == HP_ENDING_DROP)
		return 0;
	if (ending != HP_ENDING_NONE)
		return W_EXITCODE(process->exit_code & 0xff, 0);
	return (int)atomic_load_explicit(&account->waited, memory_order_relaxed) - 1;
}

/* ---- sums ---- */

static struct hp_run *run_of(struct hp_account *account, const char *name)
{
	uint64_t offset = atomic_load_explicit(&account->runs, memory_order_relaxed);
	struct hp_run *run = NULL;
	int count = 0;

	for (; offset && count < NAMES_MAX; offset = run->next, count++) {
		run = at(offset);
		if (memcmp(run->name, name, sizeof(run->name)) == 0)
			return run;
	}
	if (count == NAMES_MAX)
		return run;
	offset = hp_segment_take(&hp_segment, sizeof(*run), HP_LINE);
	run = hp_segment_at(&hp_segment, offset, sizeof(*run));
	if (!run)
		return NULL;
	memcpy(run->name, name, sizeof(run->name));
	hp_list_push(&account->runs, offset, &run->next);
	return run;
}

void hp_account_fold(const struct hp_process *process)
{
	static const char none[16];
	struct hp_account *account = account_of(process);
	uint32_t ending = atomic_load_explicit(&process->ending, memory_order_relaxed);
	bool is_lost = ending == HP_ENDING_EXEC && account && account->began == HP_BEGAN_FORK;
	struct hp_run *run;
	int status;

	if (!account || account->is_joined)
		return;
	run = run_of(account, is_lost ? none : account->name);
	if (!run)
		return;
	if (account->began == HP_BEGAN_AGAIN)
		run->again++;
	else
		hp_count_up(&run->count);
	if (ending == HP_ENDING_DROP)
		hp_count_up(&run->dropped);
	status = status_of(process, account);
	if (status < 0)
		hp_count_up(&run->unknown);
	if (status > 0) {
		hp_count_up(&run->failed);
		run->status = status;
	}
	/* Under a seccomp filter it ends without its CPU time. */
	if (ending == HP_ENDING_NONE ||
	    (!account->cpu_ns && ending != HP_ENDING_EXEC && ending != HP_ENDING_DROP))
		hp_count_up(&run->unmeasured);
	run->ticks +=
		account->lead_ticks + hp_clock_between(process->start_ticks, process->end_ticks);
	run->lead_ns += account->lead_ns;
	run->start_us += account->start_us;
	run->switches += account->switches;
	run->cpu_ns += account->cpu_ns;
	run->minor_faults += account->minor_faults;
	run->major_faults += account->major_faults;
	if (account->peak_rss_kb > run->peak_rss_kb)
		run->peak_rss_kb = account->peak_rss_kb;
}

/* ---- the current image ---- */

static enum hp_beginning beginning_of(uint32_t pid)
{
	if (opened_pid == pid)
		return HP_BEGAN_AGAIN;
	return image_pid == pid ? HP_BEGAN_EXEC : HP_BEGAN_FORK;
}

void hp_account_open(struct hp_process *process, const struct hp_account_begin *begin)
{
	struct hp_account *account = account_of(process);
	struct rusage usage = { .ru_maxrss = 0 };
	struct hp_account before;
	uint64_t offset;

	if (!account) {
		offset = hp_segment_take(&hp_segment, sizeof(*account), HP_LINE);
		account = hp_segment_at(&hp_segment, offset, sizeof(*account));
		if (!account)
			return;
		process->account = (uint32_t)(offset / HP_LINE);
	}
	/* Its lists stay. */
	memcpy(&before, account, sizeof(before));
	memset(account, 0, sizeof(*account));
	account->runs = before.runs;
	account->loops = before.loops;
	account->streams = before.streams;
	account->values = before.values;
	account->lost_values = before.lost_values;
	account->lost_streams = before.lost_streams;
	account->futures = before.futures;
	account->lost_futures = before.lost_futures;
	account->began = beginning_of(process->pid);
	memcpy(account->name, image_name, sizeof(account->name));
	account->base_cpu_ns = begin->cpu_ns;
	account->base_minor = begin->minor_faults;
	account->base_major = begin->major_faults;
	if (account->began == HP_BEGAN_EXEC)
		account->start_us = (uint32_t)(start_ns / 1000);
	if (begin->start_ticks)
		account->lead_ticks = hp_clock_between(begin->start_ticks, process->start_ticks);
	opened_pid = process->pid;
	if (account->began == HP_BEGAN_FORK || syscall(SYS_getrusage, RUSAGE_SELF, &usage) != 0)
		return;
	account->base_peak_kb = (uint64_t)usage.ru_maxrss;
	if (account->began != HP_BEGAN_AGAIN) {
		/* The kernel and the loader used some before us. */
		if (!begin->start_ticks)
			account->lead_ns = cpu_of(&usage);
		return;
	}
	if (left.pid == process->pid) {
		account->base_cpu_ns = left.at.cpu_ns;
		account->base_minor = left.at.minor_faults;
		account->base_major = left.at.major_faults;
		account->lead_ticks = hp_clock_between(left.at.start_ticks, process->start_ticks);
		return;
	}
	account->base_cpu_ns = cpu_of(&usage);
	account->base_minor = (uint64_t)usage.ru_minflt;
	account->base_major = (uint64_t)usage.ru_majflt;
}

/* VmHWM of /proc/self/status: the present image's own peak. */
static uint64_t image_peak_kb(void)
{
	char *text = hp_page_borrow();
	int fd =
		text ? (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC)
		     : -1;
	uint64_t value = 0;

	if (fd >= 0) {
		const char *p;

		long size = syscall(SYS_read, fd, text, HP_PAGE - 1);

		text[size > 0 ? size : 0] = 0;
		hp_kernel_call(SYS_close, fd, 0, 0);
		p = strstr(text, "VmHWM:");
		for (p = p ? p + 6 : NULL; p && (*p == ' ' || *p == '\t'); p++)
			;
		for (; p && *p >= '0' && *p <= '9'; p++)
			value = value * 10 + (uint64_t)(*p - '0');
	}
	hp_page_return(text);
	return value;
}

/*
 * The kernel keeps the peak size across exec, and a vfork child inherits its
 * parent's. Only a larger value certainly belongs to the image.
 */
static uint64_t peak_of(const struct hp_account *account, const struct rusage *usage)
{
	uint64_t peak_kb = (uint64_t)usage->ru_maxrss;

	return peak_kb > account->base_peak_kb ? peak_kb : image_peak_kb();
}

uint64_t hp_account_end(const struct hp_process *process, const struct rusage *usage,
			const struct rusage *children)
{
	struct hp_account *account = account_of(process);

	if (!account)
		return (uint64_t)usage->ru_maxrss;
	account->cpu_ns = beyond(cpu_of(usage), account->base_cpu_ns);
	account->minor_faults = beyond((uint64_t)usage->ru_minflt, account->base_minor);
	account->major_faults = beyond((uint64_t)usage->ru_majflt, account->base_major);
	account->peak_rss_kb = peak_of(account, usage);
	account->children_cpu_ns = cpu_of(children);
	left.pid = process->pid;
	left.at = (struct hp_account_begin){
		.cpu_ns = cpu_of(usage),
		.minor_faults = (uint64_t)usage->ru_minflt,
		.major_faults = (uint64_t)usage->ru_majflt,
		.start_ticks = hp_ticks_about(),
	};
	account->switches = (uint32_t)(usage->ru_nvcsw + usage->ru_nivcsw);
	return account->peak_rss_kb;
}
