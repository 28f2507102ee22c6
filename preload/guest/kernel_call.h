/* SPDX-License-Identifier: MIT */
/*
 * kernel_call.h - a system call from our own code.
 *
 * The C library's syscall() would be the innermost function of the program in
 * samples of it, so that its time would count for the program.  For calls that
 * are made often; does not touch errno.
 */
#ifndef HP_PRELOAD_GUEST_KERNEL_CALL_H
#define HP_PRELOAD_GUEST_KERNEL_CALL_H

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns what the kernel does: -errno on failure. */
static inline long hp_kernel_call(long number, long a, long b, long c)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#else
	int saved = errno;
	long result = syscall(number, a, b, c);

	if (result < 0)
		result = -errno;
	errno = saved;
	return result;
#endif
}

#endif
