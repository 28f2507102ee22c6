/* SPDX-License-Identifier: MIT */
/*
 * profile_markers.c - timed activities of a thread, as markers of a processed
 * profile:
 *
 *   Wait   it gave up the processor, with its stack: from the kernel's records
 *   Lock   the longest wait for a lock at a place, and its holder
 *   Call   the longest calls of instrumented functions
 *   Busy   the longest busy spans of event loops, from HOTPATH_LOOP_LAG_MS on
 *
 * The segment keeps these calls and lock waits anyway: eight of each function
 * and thread, one of each (lock, place, holder). So they are bounded and cost
 * nothing while the program runs.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/section/loop/loop.h"
#include "report/section/wait/lock_section.h"
#include "report/base/memory.h"
#include "report/section/wait/offcpu.h"
#include "report/export/profile.h"

#define CALLS_MAX 2000 /* the longest of all functions */
#define CALL_MIN_NS UINT64_C(10000) /* shorter ones cannot be seen */

const char hp_profile_schemas[] =
	"{\"name\":\"Wait\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],"
	"\"chartLabel\":\"{marker.data.on}\",\"tableLabel\":\"{marker.data.on}\",\"data\":["
	"{\"key\":\"on\",\"label\":\"Waited for\",\"format\":\"string\"}]},"
	"{\"name\":\"LockWait\",\"display\":[\"marker-chart\",\"marker-table\","
	"\"timeline-overview\"],\"chartLabel\":\"{marker.data.lock}\","
	"\"tableLabel\":\"{marker.data.lock}, held by {marker.data.holder}\",\"data\":["
	"{\"key\":\"lock\",\"label\":\"Lock\",\"format\":\"string\"},"
	"{\"key\":\"at\",\"label\":\"Waited in\",\"format\":\"string\"},"
	"{\"key\":\"holder\",\"label\":\"Held by\",\"format\":\"string\"},"
	"{\"key\":\"waits\",\"label\":\"Waits there\",\"format\":\"integer\"},"
	"{\"key\":\"total\",\"label\":\"Altogether\",\"format\":\"duration\"}]},"
	"{\"name\":\"Call\",\"display\":[\"marker-chart\",\"marker-table\"],"
	"\"chartLabel\":\"{marker.data.function}\",\"tableLabel\":\"{marker.data.function}\","
	"\"data\":[{\"key\":\"function\",\"label\":\"Function\",\"format\":\"string\"}]},"
	"{\"name\":\"LoopBusy\",\"display\":[\"marker-chart\",\"marker-table\","
	"\"timeline-overview\"],\"chartLabel\":\"{marker.data.loop}\","
	"\"tableLabel\":\"{marker.data.loop}: {marker.data.what}\",\"data\":["
	"{\"key\":\"loop\",\"label\":\"Event loop\",\"format\":\"string\"},"
	"{\"key\":\"what\",\"label\":\"What ran\",\"format\":\"string\"}]}";

/* A marker until it is written. */
struct mark {
	double start_ms;
	double end_ms;
	uint32_t name; /* text */
	enum hp_profile_category category;
	char *data; /* JSON */
};

struct marks {
	struct mark *list;
	size_t count;
	size_t room;
};

static void mark_add(struct marks *marks, struct mark mark)
{
	marks->list = hp_xgrow(marks->list, marks->count, &marks->room, sizeof(*marks->list));
	marks->list[marks->count++] = mark;
}

/* A fresh JSON text, quotes included. */
static char *quoted(const char *text)
{
	char *clean = hp_text_clean(text);
	char *out = hp_xmalloc(2 * strlen(clean) + 3);
	char *at = out;

	*at++ = '"';
	for (const char *c = clean; *c; c++) {
		if (*c == '"' || *c == '\\')
			*at++ = '\\';
		*at++ = *c;
	}
	*at++ = '"';
	*at = 0;
	free(clean);
	return out;
}

/* --- waits --- */

static void waits_add(struct hp_profile *profile, const struct hp_profile_thread *thread,
		      struct marks *marks)
{
	for (size_t i = 0; i < thread->count; i++) {
		const struct hp_event *event = &thread->events[i];
		double start_ms = hp_profile_ms(profile, event->ns - event->span_ns);
		uint32_t stack;
		const char *on;
		char *cause;

		if (event->kind != HP_EVENT_WAIT)
			continue;
		stack = hp_profile_sample_stack(profile, event->node);
		on = event->node ? hp_offcpu_cause(profile->report, event->node) : "not known";
		cause = stack ? hp_xprintf(",\"cause\":{\"stack\":%u,\"time\":%.6f}", stack - 1,
					   start_ms)
			      : hp_xstrdup("");
		mark_add(marks,
			 (struct mark){
				 start_ms, hp_profile_ms(profile, event->ns),
				 hp_profile_string(&profile->tables, "Wait"),
				 strcmp(on, "lock") == 0 ? HP_PROFILE_LOCK : HP_PROFILE_WAIT,
				 hp_xprintf("{\"type\":\"Wait\",\"on\":\"%s\"%s}", on, cause) });
		free(cause);
	}
}

/* --- locks --- */

static void lock_wait_add(struct hp_profile *profile, const struct hp_lock_contest *contest,
			  struct marks *marks)
{
	struct hp_report *report = profile->report;
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));
	struct hp_call call = { .start = contest->most_start, .ticks = contest->most };
	struct hp_model_call longest = hp_model_call(&report->model, &call);
	char *at = hp_lock_place_text(report, &contest->at);
	char *holder = hp_lock_place_text(report, &contest->holder);
	char *texts[] = { quoted(hp_lock_name(report, &locks->rows[contest->lock])), quoted(at),
			  quoted(holder) };

	mark_add(marks,
		 (struct mark){
			 (double)longest.start_ns / 1e6,
			 (double)(longest.start_ns + longest.ns) / 1e6,
			 hp_profile_string(&profile->tables, "Lock wait"), HP_PROFILE_LOCK,
			 hp_xprintf("{\"type\":\"LockWait\",\"lock\":%s,\"at\":%s,\"holder\":%s,"
				    "\"waits\":%llu,\"total\":%.6f}",
				    texts[0], texts[1], texts[2],
				    (unsigned long long)contest->count,
				    (double)contest->ticks * report->model.ns_per_tick / 1e6) });
	for (int i = 0; i < 3; i++)
		free(texts[i]);
	free(at);
	free(holder);
}

static const struct hp_lock_contest *contests_of(const struct hp_profile *profile, size_t *count)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(profile->report));

	*count = locks ? locks->contest_count : 0;
	return locks ? locks->contests : NULL;
}

/* --- calls --- */

struct long_call {
	const struct hp_model_function *function;
	struct hp_call call;
};

static int compare_calls(const void *left, const void *right)
{
	const struct long_call *a = left, *b = right;

	return a->call.ticks < b->call.ticks ? 1 : a->call.ticks > b->call.ticks ? -1 : 0;
}

/* The longest calls of all functions, fresh. */
static struct long_call *long_calls(const struct hp_model *model, size_t *count)
{
	double least = (double)CALL_MIN_NS / model->ns_per_tick;
	struct long_call *list = NULL;
	size_t room = 0;

	*count = 0;
	for (size_t i = 0; i < model->function_count; i++) {
		struct hp_call slowest[HP_SLOWEST];

		hp_model_slowest(model, &model->functions[i], slowest);
		for (int s = 0; s < HP_SLOWEST; s++) {
			if ((double)slowest[s].ticks < least)
				continue;
			list = hp_xgrow(list, *count, &room, sizeof(*list));
			list[(*count)++] = (struct long_call){ &model->functions[i], slowest[s] };
		}
	}
	if (*count)
		qsort(list, *count, sizeof(*list), compare_calls);
	if (*count > CALLS_MAX)
		*count = CALLS_MAX;
	return list;
}

static void calls_add(struct hp_profile *profile, const struct hp_profile_thread *thread,
		      struct marks *marks)
{
	struct hp_report *report = profile->report;
	size_t count;
	struct long_call *list = long_calls(&report->model, &count);

	for (size_t i = 0; i < count; i++) {
		struct hp_model_call call = hp_model_call(&report->model, &list[i].call);
		char *name;

		if (call.tid != thread->tid)
			continue;
		name = quoted(hp_report_name(report, list[i].function));
		mark_add(marks,
			 (struct mark){ (double)call.start_ns / 1e6,
					(double)(call.start_ns + call.ns) / 1e6,
					hp_profile_string(&profile->tables, "Call"),
					HP_PROFILE_CALL,
					hp_xprintf("{\"type\":\"Call\",\"function\":%s}", name) });
		free(name);
	}
	free(list);
}

/* --- busy spans of event loops --- */

static bool is_lag(const struct hp_report *report, const struct hp_loop_span_row *row)
{
	return (double)row->span.ticks * report->model.ns_per_tick >=
	       (double)report->settings->loop_lag_ms * 1e6;
}

static void loops_add(struct hp_profile *profile, const struct hp_profile_thread *thread,
		      struct marks *marks)
{
	struct hp_report *report = profile->report;
	const struct hp_loops *loops = hp_loops_of(report);

	for (size_t i = 0; i < loops->span_count; i++) {
		const struct hp_loop_span_row *row = &loops->spans[i];
		struct hp_call call = { .start = row->span.begin, .ticks = row->span.ticks };
		struct hp_model_call span = hp_model_call(&report->model, &call);
		char *loop, *what;

		if (row->span.tid != thread->tid || row->loop->record.pid != thread->pid ||
		    !is_lag(report, row))
			continue;
		loop = quoted(row->loop->name);
		what = quoted(row->what ? row->what : "not known");
		mark_add(marks, (struct mark){ (double)span.start_ns / 1e6,
					       (double)(span.start_ns + span.ns) / 1e6,
					       hp_profile_string(&profile->tables, "Busy"),
					       HP_PROFILE_CALL,
					       hp_xprintf("{\"type\":\"LoopBusy\",\"loop\":%s,"
							  "\"what\":%s}",
							  loop, what) });
		free(loop);
		free(what);
	}
}

/* --- the whole --- */

static uint32_t pid_of(const struct hp_profile *profile, uint32_t tid)
{
	const struct hp_model *model = &profile->report->model;

	for (size_t i = 0; i < profile->thread_count; i++)
		if (profile->threads[i].tid == tid)
			return profile->threads[i].pid;
	for (size_t i = 0; i < model->thread_count; i++)
		if (model->threads[i].tid == tid)
			return model->threads[i].pid;
	return model->root == HP_NONE ? tid : model->processes[model->root].pid;
}

void hp_profile_marker_threads(struct hp_profile *profile)
{
	const struct hp_loops *loops = hp_loops_of(profile->report);
	size_t count;
	struct long_call *list = long_calls(&profile->report->model, &count);
	const struct hp_lock_contest *contests;

	for (size_t i = 0; i < count; i++)
		hp_profile_thread(profile, pid_of(profile, list[i].call.tid), list[i].call.tid);
	free(list);
	contests = contests_of(profile, &count);
	for (size_t i = 0; i < count; i++)
		if (contests[i].most_start)
			hp_profile_thread(profile, contests[i].pid, contests[i].tid);
	for (size_t i = 0; i < loops->span_count; i++)
		if (is_lag(profile->report, &loops->spans[i]))
			hp_profile_thread(profile, loops->spans[i].loop->record.pid,
					  loops->spans[i].span.tid);
}

static int compare_marks(const void *left, const void *right)
{
	const struct mark *a = left, *b = right;

	return a->start_ms < b->start_ms ? -1 : a->start_ms > b->start_ms;
}

static void times_write(gzFile out, const char *name, const struct marks *marks, bool is_end)
{
	gzprintf(out, "\"%s\":[", name);
	for (size_t i = 0; i < marks->count; i++)
		gzprintf(out, "%s%.6f", i ? "," : "",
			 is_end ? marks->list[i].end_ms : marks->list[i].start_ms);
	gzputs(out, "],");
}

static void marks_write(gzFile out, const struct marks *marks)
{
	struct hp_profile_column names = { .list = NULL }, categories = { .list = NULL },
				 phases = { .list = NULL };

	for (size_t i = 0; i < marks->count; i++) {
		hp_profile_column_add(&names, marks->list[i].name);
		hp_profile_column_add(&categories, marks->list[i].category);
		hp_profile_column_add(&phases, 1); /* an interval */
	}
	gzputs(out, "\"markers\":{");
	hp_profile_column_write(out, "name", &names);
	hp_profile_column_write(out, "category", &categories);
	hp_profile_column_write(out, "phase", &phases);
	times_write(out, "startTime", marks, false);
	times_write(out, "endTime", marks, true);
	gzputs(out, "\"data\":[");
	for (size_t i = 0; i < marks->count; i++) {
		if (i)
			gzputc(out, ',');
		gzputs(out, marks->list[i].data);
	}
	gzprintf(out, "],\"length\":%zu},", marks->count);
	free(names.list);
	free(categories.list);
	free(phases.list);
}

void hp_profile_markers_write(struct hp_profile *profile, const struct hp_profile_thread *thread)
{
	struct marks marks = { .list = NULL };
	size_t count;
	const struct hp_lock_contest *contests = contests_of(profile, &count);

	waits_add(profile, thread, &marks);
	for (size_t i = 0; i < count; i++)
		if (contests[i].most_start && contests[i].tid == thread->tid &&
		    contests[i].pid == thread->pid)
			lock_wait_add(profile, &contests[i], &marks);
	calls_add(profile, thread, &marks);
	loops_add(profile, thread, &marks);
	if (marks.count)
		qsort(marks.list, marks.count, sizeof(*marks.list), compare_marks);
	marks_write(profile->out, &marks);
	for (size_t i = 0; i < marks.count; i++)
		free(marks.list[i].data);
	free(marks.list);
}
