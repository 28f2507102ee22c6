/* SPDX-License-Identifier: MIT */
/*
 * tool.h - the MCP tools: most correspond to a route in live/routes/routes.c.
 */
#ifndef HP_LIVE_MCP_TOOL_H
#define HP_LIVE_MCP_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/answer/answer.h"

struct cJSON;
struct hp_section;

/* The handler. */
enum hp_mcp_kind {
	HP_MCP_ROUTE = 0,	/* live/routes/routes.c, about the current program */
	HP_MCP_EXPLAIN,	/* explain.c */
	HP_MCP_CHOOSE,	/* the host: switches the program */
	HP_MCP_SESSIONS,	/* live/answer/status.c; works without a program */
	HP_MCP_RUNS,	/* runs.c */
	HP_MCP_COMPARE	/* runs.c, by `hotpath compare` */
};

enum hp_mcp_shape {
	HP_MCP_LIST = 0,	/* rows, with `limit` */
	HP_MCP_LOGS,	/* of one row, with its id */
	HP_MCP_OBJECT	/* one thing */
};

struct hp_mcp_tool {
	const char *name;
	enum hp_mcp_kind kind;
	const char *method;	/* of the route */
	const char *path;	/* {id} is replaced with the argument */
	const char *id;	/* name of the id argument; NULL = none */
	enum hp_mcp_shape shape;
	const struct hp_section *section;	/* the section; NULL = none */
	const char *drop;	/* key removed from the answer as too long for an agent; NULL = none */
	const char *help;
};

/* A call's arguments, checked. */
struct hp_mcp_arguments {
	uint32_t id;
	uint32_t limit;	/* rows */
	const char *topic;	/* for `explain`; NULL = all */
	const char *session;	/* new program, run or file */
	const char *before, *after;	/* runs */
	char numbers[4][16];	/* texts above converted from numbers */
	uint32_t number_count;
};

/* All of them, in a fixed order; NULL = no i-th. */
const struct hp_mcp_tool *hp_mcp_tool_at(size_t i);

/* NULL = unknown tool. */
const struct hp_mcp_tool *hp_mcp_tool_find(const char *name);

/*
 * The array of tools with their schemas, in a fixed order, as JSON; includes
 * choose_session if `can_choose`. Created once, and never freed.
 */
const char *hp_mcp_tools(bool can_choose);

/*
 * Reads the arguments of a call (may be NULL). NULL = valid; else an error
 * message from malloc. `arguments` points into `json`.
 */
char *hp_mcp_arguments_read(const struct hp_mcp_tool *tool, const struct cJSON *json,
			    struct hp_mcp_arguments *arguments);

/* The result of a call, from the route's answer. */
struct cJSON *hp_mcp_result(const struct hp_mcp_tool *tool,
			    const struct hp_mcp_arguments *arguments,
			    const struct hp_answer *answer);

/* The result of a failed call, with its reason. */
struct cJSON *hp_mcp_failure(const char *text);

/* explain.c: explains a section and the next tools to call; NULL = all sections; 404 = unknown. */
struct hp_answer *hp_mcp_explain(const char *topic);

#endif
