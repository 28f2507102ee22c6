/* SPDX-License-Identifier: MIT */
/*
 * levels.c - see levels.h.
 *
 * Owners are numbers: a name may belong to another user on the machine that
 * reads a kept run, or in the program's container.
 */
#include "report/view/levels.h"

#include <cjson/cJSON.h>

#include "report/base/format.h"
#include "report/base/json.h"

static void owner_write(const struct hp_model_level *level, FILE *out)
{
	if (level->has_owner)
		fprintf(out, "user %u, group %u: ", level->user, level->group);
	else
		fputs("user unknown: ", out);
}

static void level_write(const struct hp_model_level *level, FILE *out)
{
	struct hp_text_cell cell;

	owner_write(level, out);
	fprintf(out, "%s %s", hp_format_count(&cell, level->runs),
		level->runs == 1 ? "run" : "runs");
	fprintf(out, ", %s, %s%s\n", hp_format_bytes(&cell, level->bytes),
		level->is_complete ? "complete" : "incomplete",
		level->is_tainted ? ", not trusted" : "");
}

void hp_levels_write(const struct hp_model_levels *levels, FILE *out)
{
	struct hp_text_cell cell;

	if (!hp_levels_are_special(levels))
		return;
	for (uint32_t i = 0; i < levels->count; i++) {
		fputs(i ? "          " : "segments  ", out);
		level_write(&levels->at[i], out);
	}
	if (levels->refused)
		fprintf(out,
			"note      %s requests for a segment were refused: a session has at most %u\n",
			hp_format_count(&cell, levels->refused), 1 + HP_LEVELS_MAX);
}

static cJSON *level_json(const struct hp_model_level *level)
{
	cJSON *one = cJSON_CreateObject(), *pids;

	if (level->has_owner) {
		hp_json_whole(one, "uid", level->user);
		hp_json_whole(one, "gid", level->group);
	}
	hp_json_whole(one, "runs", level->runs);
	pids = cJSON_AddArrayToObject(one, "pids");
	for (uint32_t i = 0; i < level->pid_count; i++)
		cJSON_AddItemToArray(pids, hp_json_number(level->pids[i]));
	hp_json_whole(one, "bytes", level->bytes);
	cJSON_AddBoolToObject(one, "complete", level->is_complete);
	cJSON_AddBoolToObject(one, "tainted", level->is_tainted);
	return one;
}

void hp_levels_json(const struct hp_model_levels *levels, cJSON *meta)
{
	cJSON *all = cJSON_AddArrayToObject(meta, "segments");

	for (uint32_t i = 0; i < levels->count; i++)
		cJSON_AddItemToArray(all, level_json(&levels->at[i]));
	if (levels->refused)
		hp_json_whole(meta, "segments_refused", levels->refused);
}
