/* SPDX-License-Identifier: MIT */
/*
 * alloc_name.c - what the rows about allocations are called.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/alloc_view.h"
#include "report/format.h"
#include "report/memory.h"
#include "report/name.h"
#include "report/report.h"

#define ARROW "\342\206\220"
#define NAME_CALLERS 8 /* told behind the function's name */

/* The frame of a place that is told: the innermost one that is no wrapper. */
static const struct hp_frame_line *told_frame(struct hp_alloc_view *view,
					      const struct hp_frame_place *place)
{
	for (size_t i = 0; i < place->count; i++)
		if (!hp_frames_is_wrapper(view->frames, place->frames[i].name))
			return &place->frames[i];
	return &place->frames[place->count - 1];
}

const char *hp_alloc_mark_name(uint32_t mark)
{
	switch (mark) {
	case HP_STEP_CUT:
		return "(deeper callers)";
	case HP_STEP_LOST:
		return "(unknown caller)";
	default:
		return "<other>";
	}
}

static char *short_name(const struct hp_report *report, const char *name)
{
	char *whole = hp_name_short(name, (size_t)report->settings->name_depth);

	whole[strcspn(whole, "(") ? strcspn(whole, "(") : strlen(whole)] = 0;
	return whole;
}

/* What calls main is the same in all programs. */
static bool is_main(const char *name)
{
	return strcmp(name, "main") == 0;
}

/* What stands behind the function: file:line, or in code without names the place in the file. */
static char *place_text(const char *name, const struct hp_alloc_step *step,
			const struct hp_frame_line *frame)
{
	if (frame->file && frame->line)
		return hp_xprintf("%s %s:%d", name, hp_name_file(frame->file), frame->line);
	if (name[0] == '[')
		return hp_xprintf("%s +0x%" PRIx64, name, step->address - 1);
	return hp_xstrdup(name);
}

static char *caller_name(struct hp_report *report, uint32_t step)
{
	const struct hp_alloc_step *s = &hp_alloc_view(report)->alloc.steps[step];

	return s->mark ? hp_xstrdup(hp_alloc_mark_name(s->mark))
		       : short_name(report, hp_alloc_place(hp_alloc_view(report), step)->name);
}

/*
 * The callers from *step out that have the same file for a name, since nothing
 * is told by naming it again: goes to the last of them, returns how many.
 */
static unsigned callers_alike(struct hp_report *report, uint32_t *step, const char *name)
{
	const struct hp_alloc_step *steps = hp_alloc_view(report)->alloc.steps;
	unsigned count = 1;

	while (name[0] == '[' && steps[*step].caller) {
		char *next = caller_name(report, steps[*step].caller);
		bool is_alike = strcmp(next, name) == 0;

		free(next);
		if (!is_alike)
			break;
		*step = steps[*step].caller;
		count++;
	}
	return count;
}

/* function file:line, and its callers behind arrows. */
static char *site_name(struct hp_report *report, const struct hp_alloc_row *row)
{
	struct hp_alloc_view *view = hp_alloc_view(report);
	const struct hp_alloc_step *step = &view->alloc.steps[row->step];
	const struct hp_frame_line *frame;
	char *name, *whole, *longer;
	uint32_t at = step->caller;

	if (step->mark || row->step == 0)
		return hp_xstrdup(hp_alloc_mark_name(step->mark));
	frame = told_frame(view, hp_frames_lines(view->frames, step->object, step->address));
	name = short_name(report, frame->name);
	whole = place_text(name, step, frame);
	free(name);
	if (is_main(frame->name))
		return whole;
	for (int callers = 0; at && callers < NAME_CALLERS; callers++) {
		name = caller_name(report, at);
		unsigned alike = callers_alike(report, &at, name);
		longer = alike > 1 ? hp_xprintf("%s " ARROW " %s\303\227%u", whole, name, alike)
				   : hp_xprintf("%s " ARROW " %s", whole, name);
		callers = is_main(name) ? NAME_CALLERS : callers;
		free(name);
		free(whole);
		whole = longer;
		at = view->alloc.steps[at].caller;
	}
	return whole;
}

const char *hp_alloc_row_name(struct hp_report *report, struct hp_alloc_row *row)
{
	char *name;

	if (row->charge)
		return hp_report_name(report, &report->model.functions[row->function]);
	if (row->name)
		return row->name;
	name = row->is_function ? hp_xstrdup(hp_frames_function(hp_alloc_view(report)->frames,
								row->function))
				: site_name(report, row);
	row->name = hp_text_clean(name);
	free(name);
	return row->name;
}
