/* SPDX-License-Identifier: MIT */
/*
 * report.h - a model with names and settings: the sections' input.
 *
 * Determines facts that the model cannot know: which function is the program's
 * main (the wrapper), which functions pass the focus, which sections are
 * shown.
 */
#ifndef HP_REPORT_SECTION_CORE_REPORT_H
#define HP_REPORT_SECTION_CORE_REPORT_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/section/core/facts.h"
#include "report/section/core/views.h"
#include "report/name/legend.h"
#include "report/read/model.h"
#include "report/name/symbol.h"
#include "segment/setting.h"

#define HP_SECTIONS_MAX 48

struct hp_focus {
	const char *part;	/* NULL = all pass, or `is_regex` */
	bool is_regex;
	regex_t regex;
};

/*
 * State that a report passes to the next refresh of the same program, so that only
 * new data must be found.  All zeroes at first.  A report takes the parts
 * that it needs, and returns them when it is released.
 */
struct hp_carry {
	struct hp_model model;
	struct hp_views views;	/* of those kinds that can be kept */
};

/* Facts of a kept file besides its segment. The caller keeps all of it. */
struct hp_record {
	struct hp_legend *legend;	/* NULL = names are in the programs' files */
	const struct hp_facts *facts;	/* NULL = not known */
	const char *file;	/* to be shown above the tables; NULL = none */
	struct hp_resolver
		*resolver;	/* resolves names in the background; NULL = the report waits for them */
	bool is_live;	/* its program still runs */
	struct hp_carry *carry;	/* from the previous refresh, and for the next one; NULL = none */
	bool is_lazy;	/* nothing is read before it is requested: see report/section/sections.h */
};

struct hp_section;

struct hp_report {
	struct hp_model model;
	struct hp_symbols *symbols;
	const struct hp_settings *settings;
	struct hp_record record;
	const char *label;	/* NULL = none */
	struct hp_focus focus;
	bool is_shown[HP_SECTIONS_MAX];	/* beside hp_sections */
	const struct hp_section *answer;	/* replaces all; NULL = none */
	char *caller;	/* comm::main */
	struct hp_model_function life;	/* replaces main if that is not instrumented */
	const struct hp_model_function *wrapper;	/* main, or `life`; NULL = nothing is instrumented */
	double whole_ns;	/* the meaning of 100 % */
	bool has_functions;
	bool has_main_running;	/* the wrapper is a main that has not returned: its time is the run's */
	const uint32_t *function_ids;	/* parallel to the model's, and `life`; NULL = places + 1 */
	bool is_uncut;	/* all rows are requested: hp_section_cut keeps them all */
	bool is_brief;	/* lists in JSON have no single calls */
	char *profile_path;	/* where this run's profile is written; NULL = not written */
	char *text;	/* of section notes */
	struct hp_views views;	/* the subjects' views of the model */
};

/*
 * hp_report_init of report/section/sections.h, in two steps: that chooses the
 * sections between them.  The first takes over the segment.
 */
void hp_report_begin(struct hp_report *report, struct hp_segment *segment,
		     const struct hp_record *record, const struct hp_settings *settings);

/* Complaints about the focus go to `complain`. */
void hp_report_settle(struct hp_report *report, hp_complain complain, void *context);
void hp_report_release(struct hp_report *report);

/* No section is shown: `answer` replaces them. */
void hp_report_answer(struct hp_report *report, const struct hp_section *answer);

/* The previous refresh's data of that kind, now owned by the caller. NULL = none. */
void *hp_report_carried(struct hp_report *report, const struct hp_view_kind *kind);
void hp_carry_release(struct hp_carry *carry);

/* The mean of its calls, ns; < 0 = not known. */
double hp_report_average(const struct hp_report *report, const struct hp_model_function *function);

/* The full name of a function of the model, or of `life`. */
const char *hp_report_name(struct hp_report *report, const struct hp_model_function *function);

/* True if the source has that name (include/hotpath.h): then it is not shortened. */
bool hp_report_is_label(const struct hp_report *report, const struct hp_model_function *function);

/* Its source location; false = not known. */
bool hp_report_source(struct hp_report *report, const struct hp_model_function *function,
		      struct hp_source *source);

/* A fresh copy of the name's last parts, as tables show it. */
char *hp_report_short_name(struct hp_report *report, const struct hp_model_function *function);

/* A part of a name, or /regex/; NULL and "" let all pass.  Its errors go to `complain`. */
void hp_focus_init(struct hp_focus *focus, const char *spec, hp_complain complain, void *context);
void hp_focus_release(struct hp_focus *focus);
bool hp_focus_allows(const struct hp_focus *focus, const char *name);

/* True if the function must be shown. */
bool hp_report_allows(struct hp_report *report, const struct hp_model_function *function);

#endif
