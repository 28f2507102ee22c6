/* SPDX-License-Identifier: MIT */
/*
 * popup.c - see popup.h.
 */
#include "live/console/state/popup.h"

#include <cjson/cJSON.h>

#include "live/console/state/cell.h"
#include "live/console/state/help.h"

size_t hp_popup_lines(const struct hp_app *app)
{
	const struct hp_table *table = app->focus == HP_FOCUS_LOGS && app->has_logs
					       ? &app->logs
					       : &app->views[app->tab][app->sub[app->tab]].table;
	size_t count = 1;
	char **lines;

	switch (app->popup) {
	case HP_POPUP_HELP:
		return hp_key_help_count;
	case HP_POPUP_INSPECT:
		lines = hp_inspect_lines(app, &count);
		hp_lines_free(lines, count);
		return count;
	case HP_POPUP_STACKS:
		lines = hp_stacks_lines(app, &count);
		hp_lines_free(lines, count);
		return count;
	case HP_POPUP_SORT:
		for (size_t i = 0; i < table->column_count; i++)
			count += table->columns[i].is_there;
		return count;
	case HP_POPUP_PROGRAMS:
		return app->programs
			       ? (size_t)cJSON_GetArraySize(hp_json_at(app->programs->json, "data"))
			       : 0;
	default:
		return 0;
	}
}
