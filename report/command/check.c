/* SPDX-License-Identifier: MIT */
/*
 * check.c - `hotpath check FILE`: is a processed profile valid?
 *
 * Viewers accept a file with invalid indexes, and show nonsense or nothing. So
 * this checks every column's length and every index, for the tables of version 49,
 * which `hotpath report --export firefox` and samply 0.13 write.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "report/command/command.h"
#include "report/base/memory.h"
#include "report/export/profile.h"

#define FAULTS_MAX 10	/* told */
#define TEXT_MAX (UINT64_C(1) << 30)

struct check {
	const char *path;
	unsigned faults;
	size_t categories;
	size_t libs;
	const cJSON *schemas;
	size_t samples;
	size_t markers;
};

static void __attribute__((format(printf, 2, 3))) fault(struct check *c, const char *format, ...)
{
	va_list arguments;

	if (c->faults++ >= FAULTS_MAX)
		return;
	printf("%s: ", c->path);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
}

static const cJSON *get(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

static size_t length_of(const cJSON *table)
{
	const cJSON *length = get(table, "length");

	return cJSON_IsNumber(length) && length->valuedouble >= 0 ? (size_t)length->valuedouble : 0;
}

/* Every list in a table is as long as the table says. */
static const cJSON *table_of(struct check *c, const cJSON *thread, const char *name, bool is_needed)
{
	const cJSON *table = get(thread, name), *column;

	if (!table && !is_needed)
		return NULL;
	if (!cJSON_IsObject(table) || !cJSON_IsNumber(get(table, "length"))) {
		fault(c, "a thread has no table %s", name);
		return NULL;
	}
	cJSON_ArrayForEach(column,
			   table) if (cJSON_IsArray(column) &&
				      (size_t)cJSON_GetArraySize(column) != length_of(table))
		fault(c, "%s.%s has %d entries, but the table has %zu", name, column->string,
		      cJSON_GetArraySize(column), length_of(table));
	return table;
}

/* Each number of a column is an index into something of that length; null and `none` are valid,
 * too. */
static void within(struct check *c, const cJSON *table, const char *column, size_t limit,
		   double none)
{
	const cJSON *list = get(table, column), *cell;
	size_t place = 0;

	if (!cJSON_IsArray(list)) {
		fault(c, "%s.%s is missing", table ? table->string : "?", column);
		return;
	}
	cJSON_ArrayForEach(cell, list)
	{
		bool is_good = cJSON_IsNull(cell) ||
			       (cJSON_IsNumber(cell) &&
				((cell->valuedouble >= 0 && cell->valuedouble < (double)limit) ||
				 cell->valuedouble == none));

		if (!is_good) {
			fault(c, "%s.%s[%zu] is not below %zu", table->string, column, place,
			      limit);
			return;
		}
		place++;
	}
}

/* Callers come before callees. */
static void prefixes_check(struct check *c, const cJSON *stacks)
{
	const cJSON *cell;
	double place = 0;

	cJSON_ArrayForEach(cell, get(stacks, "prefix"))
	{
		if (!cJSON_IsNull(cell) && (!cJSON_IsNumber(cell) || cell->valuedouble < 0 ||
					    cell->valuedouble >= place)) {
			fault(c, "stackTable.prefix[%.0f] is not before it", place);
			return;
		}
		place++;
	}
}

static void order_check(struct check *c, const cJSON *table, const char *column)
{
	const cJSON *cell;
	double before = -1e300;

	cJSON_ArrayForEach(cell, get(table, column))
	{
		if (!cJSON_IsNumber(cell) || cell->valuedouble < before) {
			fault(c, "%s.%s is not in time order", table->string, column);
			return;
		}
		before = cell->valuedouble;
	}
}

static bool has_schema(const struct check *c, const char *type)
{
	const cJSON *schema;

	cJSON_ArrayForEach(schema, c->schemas)
	{
		const char *name = cJSON_GetStringValue(get(schema, "name"));

		if (name && strcmp(name, type) == 0)
			return true;
	}
	return false;
}

static void markers_check(struct check *c, const cJSON *markers, size_t stacks)
{
	const cJSON *data;

	cJSON_ArrayForEach(data, get(markers, "data"))
	{
		const char *type = cJSON_GetStringValue(get(data, "type"));
		const cJSON *stack = get(get(data, "cause"), "stack");

		if (cJSON_IsNull(data))
			continue;
		if (!type || !has_schema(c, type))
			fault(c, "a marker has the type %s, which has no schema",
			      type ? type : "(none)");
		if (cJSON_IsNumber(stack) &&
		    (stack->valuedouble < 0 || stack->valuedouble >= (double)stacks))
			fault(c, "a marker's stack %.0f is not below %zu", stack->valuedouble,
			      stacks);
	}
}

static void thread_check(struct check *c, const cJSON *thread)
{
	const cJSON *samples = table_of(c, thread, "samples", true);
	const cJSON *stacks = table_of(c, thread, "stackTable", true);
	const cJSON *frames = table_of(c, thread, "frameTable", true);
	const cJSON *functions = table_of(c, thread, "funcTable", true);
	const cJSON *resources = table_of(c, thread, "resourceTable", true);
	const cJSON *natives = table_of(c, thread, "nativeSymbols", true);
	const cJSON *markers = table_of(c, thread, "markers", true);
	const cJSON *blocks = table_of(c, thread, "nativeAllocations", false);
	size_t strings = (size_t)cJSON_GetArraySize(get(thread, "stringArray"));

	if (!samples || !stacks || !frames || !functions || !resources || !natives || !markers)
		return;
	if (!cJSON_IsString(get(thread, "pid")))
		fault(c, "a thread's pid is not a string");
	within(c, samples, "stack", length_of(stacks), -2);
	order_check(c, samples, "time");
	within(c, stacks, "frame", length_of(frames), -2);
	within(c, stacks, "category", c->categories, -2);
	prefixes_check(c, stacks);
	within(c, frames, "func", length_of(functions), -2);
	within(c, frames, "nativeSymbol", length_of(natives), -2);
	within(c, functions, "name", strings, -2);
	within(c, functions, "resource", length_of(resources), -1);
	within(c, resources, "lib", c->libs, -2);
	within(c, resources, "name", strings, -2);
	within(c, natives, "libIndex", c->libs, -2);
	within(c, natives, "name", strings, -2);
	within(c, markers, "name", strings, -2);
	within(c, markers, "category", c->categories, -2);
	markers_check(c, markers, length_of(stacks));
	if (blocks)
		within(c, blocks, "stack", length_of(stacks), -2);
	c->samples += length_of(samples);
	c->markers += length_of(markers);
}

static void libs_check(struct check *c, const cJSON *libs)
{
	const cJSON *lib;

	cJSON_ArrayForEach(lib, libs)
	{
		const char *id = cJSON_GetStringValue(get(lib, "breakpadId"));

		if (!id || strlen(id) != 33 || strspn(id, "0123456789ABCDEF") != 33)
			fault(c, "a library's breakpadId must be 33 hex digits: %s",
			      id ? id : "(none)");
	}
}

static void profile_check(struct check *c, const cJSON *profile)
{
	const cJSON *meta = get(profile, "meta"), *threads = get(profile, "threads"), *thread;
	const cJSON *version = get(meta, "preprocessedProfileVersion");

	if (!cJSON_IsNumber(version)) {
		fault(c, "not a processed profile: meta.preprocessedProfileVersion is missing");
		return;
	}
	if (version->valueint != HP_PROFILE_VERSION) {
		fault(c, "has version %d; this command knows version %d", version->valueint,
		      HP_PROFILE_VERSION);
		return;
	}
	c->categories = (size_t)cJSON_GetArraySize(get(meta, "categories"));
	c->libs = (size_t)cJSON_GetArraySize(get(profile, "libs"));
	c->schemas = get(meta, "markerSchema");
	libs_check(c, get(profile, "libs"));
	if (!cJSON_IsArray(threads))
		fault(c, "has no list of threads");
	cJSON_ArrayForEach(thread, threads) thread_check(c, thread);
	if (!c->faults)
		printf("%s: valid: version %d, %d threads, %zu samples, %zu markers\n", c->path,
		       version->valueint, cJSON_GetArraySize(threads), c->samples, c->markers);
}

/* NULL = not possible, which was reported. A device may never end. */
static gzFile file_open(const char *path)
{
	struct stat about;
	bool is_device =
		stat(path, &about) == 0 && (S_ISCHR(about.st_mode) || S_ISDIR(about.st_mode));
	gzFile in = is_device ? NULL : gzopen(path, "rb");

	if (!in)
		fprintf(stderr, "hotpath check: %s: %s\n", path,
			is_device ? "not a file" : strerror(errno));
	return in;
}

/* The file's text, unpacked if necessary; NULL = it cannot be read, which was reported. */
static char *read_whole(const char *path)
{
	gzFile in = file_open(path);
	char *text = NULL;
	size_t size = 0, room = 0;
	int got = 0;

	if (!in)
		return NULL;
	do {
		size += (size_t)got;
		if (room - size < 65536) {
			room = room ? 2 * room : 1 << 20;
			text = hp_xrealloc(text, room, 1);
		}
		got = gzread(in, text + size, 65535);
	} while (got > 0 && size < TEXT_MAX);
	text[size] = 0;
	if (gzclose(in) == Z_OK && got == 0)
		return text;
	fprintf(stderr, "hotpath check: %s: %s\n", path,
		got > 0 ? "more than 1 GiB of text: no browser can show it"
			: "cannot unpack: damaged or truncated");
	free(text);
	return NULL;
}

int hp_cmd_check(int argc, char **argv)
{
	struct check c = { .path = argc > 1 ? argv[1] : NULL };
	cJSON *profile;
	char *text;

	if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		puts("Usage: hotpath check FILE\n"
		     "Verify the structure of a profile (hp.json.gz) for profiler.firefox.com.\n\n"
		     "  -h, --help             this\n\n"
		     "Exit status: 0 = valid, 1 = invalid, 2 = wrong usage.");
		return 0;
	}
	if (argc != 2) {
		fprintf(stderr, "hotpath check: one FILE; see hotpath check --help\n");
		return HP_EXIT_USAGE;
	}
	text = read_whole(c.path);
	if (!text)
		return HP_EXIT_FAILED;
	profile = cJSON_Parse(text);
	free(text);
	if (!profile) {
		fprintf(stderr, "hotpath check: %s: not JSON; hotpath report reads runs\n", c.path);
		return HP_EXIT_FAILED;
	}
	profile_check(&c, profile);
	if (c.faults > FAULTS_MAX)
		printf("%s: and %u more\n", c.path, c.faults - FAULTS_MAX);
	cJSON_Delete(profile);
	return c.faults ? HP_EXIT_FAILED : 0;
}
