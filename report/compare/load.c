/* SPDX-License-Identifier: MIT */
/*
 * load.c - one side of a comparison, as the JSON of a whole report.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/compare/compare.h"
#include "report/store/input.h"
#include "report/base/memory.h"
#include "report/view/view.h"
#include "report/section/core/list.h"
#include "report/section/sections.h"

#define JSON_MAX (256 << 20)	/* bytes */

/* A complete file that starts like JSON, 0-terminated; NULL = it does not. */
static char *json_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	size_t done = 0;
	char *text;
	ssize_t got;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    status.st_size > JSON_MAX || pread(fd, &(char){ 0 }, 1, 0) != 1) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	text = hp_xmalloc((size_t)status.st_size + 1);
	while (done < (size_t)status.st_size &&
	       (got = read(fd, text + done, (size_t)status.st_size - done)) > 0)
		done += (size_t)got;
	close(fd);
	text[done] = 0;
	if (text[strspn(text, " \t\r\n")] == '{')
		return text;
	free(text);
	return NULL;
}

/* Those that are compared, as HOTPATH_REPORT lists them. */
static char *sections_wanted(void)
{
	char *list = hp_xstrdup(hp_threads_section.key);

	for (size_t i = 0; i < hp_compare_measure_count; i++) {
		const struct hp_section *section = hp_compare_measures[i].section;
		char *longer;

		if (!section || (i && section == hp_compare_measures[i - 1].section))
			continue;
		longer = hp_xprintf("%s,%s", list, section->key);
		free(list);
		list = longer;
	}
	return list;
}

/* An empty section means something only if it was recorded. */
static void unrecorded_remove(const struct hp_report *report, cJSON *json)
{
	uint32_t recorded = report->model.recorded;

	for (size_t i = 0; i < hp_compare_measure_count; i++) {
		const struct hp_section *section = hp_compare_measures[i].section;

		if (section && section->needs && recorded & HP_RECORDED_KNOWN &&
		    !(recorded & section->needs))
			cJSON_DeleteItemFromObjectCaseSensitive(json, section->json);
	}
}

/* As from `hotpath report --format json --limit 0`. */
static cJSON *report_json(struct hp_input *input, hp_compare_seen *seen, void *context)
{
	struct hp_settings settings;
	struct hp_report report;
	char *text = NULL, *wanted = sections_wanted();
	size_t size = 0;
	FILE *out;
	cJSON *json;

	hp_settings_read(&settings, (char *[]){ NULL }, NULL, NULL);
	hp_settings_set(&settings, "HOTPATH_REPORT", wanted, NULL, NULL);
	settings.limit = settings.functions_limit = settings.alloc_limit = settings.threads_limit =
		settings.channels_limit = 0;
	hp_report_init_record(&report, &input->segment, &input->record, &settings, NULL, NULL);
	out = open_memstream(&text, &size);
	if (out) {
		hp_json_write(&report, false, out);
		fclose(out);
	}
	json = text ? cJSON_Parse(text) : NULL;
	if (json)
		unrecorded_remove(&report, json);
	if (seen)
		seen(context, &report);
	hp_report_release(&report);
	free(text);
	free(wanted);
	return json;
}

cJSON *hp_compare_load(const char *path, hp_compare_seen *seen, void *context)
{
	char *text = json_read(path);
	struct hp_input input;
	cJSON *json;

	if (text) {
		json = cJSON_Parse(text);
		free(text);
		if (json && cJSON_GetObjectItemCaseSensitive(json, "summary"))
			return json;
		fprintf(stderr,
			"hotpath compare: %s is not a report in JSON; make one with hotpath report "
			"--format json --limit 0\n",
			path);
		cJSON_Delete(json);
		return NULL;
	}
	if (!hp_input_open(&input, path, hp_input_say, NULL))
		return NULL;
	json = report_json(&input, seen, context);
	hp_input_release(&input);
	if (!json)
		fprintf(stderr, "hotpath compare: %s: out of memory\n", path);
	return json;
}
