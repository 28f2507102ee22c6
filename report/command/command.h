/* SPDX-License-Identifier: MIT */
/*
 * command.h - the sub-commands of `hotpath`.
 *
 * Each gets its own argv (argv[0] is its name) and returns the exit status;
 * `run` passes that of its child on.  Those of report/compare and report/doctor
 * are in the headers there.
 *
 * Folder: report/command - the command hotpath: its sub-commands and their
 *   options
 * May use: report/base report/compare report/doctor report/elf
 *   report/export report/name report/section report/section/core
 *   report/section/cpu report/section/finding report/section/timing report/stacks report/store
 *   report/view segment segment/layout util
 */
#ifndef HP_REPORT_COMMAND_COMMAND_H
#define HP_REPORT_COMMAND_COMMAND_H

#include "report/base/exit.h"

int hp_cmd_run(int argc, char **argv);	/* run.c */
int hp_cmd_report(int argc, char **argv);	/* report.c */
int hp_cmd_explain(int argc, char **argv);	/* explain.c */
int hp_cmd_list(int argc, char **argv);	/* list.c */
int hp_cmd_init(int argc, char **argv);	/* init.c */
int hp_cmd_flags(int argc, char **argv);	/* flags.c */
int hp_cmd_check(int argc, char **argv);	/* check.c */
int hp_cmd_stacks(int argc, char **argv);	/* stacks.c */
int hp_cmd_live(int argc, char **argv);	/* elsewhere.c: by hotpath-live */

#endif
