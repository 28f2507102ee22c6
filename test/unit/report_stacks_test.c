/* SPDX-License-Identifier: MIT */
/*
 * report_stacks_test.c - no process is stopped or read but the one that was asked about, also if
 * its pid is given to another one meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/stacks/process.h"
#include "report/stacks/take.h"
#include "test/test.h"

#define TRIES 200	/* others on this machine start processes, too */
#define NOBODY 65534

/* A child that waits until it is killed. */
static pid_t child_new(void)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	CHECK(child > 0);
	return child;
}

static void child_end(pid_t child)
{
	kill(child, SIGKILL);
	CHECK_EQ(waitpid(child, NULL, 0), child);
}

/* A child that does `act` once `end` is closed, and then waits; it has done so if `done` ends. */
static pid_t child_acting(void (*act)(void), int *end, int *done)
{
	int begin[2], did[2];
	char byte;

	CHECK(pipe2(begin, O_CLOEXEC) == 0 && pipe2(did, O_CLOEXEC) == 0);
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(begin[1]);
		if (read(begin[0], &byte, 1) != 0)
			_exit(1);
		act();
		close(did[0]);
		close(did[1]);
		for (;;)
			pause();
	}
	close(begin[0]);
	close(did[1]);
	*end = begin[1];
	*done = did[0];
	return child;
}

static void another_program(void)
{
	execl("/bin/sleep", "sleep", "1000", (char *)NULL);
}

static void another_user(void)
{
	CHECK_EQ(setuid(NOBODY), 0);
}

/* Is it still the same once it has done `act`? */
static bool is_same_after(void (*act)(void))
{
	struct hp_stack_process process;
	int end, done;
	char byte;
	pid_t child = child_acting(act, &end, &done);

	CHECK_EQ(hp_stack_process_init(&process, child, 0), 0);
	CHECK(hp_stack_process_is_same(&process));
	close(end);
	CHECK_EQ(read(done, &byte, 1), 0);
	bool is_same = hp_stack_process_is_same(&process);
	CHECK_EQ(hp_stack_process_refresh(&process), is_same ? 0 : -ESRCH);
	hp_stack_process_release(&process);
	close(done);
	child_end(child);
	return is_same;
}

static void nothing(void)
{
}

TEST(stacks, a_process_is_the_same_until_it_ends)
{
	struct hp_stack_process process, later;
	pid_t child = child_new();

	CHECK_EQ(hp_stack_process_init(&process, child, 0), 0);
	CHECK(hp_stack_process_is_same(&process));
	CHECK(hp_stack_process_has(&process, child));
	CHECK(!hp_stack_process_has(&process, getpid()));
	CHECK_EQ(hp_stack_process_init(&later, child, process.identity.started), 0);
	hp_stack_process_release(&later);
	CHECK_EQ(hp_stack_process_init(&later, child, process.identity.started + 1), -ESRCH);
	child_end(child);
	CHECK(!hp_stack_process_is_same(&process));
	CHECK(!hp_stack_process_has(&process, child));
	CHECK_EQ(hp_stack_process_refresh(&process), -ESRCH);
	hp_stack_process_release(&process);
}

TEST(stacks, a_process_is_another_one_after_exec)
{
	CHECK(is_same_after(nothing));
	CHECK(!is_same_after(another_program));
}

TEST(stacks, a_process_is_another_one_with_another_user)
{
	if (geteuid() != 0)
		SKIP("needs root");
	CHECK(!is_same_after(another_user));
}

/* The next process gets this pid, if nobody else starts one before. */
static bool next_pid_set(pid_t pid)
{
	FILE *file = fopen("/proc/sys/kernel/ns_last_pid", "w");

	if (!file)
		return false;
	fprintf(file, "%d", (int)pid - 1);
	return fclose(file) == 0;
}

/* Describes a process, and gives its pid to another one, which is returned. */
static pid_t pid_reused(struct hp_stack_process *process)
{
	for (int i = 0; i < TRIES; i++) {
		pid_t first = child_new();

		CHECK_EQ(hp_stack_process_init(process, first, 0), 0);
		child_end(first);
		if (!next_pid_set(first))
			SKIP("needs CAP_CHECKPOINT_RESTORE to choose a pid");
		pid_t second = child_new();
		if (second == first)
			return second;
		child_end(second);
		hp_stack_process_release(process);
	}
	SKIP("others start too many processes");
}

TEST(stacks, a_process_that_got_the_pid_meanwhile_is_not_looked_at)
{
	struct hp_stack_process process;
	struct hp_take take;
	pid_t other = pid_reused(&process);

	hp_take_init(&take, &process);
	CHECK(take.error != 0);
	for (size_t i = 0; i < take.count; i++)
		CHECK(take.threads[i].outcome != HP_STOP_DONE && !take.threads[i].copy_count);
	hp_take_release(&take);
	/* Somebody knew its thread before. */
	take = (struct hp_take){ .threads = calloc(1, sizeof(*take.threads)), .count = 1 };
	take.threads[0] = (struct hp_taken){ .tid = other, .wanted = { 4096 } };
	hp_take_again(&take, &process);
	CHECK_EQ(take.threads[0].outcome, HP_STOP_GONE);
	CHECK_EQ(take.threads[0].copy_count, 0);
	CHECK_EQ(take.threads[0].still_ns, 0);
	hp_take_release(&take);
	hp_stack_process_release(&process);
	child_end(other);
}

TEST(stacks, a_thread_of_another_process_is_left_out)
{
	struct hp_stack_process process;
	struct hp_take take;
	pid_t child = child_new(), other = child_new();

	CHECK_EQ(hp_stack_process_init(&process, child, 0), 0);
	hp_take_init(&take, &process);
	if (take.error == EPERM)
		SKIP("ptrace is not permitted");
	CHECK_EQ(take.error, 0);
	CHECK_EQ(take.count, 1);
	/* As if a thread had ended, and its tid were now the other's. */
	take.threads = realloc(take.threads, 3 * sizeof(*take.threads));
	take.threads[2] = take.threads[0];
	take.threads[0] = take.threads[1] = (struct hp_taken){ .tid = other, .wanted = { 4096 } };
	take.threads[2].wanted[0] = hp_registers_sp(&take.threads[2].registers);
	take.threads[2].taken_ns = 0;
	take.count = 3;
	hp_take_again(&take, &process);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(take.threads[i].outcome, HP_STOP_GONE);
		CHECK_EQ(take.threads[i].copy_count, 0);
		CHECK_EQ(take.threads[i].still_ns, 0);
	}
	CHECK_EQ(take.threads[2].outcome, HP_STOP_DONE);
	CHECK(take.threads[2].taken_ns != 0);
	/* It is free again: only one process can trace it. */
	CHECK_EQ(ptrace(PTRACE_SEIZE, other, NULL, NULL), 0);
	hp_take_release(&take);
	hp_stack_process_release(&process);
	child_end(child);
	child_end(other);
}
