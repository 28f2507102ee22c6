/* SPDX-License-Identifier: MIT */
/*
 * route_fuzz.c - requests over HTTP: a path, perhaps with a query, answered from
 * a real run.
 */
#include <stdlib.h>

#include "live/answer/report_snapshot.h"
#include "live/routes/routes.h"
#include "test/fuzz/base.h"
#include "test/fuzz/fuzz.h"

static struct hp_snapshot *scene(void)
{
	static struct hp_snapshot one;
	static bool is_there;
	struct hp_target target;
	struct hp_settings settings;

	if (is_there)
		return &one;
	hp_settings_read(&settings, (char *[]){ NULL }, NULL, NULL);
	fuzz_base();
	if (!hp_target_init(&target, getenv("FUZZ_BASE"), hp_input_say, NULL))
		exit(1);
	hp_snapshot_init(&one, &target, &settings, hp_routes());
	is_there = hp_snapshot_refresh(&one);
	return &one;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *path = fuzz_text(data, size), *query = strchr(path, '?'), room[64];
	struct hp_question question = { "GET", path, NULL };
	struct hp_request request = { .id = 0 };
	struct hp_answer *answer;
	const char *allowed;

	if (query)
		*query++ = 0;
	question.query = query;
	answer = hp_route_find(hp_routes(), &question, &request, &allowed);
	if (!answer) {
		hp_request_get(&request, "seconds", room, sizeof(room));
		hp_request_number(&request, "limit", 5, 100);
		answer = request.route->render ? request.route->render(scene(), &request) : NULL;
	}
	hp_answer_drop(answer);
	free(path);
	return 0;
}
