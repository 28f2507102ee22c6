/* SPDX-License-Identifier: MIT */
/*
 * context.h - contexts of makecontext as futures: each switch to one is a poll, until its function
 * returns.
 *
 * A context is recognised by its stack, which uc_stack names: makecontext begins a call, and a later
 * one on the same stack cancels what has not ended.  Nothing announces that the function returns.
 * But then the thread is on another stack than that of the context that it switched to last; and if
 * uc_link was saved by swapcontext, as usual, it is just after the real call there.
 */
#ifndef HP_PRELOAD_FUTURE_CONTEXT_H
#define HP_PRELOAD_FUTURE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "preload/guest/guest.h"

/* The process has made one, and futures are recorded. */
extern HP_HIDDEN bool hp_context_is_used;

/* What a context is recognised by; never 0. */
uint64_t hp_context_key(const ucontext_t *context);

/*
 * Before the real swapcontext and setcontext; after it has returned, with the key of what it saved,
 * which may be gone by then.  They preserve errno.
 */
void hp_context_leave(const ucontext_t *to);
HP_HIDDEN void hp_context_return(uint64_t saved, bool is_failed);

#endif
