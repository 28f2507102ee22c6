/* SPDX-License-Identifier: MIT */
/*
 * loop.c - see loop.h.
 *
 * The segment has each thread's waits at each call.  One is an event loop if the program or its
 * library declares it, if its events came from several descriptors, or if it has timers
 * (has_timers).  A client that polls for one answer has neither.  Waits inside a
 * client library (libcurl, libpq) do not count, whatever their cause.
 */
#include "report/section/loop/loop.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/name/symbol.h"
#include "report/read/logged.h"
#include "report/read/model.h"
#include "report/section/loop/ran.h"
#include "report/section/wait/lock_path.h"
#include "report/section/wait/lock_section.h"
#include "segment/layout/process.h"

#define EXPIRED_MIN 4	/* waits that ended by their timeout, for a loop that only has timers */
#define LONGEST_MAX 20	/* busy spans that are kept of all loops */

struct view {
	struct hp_loops loops;
	struct hp_lock_paths paths;
	struct hp_map objects;	/* offset of a hp_object -> place + 1 */
	size_t room;
	size_t span_room;
};

struct build {
	struct hp_report *report;
	struct view *view;
	uint32_t pid;	/* of the process that is read */
	uint64_t end_ticks;	/* the same */
	bool is_running;
};

/* --- names --- */

struct library {
	const char *kind;
	const char *file;	/* how the name of its file begins */
	const char *runs;	/* the function that runs the loop */
	const char *prefix;	/* its other functions */
};

static const struct library libraries[] = {
	{ "libuv", "libuv.", "uv_run", "uv__" },
	{ "GLib", "libglib-2", "g_main_loop_run", "g_main_context_" },
	{ "libevent", "libevent", "event_base_loop", "event_base_" },
	{ "libev", "libev.", "ev_run", "ev_run" },
};

static const char *const clients[] = { "libcurl", "libpq.", "libmariadb", "libmysqlclient" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static const char *file_of(const struct hp_report *report, const struct hp_lock_place *site)
{
	return site->object == HP_NONE ? ""
				       : hp_name_file(report->model.objects[site->object].path);
}

static const struct library *library_named(const char *function)
{
	for (size_t i = 0; function && i < COUNT(libraries); i++)
		if (strcmp(function, libraries[i].runs) == 0 ||
		    begins(function, libraries[i].prefix))
			return &libraries[i];
	return NULL;
}

/* From the file that waits, or from its callers. */
static const struct library *library_of(struct build *b, const struct hp_loop_row *row)
{
	const char *file = file_of(b->report, &row->site);
	const struct hp_symbol_spot *spot = hp_lock_code(b->report, &row->site);
	const struct library *found = library_named(spot ? spot->name : NULL);
	const struct hp_lock_path *path =
		row->path == HP_NONE ? NULL : &b->view->paths.all[row->path];

	for (size_t i = 0; i < COUNT(libraries); i++)
		if (begins(file, libraries[i].file))
			return &libraries[i];
	for (size_t i = 0; !found && path && i < path->count; i++) {
		spot = hp_lock_code(b->report, &path->places[i]);
		found = library_named(spot ? spot->name : NULL);
	}
	return found;
}

static bool is_client(const struct hp_report *report, const struct hp_loop_row *row)
{
	const char *file = file_of(report, &row->site);

	for (size_t i = 0; i < COUNT(clients); i++)
		if (begins(file, clients[i]))
			return true;
	return false;
}

/*
 * A client that polls for its answer has one timeout. A loop whose timers have one length, such
 * as Python's asyncio with a self-pipe, also checks for events without waiting while it has
 * work; and one that reads a timerfd has timers.
 */
static bool has_timers(const struct hp_loop *record)
{
	bool has_work =
		record->call == HP_LOOP_EPOLL && record->waits >= record->parks + EXPIRED_MIN;

	return record->timer_reads >= EXPIRED_MIN ||
	       (record->expired >= EXPIRED_MIN && (record->timeouts > 1 || has_work));
}

static bool has_sources(const struct hp_loop *record)
{
	return record->sources > 1 || record->registered > 1;
}

/* The last one known when its thread lived. */
static uint64_t moment_of(const struct hp_loop *record)
{
	return record->since > record->until ? record->since : record->until;
}

/* The thread's own name, or its process's. */
static const char *thread_name(struct build *b, const struct hp_loop *record, const char *comm)
{
	const struct hp_model *model = &b->report->model;
	const char *name = hp_model_thread_name(model, record->pid, record->tid, moment_of(record));

	for (size_t i = 0; !name && i < model->thread_count; i++)
		if (model->threads[i].tid == record->tid && model->threads[i].pid == record->pid)
			name = model->threads[i].name;
	return name && *name ? name : comm;
}

static char *name_raw(struct build *b, const struct hp_loop_row *row, const struct library *library,
		      const char *comm)
{
	const struct hp_symbol_spot *spot = hp_lock_code(b->report, &row->site);
	const char *thread = thread_name(b, &row->record, comm);

	if (row->label)
		return hp_xstrdup(row->label);
	if (library)
		return hp_xprintf("%s (%s)", thread, library->runs);
	/* An address in a file without symbols, whose name may be another program's, says nothing. */
	return spot && !strstr(spot->name, "+0x") ? hp_xprintf("%s (%s)", thread, spot->name)
						  : hp_xstrdup(thread);
}

/* Names of loops and threads are the program's. */
static char *name_of(struct build *b, const struct hp_loop_row *row, const struct library *library,
		     const char *comm)
{
	char *raw = name_raw(b, row, library, comm), *clean = hp_text_clean(raw);

	free(raw);
	return clean;
}

/* --- rows --- */

/* A damaged list may hold the same record many times over, and each row takes some KB. */
#define LOOPS_MAX 4096

static uint32_t object_of(void *context, uint64_t offset)
{
	struct build *b = context;
	bool is_new;
	uint32_t *found = hp_map_at(&b->view->objects, offset, &is_new);

	if (is_new)
		*found = hp_lock_object_find(&b->report->model, offset);
	return *found;
}

static void span_add(struct view *view, const struct hp_loop_span *span, size_t place)
{
	struct hp_loops *loops = &view->loops;

	loops->spans =
		hp_xgrow(loops->spans, loops->span_count, &view->span_room, sizeof(*loops->spans));
	loops->spans[loops->span_count++] =
		(struct hp_loop_span_row){ .loop = (void *)(uintptr_t)place, .span = *span };
}

/* The thread may have waited in several loops, one after the other. */
static bool is_in_another(const struct hp_loops *loops, size_t first, size_t place)
{
	const struct hp_loop *record = &loops->rows[place].record;

	for (size_t i = first; i < loops->count; i++)
		if (i != place && loops->rows[i].record.tid == record->tid &&
		    moment_of(&loops->rows[i].record) > moment_of(record))
			return true;
	return false;
}

/* What follows the last wait, up to now or to the end of the process. */
static void open_span_add(struct build *b, size_t place)
{
	struct hp_loop_row *row = &b->view->loops.rows[place];
	const struct hp_loop *record = &row->record;
	bool is_expired = record->expired_at && record->expired_at == record->waits;
	const struct hp_loop_span span = { .number = record->waits | HP_LOOP_TAIL,
					   .begin = record->until,
					   .ticks = b->end_ticks - record->until,
					   .events = record->last_events,
					   .fd = is_expired ? HP_LOOP_TIMEOUT : -1,
					   .tid = record->tid };

	row->is_busy = b->is_running;
	row->busy_ticks += span.ticks;
	row->tail_ticks += span.ticks;
	span_add(b->view, &span, place);
}

/*
 * Ongoing parts: a wait, and the busy span before it, which its end counts; a busy span. `first`: of
 * the process's loops.
 */
static void present_add(struct build *b, size_t first, size_t place)
{
	struct hp_loop_row *row = &b->view->loops.rows[place];
	const struct hp_loop *record = &row->record;

	row->wait_ticks = record->wait_ticks;
	row->tail_ticks = record->tail_ticks;
	row->busy_ticks = record->busy_ticks + record->tail_ticks;
	if (record->pid != b->pid)	/* of an earlier process with this record */
		return;
	row->is_waiting = record->since != 0;
	if (row->is_waiting) {
		if (b->end_ticks > record->since)
			row->wait_ticks += b->end_ticks - record->since;
		if (record->until && record->since > record->until)
			row->busy_ticks += record->since - record->until;
	} else if (record->until && b->end_ticks > record->until &&
		   !is_in_another(&b->view->loops, first, place)) {
		open_span_add(b, place);
	}
}

static void longest_read(struct build *b, const struct hp_loop *record, size_t place)
{
	const struct hp_loop_longest *longest =
		record->longest_at
			? hp_reader_see(&b->report->model.reader,
					(uint64_t)record->longest_at * HP_LINE, sizeof(*longest))
			: NULL;

	for (size_t i = 0; longest && i < HP_LOOP_LONGEST; i++) {
		struct hp_loop_span span;

		if (hp_logged_span(&longest->spans[i], &span))
			span_add(b->view, &span, place);
	}
}

static void row_add(struct build *b, const struct hp_loop *record, const char *comm)
{
	struct hp_model *model = &b->report->model;
	struct hp_loop_row row = { .record = *record };
	const struct library *library;

	row.site = hp_lock_place_of(model, record->site_module, record->site_address);
	row.path = hp_lock_path_read(&b->view->paths, model, record->path, object_of, b);
	row.label = record->label ? hp_reader_text(&model->reader, record->label) : NULL;
	library = library_of(b, &row);
	if (!row.label && !library &&
	    (is_client(b->report, &row) || !(has_sources(record) || has_timers(record)))) {
		free(row.label);
		return;
	}
	row.kind = library			   ? library->kind
		   : record->call == HP_LOOP_EPOLL ? "epoll"
		   : record->call == HP_LOOP_POLL  ? "poll"
		   : record->call == HP_LOOP_URING ? "io_uring"
						   : "select";
	row.name = name_of(b, &row, library, comm);
	row.spans.timed = record->spans;
	row.spans.hold_ticks = (double)record->busy_ticks;
	row.spans.hold_most = record->span_most;
	hp_lock_spread_add(model, &row.spans.holds, record->spans_at);
	row.number = b->view->loops.count;
	longest_read(b, record, row.number);
	b->view->loops.rows =
		hp_xgrow(b->view->loops.rows, b->view->loops.count, &b->view->room, sizeof(row));
	b->view->loops.rows[b->view->loops.count++] = row;
}

static void process_read(struct build *b, const struct hp_process *process)
{
	struct hp_reader *reader = &b->report->model.reader;
	struct hp_account account;
	struct hp_loop record;
	size_t first;
	char comm[sizeof(process->comm) + 1] = "";

	memcpy(comm, process->comm, sizeof(process->comm));
	if (!process->account || !hp_reader_copy(reader, (uint64_t)process->account * HP_LINE,
						 &account, sizeof(account)))
		return;
	b->is_running = !process->end_ticks;
	b->end_ticks = process->end_ticks ? process->end_ticks : hp_reader_end_ticks(reader);
	b->pid = process->pid;
	first = b->view->loops.count;
	for (uint64_t at = account.loops; hp_reader_step(reader, at, &record, sizeof(record));
	     at = record.next)
		if (record.call > 0 && record.call < HP_LOOP_CALLS &&
		    b->view->loops.count < LOOPS_MAX)
			row_add(b, &record, comm);
	for (size_t i = first; i < b->view->loops.count; i++)
		present_add(b, first, i);
}

static int compare_spans(const void *left, const void *right)
{
	const struct hp_loop_span_row *a = left, *b = right;

	return a->span.ticks > b->span.ticks ? -1 : a->span.ticks < b->span.ticks;
}

static void view_free(void *held)
{
	struct view *view = held;

	for (size_t i = 0; i < view->loops.count; i++) {
		struct hp_loop_row *row = &view->loops.rows[i];

		hp_lock_sum_release(&row->spans);
		free(row->label);
		free(row->name);
		free(row->apart);
	}
	for (size_t i = 0; i < view->loops.span_count; i++)
		free(view->loops.spans[i].what);
	free(view->loops.rows);
	free(view->loops.spans);
	hp_lock_paths_release(&view->paths);
	hp_map_release(&view->objects);
	free(view);
}

#define COVERED_MIN 0.5	/* of a span; a call's time excludes our own */
#define SLACK 0.01	/* of a span: calls read the clock at another moment */

/* The innermost of the calls that took most of the span. */
static bool is_what_ran(const struct hp_loop_span *span, const struct hp_call *call, uint64_t best)
{
	double slack = SLACK * (double)span->ticks;
	double begin = (double)span->begin - slack;
	double end = (double)span->begin + (double)span->ticks + slack;

	return call->ticks && call->tid == span->tid && (double)call->start >= begin &&
	       (double)call->start + (double)call->ticks <= end &&
	       (double)call->ticks >= COVERED_MIN * (double)span->ticks &&
	       (!best || call->ticks < best);
}

/* The slowest calls of each function are kept, so a long span's calls are among them. */
static void calls_find(struct hp_report *report, struct hp_loops *loops)
{
	struct hp_call slowest[HP_SLOWEST];
	uint64_t best[LONGEST_MAX] = { 0 };

	for (size_t f = 0; loops->span_count && f < report->model.function_count; f++) {
		const struct hp_model_function *function = &report->model.functions[f];

		hp_model_slowest(&report->model, function, slowest);
		for (size_t i = 0; i < loops->span_count * HP_SLOWEST; i++) {
			struct hp_loop_span_row *row = &loops->spans[i / HP_SLOWEST];
			const struct hp_call *call = &slowest[i % HP_SLOWEST];

			if (!is_what_ran(&row->span, call, best[i / HP_SLOWEST]))
				continue;
			best[i / HP_SLOWEST] = call->ticks;
			free(row->what);
			row->what = hp_xstrdup(hp_report_name(report, function));
			row->by = "call";
		}
	}
}

static int compare_rows(const void *left, const void *right)
{
	const struct hp_loop_row *a = left, *b = right;

	if (a->busy_ticks != b->busy_ticks)
		return a->busy_ticks > b->busy_ticks ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Only after this are the rows in their final places. */
static void rows_sort(struct hp_loops *loops)
{
	size_t *places = hp_xcalloc(loops->count + 1, sizeof(*places));

	if (loops->count)
		qsort(loops->rows, loops->count, sizeof(*loops->rows), compare_rows);
	for (size_t i = 0; i < loops->count; i++)
		places[loops->rows[i].number] = i;
	for (size_t i = 0; i < loops->span_count; i++)
		loops->spans[i].loop = &loops->rows[places[(uintptr_t)loops->spans[i].loop]];
	free(places);
}

static void spans_sort(struct hp_loops *loops)
{
	if (loops->span_count)
		qsort(loops->spans, loops->span_count, sizeof(*loops->spans), compare_spans);
	if (loops->span_count > LONGEST_MAX)
		loops->span_count = LONGEST_MAX;
}

/* --- names that tell rows apart --- */

static int compare_names(const void *left, const void *right)
{
	const struct hp_loop_row *const *a = left, *const *b = right;

	return strcmp((*a)->apart, (*b)->apart);
}

/* "worker:4711 (main)": as ps and perf do. */
static void thread_tell(struct hp_report *report, struct hp_loop_row *row)
{
	const char *rest = row->label ? NULL : strstr(row->apart, " (");
	size_t length = rest ? (size_t)(rest - row->apart) : strlen(row->apart);
	char *text =
		hp_xprintf("%.*s:%u%s", (int)length, row->apart, row->record.tid, rest ? rest : "");

	(void)report;
	free(row->apart);
	row->apart = text;
}

/* One thread's waits at several places of a function. */
static void place_tell(struct hp_report *report, struct hp_loop_row *row)
{
	char *place = hp_spot_text(hp_lock_code(report, &row->site));
	char *text = hp_xprintf("%s at %s", row->apart, place);

	free(place);
	free(row->apart);
	row->apart = text;
}

static void alike_tell(struct hp_report *report, struct hp_loop_row **rows, size_t count,
		       void (*tell)(struct hp_report *, struct hp_loop_row *))
{
	qsort(rows, count, sizeof(*rows), compare_names);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count && compare_names(&rows[i], &rows[next]) == 0;)
			next++;
		for (size_t row = i; next - i > 1 && row < next; row++)
			tell(report, rows[row]);
	}
}

static void names_tell(struct hp_report *report, struct hp_loops *loops)
{
	struct hp_loop_row **rows = hp_xcalloc(loops->count + 1, sizeof(struct hp_loop_row *));

	for (size_t i = 0; i < loops->count; i++) {
		rows[i] = &loops->rows[i];
		rows[i]->apart = hp_xstrdup(rows[i]->name);
	}
	alike_tell(report, rows, loops->count, thread_tell);
	alike_tell(report, rows, loops->count, place_tell);
	free(rows);
}

const struct hp_loops *hp_loops_of(const struct hp_report *asked)
{
	static const struct hp_view_kind kind = { .free = view_free };
	struct hp_report *report = (struct hp_report *)(uintptr_t)asked;
	struct view *view = hp_views_get(&report->views, &kind);
	struct build b = { .report = report };
	struct hp_reader *reader = &report->model.reader;
	struct hp_process process;
	uint64_t at = hp_reader_processes(reader);

	if (view)
		return &view->loops;
	view = b.view = hp_views_add(&report->views, &kind, hp_xcalloc(1, sizeof(*view)));
	hp_reader_restart(reader, 2);
	for (; hp_reader_step(reader, at, &process, sizeof(process));
	     at = hp_reader_after(reader, at, process.next))
		process_read(&b, &process);
	rows_sort(&view->loops);
	spans_sort(&view->loops);
	names_tell(report, &view->loops);
	calls_find(report, &view->loops);
	hp_loop_ran(report, &view->loops);
	return &view->loops;
}
