/* SPDX-License-Identifier: MIT */
/*
 * hook_operator.c - stand-ins of C++'s operator new and delete, all forms.
 *
 * They exist for libraries that define them without malloc (operator.h explains which is
 * called). If such a definition does call malloc or free, the block was counted there: then
 * it already has its word on return, or is forgiven when it is freed a second time. So
 * nothing needs to be undone if operator new throws, which passes through our frame.
 *
 * In a file that no other refers to, as hook_alloc.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/heap/allocator.h"
#include "preload/heap/hook_alloc.h"
#include "preload/heap/operator.h"
#include "preload/heap/path.h"

/* Under another name, since these are not declared anywhere. */
#define X(ret, name, params, args) ret name params;
HP_OPERATOR_NEWS(X)
HP_OPERATOR_DELETES(X)
#undef X

/* Nobody defines it: the caller is a program that found ours by dlsym, and has no C++ library. */
static void *new_by_malloc(size_t size, size_t align)
{
	return align ? aligned_alloc(align, size) : malloc(size);
}

#define ALIGN_Znwm 0
#define ALIGN_Znam 0
#define ALIGN_ZnwmRKSt9nothrow_t 0
#define ALIGN_ZnamRKSt9nothrow_t 0
#define ALIGN_ZnwmSt11align_val_t align
#define ALIGN_ZnamSt11align_val_t align
#define ALIGN_ZnwmSt11align_val_tRKSt9nothrow_t align
#define ALIGN_ZnamSt11align_val_tRKSt9nothrow_t align

#define FIND(name) \
	(hp_is_early() ? (struct hp_operator_found){ hp_early_find(#name, false), false } \
		       : hp_operator_find(HP_OPERATOR##name, frame.pc))

/* The exported ones keep no register and end in a jump, so these have their stack. */
#define X(ret, name, params, args) \
	static HP_TAIL void *slow##name params \
	{ \
		struct hp_path_frame frame = HP_PATH_FRAME; \
		struct hp_operator_found found = FIND(name); \
		void *(*real)params; \
		struct hp_alloc_mark mark; \
		void *block; \
\
		if (!found.address) \
			return new_by_malloc(size, ALIGN##name); \
		memcpy(&real, &found.address, sizeof(real)); \
		if (!found.is_counted || hp_heap_is_off()) \
			return real args; \
		mark = hp_alloc_mark(); \
		block = real args; \
		hp_alloc_note_since(&mark, block, size, &frame); \
		return block; \
	} \
\
	HP_EXPORT void *name params \
	{ \
		void *(*real)params; \
\
		memcpy(&real, &hp_operator_passes[HP_OPERATOR##name], sizeof(real)); \
		return HP_LIKELY(real != NULL) ? real args : slow##name args; \
	}
HP_OPERATOR_NEWS(X)
#undef X

#define X(ret, name, params, args) \
	static HP_TAIL void slow##name params \
	{ \
		struct hp_path_frame frame = HP_PATH_FRAME; \
		struct hp_operator_found found = FIND(name); \
		const void *before; \
		void(*real) params; \
\
		if (!found.address) { \
			free(block); \
			return; \
		} \
		memcpy(&real, &found.address, sizeof(real)); \
		if (!found.is_counted || hp_heap_is_off()) { \
			real args; \
			return; \
		} \
		if (hp_allocator_is_pool(block)) \
			return; \
		before = hp_alloc_note_delete(block, frame.sp); \
		real args; \
		hp_alloc_forgive(before); \
	} \
\
	HP_EXPORT void name params \
	{ \
		void(*real) params; \
\
		memcpy(&real, &hp_operator_passes[HP_OPERATOR##name], sizeof(real)); \
		if (HP_LIKELY(real != NULL)) \
			real args; \
		else \
			slow##name args; \
	}
HP_OPERATOR_DELETES(X)
#undef X
