/* SPDX-License-Identifier: MIT */
/*
 * time.c - where the threads' time went.
 */
#include <stdlib.h>
#include <string.h>

#include "report/section/answer/answer.h"
#include "report/section/thread/thread.h"
#include "report/section/wait/lock_section.h"
#include "report/section/wait/offcpu.h"

#define IDLE 0.9	/* of its lifetime: a thread that waits on a condition, and */
#define IDLE_RAN 0.001	/* runs for no more than that */
#define JOINER 0.5	/* of its lifetime: a thread that does little else than wait for others */

static const char *const wait_texts[HP_THREAD_WAITS] = {
	[HP_WAIT_LOCK] = "lock",      [HP_WAIT_SIGNAL] = "condition",	 [HP_WAIT_THREAD] = "join",
	[HP_WAIT_FILE] = "file lock", [HP_THREAD_DISK] = "disk",	 [HP_THREAD_POLL] = "poll",
	[HP_THREAD_SLEEP] = "sleep",  [HP_THREAD_OTHER] = "other waits",
};

static bool is_joiner(const struct hp_thread_row *row)
{
	return row->waits_ns[HP_WAIT_THREAD] >= JOINER * row->life_ns;
}

/* A thread of a pool, say, that had nothing to do. */
static bool is_idle(const struct hp_thread_row *row)
{
	return row->ran_ns < IDLE_RAN * row->life_ns &&
	       row->waits_ns[HP_WAIT_SIGNAL] >= IDLE * row->life_ns;
}

static bool is_counted(const struct hp_thread_row *row)
{
	return row->life_ns > 0 && !is_joiner(row) && !is_idle(row);
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

const char hp_answer_ready[] = "ready without a core";

struct sums {
	double ran_ns;
	double ready_ns;
	double stopped_ns;
	double waits_ns[HP_THREAD_WAITS];
	double waited_ns;	/* for an unknown cause, */
	double idle_ns;	/* or if it did not wait for a core */
	double unknown_ns;	/* or did not run */
};

static void row_add(const struct hp_thread_row *row, struct hp_answer_time *time, struct sums *sums)
{
	double left_ns = row->blocked_ns, scale = hp_thread_wait_scale(row);

	time->threads++;
	time->life_ns += row->life_ns;
	sums->ran_ns += row->ran_ns;
	sums->ready_ns += row->ready_ns;
	sums->stopped_ns += row->stopped_ns;
	for (int i = 0; i < HP_THREAD_WAITS; i++) {
		double ns = scale * row->waits_ns[i];

		sums->waits_ns[i] += ns;
		left_ns -= ns;
	}
	sums->waited_ns += left_ns > 0 ? left_ns : 0;
	*(row->is_ran_least ? &sums->unknown_ns : &sums->idle_ns) += row->unwatched_ns;
}

static void part_add(struct hp_answer_time *time, const char *what, double ns)
{
	size_t at = time->count;

	if (ns <= 0 || at == HP_ANSWER_PARTS)
		return;
	for (; at > 0 && time->parts[at - 1].ns < ns; at--)
		time->parts[at] = time->parts[at - 1];
	time->parts[at] = (struct hp_answer_part){ what, ns };
	time->count++;
}

/* Causes with a name of their own that are among the other waits of a thread. */
static const struct other {
	const char *on;	/* of hp_offcpu_cause */
	const char *text;
} others[] = { { "child", "child processes" }, { "signal", "signal" } };

static double waited_on(struct hp_report *report, const char *on)
{
	const struct hp_model_sampling *sampling = &report->model.sampling;
	double ns = 0;

	for (uint32_t i = 1; sampling->is_there && i < sampling->stack_count; i++)
		if (sampling->stacks[i].waits && !hp_offcpu_is_profiler(report, i) &&
		    strcmp(hp_offcpu_cause(report, i), on) == 0)
			ns += (double)sampling->stacks[i].blocked_ns;
	return ns;
}

/* A wait that has not ended may be for a queue of the program's. */
static bool is_queue_possible(struct hp_report *report)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));

	for (size_t i = 0; i < locks->wait_count; i++)
		if (locks->rows[locks->waits[i].lock].kind == HP_LOCK_CHANNEL)
			return true;
	return false;
}

static const char *channel_text(struct hp_report *report)
{
	bool has_pipe = waited_on(report, "pipe") > 0, has_socket = waited_on(report, "socket") > 0;

	if (is_queue_possible(report) || (!has_pipe && !has_socket))
		return "channel";
	if (has_pipe && has_socket)
		return "pipe or socket";
	return has_pipe ? "pipe" : "socket";
}

static void others_add(struct hp_report *report, struct hp_answer_time *time, struct sums *sums)
{
	double *left_ns = &sums->waits_ns[HP_THREAD_OTHER];

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		double ns = least(waited_on(report, others[i].on), *left_ns);

		*left_ns -= ns;
		part_add(time, others[i].text, ns);
	}
}

void hp_answer_time_make(struct hp_report *report, struct hp_answer *answer)
{
	const struct hp_threads *threads = hp_threads_of(report);
	struct hp_answer_time *time = &answer->time;
	struct sums sums = { .ran_ns = 0 };
	size_t counted = 0;

	for (size_t i = 0; i < threads->count; i++)
		counted += is_counted(&threads->rows[i]);
	for (size_t i = 0; i < threads->count; i++) {
		const struct hp_thread_row *row = &threads->rows[i];

		if (row->life_ns <= 0)
			time->unknown++;
		else if (!counted || is_counted(row))
			row_add(row, time, &sums);
		else
			time->idle += !is_joiner(row);
	}
	time->unknown += threads->unlisted;
	part_add(time, "running", sums.ran_ns);
	part_add(time, hp_answer_ready, sums.ready_ns);
	part_add(time, "stopped by a signal", sums.stopped_ns);
	sums.waits_ns[HP_THREAD_OTHER] += sums.waited_ns;
	others_add(report, time, &sums);
	for (int i = 0; i < HP_THREAD_WAITS; i++)
		part_add(time, i == HP_THREAD_CHANNEL ? channel_text(report) : wait_texts[i],
			 sums.waits_ns[i]);
	part_add(time, "blocked or ready", sums.idle_ns);
	part_add(time, "not watched", sums.unknown_ns);
}
