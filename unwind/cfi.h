/* SPDX-License-Identifier: MIT */
/*
 * cfi.h - call frame information: from a pc to the row that finds its caller.
 *
 * An object's .eh_frame holds a small program for each function. The result for
 * one pc is compiled into a row of 16 bytes, which callers cache. Only the
 * registers that a walk needs are followed: stack pointer, frame pointer,
 * return address. It has two users: the library inside the target, on hot paths
 * and in signal handlers, and the sampler. So it uses no malloc, no lock and no
 * C library state, and every read stays inside the object's span.
 */
#ifndef HP_UNWIND_CFI_H
#define HP_UNWIND_CFI_H

#include <stdbool.h>
#include <stdint.h>

enum hp_row_kind {
	HP_ROW_SP = 0,	/* CFA = sp + cfa_offset */
	HP_ROW_FP,	/* CFA = fp + cfa_offset */
	HP_ROW_FP_LOAD,	/* CFA = *(fp + cfa_offset), the old fp is at fp + fp_offset: realigned stacks */
	HP_ROW_END,	/* outermost: it has no caller */
	HP_ROW_ODD,	/* given by an expression: see hp_cfi_step */
	HP_ROW_NONE,	/* no information for this pc */
};

/* CFA: the stack pointer of the caller after the return. */
struct hp_cfi_row {
	uint64_t pc;	/* 0 = unused */
	int32_t cfa_offset;	/* bytes */
	int16_t fp_offset;	/* words, from the CFA; 0 = fp is the caller's */
	int8_t ra_offset;	/* words, from the CFA */
	uint8_t kind;	/* enum hp_row_kind */
};

/* Location of an object's unwind information. */
struct hp_cfi {
	const uint8_t *header;	/* its .eh_frame_hdr */
	uintptr_t begin;	/* the object's span: nothing else is read */
	uintptr_t end;
	void *room;	/* HP_CFI_ROOM bytes to work in, aligned as a uint64_t */
	/*
	 * The room still holds what the last call left, or zeros, and no object has been unmapped
	 * since: a program that was run to a lower pc is continued instead of started again.
	 */
	bool has_kept;
};

#define HP_CFI_ROOM 2880

struct hp_cfi_registers {
	uintptr_t pc;
	uintptr_t sp;
	uintptr_t fp;
	bool is_exact;	/* pc is an interrupted instruction, not a return address */
};

/* Reads a word of the stack; false = it cannot be read. */
typedef bool (*hp_cfi_load)(void *context, uintptr_t address, uintptr_t *word);

/* Code that a row holds for, both ends included. */
struct hp_cfi_span {
	uintptr_t first;
	uintptr_t last;
};

/*
 * The row of `pc`, with kind HP_ROW_NONE if none exists, and the span around `pc` in which the
 * row is the same.
 */
void hp_cfi_find_span(const struct hp_cfi *cfi, uintptr_t pc, struct hp_cfi_row *row,
		      struct hp_cfi_span *span);

/*
 * The same for the call that returns to `pc`. If the call has no information
 * but the code after it has, a function begins at `pc`: nothing called from
 * there, and the address was pushed to return to, as makecontext does. That
 * frame is the outermost.
 */
void hp_cfi_find_call(const struct hp_cfi *cfi, uintptr_t pc, struct hp_cfi_row *row);
void hp_cfi_find_call_span(const struct hp_cfi *cfi, uintptr_t pc, struct hp_cfi_row *row,
			   struct hp_cfi_span *span);

/*
 * One step by running the program, for HP_ROW_ODD: `registers` become the
 * caller's. False = unknown; then they are unchanged.
 */
bool hp_cfi_step(const struct hp_cfi *cfi, struct hp_cfi_registers *registers, hp_cfi_load load,
		 void *context);

#endif
