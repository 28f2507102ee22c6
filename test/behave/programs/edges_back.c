/* SPDX-License-Identifier: MIT */
/*
 * edges_back.c - a library to be preloaded before ours: clocks that go back.
 *
 * It claims that the processor's counter must not be read, so that all times are of
 * CLOCK_MONOTONIC_RAW. It has two such clocks, a millisecond apart, like two processors' counters.
 * CLOCK_REALTIME jumps back and forth between 1970 and 2096.
 */
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int prctl(int option, ...)
{
	unsigned long argument[4];
	va_list list;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		argument[i] = va_arg(list, unsigned long);
	va_end(list);
	if (option != PR_GET_TSC)
		return (int)syscall(SYS_prctl, option, argument[0], argument[1], argument[2],
				    argument[3]);
	*(int *)argument[0] = PR_TSC_SIGSEGV;
	return 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	static unsigned turns;
	unsigned turn = __atomic_add_fetch(&turns, 1, __ATOMIC_RELAXED);
	int result = (int)syscall(SYS_clock_gettime, clock, now);

	if (clock == CLOCK_REALTIME)
		now->tv_sec = turn % 2 ? 1 : 4000000000;
	if (clock == CLOCK_MONOTONIC_RAW && turn / 997 % 2) {
		now->tv_nsec -= 1000000;
		now->tv_sec -= now->tv_nsec < 0;
		now->tv_nsec += now->tv_nsec < 0 ? 1000000000 : 0;
	}
	return result;
}
