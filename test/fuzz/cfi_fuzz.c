/* SPDX-License-Identifier: MIT */
/*
 * cfi_fuzz.c - arbitrary call frame information: the input is an object's span,
 * and its last two bytes locate the .eh_frame_hdr.
 */
#include <stdlib.h>
#include <string.h>

#include "test/fuzz/fuzz.h"
#include "unwind/cfi.h"

#define PCS 24

/* A stack of a few words; memory after it is unreadable. */
static bool load(void *context, uintptr_t address, uintptr_t *word)
{
	const uintptr_t *stack = context;

	if (address % 8 || address < (uintptr_t)stack || address >= (uintptr_t)(stack + 16))
		return false;
	*word = *(const uintptr_t *)address;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uintptr_t stack[16];
	static uint64_t room[HP_CFI_ROOM / 8], kept_room[HP_CFI_ROOM / 8];
	uint8_t *span;
	struct hp_cfi cfi, kept;

	if (size < 8)
		return 0;
	span = malloc(size);
	memcpy(span, data, size);
	cfi = (struct hp_cfi){ .header = span + (span[size - 2] | span[size - 1] << 8) % size,
			       .begin = (uintptr_t)span,
			       .end = (uintptr_t)span + size,
			       .room = room };
	kept = cfi;
	kept.room = kept_room;
	for (size_t i = 0; i < PCS; i++) {
		uintptr_t pc = cfi.begin + size * i / PCS;
		struct hp_cfi_span around;
		struct hp_cfi_row row, other;
		struct hp_cfi_registers registers = { pc, (uintptr_t)stack, (uintptr_t)(stack + 8),
						      i & 1 };

		hp_cfi_find_call_span(&cfi, pc, &row, &around);
		if (pc < around.first || pc > around.last)
			__builtin_trap();
		hp_cfi_find_call_span(&kept, pc, &other, &around);
		if (memcmp(&row, &other, sizeof(row)) != 0)
			__builtin_trap();
		kept.has_kept = true;
		hp_cfi_step(&cfi, &registers, load, stack);
	}
	free(span);
	return 0;
}
