/* SPDX-License-Identifier: MIT */
/*
 * views.c - see views.h.
 */
#include "test/fuzz/views.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/export/export.h"
#include "report/view/page.h"
#include "report/view/view.h"
#include "test/fuzz/fuzz.h"
#include "report/section/sections.h"

static void export_all(struct hp_report *report)
{
	static const char *const formats[] = { "firefox", "folded", "pprof", "flamegraph" };
	int fd = fuzz_sink();

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		const struct hp_export *export = hp_export_find(formats[i]);

		if (export && (!export->missing || !export->missing(report)))
			export->write(report, fd);
	}
}

/* FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/ */
static uint64_t hash(const char *text, size_t length)
{
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < length; i++)
		sum = (sum ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
	return sum;
}

uint64_t fuzz_views(const struct fuzz_base *base, struct hp_segment *segment, bool with_exports)
{
	static char all[] = "HOTPATH_REPORT=all,waiting", limit[] = "HOTPATH_LIMIT=0";
	static char *const environment[] = { all, limit, NULL };
	struct hp_look look = { .width = 80 };
	struct hp_settings settings;
	struct hp_record record = { .legend = NULL };
	struct hp_facts facts;
	struct hp_report report;
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	record.legend = hp_legend_new(strdup(base->kept.names));
	hp_facts_init(&facts, strdup(base->kept.facts));
	record.facts = &facts;
	hp_settings_read(&settings, environment, NULL, NULL);
	hp_report_init_record(&report, segment, &record, &settings, NULL, NULL);
	hp_table_write(&report, &look, out);
	hp_brief_write(&report, &look, out);
	hp_json_write(&report, false, out);
	if (with_exports) {
		export_all(&report);
		hp_page_write(&report, fuzz_sink());
	}
	hp_report_release(&report);
	hp_facts_release(&facts);
	hp_legend_free(record.legend);
	fclose(out);
	uint64_t sum = hash(text, length);
	free(text);
	return sum;
}
