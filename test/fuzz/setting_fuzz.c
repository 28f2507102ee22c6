/* SPDX-License-Identifier: MIT */
/*
 * setting_fuzz.c - environment variables, one per line, and a program's own
 * defaults from the same text.
 */
#include <stdlib.h>

#include "segment/setting.h"
#include "test/fuzz/fuzz.h"

#define VARIABLES 64

static void heard(void *context, const char *line)
{
	(void)context;
	if (strchr(line, '\n') || strlen(line) > 4096)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *line = text, *end;
	char *environment[VARIABLES + 1], room[HP_DEFAULTS_MAX];
	struct hp_settings settings;
	size_t count = 0;

	hp_settings_read(&settings, (char *[]){ NULL }, NULL, NULL);
	hp_settings_default(&settings, HP_SETTINGS_OF_PROGRAM, text, room, heard, NULL);
	for (; count < VARIABLES && *line; line = end + 1) {
		end = strchr(line, '\n');
		environment[count++] = line;
		if (!end)
			break;
		*end = 0;
	}
	environment[count] = NULL;
	hp_settings_read(&settings, environment, heard, NULL);
	hp_settings_asks(&settings, "alloc");
	hp_settings_names(&settings, "cpu");
	free(text);
	return 0;
}
