/* SPDX-License-Identifier: MIT */
/*
 * code.c - reads a piece of code, see code.h.
 */
#include "report/elf/code.h"

#include <string.h>
#include <unistd.h>

#include "report/base/behalf.h"
#include "report/elf/elf_file.h"
#include "report/elf/symbol_file.h"

static const Elf64_Shdr *section_at(const struct hp_elf *elf, uint64_t address)
{
	for (size_t i = 0; i < elf->count; i++) {
		const Elf64_Shdr *section = &elf->sections[i];

		if (section->sh_type == SHT_PROGBITS && section->sh_flags & SHF_EXECINSTR &&
		    address >= section->sh_addr && address - section->sh_addr < section->sh_size)
			return section;
	}
	return NULL;
}

static bool section_read(struct hp_code *code, const struct hp_elf *elf, uint64_t address)
{
	const Elf64_Shdr *section = section_at(elf, address);
	uint64_t before, left, offset;
	ssize_t got;

	if (!section)
		return false;
	before = address - section->sh_addr;
	before = before < sizeof(code->bytes) / 2 ? before : sizeof(code->bytes) / 2;
	code->address = address - before;
	left = section->sh_addr + section->sh_size - code->address;
	left = left < sizeof(code->bytes) ? left : sizeof(code->bytes);
	offset = section->sh_offset + (code->address - section->sh_addr);
	if (offset < section->sh_offset || offset > elf->size || left > elf->size - offset)
		return false;
	got = pread(elf->fd, code->bytes, left, (off_t)offset);
	code->size = got > 0 ? (size_t)got : 0;
	return code->size == left;
}

bool hp_code_read(struct hp_code *code, const struct hp_model_object *recorded,
		  int64_t created_unix_ns, uint64_t address)
{
	struct hp_user before = hp_behalf_begin(recorded->user);
	struct hp_elf elf;
	bool is_read;

	*code = (struct hp_code){ .size = 0 };
	is_read = hp_symbol_file_elf(&elf, recorded, created_unix_ns) &&
		  section_read(code, &elf, address);
	hp_elf_release(&elf);
	hp_behalf_end(before);
	return is_read;
}
