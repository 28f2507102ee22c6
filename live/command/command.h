/* SPDX-License-Identifier: MIT */
/*
 * command.h - the sub-commands of `hotpath` in hotpath-live.
 *
 * Folder: live/command - the sub-commands of hotpath-live: serve, load, mcp
 * May use: live/answer live/cache live/http live/mcp live/routes report/base
 *   report/command report/export report/section report/section/core
 *   report/store segment
 *
 * They are a separate executable, so that a report does not load the libraries
 * of servers and terminals. Each gets its own argv and returns the exit status;
 * see report/base/exit.h.
 */
#ifndef HP_LIVE_COMMAND_COMMAND_H
#define HP_LIVE_COMMAND_COMMAND_H

int hp_cmd_serve(int argc, char **argv);	/* serve.c */
int hp_cmd_load(int argc, char **argv);	/* load.c */
int hp_cmd_mcp(int argc, char **argv);	/* live/command/mcp.c */

#endif
