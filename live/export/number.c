/* SPDX-License-Identifier: MIT */
/*
 * number.c - see number.h.
 */
#include "live/export/number.h"

#include <stdlib.h>

/* Possibly large numbers are written as raw text. */
bool hp_number_of(const cJSON *row, const char *key, double *number)
{
	const cJSON *value = row ? cJSON_GetObjectItemCaseSensitive(row, key) : NULL;
	char *end;

	if (cJSON_IsNumber(value)) {
		*number = value->valuedouble;
		return true;
	}
	if (!cJSON_IsRaw(value) || !value->valuestring)
		return false;
	*number = strtod(value->valuestring, &end);
	return end > value->valuestring && !*end;
}
