/* SPDX-License-Identifier: MIT */
/*
 * report_kernel_test.c - the copy of the kernel's names equals its list, for its
 * owner and while the kernel is the same.
 */
#include "test/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/memory.h"
#include "report/name/kernel_copy.h"

#define FIRST UINT64_C(0xffffffff81000000)

/* Sorted; of several at one address, the last one counts. */
static const struct hp_kernel_name list[] = {
	{ FIRST - 0x2000, "before" },
	{ FIRST, "start_of_all" },
	{ FIRST, "_stext" },
	{ FIRST, "_text" },
	{ FIRST + 0x40, "do_work" },
	{ FIRST + 0x80, "do_rest" },
	{ FIRST + 0x80, "do_rest_too" },
	{ FIRST + 0x1000, "_etext" },
	{ FIRST + 0x1000, "behind" },
	{ FIRST + 0x9000, "of_a_module" },
};

#define COUNT (sizeof(list) / sizeof(list[0]))

static const char *slowly(uint64_t address)
{
	const char *name = NULL;

	for (size_t i = 0; i < COUNT && list[i].address <= address; i++)
		name = list[i].name;
	return name;
}

static char *folder_make(char folder[64])
{
	strcpy(folder, "/tmp/hotpath-kernel-XXXXXX");
	CHECK(mkdtemp(folder));
	return hp_xprintf("%s/names", folder);
}

static void folder_remove(const char *folder, char *path)
{
	unlink(path);
	rmdir(folder);
	free(path);
}

static bool is_taken(const char *path)
{
	struct hp_kernel_copy copy;

	return hp_kernel_copy_open(&copy, path);
}

/* Another byte at `offset`, and back. */
static bool is_taken_with(const char *path, off_t offset)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	bool is_there;
	char byte;

	CHECK_EQ(pread(fd, &byte, 1, offset), 1);
	byte ^= 1;
	CHECK_EQ(pwrite(fd, &byte, 1, offset), 1);
	is_there = is_taken(path);
	byte ^= 1;
	CHECK_EQ(pwrite(fd, &byte, 1, offset), 1);
	close(fd);
	return is_there;
}

TEST(kernel, a_copy_tells_the_same_names)
{
	struct hp_kernel_copy copy;
	char folder[64], *path = folder_make(folder);

	if (access("/proc/kallsyms", R_OK) != 0)
		SKIP("no /proc/kallsyms");
	hp_kernel_copy_write(path, list, COUNT);
	CHECK(hp_kernel_copy_open(&copy, path));
	for (uint64_t address = FIRST; address < FIRST + 0x1000; address++) {
		CHECK(hp_kernel_copy_covers(&copy, address));
		CHECK_STR(hp_kernel_copy_at(&copy, address), slowly(address));
	}
	/* Modules that were loaded later may be there. */
	CHECK(!hp_kernel_copy_covers(&copy, FIRST - 1));
	CHECK(!hp_kernel_copy_covers(&copy, FIRST + 0x1000));
	folder_remove(folder, path);
}

TEST(kernel, a_copy_of_another_boot_or_user_is_not_used)
{
	char folder[64], *path = folder_make(folder), *link = hp_xprintf("%s/link", folder);
	struct stat status;

	if (access("/proc/kallsyms", R_OK) != 0)
		SKIP("no /proc/kallsyms");
	CHECK(!is_taken(path));
	hp_kernel_copy_write(path, list, COUNT);
	CHECK(is_taken(path));
	CHECK_EQ(stat(path, &status), 0);
	CHECK_EQ(status.st_mode & 0777, 0600);
	CHECK(!is_taken_with(path, 0));	/* of another version */
	CHECK(!is_taken_with(path, 8));	/* boot-id */
	CHECK(!is_taken_with(path, 8 + 40 + 3));	/* the beginning of /proc/kallsyms */
	CHECK_EQ(symlink(path, link), 0);
	CHECK(!is_taken(link));
	unlink(link);
	CHECK_EQ(chmod(path, 0640), 0);
	CHECK(!is_taken(path));
	CHECK_EQ(chmod(path, 0600), 0);
	CHECK(is_taken(path));
	for (off_t size = 0; size < status.st_size; size += 7) {
		CHECK_EQ(truncate(path, size), 0);
		CHECK(!is_taken(path));
	}
	free(link);
	folder_remove(folder, path);
}

/* Without both ends of the kernel's own text, completeness is unknown. */
TEST(kernel, no_copy_without_its_ends)
{
	char folder[64], *path = folder_make(folder);

	hp_kernel_copy_write(path, list, 5);
	CHECK(!is_taken(path));
	hp_kernel_copy_write(path, list + 4, COUNT - 4);
	CHECK(!is_taken(path));
	folder_remove(folder, path);
}
