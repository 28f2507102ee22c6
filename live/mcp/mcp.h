/* SPDX-License-Identifier: MIT */
/*
 * mcp.h - the Model Context Protocol: what an agent asks, over HTTP or stdio.
 *
 * Folder: live/mcp - the Model Context Protocol: tools for agents, their
 *   schemas and results
 * May use: live/answer live/cache live/http report/base report/section
 *   report/section/core report/section/timing report/section/memory report/section/cpu
 *   report/section/wait report/section/channel report/section/thread report/section/mixed
 *   report/store segment
 *
 * Both eras of the protocol: clients that begin with `initialize` (2024-11-05 to
 * 2025-11-25), and those whose every request says its version in _meta
 * (2026-07-28).  Nothing is remembered between messages, for either; over stdio, which
 * has one client, the host knows what it chose to look at.
 *
 * Source: https://modelcontextprotocol.io/specification, the pages "Lifecycle",
 * "Transports" and "Tools" of these revisions; JSON-RPC 2.0.
 */
#ifndef HP_LIVE_MCP_MCP_H
#define HP_LIVE_MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>

#include "live/cache/picture.h"

struct hp_exchange;

#define HP_MCP_MODERN "2026-07-28"

/* A message as it came.  The headers are those of HTTP, NULL = not there. */
struct hp_mcp_message {
	const char *body;	/* terminated; a NUL within is an error of its sender */
	size_t size;
	bool is_http;
	const char *version;	/* MCP-Protocol-Version */
	const char *method;	/* Mcp-Method */
	const char *name;	/* Mcp-Name */
};

/* Whose figures are asked for. */
struct hp_mcp_host {
	/* NULL = no program runs, or several do and none was chosen. */
	struct hp_picture *(*picture)(void *context);
	/*
	 * Looks at another one from now on: a session, a run or a file.  False = there is
	 * no such one.  NULL = this host has but one.
	 */
	bool (*choose)(void *context, const char *name);
	void *context;
	const char *wrong;	/* why there was no picture; NULL = not known */
};

/*
 * Answers one message: `done` is called once, here or in another thread.  `host`
 * has to live until then.  An answer of status 202 without a body: nothing is to
 * be said.
 */
void hp_mcp_take(const struct hp_mcp_host *host, const struct hp_mcp_message *message,
		 hp_picture_done done, void *context);

/* The answer to a message of which only so much is known: it is too long. */
struct hp_answer *hp_mcp_too_long(void);

/* A site of live/http/http.h; its context is the host. */
void hp_mcp_serve(void *context, struct hp_exchange *exchange);

#endif
