/* SPDX-License-Identifier: MIT */
/*
 * asleep.h - waits until another thread or process waits in the kernel, however long that takes.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The thread `tid` of the process `pid` sleeps. */
static int is_asleep(int pid, int tid)
{
	char path[64], line[512], *name_end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	name_end = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	fclose(file);
	return name_end && name_end[1] && name_end[2] == 'S';
}

/* Checked twice, a while apart: a thread that goes from one sleep to another counts as asleep. */
static void until_asleep(int pid, int tid)
{
	for (int seen = 0; seen < 3;) {
		seen = is_asleep(pid, tid) ? seen + 1 : 0;
		usleep(10000);
	}
}
