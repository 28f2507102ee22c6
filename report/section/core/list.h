/* SPDX-License-Identifier: MIT */
/*
 * list.h - the definitions of all sections, which segment/section_key.h lists.
 */
#ifndef HP_REPORT_SECTION_CORE_LIST_H
#define HP_REPORT_SECTION_CORE_LIST_H

#include "report/section/core/section.h"
#include "segment/section_key.h"

/* Each hp_NAME_section. */
#define HP_SECTIONS(X) HP_SECTION_LIST(X, X)

#define HP_SECTION_EXTERN(name, key) extern const struct hp_section hp_##name##_section;
HP_SECTIONS(HP_SECTION_EXTERN)
#undef HP_SECTION_EXTERN

#endif
