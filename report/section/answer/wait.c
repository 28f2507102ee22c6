/* SPDX-License-Identifier: MIT */
/*
 * wait.c - causes of the threads' waits: locks and channels as recorded by threads, and
 * other causes from the kernel's switch records.
 *
 * A wait for a lock is a wait of the kernel's, too: of that, only what threads did not record
 * themselves is left, such as waits that were going on at the end.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/answer/answer.h"
#include "report/section/answer/owner.h"
#include "report/section/thread/thread.h"
#include "report/section/wait/lock_view.h"
#include "report/section/wait/offcpu.h"

#define ROW_MIN 0.03	/* of the wall time, for a row */
#define MATTERS 0.1 /* share of the longest waiting thread's waits from which others are listed */
#define IDLE_MIN 0.25 /* of the wall time, on average: whoever waits so long has nothing to do */
#define ONE_HOLDER 0.9 /* of a wait for a lock: nobody else matters */
#define USUAL 0.9	/* of the waits whose stack was recorded */
#define COVERS 0.5	/* of the kernel's waits of a kind: those that threads told are all of them */

/* Waits of the kernel's records, by owner and cause. */
struct cause_row {
	uint32_t function;
	const char *on;
	bool is_join;
	uint64_t count;
	uint64_t ns;
	bool is_estimated;
};

struct causes {
	struct cause_row *rows;
	size_t count;
	size_t room;
};

/* Recorded by threads, ns. */
struct told {
	double locks_ns;	/* all but channels */
	double channels_ns;
};

/* A wait, and who held the lock meanwhile. */
struct held {
	struct hp_answer_wait row;
	char *holder;	/* NULL = not known, or nobody */
	double holder_ns;	/* of row.ns */
	bool is_channel;	/* recorded by threads: for a channel, not a lock */
};

/* All rows: those that read the same become one, and the longest are shown. */
struct rows {
	struct held *list;
	size_t count;
	size_t room;
};

static void held_free(struct held *held)
{
	free(held->row.who);
	free(held->row.what);
	free(held->holder);
}

static bool is_text_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_same(const struct held *a, const struct held *b)
{
	return is_text_same(a->row.what, b->row.what) && is_text_same(a->row.who, b->row.who);
}

/* Adds `more`, which is released, to `known`, whose holder stays. */
static void held_merge(struct held *known, struct held *more)
{
	struct hp_answer_wait *row = &known->row;

	row->ns += more->row.ns;
	row->count += more->row.count;
	row->most_ns = more->row.most_ns > row->most_ns ? more->row.most_ns : row->most_ns;
	row->is_estimated |= more->row.is_estimated;
	held_free(more);
}

/* Takes over the texts. */
static void row_add(struct rows *rows, struct hp_answer_wait row, char *holder, bool is_channel)
{
	struct held held = { row, holder, holder ? row.ns : 0, is_channel };

	for (size_t i = 0; i < rows->count; i++) {
		struct held *known = &rows->list[i];

		if (!is_same(known, &held) || !is_text_same(known->holder, holder))
			continue;
		known->holder_ns += held.holder_ns;
		held_merge(known, &held);
		return;
	}
	rows->list = hp_xgrow(rows->list, rows->count, &rows->room, sizeof(*rows->list));
	rows->list[rows->count++] = held;
}

/* One row for a function and a lock, with the holder that the function waited for most. */
static void holders_merge(struct rows *rows)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++) {
		struct held *held = &rows->list[i];
		size_t k = 0;

		while (k < kept && !is_same(&rows->list[k], held))
			k++;
		if (k == kept) {
			rows->list[kept++] = *held;
			continue;
		}
		if (held->holder_ns > rows->list[k].holder_ns) {
			struct held other = rows->list[k];

			rows->list[k] = *held;
			*held = other;
		}
		held_merge(&rows->list[k], held);
	}
	rows->count = kept;
}

static void holder_tell(struct held *held)
{
	bool is_one = held->holder_ns >= ONE_HOLDER * held->row.ns;
	char *what = held->row.what;

	if (!held->holder)
		return;
	held->row.what =
		hp_xprintf("%s, %sheld by %s", what, is_one ? "" : "mostly ", held->holder);
	free(what);
	free(held->holder);
	held->holder = NULL;
}

/* A thread without work during the complete run matters less than one that waited for something. */
static int compare_rows(const void *left, const void *right)
{
	const struct hp_answer_wait *a = &((const struct held *)left)->row;
	const struct hp_answer_wait *b = &((const struct held *)right)->row;

	if (a->is_idle != b->is_idle)
		return a->is_idle ? 1 : -1;
	if (a->ns > b->ns || a->ns < b->ns)
		return a->ns > b->ns ? -1 : 1;
	return strcmp(a->what, b->what);
}

/* A lock that is held all the time is not idleness. */
static bool is_idle(const struct hp_answer_wait *row, double wall_ns)
{
	static const char *const starts[] = { "cond", "lock or condition", "poll", "signal" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (strncmp(row->what, starts[i], strlen(starts[i])) == 0)
			return row->ns >= IDLE_MIN * wall_ns * (double)row->count;
	return false;
}

static void rows_end(struct rows *rows, struct hp_answer *answer)
{
	holders_merge(rows);
	for (size_t i = 0; i < rows->count; i++) {
		rows->list[i].row.is_idle = is_idle(&rows->list[i].row, answer->wall_ns);
		holder_tell(&rows->list[i]);
	}
	if (rows->count)
		qsort(rows->list, rows->count, sizeof(*rows->list), compare_rows);
	for (size_t i = 0; i < rows->count; i++) {
		if (answer->wait_count < HP_ANSWER_WAITS)
			answer->waits[answer->wait_count++] = rows->list[i].row;
		else
			held_free(&rows->list[i]);
	}
	free(rows->list);
}

static bool is_worth(const struct hp_answer *answer, double ns)
{
	return ns > 0 && ns >= ROW_MIN * answer->wall_ns;
}

/* --- recorded by threads --- */

/* "function (file.c:12)", or if that is a wrapper of a lock its caller. */
static char *place_text(struct hp_report *report, const struct hp_lock_place *place, uint32_t path)
{
	char *whole = hp_lock_holder_text(report, place, path);
	char *text = hp_answer_path(report, whole);

	free(whole);
	return text;
}

static char *holder_text(struct hp_report *report, const struct hp_lock_contest *contest)
{
	const struct hp_lock_row *lock = &hp_lock_view(report)->locks.rows[contest->lock];

	if (lock->kind == HP_LOCK_CHANNEL || !contest->holder.address)
		return NULL;
	return place_text(report, &contest->holder, contest->from);
}

static void contest_add(struct hp_report *report, struct rows *rows,
			const struct hp_lock_contest *contest)
{
	double tick_ns = report->model.ns_per_tick;

	row_add(rows,
		(struct hp_answer_wait){
			.who = place_text(report, &contest->at, contest->path),
			.what = hp_answer_lock_kind(
				report, &hp_lock_view(report)->locks.rows[contest->lock],
				contest->side),
			.ns = (double)contest->ticks * tick_ns,
			.most_ns = (double)contest->most * tick_ns,
			.count = contest->count,
		},
		holder_text(report, contest),
		hp_lock_view(report)->locks.rows[contest->lock].kind == HP_LOCK_CHANNEL);
}

static struct told told_add(struct hp_report *report, const struct hp_answer *answer,
			    struct rows *rows)
{
	const struct hp_lock_view *view = hp_lock_view(report);
	struct told told = { .locks_ns = 0 };

	for (size_t i = 0; i < view->wait_count; i++) {
		const struct hp_lock_contest *contest = &view->waits[i].sum;
		uint32_t kind = view->locks.rows[contest->lock].kind;
		double ns = (double)contest->ticks * report->model.ns_per_tick;

		if (kind == HP_LOCK_CHANNEL)
			told.channels_ns += ns;
		else
			told.locks_ns += ns;
		if (kind != HP_LOCK_THREAD && is_worth(answer, ns) &&
		    !hp_answer_is_launch(answer, contest->at.object))
			contest_add(report, rows, contest);
	}
	return told;
}

/* --- waits that the kernel reported --- */

static void cause_add(struct causes *causes, const struct cause_row *row)
{
	for (size_t i = 0; i < causes->count; i++) {
		struct cause_row *known = &causes->rows[i];

		if (known->function != row->function || strcmp(known->on, row->on) != 0 ||
		    known->is_join != row->is_join)
			continue;
		known->ns += row->ns;
		known->count += row->count;
		known->is_estimated |= row->is_estimated;
		return;
	}
	causes->rows = hp_xgrow(causes->rows, causes->count, &causes->room, sizeof(*causes->rows));
	causes->rows[causes->count++] = *row;
}

static void causes_find(struct hp_report *report, struct causes *causes)
{
	const struct hp_model_sampling *sampling = &report->model.sampling;
	const struct hp_owners *owners = hp_owners_of(report);

	for (uint32_t i = 0; i < owners->count; i++) {
		const struct hp_model_stack *stack = &sampling->stacks[i];
		const struct cause_row row = { .function = owners->of_stack[i].function,
					       .on = i ? hp_offcpu_cause(report, i) : "-",
					       .is_join = owners->of_stack[i].is_join,
					       .count = stack->waits,
					       .ns = stack->blocked_ns,
					       .is_estimated = stack->guessed_ns > 0 };

		if (stack->waits && !hp_offcpu_is_profiler(report, i) && !hp_offcpu_is_stop(row.on))
			cause_add(causes, &row);
	}
}

static double sum_on(const struct causes *causes, const char *a, const char *b)
{
	double ns = 0;

	for (size_t i = 0; i < causes->count; i++)
		if (strcmp(causes->rows[i].on, a) == 0 || strcmp(causes->rows[i].on, b) == 0)
			ns += (double)causes->rows[i].ns;
	return ns;
}

static bool is_channel(const char *on)
{
	return strcmp(on, "pipe") == 0 || strcmp(on, "socket") == 0;
}

static char *cause_text(const char *on)
{
	static const char *const texts[][2] = {
		{ "lock", "lock or condition" },
		{ "child", "child process" },
		{ "memory", "memory (page faults)" },
		{ "other", "something else" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcmp(texts[i][0], on) == 0)
			return hp_xstrdup(texts[i][1]);
	return hp_xstrdup(on);
}

/* The cause of nearly all waits whose stack was recorded; NULL = there are several. */
static const char *usual_cause(const struct causes *causes)
{
	const struct cause_row *most = NULL;
	double known_ns = 0;

	for (size_t i = 0; i < causes->count; i++) {
		const struct cause_row *row = &causes->rows[i];

		if (strcmp(row->on, "-") == 0)
			continue;
		known_ns += (double)row->ns;
		if (row->ns > (most ? most->ns : 0))
			most = row;
	}
	return most && sum_on(causes, most->on, most->on) >= USUAL * known_ns ? most->on : NULL;
}

static char *nowhere_text(const struct causes *causes)
{
	const char *usual = usual_cause(causes);
	char *cause = usual ? cause_text(usual) : NULL;
	char *text = cause ? hp_xprintf("place not recorded (where known: %s)", cause)
			   : hp_xstrdup("place not recorded");

	free(cause);
	return text;
}

/* The class of a thread's waits that a cause is in. */
static enum hp_thread_wait class_of(const char *on)
{
	if (is_channel(on))
		return HP_THREAD_CHANNEL;
	if (strcmp(on, "disk") == 0)
		return HP_THREAD_DISK;
	if (strcmp(on, "poll") == 0)
		return HP_THREAD_POLL;
	return strcmp(on, "sleep") == 0 ? HP_THREAD_SLEEP : HP_THREAD_OTHER;
}

/* For waits without a function: the threads that waited, by name if they have one; fresh. */
static char *thread_of(struct hp_report *report, const char *on)
{
	const struct hp_threads *threads = hp_threads_of(report);
	const struct hp_thread_row *most = NULL;
	enum hp_thread_wait class = class_of(on);
	size_t count = 0, named = 0;
	char *name, *text;

	for (size_t i = 0; i < threads->count; i++) {
		const struct hp_thread_row *row = &threads->rows[i];

		if (row->waits_ns[class] > (most ? most->waits_ns[class] : 0))
			most = row;
	}
	for (size_t i = 0; most && i < threads->count; i++) {
		const struct hp_thread_row *row = &threads->rows[i];

		if (row->waits_ns[class] < MATTERS * most->waits_ns[class])
			continue;
		count++;
		named += strcmp(row->thread->name, most->thread->name) == 0;
	}
	if (!count || (count == 1 && !most->thread->name[0]))
		return NULL;
	if (named < count || !most->thread->name[0])
		return hp_xprintf("[%zu threads]", count);
	name = hp_text_clean(most->thread->name);
	text = count == 1 ? hp_xprintf("[thread %s]", name)
			  : hp_xprintf("[%zu threads %s]", count, name);
	free(name);
	return text;
}

static bool is_launch(struct hp_report *report, const struct hp_answer *answer, uint32_t function)
{
	return function != HP_NONE &&
	       hp_answer_is_launch(answer, hp_report_cpu(report)->functions[function].object);
}

/* The place of a recorded wait may have a line: "function (file.c:12)". */
static bool is_place_in(const char *place, const char *function)
{
	size_t length = function ? strlen(function) : 0;

	return place && function && strncmp(place, function, length) == 0 &&
	       (!place[length] || strncmp(place + length, " (", 2) == 0);
}

/* Without the waits of the same function in the first `told` rows, which threads recorded. */
static void told_subtract(const struct rows *rows, size_t told, const char *who,
			  struct cause_row *row)
{
	for (size_t i = 0; i < told; i++) {
		const struct held *held = &rows->list[i];

		if (held->is_channel != is_channel(row->on) || !is_place_in(held->row.who, who))
			continue;
		row->ns -= (double)row->ns > held->row.ns ? (uint64_t)held->row.ns : row->ns;
		row->count -= row->count > held->row.count ? held->row.count : row->count - 1;
	}
}

static void cause_row_add(struct hp_report *report, const struct hp_answer *answer,
			  const struct causes *causes, struct cause_row row, size_t told,
			  struct rows *rows)
{
	bool is_nowhere = strcmp(row.on, "-") == 0;
	char *who = row.function == HP_NONE ? thread_of(report, row.on)
					    : hp_answer_function(report, row.function);

	if (strcmp(row.on, "lock") == 0 || is_channel(row.on))
		told_subtract(rows, told, who, &row);
	if (!is_worth(answer, (double)row.ns)) {
		free(who);
		return;
	}
	row_add(rows,
		(struct hp_answer_wait){
			.who = who,
			.what = is_nowhere ? nowhere_text(causes) : cause_text(row.on),
			.ns = (double)row.ns,
			.count = row.count,
			.is_estimated = row.is_estimated,
			.is_nowhere = is_nowhere,
		},
		NULL, false);
}

static void kernel_add(struct hp_report *report, const struct hp_answer *answer,
		       const struct told *told, struct rows *rows)
{
	struct causes causes = { .rows = NULL };
	size_t told_rows = rows->count;
	bool has_locks, has_channels;

	causes_find(report, &causes);
	has_locks = told->locks_ns >= COVERS * sum_on(&causes, "lock", "lock");
	has_channels = told->channels_ns >= COVERS * sum_on(&causes, "pipe", "socket");
	for (size_t i = 0; i < causes.count; i++) {
		const struct cause_row *row = &causes.rows[i];

		if (row->is_join || !is_worth(answer, (double)row->ns) ||
		    is_launch(report, answer, row->function) ||
		    (has_locks && strcmp(row->on, "lock") == 0) ||
		    (has_channels && is_channel(row->on)))
			continue;
		cause_row_add(report, answer, &causes, *row, told_rows, rows);
	}
	free(causes.rows);
}

void hp_answer_waits_make(struct hp_report *report, struct hp_answer *answer)
{
	struct rows rows = { .list = NULL };
	struct told told = told_add(report, answer, &rows);

	if (report->model.sampling.is_there && report->model.sampling.record.blocked_ns)
		kernel_add(report, answer, &told, &rows);
	rows_end(&rows, answer);
}
