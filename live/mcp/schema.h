/* SPDX-License-Identifier: MIT */
/*
 * schema.h - what a tool takes and answers, as JSON Schema 2020-12.
 */
#ifndef HP_LIVE_MCP_SCHEMA_H
#define HP_LIVE_MCP_SCHEMA_H

struct cJSON;
struct hp_mcp_tool;

/* argument.c */
struct cJSON *hp_mcp_input_schema(const struct hp_mcp_tool *tool);

/* It describes every key of an answer; clients may be strict about types. */
struct cJSON *hp_mcp_output_schema(const struct hp_mcp_tool *tool);

#endif
