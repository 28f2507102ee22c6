/* SPDX-License-Identifier: MIT */
/*
 * take.h - stops each thread of a process for a moment and copies its registers
 * and its stack.
 *
 * By ptrace(2), with the rights that the kernel demands for it: PTRACE_SEIZE, which
 * does not stop anybody, PTRACE_INTERRUPT, a wait until the thread stands,
 * PTRACE_GETREGSET, process_vm_readv(2), PTRACE_DETACH.  Nothing else happens while
 * a thread stands.  All of it is done by one thread of ours, which then ends: the
 * kernel lets go of every thread that it still traces, as it does if we are killed.
 *
 * What the process notices:
 *   - a stopped process (SIGSTOP) stays stopped;
 *   - a signal that arrives meanwhile is delivered as ever;
 *   - a system call that was interrupted is restarted by the kernel, also those that
 *     would return EINTR (signal(7)); a time limit of the latter starts anew.
 */
#ifndef HP_REPORT_STACKS_TAKE_H
#define HP_REPORT_STACKS_TAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "report/stacks/process.h"

#define HP_STACK_COPIES 3

/* A part of the address space. */
struct hp_stack_part {
	uint64_t begin;
	uint64_t end;
	uint8_t *bytes;
};

enum hp_stop_outcome {
	HP_STOP_DONE = 0,
	HP_STOP_GONE,	/* it ended meanwhile: no error */
	HP_STOP_BUSY,	/* it did not stop in time: it sits in the kernel, uninterruptible */
	HP_STOP_REFUSED,	/* `error` */
};

struct hp_taken {
	pid_t tid;
	char name[20];
	char state;	/* letter of /proc/PID/stat before it was stopped; 0 = not known */
	enum hp_stop_outcome outcome;
	int error;	/* errno */
	struct user_regs_struct registers;
	struct hp_stack_part copies[HP_STACK_COPIES];	/* that of the stack pointer first */
	uint32_t copy_count;
	uint64_t wanted[HP_STACK_COPIES - 1];	/* addresses to copy from, too; 0 = none */
	uint64_t still_ns;	/* from the interrupt to the end of the detach: it stood at most that long */
	uint64_t taken_ns;	/* CLOCK_MONOTONIC_RAW */
};

struct hp_take {
	struct hp_taken *threads;	/* by tid */
	size_t count;
	int error;	/* errno why no thread at all could be taken; 0 = some were */
};

/* All threads of the process, those that appear meanwhile included. */
void hp_take_init(struct hp_take *take, struct hp_stack_process *process);

/* Takes those again that are `wanted` more of: registers and stacks are of one moment. */
void hp_take_again(struct hp_take *take, struct hp_stack_process *process);
void hp_take_release(struct hp_take *take);

uint64_t hp_registers_pc(const struct user_regs_struct *registers);
uint64_t hp_registers_sp(const struct user_regs_struct *registers);

#endif
