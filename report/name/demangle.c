/* SPDX-License-Identifier: MIT */
/*
 * demangle.c - see demangle.h.
 */
#include "report/name/demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/name/name.h"

bool hp_symbol_is_plt(const char *name)
{
	size_t length = strlen(name), end = strlen(HP_SYMBOL_PLT);

	return length > end && strcmp(name + length - end, HP_SYMBOL_PLT) == 0;
}

/* Versions of symbols (@VERSION) are no part of a function's name; that it is a stub is. */
char *hp_name_demangled(const char *name)
{
	char *plain = hp_xprintf("%.*s", (int)strcspn(name, "@"), name);
	char *readable = NULL;

	if (plain[0] == '_')
		readable = cplus_demangle(plain, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
	if (readable) {
		free(plain);
		plain = hp_name_of_coroutine(readable);
		free(readable);
	}
	if (!hp_symbol_is_plt(name))
		return plain;
	readable = hp_xprintf("%s" HP_SYMBOL_PLT, plain);
	free(plain);
	return readable;
}

char *hp_name_readable(const char *name)
{
	char *plain = hp_name_demangled(name);
	char *clean = hp_text_clean(plain);

	free(plain);
	return clean;
}
