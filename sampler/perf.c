/* SPDX-License-Identifier: MIT */
/*
 * perf.c - see perf.h.
 */
#include "sampler/perf.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sampler/outside.h"
#include "sampler/perf_count.h"
#include "sampler/perf_fds.h"
#include "sampler/proc.h"
#include "sampler/sample_open.h"
#include "segment/clock.h"
#include "segment/newer.h"

#define RING_LEAST (UINT64_C(256) << 10)
#define RING_MOST (UINT64_C(8) << 20)
#define RINGS_ROOMY (UINT64_C(2) << 20) /* each: holds the largest stacks of some 30 ms */
#define RING_SHARE 4 /* of what comes in a second with stacks */
#define STACK_SIZE 8192u /* bytes of the stack that come with a sample, at first; */
#define STACK_SIZE_ROOMY 16384u /* where rings may be as large as we like */
#define STACK_SIZE_SMALL 32768u /* the most where rings are small: they hold some samples yet */
#define STACK_SIZE_MOST 61440u /* a record has 64 KiB at most */
#define LOOK_AFTER 50 /* samples: how many of their stacks were longer? */
#define CUT_MOST 100 /* one in so many may be */
#define RECORD_SIZE 512 /* the rest of it, about */
#define RINGS_MOST (UINT64_C(64) << 20) /* of all CPUs together */
#define TRIM_LEAST 32 /* descriptors of events that are kept before it is asked who needs them */
#define LATE_NS UINT64_C(500000) /* a record may be written this long after its time */
#define WINDOW_NS UINT64_C(250000000)
#define WAITS_MOST 1000 /* stacks of waits in a window, */
#define WAITS_UNASKED 250 /* and where nobody asked for them */
#define IDLE_LOOKS 25 /* in which nobody was found waiting: then there are fewer */
#define ROUNDS_MOST 8 /* looks for threads that came meanwhile */

static bool read_number(const char *path, long *number)
{
	char text[64], *end;

	if (hp_proc_read(path, text, sizeof(text)) <= 0)
		return false;
	*number = strtol(text, &end, 10);
	return end != text;
}

static uint64_t waits_most(const struct hp_settings *settings)
{
	return hp_settings_names(settings, "offcpu") || hp_settings_names(settings, "bound") ||
			       hp_settings_names(settings, "thread-states")
		       ? WAITS_MOST
		       : WAITS_UNASKED;
}

void hp_perf_init(struct hp_perf *perf, const struct hp_segment *segment,
		  const struct hp_settings *settings, const struct hp_members *members,
		  struct hp_perf_wish wish)
{
	long paranoid;

	memset(perf, 0, sizeof(*perf));
	perf->segment = segment;
	perf->settings = settings;
	perf->members = members;
	perf->has_samples = wish.samples;
	perf->has_waits = wish.waits;
	perf->waits_most = waits_most(settings);
	if (!wish.samples && !wish.waits)
		return;
	uint64_t offset = hp_segment_take(segment, sizeof(*perf->record), HP_LINE);
	perf->record = hp_segment_at(segment, offset, sizeof(*perf->record));
	if (!perf->record)
		return;
	perf->record->paranoid = INT32_MIN;
	if (read_number("/proc/sys/kernel/perf_event_paranoid", &paranoid))
		perf->record->paranoid = (int32_t)paranoid;
}

static void fail(struct hp_perf *perf, enum hp_sampling_fault fault, int error)
{
	perf->record->fault = fault;
	perf->record->error = (uint32_t)error;
}

void hp_perf_release(struct hp_perf *perf)
{
	for (uint32_t i = 0; i < perf->fd_count; i++)
		close(perf->fds[i]);
	for (uint32_t i = 0; i < perf->wait_fd_count; i++)
		close(perf->wait_fds[i]);
	hp_whole_release(&perf->whole);
	free(perf->fds);
	free(perf->wait_fds);
	perf->fds = perf->wait_fds = NULL;
	perf->fd_count = perf->fd_room = perf->wait_fd_count = perf->wait_fd_room = 0;
	hp_perf_rings_release(&perf->rings);
	hp_samples_release(&perf->samples);
	perf->is_open = false;
}

/* ---- which event ---- */

struct choice {
	uint32_t source;
	uint32_t type;
	uint64_t config;
};

static const struct choice choices[] = {
	{ HP_SAMPLING_CYCLES, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ HP_SAMPLING_CLOCK, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	/* Counts nothing and interrupts nobody: it tells of switches, mappings and tasks. */
	{ HP_SAMPLING_NONE, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY },
};

#define CHOICES (sizeof(choices) / sizeof(choices[0]))
#define CHOICE_DUMMY (CHOICES - 1)

static uint64_t frequency_of(const struct hp_settings *settings)
{
	uint64_t wish = hp_settings_cpu_hz(settings);
	long most;

	if (read_number("/proc/sys/kernel/perf_event_max_sample_rate", &most) && most > 0 &&
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
	attr->sample_freq = perf->has_samples ? frequency_of(perf->settings) : 0;
	attr->inherit = 1;
	/* Other processes are sampled only if they are to be recorded. */
	hp_perf_inherit_threads(attr, perf->settings->no_follow || perf->settings->only);
	attr->exclude_kernel = attr->exclude_callchain_kernel = !has_kernel;
	attr->context_switch = perf->has_waits;
	attr->mmap = attr->mmap2 = attr->comm = attr->comm_exec = attr->task = 1;
}

/* True if the attributes can never be opened on this machine, whoever asks. */
static bool is_missing(int error)
{
	return error == -ENOENT || error == -EOPNOTSUPP || error == -ENODEV || error == -EINVAL;
}

static bool is_forbidden(int error)
{
	return error == -EACCES || error == -EPERM;
}

/* Opens the first event that this machine has and this user may open; its descriptor or -errno. */
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
				perf->record->source = choices[i].source;
				perf->record->has_kernel = (uint32_t)has_kernel;
				return error;
			}
			if (!is_forbidden(error))
				break;
		}
		if (!is_missing(error))
			break;
	}
	return error;
}

/* ---- opening ---- */

static bool fd_keep(int **list, uint32_t *count, uint32_t *room, int fd)
{
	if (*count == *room) {
		uint32_t more = *room ? *room * 2 : 16;
		int *fds = realloc(*list, more * sizeof(*fds));

		if (!fds)
			return false;
		*list = fds;
		*room = more;
	}
	(*list)[(*count)++] = fd;
	return true;
}

/* A stack at each switch.  Only who may see the kernel gets any. */
static void wait_open(struct hp_perf *perf, uint32_t tid, const struct hp_perf_ring *ring)
{
	uint64_t id;
	int fd;

	perf->wait_attr = perf->attr;
	perf->wait_attr.type = PERF_TYPE_SOFTWARE;
	perf->wait_attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	perf->wait_attr.freq = 0;
	perf->wait_attr.sample_period = 1;
	perf->wait_attr.mmap = perf->wait_attr.mmap2 = perf->wait_attr.comm = 0;
	perf->wait_attr.comm_exec = perf->wait_attr.task = perf->wait_attr.context_switch = 0;
	fd = hp_perf_open(&perf->wait_attr, (int)tid, (int)ring->cpu, -1);
	if (fd < 0)
		return;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0 ||
	    !fd_keep(&perf->wait_fds, &perf->wait_fd_count, &perf->wait_fd_room, fd)) {
		close(fd);
		return;
	}
	hp_samples_note_wait_id(&perf->samples, id);
}

/* What the samples of `leader` count besides.  One that cannot be opened: they say so themselves. */
static void counts_open(struct hp_perf *perf, uint32_t tid, uint32_t cpu, int leader)
{
	for (int i = 1; perf->has_counts && i < HP_COUNTS; i++) {
		int fd = hp_perf_counts_open(&perf->attr, (int)tid, (int)cpu, leader, i);

		if (fd >= 0 && !fd_keep(&perf->fds, &perf->fd_count, &perf->fd_room, fd))
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
	    !fd_keep(&perf->fds, &perf->fd_count, &perf->fd_room, fd)) {
		int error = -errno;

		close(fd);
		return error;
	}
	perf->is_open = true;
	counts_open(perf, tid, ring->cpu, fd);
	if (perf->has_waits && perf->record->has_kernel)
		wait_open(perf, tid, ring);
	return 0;
}

static int thread_open(struct hp_perf *perf, uint32_t tid)
{
	int error = 0;

	for (uint32_t i = 0; i < perf->rings.count && !error; i++)
		error = event_open(perf, tid, &perf->rings.list[i]);
	return error;
}

/* True if the thread is among the ones that were opened. */
static bool is_known(const uint32_t *tids, uint32_t count, uint32_t tid)
{
	for (uint32_t i = 0; i < count; i++)
		if (tids[i] == tid)
			return true;
	return false;
}

struct attachment {
	uint32_t *tids;
	uint32_t count;
	uint32_t room;
	int error;
};

/* Opens events on the threads that are new; returns how many. */
static uint32_t round_open(struct hp_perf *perf, uint32_t pid, struct attachment *a)
{
	uint32_t before = a->count;
	struct dirent *entry;
	char path[64];

	hp_proc_path(path, pid, "task");
	DIR *folder = opendir(path);
	while (folder && !a->error && (entry = readdir(folder))) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (!tid || is_known(a->tids, a->count, tid))
			continue;
		if (a->count == a->room) {
			uint32_t *tids = realloc(a->tids, (a->room * 2 + 16) * sizeof(*tids));

			if (!tids)
				break;
			a->tids = tids;
			a->room = a->room * 2 + 16;
		}
		a->tids[a->count++] = tid;
		a->error = thread_open(perf, tid);
		if (a->error == -ESRCH) /* it has ended */
			a->error = 0;
	}
	if (folder)
		closedir(folder);
	return a->count - before;
}

/* Who waits already: no record tells that, and of the place none will. */
static void meet_waits(struct hp_perf *perf, uint32_t pid, const struct attachment *a)
{
	uint64_t now_ns = hp_clock_raw_ns();
	bool is_any = false;

	for (uint32_t i = 0; perf->has_waits && i < a->count; i++)
		is_any |= hp_open_meet(&perf->samples, pid, a->tids[i], now_ns);
	if (is_any)
		hp_outside_look(&perf->samples, 0);
}

/*
 * All threads of a process.  A thread that is started by one which has no event
 * yet has none either, so the list is read until it brings nothing new.
 * Returns 0 or -errno.
 */
static int process_open(struct hp_perf *perf, uint32_t pid)
{
	struct attachment a = { .count = 0 };

	for (int i = 0; i < ROUNDS_MOST && !a.error; i++)
		if (!round_open(perf, pid, &a))
			break;
	/* Known from now on, though no record may ever tell of it: open_again goes by that. */
	if (perf->is_open && a.count)
		hp_space_of(&perf->samples.spaces, pid);
	if (perf->is_open)
		meet_waits(perf, pid, &a);
	free(a.tids);
	return a.error ? a.error : a.count ? 0 : -ESRCH;
}

static void children_open(struct hp_perf *perf, uint32_t pid);

/*
 * What a thread had forked before it got its events inherited none.  What it
 * forks now does, and a record in the rings tells of it: so the rings are read
 * between the list and the look at what is known.
 */
static void children_of_thread(struct hp_perf *perf, uint32_t pid, uint32_t tid)
{
	char path[64], list[4096];
	char *next = list;

	hp_proc_task_path(path, pid, tid, "children");
	if (hp_proc_read(path, list, sizeof(list)) <= 0)
		return;
	hp_perf_rings_read(&perf->rings, UINT64_MAX - 1, hp_samples_handle, &perf->samples);
	for (;;) {
		uint32_t child = (uint32_t)strtoul(next, &next, 10);

		if (!child)
			return;
		/* Until who started us has ended, we are the program's grandchild. */
		if (child == (uint32_t)getpid())
			continue;
		if (!hp_space_known(&perf->samples.spaces, child)) {
			hp_space_of(&perf->samples.spaces, child);
			process_open(perf, child);
		}
		children_open(perf, child);
	}
}

static void children_open(struct hp_perf *perf, uint32_t pid)
{
	struct dirent *entry;
	char path[64];

	hp_proc_path(path, pid, "task");
	DIR *folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (tid)
			children_of_thread(perf, pid, tid);
	}
	if (folder)
		closedir(folder);
}

static size_t ring_size(const struct hp_settings *settings)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t wish =
		settings->unwind == HP_UNWIND_FP
			? RING_LEAST
			: hp_settings_cpu_hz(settings) * (STACK_SIZE + RECORD_SIZE) / RING_SHARE;
	uint64_t size = RING_LEAST;

	while (size < wish && size < RING_MOST)
		size *= 2;
	while (size * (uint64_t)(cpus > 0 ? cpus : 1) > RINGS_MOST)
		size /= 2;
	return (size_t)size;
}

void hp_perf_start(struct hp_perf *perf, uint32_t pid, int epoll, uint64_t data)
{
	int error;

	if (!perf->record)
		return;
	if (perf->settings->cpu == HP_CPU_OFF) {
		fail(perf, HP_SAMPLING_OFF, 0);
		return;
	}
	if (perf->settings->cpu == HP_CPU_TIMER || perf->settings->cpu == HP_CPU_SAMPLY)
		return;
	perf->stack_size = STACK_SIZE;
	error = hp_perf_rings_init(&perf->rings, ring_size(perf->settings));
	if (error) {
		fail(perf,
		     is_forbidden(error) || error == -ENOSYS ? HP_SAMPLING_REFUSED
							     : HP_SAMPLING_NO_RING,
		     -error);
		return;
	}
	if (!hp_samples_init(&perf->samples, perf->segment, perf->record)) {
		fail(perf, HP_SAMPLING_NO_RING, ENOMEM);
		return;
	}
	perf->rings.ahead = hp_samples_ahead;
	if (perf->rings.list[0].size >= ring_size(perf->settings))
		perf->stack_size = STACK_SIZE_ROOMY;
	error = process_open(perf, pid);
	if (!perf->is_open) {
		fail(perf, error == -ESRCH ? HP_SAMPLING_GONE : HP_SAMPLING_REFUSED, -error);
		hp_perf_release(perf);
		return;
	}
	perf->record->frequency = (uint32_t)perf->attr.sample_freq;
	perf->record->ring_size = (uint32_t)perf->rings.list[0].size;
	perf->record->stack_size = perf->attr.sample_stack_user;
	perf->samples.sample_type = perf->attr.sample_type;
	if (perf->record->source == HP_SAMPLING_CYCLES)
		perf->samples.period_ns = 1000000000 / perf->attr.sample_freq;
	for (uint32_t i = 0; i < perf->rings.count; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data = { .u64 = data } };

		epoll_ctl(epoll, EPOLL_CTL_ADD, perf->rings.list[i].fd, &event);
	}
	if (perf->has_waits && !perf->record->has_kernel) {
		perf->look_ns = hp_clock_raw_ns();
		hp_aways_ask(&perf->aways, perf->segment, &perf->samples);
	}
	children_open(perf, pid);
}

/* ---- reading ---- */

/* Whoever comes and goes all day leaves no descriptors. */
static void trim(struct hp_perf *perf)
{
	if (perf->fd_count + perf->wait_fd_count < perf->trim_at)
		return;
	perf->fd_count = hp_perf_fds_trim(perf->fds, perf->fd_count);
	perf->wait_fd_count = hp_perf_fds_trim(perf->wait_fds, perf->wait_fd_count);
	perf->trim_at = 2 * (perf->fd_count + perf->wait_fd_count) + TRIM_LEAST;
}

/*
 * A member that no record told of was not forked by a process that has events:
 * it gets its own.  Its record may still be on the way; who got events twice would
 * be sampled twice.  False = it is too early to know.
 */
static bool member_meet(struct hp_perf *perf, struct hp_member *m, uint64_t now_ns)
{
	if (!m->met_ns)
		m->met_ns = now_ns;
	if (m->pid == perf->members->root_pid || hp_space_known(&perf->samples.spaces, m->pid)) {
		m->is_sampled = true;
		return true;
	}
	if (!hp_perf_inherits_threads(&perf->attr) && now_ns - m->met_ns < 2 * LATE_NS)
		return false;
	m->is_sampled = true;
	process_open(perf, m->pid);
	trim(perf);
	return true;
}

static void meet(struct hp_perf *perf, uint64_t now_ns)
{
	uint32_t added = perf->members->added;
	bool is_done = true;

	if (perf->met == added)
		return;
	for (int i = 0; i < HP_MEMBER_BUCKETS; i++)
		for (struct hp_member *m = perf->members->buckets[i]; m; m = m->next)
			if (!m->is_sampled)
				is_done &= member_meet(perf, m, now_ns);
	if (is_done)
		perf->met = added;
}

/* Every process that has events gets new ones, with what `attr` says now. */
static void open_again(struct hp_perf *perf)
{
	const struct hp_spaces *spaces = &perf->samples.spaces;
	uint32_t old_count = perf->fd_count, old_wait_count = perf->wait_fd_count;
	int *old = perf->fds, *old_wait = perf->wait_fds;

	perf->fds = perf->wait_fds = NULL;
	perf->fd_count = perf->fd_room = perf->wait_fd_count = perf->wait_fd_room = 0;
	for (int i = 0; i < HP_SPACE_BUCKETS; i++)
		for (const struct hp_space *s = spaces->buckets[i]; s; s = s->next)
			if (!s->is_ended)
				process_open(perf, s->pid);
	for (uint32_t i = 0; i < old_count; i++)
		close(old[i]);
	for (uint32_t i = 0; i < old_wait_count; i++)
		close(old_wait[i]);
	free(old);
	free(old_wait);
}

/* Most programs need little of their stacks; compilers and interpreters need much. */
static void adapt(struct hp_perf *perf)
{
	const struct hp_sampling *record = perf->record;
	uint64_t samples = perf->samples.walked - perf->looked_samples;
	uint64_t cut = perf->samples.cut - perf->looked_cut;
	uint32_t most =
		perf->rings.list[0].size >= RINGS_ROOMY ? STACK_SIZE_MOST : STACK_SIZE_SMALL;

	if (samples < LOOK_AFTER || !record->stack_size)
		return;
	perf->looked_samples = perf->samples.walked;
	perf->looked_cut = perf->samples.cut;
	if (cut * CUT_MOST <= samples || record->stack_size >= most)
		return;
	perf->attr.sample_stack_user =
		2 * record->stack_size < most ? 2 * record->stack_size : most;
	perf->record->stack_size = perf->attr.sample_stack_user;
	open_again(perf);
	hp_whole_resize(&perf->whole, &perf->rings, perf->attr.sample_stack_user);
}

static struct hp_ticking *ticking(const struct hp_perf *perf)
{
	return (struct hp_ticking *)((char *)perf->segment->header + HP_TICKING_AT);
}

/* Of all processes that live: what one had is its parent's when that has waited for it. */
static struct hp_whole_use use_of_all(const struct hp_perf *perf)
{
	struct hp_whole_use all = { .ended = perf->samples.ended }, one;

	for (int i = 0; i < HP_MEMBER_BUCKETS; i++)
		for (const struct hp_member *m = perf->members->buckets[i]; m; m = m->next)
			if (hp_whole_use(m->pid, &one)) {
				all.cpu_ns += one.cpu_ns;
				all.threads += one.threads;
			}
	return all;
}

/*
 * Samples of CPUs, and the threads' events tell of switches, mappings and tasks only.  Which
 * sample is of the session is known by the forks in it, so all processes have to be.
 */
static bool whole_look(struct hp_perf *perf)
{
	struct hp_whole_use use;

	if (perf->whole.fds || perf->whole.is_refused)
		return perf->whole.fds != NULL;
	if (!perf->is_open || perf->record->source != HP_SAMPLING_CLOCK ||
	    !perf->record->has_kernel || perf->has_counts || hp_perf_inherits_threads(&perf->attr))
		return false;
	use = use_of_all(perf);
	if (!hp_whole_is_wanted(&perf->whole, &use, perf->record->cpu_ns,
				1000000000 / (perf->attr.sample_freq + 1)) ||
	    hp_whole_open(&perf->whole, &perf->attr, &perf->rings, perf->record->frequency) < 0)
		return false;
	perf->attr.type = choices[CHOICE_DUMMY].type;
	perf->attr.config = choices[CHOICE_DUMMY].config;
	perf->attr.freq = 0;
	perf->attr.sample_freq = 0;
	perf->samples.is_whole = true;
	open_again(perf);
	hp_whole_begin(&perf->whole);
	return true;
}

void hp_perf_calm(struct hp_perf *perf, uint64_t cpu_ns, uint64_t switches)
{
	uint64_t hz = HP_CALM_HZ;

	if (whole_look(perf))
		return;
	/* The processor's own counter has no timer. */
	if (!perf->is_open || perf->record->source != HP_SAMPLING_CLOCK || perf->settings->cpu_hz ||
	    hp_settings_wants_samples(perf->settings) ||
	    !hp_calm_look(&perf->calm, cpu_ns, switches))
		return;
	if (!perf->calm.is_low || perf->record->frequency < HP_CALM_HZ)
		hz = perf->record->frequency;
	else
		ticking(perf)->low_hz = HP_CALM_HZ;
	perf->attr.sample_freq = hz;
	open_again(perf);
}

/* Where waits were that have no stack of the kernel's: the threads say, each of its own. */
static void notes_ask(struct hp_perf *perf, bool asks)
{
	if (asks == perf->are_notes_asked)
		return;
	perf->are_notes_asked = asks;
	if (asks)
		hp_aways_ask(&perf->aways, perf->segment, &perf->samples);
	else
		hp_aways_leave(&perf->aways);
}

/* True from the window on in which records were lost, until none are. */
static bool is_losing(struct hp_perf *perf, bool is_over)
{
	if (is_over) {
		perf->was_losing = perf->record->lost != perf->window_lost;
		perf->window_lost = perf->record->lost;
	}
	return perf->was_losing || perf->record->lost != perf->window_lost;
}

/*
 * A stack at each switch is dear for a thread that switches all the time: some 4 us.  So
 * there are so many in a window, and then none until the next one begins but
 * what the threads note.  The rest is time without a place.
 */
static void limit_waits(struct hp_perf *perf, uint64_t now_ns)
{
	bool is_over = now_ns >= perf->window_ns + WINDOW_NS;
	bool is_short = is_losing(perf, is_over);

	if (!perf->wait_fd_count)
		return;
	if (is_over) {
		perf->window_ns = now_ns;
		perf->window_samples = perf->samples.wait_samples;
	}
	bool is_off = perf->samples.wait_samples - perf->window_samples > perf->waits_most;
	if (is_off != perf->are_waits_off && (is_off || is_over)) {
		perf->are_waits_off = is_off;
		for (uint32_t i = 0; i < perf->wait_fd_count; i++)
			ioctl(perf->wait_fds[i],
			      is_off ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
	}
	notes_ask(perf, is_short || perf->are_waits_off);
}

/* More often while there is something to see; a thread that waits on is seen once. */
static void look_outside(struct hp_perf *perf, uint64_t now_ns)
{
	uint64_t unseen_ns = perf->has_waits ? hp_unseen_look(&perf->unseen, &perf->samples,
							      perf->are_notes_asked, now_ns)
					     : 0;

	/* Stacks come by themselves, but notes must be taken before their rings are full. */
	if (perf->wait_fd_count) {
		perf->look_ns = perf->are_notes_asked ? now_ns + HP_OUTSIDE_NS : unseen_ns;
		return;
	}
	if (!perf->look_ns || now_ns < perf->look_ns)
		return;
	perf->idle_looks = hp_outside_look(&perf->samples, 0) ? 0 : perf->idle_looks + 1;
	perf->look_ns = hp_clock_raw_ns() +
			(perf->idle_looks < IDLE_LOOKS ? HP_OUTSIDE_NS : HP_OUTSIDE_IDLE_NS);
}

void hp_perf_read(struct hp_perf *perf)
{
	uint64_t now_ns = hp_clock_raw_ns();

	if (!perf->is_open)
		return;
	hp_perf_rings_read(&perf->rings, now_ns - LATE_NS, hp_samples_handle, &perf->samples);
	uint32_t notes = hp_aways_read(&perf->aways, now_ns - LATE_NS);
	hp_open_round(&perf->samples, now_ns - LATE_NS);
	meet(perf, now_ns);
	adapt(perf);
	limit_waits(perf, now_ns);
	look_outside(perf, now_ns);
	/* A ring of notes holds some ms of a thread that waits all the time. */
	if (notes && perf->look_ns > now_ns + HP_OUTSIDE_NS)
		perf->look_ns = now_ns + HP_OUTSIDE_NS;
}

void hp_perf_finish(struct hp_perf *perf)
{
	if (perf->record && !perf->is_open && perf->record->fault == HP_SAMPLING_FINE &&
	    perf->record->source != HP_SAMPLING_TIMER)
		fail(perf, perf->settings->cpu == HP_CPU_OFF ? HP_SAMPLING_OFF : HP_SAMPLING_GONE,
		     0);
	uint64_t now_ns = hp_clock_raw_ns();

	if (!perf->is_open)
		return;
	hp_perf_rings_settle(&perf->rings, hp_samples_handle, &perf->samples);
	hp_aways_read(&perf->aways, UINT64_MAX);
	hp_open_finish(&perf->samples, now_ns);
}
