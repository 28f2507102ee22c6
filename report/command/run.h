/* SPDX-License-Identifier: MIT */
/*
 * run.h - `hotpath run [options] [--] COMMAND [ARGUMENTS]`.
 */
#ifndef HP_REPORT_COMMAND_RUN_H
#define HP_REPORT_COMMAND_RUN_H

/*
 * Runs the command under the profiler; argv[0] is "run".  Returns the status to
 * exit with, or ends by the signal that ended the command.  125: our own
 * failure, 126: not executable, 127: not found, as env(1).
 */
int hp_cmd_run(int argc, char **argv);

#endif
