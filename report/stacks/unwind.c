/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - see unwind.h.
 *
 * libunwind requests registers, words of memory, and the unwind information for
 * an address. Words come from the copies of the stack or, while it reads call
 * frame information, from the object's file. libunwind searches the sorted
 * table of a file itself (as in perf: dwarf_search_unwind_table is exported but
 * in no header).
 *
 * Code without such information, perhaps JIT code, is unwound by frame pointer.
 * libunwind would try that, too, but then has a wrong stack pointer and cannot
 * return to frames with information. So these steps are made here.
 */
#include "report/stacks/unwind.h"

#include <stdlib.h>
#include <string.h>

#if __has_include(<libunwind.h>)
#include <dlfcn.h>
#include <libunwind.h>
#include <pthread.h>

#include "report/base/memory.h"

#define FP_FRAME_MAX (UINT64_C(1) << 20)	/* between two frame pointers, bytes */

#define TEXT(name) TEXT_OF(name)
#define TEXT_OF(name) #name

#define LIBRARY "libunwind-" TEXT(UNW_TARGET) ".so.8"

/* Missing in libunwind.h; need_unwind_info is 1. */
typedef int search_table(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *info,
			 unw_proc_info_t *found, int need_unwind_info, void *context);

#define LIST(X) \
	X(create_addr_space, __typeof__(unw_create_addr_space) *) \
	X(destroy_addr_space, __typeof__(unw_destroy_addr_space) *) \
	X(set_caching_policy, __typeof__(unw_set_caching_policy) *) \
	X(init_remote, __typeof__(unw_init_remote) *) \
	X(step, __typeof__(unw_step) *) \
	X(get_reg, __typeof__(unw_get_reg) *) \
	X(dwarf_search_unwind_table, search_table *)

static struct {
#define X(name, type) type name;
	LIST(X)
#undef X
} lib;
static bool has_lib;

static void lib_load(void)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return;
#define X(name, type) \
	*(void **)&lib.name = dlsym(handle, TEXT(UNW_OBJ(name))); \
	if (!lib.name) \
		return;
	LIST(X)
#undef X
	has_lib = true;
}

struct hp_unwinder {
	struct hp_stack_process *process;
	unw_addr_space_t space;
	const struct hp_taken *thread;	/* whose stack it is */
	struct user_regs_struct registers;	/* where the cursor began */
	bool has_no_info;	/* the last requested code has no unwind information */
	struct hp_stack_object *object;	/* object of the last request; NULL = none */
	bool is_searching;	/* its table is being searched */
	uint64_t missing;	/* address of the last word missing in all copies; 0 = none */
};

/* --- callbacks of libunwind --- */

static bool copied(const struct hp_taken *thread, uint64_t address, uint64_t *word)
{
	for (uint32_t i = 0; i < thread->copy_count; i++) {
		const struct hp_stack_part *copy = &thread->copies[i];

		if (address < copy->begin || address >= copy->end ||
		    copy->end - address < sizeof(*word))
			continue;
		memcpy(word, copy->bytes + (address - copy->begin), sizeof(*word));
		return true;
	}
	return false;
}

/* Code, read to recognise the kernel's signal frame. */
static bool code_read(const struct hp_unwinder *unwinder, uint64_t address, uint64_t *word)
{
	const struct hp_stack_map *map = hp_stack_process_at(unwinder->process, address);

	return map && map->is_code && map->object != UINT32_MAX &&
	       hp_stack_object_read(&unwinder->process->objects[map->object], address, word,
				    sizeof(*word));
}

/* Memory that is the same in the file and in the process. */
static bool constant_read(const struct hp_unwinder *unwinder, uint64_t address, uint64_t *word)
{
	const struct hp_stack_map *map = hp_stack_process_at(unwinder->process, address);

	if (!map || map->is_writable)
		return false;
	return code_read(unwinder, address, word) ||
	       (unwinder->object &&
		hp_stack_object_read(unwinder->object, address, word, sizeof(*word)));
}

static int access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *word, int is_write,
		      void *context)
{
	struct hp_unwinder *unwinder = context;
	const struct hp_stack_map *map;
	uint64_t value;

	(void)space;
	if (is_write)
		return -UNW_EINVAL;
	if (unwinder->is_searching) {
		if (!hp_stack_object_read(unwinder->object, address, &value, sizeof(value)))
			value = 0;	/* the pointer to a C++ personality, never called */
	} else if (!copied(unwinder->thread, address, &value) &&
		   !constant_read(unwinder, address, &value)) {
		map = hp_stack_process_at(unwinder->process, address);
		if (map && map->is_writable)
			unwinder->missing = address;
		return -UNW_EINVAL;
	}
	*word = value;
	return 0;
}

#if defined(__x86_64__)
#define FRAME_POINTER UNW_X86_64_RBP

static void registers_set(struct user_regs_struct *r, uint64_t pc, uint64_t sp, uint64_t fp)
{
	r->rip = pc;
	r->rsp = sp;
	r->rbp = fp;
}

static bool register_of(const struct user_regs_struct *r, unw_regnum_t number, unw_word_t *value)
{
	switch (number) {
#define REGISTER(name, field) \
	case UNW_X86_64_##name: \
		*value = r->field; \
		return true
		REGISTER(RAX, rax);
		REGISTER(RDX, rdx);
		REGISTER(RCX, rcx);
		REGISTER(RBX, rbx);
		REGISTER(RSI, rsi);
		REGISTER(RDI, rdi);
		REGISTER(RBP, rbp);
		REGISTER(RSP, rsp);
		REGISTER(R8, r8);
		REGISTER(R9, r9);
		REGISTER(R10, r10);
		REGISTER(R11, r11);
		REGISTER(R12, r12);
		REGISTER(R13, r13);
		REGISTER(R14, r14);
		REGISTER(R15, r15);
		REGISTER(RIP, rip);
#undef REGISTER
	default:
		return false;
	}
}
#else
#define FRAME_POINTER UNW_AARCH64_X29

static void registers_set(struct user_regs_struct *r, uint64_t pc, uint64_t sp, uint64_t fp)
{
	r->pc = pc;
	r->sp = sp;
	r->regs[29] = fp;
}

/* x0 to x30, then sp and pc: libunwind's numbering equals the struct's. */
static bool register_of(const struct user_regs_struct *r, unw_regnum_t number, unw_word_t *value)
{
	if (number < 0 || number > 32)
		return false;
	memcpy(value, (const char *)r + (size_t)number * 8, 8);
	return true;
}
#endif

static int access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int is_write,
		      void *context)
{
	struct hp_unwinder *unwinder = context;

	(void)space;
	if (is_write)
		return -UNW_EREADONLYREG;
	return register_of(&unwinder->registers, number, value) ? 0 : -UNW_EBADREG;
}

static int access_fpreg(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value,
			int is_write, void *context)
{
	(void)space, (void)number, (void)value, (void)is_write, (void)context;
	return -UNW_EBADREG;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *found,
			  int need_unwind_info, void *context)
{
	struct hp_unwinder *unwinder = context;
	const struct hp_stack_map *map = hp_stack_process_at(unwinder->process, ip);
	struct hp_stack_object *object;
	unw_dyn_info_t info = { .format = UNW_INFO_FORMAT_REMOTE_TABLE };
	int result;

	unwinder->has_no_info = true;
	if (!map || !map->is_code || map->object == UINT32_MAX)
		return -UNW_ENOINFO;
	object = &unwinder->process->objects[map->object];
	if (!object->table)
		return -UNW_ENOINFO;
	info.start_ip = map->begin;
	info.end_ip = map->end;
	info.u.rti.segbase = object->eh_frame_hdr + object->bias;
	info.u.rti.table_data = object->table + object->bias;
	/* In words; entries have two halves. */
	info.u.rti.table_len = object->table_count;
	unwinder->object = object;
	unwinder->is_searching = true;
	result = lib.dwarf_search_unwind_table(space, ip, &info, found, need_unwind_info, context);
	unwinder->is_searching = false;
	unwinder->has_no_info = result < 0;
	return result;
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *context)
{
	(void)space, (void)info, (void)context;
}

static int get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *address, void *context)
{
	(void)space, (void)address, (void)context;
	return -UNW_ENOINFO;
}

static int resume(unw_addr_space_t space, unw_cursor_t *cursor, void *context)
{
	(void)space, (void)cursor, (void)context;
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t space, unw_word_t ip, char *name, size_t size,
			 unw_word_t *offset, void *context)
{
	(void)space, (void)ip, (void)name, (void)size, (void)offset, (void)context;
	return -UNW_EINVAL;
}

/* --- walking --- */

struct hp_unwinder *hp_unwinder_new(struct hp_stack_process *process, const char **why)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = get_dyn_info_list_addr,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = resume,
		.get_proc_name = get_proc_name,
	};
	struct hp_unwinder *unwinder;

	pthread_once(&once, lib_load);
	*why = "needs " LIBRARY ", package libunwind8";
	if (!has_lib)
		return NULL;
	unwinder = hp_xcalloc(1, sizeof(*unwinder));
	unwinder->process = process;
	unwinder->space = lib.create_addr_space(&accessors, 0);
	if (unwinder->space)
		lib.set_caching_policy(unwinder->space, UNW_CACHE_GLOBAL);
	return unwinder;
}

void hp_unwinder_free(struct hp_unwinder *unwinder)
{
	if (unwinder && unwinder->space)
		lib.destroy_addr_space(unwinder->space);
	free(unwinder);
}

static void frame_add(struct hp_stack *stack, const struct hp_stack_frame *frame)
{
	stack->frames = hp_xgrow(stack->frames, stack->count, &stack->room, sizeof(*stack->frames));
	stack->frames[stack->count++] = *frame;
}

static bool is_code(const struct hp_unwinder *unwinder, uint64_t pc)
{
	const struct hp_stack_map *map = hp_stack_process_at(unwinder->process, pc);

	return map && map->is_code;
}

/* A walk and its current frame. */
struct walk {
	struct hp_unwinder *unwinder;
	unw_cursor_t cursor;
	struct hp_stack_frame frame;
	uint64_t fp;
	bool is_shifted;	/* the cursor's pc is one less: it started at a return address */
};

static uint64_t register_at(struct walk *walk, unw_regnum_t number)
{
	unw_word_t value = 0;

	return lib.get_reg(&walk->cursor, number, &value) < 0 ? 0 : value;
}

/*
 * The return address of a signal handler: mov $SYS_rt_sigreturn and the system
 * call. Depending on its version, libunwind also reports other frames as signal
 * frames.
 */
static bool is_trampoline(const struct walk *walk)
{
#if defined(__x86_64__)
	static const uint64_t code = UINT64_C(0x0f0000000fc0c748);
	const uint64_t call = 7;	/* bytes before the system call */
#else
	static const uint64_t code = UINT64_C(0xd4000001d2801168);
	const uint64_t call = 4;
#endif
	uint64_t found, pc = walk->frame.pc;

	return (code_read(walk->unwinder, pc, &found) && found == code) ||
	       (walk->frame.is_exact && code_read(walk->unwinder, pc - call, &found) &&
		found == code);
}

static void frame_read(struct walk *walk)
{
	walk->frame.pc = register_at(walk, UNW_REG_IP) + walk->is_shifted;
	walk->frame.sp = register_at(walk, UNW_REG_SP);
	walk->fp = register_at(walk, FRAME_POINTER);
	walk->frame.is_signal = is_trampoline(walk);
}

static bool word_at(struct walk *walk, uint64_t address, uint64_t *word)
{
	return access_mem(NULL, address, word, 0, walk->unwinder) == 0;
}

#if defined(__x86_64__)
/*
 * Indirect jumps through memory: linker stubs for calls to other objects, some
 * without unwind information.
 */
static bool is_stub(struct walk *walk)
{
	uint64_t code = 0;

	if (!walk->frame.is_exact || !code_read(walk->unwinder, walk->frame.pc, &code))
		return false;
	return (code & 0xffff) == 0x25ff || (code & 0xffffff) == 0x25fff2;
}
#else
static bool is_stub(struct walk *walk)
{
	(void)walk;
	return false;
}
#endif

/* Steps out of code without unwind information. Returns like unw_step. */
static int step_plain(struct walk *walk)
{
	struct hp_unwinder *unwinder = walk->unwinder;
	uint64_t fp = walk->fp, sp = walk->frame.sp, pc, above;

	if (is_stub(walk)) {
		if (!word_at(walk, sp, &pc))
			return -UNW_EINVAL;
		sp += sizeof(pc);
	} else {
		if (fp < sp || fp - sp > FP_FRAME_MAX || !word_at(walk, fp, &above) ||
		    !word_at(walk, fp + sizeof(fp), &pc) || (above && above <= fp))
			return -UNW_ENOINFO;
		sp = fp + 2 * sizeof(fp);
		fp = above;
	}
	if (!is_code(unwinder, pc - 1))
		return -UNW_ENOINFO;
	registers_set(&unwinder->registers, pc - 1, sp, fp);
	walk->is_shifted = true;
	return lib.init_remote(&walk->cursor, unwinder->space, unwinder) < 0 ? -UNW_EINVAL : 1;
}

/* Steps to the caller: 1, or 0 = none, or < 0 = unknown. */
static int step(struct walk *walk)
{
	int left;

	walk->unwinder->missing = 0;
	walk->unwinder->has_no_info = false;
	left = lib.step(&walk->cursor);
	if (walk->unwinder->has_no_info && !walk->frame.is_signal)
		left = step_plain(walk);
	else
		walk->is_shifted = false;
	return left;
}

/* A stack in other memory is needed from its innermost frame on. */
static uint64_t missing_from(const struct walk *walk)
{
	const struct hp_unwinder *unwinder = walk->unwinder;
	const struct hp_stack_map *map = hp_stack_process_at(unwinder->process, unwinder->missing);
	uint64_t sp = walk->frame.sp;

	return map && sp >= map->begin && sp < unwinder->missing ? sp : unwinder->missing;
}

void hp_unwind(struct hp_unwinder *unwinder, const struct hp_taken *thread, struct hp_stack *stack)
{
	struct walk walk = { .unwinder = unwinder, .frame = { .is_exact = true } };
	int left = 1;

	unwinder->thread = thread;
	unwinder->registers = thread->registers;
	stack->count = 0;
	stack->end = HP_STACK_LOST;
	stack->missing = 0;
	if (!unwinder->space || lib.init_remote(&walk.cursor, unwinder->space, unwinder) < 0)
		return;
	while (left > 0) {
		struct hp_stack_frame before = walk.frame;

		frame_read(&walk);
		if (stack->count && walk.frame.pc == 0) {
			left = 0;
			break;
		}
		/* Signs of a wrong step. */
		if (stack->count && (!is_code(unwinder, walk.frame.pc - !walk.frame.is_exact) ||
				     (walk.frame.sp <= before.sp && !before.is_signal))) {
			left = -1;
			break;
		}
		if (stack->count >= HP_STACK_FRAMES_MAX) {
			stack->end = HP_STACK_DEEP;
			return;
		}
		frame_add(stack, &walk.frame);
		left = step(&walk);
		/* A frame interrupted by a signal has an exact pc. */
		walk.frame.is_exact = walk.frame.is_signal;
	}
	if (left == 0)
		stack->end = HP_STACK_WHOLE;
	else if (unwinder->missing) {
		stack->end = HP_STACK_CUT;
		stack->missing = missing_from(&walk);
	}
}

#else

struct hp_unwinder *hp_unwinder_new(struct hp_stack_process *process, const char **why)
{
	(void)process;
	*why = "was built without libunwind-dev; install it and build again";
	return NULL;
}

void hp_unwinder_free(struct hp_unwinder *unwinder)
{
	(void)unwinder;
}

void hp_unwind(struct hp_unwinder *unwinder, const struct hp_taken *thread, struct hp_stack *stack)
{
	(void)unwinder, (void)thread, (void)stack;
}

#endif

void hp_stack_release(struct hp_stack *stack)
{
	free(stack->frames);
	*stack = (struct hp_stack){ .frames = NULL };
}
