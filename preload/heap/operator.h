/* SPDX-License-Identifier: MIT */
/*
 * operator.h - finds the definition of C++'s operator new and delete
 * (hook_operator.c intercepts them).
 *
 * libstdc++'s and libc++'s call malloc and free; our stand-ins jump to them
 * directly.  Other libraries' (tcmalloc, jemalloc, mimalloc, a library's own) are
 * counted.  An executable's own precedes ours, and is never called through us.
 *
 * Each form is looked up separately: a library may define some, and libstdc++ the
 * others.  Usually it is the next one in the loader's order.  In a C program none
 * exists, until it opens a C++ library with its own scope: then it depends on the
 * caller, and is looked up as the loader does; not by dlsym, which takes a lock
 * that may be held by a thread waiting for this one.
 */
#ifndef HP_PRELOAD_HEAP_OPERATOR_H
#define HP_PRELOAD_HEAP_OPERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names as the Itanium C++ ABI mangles them, where size_t is unsigned long. */
#define HP_OPERATOR_NEWS(X) \
	X(void *, _Znwm, (size_t size), (size)) \
	X(void *, _Znam, (size_t size), (size)) \
	X(void *, _ZnwmRKSt9nothrow_t, (size_t size, const void *tag), (size, tag)) \
	X(void *, _ZnamRKSt9nothrow_t, (size_t size, const void *tag), (size, tag)) \
	X(void *, _ZnwmSt11align_val_t, (size_t size, size_t align), (size, align)) \
	X(void *, _ZnamSt11align_val_t, (size_t size, size_t align), (size, align)) \
	X(void *, _ZnwmSt11align_val_tRKSt9nothrow_t, \
	  (size_t size, size_t align, const void *tag), (size, align, tag)) \
	X(void *, _ZnamSt11align_val_tRKSt9nothrow_t, \
	  (size_t size, size_t align, const void *tag), (size, align, tag))

#define HP_OPERATOR_DELETES(X) \
	X(void, _ZdlPv, (void *block), (block)) \
	X(void, _ZdaPv, (void *block), (block)) \
	X(void, _ZdlPvm, (void *block, size_t size), (block, size)) \
	X(void, _ZdaPvm, (void *block, size_t size), (block, size)) \
	X(void, _ZdlPvRKSt9nothrow_t, (void *block, const void *tag), (block, tag)) \
	X(void, _ZdaPvRKSt9nothrow_t, (void *block, const void *tag), (block, tag)) \
	X(void, _ZdlPvSt11align_val_t, (void *block, size_t align), (block, align)) \
	X(void, _ZdaPvSt11align_val_t, (void *block, size_t align), (block, align)) \
	X(void, _ZdlPvmSt11align_val_t, (void *block, size_t size, size_t align), \
	  (block, size, align)) \
	X(void, _ZdaPvmSt11align_val_t, (void *block, size_t size, size_t align), \
	  (block, size, align)) \
	X(void, _ZdlPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align, const void *tag), \
	  (block, align, tag)) \
	X(void, _ZdaPvSt11align_val_tRKSt9nothrow_t, (void *block, size_t align, const void *tag), \
	  (block, align, tag))

enum hp_operator {
#define X(ret, name, params, args) HP_OPERATOR##name,
	HP_OPERATOR_NEWS(X) HP_OPERATOR_DELETES(X)
#undef X
		HP_OPERATORS
};

/* A definition that is not ours. */
struct hp_operator_found {
	void *address;	/* NULL = none exists */
	bool is_counted;	/* otherwise it calls malloc or free, and nothing needs to be done */
};

/* Those that all callers get, by number; NULL = hp_operator_find. */
#pragma GCC visibility push(hidden)
extern void *hp_operator_passes[HP_OPERATORS];
#pragma GCC visibility pop

/* Called at the library's start, while there is one thread: asks the loader. */
void hp_operator_configure(void);

/*
 * Nothing needs to be counted in this process: calls go to the next definition in
 * the loader's order.
 */
void hp_operator_pass(void);

/* The one that the code at `pc` refers to. */
struct hp_operator_found hp_operator_find(enum hp_operator which, uintptr_t pc);

#endif
