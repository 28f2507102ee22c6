/* SPDX-License-Identifier: MIT */
/*
 * report_snapshot.c - see report_snapshot.h.
 */
#include "live/answer/report_snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "report/name/resolver.h"
#include "segment/clock.h"
#include "segment/defaults.h"
#include "report/section/sections.h"

/* Lists over HTTP are long: the client selects the rows to show. */
static void limits_settle(struct hp_settings *settings)
{
	settings->limit = settings->entries_limit;
	settings->functions_limit = settings->threads_limit = HP_LIMIT_UNSET;
	settings->alloc_limit = HP_LIMIT_UNSET;
}

void hp_snapshot_init(struct hp_snapshot *snapshot, const struct hp_target *target,
		      const struct hp_settings *settings, const struct hp_routes *routes)
{
	memset(snapshot, 0, sizeof(*snapshot));
	snapshot->routes = routes;
	snapshot->target = *target;
	if (target->input.record.facts == &target->input.facts)	/* the caller may free its copy */
		snapshot->target.input.record.facts = &snapshot->target.input.facts;
	snapshot->settings = *settings;
	if (hp_target_is_live(target))
		snapshot->target.input.record.resolver = hp_resolver_new();
}

uint64_t hp_snapshot_missing(const struct hp_snapshot *snapshot)
{
	return hp_resolver_missing(snapshot->target.input.record.resolver);
}

/* Between two refreshes. */
static void report_end(struct hp_snapshot *snapshot)
{
	if (snapshot->has_report)
		hp_report_release(&snapshot->report);
	free(snapshot->function_ids);
	snapshot->function_ids = NULL;
	snapshot->has_report = false;
}

void hp_snapshot_drop(struct hp_snapshot *snapshot)
{
	report_end(snapshot);
	hp_carry_release(&snapshot->carry);
}

bool hp_snapshot_renew(struct hp_snapshot *snapshot)
{
	hp_snapshot_drop(snapshot);
	return hp_snapshot_refresh(snapshot);
}

bool hp_snapshot_refresh(struct hp_snapshot *snapshot)
{
	uint64_t began = hp_clock_raw_ns(), missing = hp_snapshot_missing(snapshot), cost;
	struct hp_segment segment;
	bool is_first = !snapshot->cost_ns;

	if (!hp_target_look(&snapshot->target, &segment))
		return false;
	report_end(snapshot);
	if (is_first) {
		hp_defaults_read(&segment, snapshot->defaults);
		hp_settings_default(&snapshot->settings, HP_SETTING_OF_RECORD, snapshot->defaults,
				    snapshot->default_values, NULL, NULL);
		limits_settle(&snapshot->settings);
	}
	if (hp_target_is_live(&snapshot->target))
		snapshot->target.input.record.carry = &snapshot->carry;
	hp_report_init_record(&snapshot->report, &segment, &snapshot->target.input.record,
			      &snapshot->settings, NULL, NULL);
	snapshot->missing = hp_snapshot_missing(snapshot) - missing;
	snapshot->missing_before = missing;
	snapshot->report.is_brief = true;
	snapshot->function_ids = hp_ids_of_functions(&snapshot->ids, &snapshot->report.model);
	snapshot->report.function_ids = snapshot->function_ids;
	snapshot->has_report = true;
	snapshot->taken_ns = began;
	cost = hp_clock_raw_ns() - began;
	snapshot->cost_ns = is_first ? cost : (3 * snapshot->cost_ns + cost) / 4;
	return true;
}

void hp_snapshot_release(struct hp_snapshot *snapshot)
{
	hp_snapshot_drop(snapshot);
	hp_cpu_snapshot_release(&snapshot->cpu_snapshot);
	hp_answer_drop(snapshot->runtime);
	hp_ids_release(&snapshot->ids);
	hp_resolver_free(snapshot->target.input.record.resolver);
	snapshot->target.input.record.resolver = NULL;
	hp_target_release(&snapshot->target);
}
