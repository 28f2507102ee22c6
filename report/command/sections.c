/* SPDX-License-Identifier: MIT */
/*
 * sections.c - see sections.h.
 */
#include "report/command/sections.h"

#include <stdbool.h>
#include <stdio.h>

#include "report/section/sections.h"

/* Second tables come with their first: nobody requests them. */
static bool is_asked_for(const struct hp_section *section)
{
	return section->columns && !section->with;
}

void hp_sections_list(void)
{
	puts("Values of --report and HOTPATH_REPORT: names separated by commas, auto (what has\n"
	     "data), all; auto,-NAME leaves one out.\n");
	for (size_t i = 0; i < hp_section_count; i++) {
		const struct hp_section *section = hp_sections[i];

		if (is_asked_for(section))
			printf("  %-18s%s\n", section->key, section->help);
	}
}

void hp_sections_list_keys(void)
{
	for (size_t i = 0; i < hp_section_count; i++)
		if (is_asked_for(hp_sections[i]))
			puts(hp_sections[i]->key);
}

static const char *tool_of(const struct hp_section *section)
{
	return section->tool.name ? section->tool.name : section->json;
}

void hp_sections_list_markdown(void)
{
	puts("|| section | route | MCP tool | | |\n|---|---|---|---|");
	for (size_t i = 0; i < hp_section_count; i++) {
		const struct hp_section *section = hp_sections[i];

		if (hp_section_is_listed(section))
			printf("| `%s` | `/%s` | `%s` | %s |\n", section->key, section->json,
			       tool_of(section), section->help);
	}
}

static void roff_write(const char *text)
{
	for (; *text; text++)
		fputs(*text == '-' ? "\\-" : (const char[]){ *text, 0 }, stdout);
}

void hp_sections_list_roff(void)
{
	for (size_t i = 0; i < hp_section_count; i++) {
		if (!is_asked_for(hp_sections[i]))
			continue;
		fputs(".TP\n.B ", stdout);
		roff_write(hp_sections[i]->key);
		putchar('\n');
		roff_write(hp_sections[i]->help);
		putchar('\n');
	}
}
