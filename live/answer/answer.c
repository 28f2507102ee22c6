/* SPDX-License-Identifier: MIT */
/*
 * answer.c - see answer.h.
 */
#include "live/answer/answer.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "live/answer/json_room.h"
#include "report/base/memory.h"

struct hp_answer *hp_answer_new(int status, const char *type, char *body, size_t size)
{
	struct hp_answer *answer = hp_xcalloc(1, sizeof(*answer));

	*answer = (struct hp_answer){
		.users = 1, .status = status, .type = type, .body = body, .size = size
	};
	return answer;
}

struct hp_answer *hp_answer_json(int status, cJSON *json)
{
	size_t size;
	char *text = hp_json_room_print(json, &size);

	if (!text) {
		text = hp_xstrdup("{}");
		size = 2;
	}
	return hp_answer_new(status, HP_TYPE_JSON, text, size);
}

struct hp_answer *hp_answer_error(int status, const char *hint, const char *format, ...)
{
	cJSON *json = cJSON_CreateObject();
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	cJSON_AddStringToObject(json, "error", text);
	if (hint)
		cJSON_AddStringToObject(json, "hint", hint);
	return hp_answer_json(status, json);
}

struct hp_answer *hp_answer_hold(struct hp_answer *answer)
{
	/* Relaxed: the caller already holds a reference. */
	atomic_fetch_add_explicit(&answer->users, 1, memory_order_relaxed);
	return answer;
}

void hp_answer_drop(struct hp_answer *answer)
{
	/* Release, then acquire: all other users' reads happen before the free. */
	if (!answer || atomic_fetch_sub_explicit(&answer->users, 1, memory_order_acq_rel) != 1)
		return;
	free(answer->body);
	free(answer);
}
