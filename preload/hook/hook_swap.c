/* SPDX-License-Identifier: MIT */
/*
 * hook_swap.c - interposes swapcontext and setcontext.
 *
 * A context that swapcontext saves returns to the program when it is resumed. Until then the code
 * that called swapcontext may go on in the same frame, by another context of it, and use the stack
 * below it, so we must keep nothing there that we need later.  The C library saves the argument
 * registers in the context, and we keep our data in them.  Only x86-64 has this so far.
 */
#include <stdint.h>
#include <ucontext.h>

#include "preload/call/stack.h"
#include "preload/future/context.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/thread/state.h"

/* Coroutines: makecontext's arguments describe the stack better than the hooks can find out. */
static void hint(const ucontext_t *to)
{
	struct hp_local *me = hp_local();

	if (me->state == HP_THREAD_OPEN)
		hp_stack_hint(me, (uintptr_t)to->uc_stack.ss_sp, to->uc_stack.ss_size);
}

HP_EXPORT int setcontext(const ucontext_t *to)
{
	hint(to);
	if (HP_UNLIKELY(hp_context_is_used))
		hp_context_leave(to);
	return hp_real()->setcontext(to);
}

/* The key of what is saved, 0 if contexts are not recorded. Of an uninitialised one it is anything. */
static uint64_t swap_begin(const ucontext_t *from, const ucontext_t *to)
{
	hint(to);
	if (HP_LIKELY(!hp_context_is_used))
		return 0;
	hp_context_leave(to);
	return hp_context_key(from);
}

#if defined(__x86_64__) && defined(__LP64__)

/* In two registers. */
struct hp_swap {
	uint64_t key;
	void *real;
};

__attribute__((used)) HP_HIDDEN struct hp_swap hp_swap_begin(const ucontext_t *from,
							     const ucontext_t *to);
struct hp_swap hp_swap_begin(const ucontext_t *from, const ucontext_t *to)
{
	return (struct hp_swap){ swap_begin(from, to), (void *)(uintptr_t)hp_real()->swapcontext };
}

/*
 * The return address is in r8 and the key in rcx, and r9 tells that they have been restored. After
 * a failure, which is -1, the stack is as it was.
 */
__asm__(".pushsection .text\n"
	".globl swapcontext\n"
	".type swapcontext, @function\n"
	"swapcontext:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	pushq %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call hp_swap_begin\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	cmpb $0, hp_context_is_used(%rip)\n"
	"	jne 1f\n"
	"	jmp *%rdx\n"
	"1:	movq (%rsp), %r8\n"
	"	movq %rax, %rcx\n"
	"	leaq 2f(%rip), %r9\n"
	"	pushq %rax\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call *%rdx\n"
	"2:	xorl %esi, %esi\n"
	"	cmpl $-1, %eax\n"
	"	sete %sil\n"
	"	je 3f\n"
	"	leaq 2b(%rip), %rdx\n"
	"	cmpq %rdx, %r9\n"
	"	jne 3f\n"
	"	movq %r8, 8(%rsp)\n"
	"	movq %rcx, (%rsp)\n"
	"3:	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	pushq %rax\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call hp_context_return\n"
	"	popq %rax\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size swapcontext, . - swapcontext\n"
	".popsection\n");

#else

HP_EXPORT int swapcontext(ucontext_t *from, const ucontext_t *to)
{
	uint64_t key = swap_begin(from, to);
	int result;

	if (HP_LIKELY(!hp_context_is_used))
		return hp_real()->swapcontext(from, to);
	result = hp_real()->swapcontext(from, to);
	hp_context_return(key, result != 0);
	return result;
}

#endif
