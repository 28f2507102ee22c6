/* SPDX-License-Identifier: MIT */
/*
 * runs.h - what agents may ask of runs that are over: which there are, and what
 * changed between two.
 */
#ifndef HP_LIVE_MCP_RUNS_H
#define HP_LIVE_MCP_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "live/cache/picture.h"

struct hp_answer;
struct hp_mcp_arguments;

/* Kept runs, the newest `limit`. */
struct hp_answer *hp_mcp_runs(uint32_t limit);

/*
 * `hotpath compare`, in a process of its own: what a report needs of memory, or does
 * with a damaged file, is no matter of ours.  `done` is called once, here or in
 * another thread, with its JSON or with why there is none.  One at a time.
 *
 * `is_kept_only`: names are those of kept runs, no paths of files.
 */
void hp_mcp_compare(const struct hp_mcp_arguments *arguments, bool is_kept_only,
		    hp_picture_done done, void *context);

#endif
