/* SPDX-License-Identifier: MIT */
/*
 * member.c - see member.h.
 *
 * Pids in the segment are each process's own view. A process of another PID
 * namespace is identified by the socket: the kernel translates a peer's pid, and
 * /proc/PID/status (NSpid) has the inner one. A record whose process cannot be
 * found is considered dead only if no such process ever joined; otherwise two
 * writers might get one block.  And only if two scans agree: a
 * process that takes over the record of another, which freed it at its end,
 * is briefly found under the old pid.
 */
#include "sampler/session/member.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/proc.h"
#include "sampler/session/level.h"
#include "segment/clock.h"
#include "segment/layout/call.h"
#include "segment/layout/heap.h"
#include "segment/layout/lock.h"
#include "segment/session.h"
#include "util/hash.h"
#include "util/assert.h"

#define SUSPECT_TRIES 16
#define ANCESTORS_MAX 64
#define LEVEL_FD (HP_LEVEL_FD + HP_LEVELS_MAX)	/* and above: no number that another process knows */
#define TAINTED_MAX 1	/* segments of one level */
#define MAPS_NS UINT64_C(20000000)	/* of a scan, for reading maps of processes: they may be long */
/* In a scan, for all processes together: other users cannot delay us more. */
#define LEAVE_NS UINT64_C(50000000)
#define PORT_REQUESTS_MAX 8	/* of each level */
#define RECORDS_MAX 1000000	/* a damaged list must not cause an endless loop */
/*
 * Of a scan of a segment: a record is one step. A process with fewer rights can write endless lists,
 * which must not hold up the session's end. What is left is found by later scans.
 */
#define OWN_STEPS UINT64_C(10000000)
#define LOWER_STEPS UINT64_C(100000)
#define ASK_STEPS 10	/* whether a process lives, */
#define MEET_STEPS 250	/* and if so, whether it is of the session */

void hp_members_init(struct hp_members *members, struct hp_segment *segment, int epoll)
{
	members->segment = segment;
	members->segments = (struct hp_segments){ 1, { segment } };
	members->epoll = epoll;
	members->keep_root = true;
	members->has_level = hp_level_read(&members->levels[0], (uint32_t)getpid(), NULL);
}

uint64_t hp_member_start_time(uint32_t pid)
{
	char path[64], text[1024];
	struct hp_proc_stat stat;

	hp_proc_path(path, pid, "stat");
	if (hp_proc_read(path, text, sizeof(text)) < 0 || hp_proc_stat(text, &stat) < 0 ||
	    stat.state == 'Z' || stat.state == 'X')
		return 0;
	return stat.start_time;
}

/* True if the kernel shows it as dead, or not at all. Does not need a descriptor, since there
 * may be none. */
static bool has_no_image(uint32_t pid)
{
	char path[64], target[8];

	if (readlink("/proc/self/exe", target, sizeof(target)) < 0)
		return false;	/* no /proc */
	hp_proc_path(path, pid, "exe");
	return readlink(path, target, sizeof(target)) < 0 && errno == ENOENT;
}

/*
 * False if no such process exists, or it is a zombie, which may remain if its parent does
 * not wait for it.  A process that cannot be queried counts as alive, and *start_time is 0.
 */
static bool is_alive(uint32_t pid, uint64_t *start_time)
{
	char path[64], text[1024];
	struct hp_proc_stat stat;

	*start_time = 0;
	if (hp_member_is_gone(pid))
		return false;
	hp_proc_path(path, pid, "stat");
	if (hp_proc_read(path, text, sizeof(text)) < 0 || hp_proc_stat(text, &stat) < 0)
		return !has_no_image(pid);
	if (stat.state == 'Z' || stat.state == 'X')
		return false;
	*start_time = stat.start_time;
	return true;
}

bool hp_member_is_gone(uint32_t pid)
{
	return kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

uint32_t hp_member_namespace(void)
{
	struct stat own;

	return stat("/proc/self/ns/pid", &own) == 0 ? (uint32_t)own.st_ino : 0;
}

struct hp_member *hp_members_find(const struct hp_members *members, uint32_t pid)
{
	struct hp_member *member = members->buckets[pid % HP_MEMBER_BUCKETS];

	while (member && member->pid != pid)
		member = member->next;
	return member;
}

static struct hp_member *find_inner(const struct hp_members *members, uint32_t inner_pid)
{
	for (int i = 0; i < HP_MEMBER_BUCKETS; i++)
		for (struct hp_member *m = members->buckets[i]; m; m = m->next)
			if (m->inner_pid == inner_pid && m->pid != inner_pid)
				return m;
	return NULL;
}

/* The pid that the process sees itself; differs in a PID namespace below ours. */
static uint32_t inner_pid(struct hp_members *members, uint32_t pid)
{
	char path[64], text[4096];
	struct stat its;
	uint32_t inner = pid;

	if (!members->namespace)
		members->namespace = hp_member_namespace();
	hp_proc_path(path, pid, "ns/pid");
	if (!members->namespace || stat(path, &its) < 0 || its.st_ino == members->namespace)
		return pid;
	members->foreign++;
	hp_proc_path(path, pid, "status");
	hp_proc_read(path, text, sizeof(text));
	const char *at = strstr(text, "NSpid:");
	for (at = at ? at + 6 : NULL; at && *at == '\t';) {
		char *end;

		inner = (uint32_t)strtoul(at + 1, &end, 10);
		at = end;
	}
	return inner;
}

static void watch(struct hp_members *members, struct hp_member *member)
{
	struct epoll_event event = { .events = EPOLLIN, .data = { .u64 = member->pid } };

	if (member->pidfd >= 0 &&
	    epoll_ctl(members->epoll, EPOLL_CTL_ADD, member->pidfd, &event) == 0)
		return;
	if (member->pidfd >= 0)
		close(member->pidfd);
	member->pidfd = -1;
	member->start_time = hp_member_start_time(member->pid);
	members->unwatched++;
}

struct hp_member *hp_members_add(struct hp_members *members, uint32_t pid)
{
	struct hp_member *member = hp_members_find(members, pid);

	if (member || pid == 0)
		return member;
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0 && (errno == ESRCH || kill((pid_t)pid, 0) < 0) && errno == ESRCH)
		return NULL;
	/* The session lasts as long as the root, so that one need not be remembered. */
	member = pid == members->root_pid ? &members->root : calloc(1, sizeof(*member));
	if (!member) {
		if (pidfd >= 0)
			close(pidfd);
		return NULL;
	}
	*member = (struct hp_member){ 0 };
	member->pid = pid;
	member->pidfd = pidfd;
	member->status_fd = -1;
	member->inner_pid = inner_pid(members, pid);
	struct hp_member **bucket = &members->buckets[pid % HP_MEMBER_BUCKETS];
	member->next = *bucket;
	*bucket = member;
	members->count++;
	members->added++;
	watch(members, member);
	return member;
}

/* ---- segments of lower levels ---- */

/* The range of offsets for the next one; false = none left. */
static bool next_place(struct hp_members *members, uint64_t *begin, uint64_t *end)
{
	uint64_t first = members->segment->size;

	if (!members->level_size)
		members->level_size = hp_segment_level_size(first);
	*begin = first + (members->segments.count - 1) * members->level_size;
	*end = *begin + members->level_size;
	return members->segments.count <= HP_LEVELS_MAX && *end <= HP_SIZE_MAX;
}

static struct hp_segment *level_new(struct hp_members *members, const struct hp_level *level)
{
	struct hp_segment *segment = calloc(1, sizeof(*segment));
	uint64_t begin, end;

	if (!segment || !next_place(members, &begin, &end) ||
	    hp_segment_create_level(segment, members->segment, begin, end) < 0) {
		free(segment);
		return NULL;
	}
	/* Away from the numbers by which a report finds them. */
	int fd = fcntl(segment->fd, F_DUPFD_CLOEXEC, LEVEL_FD);
	if (fd >= 0) {
		close(segment->fd);
		segment->fd = fd;
	}
	fchmod(segment->fd, HP_LEVEL_MODE);
	hp_segment_room(segment)->pid_namespace = hp_segment_room(members->segment)->pid_namespace;
	HP_ASSERT(members->segments.count < HP_LEVELS_MAX);
	members->levels[members->segments.count] = *level;
	members->segments.at[members->segments.count++] = segment;
	return segment;
}

/* Readers find it in the session's own segment. */
static void level_publish(struct hp_members *members, const struct hp_segment *segment,
			  const struct hp_level *level)
{
	struct hp_levels *levels = hp_segment_levels(members->segment);

	levels->at[members->segments.count - 2] = (struct hp_level_place){
		.begin = hp_segment_levels(segment)->begin,
		.end = segment->size,
		.user = level->user,
		.group = level->group,
		.flags = HP_LEVEL_OWNED,
	};
	atomic_store_explicit(&levels->count, members->segments.count - 1, memory_order_release);
}

struct hp_segment *hp_members_segment(struct hp_members *members, const struct hp_level *level)
{
	struct hp_levels *levels = hp_segment_levels(members->segment);
	struct hp_segment *segment;
	uint32_t tainted = 0;

	for (uint32_t i = 0; i < members->segments.count; i++) {
		if (!hp_level_is_same(&members->levels[i], level))
			continue;
		if (!members->is_tainted[i])
			return members->segments.at[i];
		tainted++;
	}
	/* A process that claims to be one could request all of them. */
	if (tainted > TAINTED_MAX || !hp_level_rules(&members->levels[0], level))
		return NULL;
	segment = level_new(members, level);
	if (segment)
		level_publish(members, segment, level);
	else
		atomic_fetch_add_explicit(&levels->refused, 1, memory_order_relaxed);
	hp_members_pass(members);
	return segment;
}

bool hp_members_is_of_level(const struct hp_members *members, uint32_t pid, uint32_t i)
{
	struct hp_level level;

	if (!hp_level_read(&level, pid, NULL))
		return members->segments.count == 1;
	return members->segments.count == 1 || hp_level_is_same(&members->levels[i], &level);
}

static void pass_ticking(const struct hp_ticking *from, struct hp_ticking *to)
{
	to->interval_ns = from->interval_ns;
	atomic_store_explicit(&to->offcpu_least, atomic_load(&from->offcpu_least),
			      memory_order_relaxed);
	atomic_store_explicit(&to->is_on, atomic_load(&from->is_on), memory_order_release);
}

/*
 * Each request makes the live server move to another port, which is reported.  A level with fewer
 * rights gets as many as its programs can need: after the first one, our port is a random one.
 */
static void pass_request(struct hp_ports *to, struct hp_ports *from, uint8_t *requests)
{
	if (!atomic_load_explicit(&from->asked, memory_order_relaxed) ||
	    *requests >= PORT_REQUESTS_MAX)
		return;
	(*requests)++;
	atomic_fetch_or(&to->asked, atomic_exchange(&from->asked, 0));
}

static void pass_ports(const struct hp_ports *from, struct hp_ports *to)
{
	uint32_t given = atomic_load(&from->given);

	for (int i = 0; i < HP_PORT_KINDS; i++)
		atomic_store_explicit(&to->at[i], atomic_load(&from->at[i]), memory_order_relaxed);
	if (atomic_load_explicit(&to->given, memory_order_relaxed) == given)
		return;
	atomic_store_explicit(&to->given, given, memory_order_release);
	syscall(SYS_futex, &to->given, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void hp_members_pass(struct hp_members *members)
{
	const struct hp_segments *segments = &members->segments;
	struct hp_ports *own = hp_segment_ports(members->segment), *ports;

	for (uint32_t i = 1; i < segments->count; i++) {
		struct hp_header *header = segments->at[i]->header;

		ports = hp_segment_ports(segments->at[i]);
		pass_ticking(hp_segment_ticking(members->segment),
			     hp_segment_ticking(segments->at[i]));
		pass_request(own, ports, &members->port_requests[i]);
		pass_ports(own, ports);
		header->root_pid = members->root_pid;
	}
}

/* ---- records ---- */

/* The record at `offset`; NULL at the end of the list or if it is damaged. */
static struct hp_process *record_at(const struct hp_segment *segment, uint64_t offset)
{
	return hp_segment_at(segment, offset, sizeof(struct hp_process));
}

static struct hp_process *first_record(const struct hp_segment *segment)
{
	/* Acquire: pairs with the release of the process that pushed its record. */
	return record_at(segment,
			 atomic_load_explicit(&segment->header->processes, memory_order_acquire));
}

static bool is_taken(struct hp_process *record)
{
	return atomic_load_explicit(&record->state, memory_order_acquire) == HP_TAKEN;
}

/* False = a scan of this segment has done enough. */
static bool spend(struct hp_members *members, uint64_t steps)
{
	bool is_enough = members->steps < steps;

	members->steps -= is_enough ? members->steps : steps;
	return !is_enough;
}

static void steps_begin(struct hp_members *members, const struct hp_segment *segment)
{
	members->steps = segment == members->segments.at[0] ? OWN_STEPS : LOWER_STEPS;
}

static void free_blocks(struct hp_members *members, const struct hp_segment *segment,
			struct hp_process *record, uint64_t now)
{
	uint64_t offset = atomic_load_explicit(&record->blocks, memory_order_acquire);
	struct hp_block *block;

	for (; spend(members, 1); offset = block->next) {
		block = hp_segment_at(segment, offset, sizeof(*block));
		if (!block)
			return;
		if (!block->end_ticks)
			block->end_ticks = now;
		/* Release: the next owner finds the stores of the dead thread and ours. */
		atomic_store_explicit(&block->state, HP_FREE, memory_order_release);
	}
}

static void free_heaps(struct hp_members *members, const struct hp_segment *segment,
		       struct hp_process *record)
{
	uint64_t offset = atomic_load_explicit(&record->heaps, memory_order_acquire);
	struct hp_heap *heap;

	for (; spend(members, 1); offset = heap->next) {
		heap = hp_segment_at(segment, offset, sizeof(*heap));
		if (!heap)
			return;
		/* Release: the next owner finds the dead thread's stores. */
		atomic_store_explicit(&heap->state, HP_FREE, memory_order_release);
	}
}

static void free_waiters(struct hp_members *members, const struct hp_segment *segment,
			 const struct hp_process *record)
{
	struct hp_lockset *set =
		hp_segment_at(segment, atomic_load_explicit(&record->lockset, memory_order_acquire),
			      sizeof(*set));
	uint64_t offset = set ? atomic_load_explicit(&set->waiters, memory_order_acquire) : 0;
	struct hp_waiter *waiter;

	for (; spend(members, 1); offset = waiter->next) {
		waiter = hp_segment_at(segment, offset, sizeof(*waiter));
		if (!waiter)
			return;
		atomic_store_explicit(&waiter->state, HP_FREE, memory_order_release);
	}
}

/* The process is dead, so nobody else writes its record now. */
static void bury(struct hp_members *members, const struct hp_segment *segment,
		 struct hp_process *record)
{
	uint64_t now = hp_clock_read(members->segment->header->clock_kind);

	if (!record->end_ticks)
		record->end_ticks = now;
	if (members->keep_root && record->pid == members->root_pid)
		return;
	free_blocks(members, segment, record, now);
	free_heaps(members, segment, record);
	free_waiters(members, segment, record);
	atomic_fetch_add_explicit(&hp_segment_vacant(segment)->processes, 1, memory_order_relaxed);
	atomic_store_explicit(&record->state, HP_FREE, memory_order_release);
}

/* Only for processes of another PID namespace: scans cannot ask about those. */
static void bury_all(struct hp_members *members, const struct hp_segment *segment,
		     const struct hp_member *member)
{
	struct hp_process *record = first_record(segment);

	steps_begin(members, segment);
	for (; record && spend(members, 1); record = record_at(segment, record->next))
		if (is_taken(record) && record->pid == member->inner_pid &&
		    record->starttime == member->start_time)
			bury(members, segment, record);
}

static bool outlived(const struct hp_members *members, const struct hp_segment *segment,
		     uint64_t ticks)
{
	const struct hp_process *record = first_record(segment);

	for (int i = 0; record && i < RECORDS_MAX; i++, record = record_at(segment, record->next))
		if (record->pid != members->root_pid && record->end_ticks > ticks)
			return true;
	return false;
}

bool hp_members_outlived(const struct hp_members *members, uint64_t ticks)
{
	for (uint32_t i = 0; i < members->segments.count; i++)
		if (outlived(members, members->segments.at[i], ticks))
			return true;
	return false;
}

void hp_members_remove(struct hp_members *members, uint32_t pid)
{
	struct hp_member **link = &members->buckets[pid % HP_MEMBER_BUCKETS];

	while (*link && (*link)->pid != pid)
		link = &(*link)->next;
	struct hp_member *member = *link;
	if (!member)
		return;
	*link = member->next;
	members->count--;
	if (member->pidfd >= 0) {
		/* By name: a copy of it would remain in the epoll set, readable forever. */
		epoll_ctl(members->epoll, EPOLL_CTL_DEL, member->pidfd, NULL);
		close(member->pidfd);
	} else {
		members->unwatched--;
	}
	if (member->status_fd >= 0)
		close(member->status_fd);
	for (uint32_t i = 0; member->inner_pid != member->pid && i < members->segments.count; i++)
		bury_all(members, members->segments.at[i], member);
	members->suspected++;	/* requests a scan */
	if (member != &members->root)
		free(member);
}

/* The place of this record among the suspects, or a free one; NULL = none. */
static struct hp_suspect *suspect_of(struct hp_members *members, const struct hp_process *record)
{
	uint32_t at = (uint32_t)((uintptr_t)record / HP_LINE * HP_HASH_GOLDEN >> 32);
	struct hp_suspect *stale = NULL;

	for (int i = 0; i < SUSPECT_TRIES; i++) {
		struct hp_suspect *suspect = &members->suspects[(at + (uint32_t)i) % HP_SUSPECTS];

		if (suspect->record == record)
			return suspect;
		if (!stale && (!suspect->record || suspect->scan + 1 < members->scans))
			stale = suspect;
	}
	return stale;
}

/* True if an earlier scan noted this record, unchanged since. Notes it. */
static bool is_dead_twice(struct hp_members *members, const struct hp_process *record)
{
	struct hp_suspect *suspect = suspect_of(members, record);

	members->suspected++;
	if (!suspect)
		return false;
	if (suspect->record == record && suspect->pid == record->pid &&
	    suspect->start_ticks == record->start_ticks && suspect->scan != members->scans) {
		suspect->record = NULL;
		return true;
	}
	*suspect = (struct hp_suspect){ record, record->start_ticks, record->pid, members->scans };
	return false;
}

/* ---- processes named by records ---- */

/* Does the process map this segment? `how`: "" = in any way. */
static bool has_mapped(struct hp_members *members, const struct hp_segment *segment, uint32_t pid,
		       const char *how)
{
	char path[64], wanted[64], *line = NULL;
	uint64_t begin_ns = hp_clock_raw_ns();
	struct stat own;
	size_t room = 0;
	bool is_there = false;
	FILE *in;

	if (fstat(segment->fd, &own) < 0)
		return false;
	snprintf(wanted, sizeof(wanted), " %02x:%02x %llu ", major(own.st_dev), minor(own.st_dev),
		 (unsigned long long)own.st_ino);
	hp_proc_path(path, pid, "maps");
	in = fopen(path, "re");
	while (in && !is_there && getline(&line, &room, in) > 0)
		is_there = strstr(line, wanted) && strstr(line, how);
	free(line);
	if (in)
		fclose(in);
	members->maps_ns += hp_clock_raw_ns() - begin_ns;
	return is_there;
}

/* Then it belongs to the session, whatever records claim. */
static bool has_segment(struct hp_members *members, const struct hp_segment *segment, uint32_t pid)
{
	return members->maps_ns < MAPS_NS && has_mapped(members, segment, pid, "");
}

/*
 * Our stand-in for setuid() removes the mapping after the call: on a busy machine we may look in
 * between.
 */
static bool keeps_mapped(struct hp_members *members, const struct hp_segment *segment, uint32_t pid)
{
	static const struct timespec step = { 0, 2000000 };

	while (members->leave_ns < LEAVE_NS) {
		uint64_t begin_ns = hp_clock_raw_ns();

		if (!has_mapped(members, segment, pid, " rw-s "))
			return false;
		nanosleep(&step, NULL);
		members->leave_ns += hp_clock_raw_ns() - begin_ns;
	}
	return has_mapped(members, segment, pid, " rw-s ");
}

/* Its rights have changed. */
static void judge_mappings(struct hp_members *members, uint32_t pid, const struct hp_level *now)
{
	for (uint32_t i = 0; i < members->segments.count; i++)
		if (!hp_level_is_same(&members->levels[i], now) &&
		    keeps_mapped(members, members->segments.at[i], pid))
			members->is_tainted[i] = true;
}

static bool level_of(const struct hp_member *member, struct hp_level *level)
{
	return member->status_fd < 0 ? hp_level_read(level, member->pid, NULL)
				     : hp_level_again(level, member->status_fd, member->pid, NULL);
}

static void judge(struct hp_members *members, struct hp_member *member)
{
	const struct hp_level *before = member->has_level ? &member->level : &members->levels[0];
	struct hp_level now;

	if (member->judged == members->scans || !level_of(member, &now))
		return;
	if (!hp_level_is_same(before, &now)) {
		/* Then the next scan does it: many processes must not hide one that keeps its mapping. */
		if (members->maps_ns >= MAPS_NS)
			return;
		judge_mappings(members, member->pid, &now);
	}
	member->level = now;
	member->has_level = true;
}

/*
 * A process of our level opens this descriptor itself (segment/session.c).  From now on it finds
 * the socket there instead, and asks.
 */
static void withdraw(const struct hp_members *members)
{
	struct hp_segment *own = members->segments.at[0];
	int fd = own->fd == HP_SAMPLER_SEGMENT_FD ? fcntl(own->fd, F_DUPFD_CLOEXEC, LEVEL_FD) : -1;

	if (fd >= 0 && dup3(HP_SAMPLER_SOCKET_FD, HP_SAMPLER_SEGMENT_FD, O_CLOEXEC) >= 0)
		own->fd = fd;
	else if (fd >= 0)
		close(fd);
}

void hp_members_judge(struct hp_members *members)
{
	/* A process with the fewest rights cannot start one with more. */
	if (!members->has_level || hp_rights_are_least(&members->levels[0].rights))
		return;
	members->maps_ns = members->leave_ns = 0;
	for (int i = 0; i < HP_MEMBER_BUCKETS; i++)
		for (struct hp_member *m = members->buckets[i]; m; m = m->next)
			judge(members, m);
	for (uint32_t i = 0; i < members->segments.count; i++) {
		struct hp_levels *levels = hp_segment_levels(members->segments.at[i]);

		members->is_tainted[i] |= atomic_load(&levels->is_tainted) != 0;
		if (members->is_tainted[i])
			atomic_store(&levels->is_tainted, 1);
	}
	if (members->is_tainted[0])
		withdraw(members);
}

/*
 * Any process of the session can write a record with the pid of any other process.  It is watched,
 * read and signalled only if it has no more rights than us, and the kernel says that it belongs to
 * the session. Without /proc that cannot be checked; but then a helper without privileges could do
 * no harm.
 */
static bool is_of_session(struct hp_members *members, const struct hp_segment *segment,
			  uint32_t pid, struct hp_level *level)
{
	uint32_t parent;

	if (!members->has_level)
		return geteuid() != 0;
	return hp_level_read(level, pid, &parent) && hp_level_rules(&members->levels[0], level) &&
	       (hp_members_find(members, parent) || has_segment(members, segment, pid));
}

/*
 * Only processes of our own level write these records.  One that has executed a program of another
 * user since may have ended before we learned of it over the socket.
 */
static bool has_recorded(const struct hp_members *members, uint32_t pid)
{
	uint64_t start_time = members->is_tainted[0] ? 0 : hp_member_start_time(pid);
	struct hp_process *record = start_time ? first_record(members->segment) : NULL;

	for (int i = 0; record && i < RECORDS_MAX;
	     i++, record = record_at(members->segment, record->next))
		if (is_taken(record) && record->pid == pid && record->starttime == start_time)
			return true;
	return false;
}

bool hp_members_descends(const struct hp_members *members, uint32_t pid)
{
	struct hp_level level;

	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		if (hp_members_find(members, pid) || has_recorded(members, pid))
			return true;
		if (!hp_level_read(&level, pid, &pid))
			return false;
	}
	return false;
}

bool hp_members_admit(struct hp_members *members, uint32_t pid)
{
	struct hp_level level;

	return pid && (hp_members_find(members, pid) || find_inner(members, pid) ||
		       is_of_session(members, members->segment, pid, &level));
}

/* One with our own level need not be judged after this scan. */
static void level_note(const struct hp_members *members, struct hp_member *member,
		       const struct hp_level *level)
{
	if (!members->has_level || !hp_level_is_same(&members->levels[0], level))
		return;
	member->level = *level;
	member->has_level = true;
	member->judged = members->scans;
}

/* Then one without a live process may be that of another PID namespace. */
static bool are_pids_known(const struct hp_members *members, const struct hp_segment *segment)
{
	return !members->foreign &&
	       !atomic_load_explicit(&hp_segment_vacant(segment)->nested, memory_order_relaxed);
}

/* A record without a member: forked and not found yet, from elsewhere, or dead. */
static void meet(struct hp_members *members, const struct hp_segment *segment,
		 struct hp_process *record, uint32_t pid)
{
	struct hp_level level;
	uint64_t start_time;
	bool is_it = is_alive(pid, &start_time) &&
		     (!start_time || !record->starttime || record->starttime == start_time);
	struct hp_member *member = is_it && is_of_session(members, segment, pid, &level)
					   ? hp_members_add(members, pid)
					   : NULL;

	/* One that marked its own end may be found shortly before it is gone. */
	if (member) {
		member->object = record->object;
		member->start_time = start_time;
		level_note(members, member, &level);
	} else if (!is_it && are_pids_known(members, segment) && is_dead_twice(members, record)) {
		bury(members, segment, record);
	}
}

/* Not that of a live process, if those are not to be met in this scan. */
static bool may_meet(struct hp_members *members, uint32_t pid, bool meets)
{
	return spend(members, ASK_STEPS) &&
	       (hp_member_is_gone(pid) || (meets && spend(members, MEET_STEPS)));
}

static void scan(struct hp_members *members, const struct hp_segment *segment, bool meets)
{
	struct hp_process *record = first_record(segment);

	steps_begin(members, segment);
	for (; record && spend(members, 1); record = record_at(segment, record->next)) {
		/* Once: its writer may differ from the process that we checked. */
		uint32_t pid = __atomic_load_n(&record->pid, __ATOMIC_RELAXED);

		if (!is_taken(record) || !pid)
			continue;
		struct hp_member *member = hp_members_find(members, pid);
		if (!member || member->inner_pid != pid)
			member = members->foreign ? find_inner(members, pid) : member;
		if (!member && may_meet(members, pid, meets))
			meet(members, segment, record, pid);
		if (!member || (record->end_ticks && member->object))
			continue;	/* an image that ended by exec */
		member->object = record->object;
		member->start_time = record->starttime;
	}
}

static void scan_all(struct hp_members *members, bool meets)
{
	members->scans++;
	members->maps_ns = 0;
	members->suspected = 0;
	for (uint32_t i = 0; i < members->segments.count; i++)
		scan(members, members->segments.at[i], meets);
}

void hp_members_scan(struct hp_members *members)
{
	scan_all(members, true);
}

void hp_members_scan_ended(struct hp_members *members)
{
	scan_all(members, false);
}

static bool is_gone(struct hp_member *member)
{
	struct pollfd asked = { .fd = member->pidfd, .events = POLLIN };
	uint64_t start_time;

	if (member->pidfd >= 0 && poll(&asked, 1, 0) >= 0)
		return asked.revents != 0;
	if (!is_alive(member->pid, &start_time))
		return true;
	if (!member->start_time)
		member->start_time = start_time;
	return start_time && start_time != member->start_time;
}

void hp_members_poll(struct hp_members *members, bool asks_all,
		     void (*ended)(void *context, uint32_t pid), void *context)
{
	for (int i = 0; (members->unwatched || asks_all) && i < HP_MEMBER_BUCKETS; i++) {
		struct hp_member *next;

		for (struct hp_member *m = members->buckets[i]; m; m = next) {
			uint32_t pid = m->pid;

			next = m->next;
			if ((m->pidfd >= 0 && !asks_all) || !is_gone(m))
				continue;
			ended(context, pid);	/* removes it */
		}
	}
}
