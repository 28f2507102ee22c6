/* SPDX-License-Identifier: MIT */
/*
 * export.c - see export.h.
 */
#include "report/export.h"

#include <string.h>

const char hp_export_formats[] = "firefox|folded|pprof";

hp_export_writer hp_export_find(const char *format)
{
	static const struct {
		const char *name;
		hp_export_writer write;
	} formats[] = {
		{ "firefox", hp_export_firefox },
		{ "folded", hp_export_folded },
		{ "pprof", hp_export_pprof },
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i].name, format) == 0)
			return formats[i].write;
	return NULL;
}
