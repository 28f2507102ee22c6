/* SPDX-License-Identifier: MIT */
/*
 * kept_fuzz.c - input read as a kept run, or as a segment, packed or not: a file's
 * bytes.  zlib's checksum hides the data after it, so inputs come unpacked.
 */
#include <stdlib.h>
#include <unistd.h>

#include "report/store/kept.h"
#include "report/view/view.h"
#include "test/fuzz/fuzz.h"
#include "report/section/sections.h"

static void look_at(struct hp_kept *kept)
{
	static char *const environment[] = { NULL };
	struct hp_look look = { .width = 80 };
	struct hp_record record = { .legend = NULL };
	struct hp_settings settings;
	struct hp_facts facts = HP_FACTS_NONE;
	struct hp_report report;
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (kept->names) {
		record.legend = hp_legend_new(kept->names);
		hp_facts_init(&facts, kept->facts);
		record.facts = &facts;
	}
	hp_settings_read(&settings, environment, NULL, NULL);
	hp_report_init_record(&report, &kept->segment, &record, &settings, NULL, NULL);
	hp_table_write(&report, &look, out);
	hp_brief_write(&report, &look, out);
	hp_report_release(&report);
	hp_facts_release(&facts);
	hp_legend_free(record.legend);
	hp_segment_release(&kept->segment);
	fclose(out);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = fuzz_file(data, size);
	struct hp_kept kept;

	free(hp_kept_facts(fd));
	lseek(fd, 0, SEEK_SET);
	if (hp_kept_read(&kept, fd) == HP_SEGMENT_FINE)
		look_at(&kept);
	close(fd);
	return 0;
}
