/* SPDX-License-Identifier: MIT */
/*
 * report.c - joins model, symbols and settings.
 */
#include "report/section/core/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/name/files.h"
#include "report/name/name.h"
#include "report/name/resolver.h"

static_assert(HP_NONE == UINT32_MAX, "places are uint32_t");

struct speaker {
	hp_complain complain;
	void *context;
};

static void say(const struct speaker *speaker, char *line)
{
	if (speaker->complain)
		speaker->complain(speaker->context, line);
	free(line);
}

/* --- focus --- */

void hp_focus_init(struct hp_focus *focus, const char *spec, hp_complain complain, void *context)
{
	const struct speaker speaker = { complain, context };
	size_t length = spec ? strlen(spec) : 0;
	char *pattern;
	char why[128];
	int error;

	*focus = (struct hp_focus){ .part = NULL };
	if (!length)
		return;
	if (length < 2 || spec[0] != '/' || spec[length - 1] != '/') {
		focus->part = spec;
		return;
	}
	pattern = hp_xprintf("%.*s", (int)length - 2, spec + 1);
	error = regcomp(&focus->regex, pattern, REG_EXTENDED | REG_NOSUB);
	free(pattern);
	if (error) {
		regerror(error, &focus->regex, why, sizeof(why));
		say(&speaker, hp_xprintf("HOTPATH_FOCUS: '%s' is not a POSIX extended regular "
					 "expression (%s); all functions are shown",
					 spec, why));
		return;
	}
	focus->is_regex = true;
}

void hp_focus_release(struct hp_focus *focus)
{
	if (focus->is_regex)
		regfree(&focus->regex);
	*focus = (struct hp_focus){ .part = NULL };
}

bool hp_focus_allows(const struct hp_focus *focus, const char *name)
{
	if (focus->part)
		return strstr(name, focus->part) != NULL;
	return !focus->is_regex || regexec(&focus->regex, name, 0, NULL, 0) == 0;
}

bool hp_report_allows(struct hp_report *report, const struct hp_model_function *function)
{
	const struct hp_focus *focus = &report->focus;

	return function == report->wrapper || (!focus->part && !focus->is_regex) ||
	       hp_focus_allows(focus, hp_report_name(report, function));
}

/* --- the wrapper --- */

static struct hp_model_function *find_main(struct hp_report *report)
{
	struct hp_model *model = &report->model;
	uint32_t object = model->root == HP_NONE ? HP_NONE : model->processes[model->root].object;

	for (size_t i = 0; i < model->function_count && object != HP_NONE; i++) {
		struct hp_model_function *function = &model->functions[i];

		if (function->object == object && function->calls &&
		    hp_symbols_is(report->symbols, object, function->address, "main"))
			return function;
	}
	return NULL;
}

/* A main that never returned, and whose entry is not known, ran as long as its process. */
static void finish_main(struct hp_report *report, struct hp_model_function *function)
{
	double life_ns = (double)report->model.elapsed_ns;

	if (!function->running)
		return;
	report->has_main_running = true;
	if (function->total_ns <= 0)
		function->total_ns = function->total_low_ns = function->total_high_ns = life_ns;
}

static struct hp_model_function life_of(const struct hp_model *model)
{
	double ns = (double)model->elapsed_ns;

	return (struct hp_model_function){
		.object = HP_NONE,
		.calls = 1,
		.measured = 1,
		.total_ns = ns,
		.total_low_ns = ns,
		.total_high_ns = ns,
	};
}

static void wrapper_init(struct hp_report *report)
{
	struct hp_model *model = &report->model;
	struct hp_model_function *function = report->has_functions ? find_main(report) : NULL;
	char *whole = hp_xprintf("%s::main", hp_model_root_name(model));

	report->caller = hp_text_clean(whole);
	free(whole);
	report->life = life_of(model);
	if (function)
		finish_main(report, function);
	if (report->has_functions)
		report->wrapper = function ? function : &report->life;
}

double hp_report_average(const struct hp_report *report, const struct hp_model_function *function)
{
	bool is_life = function == &report->life ||
		       (report->has_main_running && function == report->wrapper);

	return is_life ? function->total_ns / (double)function->calls
		       : hp_model_average(&report->model, function);
}

const char *hp_report_name(struct hp_report *report, const struct hp_model_function *function)
{
	if (function == report->wrapper || function == &report->life)
		return report->caller;
	return hp_symbols_name(report->symbols, (uint32_t)(function - report->model.functions));
}

bool hp_report_is_label(const struct hp_report *report, const struct hp_model_function *function)
{
	return function->label && function != report->wrapper;
}

bool hp_report_source(struct hp_report *report, const struct hp_model_function *function,
		      struct hp_source *source)
{
	return function != &report->life &&
	       hp_symbols_source(report->symbols, (uint32_t)(function - report->model.functions),
				 source);
}

char *hp_report_short_name(struct hp_report *report, const struct hp_model_function *function)
{
	const char *name = hp_report_name(report, function);

	return hp_report_is_label(report, function)
		       ? hp_xstrdup(name)
		       : hp_name_short(name, (size_t)report->settings->name_depth);
}

static double whole_of(const struct hp_report *report)
{
	const struct hp_model *model = &report->model;
	bool is_exclusive = report->settings->is_exclusive;
	double whole = 0;

	if (!report->settings->exclude_wrapper || !report->wrapper)
		return report->wrapper ? report->wrapper->total_ns : (double)model->elapsed_ns;
	for (size_t i = 0; i < model->function_count; i++)
		if (&model->functions[i] != report->wrapper)
			whole += is_exclusive ? model->functions[i].self_ns
					      : model->functions[i].total_ns;
	return whole;
}

static struct hp_name_source *names_of(const struct hp_model *model, const struct hp_record *record)
{
	if (record->legend)
		return hp_legend_source(record->legend, model);
	return record->resolver ? hp_resolver_source(record->resolver, model) : hp_files_new(model);
}

void hp_report_begin(struct hp_report *report, struct hp_segment *segment,
		     const struct hp_record *record, const struct hp_settings *settings)
{
	memset(report, 0, sizeof(*report));
	report->settings = settings;
	report->record = *record;
	report->label = settings->label || !record->facts ? settings->label
							  : hp_facts_get(record->facts, "label");
	if (record->carry)
		report->model = record->carry->model;
	hp_model_look(&report->model, segment);
	hp_model_sampling_mark(&report->model.sampling, report->model.objects);
	if (!settings->internals)
		hp_model_sampling_hide(&report->model.sampling, report->model.objects);
	/* It had to start from scratch: places have changed. */
	if (record->carry && report->model.look == 1)
		hp_views_release(&record->carry->views);
	if (record->legend)
		hp_legend_bind(record->legend, &report->model);
	report->symbols = hp_symbols_new(&report->model, names_of(&report->model, record));
	for (size_t i = 0; i < report->model.function_count; i++)
		report->has_functions |= report->model.functions[i].calls != 0;
}

void hp_report_settle(struct hp_report *report, hp_complain complain, void *context)
{
	hp_focus_init(&report->focus, report->settings->focus, complain, context);
	wrapper_init(report);
	report->whole_ns = whole_of(report);
}

void hp_report_answer(struct hp_report *report, const struct hp_section *answer)
{
	memset(report->is_shown, 0, sizeof(report->is_shown));
	report->answer = answer;
}

/* --- from refresh to refresh --- */

void *hp_report_carried(struct hp_report *report, const struct hp_view_kind *kind)
{
	struct hp_carry *carry = report->record.carry;

	return carry ? hp_views_take(&carry->views, kind) : NULL;
}

void hp_carry_release(struct hp_carry *carry)
{
	hp_views_release(&carry->views);
	hp_model_release(&carry->model);
}

/* Data not requested at this refresh is still in `carry`. */
void hp_report_release(struct hp_report *report)
{
	struct hp_carry *carry = report->record.carry;

	hp_focus_release(&report->focus);
	if (carry)
		hp_views_keep(&report->views, &carry->views);
	hp_views_release(&report->views);
	hp_symbols_free(report->symbols);
	if (carry) {
		hp_model_pause(&report->model);
		carry->model = report->model;
	} else {
		hp_model_release(&report->model);
	}
	free(report->caller);
	free(report->profile_path);
	free(report->text);
}
