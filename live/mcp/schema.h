/* SPDX-License-Identifier: MIT */
/*
 * schema.h - a tool's arguments and answers as JSON Schema 2020-12.
 */
#ifndef HP_LIVE_MCP_SCHEMA_H
#define HP_LIVE_MCP_SCHEMA_H

struct cJSON;
struct hp_section;
struct hp_mcp_tool;

/* argument.c */
struct cJSON *hp_mcp_input_schema(const struct hp_mcp_tool *tool);

/* Describes every key of an answer, because clients may be strict about types. */
struct cJSON *hp_mcp_output_schema(const struct hp_mcp_tool *tool);

/*
 * The same without the keys that may be absent, and without those in the others: for tools/list,
 * which clients put into an agent's context as a whole.  `explain` has the long one.
 */
struct cJSON *hp_mcp_output_brief(const struct hp_mcp_tool *tool);

/* An object with these keys, in the notation of schema.c. */
struct cJSON *hp_mcp_keys_schema(const char *text);

/* A section's list, and the array of its rows for programs. */
struct cJSON *hp_mcp_list_schema(const struct hp_section *section);
struct cJSON *hp_mcp_rows_schema(const struct hp_section *section);

#endif
