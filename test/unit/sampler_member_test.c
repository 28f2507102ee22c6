/* SPDX-License-Identifier: MIT */
/*
 * sampler_member_test.c - the sampler learns that a process has ended even without a free
 * descriptor.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler/session/member.h"
#include "segment/layout/call.h"
#include "test/test.h"

static struct hp_members members;
static uint32_t ended;

static void note(void *context, uint32_t pid)
{
	(void)context;
	ended = pid;
	hp_members_remove(&members, pid);
}

/* A member that waits for its pipe to be closed; `end` is the end to close. */
static pid_t member_new(int *end)
{
	int ends[2];
	char byte;

	CHECK(pipe(ends) == 0);
	pid_t child = fork();
	if (child == 0) {
		close(ends[1]);
		_exit((int)read(ends[0], &byte, 1));
	}
	close(ends[0]);
	*end = ends[1];
	hp_members_init(&members, NULL, epoll_create1(EPOLL_CLOEXEC));
	CHECK(hp_members_add(&members, (uint32_t)child) != NULL);
	return child;
}

/* Nobody waits for it, so it remains a zombie. */
static void member_end(pid_t child, int end)
{
	siginfo_t info;

	close(end);
	CHECK_EQ(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
}

/* As if too many files were open; `before` is the permitted value. */
static void refuse_files(struct rlimit *before)
{
	struct rlimit none = { 0, 0 };

	getrlimit(RLIMIT_NOFILE, before);
	none.rlim_max = before->rlim_max;
	setrlimit(RLIMIT_NOFILE, &none);
}

TEST(members, a_zombie_has_ended_where_no_file_can_be_opened)
{
	struct rlimit before;
	int end;

	pid_t child = member_new(&end);
	struct hp_member *member = hp_members_find(&members, (uint32_t)child);

	/* As if pidfd_open had been refused. */
	close(member->pidfd);
	member->pidfd = -1;
	members.unwatched = 1;
	refuse_files(&before);
	ended = 0;
	hp_members_poll(&members, false, note, NULL);
	CHECK_EQ(ended, 0);
	member_end(child, end);
	hp_members_poll(&members, false, note, NULL);
	setrlimit(RLIMIT_NOFILE, &before);
	CHECK_EQ(ended, (uint32_t)child);
	CHECK_EQ(members.count, 0);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	close(members.epoll);
}

/* A record as the library makes it. */
static struct hp_process *record_new(struct hp_segment *segment, pid_t pid)
{
	uint64_t offset = hp_segment_take(segment, sizeof(struct hp_process), HP_LINE);
	struct hp_process *record = hp_segment_at(segment, offset, sizeof(*record));

	record->pid = (uint32_t)pid;
	record->starttime = hp_member_start_time((uint32_t)pid);
	atomic_store(&record->state, HP_TAKEN);
	atomic_store(&segment->header->processes, offset);
	return record;
}

/* Its parent may have ended, so no member leads to it. */
TEST(members, one_that_has_a_record_descends_from_the_session)
{
	struct hp_segment segment;
	struct hp_segment_wish wish = { .size = HP_SIZE_MIN };
	int ends[2];
	char byte;

	CHECK(pipe(ends) == 0 && hp_segment_create(&segment, &wish) == 0);
	pid_t child = fork();
	if (child == 0) {
		close(ends[1]);
		_exit((int)read(ends[0], &byte, 1));
	}
	hp_members_init(&members, &segment, epoll_create1(EPOLL_CLOEXEC));
	CHECK(!hp_members_descends(&members, (uint32_t)child));
	struct hp_process *record = record_new(&segment, child);
	CHECK(hp_members_descends(&members, (uint32_t)child));
	members.is_tainted[0] = true;
	CHECK(!hp_members_descends(&members, (uint32_t)child));
	members.is_tainted[0] = false;
	record->starttime++;	/* an earlier process that had this pid */
	CHECK(!hp_members_descends(&members, (uint32_t)child));
	member_end(child, ends[1]);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	close(ends[0]);
	close(members.epoll);
	hp_segment_release(&segment);
}

TEST(members, all_are_asked_where_nothing_wakes_us)
{
	int end;
	pid_t child = member_new(&end);

	ended = 0;
	hp_members_poll(&members, true, note, NULL);
	CHECK_EQ(ended, 0);
	member_end(child, end);
	hp_members_poll(&members, false, note, NULL);
	CHECK_EQ(ended, 0);
	hp_members_poll(&members, true, note, NULL);
	CHECK_EQ(ended, (uint32_t)child);
	CHECK_EQ(members.unwatched, 0);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	close(members.epoll);
}

#define ENDLESS 200

/* Of processes that are gone, each with a list of blocks without end. */
static void endless_new(struct hp_segment *segment, struct hp_process **records)
{
	uint64_t at = hp_segment_take(segment, sizeof(struct hp_block), HP_LINE), next = 0;

	((struct hp_block *)hp_segment_at(segment, at, sizeof(struct hp_block)))->next = at;
	for (int i = 0; i < ENDLESS; i++) {
		records[i] = record_new(segment, INT32_MAX - i);
		records[i]->next = next;
		next = atomic_load(&segment->header->processes);
		atomic_store(&records[i]->blocks, at);
	}
}

static int freed(struct hp_process **records)
{
	int count = 0;

	for (int i = 0; i < ENDLESS; i++)
		count += atomic_load(&records[i]->state) == HP_FREE;
	return count;
}

/* The own one's members could stop us anyway; and whoever may write to the other one may not. */
TEST(members, a_scan_of_a_lower_levels_segment_ends)
{
	struct hp_segment own, lower;
	struct hp_segment_wish wish = { .size = HP_SIZE_MIN };
	struct hp_process *records[ENDLESS];

	CHECK(hp_segment_create(&own, &wish) == 0 && hp_segment_create(&lower, &wish) == 0);
	memset(&members, 0, sizeof(members));
	hp_members_init(&members, &own, epoll_create1(EPOLL_CLOEXEC));
	members.segments.at[members.segments.count++] = &lower;
	endless_new(&lower, records);
	hp_members_scan(&members);
	CHECK_EQ(freed(records), 0);
	hp_members_scan(&members);
	CHECK(freed(records) > 0 && freed(records) < ENDLESS);
	close(members.epoll);
	hp_segment_release(&own);
	hp_segment_release(&lower);
}
