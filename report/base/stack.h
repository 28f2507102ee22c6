/* SPDX-License-Identifier: MIT */
/*
 * stack.h - enough stack, whatever limit the program had.
 *
 * A report inherits the stack limit (ulimit -s) of the profiled program.
 * Reading debug information takes more than 128 KiB.
 */
#ifndef HP_REPORT_BASE_STACK_H
#define HP_REPORT_BASE_STACK_H

/*
 * Returns the result of `run`.  If the stack is limited to less, it runs in a thread with a
 * large one, and the process exits with its result.  Threads that it creates also get a large
 * stack.
 */
int hp_stack_run(int (*run)(int argc, char **argv), int argc, char **argv);

#endif
