/* SPDX-License-Identifier: MIT */
/*
 * demangle.c - see demangle.h.
 */
#include "report/elf/demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"

bool hp_symbol_is_plt(const char *name)
{
	size_t length = strlen(name), end = strlen(HP_SYMBOL_PLT);

	return length > end && strcmp(name + length - end, HP_SYMBOL_PLT) == 0;
}

/* Does the name before the parenthesis appear again after it? */
static bool is_repeated(const char *name, const char *open, const char *end)
{
	for (const char *at = open + 1; at < end; at++) {
		size_t size = (size_t)(at - open - 1);

		if (*at == '(' && size && size <= (size_t)(open - name) &&
		    memcmp(open - size, open + 1, size) == 0)
			return true;
	}
	return false;
}

/* gcc's names: function(function(parameters)::_ZSYMBOL.Frame*) [clone .actor]. */
char *hp_name_of_coroutine(const char *name)
{
	static const char frame[] = ".Frame*) [clone .";
	const char *end = strstr(name, frame), *symbol = NULL, *open = NULL;

	for (const char *at = name; end && at < end; at++)
		if (strncmp(at, "::_Z", 4) == 0)
			symbol = at;
	for (const char *at = name; symbol && at < symbol && !open; at++)
		if (*at == '(' && is_repeated(name, at, symbol))
			open = at;
	if (!open)
		return hp_xstrdup(name);
	return hp_xprintf("%.*s%s", (int)(symbol - open - 1), open + 1,
			  end + sizeof(".Frame*)") - 1);
}

/* Symbol versions (@VERSION) are not part of a function's name, but the stub suffix is. */
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
