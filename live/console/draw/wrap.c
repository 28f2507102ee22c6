/* SPDX-License-Identifier: MIT */
/*
 * wrap.c - see wrap.h.
 */
#include "live/console/draw/wrap.h"

#include <stdio.h>
#include <string.h>

#include "report/base/format.h"

int hp_draw_wrapped(int y, int x, int width, int most, enum hp_ink ink, const char *text)
{
	char line[512];
	int lines = 0;

	while (*text && lines < most && width > 0) {
		size_t bytes = hp_text_start(text, (size_t)width), whole = strlen(text);

		if (bytes < whole) {
			size_t blank = bytes;

			while (blank && text[blank] != ' ')
				blank--;
			bytes = blank ? blank : bytes;
		}
		snprintf(line, sizeof(line), "%.*s", (int)bytes, text);
		hp_put(y + lines++, x, width, ink, HP_LEFT, HP_CUT_END, line);
		text += bytes;
		while (*text == ' ')
			text++;
	}
	return lines;
}
