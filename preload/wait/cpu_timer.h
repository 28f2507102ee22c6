/* SPDX-License-Identifier: MIT */
/*
 * cpu_timer.h - CPU samples without the kernel's counters: a CPU timer for
 * each thread, whose signal handler records the stack.
 *
 * Why the program does not notice it:
 *
 * - The signal is one that the C library keeps for itself (SIGSETXID, between
 *   the standard signals and SIGRTMIN).  Its functions refuse it or leave it out
 *   of sets, so no program handles it, blocks it, waits for it or sees it in a
 *   mask.  Signals for the C library's own use are passed to its handler.
 * - The clock is the thread's time in user code.  The kernel adds to it when a
 *   tick finds the thread in user code, and checks timers then, so the signal
 *   comes between two instructions of the program and never in a system call:
 *   none is interrupted, none writes less.
 * - Nothing is locked or allocated in the handler.  Stack is used as by any
 *   handler: on the alternate stack, if the program has one.
 *
 * It remains a signal handler in someone else's process, so it is installed
 * only on request: HOTPATH_CPU=timer, or functions-cpu requested by name if
 * perf_event_open is refused.
 */
#ifndef HP_PRELOAD_WAIT_CPU_TIMER_H
#define HP_PRELOAD_WAIT_CPU_TIMER_H

#include <pthread.h>
#include <threads.h>

#include "preload/guest/above.h"

/* When configured, it decides, for the whole session if this is the first process. */
extern const struct hp_recorder hp_timer_recorder;

/* pthread_create and thrd_create, for a thread that gets a timer if requested. */
int hp_timer_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
		    void *argument);
int hp_timer_create_c11(thrd_t *thread, thrd_start_t routine, void *argument);

/*
 * Before a seccomp filter, which may forbid a handler to return: stops all
 * timers and handlers. The filter was refused: starts them again.
 */
void hp_timer_stop(void);
void hp_timer_go_on(void);

#endif
