/* SPDX-License-Identifier: MIT */
/*
 * sampler_proc_test.c - open descriptors are counted with and without the kernel's own count.
 */
#include "sampler/base/proc.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/test.h"

static void open_more(int *fds, int count)
{
	for (int i = 0; i < count; i++) {
		fds[i] = open("/dev/null", O_RDONLY);
		CHECK(fds[i] >= 0);
	}
}

static void close_all(const int *fds, int count)
{
	for (int i = 0; i < count; i++)
		close(fds[i]);
}

/* More than one read of the folder returns. */
TEST(proc, open_descriptors_are_counted_in_each_way)
{
	int fds[200];
	long before = hp_proc_count_entries("/proc/self/fd"),
	     said = hp_proc_entries("/proc/self/fd");

	/* The count includes the folder itself, which is open meanwhile. */
	CHECK(before > 3);
	CHECK(said == before || said == before - 1);
	open_more(fds, 200);
	CHECK_EQ(hp_proc_count_entries("/proc/self/fd"), before + 200);
	CHECK_EQ(hp_proc_entries("/proc/self/fd"), said + 200);
	close_all(fds, 200);
}

static void *wait_for_end(void *end)
{
	char byte;

	return read(*(int *)end, &byte, 1) == 0 ? end : NULL;
}

/* Its size is 0 in every kernel, as that of "fd" before 6.2. */
TEST(proc, a_folder_without_a_size_is_counted)
{
	pthread_t threads[3];
	int ends[2];
	long before = hp_proc_entries("/proc/self/task");

	CHECK(before >= 1);
	CHECK(pipe(ends) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&threads[i], NULL, wait_for_end, &ends[0]) == 0);
	CHECK_EQ(hp_proc_entries("/proc/self/task"), before + 3);
	close(ends[1]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	close(ends[0]);
	CHECK_EQ(hp_proc_entries("/proc/self/nothing"), -1);
}
