/* SPDX-License-Identifier: MIT */
/*
 * report_stub_test.c - the stubs of calls to other files are where objdump finds them.
 */
#include "test/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/memory.h"
#include "report/elf/symbol_file.h"
#include "report/elf/demangle.h"
#include "report/elf/symbol_plt.h"
#include "segment/layout/process.h"

static void file_open(struct hp_symbol_file *file, const char *path)
{
	struct stat status;
	struct hp_model_object object = { .kind = HP_OBJECT_ELF, .path = (char *)path };

	CHECK_EQ(stat(path, &status), 0);
	object.inode = status.st_ino;
	hp_symbol_file_read(file, &object, 0);
}

/* Each line `ADDRESS <NAME@plt>:` is a stub of that name; returns how many there are. */
static size_t compare(const char *path, const struct hp_symbol_file *file)
{
	char *command = hp_xprintf("objdump -d '%s' 2>&1", path);
	FILE *dump = popen(command, "r");
	char line[4096], name[4096];
	unsigned long address;
	size_t count = 0;

	while (dump && fgets(line, sizeof(line), dump)) {
		const struct hp_symbol *stub;

		/* Those that it cannot name either, and offsets within: *ABS*+0x12@plt, f@plt+0x8 */
		if (sscanf(line, "%lx <%4000[^>]>:", &address, name) != 2 || strchr(name, '*') ||
		    !hp_symbol_is_plt(name))
			continue;
		stub = hp_symbol_stub_at(file, address);
		CHECK_STR(stub ? stub->name : "none", name);
		CHECK_EQ(stub->address, address);
		count++;
	}
	if (dump)
		pclose(dump);
	free(command);
	return count;
}

/* This program, and those that are there of some that other linkers and options made. */
TEST(stub, names_and_places_are_those_of_objdump)
{
	char self[4096] = "";
	const char *const paths[] = { self,
				      "/usr/bin/perl",
				      "/usr/bin/python3.11",
				      "/usr/bin/sqlite3",
				      "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
				      NULL };

	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	for (const char *const *path = paths; *path; path++) {
		struct hp_symbol_file file = { .fault = NULL };

		if (access(*path, R_OK) != 0)
			continue;
		file_open(&file, *path);
		CHECK_STR(file.fault, NULL);
		/* Of this one we know that it calls others. */
		CHECK(compare(*path, &file) > (path == paths ? 20 : 0));
		hp_symbol_file_release(&file);
	}
}

TEST(stub, code_that_is_none_has_no_name)
{
	struct hp_symbol_file file = { .fault = NULL };
	char self[4096] = "";

	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	file_open(&file, self);
	CHECK(file.count > 0);
	for (size_t i = 0; i < file.count; i++)
		if (file.symbols[i].size)
			CHECK(!hp_symbol_stub_at(&file, file.symbols[i].address));
	hp_symbol_file_release(&file);
}

TEST(stub, a_stub_is_told_by_its_name)
{
	CHECK(hp_symbol_is_plt("puts@plt"));
	CHECK(!hp_symbol_is_plt("puts"));
	CHECK(!hp_symbol_is_plt("@plt"));
	CHECK(!hp_symbol_is_plt("f@plt+0x4"));
}
