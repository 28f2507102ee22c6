/* SPDX-License-Identifier: MIT */
/*
 * json.c - see json.h.
 */
#include "report/base/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/base/format.h"

/* An answer has thousands of them: printf would take a tenth of its time. */
cJSON *hp_json_number(uint64_t number)
{
	char text[24], *at = &text[sizeof(text) - 1];

	*at = 0;
	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	return cJSON_CreateRaw(at);
}

void hp_json_whole(cJSON *object, const char *key, uint64_t number)
{
	cJSON_AddItemToObject(object, key, hp_json_number(number));
}

void hp_json_rounded(cJSON *object, const char *key, double number)
{
	char text[32];

	snprintf(text, sizeof(text), "%.0f", number > 0 ? rint(number) : 0);
	cJSON_AddItemToObject(object, key, cJSON_CreateRaw(text));
}

void hp_json_between(cJSON *object, const char *name, double ns, double error_ns)
{
	char key[64];

	snprintf(key, sizeof(key), "%s_low_ns", name);
	hp_json_rounded(object, key, ns > error_ns ? ns - error_ns : 0);
	snprintf(key, sizeof(key), "%s_high_ns", name);
	hp_json_rounded(object, key, ns + error_ns);
}

void hp_json_text(cJSON *object, const char *key, const char *text)
{
	char *clean = text ? hp_text_clean(text) : NULL;

	if (clean)
		cJSON_AddStringToObject(object, key, clean);
	free(clean);
}

void hp_json_location(cJSON *object, const char *file, int line, int column)
{
	cJSON *location = cJSON_AddObjectToObject(object, "location");

	hp_json_text(location, "file", file);
	hp_json_whole(location, "line", line > 0 ? (uint64_t)line : 0);
	hp_json_whole(location, "column", column > 0 ? (uint64_t)column : 0);
}
