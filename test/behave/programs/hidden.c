/* SPDX-License-Identifier: MIT */
/*
 * hidden.c - a process that root starts.  It erases itself from the list of processes in the
 * segment, drops its rights by direct system calls, and keeps the segment, until its input ends.
 * Prints "hidden" when it has.  For join.bats.
 *
 * Numbers are offsets of the format (segment/FORMAT.md).
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534
#define PROCESSES 80	/* in the header */
#define PID 12	/* in a record */

static long by_instruction(long number, long a, long b, long c)
{
	long result = number;

#if defined(__x86_64__)
	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
#else
	result = syscall(number, a, b, c);
#endif
	return result;
}

static char *segment_find(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start = 0;

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:hotpath") && strstr(line, "rw-s"))
			sscanf(line, "%lx", &start);
	if (maps)
		fclose(maps);
	return (char *)start;
}

int main(void)
{
	char *segment = segment_find(), byte;
	uint32_t own = (uint32_t)getpid();
	int found = 0;

	if (!segment)
		return 2;
	for (uint64_t at = *(uint64_t *)(segment + PROCESSES); at; at = *(uint64_t *)(segment + at))
		if (*(uint32_t *)(segment + at + PID) == own) {
			*(uint32_t *)(segment + at + PID) = 0;
			found++;
		}
	if (!found || by_instruction(SYS_setgid, NOBODY, 0, 0) != 0 ||
	    by_instruction(SYS_setuid, NOBODY, 0, 0) != 0)
		return 3;
	by_instruction(SYS_write, 1, (long)"hidden\n", 7);
	while (by_instruction(SYS_read, 0, (long)&byte, 1) > 0)
		;
	by_instruction(SYS_exit_group, 0, 0, 0);
	return 0;
}
