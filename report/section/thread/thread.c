/* SPDX-License-Identifier: MIT */
/*
 * thread.c - see thread.h.
 *
 * The kernel also records a wait for a lock: its futex records are ignored if
 * the thread itself recorded waits.
 */
#include "report/section/thread/thread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/section/cpu/cpu.h"
#include "report/section/wait/lock_section.h"
#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/read/event.h"
#include "report/section/wait/offcpu.h"

#define UNWATCHED 0.25	/* of a thread's lifetime, if more: little is known of it */
#define LEAST 0.01	/* of it, if more: its parts are lower bounds */

static struct hp_thread_row *row_of(struct hp_threads *threads, uint32_t pid, uint32_t tid)
{
	for (size_t i = 0; i < threads->count; i++)
		if (threads->rows[i].thread->tid == tid && threads->rows[i].thread->pid == pid)
			return &threads->rows[i];
	return NULL;
}

/* --- data from the thread --- */

int hp_thread_wait_of(uint32_t kind)
{
	switch (hp_lock_family(kind)) {
	case HP_LOCK_FAMILY_COND:
	case HP_LOCK_FAMILY_SEM:
	case HP_LOCK_FAMILY_BARRIER:
		return HP_WAIT_SIGNAL;
	case HP_LOCK_FAMILY_THREAD:
		return HP_WAIT_THREAD;
	case HP_LOCK_FAMILY_FILE:
		return HP_WAIT_FILE;
	case HP_LOCK_FAMILY_CHANNEL:
		return HP_THREAD_CHANNEL;
	case HP_LOCK_FAMILY_NONE:
	case HP_LOCK_FAMILY_MUTEX:
	case HP_LOCK_FAMILY_RWLOCK:
		break;
	}
	return HP_WAIT_LOCK;
}

static void locks_add(struct hp_report *report, struct hp_threads *threads)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));
	double ns = report->model.ns_per_tick;
	struct hp_thread_row *row;

	for (size_t i = 0; i < locks->thread_count; i++) {
		const struct hp_lock_thread *waiter = &locks->threads[i];

		row = row_of(threads, waiter->pid, waiter->tid);
		if (!row)
			continue;
		row->waiter = waiter;
		for (int j = 0; j < HP_WAIT_CLASSES; j++)
			row->waits_ns[j] += (double)waiter->waited[j] * ns;
	}
	for (size_t i = 0; i < locks->wait_count; i++) {
		const struct hp_lock_wait *wait = &locks->waits[i];

		row = row_of(threads, wait->pid, wait->tid);
		if (row && locks->end_ticks > wait->since)
			row->waits_ns[hp_thread_wait_of(locks->rows[wait->lock].kind)] +=
				(double)(locks->end_ticks - wait->since) * ns;
	}
	for (size_t i = 0; i < locks->birth_count; i++) {
		row = row_of(threads, locks->births[i].pid, locks->births[i].tid);
		if (row)
			row->birth = &locks->births[i];
	}
}

/* --- data from the kernel --- */

struct cause {
	const char *on;	/* of hp_offcpu_cause */
	enum hp_thread_wait wait;
};

static enum hp_thread_wait wait_of(const char *on)
{
	static const struct cause causes[] = {
		{ "pipe", HP_THREAD_CHANNEL }, { "socket", HP_THREAD_CHANNEL },
		{ "disk", HP_THREAD_DISK },    { "poll", HP_THREAD_POLL },
		{ "sleep", HP_THREAD_SLEEP },
	};

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (strcmp(causes[i].on, on) == 0)
			return causes[i].wait;
	return HP_THREAD_OTHER;
}

struct switches {
	struct hp_report *report;
	struct hp_threads *threads;
};

static void event_add(void *context, const struct hp_event *event)
{
	const struct switches *to = context;
	struct hp_report *report = to->report;
	struct hp_thread_row *row;
	const char *on;

	if (event->kind != HP_EVENT_WAIT || event->node >= report->model.sampling.stack_count ||
	    hp_offcpu_is_profiler(report, event->node))
		return;
	row = row_of(to->threads, event->pid, event->tid);
	if (!row)
		return;
	on = event->node ? hp_offcpu_cause(report, event->node) : "-";
	if (hp_offcpu_is_stop(on))
		row->stopped_ns += (double)event->span_ns;
	else if (strcmp(on, "lock") != 0)
		row->waits_ns[wait_of(on)] += (double)event->span_ns;
	else if (!row->waiter)
		row->waits_ns[HP_WAIT_LOCK] += (double)event->span_ns;
}

/* If some could not be recorded, none is used: a share would only cover the recorded part. */
static void switches_add(struct hp_report *report, struct hp_threads *threads)
{
	const struct hp_model_sampling *sampling = &report->model.sampling;

	if (!sampling->is_there || sampling->record.fault || sampling->record.event_lost ||
	    !sampling->record.blocked_ns)
		return;
	hp_report_cpu(report);
	for (size_t i = 0; i < threads->count; i++)
		threads->rows[i].has_switches = true;
	hp_events_each(&report->model, event_add, &(struct switches){ report, threads });
}

/* --- all of it --- */

bool hp_thread_is_watched(const struct hp_thread_row *row)
{
	return row->is_seen && row->unwatched_ns <= UNWATCHED * row->life_ns;
}

bool hp_thread_is_least(const struct hp_thread_row *row)
{
	return row->unwatched_ns > LEAST * row->life_ns;
}

static double since_start_ns(const struct hp_model *model, uint64_t ticks)
{
	uint64_t start = model->reader.header.start.ticks;

	return ticks > start ? (double)(ticks - start) * model->ns_per_tick : 0;
}

/* --- images: a process from one exec to the next --- */

static int compare_images(const void *left, const void *right)
{
	const struct hp_model_process *const *a = left, *const *b = right;

	if ((*a)->pid != (*b)->pid)
		return (*a)->pid < (*b)->pid ? -1 : 1;
	if ((*a)->start_ns != (*b)->start_ns)
		return (*a)->start_ns < (*b)->start_ns ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

static void images_sort(const struct hp_model *model, struct hp_threads *threads)
{
	threads->images = hp_xcalloc(model->process_count + 1, sizeof(*threads->images));
	threads->image_count = model->process_count;
	for (size_t i = 0; i < model->process_count; i++)
		threads->images[i] = &model->processes[i];
	if (model->process_count)
		qsort(threads->images, model->process_count, sizeof(*threads->images),
		      compare_images);
}

/* How many images start before that: earlier processes, and its own until then. */
static size_t images_before(const struct hp_threads *threads, uint32_t pid, double at_ns)
{
	size_t low = 0, high = threads->image_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct hp_model_process *image = threads->images[middle];

		if (image->pid < pid || (image->pid == pid && (double)image->start_ns <= at_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The one in which something happened; NULL = not known. */
static const struct hp_model_process *image_of(const struct hp_threads *threads, uint32_t pid,
					       double at_ns)
{
	size_t before = images_before(threads, pid, at_ns);

	return before && threads->images[before - 1]->pid == pid ? threads->images[before - 1]
								 : NULL;
}

/* --- CPU time of a process's threads --- */

static bool is_first(const struct hp_model_thread *thread)
{
	return thread->tid == thread->pid;
}

static int compare_pids(const void *left, const void *right)
{
	const struct hp_thread_others *a = left, *b = right;

	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* CPU time of all but the first thread of each process. */
static void others_sum(struct hp_threads *threads)
{
	size_t count = 0;

	threads->others = hp_xcalloc(threads->count + 1, sizeof(*threads->others));
	for (size_t i = 0; i < threads->count; i++) {
		const struct hp_thread_row *row = &threads->rows[i];

		threads->others[i] = (struct hp_thread_others){ .pid = row->thread->pid };
		if (is_first(row->thread))
			threads->others[i].firsts = 1;
		else if (row->birth && row->birth->end)
			threads->others[i].cpu_ns = (double)row->birth->cpu_ns;
		else
			threads->others[i].unknown = 1;
	}
	if (threads->count)
		qsort(threads->others, threads->count, sizeof(*threads->others), compare_pids);
	for (size_t i = 0; i < threads->count; i++) {
		const struct hp_thread_others *from = &threads->others[i];
		struct hp_thread_others *to = &threads->others[count ? count - 1 : 0];

		if (!count || to->pid != from->pid) {
			threads->others[count++] = *from;
			continue;
		}
		to->cpu_ns += from->cpu_ns;
		to->firsts += from->firsts;
		to->unknown += from->unknown;
	}
	threads->other_count = count;
}

static const struct hp_thread_others *others_of(const struct hp_threads *threads, uint32_t pid)
{
	const struct hp_thread_others wanted = { .pid = pid };

	return bsearch(&wanted, threads->others, threads->other_count, sizeof(wanted),
		       compare_pids);
}

/*
 * A process's first thread has no record of its end, and is the process's first and last. Its
 * CPU time is what the others leave of the process's, if that is known of all of them.
 */
static bool first_times_set(struct hp_report *report, const struct hp_threads *threads,
			    struct hp_thread_row *row, double *end_ns)
{
	const struct hp_model *model = &report->model;
	uint32_t pid = row->thread->pid;
	double since_ns = (double)row->thread->last_ns - (double)row->thread->life_ns;
	const struct hp_thread_others *others = others_of(threads, pid);
	const struct hp_model_process *last = image_of(threads, pid, HUGE_VAL), *first;

	if (!last || (last->is_running && !report->record.is_live))
		return false;
	first = threads->images[images_before(threads, pid, -1)];
	*end_ns = (double)last->end_ns;
	row->life_ns = *end_ns - (double)first->start_ns;
	/* After exec the same record may be used again, with the start of the new image. */
	if (last->folded && *end_ns - since_ns > row->life_ns)
		row->life_ns = *end_ns - since_ns;
	row->is_ran_least = true;
	/* A process that was killed, which had no other thread or child: it took all of it. */
	if (last->ending == HP_ENDING_NONE && !last->is_running && threads->count == 1 &&
	    model->process_count == 1 && !model->children_cpu_ns &&
	    (double)model->cpu_ns > row->ran_ns)
		row->ran_ns = fmin((double)model->cpu_ns, row->life_ns);
	if (last->is_running || last->folded || last->ending == HP_ENDING_NONE ||
	    last->ending == HP_ENDING_DROP || last->ending == HP_ENDING_EXEC)
		return true;
	if (others->firsts != 1 || others->unknown ||
	    (double)last->cpu_ns - others->cpu_ns < row->ran_ns)
		return true;
	row->ran_ns = (double)last->cpu_ns - others->cpu_ns;
	row->is_ran_least = false;
	return true;
}

/*
 * A thread made by pthread_create that recorded no end was running when its process ended or
 * called exec. Sets life_ns, ran_ns and how far they are known, and the end of it all.
 */
static void end_set(struct hp_report *report, const struct hp_threads *threads,
		    struct hp_thread_row *row, double *end_ns)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));
	const struct hp_model *model = &report->model;
	const struct hp_model_thread *thread = row->thread;
	const struct hp_lock_birth *birth = row->birth;
	const struct hp_model_process *image;
	double start_ns = birth ? since_start_ns(model, birth->start) : 0;

	*end_ns = (double)thread->last_ns;
	row->is_life_least = thread->state == 'x';
	if (birth && birth->end > birth->start) {
		*end_ns = since_start_ns(model, birth->end);
		row->is_life_least = false;
		row->life_ns = (double)(birth->end - birth->start) * model->ns_per_tick;
		/* The sampler's last scan was before its end. */
		if ((double)birth->cpu_ns > row->ran_ns)
			row->ran_ns = (double)birth->cpu_ns;
		return;
	}
	row->is_ran_least = true;
	if (birth) {
		image = image_of(threads, thread->pid, start_ns);
		if (thread->state != 'x')
			*end_ns = since_start_ns(model, locks->end_ticks);
		else if (image && !image->is_running)
			*end_ns = (double)image->end_ns;
		else
			return;
		row->is_life_least = false;
		if (*end_ns > start_ns)
			row->life_ns = *end_ns - start_ns;
	} else if (is_first(thread) && first_times_set(report, threads, row, end_ns)) {
		row->is_life_least = false;
		if (thread->pid == model->reader.header.root_pid) {
			row->life_ns = (double)model->root_ns;
			*end_ns = row->life_ns;
		}
	}
}

/*
 * Waits are recorded until the end. One ends when the thread runs again, so it includes the time
 * for which it was ready: what exceeds both, as scanned, was later.
 */
static void waits_know(struct hp_thread_row *row)
{
	double later_ns = -row->blocked_ns - row->ready_ns;

	for (int i = 0; i < HP_THREAD_WAITS; i++)
		later_ns += row->waits_ns[i];
	if (later_ns <= 0)
		return;
	if (later_ns > row->unwatched_ns)
		later_ns = row->unwatched_ns;
	row->blocked_ns += later_ns;
	row->unwatched_ns -= later_ns;
}

double hp_thread_wait_scale(const struct hp_thread_row *row)
{
	double sum = 0;

	for (int i = 0; i < HP_THREAD_WAITS; i++)
		sum += row->waits_ns[i];
	return sum > row->blocked_ns ? row->blocked_ns / sum : 1;
}

/* The sampler first scans a thread some time after its start, which the thread itself knows. */
static void times_set(struct hp_report *report, const struct hp_threads *threads,
		      struct hp_thread_row *row)
{
	const struct hp_model_thread *thread = row->thread;
	double end_ns, gap_ns, rest_ns, ran_ns = (double)thread->cpu_ns;

	row->ran_ns = ran_ns;
	row->ready_ns = (double)thread->wait_ns;
	row->life_ns = (double)thread->life_ns;
	end_set(report, threads, row, &end_ns);
	if (row->life_ns < row->ran_ns + row->ready_ns)
		row->life_ns = row->ran_ns + row->ready_ns;
	rest_ns = row->life_ns - row->ran_ns - row->ready_ns;
	/* After its last scan it ran for the rest of its CPU time, if that is known. */
	gap_ns = end_ns - (double)thread->last_ns - (row->ran_ns - ran_ns);
	if (!row->is_seen)
		gap_ns = rest_ns;
	row->unwatched_ns = gap_ns < 0 ? 0 : gap_ns > rest_ns ? rest_ns : gap_ns;
	row->blocked_ns = rest_ns - row->unwatched_ns;
	/* The scan of the queue and the switch record are from different moments. */
	if (row->stopped_ns > rest_ns)
		row->stopped_ns = rest_ns;
	row->blocked_ns -= row->stopped_ns;
	if (row->blocked_ns < 0) {
		row->unwatched_ns += row->blocked_ns;
		row->blocked_ns = 0;
	}
	waits_know(row);
}

static bool is_listed(const struct hp_model *model, const struct hp_lock_birth *birth)
{
	if (hp_model_is_folded(model, birth->pid, birth->tid))
		return true;
	for (size_t i = 0; i < model->thread_count; i++)
		if (model->threads[i].tid == birth->tid && model->threads[i].pid == birth->pid)
			return true;
	return false;
}

/*
 * When it ended, whoever recorded that: 0 = it has not, or that is not known. If its process
 * called exec and uses the same record again, only that it did end is known: then its start.
 */
static uint64_t end_of(const struct hp_report *report, const struct hp_threads *threads,
		       const struct hp_lock_birth *birth)
{
	const struct hp_model *model = &report->model;
	double ns = since_start_ns(model, birth->start);
	const struct hp_model_process *image;
	double ticks;

	if (birth->end || report->record.is_live)
		return birth->end;
	image = image_of(threads, birth->pid, ns);
	if (!image)
		return image_of(threads, birth->pid, HUGE_VAL) ? birth->start : 0;
	if (image->is_running || (double)image->end_ns <= ns)
		return 0;
	/* A damaged clock may make it anything. */
	ticks = ((double)image->end_ns - ns) / model->ns_per_tick;
	return ticks < (double)INT64_MAX ? birth->start + (uint64_t)ticks : birth->start;
}

/* Threads that the sampler never saw. */
static void unseen_add(struct hp_report *report, struct hp_threads *threads)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));
	size_t count = 0;
	double ns = report->model.ns_per_tick;

	threads->unseen = hp_xcalloc(locks->birth_count, sizeof(*threads->unseen));
	for (size_t i = 0; i < locks->birth_count; i++) {
		const struct hp_lock_birth *birth = &locks->births[i];
		struct hp_model_thread *thread;
		uint64_t end = end_of(report, threads, birth);
		const char *name;

		if (!end || is_listed(&report->model, birth))
			continue;
		thread = &threads->unseen[count++];
		*thread = (struct hp_model_thread){
			.tid = birth->tid,
			.pid = birth->pid,
			.state = 'x',
			.percent_last = -1,
			.percent_max = -1,
			.percent_average = -1,
			.user_share = -1,
			.cpu_ns = birth->cpu_ns,
			.life_ns = end > birth->start ? hp_whole((double)(end - birth->start) * ns)
						      : 0,
			.last_ns = hp_whole(since_start_ns(&report->model, end)),
			.is_cpu_least = !birth->end,
		};
		name = hp_model_thread_name(&report->model, birth->pid, birth->tid, end);
		if (name)
			memcpy(thread->name, name, sizeof(thread->name));
		if (thread->life_ns && birth->end)
			thread->percent_average =
				100.0 * (double)thread->cpu_ns / (double)thread->life_ns;
		threads->rows[threads->count++].thread = thread;
	}
	threads->unseen_count = count;
}

/*
 * The first thread of a process has no parent; any other one without a recorded start
 * is counted with those without one.
 */
static void unlisted_count(const struct hp_model *model, struct hp_threads *threads,
			   const struct hp_locks *locks)
{
	uint64_t seen = 0, recorded = 0;

	for (size_t i = 0; i < threads->count; i++) {
		const struct hp_thread_row *row = &threads->rows[i];

		seen += row->is_seen && !row->birth && row->thread->tid != row->thread->pid;
	}
	for (size_t i = 0; i < locks->birth_count; i++)
		recorded += hp_model_is_folded(model, locks->births[i].pid, locks->births[i].tid);
	for (size_t i = 0; i < model->folded_count; i++)
		seen += model->folded[i].tid != model->folded[i].pid;
	seen = seen > recorded ? seen - recorded : 0;
	threads->unlisted = locks->birthless > seen ? locks->birthless - seen : 0;
}

static void threads_free(void *held)
{
	struct hp_threads *threads = held;

	free(threads->rows);
	free(threads->unseen);
	free(threads->images);
	free(threads->others);
	free(threads);
}

struct hp_threads *hp_threads_of(struct hp_report *report)
{
	static const struct hp_view_kind kind = { .free = threads_free };
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));
	const struct hp_model *model = &report->model;
	struct hp_threads *threads = hp_views_get(&report->views, &kind);

	if (threads)
		return threads;
	threads = hp_views_add(&report->views, &kind, hp_xcalloc(1, sizeof(*threads)));
	threads->rows =
		hp_xcalloc(model->thread_count + locks->birth_count, sizeof(*threads->rows));
	for (size_t i = 0; i < model->thread_count; i++)
		if (!model->threads[i].folded) {
			threads->rows[threads->count].is_seen = true;
			threads->rows[threads->count++].thread = &model->threads[i];
		}
	images_sort(model, threads);
	unseen_add(report, threads);
	locks_add(report, threads);
	unlisted_count(model, threads, locks);
	switches_add(report, threads);
	others_sum(threads);
	for (size_t i = 0; i < threads->count; i++)
		times_set(report, threads, &threads->rows[i]);
	return threads;
}

/* An ongoing wait may be scanned later; of folded threads it must be known which they are. */
static bool is_past_and_known(const struct hp_report *report)
{
	return report->model.is_folded_known && !report->record.is_live;
}

size_t hp_threads_unseen(struct hp_report *report)
{
	return is_past_and_known(report) ? hp_threads_of(report)->unseen_count : 0;
}

/* Rows of several threads, of which each was scanned. */
static void folded_sum(const struct hp_model *model, struct hp_thread_sums *sums)
{
	for (size_t i = 0; i < model->thread_count; i++) {
		const struct hp_model_thread *thread = &model->threads[i];

		if (!thread->folded)
			continue;
		sums->watched += thread->folded + 1;
		sums->count += thread->folded + 1;
		sums->life_ns += thread->life_ns;
		sums->ready_ns += thread->wait_ns;
		if (thread->life_ns > thread->cpu_ns + thread->wait_ns)
			sums->blocked_ns += thread->life_ns - thread->cpu_ns - thread->wait_ns;
	}
}

/* A thread's ready time is known up to its last scan: of little use if that was early. */
void hp_threads_sum(struct hp_report *report, struct hp_thread_sums *sums)
{
	const struct hp_model *model = &report->model;
	const struct hp_threads *threads;
	uint64_t all_ns = hp_offcpu_stopped_ns(report);
	uint64_t stopped_ns = all_ns < model->blocked_ns ? all_ns : model->blocked_ns;

	*sums = (struct hp_thread_sums){ .life_ns = model->thread_ns,
					 .blocked_ns = model->blocked_ns - stopped_ns,
					 .stopped_ns = all_ns,
					 .watched = model->thread_count,
					 .count = model->thread_count };
	for (size_t i = 0; i < model->thread_count; i++)
		sums->ready_ns += model->threads[i].wait_ns;
	if (model->thread_count + hp_threads_unseen(report) <= 1 || !is_past_and_known(report))
		return;
	threads = hp_threads_of(report);
	*sums = (struct hp_thread_sums){ .stopped_ns = all_ns,
					 .count = threads->count + threads->unlisted,
					 .unlisted = threads->unlisted };
	for (size_t i = 0; i < threads->count; i++) {
		const struct hp_thread_row *row = &threads->rows[i];

		if (!hp_thread_is_watched(row))
			continue;
		sums->watched++;
		sums->life_ns += hp_whole(row->life_ns - row->unwatched_ns);
		sums->ready_ns += hp_whole(row->ready_ns);
		sums->blocked_ns += hp_whole(row->blocked_ns);
	}
	folded_sum(model, sums);
}
