/* SPDX-License-Identifier: MIT */
/*
 * hook_context.c - the stand-in of makecontext, see context.h.
 *
 * Its arguments are as many as the caller says, so they are passed on by a jump with the registers
 * and the stack as they were: in assembler, where that has been written.
 */
#include <errno.h>
#include <stdint.h>

#include "preload/future/context.h"
#include "preload/future/future.h"
#include "preload/guest/real.h"

bool hp_context_is_used;

/* The key of the context that the thread switched to last; 0 = of none that was made. */
static __thread uint64_t current __attribute__((tls_model("initial-exec")));

uint64_t hp_context_key(const ucontext_t *context)
{
	return (uint64_t)(uintptr_t)context->uc_stack.ss_sp << 8 | HP_FUTURE_CONTEXT;
}

/* Is `sp` on the stack of this context? */
static bool is_on(uint64_t key, uintptr_t sp, struct hp_object_flight *found)
{
	return hp_objects_find(key, found) && sp - (uintptr_t)(key >> 8) < found->size;
}

#define CHAIN_MAX 1000	/* of contexts that follow each other by uc_link */

/* It is not known when it ended, nor how long its last poll took. */
static void untime(struct hp_flight *flight)
{
	flight->created = flight->begun = 0;
	atomic_store_explicit(&flight->state, HP_FUTURE_SUSPENDED, memory_order_relaxed);
}

/*
 * The current one has ended if the thread is elsewhere; `is_now`: just now.  Then its uc_link has
 * run, which has ended, too, or is where the thread is.
 */
static void end_left(uintptr_t sp, bool is_now)
{
	struct hp_object_flight found, next;

	for (int i = 0; current && !is_on(current, sp, &found) && i < CHAIN_MAX; i++) {
		bool has_next;

		if (!hp_objects_find(current, &found)) {
			current = 0;
			return;
		}
		has_next = found.link && hp_objects_find(found.link, &next);
		if (!is_now || has_next || i)
			untime(found.flight);
		hp_future_end_at(current, HP_FUTURE_READY, NULL);
		current = has_next ? found.link : 0;
		if (!has_next)
			continue;
		/* Unless the thread is there, it began some time ago. */
		if (!is_now || !is_on(current, sp, &next))
			next.flight->created = 0;
		hp_flight_poll(next.flight);
	}
}

void hp_context_leave(const ucontext_t *to)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	struct hp_object_flight found;
	int saved = errno;

	end_left(sp, false);
	if (current && hp_objects_find(current, &found))
		hp_flight_pause(found.flight);
	current = hp_context_key(to);
	if (hp_objects_find(current, &found))
		hp_flight_poll(found.flight);
	else
		current = 0;
	errno = saved;
}

/* A failed switch was a poll that did not take place. */
static void fail(void)
{
	struct hp_object_flight found;

	if (current && hp_objects_find(current, &found)) {
		found.flight->polls--;
		atomic_store_explicit(&found.flight->state, HP_FUTURE_SUSPENDED,
				      memory_order_relaxed);
	}
	current = 0;
}

void hp_context_return(uint64_t saved_here, bool is_failed)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	struct hp_object_flight found;
	int saved = errno;

	if (HP_UNLIKELY(is_failed))
		fail();
	else
		end_left(sp, true);
	if (current) {
		/* The switch itself is not a part of the poll. */
		if (hp_objects_find(current, &found))
			found.flight->begun = hp_ticks();
	} else if (is_on(saved_here, sp, &found)) {
		/* By the end of a context that has it as uc_link. */
		current = saved_here;
		hp_flight_poll(found.flight);
	}
	errno = saved;
}

#if defined(__x86_64__) && defined(__LP64__)

static void made(const ucontext_t *context, uintptr_t caller)
{
	struct hp_future *future = hp_future_of_code(HP_FUTURE_CONTEXT, caller);

	end_left((uintptr_t)__builtin_frame_address(0), false);
	if (!future || !context->uc_stack.ss_sp)
		return;
	hp_future_begin_at(future, hp_context_key(context));
	hp_objects_more(hp_context_key(context), context->uc_stack.ss_size,
			context->uc_link ? hp_context_key(context->uc_link) : 0);
	hp_context_is_used = true;
}

/* The real function, to which the stub below jumps. */
__attribute__((used)) HP_HIDDEN void *hp_context_make(const ucontext_t *context, uintptr_t caller);
void *hp_context_make(const ucontext_t *context, uintptr_t caller)
{
	int saved = errno;

	if (hp_future_is_wanted())
		made(context, caller);
	errno = saved;
	return (void *)(uintptr_t)hp_real()->makecontext;
}

__asm__(".pushsection .text\n"
	".globl makecontext\n"
	".type makecontext, @function\n"
	"makecontext:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	pushq %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rdx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rcx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %r8\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %r9\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rax\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	movq 56(%rsp), %rsi\n"
	"	call hp_context_make\n"
	"	movq %rax, %r11\n"
	"	popq %rax\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %r9\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %r8\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rcx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	jmp *%r11\n"
	"	.cfi_endproc\n"
	".size makecontext, . - makecontext\n"
	".popsection\n");

#endif
