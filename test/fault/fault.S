/* SPDX-License-Identifier: MIT */
/*
 * fault.S - the entries that the linker's --wrap leads to, one for each line of wrap.list.
 *
 * Each asks hp_fault (fault.c) with its number, the place that it returns to and its first argument.
 * Either that call fails, or all is as it was, and the real one is jumped to: so it sees its caller's
 * frame, arguments on the stack included.
 */
	.text
	.macro ENTRY name number
	.globl __wrap_\name
	.hidden __wrap_\name
	.type __wrap_\name, @function
	.weak __real_\name
__wrap_\name:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	push %rdi
	push %rsi
	push %rdx
	push %rcx
	push %r8
	push %r9
	push %rax
	push %r10
	mov %rdi, %rdx
	mov 8(%rbp), %rsi
	mov $\number, %edi
	call hp_fault
	test %rax, %rax
	jnz 1f
	test %rdx, %rdx
	jz 2f
	mov %rdx, -16(%rbp)	# the second argument
2:	pop %r10
	pop %rax
	pop %r9
	pop %r8
	pop %rcx
	pop %rdx
	pop %rsi
	pop %rdi
	pop %rbp
	.cfi_remember_state
	.cfi_def_cfa %rsp, 8
	jmp *__real_\name@GOTPCREL(%rip)
1:	.cfi_restore_state
	mov %rdx, %rax
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size __wrap_\name, . - __wrap_\name
	.endm

#define X(number, name, kind) ENTRY name number
#include FAULT_LIST

	.section .note.GNU-stack, "", @progbits
