/* SPDX-License-Identifier: MIT */
/*
 * elf_fuzz.c - a file that claims to be a program, as examined by `hotpath run` and
 * `hotpath doctor`, read by the helper when a sample is in its code, and by the
 * report (with elfutils). The last two bytes are the first ones of the requested
 * address.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/elf/binary.h"
#include "report/doctor/program.h"
#include "report/elf/symbol_file.h"
#include "sampler/sample/space.h"
#include "segment/layout/process.h"
#include "segment/segment.h"
#include "test/fuzz/fuzz.h"

#define SEGMENT_SIZE (1 << 20)
#define ASKED 16

static bool load_nothing(void *context, uintptr_t address, uintptr_t *word)
{
	(void)context, (void)address, (void)word;
	return false;
}

/*
 * For a stripped file elfutils calls libdebuginfod, which loads thirty libraries; the
 * thread-local data of one of them crashes LeakSanitizer (gcc 12, clang 14).
 */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}

/* Mapped at `begin`, as in the helper. */
static void sampled(const char *path, const struct stat *status, uint64_t first)
{
	struct hp_segment_wish wish = { .size = SEGMENT_SIZE, .token = "0123456789abcdef" };
	struct hp_map_entry where = { .begin = 0x400000, .end = 0x400000 + (1 << 20) };
	static uint64_t room[HP_CFI_ROOM / 8];
	const struct hp_map_entry *entry;
	struct hp_segment segment;
	struct hp_spaces spaces;

	if (hp_segment_create(&segment, &wish) < 0)
		abort();
	hp_spaces_init(&spaces, &segment);
	hp_space_map(&spaces, (uint32_t)getpid(), &where, path, status->st_dev, status->st_ino);
	entry = hp_space_entry(hp_space_known(&spaces, (uint32_t)getpid()), where.begin);
	for (uint64_t i = 0; entry && i < ASKED; i++) {
		struct hp_place place = hp_space_place(entry, where.begin + first + i * 64);
		struct hp_cfi_registers at = { place.address + entry->code->bias, 4096, 8192,
					       false };

		entry->code->cfi.room = room;
		if (entry->code->cfi.header)
			hp_cfi_step(&entry->code->cfi, &at, load_nothing, NULL);
	}
	hp_spaces_release(&spaces);
	hp_segment_release(&segment);
}

static void reported(char *path, const struct stat *status, uint64_t first)
{
	struct hp_model_object object = { .path = path, .device = status->st_dev };
	struct hp_symbol_file file = { .fault = NULL };

	object.kind = HP_OBJECT_ELF;
	object.inode = status->st_ino;
	hp_symbol_file_read(&file, &object, INT64_MAX);
	for (uint64_t i = 0; i < ASKED; i++) {
		uint64_t address = first + i * 64;

		hp_symbol_at(&file, address);
		hp_symbol_data_at(&file, address);
		hp_symbol_stub_at(&file, address);
		hp_symbol_file_unit(&file, &address);
	}
	hp_symbol_file_release(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[64];
	static struct hp_program program;
	struct hp_binary binary;
	struct stat status;
	uint64_t first;
	FILE *out;

	if (!*path)
		snprintf(path, sizeof(path), "/tmp/hotpath-fuzz-elf-%d", (int)getpid());
	unlink(path);	/* a fresh file: readers that have it open keep the old one */
	out = fopen(path, "we");
	if (size < 2 || !out || fwrite(data, 1, size, out) != size || fclose(out) != 0 ||
	    chmod(path, 0700) < 0 || stat(path, &status) < 0)
		return 0;
	first = data[size - 2] | (uint64_t)data[size - 1] << 8;
	if (hp_program_find(&program, path) == 0)
		hp_program_inspect(&program);
	sampled(path, &status, first);
	reported(path, &status, first);
	hp_binary_init(&binary, path);
	hp_binary_release(&binary);
	unlink(path);
	return 0;
}
