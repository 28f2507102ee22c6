/* SPDX-License-Identifier: MIT */
/*
 * pprof.c - see pprof.h.
 */
#include "report/export/pprof.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "report/base/memory.h"

static void byte_put(struct hp_pprof_bytes *b, unsigned char byte)
{
	b->at = hp_xgrow(b->at, b->count, &b->room, 1);
	b->at[b->count++] = byte;
}

void hp_pprof_varint(struct hp_pprof_bytes *b, uint64_t value)
{
	for (; value >= 128; value >>= 7)
		byte_put(b, (unsigned char)(value | 128));
	byte_put(b, (unsigned char)value);
}

void hp_pprof_number(struct hp_pprof_bytes *b, unsigned field, uint64_t value)
{
	if (!value)
		return;
	hp_pprof_varint(b, (uint64_t)field << 3);
	hp_pprof_varint(b, value);
}

static void bytes_put(struct hp_pprof_bytes *b, unsigned field, const void *at, size_t count)
{
	hp_pprof_varint(b, (uint64_t)field << 3 | 2);
	hp_pprof_varint(b, count);
	for (size_t i = 0; i < count; i++)
		byte_put(b, ((const unsigned char *)at)[i]);
}

void hp_pprof_message(struct hp_pprof_bytes *b, unsigned field, struct hp_pprof_bytes *message)
{
	bytes_put(b, field, message->at, message->count);
	message->count = 0;
}

uint64_t hp_pprof_string(struct hp_pprof *p, const char *text)
{
	bytes_put(&p->strings, 6, text, strlen(text));
	return p->string_count++;
}

void hp_pprof_init(struct hp_pprof *p)
{
	*p = (struct hp_pprof){ .string_count = 0 };
	hp_pprof_string(p, "");
}

void hp_pprof_release(struct hp_pprof *p)
{
	free(p->all.at);
	free(p->strings.at);
}

void hp_pprof_type(struct hp_pprof *p, unsigned field, const char *type, const char *unit)
{
	struct hp_pprof_bytes m = { .at = NULL };

	hp_pprof_number(&m, 1, hp_pprof_string(p, type));
	hp_pprof_number(&m, 2, hp_pprof_string(p, unit));
	hp_pprof_message(&p->all, field, &m);
	free(m.at);
}

void hp_pprof_function(struct hp_pprof *p, uint64_t id, const char *name, const char *file)
{
	struct hp_pprof_bytes m = { .at = NULL };

	hp_pprof_number(&m, 1, id);
	hp_pprof_number(&m, 2, hp_pprof_string(p, name));
	/* With its system_name (3) the same, go tool pprof would take brackets out: "app::::f". */
	if (file)
		hp_pprof_number(&m, 4, hp_pprof_string(p, file));
	hp_pprof_message(&p->all, 5, &m);
	free(m.at);
}

int hp_pprof_write(const struct hp_pprof *p, int fd)
{
	int copy = dup(fd);
	gzFile out = copy < 0 ? NULL : gzdopen(copy, "wb6");
	const struct hp_pprof_bytes *parts[] = { &p->all, &p->strings };
	bool is_good = out != NULL;

	if (!out)
		return -errno;
	for (int i = 0; i < 2 && is_good; i++)
		is_good = gzwrite(out, parts[i]->at, (unsigned)parts[i]->count) ==
			  (int)parts[i]->count;
	return gzclose(out) == Z_OK && is_good ? 0 : -EIO;
}
