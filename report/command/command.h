/* SPDX-License-Identifier: MIT */
/*
 * command.h - the sub-commands of `hotpath`.
 *
 * Each gets its own argv (argv[0] is its name) and returns the exit status:
 * 0 = done, 1 = could not, 2 = usage; `run` passes that of its child on.
 */
#ifndef HP_REPORT_COMMAND_COMMAND_H
#define HP_REPORT_COMMAND_COMMAND_H

#define HP_EXIT_FAILED 1
#define HP_EXIT_USAGE 2

int hp_cmd_run(int argc, char **argv);	/* run.c */
int hp_cmd_report(int argc, char **argv);	/* report.c */
int hp_cmd_compare(int argc, char **argv);	/* report/compare/view.c */
int hp_cmd_list(int argc, char **argv);	/* list.c */
int hp_cmd_init(int argc, char **argv);	/* init.c */
int hp_cmd_flags(int argc, char **argv);	/* flags.c */
int hp_cmd_check(int argc, char **argv);	/* check.c */
int hp_cmd_doctor(int argc, char **argv);	/* report/doctor/doctor.c */
int hp_cmd_live(int argc, char **argv);	/* elsewhere.c: by hotpath-live */

#endif
