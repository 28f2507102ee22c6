/* SPDX-License-Identifier: MIT */
/*
 * firefox.c - the Firefox Profiler's processed profile, version 49, packed
 * by gzip: profiler.firefox.com, `samply load`.
 *
 * Written as a stream, one thread after another (profile.h). Each thread has
 * its samples and markers; a thread that waited has a second track with its
 * wait time by stack. It contains the names, so no symbol server is needed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/section/memory/section.h"
#include "report/export/export.h"
#include "report/base/memory.h"
#include "report/read/event.h"
#include "report/name/name.h"
#include "report/section/wait/offcpu.h"
#include "report/export/profile.h"
#include "segment/layout/process.h"

/* --- threads and their events --- */

static int compare_events(const void *left, const void *right)
{
	const struct hp_event *a = left, *b = right;

	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static void event_add(void *context, const struct hp_event *event)
{
	struct hp_profile *p = context;
	struct hp_profile_thread *thread;

	if (event->node >= p->report->model.sampling.stack_count || event->span_ns > event->ns ||
	    (event->kind == HP_EVENT_WAIT && hp_offcpu_is_profiler(p->report, event->node)))
		return;
	thread = hp_profile_thread(p, event->pid, event->tid);
	thread->events =
		hp_xgrow(thread->events, thread->count, &thread->room, sizeof(*thread->events));
	thread->events[thread->count++] = *event;
}

static void events_read(struct hp_profile *p)
{
	hp_events_each(&p->report->model, event_add, p);
	for (size_t i = 0; i < p->thread_count; i++)
		if (p->threads[i].count)
			qsort(p->threads[i].events, p->threads[i].count, sizeof(struct hp_event),
			      compare_events);
}

/* --- samples --- */

/* The events of one kind; their spans are CPU time or, in a wait track, the weight. */
static void samples_write(struct hp_profile *p, const struct hp_profile_thread *thread,
			  enum hp_event_kind kind)
{
	struct hp_profile_column stacks = { .list = NULL }, deltas = { .list = NULL };
	/* Samples taken at two rates have different weights. */
	bool is_weighed =
		kind == HP_EVENT_WAIT || hp_sampling_has_weights(&p->report->model.sampling);
	const char *comma = "";

	for (size_t i = 0; i < thread->count; i++) {
		uint32_t stack = hp_profile_sample_stack(p, thread->events[i].node);

		if (thread->events[i].kind != kind)
			continue;
		hp_profile_column_add(&stacks, stack ? (int64_t)stack - 1 : INT64_MIN);
		hp_profile_column_add(&deltas, kind == HP_EVENT_CPU
						       ? (int64_t)(thread->events[i].span_ns / 1000)
						       : 0);
	}
	gzputs(p->out, "\"samples\":{");
	hp_profile_column_write(p->out, "stack", &stacks);
	hp_profile_column_write(p->out, "threadCPUDelta", &deltas);
	gzputs(p->out, "\"time\":[");
	for (size_t i = 0; i < thread->count; i++)
		if (thread->events[i].kind == kind) {
			gzprintf(p->out, "%s%.6f", comma, hp_profile_ms(p, thread->events[i].ns));
			comma = ",";
		}
	gzputs(p->out, is_weighed ? "],\"weight\":[" : "],\"weight\":null");
	comma = "";
	for (size_t i = 0; is_weighed && i < thread->count; i++)
		if (thread->events[i].kind == kind) {
			gzprintf(p->out, "%s%.6f", comma, (double)thread->events[i].span_ns / 1e6);
			comma = ",";
		}
	gzprintf(p->out, "%s,\"weightType\":\"%s\",\"length\":%zu},", is_weighed ? "]" : "",
		 is_weighed ? "tracing-ms" : "samples", stacks.count);
	free(stacks.list);
	free(deltas.list);
}

/* --- a thread --- */

static const char *thread_name(const struct hp_profile *p, const struct hp_profile_thread *thread)
{
	const struct hp_model *model = &p->report->model;

	for (size_t i = 0; i < model->thread_count; i++)
		if (model->threads[i].tid == thread->tid && model->threads[i].name[0])
			return model->threads[i].name;
	for (size_t i = 0; i < model->process_count; i++)
		if (model->processes[i].pid == thread->pid)
			return model->processes[i].comm;
	return "?";
}

static const char *process_name(const struct hp_profile *p, const struct hp_profile_thread *thread)
{
	const struct hp_model *model = &p->report->model;

	for (size_t i = 0; i < model->process_count; i++)
		if (model->processes[i].pid == thread->pid)
			return model->processes[i].comm;
	return thread_name(p, thread);
}

static bool has_waits(const struct hp_profile_thread *thread)
{
	for (size_t i = 0; i < thread->count; i++)
		if (thread->events[i].kind == HP_EVENT_WAIT)
			return true;
	return false;
}

static void tables_begin(struct hp_profile *p)
{
	const struct hp_alloc *alloc = hp_alloc_of(p->report);

	hp_profile_clear(&p->tables);
	memset(p->stacks, 0, p->report->model.sampling.stack_count * sizeof(*p->stacks));
	if (alloc)
		memset(p->steps, 0, alloc->count * sizeof(*p->steps));
}

static void thread_begin(struct hp_profile *p, const struct hp_profile_thread *thread, bool is_wait)
{
	char *name = hp_xprintf("%s%s", thread_name(p, thread), is_wait ? " (waits)" : "");

	tables_begin(p);
	gzprintf(p->out,
		 "{\"processType\":\"default\",\"isMainThread\":%s,\"pid\":\"%u\",\"tid\":%s%u%s,"
		 "\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":0,"
		 "\"unregisterTime\":null,\"pausedRanges\":[],\"showMarkersInTimeline\":%s,"
		 "\"name\":",
		 thread->pid == thread->tid && !is_wait ? "true" : "false", thread->pid,
		 is_wait ? "\"" : "", thread->tid, is_wait ? "-waits\"" : "",
		 is_wait ? "false" : "true");
	hp_profile_text(p->out, name);
	gzputs(p->out, ",\"processName\":");
	hp_profile_text(p->out, process_name(p, thread));
	gzputc(p->out, ',');
	free(name);
}

static void thread_write(struct hp_profile *p, const struct hp_profile_thread *thread)
{
	thread_begin(p, thread, false);
	samples_write(p, thread, HP_EVENT_CPU);
	hp_profile_markers_write(p, thread);
	if (thread == p->threads && hp_profile_has_memory(p))
		hp_profile_allocations_write(p);
	hp_profile_tables_write(&p->tables, &p->report->model, p->out);
	gzputc(p->out, '}');
	if (!has_waits(thread))
		return;
	gzputc(p->out, ',');
	thread_begin(p, thread, true);
	samples_write(p, thread, HP_EVENT_WAIT);
	hp_profile_markers_write(p, &(struct hp_profile_thread){ .pid = 0 });
	hp_profile_tables_write(&p->tables, &p->report->model, p->out);
	gzputc(p->out, '}');
}

/* --- the whole --- */

/* As breakpad writes it: the first three parts of the build-id have their bytes reversed. */
static void breakpad_put(struct hp_profile *p, const struct hp_model_object *object)
{
	static const int order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };

	gzputs(p->out, "\"breakpadId\":\"");
	for (int i = 0; i < 16; i++)
		gzprintf(p->out, "%02X", object->build_id[order[i]]);
	gzputs(p->out, "0\",\"codeId\":");
	if (!object->build_id_size) {
		gzputs(p->out, "null");
		return;
	}
	gzputc(p->out, '"');
	for (uint32_t i = 0; i < object->build_id_size; i++)
		gzprintf(p->out, "%02x", object->build_id[i]);
	gzputc(p->out, '"');
}

static void libs_write(struct hp_profile *p)
{
	const struct hp_model *model = &p->report->model;

	gzputs(p->out, "\"libs\":[");
	for (size_t i = 0; i < model->object_count; i++) {
		const char *path = model->objects[i].path;
		const char *const names[] = { "name", "debugName", "path", "debugPath" };

		gzputs(p->out, i ? ",{" : "{");
		for (int n = 0; n < 4; n++) {
			gzprintf(p->out, "\"%s\":", names[n]);
			hp_profile_text(p->out, n < 2 ? hp_name_file(path) : path);
			gzputc(p->out, ',');
		}
		breakpad_put(p, &model->objects[i]);
		gzputs(p->out, ",\"arch\":null}");
	}
	gzputs(p->out, "],");
}

static void meta_write(struct hp_profile *p)
{
	const struct hp_model *model = &p->report->model;
	double period_ns = hp_sampling_period_ns(&model->sampling);

	gzprintf(p->out,
		 "{\"meta\":{\"interval\":%.6f,\"startTime\":%.3f,\"processType\":0,"
		 "\"product\":",
		 period_ns > 0 ? period_ns / 1e6 : 1.0,
		 (double)model->reader.header.created_unix_ns / 1e6);
	hp_profile_text(p->out, p->report->caller);
	/* In the order of enum hp_profile_category. */
	gzprintf(p->out,
		 ",\"version\":24,\"preprocessedProfileVersion\":%d,\"stackwalk\":1,"
		 "\"debug\":false,\"symbolicated\":true,\"categories\":["
		 "{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
		 "{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
		 "{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
		 "{\"name\":\"Wait\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
		 "{\"name\":\"Lock\",\"color\":\"red\",\"subcategories\":[\"Other\"]},"
		 "{\"name\":\"Call\",\"color\":\"green\",\"subcategories\":[\"Other\"]}],"
		 "\"markerSchema\":[",
		 HP_PROFILE_VERSION);
	gzputs(p->out, hp_profile_schemas);
	gzputs(p->out, "],\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
		       "\"threadCPUDelta\":\"\\u00b5s\"},\"extensions\":{\"baseURL\":[],\"id\":[],"
		       "\"name\":[],\"length\":0},\"pausedRanges\":[],"
		       "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
		       "\"doesNotUseFrameImplementation\":true,\"importedFrom\":\"hotpath\"},");
}

static void profile_release(struct hp_profile *p)
{
	for (size_t i = 0; i < p->thread_count; i++)
		free(p->threads[i].events);
	free(p->threads);
	free(p->stacks);
	free(p->steps);
	hp_profile_release(&p->tables);
}

int hp_export_firefox(struct hp_report *report, int fd)
{
	const struct hp_alloc *alloc = hp_alloc_of(report);
	struct hp_profile p = { .report = report };
	const struct hp_model *model = &report->model;
	uint32_t root = model->root == HP_NONE ? 0 : model->processes[model->root].pid;
	int copy = dup(fd);
	int error;

	p.out = copy < 0 ? NULL : gzdopen(copy, "wb1");
	if (!p.out)
		return -errno;
	gzbuffer(p.out, 1 << 17);
	p.stacks = hp_xcalloc(model->sampling.stack_count, sizeof(*p.stacks));
	p.steps = hp_xcalloc(alloc ? alloc->count : 0, sizeof(*p.steps));
	hp_profile_thread(&p, root, root);
	events_read(&p);
	hp_profile_marker_threads(&p);
	meta_write(&p);
	libs_write(&p);
	gzputs(p.out, "\"pages\":[],\"profilerOverhead\":[],");
	hp_profile_counters_write(&p);
	gzputs(p.out, "\"threads\":[");
	for (size_t i = 0; i < p.thread_count; i++) {
		if (i)
			gzputc(p.out, ',');
		thread_write(&p, &p.threads[i]);
	}
	gzputs(p.out, "]}\n");
	error = gzclose(p.out) == Z_OK ? 0 : -EIO;
	profile_release(&p);
	return error;
}
