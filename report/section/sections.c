/* SPDX-License-Identifier: MIT */
/*
 * sections.c - see sections.h.
 */
#include "report/section/sections.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/section/core/section.h"
#include "report/section/cpu/gap_samples.h"
#include "report/section/order.h"

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

static size_t section_named(const char *name, size_t length)
{
	for (size_t i = 0; i < hp_section_count; i++)
		if (hp_section_is(name, length, hp_sections[i]->key))
			return i;
	return hp_section_count;
}

/* Everything that has data; `all`: everything that is recorded. */
static void set_many(struct hp_report *report, bool is_all)
{
	for (size_t i = 0; i < hp_section_count; i++) {
		const struct hp_section *section = hp_sections[i];

		report->is_shown[i] = section->columns && ((is_all && !section->is_quiet) ||
							   hp_section_has_data(section, report));
	}
}

/* One word of HOTPATH_REPORT. */
static void choose_word(struct hp_report *report, const char *word, size_t length,
			const struct speaker *speaker)
{
	bool is_out = length && *word == '-';
	size_t section;

	word += is_out, length -= is_out;
	if ((length == 3 && memcmp(word, "all", 3) == 0) ||
	    (length == 4 && memcmp(word, "auto", 4) == 0) ||
	    (length == 5 && memcmp(word, "short", 5) == 0)) {
		set_many(report, length == 3);
		return;
	}
	section = section_named(word, length);
	if (section == hp_section_count)
		return;	/* reported when the settings were read */
	if (!is_out && !hp_sections[section]->columns)
		say(speaker, hp_xprintf("this version does not record report section '%.*s'",
					(int)length, word));
	else
		report->is_shown[section] = !is_out;
}

/* Second tables come with their first, if they have data. */
static void choose_more(struct hp_report *report)
{
	for (size_t i = 0; i < hp_section_count; i++) {
		const struct hp_section *with = hp_sections[i]->with;

		if (with)
			report->is_shown[i] = report->is_shown[hp_section_place(with)] &&
					      hp_section_has_data(hp_sections[i], report);
	}
}

static void choose_sections(struct hp_report *report, const struct speaker *speaker)
{
	const char *list = report->settings->report ? report->settings->report : "auto";
	const char *word;
	size_t length;

	if (hp_settings_begins_with_auto(report->settings))
		set_many(report, false);
	while ((word = hp_section_next(&list, &length)))
		choose_word(report, word, length, speaker);
	choose_more(report);
}

void hp_report_choose(struct hp_report *report)
{
	choose_sections(report, &(const struct speaker){ NULL, NULL });
}

void hp_report_init(struct hp_report *report, struct hp_segment *segment,
		    const struct hp_settings *settings, hp_complain complain, void *context)
{
	static const struct hp_record none = { .legend = NULL };

	hp_report_init_record(report, segment, &none, settings, complain, context);
}

void hp_report_init_record(struct hp_report *report, struct hp_segment *segment,
			   const struct hp_record *record, const struct hp_settings *settings,
			   hp_complain complain, void *context)
{
	hp_report_begin(report, segment, record, settings);
	hp_report_init_rest(report, complain, context);
}

void hp_report_init_rest(struct hp_report *report, hp_complain complain, void *context)
{
	if (complain && !report->record.is_live && hp_settings_sorts(report->settings)) {
		char *fault = hp_sort_fault(report->settings);

		if (fault)
			say(&(const struct speaker){ complain, context },
			    hp_xprintf("HOTPATH_SORT: %s", fault));
		free(fault);
	}
	if (!report->record.is_lazy)
		choose_sections(report, &(const struct speaker){ complain, context });
	/* While the program runs, its figures change anyway. */
	if (!report->record.is_lazy && !report->record.is_live)
		hp_cpu_sample_gaps(report);
	hp_report_settle(report, complain, context);
}
