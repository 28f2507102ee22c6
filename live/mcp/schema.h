/* SPDX-License-Identifier: MIT */
/*
 * schema.h - a tool's arguments and answers as JSON Schema 2020-12.
 */
#ifndef HP_LIVE_MCP_SCHEMA_H
#define HP_LIVE_MCP_SCHEMA_H

struct cJSON;
struct hp_mcp_tool;

/* argument.c */
struct cJSON *hp_mcp_input_schema(const struct hp_mcp_tool *tool);

/* Describes every key of an answer, because clients may be strict about types. */
struct cJSON *hp_mcp_output_schema(const struct hp_mcp_tool *tool);

#endif
