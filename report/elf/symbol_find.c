/* SPDX-License-Identifier: MIT */
/*
 * symbol_find.c - the symbols of a file by address, see symbol_file.h.
 */
#include "report/elf/symbol_file.h"

static const struct hp_symbol *symbol_in(const struct hp_symbol *list, size_t count,
					 uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	address = list[--low].address;
	while (low > 0 && list[low - 1].address == address)
		low--;
	return &list[low];
}

const struct hp_symbol *hp_symbol_at(const struct hp_symbol_file *file, uint64_t address)
{
	return symbol_in(file->symbols, file->count, address);
}

const struct hp_symbol *hp_symbol_stub_at(const struct hp_symbol_file *file, uint64_t address)
{
	const struct hp_symbol *stub = symbol_in(file->stubs, file->stub_count, address);

	return stub && address - stub->address < stub->size ? stub : NULL;
}

const struct hp_symbol *hp_symbol_data_at(const struct hp_symbol_file *file, uint64_t address)
{
	return symbol_in(file->data, file->data_count, address);
}
