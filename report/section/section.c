/* SPDX-License-Identifier: MIT */
/*
 * section.c - the table of sections.
 */
#include "report/section/core/list.h"

#define POINTER(name) &hp_##name##_section,

const struct hp_section *const hp_sections[] = { HP_SECTIONS(POINTER) NULL };

const size_t hp_section_count = sizeof(hp_sections) / sizeof(hp_sections[0]) - 1;

static_assert(sizeof(hp_sections) / sizeof(hp_sections[0]) - 1 <= HP_SECTIONS_MOST,
	      "struct hp_report has a flag for each");
