/* SPDX-License-Identifier: MIT */
/*
 * report_stub_test.c - finds the same call stubs as objdump, and the same symbols as
 * libdw.
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

/* This program, and existing ones made by other linkers and options. */
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
		/* This one is known to call others. */
		CHECK(compare(*path, &file) > (path == paths ? 20 : 0));
		hp_symbol_file_release(&file);
	}
}

TEST(stub, other_code_has_no_stub_name)
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

TEST(stub, a_stub_is_recognised_by_its_name)
{
	CHECK(hp_symbol_is_plt("puts@plt"));
	CHECK(!hp_symbol_is_plt("puts"));
	CHECK(!hp_symbol_is_plt("@plt"));
	CHECK(!hp_symbol_is_plt("f@plt+0x4"));
}

static void lists_compare(const struct hp_symbol *fast, const struct hp_symbol *slow, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		CHECK_EQ(fast[i].address, slow[i].address);
		CHECK_EQ(fast[i].size, slow[i].size);
		CHECK_STR(fast[i].name, slow[i].name);
	}
}

/* libdw subtracts a value that it never added if a symbol is in no loaded section. */
static void beyond_drop(const struct hp_symbol *list, size_t *count)
{
	while (*count && list[*count - 1].address > INT64_MAX)
		--*count;
}

/* Stripped and not, with a debug file beside it where libc6-dbg is, PIE and not. */
TEST(symbol, those_read_without_libdw_are_the_same)
{
	char self[4096] = "";
	const char *const paths[] = { self,
				      "/usr/bin/perl",
				      "/usr/bin/node",
				      "/usr/bin/python3.11",
				      "/lib/x86_64-linux-gnu/libc.so.6",
				      "/lib64/ld-linux-x86-64.so.2",
				      "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
				      NULL };

	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	for (const char *const *path = paths; *path; path++) {
		struct hp_model_object object = { .kind = HP_OBJECT_ELF, .path = (char *)*path };
		struct hp_symbol_file fast = { .fault = NULL }, slow = { .fault = NULL };
		struct stat status;

		if (stat(*path, &status) != 0)
			continue;
		object.inode = status.st_ino;
		hp_symbol_file_read(&fast, &object, 0);
		hp_symbol_file_read_slowly(&slow, &object, 0);
		CHECK_STR(fast.fault, slow.fault);
		beyond_drop(slow.symbols, &slow.count);
		beyond_drop(slow.data, &slow.data_count);
		CHECK_EQ(fast.count, slow.count);
		CHECK_EQ(fast.data_count, slow.data_count);
		CHECK(fast.count > 0);
		CHECK(!fast.dwfl);
		if (fast.count == slow.count)
			lists_compare(fast.symbols, slow.symbols, fast.count);
		if (fast.data_count == slow.data_count)
			lists_compare(fast.data, slow.data, fast.data_count);
		hp_symbol_file_release(&fast);
		hp_symbol_file_release(&slow);
	}
}
