/* SPDX-License-Identifier: MIT */
/*
 * helper.c - see helper.h.
 */
#include "preload/hook/helper.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

_Atomic int hp_helper_child;

void hp_helper_hide(uint32_t pid)
{
	siginfo_t info;
	int saved = errno;

	if (pid && getpid() == 1 &&
	    syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT, NULL) == 0)
		atomic_store_explicit(&hp_helper_child, (int)pid, memory_order_relaxed);
	errno = saved;
}
