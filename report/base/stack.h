/* SPDX-License-Identifier: MIT */
/*
 * stack.h - room for deep calls, whatever limit the program was given.
 *
 * A report inherits the limit of the stack (ulimit -s) from the program that it is about.  Reading
 * debug information takes more than 128 KiB.
 */
#ifndef HP_REPORT_BASE_STACK_H
#define HP_REPORT_BASE_STACK_H

/*
 * Returns what `run` returns.  If the stack is limited to less, it runs in a thread with a large
 * one, and the process exits with its result.  Threads that it makes have a large stack, too.
 */
int hp_stack_run(int (*run)(int argc, char **argv), int argc, char **argv);

#endif
