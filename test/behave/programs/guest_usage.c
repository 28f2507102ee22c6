/* SPDX-License-Identifier: MIT */
/*
 * guest_usage.c - prints its children's resources: before it has any, of a working one, and
 * in a forked child that has none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <unistd.h>

/* The subtracted part was rounded to microseconds, as the sum was. */
static int is_near(const struct timeval *a, const struct timeval *b)
{
	long us = (a->tv_sec - b->tv_sec) * 1000000 + a->tv_usec - b->tv_usec;

	return us >= -1 && us <= 1;
}

/* Without children, everything is 0; for one it is the kernel's value when it was waited for. */
static void tell(const char *when, const struct rusage *whole)
{
	struct rusage usage;
	struct tms spent;

	getrusage(RUSAGE_CHILDREN, &usage);
	times(&spent);
	printf("%s: time %d, faults %d, switches %d, size %d, ticks %d\n", when,
	       is_near(&usage.ru_utime, &whole->ru_utime) &&
		       is_near(&usage.ru_stime, &whole->ru_stime),
	       usage.ru_minflt == whole->ru_minflt && usage.ru_majflt == whole->ru_majflt,
	       usage.ru_nvcsw == whole->ru_nvcsw && usage.ru_nivcsw == whole->ru_nivcsw,
	       usage.ru_maxrss >= whole->ru_maxrss && (whole->ru_maxrss || !usage.ru_maxrss),
	       labs(spent.tms_cutime - whole->ru_utime.tv_sec * 100 -
		    whole->ru_utime.tv_usec / 10000) <= 1);
	fflush(stdout);
}

int main(void)
{
	struct rusage none = { .ru_maxrss = 0 }, usage;
	volatile unsigned long work = 0;
	int status;

	tell("before", &none);
	pid_t child = fork();
	if (child == 0) {
		tell("child", &none);
		while (++work < 30000000)
			;
		_exit(0);
	}
	if (wait4(child, &status, 0, &usage) != child)
		return 1;
	tell("after", &usage);
	return 0;
}
