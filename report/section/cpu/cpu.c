/* SPDX-License-Identifier: MIT */
/*
 * cpu.c - see cpu.h.
 *
 * Addresses are looked up once each, sorted by object and address, so that
 * tables and debug information are walked in order.  A later refresh only looks up
 * those of new stacks, and those whose names were missing.  Sums: sum.c.
 */
#include "report/section/cpu/cpu.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "report/section/cpu/build.h"
#include "report/base/format.h"
#include "report/elf/demangle.h"
#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "segment/layout/process.h"
#include "util/hash.h"

#define NAMES_SPARE 1000	/* functions without frames, before everything is looked up again */

static uint64_t name_hash(uint32_t object, const char *name, size_t length)
{
	uint64_t hash = hp_hash_add(1, object);

	for (size_t i = 0; i < length; i++)
		hash = hp_hash_add(hash, (unsigned char)name[i]);
	return hash | 1;
}

/* --- objects --- */

static bool is_same_file(const struct hp_model_object *a, const struct hp_model_object *b)
{
	if (a->build_id_size || b->build_id_size)
		return a->build_id_size == b->build_id_size &&
		       memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
	return a->kind == b->kind && a->path[0] && strcmp(a->path, b->path) == 0;
}

static void same_find(struct hp_cpu_build *b)
{
	const struct hp_model *model = &b->report->model;

	free(b->same);
	b->same = hp_xcalloc(model->object_count, sizeof(*b->same));
	for (uint32_t i = 0; i < model->object_count; i++)
		for (b->same[i] = 0; b->same[i] < i; b->same[i]++)
			if (is_same_file(&model->objects[b->same[i]], &model->objects[i]))
				break;
}

static uint32_t same_of(const struct hp_cpu_build *b, uint32_t object)
{
	return object < b->report->model.object_count ? b->same[object] : HP_NONE;
}

/* --- functions --- */

/* Suffixes of compilers for a part or a copy of a function. */
static size_t base_length(const char *name)
{
	static const char *const parts[] = { ".cold",	  ".part.", ".constprop.", ".isra.",
					     ".lto_priv", ".llvm.", ".localalias" };
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *at = strstr(name, parts[i]);

		if (at && at > name && (size_t)(at - name) < length)
			length = (size_t)(at - name);
	}
	return length;
}

/* The function of this name; several of one name in an object are one row. */
static uint32_t function_named(struct hp_cpu_build *b, uint32_t object, const char *name)
{
	struct hp_cpu *cpu = b->cpu;
	size_t length = base_length(name);
	uint64_t hash = name_hash(object, name, length);
	uint32_t *place;
	bool is_new;

	for (;; hash += 2) {
		place = hp_map_at(&b->by_name, hash, &is_new);
		if (is_new)
			break;
		if (cpu->functions[*place].object == object &&
		    strncmp(b->raw[*place], name, length) == 0 && !b->raw[*place][length])
			return *place;
	}
	*place = (uint32_t)cpu->function_count;
	b->raw = hp_xgrow(b->raw, cpu->function_count, &b->raw_room, sizeof(*b->raw));
	b->raw[cpu->function_count] = hp_xprintf("%.*s", (int)length, name);
	cpu->functions = hp_xgrow(cpu->functions, cpu->function_count, &b->function_room,
				  sizeof(*cpu->functions));
	cpu->functions[cpu->function_count] = (struct hp_cpu_function){
		.name = hp_name_readable(b->raw[cpu->function_count]),
		.object = object,
		.instrumented = HP_NONE,
	};
	return (uint32_t)cpu->function_count++;
}

/* For an address without a symbol: its owner. */
static uint32_t function_unknown(struct hp_cpu_build *b, uint32_t object)
{
	const struct hp_model_object *o =
		object == HP_NONE ? NULL : &b->report->model.objects[object];
	char *name;
	uint32_t place;

	if (!o)
		name = hp_xstrdup("[unknown]");
	else if (o->kind == HP_OBJECT_ANONYMOUS)
		name = hp_xstrdup(HP_CPU_ANONYMOUS);
	else if (o->path[0] == '[')
		name = hp_xstrdup(o->path);
	else
		name = hp_xprintf("[%s]", hp_model_object_name(&b->report->model, object));
	place = function_named(b, object, name);
	free(name);
	return place;
}

/* --- places --- */

static void frame_add(struct hp_cpu_build *b, struct hp_cpu_frame frame)
{
	b->cpu->frames = hp_xgrow(b->cpu->frames, b->cpu->frame_count, &b->frame_room,
				  sizeof(*b->cpu->frames));
	b->cpu->frames[b->cpu->frame_count++] = frame;
}

/* Names of the kernel, or of code made at run time. */
static const char *other_name(struct hp_cpu_build *b, uint32_t object, uint64_t address)
{
	const struct hp_model_object *o = &b->report->model.objects[object];

	if (o->kind == HP_OBJECT_KERNEL && address < HP_ON_ONS)
		return hp_names_wait((uint32_t)address);
	if (b->named != object) {
		hp_names_release(&b->names);
		if (o->kind == HP_OBJECT_KERNEL)
			hp_names_init_kernel(&b->names);
		else
			hp_symbols_blame(b->report->symbols, object,
					 hp_names_init_map(&b->names, o->path, o->user));
		b->named = object;
	}
	return hp_names_at(&b->names, address);
}

/* An instrumented function whose code starts here. */
static void note_code(struct hp_cpu_build *b, uint32_t function, uint32_t object, uint64_t start)
{
	const struct hp_model *model = &b->report->model;
	uint64_t hash = hp_hash_add(hp_hash_add(same_of(b, object), start), start) | 1;

	for (;; hash += 2) {
		const uint32_t *place = hp_map_find(&b->by_code, hash);

		if (!place)
			return;
		if (model->functions[*place].address != start ||
		    same_of(b, model->functions[*place].object) != same_of(b, object))
			continue;
		/* With several of one name it is the last one, in whatever order places were
		 * found. */
		if (b->cpu->functions[function].instrumented == HP_NONE ||
		    model->functions[b->cpu->functions[function].instrumented].address < start)
			b->cpu->functions[function].instrumented = *place;
		return;
	}
}

/* For code in a file: functions inlined there, then the function itself. */
static void resolve_file(struct hp_cpu_build *b, struct hp_cpu_place *place)
{
	struct hp_cpu_frame own = { .line = 0 };
	struct hp_symbols *symbols = b->report->symbols;
	const char *name = hp_symbols_near(symbols, place->object, place->address, &place->start);
	const struct hp_debug *inlines = hp_symbols_inlines(symbols, place->object, place->address);

	for (size_t i = 0; inlines && i < inlines->count; i++) {
		const struct hp_debug_line *line = &inlines->lines[i];

		if (!line->is_inlined)
			own = (struct hp_cpu_frame){ 0, line->line, line->file };
		else if (line->name)
			frame_add(b, (struct hp_cpu_frame){
					     function_named(b, place->object, line->name),
					     line->line, line->file });
	}
	own.function =
		name ? function_named(b, place->object, name) : function_unknown(b, place->object);
	frame_add(b, own);
}

/* From the kept file; false = none. */
static bool resolve_kept(struct hp_cpu_build *b, struct hp_cpu_place *place)
{
	const struct hp_places *places = hp_symbols_places(b->report->symbols, HP_PLACES_CPU);
	const struct hp_noted_place *kept = hp_places_find(places, place->object, place->address);
	const char *name;
	struct hp_cpu_frame frame;
	char *at = kept ? kept->frames : NULL;

	if (!kept)
		return false;
	while (hp_places_frame(places, &at, &name, &frame.file, &frame.line)) {
		frame.function = function_named(b, place->object, name);
		frame_add(b, frame);
	}
	place->start = kept->start;
	return b->cpu->frame_count > place->first;
}

static void resolve_other(struct hp_cpu_build *b, const struct hp_cpu_place *place)
{
	const char *name = other_name(b, place->object, place->address);
	struct hp_cpu_frame frame = { .line = 0 };

	frame.function =
		name ? function_named(b, place->object, name) : function_unknown(b, place->object);
	frame_add(b, frame);
}

/* Code made at run time may have been replaced. */
static bool is_lasting(const struct hp_cpu_build *b, uint32_t object)
{
	return object == HP_NONE || b->report->model.objects[object].kind != HP_OBJECT_ANONYMOUS;
}

static uint64_t missing(const struct hp_cpu_build *b)
{
	return hp_symbols_missing(b->report->symbols);
}

/* The run recorded why code made at run time had no names, so the reason is shown again. */
static void legend_blame(struct hp_cpu_build *b, uint32_t object)
{
	if (b->report->model.objects[object].kind == HP_OBJECT_ANONYMOUS)
		hp_symbols_blame(b->report->symbols, object,
				 hp_legend_fault(b->report->record.legend, object));
}

/*
 * One name for all of the profiler's code.  Results go into a kept file, so that
 * a later report has them.
 */
static void place_hide(struct hp_cpu_build *b, struct hp_cpu_place *place)
{
	struct hp_cpu *cpu = b->cpu;

	if (cpu->profiler == HP_NONE)
		cpu->profiler = function_named(b, place->object, "[hotpath]");
	place->inner = place->first;
	place->inner_count = place->count;
	place->first = (uint32_t)cpu->frame_count;
	place->count = 1;
	frame_add(b, (struct hp_cpu_frame){ .function = cpu->profiler });
}

static bool is_hidden(const struct hp_cpu_build *b, uint32_t object)
{
	return !b->report->settings->internals && object != HP_NONE &&
	       b->report->model.objects[object].is_profiler;
}

static void place_resolve(struct hp_cpu_build *b, uint32_t number)
{
	struct hp_cpu_place *place = &b->cpu->places[number];
	uint64_t before = missing(b);

	place->first = (uint32_t)b->cpu->frame_count;
	if (place->object == HP_NONE || (b->report->record.legend && !resolve_kept(b, place)))
		frame_add(b,
			  (struct hp_cpu_frame){ .function = function_unknown(b, place->object) });
	else if (b->report->record.legend)
		legend_blame(b, place->object);
	else if (b->report->model.objects[place->object].kind == HP_OBJECT_ELF)
		resolve_file(b, place);
	else
		resolve_other(b, place);
	place->count = (uint32_t)b->cpu->frame_count - place->first;
	if (is_hidden(b, place->object)) {
		place_hide(b, place);
		return;
	}
	place->is_pending = missing(b) != before || !is_lasting(b, place->object);
	if (!place->is_pending)
		return;
	b->pending = hp_xgrow(b->pending, b->pending_count, &b->pending_room, sizeof(*b->pending));
	b->pending[b->pending_count++] = number;
}

/* Looks it up again. New frames replace the old ones if there are as many. */
static void place_again(struct hp_cpu_build *b, uint32_t number)
{
	struct hp_cpu *cpu = b->cpu;
	struct hp_cpu_place before = cpu->places[number], *place;
	bool is_same;

	place_resolve(b, number);
	place = &cpu->places[number];
	is_same = place->count == before.count;
	for (uint32_t i = 0; is_same && i < place->count; i++)
		is_same = cpu->frames[place->first + i].function ==
			  cpu->frames[before.first + i].function;
	b->is_stale |= !is_same;
	if (place->count != before.count)
		return;
	memcpy(&cpu->frames[before.first], &cpu->frames[place->first],
	       place->count * sizeof(*cpu->frames));
	cpu->frame_count -= place->count;
	place->first = before.first;
}

static int compare_pending(const void *left, const void *right, void *context)
{
	const struct hp_cpu_place *places = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (places[a].object != places[b].object)
		return places[a].object < places[b].object ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* By object: names of code made at run time are read once for all of it. */
static void pending_look(struct hp_cpu_build *b)
{
	size_t count = b->pending_count;
	uint32_t *pending = b->pending;

	if (count)
		qsort_r(pending, count, sizeof(*pending), compare_pending, b->cpu->places);
	b->pending = NULL;
	b->pending_count = b->pending_room = 0;
	for (size_t i = 0; i < count; i++)
		place_again(b, pending[i]);
	free(pending);
}

struct wish {
	uint64_t address;
	uint32_t object;
	uint32_t stack;
};

static int compare_wishes(const void *left, const void *right)
{
	const struct wish *a = left, *b = right;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* The place + 1 of an address. */
static uint32_t *place_at(struct hp_cpu_build *b, uint32_t object, uint64_t address, bool *is_new)
{
	uint64_t hash = hp_hash_add(hp_hash_add(5, object), address) | 1;
	uint32_t *number;

	for (;; hash += 2) {
		number = hp_map_at(&b->by_place, hash, is_new);
		if (*is_new || (b->cpu->places[*number - 1].object == object &&
				b->cpu->places[*number - 1].address == address))
			return number;
	}
}

static uint32_t place_find(struct hp_cpu_build *b, const struct wish *wish)
{
	struct hp_cpu *cpu = b->cpu;
	bool is_new;
	uint32_t *number = place_at(b, wish->object, wish->address, &is_new);

	if (!is_new)
		return *number - 1;
	cpu->places = hp_xgrow(cpu->places, cpu->place_count, &b->place_room, sizeof(*cpu->places));
	cpu->places[cpu->place_count] =
		(struct hp_cpu_place){ .object = wish->object, .address = wish->address };
	*number = (uint32_t)++cpu->place_count;
	place_resolve(b, (uint32_t)cpu->place_count - 1);
	return (uint32_t)cpu->place_count - 1;
}

/* Of the stacks from the `first` on. */
static void places_find(struct hp_cpu_build *b, uint32_t first)
{
	const struct hp_model_sampling *sampling = &b->report->model.sampling;
	size_t count = sampling->stack_count, wished = 0;
	struct wish *wishes;

	if (first >= count)
		return;
	wishes = hp_xcalloc(count - first, sizeof(*wishes));
	b->cpu->of_stack = hp_xrealloc(b->cpu->of_stack, count, sizeof(*b->cpu->of_stack));
	b->cpu->of_stack[0] = 0;
	for (uint32_t i = first ? first : 1; i < count; i++)
		wishes[wished++] = (struct wish){ sampling->stacks[i].address,
						  same_of(b, sampling->stacks[i].object), i };
	if (wished > 1)
		qsort(wishes, wished, sizeof(*wishes), compare_wishes);
	for (size_t i = 0; i < wished; i++)
		b->cpu->of_stack[wishes[i].stack] = place_find(b, &wishes[i]);
	free(wishes);
}

/* --- instrumented functions --- */

static void codes_find(struct hp_cpu_build *b)
{
	const struct hp_model *model = &b->report->model;

	for (uint32_t i = 0; i < model->function_count; i++) {
		const struct hp_model_function *f = &model->functions[i];
		uint64_t hash =
			hp_hash_add(hp_hash_add(same_of(b, f->object), f->address), f->address) | 1;
		bool is_new = false;

		if (!f->calls || f->object == HP_NONE)
			continue;
		for (; !is_new; hash += 2) {
			uint32_t *place = hp_map_at(&b->by_code, hash, &is_new);

			if (is_new)
				*place = i;
		}
	}
}

/*
 * A function that occurred only as inlined copies, or as a split-off part, is
 * instrumented if one of the same name is.
 */
static void names_match(struct hp_cpu_build *b)
{
	const struct hp_model *model = &b->report->model;
	struct hp_map by_name = HP_MAP_NONE;

	for (uint32_t i = 0; i < model->function_count; i++) {
		const struct hp_model_function *f = &model->functions[i];
		const char *name = f->calls ? hp_symbols_name(b->report->symbols, i) : "";
		bool is_new;

		if (f->calls)
			*hp_map_at(&by_name, name_hash(same_of(b, f->object), name, strlen(name)),
				   &is_new) = i;
	}
	for (size_t i = 0; i < b->cpu->function_count; i++) {
		struct hp_cpu_function *f = &b->cpu->functions[i];
		const uint32_t *place =
			hp_map_find(&by_name, name_hash(f->object, f->name, strlen(f->name)));

		if (f->instrumented == HP_NONE && place &&
		    strcmp(hp_symbols_name(b->report->symbols, *place), f->name) == 0)
			f->instrumented = *place;
	}
	hp_map_release(&by_name);
}

/* Which of the functions are instrumented: more of them may have names now. */
static void instrumented_find(struct hp_cpu_build *b)
{
	struct hp_cpu *cpu = b->cpu;
	uint32_t *before = hp_xcalloc(cpu->function_count, sizeof(*before));

	for (size_t i = 0; i < cpu->function_count; i++) {
		before[i] = cpu->functions[i].instrumented;
		cpu->functions[i].instrumented = HP_NONE;
	}
	codes_find(b);
	for (size_t i = 0; i < cpu->place_count; i++) {
		const struct hp_cpu_place *place = &cpu->places[i];

		if (place->start)
			note_code(b, cpu->frames[place->first + place->count - 1].function,
				  place->object, place->start);
	}
	names_match(b);
	for (size_t i = 0; i < cpu->function_count; i++)
		b->is_stale |= cpu->functions[i].instrumented != before[i];
	hp_map_clear(&b->by_code);
	free(before);
}

/* --- refreshes --- */

static void build_free(struct hp_cpu_build *b)
{
	hp_map_release(&b->by_name);
	hp_map_release(&b->by_code);
	hp_map_release(&b->by_place);
	for (size_t i = 0; i < b->cpu->function_count; i++)
		free(b->raw[i]);
	free(b->raw);
	free(b->same);
	free(b->pending);
	free(b->owners);
	free(b->outer);
	free(b->ups);
	free(b);
}

static void cpu_free(void *held)
{
	struct hp_cpu *cpu = held;

	build_free(cpu->build);
	for (size_t i = 0; i < cpu->function_count; i++)
		free(cpu->functions[i].name);
	free(cpu->functions);
	free(cpu->frames);
	free(cpu->places);
	free(cpu->of_stack);
	free(cpu);
}

/* Without a resolver the names of files are those of this refresh's symbols. */
static void *cpu_keep(void *held)
{
	struct hp_cpu *cpu = held;

	if (cpu->build->is_lasting)
		return cpu;
	cpu_free(cpu);
	return NULL;
}

static const struct hp_view_kind cpu_kind = { .free = cpu_free, .keep = cpu_keep };

/* Code made at run time leaves old names behind, but not forever. */
static bool is_of_use(const struct hp_cpu *cpu, uint32_t generation)
{
	return cpu->build->generation == generation &&
	       cpu->function_count <= 2 * cpu->frame_count + NAMES_SPARE;
}

static struct hp_cpu *begin(struct hp_report *report)
{
	uint32_t generation = report->model.sampling.generation;
	struct hp_cpu *cpu = hp_report_carried(report, &cpu_kind);

	if (cpu && !is_of_use(cpu, generation)) {
		cpu_free(cpu);
		cpu = NULL;
	}
	if (cpu)
		return cpu;
	cpu = hp_xcalloc(1, sizeof(*cpu));
	cpu->build = hp_xcalloc(1, sizeof(*cpu->build));
	cpu->build->cpu = cpu;
	cpu->build->generation = generation;
	cpu->profiler = HP_NONE;
	return cpu;
}

static void look(struct hp_cpu *cpu, struct hp_report *report)
{
	struct hp_cpu_build *b = cpu->build;

	b->report = report;
	b->named = HP_NONE;
	b->is_stale = b->has_functions != report->has_functions;
	b->has_functions = report->has_functions;
	b->is_lasting = hp_symbols_is_lasting(report->symbols);
	same_find(b);
	pending_look(b);
	places_find(b, (uint32_t)b->stack_count);
	if (report->has_functions)
		instrumented_find(b);
	hp_cpu_sum(b);
	b->stack_count = report->model.sampling.stack_count;
	hp_names_release(&b->names);
}

bool hp_cpu_is_made(const struct hp_report *report)
{
	return hp_views_get(&report->views, &cpu_kind) != NULL;
}

struct hp_cpu *hp_report_cpu(const struct hp_report *asked)
{
	struct hp_report *report = (struct hp_report *)(uintptr_t)asked;
	struct hp_cpu *cpu = hp_views_get(&report->views, &cpu_kind);

	if (cpu)
		return cpu;
	cpu = hp_views_add(&report->views, &cpu_kind, begin(report));
	look(cpu, report);
	return cpu;
}

uint32_t hp_cpu_owner(const struct hp_report *report, uint32_t stack)
{
	return hp_report_cpu(report)->build->owners[stack];
}
