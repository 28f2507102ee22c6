/* SPDX-License-Identifier: MIT */
/*
 * hint.c - see hint.h.
 *
 * The file in which a function begins tells its owner; without debug
 * information, a name of the standard library does. The functions with the most
 * calls decide; only a few places are looked up, since each may require reading
 * the line table of a compilation unit.
 */
#include "report/view/hint.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "segment/layout/process.h"

#define CALLS_MIN 100000	/* below that, their hooks take less than a millisecond */
#define LOOKED_AT 100	/* functions with the most calls */

struct tally {
	const struct hp_model_function *top[LOOKED_AT];	/* most calls first */
	size_t count;
	uint64_t calls;	/* of all functions */
};

static void tally_add(struct tally *tally, const struct hp_model_function *function)
{
	size_t at = tally->count < LOOKED_AT ? tally->count : LOOKED_AT - 1;

	/* Blocks were added on purpose. */
	if (function->label && function->label->kind == HP_LABEL_BLOCK)
		return;
	tally->calls += function->calls;
	if (tally->count == LOOKED_AT && tally->top[at]->calls >= function->calls)
		return;
	for (; at > 0 && tally->top[at - 1]->calls < function->calls; at--)
		tally->top[at] = tally->top[at - 1];
	tally->top[at] = function;
	tally->count += tally->count < LOOKED_AT;
}

/* Folders of headers of compilers and distributions, as in DWARF: perhaps with `..` in it. */
static bool is_system_file(const char *file)
{
	static const char *const parts[] = { "/usr/include/", "/lib/gcc", "/include/c++/",
					     "/lib/clang/" };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(file, parts[i]))
			return true;
	return false;
}

/* A function's own name, or that of the enclosing type, is in one of these. */
static bool is_system_name(const char *name)
{
	static const char *const spaces[] = { "std::", "__gnu_cxx::" };
	size_t name_end = strcspn(name, "(<");

	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		const char *at = strstr(name, spaces[i]);

		/* `void std::f<...>(...)` begins with its type. */
		if (at && at < name + name_end && (at == name || at[-1] == ' '))
			return true;
	}
	return false;
}

static bool is_of_system(struct hp_report *report, uint32_t function)
{
	struct hp_source source;

	if (hp_symbols_source(report->symbols, function, &source))
		return is_system_file(source.file);
	return is_system_name(hp_symbols_name(report->symbols, function));
}

/* The remedy depends on the compiler, which debug information names. */
static char *text_of(struct hp_report *report, uint32_t worst)
{
	static const char problem[] = "most calls are of functions in system headers;";
	const char *producer = hp_symbols_producer(report->symbols, worst);

	if (producer && strstr(producer, "clang"))
		return hp_xprintf("%s without most of them:\n"
				  "-O2 -finstrument-functions-after-inlining\n"
				  "without any of them: g++ -O2 $(hotpath flags g++)",
				  problem);
	if (producer && strstr(producer, "GNU ") == producer)
		return hp_xprintf(
			"%s without them:\n"
			"-finstrument-functions-exclude-file-list=/usr/include,/usr/lib/gcc\n"
			"as in $(hotpath flags g++)",
			problem);
	return hp_xprintf("%s without them:\n$(hotpath flags g++)", problem);
}

char *hp_hint_headers(struct hp_report *report)
{
	const struct hp_model *model = &report->model;
	struct tally tally = { .count = 0 };
	uint64_t theirs = 0, own = 0;

	for (size_t i = 0; i < model->function_count; i++)
		tally_add(&tally, &model->functions[i]);
	if (tally.calls < CALLS_MIN)
		return NULL;
	for (size_t i = 0; i < tally.count && own <= tally.calls / 2; i++) {
		uint32_t function = (uint32_t)(tally.top[i] - model->functions);

		if (is_of_system(report, function))
			theirs += tally.top[i]->calls;
		else
			own += tally.top[i]->calls;
		if (theirs > tally.calls / 2)
			return text_of(report, function);
	}
	return NULL;
}
