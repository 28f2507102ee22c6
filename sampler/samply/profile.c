/* SPDX-License-Identifier: MIT */
/*
 * profile.c - see profile.h.
 *
 * Each thread has tables of columns: samples.stack -> stackTable (prefix, frame)
 * -> frameTable (address, func) -> funcTable.resource -> resourceTable.lib ->
 * libs.  Addresses count from the mapping of the file's first byte, and are
 * those of the instruction; for callers, of the call.  A sample's weight is threadCPUDelta
 * (µs), else its weight times the interval.
 */
#include "sampler/samply/profile.h"

#include <cjson/cJSON.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "sampler/sample/space.h"
#include "sampler/sample/tree.h"
#include "util/open_as.h"

#define TEXT_MAX (UINT64_C(1) << 30)	/* bytes of JSON */
#define NOT_YET UINT32_MAX
#define MOST 9007199254740992.0	/* 2^53, up to which JSON's numbers are exact */

struct lib {
	uint32_t object;
	uint64_t base;	/* ELF address of the file's first byte */
	bool is_known;	/* addresses in it are ELF addresses */
};

/* A column of numbers; null is -1. */
struct column {
	double *at;
	size_t count;
};

struct reader {
	const struct hp_segment *segment;
	struct hp_sampling *record;
	struct hp_spaces spaces;
	struct hp_sample_tree tree;
	struct lib *libs;
	size_t lib_count;
	double interval_ns;
};

/* One thread's tables. */
struct tables {
	struct column stack, weight, delta;	/* of samples */
	struct column prefix, frame;	/* of stacks */
	struct column address, func;	/* of frames */
	struct column resource;	/* of functions */
	struct column lib;	/* of resources */
	uint32_t *nodes;	/* of stacks */
};

/* ---- JSON ---- */

static char *text_of(const char *path, char error[HP_SAMPLY_TEXT])
{
	gzFile in = gzopen(path, "rb");
	size_t room = 1 << 20, used = 0;
	char *text = NULL;
	int got = 1;

	if (!in) {
		snprintf(error, HP_SAMPLY_TEXT, "cannot open the profile %.512s: %s", path,
			 strerror(errno));
		return NULL;
	}
	while (got > 0 && used < TEXT_MAX) {
		char *more = realloc(text, room *= 2);

		if (!more)
			break;
		text = more;
		got = gzread(in, text + used, (unsigned)(room - used - 1));
		used += got > 0 ? (size_t)got : 0;
	}
	gzclose(in);
	if (got == 0 && used) {
		text[used] = '\0';
		return text;
	}
	free(text);
	snprintf(error, HP_SAMPLY_TEXT, "failed to read the profile %.512s: %s", path,
		 got < 0 ? "it is damaged"
		 : used	 ? "it is larger than 1 GiB"
			 : "no data in it");
	return NULL;
}

static const cJSON *part(const cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

static struct column column_of(const cJSON *table, const char *name)
{
	const cJSON *array = part(table, name), *item;
	struct column column = { NULL, 0 };
	size_t i = 0;

	if (!cJSON_IsArray(array) || !array->child)
		return column;
	column.count = (size_t)cJSON_GetArraySize(array);
	column.at = malloc(column.count * sizeof(*column.at));
	if (!column.at)
		column.count = 0;
	cJSON_ArrayForEach(item, array)
	{
		if (i < column.count)
			column.at[i++] = cJSON_IsNumber(item) ? item->valuedouble : -1;
	}
	return column;
}

/* A JSON number may be too large to count; below 0 it is meaningless. */
static uint64_t whole(double number)
{
	if (number <= 0)
		return 0;
	return number < MOST ? (uint64_t)number : (uint64_t)MOST;
}

static double value(const struct column *column, double row)
{
	return row >= 0 && row < (double)column->count ? column->at[(size_t)row] : -1;
}

/* ---- libraries ---- */

/* Complete bytes: a single digit at the end does not count. */
static size_t hex_read(const char *text, uint8_t *bytes, size_t most)
{
	size_t count = 0, digits = text ? strspn(text, "0123456789abcdefABCDEF") : 0;
	unsigned byte;

	for (;
	     count < most && 2 * count + 1 < digits && sscanf(text + 2 * count, "%2x", &byte) == 1;
	     count++)
		bytes[count] = (uint8_t)byte;
	return count;
}

/* The address that the file gives to its first byte; 0 for most. */
static bool base_of(const struct hp_spaces *spaces, const char *path, uint64_t *base)
{
	struct hp_user user = hp_spaces_user(spaces);
	int fd = hp_openat_as(&user, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	Elf64_Ehdr header;
	bool is_known = false;

	if (fd >= 0 && pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
	    memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
	    header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_phentsize == sizeof(Elf64_Phdr))
		for (uint32_t i = 0; !is_known && i < header.e_phnum; i++) {
			Elf64_Phdr p;
			off_t place = (off_t)(header.e_phoff + i * sizeof(p));

			if (pread(fd, &p, sizeof(p), place) != (ssize_t)sizeof(p))
				break;
			is_known = p.p_type == PT_LOAD;
			*base = p.p_vaddr - p.p_offset;
		}
	if (fd >= 0)
		close(fd);
	return is_known;
}

static void lib_read(struct reader *r, const cJSON *json, struct lib *lib)
{
	const char *path = cJSON_GetStringValue(part(json, "debugPath"));
	uint8_t id[32];
	size_t size = hex_read(cJSON_GetStringValue(part(json, "codeId")), id, sizeof(id));

	if (!path || !*path)
		path = cJSON_GetStringValue(part(json, "path"));
	if (!path)
		return;
	if (strncmp(path, "[kernel", 7) == 0) {
		lib->object = hp_spaces_kernel(&r->spaces);
		return;
	}
	lib->is_known = strcmp(path, "[vdso]") == 0 || base_of(&r->spaces, path, &lib->base);
	lib->object = hp_spaces_object(&r->spaces, path, id, size);
}

static void libs_read(struct reader *r, const cJSON *root)
{
	const cJSON *libs = part(root, "libs"), *lib;

	r->libs = calloc((size_t)cJSON_GetArraySize(libs) + 1, sizeof(*r->libs));
	if (!r->libs)
		return;
	cJSON_ArrayForEach(lib, libs) lib_read(r, lib, &r->libs[r->lib_count++]);
}

/* ---- samples ---- */

/* If nothing is known about the file, only its name can be shown. */
static struct hp_place place_of(const struct reader *r, const struct tables *t, double frame)
{
	double resource = value(&t->resource, value(&t->func, frame));
	double lib = value(&t->lib, resource), address = value(&t->address, frame);
	const struct lib *l;

	if (lib < 0 || lib >= (double)r->lib_count || address < 0)
		return (struct hp_place){ .address = whole(address) };
	l = &r->libs[(size_t)lib];
	return (struct hp_place){ l->is_known ? whole(address) + l->base : 0, l->object };
}

static uint32_t node_of(struct reader *r, const struct tables *t, double stack)
{
	struct hp_place places[HP_PLACES_MAX];
	uint32_t count = 0;
	bool is_folded;

	if (stack < 0 || stack >= (double)t->frame.count)
		return 0;
	uint32_t *node = &t->nodes[(size_t)stack];
	if (*node != NOT_YET)
		return *node;
	/* A prefix comes before its stack, so this ends. */
	for (double at = stack, up; at >= 0 && count < HP_PLACES_MAX; at = up) {
		places[count++] = place_of(r, t, value(&t->frame, at));
		up = value(&t->prefix, at);
		if (up >= at)
			break;
	}
	*node = hp_sample_tree_at(&r->tree, places, count, &is_folded);
	return *node;
}

static void samples_add(struct reader *r, const struct tables *t)
{
	for (size_t i = 0; i < t->stack.count; i++) {
		double delta = value(&t->delta, (double)i), weight = value(&t->weight, (double)i);
		double ns = delta >= 0 ? delta * 1000 : (weight >= 0 ? weight : 1) * r->interval_ns;
		uint32_t number = node_of(r, t, t->stack.at[i]);
		struct hp_stack_node *node = hp_sample_tree_node(&r->tree, number);

		node->samples++;
		node->cpu_ns += whole(ns);
		r->record->samples++;
		r->record->cpu_ns += whole(ns);
	}
}

static void thread_read(struct reader *r, const cJSON *thread)
{
	const cJSON *samples = part(thread, "samples"), *stacks = part(thread, "stackTable");
	const cJSON *frames = part(thread, "frameTable");
	struct tables t = {
		.stack = column_of(samples, "stack"),
		.weight = column_of(samples, "weight"),
		.delta = column_of(samples, "threadCPUDelta"),
		.prefix = column_of(stacks, "prefix"),
		.frame = column_of(stacks, "frame"),
		.address = column_of(frames, "address"),
		.func = column_of(frames, "func"),
		.resource = column_of(part(thread, "funcTable"), "resource"),
		.lib = column_of(part(thread, "resourceTable"), "lib"),
	};
	struct column *all[] = { &t.stack,   &t.weight, &t.delta,    &t.prefix, &t.frame,
				 &t.address, &t.func,	&t.resource, &t.lib };

	t.nodes = malloc((t.frame.count + 1) * sizeof(*t.nodes));
	if (t.nodes) {
		memset(t.nodes, 0xff, (t.frame.count + 1) * sizeof(*t.nodes));
		samples_add(r, &t);
	}
	free(t.nodes);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		free(all[i]->at);
}

bool hp_samply_read(const struct hp_segment *segment, struct hp_sampling *record, const char *path,
		    char error[HP_SAMPLY_TEXT])
{
	struct reader r = { .segment = segment, .record = record, .interval_ns = 1e6 };
	char *text = text_of(path, error);
	cJSON *root = text ? cJSON_Parse(text) : NULL;
	const cJSON *interval = part(part(root, "meta"), "interval"), *thread;

	free(text);
	if (!text)
		return false;
	if (cJSON_IsNumber(interval) && interval->valuedouble > 0)
		r.interval_ns = interval->valuedouble * 1e6;
	if (!cJSON_IsArray(part(root, "threads"))) {
		snprintf(error, HP_SAMPLY_TEXT, "failed to parse the profile %.512s", path);
		cJSON_Delete(root);
		return false;
	}
	hp_spaces_init(&r.spaces, segment);
	libs_read(&r, root);
	bool is_good = r.libs && hp_sample_tree_init(&r.tree, segment, record);
	if (is_good)
		cJSON_ArrayForEach(thread, part(root, "threads")) thread_read(&r, thread);
	hp_sample_tree_release(&r.tree);
	hp_spaces_release(&r.spaces);
	free(r.libs);
	cJSON_Delete(root);
	if (record->samples)
		return true;
	snprintf(error, HP_SAMPLY_TEXT, "no data in the profile %.512s", path);
	return false;
}
