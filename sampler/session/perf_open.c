/* SPDX-License-Identifier: MIT */
/*
 * perf_open.c - see perf_open.h.
 */
#include "sampler/session/perf_open.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "sampler/sample/outside.h"
#include "sampler/perf/count.h"
#include "sampler/base/proc.h"
#include "sampler/sample/open.h"
#include "sampler/session/perf_crowd.h"
#include "segment/clock.h"
#include "segment/newer.h"

#define THREADS_FEW 64u	/* whose children are asked for one by one */
#define ROUNDS_MAX 8	/* searches for threads that started meanwhile */
#define ALL_TASKS UINT32_MAX	/* instead of a thread: everything that the CPU runs */
#define BURST_STACK 4096u	/* bytes of the stack with each switch */
#define RING_MANY 128u	/* threads of a process: */
#define RING_FEW 32u	/* then only so many have the rings of its first thread */
#define READ_EVERY 8	/* threads that get events, until the rings are read */
#define BORN_NS 500000	/* a record may be written this long after its time */

/* ---- which event ---- */

/* A short program needs many samples; a long one gets many anyway. */
static uint64_t wish_hz(const struct hp_settings *settings)
{
	bool is_asked = settings->cpu_hz || hp_settings_wants_samples(settings);

	return is_asked ? hp_settings_cpu_hz(settings) : HP_CPU_HZ_FIRST;
}

struct choice {
	uint32_t source;
	uint32_t type;
	uint64_t config;
};

static const struct choice choices[] = {
	{ HP_SAMPLING_CYCLES, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ HP_SAMPLING_CLOCK, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	/* Counts nothing and interrupts nobody: it reports switches, mappings and tasks. */
	{ HP_SAMPLING_NONE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY },
};

#define CHOICES (sizeof(choices) / sizeof(choices[0]))
#define CHOICE_DUMMY (CHOICES - 1)

uint64_t hp_perf_frequency(uint64_t wish)
{
	long most;

	if (hp_proc_read_number("/proc/sys/kernel/perf_event_max_sample_rate", &most) && most > 0 &&
	    (uint64_t)most < wish)
		return (uint64_t)most;
	return wish;
}

static void attr_make(struct hp_perf *perf, const struct choice *choice, bool has_kernel)
{
	struct perf_event_attr *attr = &perf->attr;

	hp_perf_attr_init(attr, choice->type, choice->config);
	attr->sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	if (has_kernel || perf->settings->unwind == HP_UNWIND_FP)
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (perf->settings->unwind != HP_UNWIND_FP) {
		attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr->sample_regs_user = HP_SAMPLE_REGISTERS;
		attr->sample_stack_user = perf->stack_size;
		attr->exclude_callchain_user = 1;
	}
	attr->freq = perf->has_samples;
	attr->sample_freq = perf->has_samples ? hp_perf_frequency(wish_hz(perf->settings)) : 0;
	attr->inherit = 1;
	/* Other processes are sampled only if they must be recorded. */
	hp_perf_inherit_threads(attr, perf->settings->no_follow || perf->settings->only);
	attr->exclude_kernel = attr->exclude_callchain_kernel = !has_kernel;
	attr->context_switch = perf->has_waits;
	attr->mmap = attr->mmap2 = attr->comm = attr->comm_exec = attr->task = 1;
}

/* True if nobody can open the attributes on this machine. */
static bool is_missing(int error)
{
	return error == -ENOENT || error == -EOPNOTSUPP || error == -ENODEV || error == -EINVAL;
}

bool hp_perf_is_forbidden(int error)
{
	return error == -EACCES || error == -EPERM;
}

/* Opens the first event that this machine has and this user may open; returns its descriptor or
 * -errno. */
static int first_open(struct hp_perf *perf, uint32_t tid, uint32_t cpu)
{
	size_t first = perf->has_samples ? 0 : CHOICE_DUMMY;
	size_t end = perf->has_samples ? CHOICE_DUMMY : CHOICES;
	int error = -ENOENT;

	for (size_t i = first; i < end; i++) {
		for (int has_kernel = 1; has_kernel >= 0; has_kernel--) {
			attr_make(perf, &choices[i], has_kernel);
			perf->has_counts =
				perf->has_samples &&
				hp_perf_counts_ask(&perf->attr,
						   choices[i].source == HP_SAMPLING_CYCLES);
			error = hp_perf_open(&perf->attr, (int)tid, (int)cpu, -1);
			if (error >= 0) {
				perf->record->source = perf->source = choices[i].source;
				perf->record->has_kernel = (uint32_t)has_kernel;
				perf->has_kernel = has_kernel;
				return error;
			}
			if (!hp_perf_is_forbidden(error))
				break;
		}
		if (!is_missing(error))
			break;
	}
	return error;
}

/* ---- opening ---- */

/*
 * A stack at each switch, only for users who may sample the kernel. With bursts this
 * event also reports the switches themselves, and is enabled only during a burst.
 */
static void wait_open(struct hp_perf *perf, uint32_t tid, const struct hp_perf_ring *ring)
{
	uint64_t id;
	int fd;

	perf->wait_attr = perf->attr;
	perf->wait_attr.type = PERF_TYPE_SOFTWARE;
	perf->wait_attr.config =
		perf->has_kernel ? PERF_COUNT_SW_CONTEXT_SWITCHES : PERF_COUNT_SW_DUMMY;
	perf->wait_attr.freq = 0;
	perf->wait_attr.sample_period = perf->has_kernel;
	perf->wait_attr.mmap = perf->wait_attr.mmap2 = perf->wait_attr.comm = 0;
	perf->wait_attr.comm_exec = perf->wait_attr.task = 0;
	perf->wait_attr.inherit = tid != ALL_TASKS;
	perf->wait_attr.context_switch = perf->burst.is_on;
	perf->wait_attr.disabled = perf->burst.is_on && tid != ALL_TASKS;
	/* A burst of larger ones would not fit into the rings. */
	if (perf->burst.is_on && perf->wait_attr.sample_stack_user > BURST_STACK)
		perf->wait_attr.sample_stack_user = BURST_STACK;
	fd = hp_perf_open(&perf->wait_attr, (int)tid, (int)ring->cpu, -1);
	if (fd < 0)
		return;
	ring = hp_perf_rings_waits(&perf->rings, ring);
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0 || !hp_perf_fds_keep(&perf->wait_fds, fd)) {
		close(fd);
		return;
	}
	hp_samples_note_wait_id(&perf->samples, id);
}

bool hp_perf_open_first(struct hp_perf *perf)
{
	int fd = first_open(perf, ALL_TASKS, perf->rings.list[0].cpu);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/*
 * Additional counts of `leader`'s samples.  One that cannot be opened: they report it
 * themselves.
 */
static void counts_open(struct hp_perf *perf, uint32_t tid, uint32_t cpu, int leader)
{
	for (int i = 1; perf->has_counts && i < HP_COUNTS; i++) {
		int fd = hp_perf_counts_open(&perf->attr, (int)tid, (int)cpu, leader, i);

		if (fd >= 0 && !hp_perf_fds_keep(&perf->fds, fd))
			close(fd);
	}
}

/* Samples of a thread on one CPU, into the ring of that CPU.  Returns 0 or -errno. */
static int event_open(struct hp_perf *perf, uint32_t tid, const struct hp_perf_ring *ring)
{
	int fd = perf->is_open ? hp_perf_open(&perf->attr, (int)tid, (int)ring->cpu, -1)
			       : first_open(perf, tid, ring->cpu);

	if (fd < 0)
		return fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0 ||
	    !hp_perf_fds_keep(&perf->fds, fd)) {
		int error = -errno;

		close(fd);
		return error;
	}
	perf->is_open = true;
	if (!perf->samples.born_from)
		ioctl(fd, PERF_EVENT_IOC_ID, &perf->samples.born_from);
	if (perf->is_renewing && !perf->samples.second_from)
		perf->samples.second_from = perf->samples.born_from;
	counts_open(perf, tid, ring->cpu, fd);
	if (perf->has_waits && (perf->has_kernel || perf->burst.is_on))
		wait_open(perf, tid, ring);
	return 0;
}

void hp_perf_rings_wake(const struct hp_perf *perf)
{
	struct epoll_event event = { .events = EPOLLIN, .data = { .u64 = perf->epoll_data } };

	for (uint32_t i = 0; i < perf->rings.all; i++)
		epoll_ctl(perf->epoll, EPOLL_CTL_ADD, perf->rings.list[i].fd, &event);
}

static int thread_open(struct hp_perf *perf, uint32_t tid, bool has_second)
{
	const struct hp_perf_ring *rings = perf->rings.list + (has_second ? perf->rings.count : 0);
	int error = 0;

	for (uint32_t i = 0; i < perf->rings.count && !error; i++)
		error = event_open(perf, tid, &rings[i]);
	return error;
}

struct attachment {
	struct hp_tids listed;
	struct hp_tids born;	/* with the events of their creator */
	uint32_t *tids;	/* new in this list */
	uint32_t count;
	uint32_t room;
	uint32_t *own;	/* those that got their own events */
	uint32_t own_count;
	uint32_t without;	/* those that got none */
	bool is_more;	/* from now on they have rings of their own */
	uint64_t lost;	/* records, at its start */
	int error;
};

static bool append(uint32_t **list, uint32_t *count, uint32_t *room, uint32_t tid)
{
	if (*count == *room) {
		uint32_t larger = *room * 2 + 16;
		uint32_t *tids = realloc(*list, larger * sizeof(*tids));

		if (!tids)
			return false;
		*list = tids;
		*room = larger;
	}
	(*list)[(*count)++] = tid;
	return true;
}

static void rings_read(struct hp_perf *perf)
{
	hp_perf_rings_read(&perf->rings, UINT64_MAX - 1, hp_samples_handle, &perf->samples);
}

/* The threads that were in no list before. */
static void list_new(struct attachment *a, uint32_t pid)
{
	struct dirent *entry;
	char path[64];

	hp_proc_path(path, pid, "task");
	DIR *folder = opendir(path);
	a->count = 0;
	while (folder && (entry = readdir(folder))) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (hp_tids_add(&a->listed, tid) && !append(&a->tids, &a->count, &a->room, tid))
			break;
	}
	if (folder)
		closedir(folder);
}

/* The records of all listed threads: a thread is in the list before its record is written. */
static void born_read(struct hp_perf *perf)
{
	struct timespec wait = { .tv_nsec = BORN_NS };
	uint64_t until = hp_clock_raw_ns() + BORN_NS / 2;

	clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, NULL);
	hp_perf_rings_read(&perf->rings, until, hp_samples_handle, &perf->samples);
}

/* Records, among which may be those of threads and processes. */
static uint64_t task_lost(const struct hp_perf *perf)
{
	return perf->samples.lost - perf->samples.wait_lost;
}

/*
 * A thread that started with events gets no second set: its time would be sampled
 * twice. Nor does a process whose parents are unknown because records were lost.
 */
static bool wants_own(const struct hp_perf *perf, const struct attachment *a, uint32_t tid)
{
	return a->own_count < perf->own_most && a->lost == task_lost(perf) &&
	       !hp_tids_has(&a->born, tid);
}

/*
 * The first threads of a process are more likely to start others than the rest, whose ends would
 * wake all events of their rings.
 */
static bool more_begin(struct hp_perf *perf, const struct attachment *a)
{
	uint32_t before = perf->rings.all;

	if (a->own_count < RING_FEW || a->count <= RING_MANY || !hp_perf_rings_more(&perf->rings))
		return false;
	if (perf->rings.all > before)
		hp_perf_rings_wake(perf);
	return true;
}

/* Opens events on new threads; returns their number. */
static uint32_t round_open(struct hp_perf *perf, uint32_t pid, struct attachment *a)
{
	list_new(a, pid);
	if (a->own_count && a->count)
		born_read(perf);
	for (uint32_t i = 0; i < a->count && !a->error; i++) {
		if (!wants_own(perf, a, a->tids[i])) {
			a->without += !hp_tids_has(&a->born, a->tids[i]);
			continue;
		}
		a->is_more = a->is_more || more_begin(perf, a);
		a->error = thread_open(perf, a->tids[i], a->is_more);
		if (!a->error)
			a->own[a->own_count++] = a->tids[i];
		/* Hundreds of threads take longer than the rings hold. */
		if (perf->is_renewing && i % READ_EVERY == 0)
			rings_read(perf);
		if (a->error == -ESRCH)	/* it has ended */
			a->error = 0;
	}
	return a->count;
}

/* Threads that already wait: no record shows that, nor will any show the place. */
static void meet_waits(struct hp_perf *perf, uint32_t pid, const struct attachment *a)
{
	uint64_t now_ns = hp_clock_raw_ns();
	bool is_any = false;

	for (uint32_t i = 0; perf->has_waits && i < a->own_count; i++)
		is_any |= hp_open_meet(&perf->samples, pid, a->own[i], now_ns);
	if (is_any)
		hp_outside_look(&perf->samples, 0);
}

/* Without events: from now on its records are handled. */
static int process_meet(struct hp_perf *perf, uint32_t pid)
{
	struct attachment a = { .count = 0 };

	if (!hp_space_of(&perf->samples.spaces, pid))
		return -ENOMEM;
	if (!perf->starts.is_on)
		return 0;
	list_new(&a, pid);
	a.own = a.tids;
	a.own_count = a.count < perf->own_most ? a.count : perf->own_most;
	meet_waits(perf, pid, &a);
	hp_tids_release(&a.listed);
	free(a.tids);
	return a.count ? 0 : -ESRCH;
}

int hp_perf_open_process(struct hp_perf *perf, uint32_t pid)
{
	struct attachment a = { .lost = task_lost(perf) };
	int error;

	if (perf->is_wide)
		return process_meet(perf, pid);
	a.own = malloc(perf->own_most * sizeof(*a.own));
	if (!a.own)
		return -ENOMEM;
	perf->samples.born = &a.born;
	perf->samples.born_from = 0;
	for (int i = 0; i < ROUNDS_MAX && !a.error; i++)
		if (!round_open(perf, pid, &a))
			break;
	perf->samples.born = NULL;
	perf->without += a.without;
	/*
	 * Known from now on, although a record may never mention it: hp_perf_open_again
	 * relies on that.
	 */
	if (perf->is_open && a.listed.count)
		hp_space_of(&perf->samples.spaces, pid);
	if (perf->is_open)
		meet_waits(perf, pid, &a);
	error = a.error ? a.error : a.listed.count ? 0 : -ESRCH;
	hp_tids_release(&a.listed);
	hp_tids_release(&a.born);
	free(a.tids);
	free(a.own);
	return error;
}

/* Processes whose children are searched for next. */
struct search {
	uint32_t *pids;
	uint32_t count;
	uint32_t room;
	uint32_t opened;	/* processes that got events of their own */
};

/*
 * One with a record was forked by a process with events, and so are all below it. Without events of
 * threads, only the search shows which processes belong to the session.
 */
static void child_open(struct hp_perf *perf, struct search *search, uint32_t child)
{
	/* Until our parent has ended, we are the program's grandchild. */
	if (child == (uint32_t)getpid())
		return;
	if (!hp_space_known(&perf->samples.spaces, child)) {
		hp_space_of(&perf->samples.spaces, child);
		hp_perf_open_process(perf, child);
		search->opened++;
	} else if (!perf->is_wide) {
		return;
	}
	append(&search->pids, &search->count, &search->room, child);
}

static void children_of_thread(struct hp_perf *perf, struct search *search, uint32_t pid,
			       uint32_t tid)
{
	char path[64], list[4096];
	char *next = list;

	hp_proc_task_path(path, pid, tid, "children");
	if (hp_proc_read(path, list, sizeof(list)) <= 0)
		return;
	/*
	 * Earlier forks of a thread without events inherited none.  From now on its
	 * forks do, and a record in the rings shows them, so the rings are read between
	 * the list and the check against known threads.
	 */
	rings_read(perf);
	for (;;) {
		uint32_t child = (uint32_t)strtoul(next, &next, 10);

		if (!child)
			return;
		child_open(perf, search, child);
	}
}

static bool is_child(uint32_t child, uint32_t pid)
{
	struct hp_proc_stat stat;
	char path[64], text[1024];

	hp_proc_path(path, child, "stat");
	return hp_proc_read(path, text, sizeof(text)) > 0 && hp_proc_stat(text, &stat) >= 0 &&
	       stat.parent == pid;
}

/* Those of all its threads, which are more than there are processes, as a rule. */
static void children_of_process(struct hp_perf *perf, struct search *search, uint32_t pid)
{
	struct dirent *entry;
	DIR *folder = opendir("/proc");

	while (folder && (entry = readdir(folder))) {
		uint32_t child = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (child && is_child(child, pid)) {
			rings_read(perf);
			child_open(perf, search, child);
		}
	}
	if (folder)
		closedir(folder);
}

static void children_open(struct hp_perf *perf, struct search *search, uint32_t pid)
{
	struct dirent *entry;
	uint32_t threads = 0;
	char path[64];

	hp_proc_path(path, pid, "task");
	DIR *folder = opendir(path);
	while (folder && threads <= THREADS_FEW && (entry = readdir(folder))) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (tid && ++threads <= THREADS_FEW)
			children_of_thread(perf, search, pid, tid);
	}
	if (folder)
		closedir(folder);
	if (threads > THREADS_FEW)
		children_of_process(perf, search, pid);
}

/* True if the rest gets no events of its own. */
static bool are_too_many(struct hp_perf *perf, struct search *search, uint32_t pid)
{
	if (perf->is_wide || search->opened < perf->own_most)
		return false;
	hp_perf_crowd_begin(perf);
	/* All once more: those that were known have not been searched. */
	if (perf->is_wide)
		append(&search->pids, &search->count, &search->room, pid);
	return !perf->is_wide && search->opened >= perf->own_most;
}

void hp_perf_open_children(struct hp_perf *perf, uint32_t pid)
{
	struct search search = { .pids = NULL };

	append(&search.pids, &search.count, &search.room, pid);
	/* Not by recursion: each may be the child of the one before, and there may be thousands. */
	while (search.count && !are_too_many(perf, &search, pid))
		children_open(perf, &search, search.pids[--search.count]);
	free(search.pids);
}

/* Of the session, without what we start. Records that are read meanwhile may change the list. */
static uint32_t *alive(const struct hp_spaces *spaces, uint32_t *count)
{
	uint32_t *pids = NULL, room = 0;

	*count = 0;
	for (int i = 0; i < HP_SPACE_BUCKETS; i++)
		for (const struct hp_space *s = spaces->buckets[i]; s; s = s->next)
			if (!s->is_ended && !s->is_ours)
				append(&pids, count, &room, s->pid);
	return pids;
}

/*
 * A thread has its old events until all threads have new ones, so that no report is missed. The
 * new samples are dropped meanwhile: they would count twice.
 */
void hp_perf_open_again(struct hp_perf *perf)
{
	struct hp_perf_fds old = perf->fds, old_waits = perf->wait_fds;
	uint32_t count, *pids = alive(&perf->samples.spaces, &count);

	memset(&perf->fds, 0, sizeof(perf->fds));
	memset(&perf->wait_fds, 0, sizeof(perf->wait_fds));
	perf->is_renewing = old.count > 0;
	perf->is_wide = false;
	perf->without = 0;
	for (uint32_t i = 0; i < count; i++)
		hp_perf_open_process(perf, pids[i]);
	free(pids);
	if (perf->is_renewing)
		rings_read(perf);
	perf->is_renewing = false;
	perf->samples.second_from = 0;
	hp_perf_fds_close(&old);
	hp_perf_fds_close(&old_waits);
}

void hp_perf_unsample(struct hp_perf *perf)
{
	perf->attr.type = choices[CHOICE_DUMMY].type;
	perf->attr.config = choices[CHOICE_DUMMY].config;
	perf->attr.freq = 0;
	perf->attr.sample_freq = 0;
}

/* Returns 0 or -errno. */
static int cpu_open(struct hp_perf *perf, const struct hp_perf_ring *ring)
{
	struct perf_event_attr attr = perf->attr;

	attr.inherit = 0;
	attr.exclude_idle = 1;
	int fd = hp_perf_open(&attr, -1, (int)ring->cpu, -1);
	if (fd < 0)
		return fd;
	if (perf->is_renewing && !perf->samples.second_from)
		ioctl(fd, PERF_EVENT_IOC_ID, &perf->samples.second_from);
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0 ||
	    !hp_perf_fds_keep(&perf->fds, fd)) {
		close(fd);
		return -ENOMEM;
	}
	if (perf->has_waits)
		wait_open(perf, ALL_TASKS, ring);
	return 0;
}

bool hp_perf_open_cpus(struct hp_perf *perf)
{
	struct hp_perf_fds old = perf->fds, old_waits = perf->wait_fds;
	int error = 0;

	memset(&perf->fds, 0, sizeof(perf->fds));
	memset(&perf->wait_fds, 0, sizeof(perf->wait_fds));
	perf->is_renewing = old.count > 0 && perf->attr.freq;
	for (uint32_t i = 0; i < perf->rings.count && !error; i++)
		error = cpu_open(perf, &perf->rings.list[i]);
	perf->is_renewing = false;
	if (error) {
		perf->samples.second_from = 0;
		hp_perf_fds_close(&perf->fds);
		hp_perf_fds_close(&perf->wait_fds);
		perf->fds = old;
		perf->wait_fds = old_waits;
		return false;
	}
	/* Last, so no report is missed. Twice is harmless, except for samples. */
	hp_perf_fds_close(&old);
	hp_perf_fds_close(&old_waits);
	if (perf->samples.second_from)
		rings_read(perf);
	perf->samples.second_from = 0;
	perf->is_wide = true;
	return true;
}

bool hp_perf_open_waits(struct hp_perf *perf)
{
	for (uint32_t i = 0; i < perf->rings.count; i++)
		wait_open(perf, ALL_TASKS, &perf->rings.list[i]);
	return perf->wait_fds.count == perf->rings.count;
}

bool hp_perf_open_wide(struct hp_perf *perf)
{
	hp_perf_fds_close(&perf->wait_fds);
	perf->is_wide = !perf->has_waits || hp_perf_open_waits(perf);
	hp_perf_fds_close(&perf->wait_fds);
	if (perf->is_wide)
		hp_perf_fds_close(&perf->fds);
	return perf->is_wide;
}
