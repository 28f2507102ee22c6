/* SPDX-License-Identifier: MIT */
/*
 * tool.h - the tools that MCP offers: most are a route of live/routes/routes.c.
 */
#ifndef HP_LIVE_MCP_TOOL_H
#define HP_LIVE_MCP_TOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "live/answer/answer.h"

struct cJSON;
struct hp_section;

/* Who answers. */
enum hp_mcp_kind {
	HP_MCP_ROUTE = 0,	/* live/routes/routes.c, about the program that is looked at */
	HP_MCP_EXPLAIN,	/* explain.c */
	HP_MCP_CHOOSE,	/* the host: another program from now on */
	HP_MCP_SESSIONS,	/* live/answer/status.c; there need not be a program */
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
	const char *path;	/* {id} stands for the argument */
	const char *id;	/* name of the argument that is the id; NULL = none */
	enum hp_mcp_shape shape;
	const struct hp_section *section;	/* that it is about; NULL = none */
	const char *drop;	/* key of the answer that is too long for an agent; NULL = none */
	const char *help;
};

/* A call's arguments, checked. */
struct hp_mcp_arguments {
	uint32_t id;
	uint32_t limit;	/* rows */
	const char *topic;	/* for `explain`; NULL = all */
	const char *session;	/* what to look at from now on */
	const char *before, *after;	/* runs */
	double noise;	/* percent */
	char numbers[4][16];	/* texts above that came as numbers */
	uint32_t number_count;
};

/* NULL = there is no such tool. */
const struct hp_mcp_tool *hp_mcp_tool_find(const char *name);

/*
 * The array of tools with their schemas, in a fixed order, as JSON; choose_session
 * if `can_choose`.  It is made once, and stays.
 */
const char *hp_mcp_tools(bool can_choose);

/*
 * Reads the arguments of a call (may be NULL).  NULL = they are right; else what
 * is wrong with them, of malloc.  `arguments` points into `json`.
 */
char *hp_mcp_arguments_read(const struct hp_mcp_tool *tool, const struct cJSON *json,
			    struct hp_mcp_arguments *arguments);

/* The result of a call that the route has answered so. */
struct cJSON *hp_mcp_result(const struct hp_mcp_tool *tool,
			    const struct hp_mcp_arguments *arguments,
			    const struct hp_answer *answer);

/* The result of a call that failed, with a text that says why. */
struct cJSON *hp_mcp_failure(const char *text);

/* explain.c: what a section says, and what to ask next; all of them for NULL; 404 = no such one. */
struct hp_answer *hp_mcp_explain(const char *topic);

#endif
