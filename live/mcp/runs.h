/* SPDX-License-Identifier: MIT */
/*
 * runs.h - tools for ended runs: list them, and compare two.
 */
#ifndef HP_LIVE_MCP_RUNS_H
#define HP_LIVE_MCP_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "live/cache/cache.h"

struct hp_answer;
struct hp_mcp_arguments;

/* The newest `limit` kept runs. */
struct hp_answer *hp_mcp_runs(uint32_t limit);

/*
 * Runs `hotpath compare` in a separate process, so that its memory use or a
 * damaged file cannot harm the server. Calls `done` once, in this or another
 * thread, with its JSON or an error. One at a time.
 *
 * `is_kept_only`: only accepts names of kept runs, not file paths.
 */
void hp_mcp_compare(const struct hp_mcp_arguments *arguments, bool is_kept_only, hp_cache_done done,
		    void *context);

#endif
