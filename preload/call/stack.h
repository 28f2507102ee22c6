/* SPDX-License-Identifier: MIT */
/*
 * stack.h - the shadow stacks of a thread, one for each machine stack.
 *
 * Programs switch stacks without notice: swapcontext, coroutines in
 * assembler, sigaltstack.  The stack pointer of a hook says which stack it is
 * on.  The gate is shut in all of these.
 */
#ifndef HP_PRELOAD_CALL_STACK_H
#define HP_PRELOAD_CALL_STACK_H

#include "preload/call/local.h"

/*
 * Makes the shadow stack for the machine stack of `cfa` the current one.
 * Returns true if it has changed.
 */
bool hp_stack_select(struct hp_local *me, uintptr_t cfa);

/* The same, but only if there is such a shadow stack; false = there is none. */
bool hp_stack_select_known(struct hp_local *me, uintptr_t cfa);

/*
 * The outermost call on a guest stack is tagged, so that its exit hook takes
 * the slow path, which returns to the previous stack; so is the first call in
 * each higher part, which returns to the part below. So a signal handler
 * leaves nothing changed, whatever it interrupted.
 */
#define HP_GUEST_TAG UINT64_C(1)	/* in hp_frame.cfa: then no exit fits */
void hp_stack_tag(struct hp_local *me);
void hp_stack_untag(struct hp_local *me);

/* A slow path was left halfway: makes part and top of the current stack consistent. */
void hp_stack_recover(struct hp_local *me);

/*
 * After calls have ended, with the gate shut: leaves a guest or a part without
 * calls; the guest may become another stack. Between two hooks neither is ever
 * current and empty: a handler would leave it behind the back of a hook that is
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
