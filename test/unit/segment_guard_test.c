/* SPDX-License-Identifier: MIT */
/*
 * segment_guard_test.c - a reader of a segment survives when its file is made shorter meanwhile,
 * and a reader of any other mapped file.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "segment/guard.h"
#include "segment/segment.h"
#include "test/test.h"

static struct hp_segment mapped_new(char path[64])
{
	struct hp_segment_wish wish = { .size = 4 << 20, .token = "0123456789abcdef" };
	struct hp_segment made, mapped;

	strcpy(path, "/tmp/hotpath-guard.XXXXXX");
	close(mkstemp(path));
	unlink(path);
	wish.path = path;
	CHECK_EQ(hp_segment_create(&made, &wish), 0);
	CHECK_EQ((int)hp_segment_map_fd(&mapped, made.fd), HP_SEGMENT_FINE);
	mapped.fd = made.fd;
	made.fd = -1;
	hp_segment_release(&made);
	return mapped;
}

TEST(guard, another_truncated_mapping_reads_as_zeros_and_is_not_a_segment)
{
	char path[] = "/tmp/hotpath-guard.XXXXXX";
	int fd = mkstemp(path);
	volatile char *mapped;

	hp_guard_start();
	unlink(path);
	CHECK_EQ(ftruncate(fd, 8 * 4096), 0);
	CHECK_EQ(pwrite(fd, "x", 1, 0), 1);
	mapped = mmap(NULL, 8 * 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(hp_guard_range_add((void *)mapped, 8 * 4096));
	CHECK_EQ(ftruncate(fd, 4096), 0);
	CHECK_EQ(mapped[0], 'x');
	CHECK_EQ(mapped[7 * 4096], 0);
	CHECK(!hp_guard_has_met());
	hp_guard_range_remove((void *)mapped);
	munmap((void *)mapped, 8 * 4096);
	close(fd);
}

TEST(guard, what_is_cut_off_reads_as_zeros)
{
	char path[64];

	hp_guard_start();
	struct hp_segment segment = mapped_new(path);
	CHECK(!hp_guard_has_met());
	CHECK_EQ(ftruncate(segment.fd, 8192), 0);
	CHECK_EQ(*((volatile char *)segment.header + (2 << 20)), 0);
	CHECK(hp_guard_has_met());
	CHECK_EQ(segment.header->magic, HP_MAGIC);
	hp_segment_release(&segment);
	unlink(path);
}
