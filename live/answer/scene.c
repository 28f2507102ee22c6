/* SPDX-License-Identifier: MIT */
/*
 * scene.c - see scene.h.
 */
#include "live/answer/scene.h"

#include <stdlib.h>
#include <string.h>

#include "report/name/resolver.h"
#include "segment/clock.h"
#include "segment/defaults.h"
#include "report/section/sections.h"

/* Lists over HTTP are long: the client decides what to show. */
static void limits_settle(struct hp_settings *settings)
{
	settings->limit = settings->entries_limit;
	settings->functions_limit = settings->threads_limit = HP_LIMIT_UNSET;
	settings->alloc_limit = HP_LIMIT_UNSET;
}

void hp_scene_init(struct hp_scene *scene, const struct hp_target *target,
		   const struct hp_settings *settings, const struct hp_routes *routes)
{
	memset(scene, 0, sizeof(*scene));
	scene->routes = routes;
	scene->target = *target;
	if (target->input.record.facts == &target->input.facts)	/* the caller may free its copy */
		scene->target.input.record.facts = &scene->target.input.facts;
	scene->settings = *settings;
	if (hp_target_is_live(target))
		scene->target.input.record.resolver = hp_resolver_new();
}

uint64_t hp_scene_missing(const struct hp_scene *scene)
{
	return hp_resolver_missing(scene->target.input.record.resolver);
}

/* Between two refreshes. */
static void report_end(struct hp_scene *scene)
{
	if (scene->has_report)
		hp_report_release(&scene->report);
	free(scene->function_ids);
	scene->function_ids = NULL;
	scene->has_report = false;
}

void hp_scene_drop(struct hp_scene *scene)
{
	report_end(scene);
	hp_carry_release(&scene->carry);
}

bool hp_scene_look(struct hp_scene *scene)
{
	uint64_t began = hp_clock_raw_ns(), missing = hp_scene_missing(scene), cost;
	struct hp_segment segment;
	bool is_first = !scene->cost_ns;

	if (!hp_target_look(&scene->target, &segment))
		return false;
	report_end(scene);
	if (is_first) {
		hp_defaults_read(&segment, scene->defaults);
		hp_settings_default(&scene->settings, HP_SETTING_OF_RECORD, scene->defaults,
				    scene->default_values, NULL, NULL);
		limits_settle(&scene->settings);
	}
	if (hp_target_is_live(&scene->target))
		scene->target.input.record.carry = &scene->carry;
	hp_report_init_record(&scene->report, &segment, &scene->target.input.record,
			      &scene->settings, NULL, NULL);
	scene->missing = hp_scene_missing(scene) - missing;
	scene->missing_before = missing;
	scene->report.is_brief = true;
	scene->function_ids = hp_ids_of_functions(&scene->ids, &scene->report.model);
	scene->report.function_ids = scene->function_ids;
	scene->has_report = true;
	scene->taken_ns = began;
	cost = hp_clock_raw_ns() - began;
	scene->cost_ns = is_first ? cost : (3 * scene->cost_ns + cost) / 4;
	return true;
}

void hp_scene_release(struct hp_scene *scene)
{
	hp_scene_drop(scene);
	hp_cpu_snapshot_release(&scene->cpu_snapshot);
	hp_ids_release(&scene->ids);
	hp_resolver_free(scene->target.input.record.resolver);
	scene->target.input.record.resolver = NULL;
	hp_target_release(&scene->target);
}
