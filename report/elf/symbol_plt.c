/* SPDX-License-Identifier: MIT */
/*
 * symbol_plt.c - see symbol_plt.h.
 *
 * The layout of .plt, .plt.sec and .plt.got differs between linkers and options.
 * The content of a stub does not: one indirect jump through a word of the global
 * offset table (System V ABI, AMD64 supplement, 5.2; ELF for the Arm 64-bit
 * Architecture, A.3).  So each section is searched for these jumps; bytes that
 * only look like one refer to no word with a relocation.
 */
#include "report/elf/symbol_plt.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/elf/demangle.h"

#define STUB_SIZE 16 /* bytes, if the section does not tell */

/* The symbols named by relocations, and their texts. */
struct named {
	uint32_t link; /* number of their section */
	struct hp_elf_bytes symbols;
	size_t count;
	struct hp_elf_bytes texts;
	uint64_t texts_size;
};

struct build {
	const struct hp_symbol_file *file;
	const struct hp_elf *elf;
	int machine;
	struct hp_map slots; /* address of a word -> place in `names` */
	const char **names; /* of functions, with versions, in `named` or the file's symbols */
	size_t name_count;
	size_t name_room;
	struct named *named; /* mostly one */
	size_t named_count;
	size_t named_room;
	struct hp_symbol *stubs;
	size_t count;
	size_t room;
};

/* --- the words, by relocation --- */

static void slot_add(struct build *b, uint64_t address, const char *name)
{
	bool is_new;
	uint32_t *place = hp_map_at(&b->slots, address, &is_new);

	if (!is_new)
		return;
	*place = (uint32_t)b->name_count;
	b->names = hp_xgrow(b->names, b->name_count, &b->name_room, sizeof(*b->names));
	b->names[b->name_count++] = name;
}

/* An ifunc: the file's own resolver chooses one of several functions for the processor. */
static bool is_chosen(int machine, const Elf64_Rela *relocation)
{
	return ELF64_R_TYPE(relocation->r_info) ==
	       (machine == EM_AARCH64 ? R_AARCH64_IRELATIVE : R_X86_64_IRELATIVE);
}

static const char *name_at(const struct hp_symbol_file *file, uint64_t address)
{
	const struct hp_symbol *symbol = hp_symbol_at(file, address);

	return symbol && symbol->address == address ? symbol->name : NULL;
}

static struct named *named_of(struct build *b, uint32_t link)
{
	const struct hp_elf *elf = b->elf;
	const Elf64_Shdr *section = link && link < elf->count ? &elf->sections[link] : NULL;
	struct named *named;

	for (size_t i = 0; i < b->named_count; i++)
		if (b->named[i].link == link)
			return &b->named[i];
	b->named = hp_xgrow(b->named, b->named_count, &b->named_room, sizeof(*b->named));
	named = &b->named[b->named_count++];
	*named = (struct named){ .link = link };
	if (!section || section->sh_entsize != sizeof(Elf64_Sym) || section->sh_link >= elf->count)
		return named;
	hp_elf_bytes_init_sparse(&named->symbols, elf, section);
	hp_elf_bytes_init_sparse(&named->texts, elf, &elf->sections[section->sh_link]);
	if (!named->symbols.bytes || !named->texts.bytes)
		return named;
	named->count = section->sh_size / sizeof(Elf64_Sym);
	named->texts_size = elf->sections[section->sh_link].sh_size;
	return named;
}

static const char *named_at(const struct named *named, uint64_t number)
{
	Elf64_Sym symbol;

	if (!number || number >= named->count)
		return NULL;
	memcpy(&symbol, named->symbols.bytes + number * sizeof(symbol), sizeof(symbol));
	return symbol.st_name < named->texts_size ? named->texts.bytes + symbol.st_name : NULL;
}

static void slots_read(struct build *b, const Elf64_Shdr *header)
{
	char *data = header->sh_entsize == sizeof(Elf64_Rela) ? hp_elf_read(b->elf, header) : NULL;
	const struct named *named;

	if (!data)
		return;
	named = named_of(b, header->sh_link);
	for (size_t i = 0; i < header->sh_size / sizeof(Elf64_Rela); i++) {
		Elf64_Rela relocation;
		const char *name;

		memcpy(&relocation, data + i * sizeof(relocation), sizeof(relocation));
		name = named_at(named, ELF64_R_SYM(relocation.r_info));
		if (!name && is_chosen(b->machine, &relocation))
			name = name_at(b->file, (uint64_t)relocation.r_addend);
		if (name && *name && relocation.r_offset)
			slot_add(b, relocation.r_offset, name);
	}
	free(data);
}

/* --- the stubs --- */

static uint32_t word_at(const unsigned char *code)
{
	uint32_t word;

	memcpy(&word, code, sizeof(word));
	return word;
}

/* The jump through a word at `code`: its size, and the word's address; 0 = not a jump. */
static size_t jump_x86_64(const unsigned char *code, size_t size, uint64_t address, uint64_t *slot)
{
	if (size < 6 || code[0] != 0xff || code[1] != 0x25)
		return 0;
	*slot = address + 6 + (uint64_t)(int64_t)(int32_t)word_at(code + 2);
	return 6;
}

/* adrp x16, page; ldr x17, [x16, #low]; add x16, x16, #low; br x17 */
static size_t jump_aarch64(const unsigned char *code, size_t size, uint64_t address, uint64_t *slot)
{
	uint32_t adrp, ldr;
	int64_t pages;

	if (size < 16)
		return 0;
	adrp = word_at(code);
	ldr = word_at(code + 4);
	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211 ||
	    word_at(code + 12) != 0xd61f0220)
		return 0;
	pages = (int64_t)((adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3));
	pages = (pages ^ 0x100000) - 0x100000;
	*slot = (address & ~UINT64_C(0xfff)) + (uint64_t)(pages * 4096) +
		(uint64_t)(ldr >> 10 & 0xfff) * 8;
	return 16;
}

/* False if the word has no known function: then it was not a jump. */
static bool stub_add(struct build *b, uint64_t start, uint64_t end, uint64_t slot)
{
	const uint32_t *place = slot ? hp_map_find(&b->slots, slot) : NULL;
	const char *name;

	if (!place)
		return false;
	/* A version is not part of the name. */
	name = b->names[*place];
	b->stubs = hp_xgrow(b->stubs, b->count, &b->room, sizeof(*b->stubs));
	b->stubs[b->count++] = (struct hp_symbol){
		.address = start,
		.size = end - start,
		.name = hp_xprintf("%.*s" HP_SYMBOL_PLT, (int)strcspn(name, "@"), name),
	};
	return true;
}

static void stubs_read(struct build *b, const Elf64_Shdr *header)
{
	char *bytes = hp_elf_read(b->elf, header);
	const unsigned char *code = (const unsigned char *)bytes;
	bool is_arm = b->machine == EM_AARCH64;
	/* On x86-64 all stubs have one size, and the jump may be anywhere within. */
	uint64_t stride = header->sh_entsize >= 8 ? header->sh_entsize : STUB_SIZE;

	for (size_t i = 0; code && i < header->sh_size;) {
		uint64_t address = header->sh_addr + i, slot = 0, start = address;
		size_t left = header->sh_size - i;
		size_t size = is_arm ? jump_aarch64(code + i, left, address, &slot)
				     : jump_x86_64(code + i, left, address, &slot);

		if (!is_arm)
			start = header->sh_addr + i / stride * stride;
		if (!size || !stub_add(b, start, start + (is_arm ? size : stride), slot))
			size = is_arm ? 4 : 1;
		i += size;
	}
	free(bytes);
}

static void relocations_each(struct build *b)
{
	for (size_t i = 0; i < b->elf->count; i++) {
		const Elf64_Shdr *header = &b->elf->sections[i];

		if (header->sh_type == SHT_RELA && header->sh_flags & SHF_ALLOC)
			slots_read(b, header);
	}
}

static void stubs_each(struct build *b)
{
	for (size_t i = 0; i < b->elf->count; i++) {
		const Elf64_Shdr *header = &b->elf->sections[i];

		if (header->sh_type == SHT_PROGBITS &&
		    strncmp(hp_elf_name(b->elf, header), ".plt", 4) == 0)
			stubs_read(b, header);
	}
}

static int compare_stubs(const void *left, const void *right)
{
	const struct hp_symbol *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

struct hp_symbol *hp_symbol_plt_read(const struct hp_symbol_file *file, const struct hp_elf *elf,
				     size_t *count)
{
	struct build b = { .file = file, .elf = elf, .machine = elf->header.e_machine };

	*count = 0;
	if (b.machine != EM_X86_64 && b.machine != EM_AARCH64)
		return NULL;
	relocations_each(&b);
	if (b.name_count)
		stubs_each(&b);
	if (b.count)
		qsort(b.stubs, b.count, sizeof(*b.stubs), compare_stubs);
	for (size_t i = 0; i < b.named_count; i++) {
		hp_elf_bytes_release(&b.named[i].symbols);
		hp_elf_bytes_release(&b.named[i].texts);
	}
	free(b.named);
	free(b.names);
	hp_map_release(&b.slots);
	*count = b.count;
	return b.stubs;
}
