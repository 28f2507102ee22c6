/* SPDX-License-Identifier: MIT */
/*
 * export_firefox.c - the Firefox Profiler's processed profile, version 49, packed
 * by gzip: profiler.firefox.com, `samply load`.
 *
 * Written as a stream.  Each thread has tables of its own, with what its samples
 * need of the tree; names are in it, so no server of symbols is asked.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "report/export.h"
#include "report/map.h"
#include "report/memory.h"

#define VERSION 49	/* of the format */
enum category { CATEGORY_OTHER, CATEGORY_USER, CATEGORY_KERNEL, CATEGORY_WAIT };

struct thread {
	uint32_t pid;
	uint32_t tid;
	struct hp_event *events;	/* in the order of their times */
	size_t count;
	size_t room;
};

struct output {
	gzFile out;
	struct hp_report *report;
	struct thread *threads;
	size_t thread_count;
	size_t thread_room;
	uint32_t *libs;	/* of each object of the model: its place, HP_NONE = none */

	/* Of the thread at hand. */
	uint32_t *stacks;	/* of each stack of the model: its place in the table, + 1 */
	struct hp_map frames;	/* place and depth + 1 -> place in the table */
	struct hp_map functions;	/* function + 1 -> the same */
	uint32_t *frame_list;	/* frames, by their place in cpu->frames */
	uint64_t *frame_place;	/* and the place of code they are of */
	size_t frame_count;
	size_t frame_room;
	size_t place_room;
	uint32_t *function_list;
	size_t function_count;
	size_t function_room;
	uint32_t *stack_prefix;	/* + 1; 0 = none */
	uint32_t *stack_frame;
	size_t stack_count;
	size_t prefix_room;
	size_t stack_room;
};

/* --- JSON --- */

static void text_put(struct output *o, const char *text)
{
	gzputc(o->out, '"');
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c == '"' || *c == '\\')
			gzputc(o->out, '\\');
		if (*c < ' ')
			gzprintf(o->out, "\\u%04x", *c);
		else
			gzputc(o->out, *c);
	}
	gzputc(o->out, '"');
}

/* "name":[...] of `count` numbers; `number` of HP_NONE is null. */
#define COLUMN(o, name, count, expression) \
	do { \
		gzprintf((o)->out, "\"%s\":[", name); \
		for (size_t i = 0; i < (count); i++) { \
			int64_t number_ = (int64_t)(expression); \
			if (i) \
				gzputc((o)->out, ','); \
			if (number_ == INT64_MIN) \
				gzputs((o)->out, "null"); \
			else \
				gzprintf((o)->out, "%" PRId64, number_); \
		} \
		gzputs((o)->out, "],"); \
	} while (0)

/* --- events --- */

static struct thread *thread_of(struct output *o, uint32_t pid, uint32_t tid)
{
	for (size_t i = o->thread_count; i-- > 0;)
		if (o->threads[i].tid == tid && o->threads[i].pid == pid)
			return &o->threads[i];
	o->threads = hp_xgrow(o->threads, o->thread_count, &o->thread_room, sizeof(*o->threads));
	o->threads[o->thread_count] = (struct thread){ .pid = pid, .tid = tid };
	return &o->threads[o->thread_count++];
}

static int compare_events(const void *left, const void *right)
{
	const struct hp_event *a = left, *b = right;

	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

static void events_read(struct output *o)
{
	struct hp_reader reader = o->report->model.reader;	/* not released: the model's */
	struct hp_event_chunk chunk;
	struct hp_event event;

	reader.steps = reader.segment.size / sizeof(event);
	for (uint64_t at = o->report->model.sampling.record.events;
	     hp_reader_step(&reader, at, &chunk, sizeof(chunk)); at = chunk.next) {
		const char *events = hp_reader_see(&reader, at + sizeof(chunk),
						   (size_t)chunk.count * sizeof(event));

		for (uint32_t i = 0; events && i < chunk.count; i++) {
			struct thread *thread;

			memcpy(&event, events + i * sizeof(event), sizeof(event));
			if (event.node >= o->report->model.sampling.stack_count)
				continue;
			thread = thread_of(o, event.pid, event.tid);
			thread->events = hp_xgrow(thread->events, thread->count, &thread->room,
						  sizeof(event));
			thread->events[thread->count++] = event;
		}
	}
	for (size_t i = 0; i < o->thread_count; i++)
		qsort(o->threads[i].events, o->threads[i].count, sizeof(event), compare_events);
}

static double ms_of(const struct output *o, uint64_t ns)
{
	uint64_t start = o->report->model.reader.header.start.ns;

	return ns > start ? (double)(ns - start) / 1e6 : 0;
}

/* --- the tables of a thread --- */

static uint32_t function_put(struct output *o, uint32_t function)
{
	bool is_new;
	uint32_t *at = hp_map_at(&o->functions, function + 1ull, &is_new);

	if (is_new) {
		*at = (uint32_t)o->function_count;
		o->function_list = hp_xgrow(o->function_list, o->function_count, &o->function_room,
					    sizeof(*o->function_list));
		o->function_list[o->function_count++] = function;
	}
	return *at;
}

static uint32_t frame_put(struct output *o, uint32_t place, uint32_t frame)
{
	bool is_new;
	uint32_t *at = hp_map_at(&o->frames, frame + 1ull, &is_new);

	if (is_new) {
		uint32_t number = *at = (uint32_t)o->frame_count;

		o->frame_list = hp_xgrow(o->frame_list, o->frame_count, &o->frame_room,
					 sizeof(*o->frame_list));
		o->frame_place = hp_xgrow(o->frame_place, o->frame_count, &o->place_room,
					  sizeof(*o->frame_place));
		o->frame_list[number] = frame;
		o->frame_place[number] = place;
		o->frame_count++;
		function_put(o, o->report->cpu->frames[frame].function);
		return number;
	}
	return *at;
}

/* The place of a stack in the table, + 1: callers come first. */
static uint32_t stack_put(struct output *o, uint32_t stack)
{
	const struct hp_cpu *cpu = o->report->cpu;
	const struct hp_cpu_place *place;
	uint32_t prefix;

	if (!stack || o->stacks[stack])
		return stack ? o->stacks[stack] : 0;
	prefix = stack_put(o, o->report->model.sampling.stacks[stack].parent);
	place = &cpu->places[cpu->of_stack[stack]];
	for (uint32_t i = place->count; i-- > 0;) {
		o->stack_prefix = hp_xgrow(o->stack_prefix, o->stack_count, &o->prefix_room,
					   sizeof(*o->stack_prefix));
		o->stack_frame = hp_xgrow(o->stack_frame, o->stack_count, &o->stack_room,
					  sizeof(*o->stack_frame));
		o->stack_prefix[o->stack_count] = prefix;
		o->stack_frame[o->stack_count] =
			frame_put(o, cpu->of_stack[stack], place->first + i);
		prefix = (uint32_t)++o->stack_count;
	}
	return o->stacks[stack] = prefix;
}

static enum category category_of(const struct output *o, size_t frame)
{
	uint32_t object = o->report->cpu->places[o->frame_place[frame]].object;

	if (object == HP_NONE)
		return CATEGORY_OTHER;
	return o->report->model.objects[object].kind == HP_OBJECT_KERNEL ? CATEGORY_KERNEL
									 : CATEGORY_USER;
}

static void stacks_write(struct output *o)
{
	gzputs(o->out, "\"stackTable\":{");
	COLUMN(o, "prefix", o->stack_count,
	       o->stack_prefix[i] ? (int64_t)o->stack_prefix[i] - 1 : INT64_MIN);
	COLUMN(o, "frame", o->stack_count, o->stack_frame[i]);
	COLUMN(o, "category", o->stack_count, category_of(o, o->stack_frame[i]));
	COLUMN(o, "subcategory", o->stack_count, 0 * i);
	gzprintf(o->out, "\"length\":%zu},", o->stack_count);
}

static void frames_write(struct output *o)
{
	const struct hp_cpu *cpu = o->report->cpu;
	size_t count = o->frame_count;

	gzputs(o->out, "\"frameTable\":{");
	COLUMN(o, "address", count, cpu->places[o->frame_place[i]].address);
	/* The outermost function at a place is its own; the ones inside are inlined. */
	COLUMN(o, "inlineDepth", count,
	       cpu->places[o->frame_place[i]].first + cpu->places[o->frame_place[i]].count - 1 -
		       o->frame_list[i]);
	COLUMN(o, "category", count, category_of(o, i));
	COLUMN(o, "subcategory", count, 0 * i);
	COLUMN(o, "func", count, function_put(o, cpu->frames[o->frame_list[i]].function));
	COLUMN(o, "nativeSymbol", count, i ? INT64_MIN : INT64_MIN);
	COLUMN(o, "innerWindowID", count, 0 * i);
	COLUMN(o, "implementation", count, i ? INT64_MIN : INT64_MIN);
	COLUMN(o, "line", count,
	       cpu->frames[o->frame_list[i]].line ? cpu->frames[o->frame_list[i]].line : INT64_MIN);
	COLUMN(o, "column", count, i ? INT64_MIN : INT64_MIN);
	gzprintf(o->out, "\"length\":%zu},", count);
}

/* Strings: first the functions, then the libraries, then our own words. */
static void functions_write(struct output *o)
{
	const struct hp_model *model = &o->report->model;
	size_t count = o->function_count;

	gzputs(o->out, "\"funcTable\":{");
	COLUMN(o, "name", count, i);
	gzputs(o->out, "\"isJS\":[");
	for (size_t i = 0; i < count; i++)
		gzputs(o->out, i ? ",false" : "false");
	gzputs(o->out, "],\"relevantForJS\":[");
	for (size_t i = 0; i < count; i++)
		gzputs(o->out, i ? ",false" : "false");
	gzputs(o->out, "],");
	COLUMN(o, "resource", count,
	       o->report->cpu->functions[o->function_list[i]].object == HP_NONE
		       ? -1
		       : (int64_t)o->libs[o->report->cpu->functions[o->function_list[i]].object]);
	COLUMN(o, "fileName", count, i ? INT64_MIN : INT64_MIN);
	COLUMN(o, "lineNumber", count, i ? INT64_MIN : INT64_MIN);
	COLUMN(o, "columnNumber", count, i ? INT64_MIN : INT64_MIN);
	gzprintf(o->out, "\"length\":%zu},\"resourceTable\":{", count);
	COLUMN(o, "lib", model->object_count, i);
	COLUMN(o, "name", model->object_count, count + i);
	COLUMN(o, "host", model->object_count, i ? INT64_MIN : INT64_MIN);
	COLUMN(o, "type", model->object_count, 0 * i + 1);
	gzprintf(o->out,
		 "\"length\":%zu},\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
		 "\"functionSize\":[],\"length\":0},\"stringArray\":[",
		 model->object_count);
	for (size_t i = 0; i < count; i++) {
		text_put(o,
			 hp_cpu_name(o->report, &o->report->cpu->functions[o->function_list[i]]));
		gzputc(o->out, ',');
	}
	for (size_t i = 0; i < model->object_count; i++) {
		const char *slash = strrchr(model->objects[i].path, '/');

		text_put(o, slash ? slash + 1 : model->objects[i].path);
		gzputc(o->out, ',');
	}
	text_put(o, "Wait");
	gzputs(o->out, "],");
}

static void samples_write(struct output *o, const struct thread *thread)
{
	const char *comma = "";
	size_t count = 0;

	gzputs(o->out, "\"samples\":{\"stack\":[");
	for (size_t i = 0; i < thread->count; i++) {
		uint32_t stack = stack_put(o, thread->events[i].node);

		if (thread->events[i].kind != HP_EVENT_CPU)
			continue;
		if (stack)
			gzprintf(o->out, "%s%u", comma, stack - 1);
		else
			gzprintf(o->out, "%snull", comma);
		comma = ",";
		count++;
	}
	gzputs(o->out, "],\"time\":[");
	comma = "";
	for (size_t i = 0; i < thread->count; i++)
		if (thread->events[i].kind == HP_EVENT_CPU) {
			gzprintf(o->out, "%s%.6f", comma, ms_of(o, thread->events[i].ns));
			comma = ",";
		}
	gzputs(o->out, "],\"threadCPUDelta\":[");
	comma = "";
	for (size_t i = 0; i < thread->count; i++)
		if (thread->events[i].kind == HP_EVENT_CPU) {
			gzprintf(o->out, "%s%" PRIu64, comma, thread->events[i].span_ns / 1000);
			comma = ",";
		}
	gzprintf(o->out, "],\"weight\":null,\"weightType\":\"samples\",\"length\":%zu},", count);
}

static void markers_write(struct output *o, const struct thread *thread)
{
	size_t name = o->function_count + o->report->model.object_count, count = 0;
	struct hp_event *waits = hp_xcalloc(thread->count, sizeof(*waits));

	for (size_t i = 0; i < thread->count; i++)
		if (thread->events[i].kind == HP_EVENT_WAIT)
			waits[count++] = thread->events[i];
	gzputs(o->out, "\"markers\":{");
	COLUMN(o, "name", count, 0 * i + name);
	COLUMN(o, "category", count, 0 * i + CATEGORY_WAIT);
	COLUMN(o, "phase", count, 0 * i + 1);
	gzputs(o->out, "\"startTime\":[");
	for (size_t i = 0; i < count; i++)
		gzprintf(o->out, "%s%.6f", i ? "," : "", ms_of(o, waits[i].ns - waits[i].span_ns));
	gzputs(o->out, "],\"endTime\":[");
	for (size_t i = 0; i < count; i++)
		gzprintf(o->out, "%s%.6f", i ? "," : "", ms_of(o, waits[i].ns));
	gzputs(o->out, "],\"data\":[");
	for (size_t i = 0; i < count; i++) {
		uint32_t stack = o->stacks[waits[i].node];

		gzprintf(o->out, "%s{\"type\":\"Wait\"", i ? "," : "");
		if (stack)
			gzprintf(o->out, ",\"cause\":{\"stack\":%u,\"time\":%.6f}", stack - 1,
				 ms_of(o, waits[i].ns - waits[i].span_ns));
		gzputc(o->out, '}');
	}
	gzprintf(o->out, "],\"length\":%zu},", count);
	free(waits);
}

static const char *thread_name(const struct output *o, const struct thread *thread)
{
	const struct hp_model *model = &o->report->model;

	for (size_t i = 0; i < model->thread_count; i++)
		if (model->threads[i].tid == thread->tid && model->threads[i].name[0])
			return model->threads[i].name;
	for (size_t i = 0; i < model->process_count; i++)
		if (model->processes[i].pid == thread->pid)
			return model->processes[i].comm;
	return "?";
}

static void thread_write(struct output *o, const struct thread *thread)
{
	memset(o->stacks, 0, o->report->model.sampling.stack_count * sizeof(*o->stacks));
	hp_map_clear(&o->frames);
	hp_map_clear(&o->functions);
	o->frame_count = o->function_count = o->stack_count = 0;
	gzprintf(o->out,
		 "{\"processType\":\"default\",\"isMainThread\":%s,\"pid\":\"%u\","
		 "\"tid\":%u,\"processStartupTime\":0,\"processShutdownTime\":null,"
		 "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],"
		 "\"showMarkersInTimeline\":true,\"name\":",
		 thread->pid == thread->tid ? "true" : "false", thread->pid, thread->tid);
	text_put(o, thread_name(o, thread));
	gzputs(o->out, ",\"processName\":");
	text_put(o, thread_name(o, thread));
	gzputc(o->out, ',');
	samples_write(o, thread);
	stacks_write(o);
	frames_write(o);
	markers_write(o, thread);
	functions_write(o);
	/* What every list above leaves is a comma. */
	gzputs(o->out, "\"processorCount\":0}");
}

/* --- the whole --- */

/* As breakpad writes it: the first three parts of the build-id have their bytes reversed. */
static void breakpad_put(struct output *o, const struct hp_model_object *object)
{
	static const int order[16] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };

	gzputs(o->out, "\"breakpadId\":\"");
	for (int i = 0; i < 16; i++)
		gzprintf(o->out, "%02X", object->build_id[order[i]]);
	gzputs(o->out, "0\",\"codeId\":");
	if (!object->build_id_size) {
		gzputs(o->out, "null");
		return;
	}
	gzputc(o->out, '"');
	for (uint32_t i = 0; i < object->build_id_size; i++)
		gzprintf(o->out, "%02x", object->build_id[i]);
	gzputc(o->out, '"');
}

static void libs_write(struct output *o)
{
	const struct hp_model *model = &o->report->model;

	gzputs(o->out, "\"libs\":[");
	for (size_t i = 0; i < model->object_count; i++) {
		const char *path = model->objects[i].path;
		const char *slash = strrchr(path, '/');
		const char *const names[] = { "name", "debugName", "path", "debugPath" };

		o->libs[i] = (uint32_t)i;
		gzputs(o->out, i ? ",{" : "{");
		for (int n = 0; n < 4; n++) {
			gzprintf(o->out, "\"%s\":", names[n]);
			text_put(o, n < 2 && slash ? slash + 1 : path);
			gzputc(o->out, ',');
		}
		breakpad_put(o, &model->objects[i]);
		gzputs(o->out, ",\"arch\":null}");
	}
	gzputs(o->out, "],");
}

static void meta_write(struct output *o)
{
	const struct hp_model *model = &o->report->model;
	uint32_t hz = model->sampling.record.frequency;

	gzprintf(o->out,
		 "{\"meta\":{\"interval\":%.6f,\"startTime\":%.3f,\"processType\":0,"
		 "\"product\":",
		 hz ? 1000.0 / hz : 1.0, (double)model->reader.header.created_unix_ns / 1e6);
	text_put(o, o->report->caller);
	gzprintf(o->out,
		 ",\"version\":24,\"preprocessedProfileVersion\":%d,\"stackwalk\":1,"
		 "\"debug\":false,\"symbolicated\":true,\"categories\":["
		 "{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
		 "{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
		 "{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
		 "{\"name\":\"Wait\",\"color\":\"blue\",\"subcategories\":[\"Other\"]}],"
		 "\"markerSchema\":[{\"name\":\"Wait\",\"display\":[\"marker-chart\","
		 "\"marker-table\",\"timeline-overview\"],\"data\":[]}],"
		 "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
		 "\"threadCPUDelta\":\"\\u00b5s\"},\"extensions\":{\"baseURL\":[],\"id\":[],"
		 "\"name\":[],\"length\":0},\"pausedRanges\":[],\"usesOnlyOneStackType\":true,"
		 "\"sourceCodeIsNotOnSearchfox\":true,\"doesNotUseFrameImplementation\":true,"
		 "\"importedFrom\":\"hotpath\"},",
		 VERSION);
}

int hp_export_firefox(struct hp_report *report, int fd)
{
	struct output o = { .report = report };
	int copy = dup(fd);
	int error;

	o.out = copy < 0 ? NULL : gzdopen(copy, "wb1");
	if (!o.out)
		return -errno;
	hp_report_cpu(report);
	o.libs = hp_xcalloc(report->model.object_count, sizeof(*o.libs));
	o.stacks = hp_xcalloc(report->model.sampling.stack_count, sizeof(*o.stacks));
	events_read(&o);
	meta_write(&o);
	libs_write(&o);
	gzputs(o.out, "\"pages\":[],\"profilerOverhead\":[],\"counters\":[],\"threads\":[");
	for (size_t i = 0; i < o.thread_count; i++) {
		if (i)
			gzputc(o.out, ',');
		thread_write(&o, &o.threads[i]);
		free(o.threads[i].events);
	}
	gzputs(o.out, "]}\n");
	error = gzclose(o.out) == Z_OK ? 0 : -EIO;
	free(o.threads);
	free(o.libs);
	free(o.stacks);
	free(o.frame_list);
	free(o.frame_place);
	free(o.function_list);
	free(o.stack_prefix);
	free(o.stack_frame);
	hp_map_release(&o.frames);
	hp_map_release(&o.functions);
	return error;
}
