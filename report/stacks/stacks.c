/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - see stacks.h.
 */
#include "report/stacks/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/name/files.h"
#include "segment/layout/process.h"

#define AGAIN_MAX 3	/* extra stops of a thread for parts of its stack in other memory */

static int compare_ns(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void count(struct hp_stacks *stacks)
{
	uint64_t *still = hp_xcalloc(stacks->take.count + 1, sizeof(*still));

	for (size_t i = 0; i < stacks->take.count; i++) {
		const struct hp_taken *thread = &stacks->take.threads[i];

		stacks->busy += thread->outcome == HP_STOP_BUSY;
		stacks->refused += thread->outcome == HP_STOP_REFUSED;
		if (thread->outcome == HP_STOP_DONE)
			still[stacks->taken++] = thread->still_ns;
	}
	if (stacks->taken) {
		qsort(still, stacks->taken, sizeof(*still), compare_ns);
		stacks->still_median_ns = still[stacks->taken / 2];
		stacks->still_longest_ns = still[stacks->taken - 1];
	}
	free(still);
}

/* Records the missing part of a thread's stack; false = nothing more to get. */
static bool want_more(struct hp_taken *thread, const struct hp_stack *stack)
{
	if (stack->end != HP_STACK_CUT)
		return false;
	for (size_t i = 0; i < HP_STACK_COPIES - 1; i++)
		if (!thread->wanted[i]) {
			thread->wanted[i] = stack->missing;
			return true;
		}
	return false;
}

/*
 * Signal handlers and coroutines may have their own stacks: only unwinding
 * shows where the next one is. Then the thread is stopped again, and all parts
 * are taken at that moment.
 */
static void unwind_all(struct hp_stacks *stacks, struct hp_unwinder *unwinder)
{
	stacks->stacks = hp_xcalloc(stacks->take.count + 1, sizeof(*stacks->stacks));
	for (int round = 0; round <= AGAIN_MAX; round++) {
		bool is_more = false;

		for (size_t i = 0; i < stacks->take.count; i++) {
			struct hp_taken *thread = &stacks->take.threads[i];

			if (thread->outcome != HP_STOP_DONE || (round && !thread->wanted[0]))
				continue;
			hp_unwind(unwinder, thread, &stacks->stacks[i]);
			is_more |= round < AGAIN_MAX && want_more(thread, &stacks->stacks[i]);
		}
		if (!is_more)
			return;
		hp_stack_process_refresh(&stacks->process);
		hp_take_again(&stacks->take, &stacks->process);
	}
}

/* The objects in the form needed for name lookups. */
static void names_begin(struct hp_stacks *stacks)
{
	const struct hp_stack_process *process = &stacks->process;
	struct hp_model_object *objects = hp_xcalloc(process->object_count + 1, sizeof(*objects));

	for (size_t i = 0; i < process->object_count; i++) {
		const struct hp_stack_object *from = &process->objects[i];

		objects[i].path = hp_xstrdup(from->file ? from->file : from->path);
		objects[i].kind = HP_OBJECT_ELF;
		objects[i].device = from->device;
		objects[i].inode = from->inode;
		objects[i].is_profiler = from->is_ours;
		objects[i].user = process->user;
	}
	stacks->model.objects = objects;
	stacks->model.object_count = process->object_count;
	stacks->symbols = hp_symbols_new(&stacks->model, hp_files_new(&stacks->model));
	stacks->frames = hp_frames_new(&stacks->model, stacks->symbols, NULL);
}

/*
 * Waiting for silent sessions is pointless for a process without our library.
 * If unreadable, it may have it.
 */
static bool may_be_recorded(const struct hp_stacks *stacks)
{
	for (size_t i = 0; i < stacks->process.object_count; i++)
		if (stacks->process.objects[i].is_ours)
			return true;
	return !stacks->process.object_count;
}

int hp_stacks_init(struct hp_stacks *stacks, pid_t pid, uint64_t started, const char **why)
{
	struct hp_unwinder *unwinder;
	int error;

	*stacks = (struct hp_stacks){ .groups = NULL };
	*why = NULL;
	error = hp_stack_process_init(&stacks->process, pid, started);
	unwinder = error ? NULL : hp_unwinder_new(&stacks->process, why);
	if (!error && !unwinder)
		error = -ENOSYS;
	if (!error) {
		hp_take_init(&stacks->take, &stacks->process);
		error = -stacks->take.error;
	}
	if (error != -ESRCH && error != -ENOENT && may_be_recorded(stacks))
		stacks->recorded = hp_stack_known_new(&stacks->process);
	if (!error) {
		unwind_all(stacks, unwinder);
		count(stacks);
		names_begin(stacks);
		hp_stacks_merge(stacks);
	}
	hp_unwinder_free(unwinder);
	return error;
}

void hp_stacks_release(struct hp_stacks *stacks)
{
	hp_stacks_unmerge(stacks);
	if (stacks->frames)
		hp_frames_free(stacks->frames);
	hp_symbols_free(stacks->symbols);
	for (size_t i = 0; i < stacks->model.object_count; i++)
		free(stacks->model.objects[i].path);
	free(stacks->model.objects);
	for (size_t i = 0; stacks->stacks && i < stacks->take.count; i++)
		hp_stack_release(&stacks->stacks[i]);
	free(stacks->stacks);
	hp_take_release(&stacks->take);
	hp_stack_process_release(&stacks->process);
	hp_stack_known_free(stacks->recorded);
	*stacks = (struct hp_stacks){ .groups = NULL };
}
