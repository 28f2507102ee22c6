/* SPDX-License-Identifier: MIT */
/*
 * take.h - stops each thread of a process briefly and copies its registers and
 * stack.
 *
 * It uses ptrace(2) and needs its permissions: PTRACE_SEIZE, which stops
 * nothing, PTRACE_INTERRUPT, a wait until the thread stops, PTRACE_GETREGSET,
 * process_vm_readv(2), PTRACE_DETACH. Nothing else happens while a thread is
 * stopped. One thread of ours does all of it and then ends: the kernel detaches
 * every thread that it still traces, as it does if we are killed.
 *
 * A pid or tid may be reused between the look at /proc and PTRACE_SEIZE. Once seized, a thread keeps
 * its tid, so then we check that it belongs to the process that was asked about, and that this is
 * still the same program and user. Otherwise it is neither stopped nor read.
 *
 * Effects on the process:
 *   - a stopped process (SIGSTOP) stays stopped;
 *   - a signal that arrives meanwhile is delivered as usual;
 *   - the kernel restarts an interrupted system call, including those that
 *     would return EINTR (signal(7)); a timeout of the latter starts again.
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
	HP_STOP_GONE,	/* ended meanwhile: not an error */
	HP_STOP_BUSY,	/* did not stop in time: uninterruptible in the kernel */
	HP_STOP_REFUSED,	/* `error` */
};

struct hp_taken {
	pid_t tid;
	char name[20];
	char state;	/* letter of /proc/PID/stat before the stop; 0 = unknown */
	enum hp_stop_outcome outcome;
	int error;	/* errno */
	struct user_regs_struct registers;
	struct hp_stack_part copies[HP_STACK_COPIES];	/* the part at the stack pointer comes first */
	uint32_t copy_count;
	uint64_t wanted[HP_STACK_COPIES - 1];	/* further addresses to copy from; 0 = none */
	uint64_t still_ns;	/* from the interrupt to the end of the detach: upper limit of the stop */
	uint64_t taken_ns;	/* CLOCK_MONOTONIC_RAW */
};

struct hp_take {
	struct hp_taken *threads;	/* by tid */
	size_t count;
	int error;	/* errno if no thread could be taken; 0 = some were */
};

/* All threads of the process, including new ones. */
void hp_take_init(struct hp_take *take, struct hp_stack_process *process);

/* Retakes threads with `wanted` parts: registers and stacks are from one moment. */
void hp_take_again(struct hp_take *take, struct hp_stack_process *process);
void hp_take_release(struct hp_take *take);

uint64_t hp_registers_pc(const struct user_regs_struct *registers);
uint64_t hp_registers_sp(const struct user_regs_struct *registers);

#endif
