/* SPDX-License-Identifier: MIT */
/*
 * argument.c - the arguments of tools: their schema, and the check of a call.
 *
 * Both use the same list, so only announced arguments are accepted.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/mcp/schema.h"
#include "live/mcp/tool.h"
#include "report/base/memory.h"

#define ROWS_USUAL 20
#define ROWS_MAX 1000
#define ARGUMENTS_MAX 3	/* of a tool */

enum type { ID, LIMIT, TEXT, NAME };

struct argument {
	const char *name;
	enum type type;
	size_t place;	/* in struct hp_mcp_arguments */
	bool is_required;
	const char *help;
};

#define PLACE(field) offsetof(struct hp_mcp_arguments, field)

static const struct argument limit_argument = { "limit", LIMIT, PLACE(limit), false,
						"maximum number of rows" };
static const struct argument topic_arguments[] = {
	{ "topic", TEXT, PLACE(topic), false, "name of a tool; without it, all" },
};
static const struct argument choose_arguments[] = {
	{ "session", NAME, PLACE(session), true, "its pid, its session, or the name of a run" },
};
static const struct argument compare_arguments[] = {
	{ "before", NAME, PLACE(before), true, "`run` from a row of runs, or its pid" },
	{ "after", NAME, PLACE(after), true, "the same for the later run" },
	{ "limit", LIMIT, PLACE(limit), false, "maximum number of rows of each section" },
};

/* The CPU samples are an object, with rows within. */
static bool has_rows(const struct hp_mcp_tool *tool)
{
	bool is_read = tool->method && strcmp(tool->method, "GET") == 0;

	return tool->kind == HP_MCP_ROUTE &&
	       (tool->shape != HP_MCP_OBJECT || (tool->section && is_read));
}

/* Fills `list`; returns the number. */
static size_t arguments_of(const struct hp_mcp_tool *tool, struct argument *list)
{
	size_t count = 0;

	switch (tool->kind) {
	case HP_MCP_EXPLAIN:
		memcpy(list, topic_arguments, sizeof(topic_arguments));
		return 1;
	case HP_MCP_CHOOSE:
		memcpy(list, choose_arguments, sizeof(choose_arguments));
		return 1;
	case HP_MCP_COMPARE:
		memcpy(list, compare_arguments, sizeof(compare_arguments));
		return sizeof(compare_arguments) / sizeof(compare_arguments[0]);
	case HP_MCP_RUNS:
		list[0] = limit_argument;
		return 1;
	default:
		break;
	}
	if (tool->id)
		list[count++] = (struct argument){ tool->id, ID, PLACE(id), true,
						   "id of a row of the list" };
	if (has_rows(tool))
		list[count++] = limit_argument;
	return count;
}

/* --- their schema --- */

static cJSON *property_add(cJSON *schema, const char *name, const char *type, const char *help)
{
	cJSON *properties = cJSON_GetObjectItemCaseSensitive(schema, "properties");
	cJSON *property = cJSON_AddObjectToObject(properties, name);

	cJSON_AddStringToObject(property, "type", type);
	cJSON_AddStringToObject(property, "description", help);
	return property;
}

static cJSON *schema_new(void)
{
	cJSON *schema = cJSON_CreateObject();

	cJSON_AddStringToObject(schema, "type", "object");
	cJSON_AddObjectToObject(schema, "properties");
	return schema;
}

static void require(cJSON *schema, const char *name)
{
	cJSON *required = cJSON_GetObjectItemCaseSensitive(schema, "required");

	if (!required)
		required = cJSON_AddArrayToObject(schema, "required");
	cJSON_AddItemToArray(required, cJSON_CreateString(name));
}

static void bounds_add(cJSON *property, double least, double most)
{
	cJSON_AddNumberToObject(property, "minimum", least);
	cJSON_AddNumberToObject(property, "maximum", most);
}

static void argument_add(cJSON *schema, const struct argument *argument)
{
	static const char *const types[] = { "integer", "integer", "string", "string" };
	cJSON *property =
		property_add(schema, argument->name, types[argument->type], argument->help);

	if (argument->type == ID)
		bounds_add(property, 0, UINT32_MAX);
	if (argument->type == LIMIT) {
		bounds_add(property, 1, ROWS_MAX);
		cJSON_AddNumberToObject(property, "default", ROWS_USUAL);
	}
	if (argument->is_required)
		require(schema, argument->name);
}

cJSON *hp_mcp_input_schema(const struct hp_mcp_tool *tool)
{
	struct argument list[ARGUMENTS_MAX];
	size_t count = arguments_of(tool, list);
	cJSON *schema = schema_new();

	for (size_t i = 0; i < count; i++)
		argument_add(schema, &list[i]);
	cJSON_AddFalseToObject(schema, "additionalProperties");
	return schema;
}

/* --- a call --- */

/* An integer, or a text of digits: clients of the Rust crate send ids that way. */
static bool number_read(const cJSON *json, double least, double most, uint32_t *number)
{
	double value = json->valuedouble;

	if (cJSON_IsString(json)) {
		size_t digits = strspn(json->valuestring, "0123456789");

		if (!digits || digits > 10 || json->valuestring[digits])
			return false;
		value = strtod(json->valuestring, NULL);
	} else if (!cJSON_IsNumber(json)) {
		return false;
	}
	if (!(value >= least && value <= most) || value != floor(value))
		return false;
	*number = (uint32_t)value;
	return true;
}

/* Its text; a number, such as a pid, is converted. */
static const char *text_read(const cJSON *json, enum type type, struct hp_mcp_arguments *arguments)
{
	uint32_t number;
	char *room;

	if (cJSON_IsString(json))
		return json->valuestring;
	if (type != NAME || arguments->number_count == 4 ||
	    !number_read(json, 0, UINT32_MAX, &number))
		return NULL;
	room = arguments->numbers[arguments->number_count++];
	snprintf(room, sizeof(arguments->numbers[0]), "%u", (unsigned)number);
	return room;
}

/* NULL = the value is valid and stored; else the error message. */
static const char *value_take(const struct argument *argument, const cJSON *json,
			      struct hp_mcp_arguments *arguments)
{
	char *place = (char *)arguments + argument->place;
	const char *text;

	switch (argument->type) {
	case ID:
		return number_read(json, 0, UINT32_MAX, (uint32_t *)(void *)place)
			       ? NULL
			       : "must be the id of a row of the list: an integer";
	case LIMIT:
		return number_read(json, 1, ROWS_MAX, (uint32_t *)(void *)place)
			       ? NULL
			       : "must be an integer from 1 to 1000";
	default:
		text = text_read(json, argument->type, arguments);
		memcpy(place, &text, sizeof(text));
		return text && *text ? NULL : "must be a string: a name";
	}
}

static char *argument_take(const struct hp_mcp_tool *tool, const cJSON *item,
			   struct hp_mcp_arguments *arguments)
{
	struct argument list[ARGUMENTS_MAX];
	size_t count = arguments_of(tool, list);

	for (size_t i = 0; i < count; i++) {
		const char *wrong;

		if (strcmp(item->string, list[i].name) != 0)
			continue;
		wrong = value_take(&list[i], item, arguments);
		return wrong ? hp_xprintf("%s %s", list[i].name, wrong) : NULL;
	}
	return hp_xprintf("%s has no argument '%.64s'; tools/list shows its inputSchema",
			  tool->name, item->string);
}

static char *missing_find(const struct hp_mcp_tool *tool, const cJSON *json)
{
	struct argument list[ARGUMENTS_MAX];
	size_t count = arguments_of(tool, list);

	for (size_t i = 0; i < count; i++)
		if (list[i].is_required && !cJSON_GetObjectItemCaseSensitive(json, list[i].name))
			return hp_xprintf("%s is missing: %s", list[i].name, list[i].help);
	return NULL;
}

char *hp_mcp_arguments_read(const struct hp_mcp_tool *tool, const cJSON *json,
			    struct hp_mcp_arguments *arguments)
{
	const cJSON *item;
	char *error;

	*arguments = (struct hp_mcp_arguments){ .limit = ROWS_USUAL };
	if (json && !cJSON_IsObject(json))
		return hp_xstrdup("arguments must be an object");
	cJSON_ArrayForEach(item, json)
	{
		error = argument_take(tool, item, arguments);
		if (error)
			return error;
	}
	return missing_find(tool, json);
}
