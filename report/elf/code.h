/* SPDX-License-Identifier: MIT */
/*
 * code.h - the machine code of a recorded object, and loops in it that only wait or search.
 */
#ifndef HP_REPORT_ELF_CODE_H
#define HP_REPORT_ELF_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/read/model.h"

/* A piece of code. */
struct hp_code {
	uint64_t address;	/* of the file, of the first byte */
	size_t size;
	unsigned char bytes[256];
};

/* Reads the code around `address`, as far as it is in one section. False = the file is not readable, or another one. */
bool hp_code_read(struct hp_code *code, const struct hp_model_object *recorded,
		  int64_t created_unix_ns, uint64_t address);

/* A loop, from its first instruction to the end of the last one. */
struct hp_code_loop {
	uint64_t begin;
	uint64_t end;
	bool is_exchange;	/* waits: each turn tries to take a lock with an atomic exchange */
};

/*
 * True if the instruction at `address` belongs to a loop that only another thread, a signal handler
 * or the clock can end: each turn computes the same from memory, stores nothing, and calls nothing.  An atomic exchange
 * is no store here; one that succeeds at once is a loop of one turn.
 * x86-64 only; false elsewhere, and for any loop with an instruction that is not known here.
 */
bool hp_code_waits(const struct hp_code *code, uint64_t address, struct hp_code_loop *loop);

/*
 * True if the instruction at `address` belongs to a loop that compares one element of an array after
 * the other with something, until one is equal: it stores nothing, calls nothing, and adds up
 * nothing.  The elements have at least four bytes.  As above: x86-64 only.
 */
bool hp_code_searches(const struct hp_code *code, uint64_t address, struct hp_code_loop *loop);

#endif
