/* SPDX-License-Identifier: MIT */
/*
 * member.h - the live processes of the session, and the work after their end.
 *
 * Folder: sampler/session - a session: its processes, their events and timers,
 *   its ports, report and end
 * May use: sampler/base sampler/perf sampler/sample segment segment/layout
 *   util
 *
 * A process becomes a member when it asks for the segment over the socket, or
 * when a scan finds its record in hp_header.processes.  A pidfd reports
 * its end; if the kernel provides none, each scan checks. Then its records
 * and blocks are marked ended and free, so that later processes of the same
 * executable take them over: a killed process cannot do that itself.
 */
#ifndef HP_SAMPLER_SESSION_MEMBER_H
#define HP_SAMPLER_SESSION_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/session/level.h"
#include "segment/segment.h"
#include "segment/layout/process.h"

#define HP_MEMBER_BUCKETS 256
#define HP_SUSPECTS 1024	/* a power of two */

struct hp_member {
	struct hp_member *next;	/* of its bucket */
	uint32_t pid;	/* as the sampler sees it */
	uint32_t inner_pid;	/* as it sees itself, in its own PID namespace */
	uint64_t start_time;	/* field 22 of stat; 0 = not read yet */
	uint64_t object;	/* hp_process.object; 0 = our library is not (yet) loaded in it */
	int pidfd;	/* -1 = none: checked at each scan */
	int status_fd;	/* watcher: /proc/PID/status; -1 = not open */
	uint32_t threads;	/* watcher: known live ones */
	bool is_sampled;	/* perf: looked at */
	bool has_level;
	struct hp_level level;	/* when it was last scanned */
	uint32_t judged;	/* the scan that found it with our own level; 0 = none */
	uint64_t met_ns;	/* perf: when it was first seen; 0 = not yet */
};

/* A record that looked dead; freed if it still does at the next scan. */
struct hp_suspect {
	const struct hp_process *record;	/* NULL = unused */
	uint64_t start_ticks;
	uint32_t pid;
	uint32_t scan;	/* the last one that noted it */
};

struct hp_members {
	const struct hp_segment *segment;	/* the session's own */
	struct hp_segments segments;	/* that one, and those of lower levels */
	struct hp_level levels[1 + HP_LEVELS_MAX];	/* its level; the first is our own */
	bool is_tainted[1 + HP_LEVELS_MAX];	/* a process with fewer rights has written there */
	uint8_t port_requests[1 + HP_LEVELS_MAX];	/* passed on to the session's own segment */
	uint64_t level_size;	/* range of offsets for a further one */
	int epoll;
	uint32_t count;
	uint32_t added;	/* ever */
	uint32_t namespace;	/* inode of our PID namespace; 0 = not known yet */
	uint32_t foreign;	/* members of other PID namespaces, ever */
	uint32_t unwatched;	/* live members without a pidfd */
	uint32_t root_pid;	/* a copy: the header may be overwritten by a broken target */
	bool keep_root;	/* the root's records are not free before the report */
	bool has_level;
	uint32_t scans;
	uint64_t steps;	/* that are left of this scan of a segment */
	uint64_t maps_ns;	/* in this scan: spent on maps of processes, */
	uint64_t leave_ns;	/* and waiting for mappings to go */
	uint32_t suspected;	/* by the last scan */
	struct hp_suspect suspects[HP_SUSPECTS];
	struct hp_member *buckets[HP_MEMBER_BUCKETS];
	struct hp_member root;	/* in its bucket, or unused */
};

/* `members` is zero: it is large, so its pages are not touched here. */
void hp_members_init(struct hp_members *members, struct hp_segment *segment, int epoll);

/*
 * The segment for a process of this level, created if necessary; NULL = it has more rights than
 * us, there are too many levels, or no memory.
 */
struct hp_segment *hp_members_segment(struct hp_members *members, const struct hp_level *level);

/*
 * Does the process have the rights of level `i` now? One that cannot be queried
 * does, if there is only one level.
 */
bool hp_members_is_of_level(const struct hp_members *members, uint32_t pid, uint32_t i);

/* Was the process started by a member, or by one that a member started? */
bool hp_members_descends(const struct hp_members *members, uint32_t pid);

/*
 * Which members have fewer rights than before?  A process that kept its write access has tainted
 * that segment: it is not used any more, and the next process with these rights gets another
 * one.
 */
void hp_members_judge(struct hp_members *members);

/* The settings in the header of the session's own segment are copied to the others, and back. */
void hp_members_pass(struct hp_members *members);

/*
 * A live process with this pid, found or added. NULL if it is gone. Its pidfd
 * wakes the epoll with the pid as data.
 */
struct hp_member *hp_members_add(struct hp_members *members, uint32_t pid);
struct hp_member *hp_members_find(const struct hp_members *members, uint32_t pid);

/* May we examine the process that the segment names: is it a member, or could it be one? */
bool hp_members_admit(struct hp_members *members, uint32_t pid);

/* Searches the segment's list for processes that are new, or ended unnoticed. */
void hp_members_scan(struct hp_members *members);

/* The same for those that ended: new ones may have ended before the next scan, and are not examined. */
void hp_members_scan_ended(struct hp_members *members);

/*
 * The process is dead: forgets it. Later scans mark its leftovers, unless it
 * marked itself.
 */
void hp_members_remove(struct hp_members *members, uint32_t pid);

/* True if a process other than the root ended later than `ticks`. */
bool hp_members_outlived(const struct hp_members *members, uint64_t ticks);

/* Calls `ended` for each dead member without pidfd, or each at all (`asks_all`); it removes the member. */
void hp_members_poll(struct hp_members *members, bool asks_all,
		     void (*ended)(void *context, uint32_t pid), void *context);

/* True if no process has this pid, not even a zombie. */
bool hp_member_is_gone(uint32_t pid);

/* Inode of our PID namespace, 0 = not known. */
uint32_t hp_member_namespace(void);

/* Field 22 of /proc/PID/stat, 0 without such a process. */
uint64_t hp_member_start_time(uint32_t pid);

#endif
