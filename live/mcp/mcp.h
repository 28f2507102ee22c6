/* SPDX-License-Identifier: MIT */
/*
 * mcp.h - the Model Context Protocol for agents, over HTTP or stdio.
 *
 * Folder: live/mcp - the Model Context Protocol: tools for agents, their
 *   schemas and results
 * May use: live/answer live/cache live/http report/base report/section
 *   report/section/core report/section/timing report/section/memory report/section/cpu
 *   report/section/wait report/section/channel report/section/loop report/section/stream report/section/thread report/section/mixed
 *   report/section/value report/section/future
 *   report/store segment
 *
 * Supports both eras of the protocol: clients that begin with `initialize`
 * (2024-11-05 to 2025-11-25), and clients that send the version in _meta of
 * every request (2026-07-28). Both are stateless; over stdio, with one client,
 * the host remembers the chosen session.
 *
 * Source: https://modelcontextprotocol.io/specification, the pages "Lifecycle",
 * "Transports" and "Tools" of these revisions; JSON-RPC 2.0.
 */
#ifndef HP_LIVE_MCP_MCP_H
#define HP_LIVE_MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>

#include "live/cache/cache.h"

struct hp_exchange;

#define HP_MCP_MODERN "2026-07-28"

/* A raw message. The headers are those of HTTP, NULL = absent. */
struct hp_mcp_message {
	const char *body;	/* terminated; a NUL inside is the sender's error */
	size_t size;
	bool is_http;
	const char *version;	/* MCP-Protocol-Version */
	const char *method;	/* Mcp-Method */
	const char *name;	/* Mcp-Name */
};

/* The data source of the tools. */
struct hp_mcp_host {
	/* NULL = no program is running, or several are and none was chosen. */
	struct hp_cache *(*cache)(void *context);
	/*
	 * Switches to another session, run or file. False = not found. NULL =
	 * this host has only one.
	 */
	bool (*choose)(void *context, const char *name);
	void *context;
	const char *wrong;	/* the reason for missing data; NULL = unknown */
};

/*
 * Answers one message: calls `done` once, in this or another thread. `host`
 * must live until then. Status 202 without a body means no response.
 */
void hp_mcp_take(const struct hp_mcp_host *host, const struct hp_mcp_message *message,
		 hp_cache_done done, void *context);

/* The response to a message that is too long to read. */
struct hp_answer *hp_mcp_too_long(void);

/* A site of live/http/http.h; its context is the host. */
void hp_mcp_serve(void *context, struct hp_exchange *exchange);

#endif
