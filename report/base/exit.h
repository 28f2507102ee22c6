/* SPDX-License-Identifier: MIT */
/*
 * exit.h - the exit status of a command: 0 = done, or one of these.
 */
#ifndef HP_REPORT_BASE_EXIT_H
#define HP_REPORT_BASE_EXIT_H

#define HP_EXIT_FAILED 1	/* the command failed */
#define HP_EXIT_USAGE 2

#endif
