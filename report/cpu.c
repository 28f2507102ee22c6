/* SPDX-License-Identifier: MIT */
/*
 * cpu.c - see cpu.h.
 *
 * Addresses are looked up once each, sorted by object and address, so that
 * tables and debug information are walked in order.
 */
#include "report/cpu.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "report/cpu_names.h"
#include "report/format.h"
#include "report/inline.h"
#include "report/map.h"
#include "report/memory.h"
#include "report/name.h"

/* What is needed while the functions are found. */
struct build {
	struct hp_report *report;
	struct hp_cpu *cpu;
	struct hp_inlines *inlines;
	struct hp_map by_name;	/* hash of object and name -> place in cpu->functions */
	struct hp_map by_code;	/* hash of object and address -> place in model->functions */
	char **raw;	/* beside cpu->functions: names as in the files */
	struct hp_names names;	/* of the object at hand, if it is no file */
	uint32_t named;	/* that object */
	size_t function_room;
	size_t raw_room;
	size_t frame_room;
	uint32_t *same;	/* of each object: the first that is the same file */
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ (hash >> 32);
}

static uint64_t name_hash(uint32_t object, const char *name, size_t length)
{
	uint64_t hash = mix(1, object);

	for (size_t i = 0; i < length; i++)
		hash = mix(hash, (unsigned char)name[i]);
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

static void same_find(struct build *b)
{
	const struct hp_model *model = &b->report->model;

	b->same = hp_xcalloc(model->object_count, sizeof(*b->same));
	for (uint32_t i = 0; i < model->object_count; i++)
		for (b->same[i] = 0; b->same[i] < i; b->same[i]++)
			if (is_same_file(&model->objects[b->same[i]], &model->objects[i]))
				break;
}

static uint32_t same_of(const struct build *b, uint32_t object)
{
	return object < b->report->model.object_count ? b->same[object] : HP_NONE;
}

/* --- functions --- */

/* What compilers put behind the name of a part or a copy of a function. */
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
static uint32_t function_named(struct build *b, uint32_t object, const char *name)
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
		.name = hp_symbols_readable(b->raw[cpu->function_count]),
		.object = object,
		.instrumented = HP_NONE,
	};
	return (uint32_t)cpu->function_count++;
}

/* For an address without a symbol: what it belongs to. */
static uint32_t function_unknown(struct build *b, uint32_t object)
{
	const struct hp_model_object *o =
		object == HP_NONE ? NULL : &b->report->model.objects[object];
	char *name;
	uint32_t place;

	if (!o)
		name = hp_xstrdup("[unknown]");
	else if (o->kind == HP_OBJECT_ANONYMOUS)
		name = hp_xstrdup("[made at run time]");
	else if (o->path[0] == '[')
		name = hp_xstrdup(o->path);
	else
		name = hp_xprintf("[%s]", hp_name_file(o->path));
	place = function_named(b, object, name);
	free(name);
	return place;
}

/* --- places --- */

static void frame_add(struct build *b, struct hp_cpu_frame frame)
{
	b->cpu->frames = hp_xgrow(b->cpu->frames, b->cpu->frame_count, &b->frame_room,
				  sizeof(*b->cpu->frames));
	b->cpu->frames[b->cpu->frame_count++] = frame;
}

/* Names of the kernel, or of code made at run time. */
static const char *other_name(struct build *b, uint32_t object, uint64_t address)
{
	const struct hp_model_object *o = &b->report->model.objects[object];

	if (o->kind == HP_OBJECT_KERNEL && address < HP_ON_ONS)
		return hp_names_wait((uint32_t)address);
	if (b->named != object) {
		hp_names_release(&b->names);
		if (o->kind == HP_OBJECT_KERNEL)
			hp_names_init_kernel(&b->names);
		else
			hp_names_init_map(&b->names, o->path);
		b->named = object;
	}
	return hp_names_at(&b->names, address);
}

/* An instrumented function whose code starts here. */
static void note_code(struct build *b, uint32_t function, uint32_t object, uint64_t start)
{
	const struct hp_model *model = &b->report->model;
	uint64_t hash = mix(mix(same_of(b, object), start), start) | 1;

	for (;; hash += 2) {
		const uint32_t *place = hp_map_find(&b->by_code, hash);

		if (!place)
			return;
		if (model->functions[*place].address != start ||
		    same_of(b, model->functions[*place].object) != same_of(b, object))
			continue;
		b->cpu->functions[function].instrumented = *place;
		return;
	}
}

/* Of code in a file: what was inlined there, then the function itself. */
static void resolve_file(struct build *b, struct hp_cpu_place *place)
{
	struct hp_cpu_frame own = { .line = 0 };
	struct hp_inline list[HP_INLINES_MOST];
	const char *name =
		hp_symbols_near(b->report->symbols, place->object, place->address, &place->start);
	size_t count = hp_inlines_at(b->inlines, place->object, place->address, list);

	for (size_t i = 0; i < count; i++) {
		if (!list[i].is_inlined)
			own = (struct hp_cpu_frame){ 0, list[i].line, list[i].file };
		else if (list[i].name)
			frame_add(b, (struct hp_cpu_frame){
					     function_named(b, place->object, list[i].name),
					     list[i].line, list[i].file });
	}
	own.function =
		name ? function_named(b, place->object, name) : function_unknown(b, place->object);
	frame_add(b, own);
}

/* By what the kept file says; false = nothing. */
static bool resolve_kept(struct build *b, struct hp_cpu_place *place)
{
	const struct hp_cpu_legend *legend = &b->report->record.legend->cpu;
	const struct hp_cpu_legend_place *kept =
		hp_cpu_legend_find(legend, place->object, place->address);
	const char *name;
	struct hp_cpu_frame frame;
	char *at = kept ? kept->frames : NULL;

	if (!kept)
		return false;
	while (hp_cpu_legend_frame(legend, &at, &name, &frame.file, &frame.line)) {
		frame.function = function_named(b, place->object, name);
		frame_add(b, frame);
	}
	place->start = kept->start;
	return b->cpu->frame_count > place->first;
}

static void resolve_other(struct build *b, const struct hp_cpu_place *place)
{
	const char *name = other_name(b, place->object, place->address);
	struct hp_cpu_frame frame = { .line = 0 };

	frame.function =
		name ? function_named(b, place->object, name) : function_unknown(b, place->object);
	frame_add(b, frame);
}

static void place_resolve(struct build *b, struct hp_cpu_place *place)
{
	place->first = (uint32_t)b->cpu->frame_count;
	if (place->object == HP_NONE || (b->report->record.legend && !resolve_kept(b, place)))
		frame_add(b,
			  (struct hp_cpu_frame){ .function = function_unknown(b, place->object) });
	else if (b->report->record.legend)
		;
	else if (b->report->model.objects[place->object].kind == HP_OBJECT_ELF)
		resolve_file(b, place);
	else
		resolve_other(b, place);
	if (place->start)
		note_code(b, b->cpu->frames[b->cpu->frame_count - 1].function, place->object,
			  place->start);
	place->count = (uint32_t)b->cpu->frame_count - place->first;
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

static void places_find(struct build *b)
{
	const struct hp_model_sampling *sampling = &b->report->model.sampling;
	struct hp_cpu *cpu = b->cpu;
	size_t count = sampling->stack_count, room = 0;
	struct wish *wishes = hp_xcalloc(count, sizeof(*wishes));

	cpu->of_stack = hp_xcalloc(count, sizeof(*cpu->of_stack));
	for (uint32_t i = 1; i < count; i++)
		wishes[i - 1] = (struct wish){ sampling->stacks[i].address,
					       same_of(b, sampling->stacks[i].object), i };
	if (count > 1)
		qsort(wishes, count - 1, sizeof(*wishes), compare_wishes);
	for (size_t i = 0; i + 1 < count; i++) {
		if (i == 0 || compare_wishes(&wishes[i - 1], &wishes[i]) != 0) {
			cpu->places = hp_xgrow(cpu->places, cpu->place_count, &room,
					       sizeof(*cpu->places));
			cpu->places[cpu->place_count] =
				(struct hp_cpu_place){ .object = wishes[i].object,
						       .address = wishes[i].address };
			place_resolve(b, &cpu->places[cpu->place_count++]);
		}
		cpu->of_stack[wishes[i].stack] = (uint32_t)cpu->place_count - 1;
	}
	free(wishes);
}

/* --- instrumented functions --- */

static void codes_find(struct build *b)
{
	const struct hp_model *model = &b->report->model;

	for (uint32_t i = 0; i < model->function_count; i++) {
		const struct hp_model_function *f = &model->functions[i];
		uint64_t hash = mix(mix(same_of(b, f->object), f->address), f->address) | 1;
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
 * A function of which only inlined copies were met, or a part that was split
 * off, is instrumented if one of the same name is.
 */
static void names_match(struct build *b)
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

/* --- sums --- */

static bool is_row(const struct hp_report *report, const struct hp_cpu_function *f)
{
	return !report->has_functions || f->instrumented != HP_NONE;
}

/* The innermost function at a place that is a row; HP_NONE = there is none. */
static uint32_t owner_at(const struct build *b, uint32_t stack)
{
	const struct hp_cpu_place *place = &b->cpu->places[b->cpu->of_stack[stack]];

	for (uint32_t i = 0; i < place->count; i++) {
		uint32_t function = b->cpu->frames[place->first + i].function;

		if (is_row(b->report, &b->cpu->functions[function]))
			return function;
	}
	return HP_NONE;
}

/* Each function on the stack once, however often it is on it. */
static void total_add(struct build *b, uint32_t stack, const struct hp_model_stack *from)
{
	const struct hp_model_stack *stacks = b->report->model.sampling.stacks;
	uint32_t stamp = stack;

	for (; stack; stack = stacks[stack].parent) {
		const struct hp_cpu_place *place = &b->cpu->places[b->cpu->of_stack[stack]];

		for (uint32_t i = 0; i < place->count; i++) {
			struct hp_cpu_function *f =
				&b->cpu->functions[b->cpu->frames[place->first + i].function];

			if (f->stamp == stamp)
				continue;
			f->stamp = stamp;
			f->total_ns += from->cpu_ns;
			f->total_samples += from->samples;
		}
	}
}

static void sum_up(struct build *b)
{
	const struct hp_model_sampling *sampling = &b->report->model.sampling;
	struct hp_cpu *cpu = b->cpu;
	uint32_t *owners = hp_xcalloc(sampling->stack_count, sizeof(*owners));

	for (uint32_t i = 0; i < sampling->stack_count; i++) {
		const struct hp_model_stack *stack = &sampling->stacks[i];
		uint32_t owner = i ? owner_at(b, i) : HP_NONE;

		/* A caller has a lower number. */
		if (i && owner == HP_NONE)
			owner = owners[stack->parent];
		owners[i] = owner;
		cpu->total_ns += stack->cpu_ns;
		cpu->total_samples += stack->samples;
		if (!stack->samples)
			continue;
		total_add(b, i, stack);
		if (owner == HP_NONE)
			continue;
		cpu->functions[owner].self_ns += stack->cpu_ns;
		cpu->functions[owner].self_samples += stack->samples;
		cpu->attributed_ns += stack->cpu_ns;
	}
	free(owners);
}

struct hp_cpu *hp_report_cpu(struct hp_report *report)
{
	struct build b = { .report = report, .named = HP_NONE };

	if (report->cpu)
		return report->cpu;
	report->cpu = b.cpu = hp_xcalloc(1, sizeof(*b.cpu));
	b.inlines = hp_inlines_new(report->symbols);
	same_find(&b);
	if (report->has_functions)
		codes_find(&b);
	places_find(&b);
	if (report->has_functions)
		names_match(&b);
	sum_up(&b);
	hp_inlines_free(b.inlines);
	hp_names_release(&b.names);
	hp_map_release(&b.by_name);
	hp_map_release(&b.by_code);
	for (size_t i = 0; i < b.cpu->function_count; i++)
		free(b.raw[i]);
	free(b.raw);
	free(b.same);
	return report->cpu;
}

void hp_cpu_free(struct hp_cpu *cpu)
{
	if (!cpu)
		return;
	for (size_t i = 0; i < cpu->function_count; i++)
		free(cpu->functions[i].name);
	free(cpu->functions);
	free(cpu->frames);
	free(cpu->places);
	free(cpu->of_stack);
	free(cpu);
}
