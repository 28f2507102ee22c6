/* SPDX-License-Identifier: MIT */
/*
 * sections.h - lists of all sections, from their definitions: for people, for
 * completions, for the documentation (scripts/check-generated.sh), for hotpath(7).
 */
#ifndef HP_REPORT_COMMAND_SECTIONS_H
#define HP_REPORT_COMMAND_SECTIONS_H

void hp_sections_list(void);
void hp_sections_list_keys(void);
void hp_sections_list_markdown(void);
void hp_sections_list_roff(void);

#endif
