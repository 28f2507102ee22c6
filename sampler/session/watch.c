/* SPDX-License-Identifier: MIT */
/*
 * watch.c - see watch.h.
 *
 * Opening, looking up and closing files is expensive, so descriptors stay open:
 * schedstat for each thread (CPU and run-queue wait in ns), stat for those that
 * ever ran between two scans, status for each process. A thread that did not
 * run has neither a new state nor a new name, and a process with an unchanged
 * number of threads has no new ones: the folder of its threads is read only if
 * the number differs.  A thousand idle threads: 1 ms.
 *
 * A new thread takes 20 to 50 us.  A program that starts thousands at once would have to share its
 * processors with us just then, so a scan takes some of them, and later scans the others.
 */
#include "sampler/session/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/proc.h"
#include "segment/clock.h"
#include "segment/seq.h"

#define FIRST_ROWS 62	/* a first chunk of two pages */
#define MORE_ROWS 255
#define FOLDED_IDS 248	/* of a chunk of half a page */
#define FIRST_THREADS 16
#define SHARE 1250	/* a scan takes at most 1/1250 of the time, 0.08 % */
#define SHORTEST_NS 20000000	/* a percentage over less is noise */
#define NEW_MANY 16
#define NEW_LEAST 64	/* new threads of a process that a scan always takes, */
#define NEW_NS 5000000	/* and more for so much CPU time; the rest is for the next scan */
#define BEFORE_NS 50000000	/* from a fork to the session of the executed program */
#define INTERVAL_MAX_MS 60000
#define RETIRED UINT32_C(0x80000000)	/* no tid has this bit */
#define RETIRED_STEP UINT32_C(0x00400000)	/* the most tids that a kernel has */

/*
 * Private to the sampler.  The row is visible to others, and writable: it is a
 * copy of `own`, and never read.
 */
struct hp_watch_thread {
	struct hp_watch_row *row;	/* NULL = empty slot */
	struct hp_watch_row own;
	uint64_t object;	/* executable of its process */
	uint64_t asleep_ns[2];	/* the last two consecutive scans that found it asleep; 0 = none */
	uint64_t kernel_wait_ns;	/* as in the kernel: see ready_since */
	uint32_t tid;
	uint64_t slices;	/* its time slices, by the kernel's count */
	int schedstat_fd;	/* -1 = not open, or the kernel has none */
	int stat_fd;	/* -1 = not open */
};

/* Half of our descriptor limit; the rest is for pidfds and the socket. */
static uint32_t fds_most(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	return limit.rlim_cur < 16384 ? (uint32_t)limit.rlim_cur / 2 : 8192;
}

void hp_watcher_init(struct hp_watcher *watcher, const struct hp_segment *segment,
		     const struct hp_members *members, uint32_t interval_ms,
		     struct hp_watch_wish wish)
{
	memset(watcher, 0, sizeof(*watcher));
	watcher->segment = segment;
	watcher->members = members;
	watcher->interval_ms = interval_ms;
	watcher->has_threads = wish.rows;
	watcher->counts_threads = wish.rows || wish.sums;
	if (wish.rows)
		hp_segment_recorded(segment, HP_RECORDED_THREADS);
	watcher->room = FIRST_THREADS;
	watcher->threads = calloc(watcher->room, sizeof(*watcher->threads));
	watcher->fds_most = fds_most();
	watcher->has_schedstat = access("/proc/self/schedstat", R_OK) == 0;
}

/* ---- rows in the segment ---- */

static struct hp_watch *area_new(struct hp_watcher *watcher, uint32_t rows)
{
	uint64_t size = sizeof(struct hp_watch) + rows * sizeof(struct hp_watch_row);
	uint64_t offset = hp_segment_take(watcher->segment, size, HP_LINE);
	struct hp_watch *area = hp_segment_at(watcher->segment, offset, size);

	if (!area)
		return NULL;
	watcher->newest_count = 0;
	watcher->newest_capacity = area->capacity = rows;
	area->interval_ms = watcher->interval_ms;
	if (watcher->newest)
		watcher->newest->next = offset;
	else
		atomic_store_explicit(&watcher->segment->header->sampler_area, offset,
				      memory_order_release);
	watcher->newest = area;
	return area;
}

/* A row that nobody used before; NULL = the segment is full. */
static struct hp_watch_row *row_new(struct hp_watcher *watcher)
{
	bool is_full = watcher->newest_count == watcher->newest_capacity;

	if (!watcher->newest || (is_full && !area_new(watcher, MORE_ROWS)))
		return NULL;
	return (struct hp_watch_row *)(watcher->newest + 1) + watcher->newest_count;
}

/* Readers see a row only when it is complete. */
static void row_publish(struct hp_watcher *watcher, const struct hp_watch_row *row)
{
	struct hp_watch *area = watcher->newest;

	atomic_thread_fence(memory_order_release);
	if (row == (struct hp_watch_row *)(area + 1) + watcher->newest_count)
		area->count = ++watcher->newest_count;
}

static bool folded_new(struct hp_watcher *watcher)
{
	_Atomic uint64_t *head = &hp_segment_recorded_at(watcher->segment)->folded;
	uint64_t size = sizeof(struct hp_watch_folded) + FOLDED_IDS * sizeof(struct hp_watch_id);
	uint64_t offset = hp_segment_take(watcher->segment, size, HP_LINE);
	struct hp_watch_folded *folded = hp_segment_at(watcher->segment, offset, size);

	if (!folded)
		return false;
	folded->capacity = FOLDED_IDS;
	folded->next = watcher->folded ? hp_segment_offset(watcher->segment, watcher->folded) : 0;
	watcher->folded = folded;
	watcher->folded_count = 0;
	atomic_store_explicit(head, offset, memory_order_release);
	return true;
}

/* A thread that is missing here makes the list incomplete: readers count. */
static void folded_note(struct hp_watcher *watcher, const struct hp_watch_row *row)
{
	bool is_full = !watcher->folded || watcher->folded_count == FOLDED_IDS;

	if (watcher->folded_all == HP_WATCH_FOLDED || (is_full && !folded_new(watcher)))
		return;
	watcher->folded->ids[watcher->folded_count] = (struct hp_watch_id){ row->tid, row->pid };
	watcher->folded->count = ++watcher->folded_count;
	watcher->folded_all++;
}

/* Adds an ended row to another. */
static void row_fold(struct hp_watch_row *to, const struct hp_watch_row *from)
{
	to->folded += 1 + from->folded;
	to->cpu_ns += from->cpu_ns;
	to->first_cpu_ns += from->first_cpu_ns;
	to->wait_ns += from->wait_ns;
	to->user_ns += from->user_ns;
	to->system_ns += from->system_ns;
	if (!to->first_ns || from->first_ns < to->first_ns)
		to->first_ns = from->first_ns;
	if (from->seen_ns > to->seen_ns)
		to->seen_ns = from->seen_ns;
	if (to->percent_max == UINT32_MAX ||
	    (from->percent_max != UINT32_MAX && from->percent_max > to->percent_max))
		to->percent_max = from->percent_max;
}

static struct hp_watch_thread *thread_other(struct hp_watcher *watcher)
{
	struct hp_watch_thread *other = watcher->other;

	if (other || !(other = calloc(1, sizeof(*other))))
		return other;
	other->row = row_new(watcher);
	if (!other->row) {
		free(other);
		return NULL;
	}
	strcpy(other->own.name, "<other>");
	other->own.state = 'x';
	other->own.percent_max = UINT32_MAX;
	other->own.is_member = 1;
	other->own.folded = UINT32_MAX;	/* itself is excluded: the first one folded makes it 0 */
	*other->row = other->own;
	row_publish(watcher, other->row);
	watcher->other = other;
	return other;
}

/* ---- threads by tid ---- */

static struct hp_watch_thread *slot_of(const struct hp_watcher *watcher, uint32_t tid)
{
	uint32_t at = tid * UINT32_C(0x9E3779B1);

	for (;; at++) {
		struct hp_watch_thread *slot = &watcher->threads[at & (watcher->room - 1)];

		if (!slot->row || slot->tid == tid)
			return slot;
	}
}

/* Empties a slot; later ones that it displaced move up. */
static void slot_remove(struct hp_watcher *watcher, struct hp_watch_thread *slot)
{
	uint32_t mask = watcher->room - 1;
	uint32_t at = (uint32_t)(slot - watcher->threads);

	watcher->count--;
	slot->row = NULL;
	while (watcher->threads[++at & mask].row) {
		struct hp_watch_thread moved = watcher->threads[at & mask];

		watcher->threads[at & mask].row = NULL;
		*slot_of(watcher, moved.tid) = moved;
	}
}

static bool table_grow(struct hp_watcher *watcher)
{
	struct hp_watch_thread *old = watcher->threads;
	uint32_t old_room = watcher->room;

	if (old && watcher->count * 2 < old_room)
		return true;
	struct hp_watch_thread *new = calloc(old_room * 2, sizeof(*new));
	if (!new)
		return false;
	watcher->threads = new;
	watcher->room = old_room * 2;
	for (uint32_t i = 0; old && i < old_room; i++)
		if (old[i].row)
			*slot_of(watcher, old[i].tid) = old[i];
	free(old);
	return true;
}

/* ---- ends ---- */

static bool is_ended(const struct hp_watch_thread *thread)
{
	return thread->row && thread->own.state == 'x';
}

/* The ended thread that was seen longest ago. */
static struct hp_watch_thread *oldest_ended(const struct hp_watcher *watcher)
{
	struct hp_watch_thread *oldest = NULL;

	for (uint32_t i = 0; i < watcher->room; i++) {
		struct hp_watch_thread *thread = &watcher->threads[i];

		if (is_ended(thread) && (!oldest || thread->own.seen_ns < oldest->own.seen_ns))
			oldest = thread;
	}
	return oldest;
}

static struct hp_watch_thread *fold_target(struct hp_watcher *watcher,
					   const struct hp_watch_thread *thread)
{
	for (uint32_t i = 0; i < watcher->room; i++) {
		struct hp_watch_thread *other = &watcher->threads[i];

		if (is_ended(other) && other != thread && other->object == thread->object &&
		    !strcmp(other->own.name, thread->own.name))
			return other;
	}
	return thread_other(watcher);
}

/* The row of an ended thread whose values are now in another row; NULL = none. */
static struct hp_watch_row *row_reuse(struct hp_watcher *watcher)
{
	struct hp_watch_thread *oldest = oldest_ended(watcher);

	if (!oldest)
		return NULL;
	struct hp_watch_row *row = oldest->row;
	struct hp_watch_thread *target = fold_target(watcher, oldest);
	if (!target)
		return NULL;
	row_fold(&target->own, &oldest->own);
	*target->row = target->own;
	folded_note(watcher, &oldest->own);
	slot_remove(watcher, oldest);
	watcher->ended--;
	return row;
}

static void close_fds(struct hp_watcher *watcher, struct hp_watch_thread *thread)
{
	int fds[] = { thread->schedstat_fd, thread->stat_fd };

	for (int i = 0; i < 2; i++) {
		if (fds[i] < 0)
			continue;
		close(fds[i]);
		watcher->fds--;
	}
	thread->schedstat_fd = thread->stat_fd = -1;
}

static void thread_end(struct hp_watcher *watcher, struct hp_watch_thread *thread,
		       struct hp_member *member)
{
	close_fds(watcher, thread);
	if (member)
		member->threads--;
	/* A thread that takes its slot is seen at the next scan. */
	if (!watcher->has_threads) {
		slot_remove(watcher, thread);
		return;
	}
	thread->row->state = thread->own.state = 'x';
	watcher->ended++;
}

/* ---- one thread ---- */

struct reading {
	uint64_t now_ns;
	uint64_t cpu_ns;
	uint64_t wait_ns;
	uint64_t slices;
	struct hp_proc_stat stat;	/* state 0 = not read */
};

/* Reads one of its files, and keeps it open for the next time if there is room. */
static ssize_t read_file(struct hp_watcher *watcher, int *fd, uint32_t pid, uint32_t tid,
			 const char *name, char *text, size_t room)
{
	char path[64];

	if (*fd >= 0)
		return hp_proc_again(*fd, text, room);
	hp_proc_task_path(path, pid, tid, name);
	if (watcher->fds >= watcher->fds_most)
		return hp_proc_read(path, text, room);
	*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return -1;
	watcher->fds++;
	return hp_proc_again(*fd, text, room);
}

/* False if the thread is gone. */
static bool read_thread(struct hp_watcher *watcher, struct hp_watch_thread *thread, uint32_t pid,
			struct reading *reading)
{
	const struct hp_watch_row *row = thread->row ? &thread->own : NULL;
	char text[1024];
	char *end;

	memset(reading, 0, sizeof(*reading));
	reading->now_ns = hp_clock_raw_ns();
	bool has_schedstat = watcher->has_schedstat &&
			     read_file(watcher, &thread->schedstat_fd, pid, thread->tid,
				       "schedstat", text, sizeof(text)) > 0;
	if (has_schedstat) {
		reading->cpu_ns = strtoull(text, &end, 10);
		reading->wait_ns = strtoull(end, &end, 10);
		reading->slices = strtoull(end, NULL, 10);
		if (row && row->cpu_ns == reading->cpu_ns && row->state != 'R')
			return true;
	} else if (watcher->has_schedstat && row) {
		return false;
	}
	if (read_file(watcher, &thread->stat_fd, pid, thread->tid, "stat", text, sizeof(text)) <
		    0 ||
	    hp_proc_stat(text, &reading->stat) < 0)
		return false;
	if (!has_schedstat)
		reading->cpu_ns = reading->stat.cpu_ns;
	return true;
}

static void note_stat(struct hp_watch_row *row, const struct hp_proc_stat *stat)
{
	if (!stat->state)
		return;
	memcpy(row->name, stat->name, sizeof(row->name));
	row->state = stat->state;
	row->start_time = stat->start_time;
	row->user_ns = stat->user_ns;
	row->system_ns = stat->cpu_ns - stat->user_ns;
}

static void note_percent(struct hp_watch_row *row, const struct reading *reading)
{
	uint64_t span_ns = reading->now_ns - row->seen_ns;

	if (span_ns < SHORTEST_NS)
		return;
	row->percent_last = (uint32_t)((reading->cpu_ns - row->cpu_ns) * 1000 / span_ns);
	if (row->percent_max == UINT32_MAX || row->percent_last > row->percent_max)
		row->percent_max = row->percent_last;
}

/*
 * Runnable without a CPU since the previous scan, ns.  Linux 6.12 and later count a sleep, too, if
 * the scheduler moved the thread to another CPU while it went to sleep: one of 600 sleeps of 100
 * ms on a busy machine was reported as 88 ms. The kernel adds it when the thread wakes up, so it
 * cannot exceed the time since the thread was last seen asleep. The state of a thread that has not
 * run since is not read, and it may have been woken: hence the last scan but one.
 */
static uint64_t ready_since(struct hp_watch_thread *thread, const struct reading *reading)
{
	uint64_t ready_ns = reading->wait_ns - thread->kernel_wait_ns;
	uint64_t most_ns =
		thread->asleep_ns[0] ? reading->now_ns - thread->asleep_ns[0] : UINT64_MAX;

	if (reading->wait_ns < thread->kernel_wait_ns)
		ready_ns = 0;
	thread->kernel_wait_ns = reading->wait_ns;
	thread->asleep_ns[0] = thread->asleep_ns[1];
	thread->asleep_ns[1] = reading->now_ns;
	if (!strchr("SDI", thread->own.state))
		thread->asleep_ns[0] = thread->asleep_ns[1] = 0;
	return ready_ns < most_ns ? ready_ns : most_ns;
}

/* Adds its changes since the previous scan to the totals. */
static void busy_note(struct hp_watcher *watcher, struct hp_watch_thread *thread,
		      const struct reading *reading)
{
	watcher->busy_ns += reading->cpu_ns - thread->own.cpu_ns;
	if (reading->slices > thread->slices)
		watcher->switches += reading->slices - thread->slices;
	thread->slices = reading->slices;
}

static void numbers_note(struct hp_watcher *watcher, struct hp_watch_thread *thread,
			 const struct reading *reading)
{
	struct hp_watch_row *row = &thread->own;

	if (reading->cpu_ns < row->cpu_ns)
		return;
	busy_note(watcher, thread, reading);
	note_percent(row, reading);
	row->seen_ns = reading->now_ns;
	row->cpu_ns = reading->cpu_ns;
	row->wait_ns += ready_since(thread, reading);
}

static void thread_note(struct hp_watcher *watcher, struct hp_watch_thread *thread,
			const struct hp_member *member, const struct reading *reading)
{
	thread->object = member->object;
	thread->own.is_member = member->object != 0;
	note_stat(&thread->own, &reading->stat);
	numbers_note(watcher, thread, reading);
	*thread->row = thread->own;
}

/*
 * The start of its known time, CLOCK_MONOTONIC_RAW: its own start, which the kernel reports in
 * steps of 10 ms, or now if it is older than the session: then some of its time is not the
 * session's.
 */
static uint64_t known_since(const struct hp_watcher *watcher, const struct reading *reading)
{
	const uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t session_ns = watcher->segment->header->start.ns;
	uint64_t least_ns = reading->cpu_ns + reading->wait_ns, age_ns;
	struct timespec now;

	if (!reading->stat.state || clock_gettime(CLOCK_BOOTTIME, &now) < 0)
		return reading->now_ns;
	age_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec -
		 reading->stat.start_time * tick_ns;
	/* It is rounded down: half a step is the best estimate. */
	age_ns = age_ns > tick_ns / 2 + least_ns ? age_ns - tick_ns / 2 : least_ns;
	if (age_ns > reading->now_ns - session_ns + BEFORE_NS)
		return reading->now_ns;
	return age_ns < reading->now_ns - session_ns ? reading->now_ns - age_ns : session_ns;
}

/* Where only sums are wanted, all threads share one that nobody reads. */
static struct hp_watch_row *row_take(struct hp_watcher *watcher)
{
	static struct hp_watch_row unread;
	struct hp_watch_row *row = NULL;

	if (!watcher->has_threads)
		return &unread;
	if (watcher->ended >= HP_WATCH_ENDED)
		row = row_reuse(watcher);
	if (!row)
		row = row_new(watcher);
	return row ? row : row_reuse(watcher);
}

/* A row for a new thread; false = none. */
static bool row_begin(struct hp_watcher *watcher, struct hp_member *member,
		      struct hp_watch_thread *new, const struct reading *reading)
{
	struct hp_watch_row *row = row_take(watcher);

	if (!row)
		return false;
	uint64_t since_ns = known_since(watcher, reading);
	new->own = (struct hp_watch_row){
		.tid = new->tid,
		.pid = member->pid,
		.seen_ns = reading->now_ns,
		.first_ns = since_ns,
		.cpu_ns = reading->cpu_ns,
		.first_cpu_ns = since_ns == reading->now_ns ? reading->cpu_ns : 0,
		.percent_max = UINT32_MAX,
	};
	new->row = row;
	new->slices = reading->slices;
	thread_note(watcher, new, member, reading);
	return true;
}

/*
 * While rows are folded, a row's values may be in two rows or in none: readers
 * use all rows from before or after that (report/read/model.c).
 */
static void folding(struct hp_watcher *watcher, bool begins)
{
	uint32_t *count = &hp_segment_recorded_at(watcher->segment)->folding;

	if (!begins) {
		hp_seq_count_end(count);
		return;
	}
	hp_seq_count_begin(count);
	atomic_thread_fence(memory_order_release);
}

static void thread_begin(struct hp_watcher *watcher, struct hp_member *member, uint32_t tid)
{
	struct hp_watch_thread new = { .tid = tid, .schedstat_fd = -1, .stat_fd = -1 };
	struct reading reading;
	bool has_row = false;

	if (read_thread(watcher, &new, member->pid, &reading) && table_grow(watcher)) {
		folding(watcher, true);
		has_row = row_begin(watcher, member, &new, &reading);
		folding(watcher, false);
	}
	if (!has_row) {
		close_fds(watcher, &new);
		return;
	}
	*slot_of(watcher, tid) = new;
	watcher->count++;
	member->threads++;
	if (watcher->has_threads)
		row_publish(watcher, new.row);
}

/* An ended thread's key is freed for a live one with the same id: it gets a key that no thread
 * has. */
static void thread_retire(struct hp_watcher *watcher, struct hp_watch_thread *slot)
{
	struct hp_watch_thread old = *slot;

	slot_remove(watcher, slot);
	for (old.tid |= RETIRED; slot_of(watcher, old.tid)->row; old.tid += RETIRED_STEP)
		;
	*slot_of(watcher, old.tid) = old;
	watcher->count++;
}

/* Those that existed at the last scan. */
static void look_at_known(struct hp_watcher *watcher)
{
	for (uint32_t i = 0; i < watcher->room; i++) {
		struct hp_watch_thread *thread = &watcher->threads[i];
		struct reading reading;

		if (!thread->row || is_ended(thread))
			continue;
		struct hp_member *member = hp_members_find(watcher->members, thread->own.pid);
		if (member && read_thread(watcher, thread, member->pid, &reading))
			thread_note(watcher, thread, member, &reading);
		else
			thread_end(watcher, thread, member);
	}
}

/* ---- one process ---- */

struct linux_dirent64 {
	uint64_t inode;
	int64_t next;
	unsigned short size;
	unsigned char type;
	char name[];
};

static void meet(struct hp_watcher *watcher, struct hp_member *member, const char *name)
{
	uint32_t tid = (uint32_t)strtoul(name, NULL, 10);
	struct hp_watch_thread *slot = slot_of(watcher, tid);

	if (name[0] == '.' || (slot->row && !is_ended(slot)))
		return;
	if (slot->row)
		thread_retire(watcher, slot);
	thread_begin(watcher, member, tid);
}

static void look_for_new(struct hp_watcher *watcher, struct hp_member *member)
{
	_Alignas(struct linux_dirent64) char names[2048];
	uint64_t since_ns = hp_proc_own_cpu_ns();
	uint32_t before = watcher->count;
	bool has_time = true;
	char path[64];
	long size;

	hp_proc_path(path, member->pid, "task");
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return;
	while (has_time && (size = syscall(SYS_getdents64, folder, names, sizeof(names))) > 0) {
		for (long at = 0; at < size;) {
			const struct linux_dirent64 *entry = (const void *)(names + at);

			meet(watcher, member, entry->name);
			at += entry->size;
		}
		has_time = watcher->count - before < NEW_LEAST ||
			   hp_proc_own_cpu_ns() - since_ns < NEW_NS;
	}
	close(folder);
}

/* CPU time of a process, ended threads included: anybody can read its clock. */
static uint64_t process_cpu_ns(uint32_t pid)
{
	struct timespec time;
	clockid_t clock = (clockid_t)(~pid << 3 | 2);	/* the kernel's CPUCLOCK_SCHED of a process */

	if (clock_gettime(clock, &time) < 0)
		return 0;
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void note_root(struct hp_watch *area, uint32_t pid, const char *status)
{
	uint64_t cpu_ns = process_cpu_ns(pid);
	uint64_t peak = hp_proc_number(status, "VmHWM:");

	if (peak > area->rss_peak_kb)
		area->rss_peak_kb = peak;
	if (cpu_ns > area->root_cpu_ns)
		area->root_cpu_ns = cpu_ns;
}

/* Returns its resident size in KiB. */
static uint64_t look_at_process(struct hp_watcher *watcher, struct hp_member *member)
{
	char path[64], text[4096];

	if (member->status_fd < 0 && watcher->fds < watcher->fds_most) {
		hp_proc_path(path, member->pid, "status");
		member->status_fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (hp_proc_again(member->status_fd, text, sizeof(text)) < 0)
		return 0;
	if (watcher->counts_threads && hp_proc_number(text, "\nThreads:") != member->threads)
		look_for_new(watcher, member);
	if (member->pid == watcher->members->root_pid)
		note_root(watcher->area, member->pid, text);
	return hp_proc_number(text, "\nVmRSS:");
}

/* ---- a scan ---- */

/*
 * When the next scan is due, so that one like this takes its share. Finding
 * many new threads at once is expensive but happens once, so it counts less.
 */
static uint32_t next_ms(const struct hp_watcher *watcher, uint64_t cost_ns, uint32_t new_threads)
{
	uint64_t rest_ms = cost_ns * SHARE / 1000000 / (new_threads > NEW_MANY ? 8 : 1);

	if (rest_ms < watcher->interval_ms)
		return watcher->interval_ms;
	return rest_ms < INTERVAL_MAX_MS ? (uint32_t)rest_ms : INTERVAL_MAX_MS;
}

/* Bytes that are allocated, -1 = none are recorded. */
static int64_t live_of_all(const struct hp_segments *segments)
{
	int64_t all = -1;

	for (uint32_t i = 0; i < segments->count; i++) {
		int64_t live = hp_sizes_live(segments->at[i]);

		if (live >= 0)
			all = (all < 0 ? 0 : all) + live;
	}
	return all;
}

static void note_size(struct hp_watcher *watcher, uint64_t rss_kb)
{
	const struct hp_size_point point = { .ns = hp_clock_raw_ns(), .rss_kb = rss_kb };
	int64_t bytes = watcher->sizes.live ? live_of_all(&watcher->members->segments) : -1;

	/* Nothing is recorded, or not yet: the line of bytes begins with the first recorded
	 * ones. */
	hp_sizes_add(&watcher->sizes, &point, bytes >= 0 || watcher->sizes.count,
		     bytes > 0 ? (uint64_t)bytes : 0);
}

/* All of them are known, or none: the sum of some would be too small. */
static uint32_t descriptors_of_all(const struct hp_watcher *watcher)
{
	char path[64];
	long all = 0;

	for (int i = 0; i < HP_MEMBER_BUCKETS; i++)
		for (struct hp_member *m = watcher->members->buckets[i]; m; m = m->next) {
			hp_proc_path(path, m->pid, "fd");
			long count = hp_proc_entries(path);
			if (count < 0 && errno != ENOENT && errno != ESRCH)
				return 0;
			all += count > 0 ? count : 0;
		}
	return all < UINT32_MAX ? (uint32_t)all : 0;
}

uint32_t hp_watcher_look(struct hp_watcher *watcher)
{
	uint64_t began_ns = hp_proc_own_cpu_ns();
	uint64_t resident = 0;
	uint32_t before = watcher->count;

	if (!watcher->area && (watcher->area = area_new(watcher, FIRST_ROWS))) {
		watcher->area->sampling = watcher->sampling;
		hp_sizes_init(&watcher->sizes, watcher->segment, watcher->area);
	}
	if (!watcher->area || !watcher->threads)
		return watcher->interval_ms;
	look_at_known(watcher);
	for (int i = 0; i < HP_MEMBER_BUCKETS; i++)
		for (struct hp_member *m = watcher->members->buckets[i]; m; m = m->next)
			resident += look_at_process(watcher, m);
	watcher->area->rss_kb = resident;
	if (resident) {	/* a thread that has just ended has none */
		note_size(watcher, resident);
		hp_sizes_note_descriptors(&watcher->sizes, descriptors_of_all(watcher));
	}
	watcher->area->looks++;
	uint32_t wait_ms =
		next_ms(watcher, hp_proc_own_cpu_ns() - began_ns, watcher->count - before);
	watcher->area->interval_ms = wait_ms;
	return wait_ms;
}
