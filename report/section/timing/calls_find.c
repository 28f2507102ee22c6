/* SPDX-License-Identifier: MIT */
/*
 * calls_find.c - finds the function for a name.
 */
#include <stdlib.h>
#include <string.h>

#include "report/section/timing/calls_part.h"
#include "report/base/memory.h"
#include "report/name/name.h"

#define TOLD_MAX 3	/* other functions that match */

static bool is_called(const char *whole, const char *name, size_t depth)
{
	char *last = hp_name_short(whole, depth);
	bool is_it = strcmp(last, name) == 0;

	last[strcspn(last, "(")] = 0;
	is_it |= *last && strcmp(last, name) == 0;
	free(last);
	return is_it;
}

/* The displayed name, the full one, or the last part; parameters may be missing. */
static bool is_named(struct hp_report *report, const struct hp_model_function *f, const char *name)
{
	const char *whole = hp_report_name(report, f);

	if (hp_report_is_label(report, f))
		return strcmp(whole, name) == 0;
	return is_called(whole, name, 0) || is_called(whole, name, 1) ||
	       is_called(whole, name, (size_t)report->settings->name_depth);
}

enum fit { FIT_NOT = 0, FIT_PART, FIT_NAME };

static enum fit fit_of(struct hp_report *report, const struct hp_focus *focus,
		       const struct hp_model_function *f, const char *name)
{
	if (!f->calls)
		return FIT_NOT;
	if (is_named(report, f, name))
		return FIT_NAME;
	return hp_focus_allows(focus, hp_report_name(report, f)) ? FIT_PART : FIT_NOT;
}

/* Other possible matches. */
static void tell_others(struct hp_report *report, const uint32_t *others, size_t count,
			hp_complain complain, void *context)
{
	char *line = hp_xprintf("%zu other function%s fit%s:", count, count > 1 ? "s" : "",
				count > 1 ? "" : "s");

	for (size_t i = 0; i < count && i < TOLD_MAX; i++) {
		const struct hp_model_function *f = &report->model.functions[others[i]];
		char *longer =
			hp_xprintf("%s%s '%s'", line, i ? "," : "", hp_report_name(report, f));

		free(line);
		line = longer;
	}
	if (complain)
		complain(context, line);
	free(line);
}

uint32_t hp_calls_find(struct hp_report *report, const char *name, hp_complain complain,
		       void *context)
{
	const struct hp_model *model = &report->model;
	uint32_t *fitting = hp_xcalloc(model->function_count, sizeof(*fitting));
	enum fit best = FIT_NOT;
	struct hp_focus focus;
	size_t count = 0;

	hp_focus_init(&focus, name, complain, context);
	for (uint32_t i = 0; i < model->function_count; i++) {
		enum fit fit = fit_of(report, &focus, &model->functions[i], name);

		if (fit == FIT_NOT || fit < best)
			continue;
		if (fit > best)
			count = 0;
		best = fit;
		fitting[count++] = i;
		/* The heaviest stays first. */
		if (model->functions[i].total_ns > model->functions[fitting[0]].total_ns) {
			fitting[count - 1] = fitting[0];
			fitting[0] = i;
		}
	}
	hp_focus_release(&focus);
	uint32_t found = count ? fitting[0] : HP_NONE;
	if (count > 1)
		tell_others(report, fitting + 1, count - 1, complain, context);
	free(fitting);
	return found;
}
