/* SPDX-License-Identifier: MIT */
/*
 * json.c - stacks as JSON: all of them, each frame with its address.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "report/base/json.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/stacks/stacks.h"

static void state_add(cJSON *object, char state)
{
	const char text[2] = { state, 0 };

	if (state)
		hp_json_text(object, "state", text);
}

static void wait_add(cJSON *object, const struct hp_stack_known_wait *wait)
{
	cJSON *json = cJSON_AddObjectToObject(object, "waits_for");

	hp_json_text(json, "kind", wait->kind);
	hp_json_text(json, "object", wait->object);
	hp_json_whole(json, "since_ns", wait->since_ns);
	if (wait->holder)
		hp_json_whole(json, "holder_tid", wait->holder);
	hp_json_text(json, "holder", wait->holder_at);
	hp_json_text(json, "path", wait->path);
	hp_json_whole(json, "cycle", wait->cycle);
}

static void holds_add(cJSON *object, const struct hp_stack_known_thread *thread)
{
	cJSON *array = cJSON_AddArrayToObject(object, "holds");

	for (size_t i = 0; i < thread->hold_count; i++) {
		const struct hp_stack_known_hold *hold = &thread->holds[i];
		cJSON *json = cJSON_CreateObject();

		hp_json_text(json, "kind", hold->kind);
		hp_json_text(json, "object", hold->object);
		hp_json_text(json, "at", hold->at);
		if (hold->since_ns)
			hp_json_whole(json, "since_ns", hold->since_ns);
		cJSON_AddItemToArray(array, json);
	}
}

static cJSON *thread_json(const struct hp_stacks *stacks, const struct hp_taken *thread)
{
	const struct hp_stack_known_thread *recorded =
		stacks->recorded ? hp_stack_known_thread(stacks->recorded, (uint32_t)thread->tid)
				 : NULL;
	cJSON *json = cJSON_CreateObject();

	hp_json_whole(json, "tid", (uint64_t)thread->tid);
	hp_json_text(json, "name", thread->name);
	state_add(json, thread->state);
	if (thread->outcome == HP_STOP_DONE)
		hp_json_whole(json, "stood_still_ns", thread->still_ns);
	if (hp_stacks_is_waiting(stacks, thread))
		wait_add(json, &recorded->wait);
	if (recorded && recorded->hold_count)
		holds_add(json, recorded);
	return json;
}

static void address_add(cJSON *json, const char *key, uint64_t address)
{
	char *text = hp_xprintf("0x%llx", (unsigned long long)address);

	cJSON_AddStringToObject(json, key, text);
	free(text);
}

static cJSON *line_json(const struct hp_stacks *stacks, const struct hp_stack_group *group,
			const struct hp_stack_line *line)
{
	const struct hp_stack_frame *frame = &hp_stacks_first(stacks, group)->frames[line->frame];
	const struct hp_stack_object *object = hp_stacks_object(stacks, frame);
	cJSON *json = cJSON_CreateObject();

	hp_json_text(json, "function", line->function);
	if (line->file && line->line) {
		hp_json_text(json, "file", line->file);
		hp_json_whole(json, "line", (uint64_t)line->line);
	}
	if (object)
		hp_json_text(json, "module", object->path);
	address_add(json, "address", frame->pc);
	if (object)
		address_add(json, "offset", frame->pc - object->bias);
	if (line->is_inlined)
		cJSON_AddTrueToObject(json, "is_inlined");
	if (frame->is_signal)
		cJSON_AddTrueToObject(json, "is_signal");
	return json;
}

static const char *end_word(enum hp_stack_end end)
{
	static const char *const words[] = { "whole", "cut", "lost", "deep" };

	return words[end];
}

static cJSON *group_json(const struct hp_stacks *stacks, const struct hp_stack_group *group)
{
	cJSON *json = cJSON_CreateObject(), *array;

	hp_json_whole(json, "count", group->count);
	cJSON_AddStringToObject(json, "end", end_word(hp_stacks_first(stacks, group)->end));
	array = cJSON_AddArrayToObject(json, "threads");
	for (size_t i = 0; i < group->count; i++)
		cJSON_AddItemToArray(array,
				     thread_json(stacks, &stacks->take.threads[group->threads[i]]));
	array = cJSON_AddArrayToObject(json, "frames");
	for (size_t i = 0; i < group->line_count; i++)
		cJSON_AddItemToArray(array, line_json(stacks, group, &group->lines[i]));
	return json;
}

/* Threads without a stack. */
static void missing_add(cJSON *root, const struct hp_stacks *stacks)
{
	cJSON *array = cJSON_AddArrayToObject(root, "missing");

	for (size_t i = 0; i < stacks->take.count; i++) {
		const struct hp_taken *thread = &stacks->take.threads[i];
		cJSON *json;

		if (thread->outcome != HP_STOP_BUSY && thread->outcome != HP_STOP_REFUSED)
			continue;
		json = thread_json(stacks, thread);
		cJSON_AddStringToObject(json, "why",
					thread->outcome == HP_STOP_BUSY
						? "it is in the kernel and cannot be stopped"
						: "no permission to inspect it");
		cJSON_AddItemToArray(array, json);
	}
}

void hp_stacks_write_json(struct hp_stacks *stacks, bool is_pretty, FILE *out)
{
	cJSON *root = cJSON_CreateObject(), *array;
	char *text;

	hp_json_whole(root, "pid", (uint64_t)stacks->process.pid);
	hp_json_text(root, "comm", stacks->process.comm);
	cJSON_AddBoolToObject(root, "is_recorded", stacks->recorded != NULL);
	hp_json_whole(root, "thread_count", stacks->taken);
	if (stacks->taken) {
		hp_json_whole(root, "stood_still_median_ns", stacks->still_median_ns);
		hp_json_whole(root, "stood_still_longest_ns", stacks->still_longest_ns);
	}
	array = cJSON_AddArrayToObject(root, "stacks");
	for (size_t i = 0; i < stacks->group_count; i++)
		cJSON_AddItemToArray(array, group_json(stacks, &stacks->groups[i]));
	missing_add(root, stacks);
	text = is_pretty ? cJSON_Print(root) : cJSON_PrintUnformatted(root);
	if (text)
		fprintf(out, "%s\n", text);
	cJSON_free(text);
	cJSON_Delete(root);
}

void hp_stacks_write_json_error(const struct hp_stacks *stacks, pid_t pid, const char *error,
				FILE *out)
{
	cJSON *root = cJSON_CreateObject(), *array;
	const struct hp_stack_known_thread *threads;
	size_t count;
	char *text;

	hp_json_whole(root, "pid", (uint64_t)pid);
	hp_json_text(root, "error", error);
	cJSON_AddBoolToObject(root, "is_recorded", stacks->recorded != NULL);
	array = cJSON_AddArrayToObject(root, "threads");
	if (stacks->recorded) {
		threads = hp_stack_known_threads(stacks->recorded, &count);
		for (size_t i = 0; i < count; i++) {
			const struct hp_taken as_taken = { .tid = (pid_t)threads[i].tid,
							   .outcome = HP_STOP_REFUSED };

			cJSON_AddItemToArray(array, thread_json(stacks, &as_taken));
		}
	}
	text = cJSON_PrintUnformatted(root);
	if (text)
		fprintf(out, "%s\n", text);
	cJSON_free(text);
	cJSON_Delete(root);
}
