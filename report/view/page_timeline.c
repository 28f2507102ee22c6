/* SPDX-License-Identifier: MIT */
/*
 * page_timeline.c - see page_timeline.h.
 *
 * Events of a chunk are nearly in the order of their times; a chunk whose last one
 * is older than the requested range is not read, so that the cost of showing the
 * last minute does not grow with the program's run time.
 */
#include "report/view/page_timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/section/cpu/cpu.h"
#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/read/event.h"
#include "report/section/wait/offcpu.h"

#define STEPS 240
#define THREADS_MAX 64	/* strips on one page; those with the most records are kept */
#define STRIPS_MAX 1024	/* examined threads: a program may start any number */
#define CAUSES_MAX 16	/* the list of report/section/wait/offcpu.c has fewer */
#define DISORDER_NS UINT64_C(2000000000)	/* records of different processors alternate */

struct strip {
	uint32_t pid;
	uint32_t tid;
	size_t events;
	double *parts[CAUSES_MAX];	/* shares of steps, by cause; NULL = none */
};

struct timeline {
	struct hp_report *report;
	uint64_t from_ns;	/* of the session */
	double step_ns;
	const char *causes[CAUSES_MAX];
	size_t cause_count;
	const char **
		of_stack;	/* the cause of waits at a stack of the model; NULL = not looked up yet */
	struct strip *strips;
	size_t count;
	size_t room;
	bool is_full;	/* there were more threads than STRIPS_MAX */
};

static size_t cause_place(struct timeline *line, const char *cause)
{
	size_t i = 0;

	while (i < line->cause_count && strcmp(line->causes[i], cause) != 0)
		i++;
	if (i < line->cause_count)
		return i;
	if (i == CAUSES_MAX)
		return CAUSES_MAX - 1;
	line->causes[line->cause_count++] = cause;
	return i;
}

static const char *cause_of(struct timeline *line, const struct hp_event *event)
{
	if (event->kind == HP_EVENT_CPU)
		return "cpu";
	if (!event->node)
		return "other";
	if (!line->of_stack[event->node])
		line->of_stack[event->node] = hp_offcpu_cause(line->report, event->node);
	return line->of_stack[event->node];
}

/* NULL = there are too many threads. */
static struct strip *strip_of(struct timeline *line, const struct hp_event *event)
{
	for (size_t i = line->count; i-- > 0;)
		if (line->strips[i].tid == event->tid && line->strips[i].pid == event->pid)
			return &line->strips[i];
	if (line->count == STRIPS_MAX) {
		line->is_full = true;
		return NULL;
	}
	line->strips = hp_xgrow(line->strips, line->count, &line->room, sizeof(*line->strips));
	line->strips[line->count] = (struct strip){ .pid = event->pid, .tid = event->tid };
	return &line->strips[line->count++];
}

static void span_add(const struct timeline *line, double *parts, double from, double to)
{
	double width = line->step_ns;
	long first, last;

	from = fmax(from - (double)line->from_ns, 0) / width;
	to = fmin(to - (double)line->from_ns, STEPS * width) / width;
	if (to <= from)
		return;
	first = (long)from;
	last = to >= STEPS ? STEPS - 1 : (long)to;
	for (long i = first; i <= last; i++)
		parts[i] += fmin(to, (double)i + 1) - fmax(from, (double)i);
}

static void event_add(void *context, const struct hp_event *event)
{
	struct timeline *line = context;
	uint64_t start = line->report->model.reader.header.start.ns;
	double end = (double)event->ns - (double)start;
	struct strip *strip;
	size_t place;

	if (event->node >= line->report->model.sampling.stack_count || event->ns < start ||
	    event->span_ns > event->ns || end < (double)line->from_ns)
		return;
	/* As in the section of waits: those in our own code are not the program's. */
	if (event->kind != HP_EVENT_CPU && hp_offcpu_is_profiler(line->report, event->node))
		return;
	strip = strip_of(line, event);
	if (!strip)
		return;
	place = cause_place(line, cause_of(line, event));
	if (!strip->parts[place])
		strip->parts[place] = hp_xcalloc(STEPS, sizeof(double));
	strip->events++;
	span_add(line, strip->parts[place], end - (double)event->span_ns, end);
}

/* False if no event of the chunk is recent enough. */
static bool is_recent(void *context, const struct hp_event_chunk *chunk, const char *events)
{
	const struct timeline *line = context;
	struct hp_event last;

	if (!chunk->count)
		return false;
	memcpy(&last, events + (chunk->count - 1) * sizeof(last), sizeof(last));
	return last.ns + DISORDER_NS >= line->report->model.reader.header.start.ns + line->from_ns;
}

/* --- JSON --- */

static int compare_strips(const void *left, const void *right)
{
	const struct strip *a = left, *b = right;

	return a->events < b->events ? 1 : a->events > b->events ? -1 : 0;
}

static const struct hp_model_thread *thread_of(const struct hp_model *model,
					       const struct strip *strip)
{
	for (size_t i = 0; i < model->thread_count; i++)
		if (model->threads[i].tid == strip->tid && model->threads[i].pid == strip->pid)
			return &model->threads[i];
	return NULL;
}

/* A share in thousandths for JSON, without trailing zeros; returns where it ends. */
static char *share_put(char *at, unsigned share)
{
	*at++ = share >= 1000 ? '1' : '0';
	if (share == 0 || share >= 1000)
		return at;
	*at++ = '.';
	for (unsigned digit = 100; share; share %= digit, digit /= 10)
		*at++ = (char)('0' + share / digit);
	return at;
}

/* Sixty threads have some 40 000 of them: writing them directly as text takes a tenth of the
 * time. */
static cJSON *parts_json(const double *parts)
{
	char text[STEPS * sizeof("0.123") + sizeof("[]")], *at = text;

	*at++ = '[';
	for (size_t i = 0; i < STEPS; i++) {
		if (i)
			*at++ = ',';
		at = share_put(at, (unsigned)round(fmin(parts[i], 1) * 1000));
	}
	*at++ = ']';
	*at = '\0';
	return cJSON_CreateRaw(text);
}

static cJSON *strip_json(const struct timeline *line, const struct strip *strip)
{
	const struct hp_model_thread *thread = thread_of(&line->report->model, strip);
	char *name = thread ? hp_text_clean(thread->name) : hp_xprintf("thread_%u", strip->tid);
	cJSON *one = cJSON_CreateObject(), *parts;

	cJSON_AddStringToObject(one, "name", name);
	free(name);
	cJSON_AddNumberToObject(one, "os_tid", strip->tid);
	cJSON_AddNumberToObject(one, "pid", strip->pid);
	parts = cJSON_AddObjectToObject(one, "parts");
	for (size_t i = 0; i < line->cause_count; i++)
		if (strip->parts[i])
			cJSON_AddItemToObject(parts, line->causes[i], parts_json(strip->parts[i]));
	return one;
}

static cJSON *timeline_json(struct timeline *line)
{
	const struct hp_sampling *record = &line->report->model.sampling.record;
	cJSON *to = cJSON_CreateObject(), *array;

	if (line->count)
		qsort(line->strips, line->count, sizeof(*line->strips), compare_strips);
	cJSON_AddNumberToObject(to, "from_ns", (double)line->from_ns);
	cJSON_AddNumberToObject(to, "step_ns", line->step_ns);
	cJSON_AddNumberToObject(to, "steps", STEPS);
	cJSON_AddNumberToObject(to, "lost_count",
				line->report->model.sampling.is_there ? (double)record->event_lost
								      : 0);
	array = cJSON_AddArrayToObject(to, "data");
	for (size_t i = 0; i < line->count && i < THREADS_MAX; i++)
		cJSON_AddItemToArray(array, strip_json(line, &line->strips[i]));
	cJSON_AddNumberToObject(to, "total_count", (double)line->count);
	cJSON_AddBoolToObject(to, "has_more", line->is_full);
	if (!line->count)
		cJSON_AddStringToObject(to, "message", hp_offcpu_empty(line->report));
	return to;
}

cJSON *hp_page_timeline(struct hp_report *report, uint64_t span_ns)
{
	const struct hp_model *model = &report->model;
	uint64_t end = model->elapsed_ns;
	struct timeline line = { .report = report };
	cJSON *to;

	if (!span_ns || span_ns > end)
		span_ns = end ? end : 1;
	line.from_ns = end > span_ns ? end - span_ns : 0;
	line.step_ns = (double)span_ns / STEPS;
	if (model->sampling.is_there && model->sampling.stack_count) {
		hp_report_cpu(report);
		line.of_stack = hp_xcalloc(model->sampling.stack_count, sizeof(*line.of_stack));
		hp_events_each_wanted(&report->model, is_recent, event_add, &line);
	}
	to = timeline_json(&line);
	for (size_t i = 0; i < line.count; i++)
		for (size_t k = 0; k < CAUSES_MAX; k++)
			free(line.strips[i].parts[k]);
	free(line.strips);
	free(line.of_stack);
	return to;
}
