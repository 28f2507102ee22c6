/* SPDX-License-Identifier: MIT */
/*
 * name.c - names of the rows about allocations.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/section/memory/view.h"
#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/section/core/report.h"
#include "report/name/wrapper.h"

#define ARROW "\342\206\220"
#define NAME_CALLERS 8	/* shown after the function's name */

/* The frame that represents a place: the innermost one that is not a wrapper. */
static const struct hp_frame_line *told_frame(struct hp_alloc_view *view,
					      const struct hp_frame_place *place)
{
	for (size_t i = 0; i < place->count; i++)
		if (!hp_frames_is_wrapper(view->frames, place->frames[i].name) &&
		    !hp_wrapper_is_library(place->frames[i].name))
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
	char *bare = hp_name_bare(whole);

	free(whole);
	return bare;
}

/* The caller of main is the same in all programs. */
static bool is_main(const char *name)
{
	return strncmp(name, "main", 4) == 0 && (!name[4] || name[4] == ':');
}

/* The text after the function: file:line, or in code without names the place in the file. */
static char *place_text(const char *name, const struct hp_alloc_step *step,
			const struct hp_frame_line *frame, enum hp_alloc_detail detail)
{
	if (frame->file && frame->line && detail == HP_ALLOC_ADDRESSES)
		return hp_xprintf("%s %s:%d +0x%" PRIx64, name, hp_name_file(frame->file),
				  frame->line, step->address - 1);
	if (frame->file && frame->line)
		return hp_xprintf("%s %s:%d", name, hp_name_file(frame->file), frame->line);
	if (name[0] == '[')
		return hp_xprintf("%s +0x%" PRIx64, name, step->address - 1);
	return hp_xstrdup(name);
}

/*
 * Several calls in one line may allocate: the C++ library function that did, " (string::resize)",
 * fresh; NULL = none. `frame` is the shown one, of the step `told`; the site is the step `from`.
 */
static char *library_text(struct hp_report *report, uint32_t from, uint32_t told,
			  const struct hp_frame_place *place, size_t frame)
{
	struct hp_alloc_view *view = hp_alloc_view(report);
	const struct hp_alloc_step *steps = view->alloc.steps;
	const char *name = NULL;
	char *whole, *plain, *text;

	if (frame) {
		name = place->frames[frame - 1].name;
	} else if (from != told) {
		while (steps[from].caller != told)
			from = steps[from].caller;
		place = hp_frames_lines(view->frames, steps[from].object, steps[from].address);
		name = place->frames[place->count - 1].name;
	}
	if (!name || !hp_wrapper_is_library(name))
		return NULL;
	whole = hp_name_short(name, 2);
	plain = hp_name_plain(whole);
	text = hp_xprintf(" (%s)", plain);
	free(whole);
	free(plain);
	return text;
}

/* Moves outward along a path, one function at a time: inlined ones, then callers. */
struct walk {
	struct hp_report *report;
	uint32_t step;	/* 0 = after the outermost one */
	size_t frame;	/* of its place */
	bool has_lines;	/* names include the lines of their calls, as shelve:60 */
};

static char *caller_name(const struct walk *walk, const struct hp_frame_line *frame)
{
	char *name = short_name(walk->report, frame->name), *lined;

	if (!walk->has_lines || !frame->line)
		return name;
	lined = hp_xprintf("%s:%d", name, frame->line);
	free(name);
	return lined;
}

/* A fresh name of the next function; NULL = none exists. */
static char *walk_on(struct walk *walk)
{
	struct hp_alloc_view *view = hp_alloc_view(walk->report);
	const struct hp_alloc_step *step = &view->alloc.steps[walk->step];

	if (!step->mark &&
	    walk->frame + 1 < hp_frames_lines(view->frames, step->object, step->address)->count) {
		walk->frame++;
	} else {
		walk->step = step->caller;
		walk->frame = 0;
		step = &view->alloc.steps[walk->step];
	}
	if (walk->step == 0)
		return NULL;
	if (step->mark)
		return hp_xstrdup(hp_alloc_mark_name(step->mark));
	return caller_name(
		walk,
		&hp_frames_lines(view->frames, step->object, step->address)->frames[walk->frame]);
}

/*
 * `whole` with one function more; frees both.  A file without names is reported once,
 * with a count.
 */
static char *caller_add(char *whole, char *name, unsigned alike)
{
	char *longer = alike > 1 ? hp_xprintf("%s " ARROW " %s\303\227%u", whole, name, alike)
				 : hp_xprintf("%s " ARROW " %s", whole, name);

	free(whole);
	free(name);
	return longer;
}

static char *callers_add(char *whole, struct walk walk)
{
	char *name = walk_on(&walk), *next;
	bool is_last = !name;

	for (int callers = 0; !is_last && callers < NAME_CALLERS; callers++) {
		unsigned alike = 1;

		is_last = is_main(name);
		next = is_last ? NULL : walk_on(&walk);
		for (; next && name[0] == '[' && strcmp(name, next) == 0; alike++) {
			free(next);
			next = walk_on(&walk);
		}
		whole = caller_add(whole, name, alike);
		name = next;
		is_last |= !name;
	}
	free(name);
	return whole;
}

/* function file:line, and its callers behind arrows. */
static char *site_name(struct hp_report *report, const struct hp_alloc_row *row,
		       enum hp_alloc_detail detail)
{
	struct hp_alloc_view *view = hp_alloc_view(report);
	uint32_t from = hp_alloc_told(view, row->step);
	const struct hp_alloc_step *step = &view->alloc.steps[from];
	const struct hp_frame_place *place;
	const struct hp_frame_line *frame;
	char *name, *whole, *library;
	size_t told;
	bool is_whole;

	if (step->mark || row->step == 0)
		return hp_xstrdup(hp_alloc_mark_name(step->mark));
	place = hp_frames_lines(view->frames, step->object, step->address);
	frame = told_frame(view, place);
	told = (size_t)(frame - place->frames);
	is_whole = is_main(frame->name);
	name = short_name(report, frame->name);
	whole = place_text(name, step, frame, detail);
	free(name);
	library = library_text(report, row->step, from, place, told);
	if (library) {
		name = hp_xprintf("%s%s", whole, library);
		free(whole);
		free(library);
		whole = name;
	}
	return is_whole ? whole
			: callers_add(whole, (struct walk){ report, from, told,
							    detail != HP_ALLOC_PLAIN });
}

char *hp_alloc_row_lined_name(struct hp_report *report, const void *row,
			      enum hp_alloc_detail detail)
{
	const struct hp_alloc_row *site = row;
	char *name, *clean;

	if (site->charge || site->is_function)
		return NULL;
	name = site_name(report, site, detail);
	clean = hp_text_clean(name);
	free(name);
	return clean;
}

const char *hp_alloc_row_name(struct hp_report *report, struct hp_alloc_row *row)
{
	struct hp_alloc_view *view = hp_alloc_view(report);
	uint64_t pending = hp_frames_pending(view->frames);
	char *name;

	if (row->charge)
		return hp_report_name(report, &report->model.functions[row->function]);
	if (row->name)
		return row->name;
	name = row->is_function ? hp_xstrdup(hp_frames_function(view->frames, row->function))
				: site_name(report, row, HP_ALLOC_PLAIN);
	row->name = hp_text_clean(name);
	hp_alloc_name_note(view, row, pending);
	free(name);
	return row->name;
}
