/* SPDX-License-Identifier: MIT */
/*
 * stack.h - the shadow stacks of a thread, one for each machine stack.
 *
 * Programs switch stacks without telling anybody: swapcontext, coroutines in
 * assembler, sigaltstack.  The stack pointer of a hook says which stack it is
 * on.  The gate is shut in all of these.
 */
#ifndef HP_PRELOAD_CALL_STACK_H
#define HP_PRELOAD_CALL_STACK_H

#include "preload/call/local.h"

/*
 * Makes the shadow stack of the machine stack that `cfa` is on the current
 * one.  Returns true if that is another one than before.
 */
bool hp_stack_select(struct hp_local *me, uintptr_t cfa);

/*
 * The outermost call on a guest stack is tagged, so that its exit hook takes
 * the slow path and the thread is back on the stack from which it came; and
 * the first call in each higher part, so that it is back in the part below.  A
 * signal handler leaves nothing changed in this way, whatever it interrupted.
 */
#define HP_GUEST_TAG UINT64_C(1)	/* in hp_frame.cfa: then no exit fits */
void hp_stack_tag(struct hp_local *me);
void hp_stack_untag(struct hp_local *me);

/* A slow path was left in its middle: makes part and top of the current stack fit. */
void hp_stack_recover(struct hp_local *me);

/*
 * After calls have ended, with the gate shut: a guest without calls is left, and
 * may become another stack, and so is a part.  Between two hooks neither is ever
 * current and empty: a handler would leave it after the back of a hook that was
 * about to use it.
 */
void hp_stack_return(struct hp_local *me);

/* swapcontext: the thread continues on the machine stack at `low`; size 0 = unknown. */
void hp_stack_hint(struct hp_local *me, uintptr_t low, uintptr_t size);

/* True if a call of `fn` is on the current shadow stack. */
bool hp_stack_has(const struct hp_local *me, uintptr_t fn);

/* A higher part becomes the current one; false = no memory. */
bool hp_stack_grow(struct hp_local *me);

/* The current part is empty: back to the one below; false = it is the lowest. */
bool hp_stack_shrink(struct hp_local *me);

/* The home stack of a thread, around `cfa`; false = no memory. */
bool hp_stack_init(struct hp_local *me, uintptr_t cfa);

/* The same for a thread that takes over `me` from an ended one. */
void hp_stack_move(struct hp_local *me, uintptr_t cfa);

#endif
