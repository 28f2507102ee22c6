/* SPDX-License-Identifier: MIT */
/*
 * owner.c - see owner.h.
 *
 * Stacks are a tree: facts about a stack follow from its caller's and from its own
 * place, so one pass from the roots down is enough.
 */
#include "report/section/answer/owner.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/name/wrapper.h"
#include "segment/layout/process.h"

#define DEPTH_MAX 1000

/* The owner of a function's code. */
enum kind {
	KIND_UNKNOWN = 0,	/* not classified yet */
	KIND_RUNTIME,	/* of the C or C++ library, or of the loader */
	KIND_KERNEL,
	KIND_LIBRARY,	/* of another library of the system */
	KIND_OWN,
	KIND_NAMELESS,	/* of the program, in a file without names */
	KIND_FILE,	/* of another library of the system, without a name, or OpenMP's */
};

/* Facts about a stack, on the way from its root. */
struct state {
	struct hp_owner own;	/* of the program's innermost named function */
	struct hp_owner library;	/* of the innermost named function of a library inside that */
	struct hp_owner nameless;	/* of code of the program without a name, inside both */
	struct hp_owner file;	/* of a library's code without a name, or of OpenMP's: its own thread */
	bool is_entered;	/* the kernel's entry function is known */
	bool is_dispatched;	/* the caller selects the system call's function */
	uint32_t runtime;	/* the innermost function of the C library; HP_NONE = none */
};

struct build {
	struct hp_report *report;
	const struct hp_cpu *cpu;
	uint8_t *of_object;	/* enum kind of a function with a usual name there */
	uint8_t *of_function;	/* enum kind */
	struct state *states;	/* by stack */
};

/* --- objects and functions --- */

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static bool is_runtime(const char *file)
{
	static const char *const names[] = { "libc.so",	     "libc-",	      "libm.so",
					     "libm-",	     "ld-",	      "libpthread",
					     "libstdc++.so", "libc++",	      "libgcc_s",
					     "libdl",	     "librt",	      "libresolv",
					     "libmvec",	     "libhotpath.so", "[vdso]" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (starts_with(file, names[i]))
			return true;
	return false;
}

static bool is_of_system(const char *path)
{
	static const char *const folders[] = { "/usr/lib", "/lib", "/usr/local/lib" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (starts_with(path, folders[i]))
			return true;
	return false;
}

static enum kind kind_find(const struct hp_model_object *object)
{
	if (object->kind == HP_OBJECT_KERNEL)
		return KIND_KERNEL;
	if (object->is_profiler || is_runtime(hp_name_file(object->path)))
		return KIND_RUNTIME;
	if (starts_with(hp_name_file(object->path), "libgomp.so"))
		return KIND_FILE;
	if (object->is_program || !is_of_system(object->path))
		return KIND_OWN;
	return KIND_LIBRARY;
}

/* Asked for each frame of each row. */
static enum kind kind_of_object(struct hp_model_object *object)
{
	if (!object->owner)
		object->owner = (uint8_t)(1 + kind_find(object));
	return (enum kind)(object->owner - 1);
}

/*
 * A stub that jumps to a library, functions that a compiler or the C library adds
 * to each program, and a program's own operator new: its callers own the time.
 */
static bool is_glue(const char *name)
{
	static const char *const names[] = { "_start", "__libc_csu_init", "_init", "_fini" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return strstr(name, "@plt") != NULL || starts_with(name, "operator new") ||
	       starts_with(name, "operator delete");
}

static enum kind kind_of(struct build *b, uint32_t function)
{
	const struct hp_cpu_function *f = &b->cpu->functions[function];
	enum kind kind = b->of_function[function];

	if (kind != KIND_UNKNOWN)
		return kind;
	kind = f->object == HP_NONE ? KIND_RUNTIME : (enum kind)b->of_object[f->object];
	if (kind == KIND_OWN && f->name[0] == '[')
		kind = KIND_NAMELESS;
	else if (kind == KIND_OWN && (is_glue(f->name) || hp_wrapper_is_library(f->name) ||
				      hp_wrapper_is_plumbing(f->name)))
		kind = KIND_RUNTIME;
	else if (kind == KIND_LIBRARY && f->name[0] == '[')
		kind = KIND_FILE;
	b->of_function[function] = (uint8_t)kind;
	return kind;
}

bool hp_owner_is_named(const struct hp_report *report, uint32_t function)
{
	return function != HP_NONE && hp_report_cpu(report)->functions[function].name[0] != '[';
}

bool hp_owner_is_program(const struct hp_report *report, uint32_t object)
{
	return object != HP_NONE && kind_of_object(&report->model.objects[object]) == KIND_OWN;
}

bool hp_owner_is_kernel(const struct hp_report *report, uint32_t function)
{
	uint32_t object =
		function == HP_NONE ? HP_NONE : hp_report_cpu(report)->functions[function].object;

	return object != HP_NONE && report->model.objects[object].kind == HP_OBJECT_KERNEL;
}

/* --- the kernel --- */

/* Prefixes of a system call's name, on some processor. */
static const char *call_name(const char *name)
{
	static const char *const starts[] = { "__x64_sys_",   "__ia32_sys_", "__arm64_sys_",
					      "__riscv_sys_", "__se_sys_",   "__do_sys_",
					      "ksys_" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (starts_with(name, starts[i]))
			return name + strlen(starts[i]);
	return NULL;
}

/* Code that selects the function of a system call, on some processor. */
static bool is_dispatcher(const char *name)
{
	static const char *const starts[] = { "do_syscall_",   "x64_sys_call",	 "ia32_sys_call",
					      "entry_SYSCALL", "invoke_syscall", "el0_svc",
					      "do_el0_svc" };

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (starts_with(name, starts[i]))
			return true;
	return false;
}

/* On the way back to the program: other threads or signals, whatever was called. */
static bool is_return(const char *name)
{
	return strstr(name, "exit_to_user") || strstr(name, "syscall_exit");
}

static const char *other_entry(const char *name)
{
	static const char *const known[][2] = {
		{ "page_fault", "page faults" },
		{ "do_user_addr_fault", "page faults" },
		{ "sysvec_", "interrupts" },
		{ "common_interrupt", "interrupts" },
		{ "ret_from_fork", "fork" },
		{ "do_exit", "exit" },
		{ "el0_da", "page faults" },
		{ "el0_irq", "interrupts" },
		{ "finish_task_switch", "task switches" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strstr(name, known[i][0]))
			return known[i][1];
	return NULL;
}

/* Compilers merge a call's function with its caller: the call's name is in that of the next one. */
static const char *merged_name(const char *name)
{
	if (strstr(name, "mmap_pgoff"))
		return "mmap";
	return starts_with(name, "do_") ? name + strlen("do_") : name;
}

char *hp_owner_entry_text(const struct hp_report *report, uint32_t entry)
{
	const char *name = hp_report_cpu(report)->functions[entry].name;
	const char *call = call_name(name);
	const char *other = other_entry(name);

	if (!call && other)
		return hp_xstrdup(other);
	if (is_dispatcher(name) || is_return(name))
		return hp_xstrdup("call entry");
	call = call && !strstr(call, "mmap_pgoff") ? call : merged_name(name);
	if (starts_with(call, "new"))
		call += strcmp(call, "newfstatat") == 0 ? 0 : strlen("new");
	return hp_xstrdup(call);
}

/* --- one stack --- */

static const struct hp_owner nobody = {
	.function = HP_NONE, .frame = HP_NONE, .callee = HP_NONE, .entry = HP_NONE
};

static bool is_join(const char *name)
{
	return strstr(name, "pthread_join") || strstr(name, "clockjoin") ||
	       strstr(name, "timedjoin") || strstr(name, "std::thread::join") ||
	       strstr(name, "std::jthread::join");
}

static bool is_sync(const char *name)
{
	static const char *const names[] = { "fsync", "fdatasync", "msync", "syncfs",
					     "sync_file_range" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static void own_enter(struct hp_owner *owner, uint32_t function, uint32_t frame)
{
	bool is_same = owner->function == function;
	uint32_t depth = is_same ? owner->depth : 0;

	*owner = nobody;
	owner->function = function;
	owner->frame = frame;
	owner->depth = depth < DEPTH_MAX ? depth + 1 : DEPTH_MAX;
}

static void callee_note(struct hp_owner *owner, uint32_t function, const char *name)
{
	if (owner->callee == HP_NONE)
		owner->callee = function;
	owner->is_join |= is_join(name);
	owner->is_sync |= is_sync(name);
}

static void kernel_note(struct build *b, struct state *state, uint32_t function)
{
	const char *name = b->cpu->functions[function].name;
	const char *call = call_name(name);
	struct hp_owner *owners[] = { &state->own, &state->library, &state->nameless,
				      &state->file };

	for (int i = 0; i < 4; i++) {
		if (!state->is_entered)
			owners[i]->entry = function;
		owners[i]->is_sync |= call && is_sync(call);
	}
	state->is_entered |= call || other_entry(name) ||
			     (state->is_dispatched && !is_dispatcher(name) && !is_return(name));
	state->is_dispatched = is_dispatcher(name);
}

static void frame_note(struct build *b, struct state *state, uint32_t frame)
{
	uint32_t function = b->cpu->frames[frame].function;
	const char *name = b->cpu->functions[function].name;

	switch (kind_of(b, function)) {
	case KIND_OWN:
		own_enter(&state->own, function, frame);
		state->library = state->nameless = nobody;
		state->is_entered = state->is_dispatched = false;
		break;
	case KIND_NAMELESS:
		own_enter(&state->nameless, function, frame);
		state->library = nobody;
		callee_note(&state->own, function, name);
		break;
	case KIND_LIBRARY:
		callee_note(&state->own, function, name);
		callee_note(&state->nameless, function, name);
		own_enter(&state->library, function, frame);
		break;
	case KIND_KERNEL:
		kernel_note(b, state, function);
		break;
	case KIND_FILE:
		callee_note(&state->own, function, name);
		callee_note(&state->library, function, name);
		callee_note(&state->nameless, function, name);
		own_enter(&state->file, function, frame);
		break;
	default:
		state->runtime = function;
		callee_note(&state->own, function, name);
		callee_note(&state->library, function, name);
		callee_note(&state->nameless, function, name);
		callee_note(&state->file, function, name);
		break;
	}
}

/* That main called something unnamed is less informative than the file's name. */
static bool is_main(const struct build *b, uint32_t function)
{
	return strcmp(b->cpu->functions[function].name, "main") == 0;
}

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* The C library before and after a thread's first function. */
static bool is_thread_start(const struct build *b, const struct state *state)
{
	static const char *const outermost[] = { "clone", "__clone", "clone3", "__clone3",
						 "start_thread" };
	static const char *const innermost[] = {
		"rseq_register_current_thread", "madvise",	   "__madvise",
		"advise_stack_range",		"__nptl_free_tcb", "__nptl_deallocate_stack",
		"__nptl_deallocate_tsd"
	};
	const char *first, *last;

	if (state->own.callee == HP_NONE || state->runtime == HP_NONE)
		return false;
	first = b->cpu->functions[state->own.callee].name;
	last = b->cpu->functions[state->runtime].name;
	return is_one_of(first, outermost, sizeof(outermost) / sizeof(outermost[0])) &&
	       (is_one_of(last, outermost, sizeof(outermost) / sizeof(outermost[0])) ||
		is_one_of(last, innermost, sizeof(innermost) / sizeof(innermost[0])));
}

/*
 * Stacks without a function of the program: its loader, or the kernel as it starts and ends; a
 * thread likewise.
 */
static bool is_start(const struct build *b, const struct hp_owner *owner)
{
	static const char *const calls[] = { "execve", "execveat", "exit_group", "exit" };
	const char *call =
		owner->entry == HP_NONE ? NULL : call_name(b->cpu->functions[owner->entry].name);
	uint32_t object =
		owner->callee == HP_NONE ? HP_NONE : b->cpu->functions[owner->callee].object;

	if (call && is_one_of(call, calls, sizeof(calls) / sizeof(calls[0])))
		return true;
	return object != HP_NONE &&
	       starts_with(hp_name_file(b->report->model.objects[object].path), "ld-");
}

static struct hp_owner nobody_of(const struct build *b, const struct state *state)
{
	struct hp_owner owner = state->own;

	owner.is_start = is_start(b, &owner) || is_thread_start(b, state);
	return owner;
}

static struct hp_owner owner_of(const struct build *b, const struct state *state)
{
	bool has_own = state->own.function != HP_NONE;
	bool has_nameless = state->nameless.function != HP_NONE;

	if (has_own && !(has_nameless && is_main(b, state->own.function)))
		return state->own;
	if (state->library.function != HP_NONE)
		return state->library;
	if (has_nameless)
		return state->nameless;
	if (!has_own && state->file.function != HP_NONE)
		return state->file;
	return has_own ? state->own : nobody_of(b, state);
}

static void stack_note(struct build *b, uint32_t stack)
{
	const struct hp_model_stack *stacks = b->report->model.sampling.stacks;
	const struct hp_cpu_place *place = &b->cpu->places[b->cpu->of_stack[stack]];
	struct state *state = &b->states[stack];

	*state = b->states[stacks[stack].parent];
	for (uint32_t i = place->count; i-- > 0;)
		frame_note(b, state, place->first + i);
}

/* --- all of them --- */

static void owners_free(void *held)
{
	struct hp_owners *owners = held;

	free(owners->of_stack);
	free(owners);
}

static void owners_make(struct build *b, struct hp_owners *owners)
{
	const struct hp_model *model = &b->report->model;

	owners->count = model->sampling.stack_count;
	owners->of_stack = hp_xcalloc(owners->count + 1, sizeof(*owners->of_stack));
	b->states = hp_xcalloc(owners->count + 1, sizeof(*b->states));
	b->of_function = hp_xcalloc(b->cpu->function_count, 1);
	b->of_object = hp_xcalloc(model->object_count, 1);
	for (size_t i = 0; i < model->object_count; i++)
		b->of_object[i] = (uint8_t)kind_of_object(&model->objects[i]);
	b->states[0] = (struct state){ .own = nobody,
				       .library = nobody,
				       .nameless = nobody,
				       .file = nobody,
				       .runtime = HP_NONE };
	owners->of_stack[0] = nobody;
	for (uint32_t i = 1; i < owners->count; i++) {
		stack_note(b, i);
		owners->of_stack[i] = owner_of(b, &b->states[i]);
	}
	free(b->of_object);
	free(b->of_function);
	free(b->states);
}

const struct hp_owners *hp_owners_of(struct hp_report *report)
{
	static const struct hp_view_kind kind = { .free = owners_free };
	struct hp_owners *owners = hp_views_get(&report->views, &kind);
	struct build b = { .report = report };

	if (owners)
		return owners;
	b.cpu = hp_report_cpu(report);
	owners = hp_views_add(&report->views, &kind, hp_xcalloc(1, sizeof(*owners)));
	owners_make(&b, owners);
	return owners;
}
