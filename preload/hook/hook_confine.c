/* SPDX-License-Identifier: MIT */
/*
 * hook_confine.c - interposes calls that install filters
 * (preload/guest/confine.h).
 *
 * Strict mode and PR_SET_TSC also forbid the clock: the calling thread stops
 * recording (preload/guest/ticks.h).
 *
 * Not covered: programs that make these calls with their own syscall instruction.
 */
#include <assert.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/call/calibrate.h"
#include "preload/channel/channel.h"
#include "preload/guest/confine.h"
#include "preload/guest/above.h"
#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/guest/pages.h"
#include "preload/guest/real.h"
#include "preload/guest/self.h"
#include "preload/guest/ticks.h"
#include "preload/guest/tid.h"
#include "preload/lock/file.h"
#include "preload/thread/drop.h"
#include "preload/thread/level.h"
#include "preload/thread/process.h"
#include "preload/wait/cpu_timer.h"
#include "segment/newer.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH	/* Linux 5.11 */
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#endif

/* From here on no system call is made. */
static void make_reserve(void)
{
	if (hp_pages_are_reserved() || !hp_segment.header || !hp_self)
		return;
	if (hp_level_is_out())
		hp_self_open();
	hp_calibrate_first(hp_segment.header);
	hp_tid_prepare();
	hp_pages_reserve();
}

enum change { NO_CHANGE, FILTER, STRICT, NO_CLOCK, CLOCK };

static enum change change_of_prctl(unsigned long option, unsigned long value)
{
	if (option == PR_SET_TSC)
		return value == PR_TSC_SIGSEGV ? NO_CLOCK : CLOCK;
	/* System calls from outside the given range become signals for the program. */
	if (option == PR_SET_SYSCALL_USER_DISPATCH && value == PR_SYS_DISPATCH_ON)
		return FILTER;
	if (option != PR_SET_SECCOMP)
		return NO_CHANGE;
	return value == SECCOMP_MODE_STRICT ? STRICT : FILTER;
}

static enum change change_of_syscall(long number, unsigned long a, unsigned long b)
{
	if (number == SYS_prctl)
		return change_of_prctl(a, b);
	if (number != SYS_seccomp)
		return NO_CHANGE;
	if (a == SECCOMP_SET_MODE_STRICT)
		return STRICT;
	return a == SECCOMP_SET_MODE_FILTER ? FILTER : NO_CHANGE;
}

static bool changes_rights(long number)
{
	static const short numbers[] = { SYS_setuid,   SYS_setgid,    SYS_setreuid,
					 SYS_setregid, SYS_setresuid, SYS_setresgid,
					 SYS_capset,   SYS_unshare,   SYS_setns };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (number == numbers[i])
			return true;
	return false;
}

static void rights_changed(long number, long value)
{
	hp_drop_look_at_thread();
	if (number == SYS_unshare && value & CLONE_FILES)
		hp_file_keep_none();
}

static void clock_take(bool is_inherited)
{
	if (hp_is_early() || hp_ticks_are_forbidden())
		return;
	HP_ABOVE(silence, true);
	hp_ticks_forbid(is_inherited);
}

static void clock_give(void)
{
	if (hp_is_early() || !hp_ticks_are_forbidden())
		return;
	hp_ticks_allow();
	HP_ABOVE(silence, false);
}

struct before {
	uint32_t confined;
	bool is_forbidden;	/* the clock */
};

/* Before the call. Returns the previous state. */
static struct before confine(enum change change)
{
	struct before before = { atomic_load(&hp_confined),
				 !hp_is_early() && hp_ticks_are_forbidden() };
	int saved = errno;

	if (change == FILTER || change == STRICT) {
		if (!before.confined) {
			make_reserve();
			hp_timer_stop();
		}
		atomic_store(&hp_confined, 1);
	}
	if (change == STRICT || change == NO_CLOCK)
		clock_take(change == NO_CLOCK);
	errno = saved;
	return before;
}

/* After it. If it was refused, restores the state. */
static void confined(enum change change, struct before before, bool is_done)
{
	int saved = errno;

	if (change == CLOCK) {
		if (is_done)
			clock_give();
	} else if (!is_done) {
		atomic_store(&hp_confined, before.confined);
		if (!before.is_forbidden)
			clock_give();
		if (!before.confined && change != NO_CLOCK)
			hp_timer_go_on();
	}
	errno = saved;
}

HP_EXPORT int prctl(int option, ...)
{
	unsigned long values[4];
	enum change change;
	struct before before = { 0 };
	va_list list;
	int result;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		values[i] = va_arg(list, unsigned long);
	va_end(list);
	change = change_of_prctl((unsigned long)option, values[0]);
	if (change != NO_CHANGE)
		before = confine(change);
	result = hp_real()->prctl(option, values[0], values[1], values[2], values[3]);
	if (change != NO_CHANGE)
		confined(change, before, result >= 0);
	return result;
}

/*
 * syscall() is a few instructions that do not touch the stack (a child may
 * share it). So this jumps to the C library's, because the program may care
 * about the instruction's address (PR_SET_SYSCALL_USER_DISPATCH). Before that
 * is known, the same instructions run here. Possible filters go to `watched`,
 * calls that close or copy descriptors to `descriptors`.
 */
#if defined(__x86_64__) && defined(__LP64__)
__attribute__((visibility("hidden"))) long hp_confine_watched(long number, long a, long b, long c,
							      long d, long e, long f);
__attribute__((visibility("hidden"))) long hp_confine_error(long error);

static long raw(long number, const long *values)
{
	register long d __asm__("r10") = values[3];
	register long e __asm__("r8") = values[4];
	register long f __asm__("r9") = values[5];
	long result = number;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(values[0]), "S"(values[1]), "d"(values[2]), "r"(d), "r"(e), "r"(f)
			 : "rcx", "r11", "memory");
	return result;
}

long hp_confine_error(long error)
{
	/*
	 * While the loader relocates, calls to our functions are invalid, but
	 * those of the C library are bound.
	 */
	int *(*place)(void) =
		hp_is_early() ? (int *(*)(void))hp_early_find("__errno_location", false) : NULL;

	if (place)
		*place() = (int)-error;
	else if (!hp_is_early())
		errno = (int)-error;
	return -1;
}

/* The system call numbers from setuid to capset, nearly all about credentials, and two more. */
#define RIGHTS_FIRST 105
#define RIGHTS_SPAN 21

static_assert(RIGHTS_FIRST == __NR_setuid && RIGHTS_FIRST + RIGHTS_SPAN == __NR_capset,
	      "see above");

__attribute__((visibility("hidden"))) long hp_confine_rights(long number, long a, long b, long c,
							     long d, long e, long f);

long hp_confine_rights(long number, long a, long b, long c, long d, long e, long f)
{
	long result = hp_real()->syscall(number, a, b, c, d, e, f);

	if (result == 0 && changes_rights(number))
		rights_changed(number, a);
	return result;
}

__attribute__((visibility("hidden"))) long hp_confine_descriptors(long number, long a, long b,
								  long c, long d, long e, long f);

long hp_confine_descriptors(long number, long a, long b, long c, long d, long e, long f)
{
	bool is_copy = hp_channel_raw_before(number, a, b, c);
	long result = hp_real()->syscall(number, a, b, c, d, e, f);

	if (is_copy)
		hp_channel_raw_after(a, result);
	return result;
}

long hp_confine_watched(long number, long a, long b, long c, long d, long e, long f)
{
	long values[] = { a, b, c, d, e, f };
	enum change change = change_of_syscall(number, (unsigned long)a, (unsigned long)b);
	struct before before = { 0 };
	long result;

	if (change != NO_CHANGE)
		before = confine(change);
	result = raw(number, values);
	if (change != NO_CHANGE)
		confined(change, before, result >= 0);
	return result >= 0 ? result : hp_confine_error(result);
}

/* clang-format off */
#define TEXT(x) #x
#define NUMBER(x) TEXT(x)
__asm__(".pushsection .text.syscall, \"ax\", @progbits\n"
	".globl syscall\n"
	".type syscall, @function\n"
	".balign 16\n"
	"syscall:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	cmpl $" NUMBER(__NR_seccomp) ", %edi\n"
	"	je hp_confine_watched\n"
	"	cmpl $" NUMBER(__NR_prctl) ", %edi\n"
	"	je hp_confine_watched\n"
	"	movq hp_real_syscall(%rip), %rax\n"
	"	testq %rax, %rax\n"
	"	je 2f\n"
	"	cmpl $" NUMBER(__NR_close) ", %edi\n"
	"	je hp_confine_descriptors\n"
	"	cmpl $" NUMBER(__NR_dup) ", %edi\n"
	"	je hp_confine_descriptors\n"
	"	cmpl $" NUMBER(__NR_dup2) ", %edi\n"
	"	je hp_confine_descriptors\n"
	"	cmpl $" NUMBER(__NR_dup3) ", %edi\n"
	"	je hp_confine_descriptors\n"
	"	cmpl $" NUMBER(__NR_close_range) ", %edi\n"
	"	je hp_confine_descriptors\n"
	"	movl %edi, %r10d\n"
	"	subl $" NUMBER(RIGHTS_FIRST) ", %r10d\n"
	"	cmpl $" NUMBER(RIGHTS_SPAN) ", %r10d\n"
	"	jbe hp_confine_rights\n"
	"	cmpl $" NUMBER(__NR_unshare) ", %edi\n"
	"	je hp_confine_rights\n"
	"	cmpl $" NUMBER(__NR_setns) ", %edi\n"
	"	je hp_confine_rights\n"
	"	jmp *%rax\n"
	"2:	movq %rdi, %rax\n"
	"	movq %rsi, %rdi\n"
	"	movq %rdx, %rsi\n"
	"	movq %rcx, %rdx\n"
	"	movq %r8, %r10\n"
	"	movq %r9, %r8\n"
	"	movq 8(%rsp), %r9\n"
	"	syscall\n"
	"	cmpq $-4095, %rax\n"
	"	jae 1f\n"
	"	ret\n"
	"1:	movq %rax, %rdi\n"
	"	jmp hp_confine_error\n"
	"	.cfi_endproc\n"
	".size syscall, .-syscall\n"
	".popsection\n");
/* clang-format on */
#else
static bool is_of_descriptors(long number)
{
#ifdef SYS_dup2
	if (number == SYS_dup2)
		return true;
#endif
	return number == SYS_close || number == SYS_close_range || number == SYS_dup ||
	       number == SYS_dup3;
}

HP_EXPORT long syscall(long number, ...)
{
	long values[6];
	enum change change;
	struct before before = { 0 };
	bool is_copy;
	va_list list;
	long result;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		values[i] = va_arg(list, long);
	va_end(list);
	change = change_of_syscall(number, (unsigned long)values[0], (unsigned long)values[1]);
	if (change != NO_CHANGE)
		before = confine(change);
	is_copy = is_of_descriptors(number) &&
		  hp_channel_raw_before(number, values[0], values[1], values[2]);
	result = hp_real()->syscall(number, values[0], values[1], values[2], values[3], values[4],
				    values[5]);
	if (is_copy)
		hp_channel_raw_after(values[0], result);
	if (change != NO_CHANGE)
		confined(change, before, result >= 0);
	if (result == 0 && changes_rights(number))
		rights_changed(number, values[0]);
	return result;
}
#endif
