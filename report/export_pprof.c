/* SPDX-License-Identifier: MIT */
/*
 * export_pprof.c - pprof's profile.proto, packed by gzip: `go tool pprof`.
 *
 * Messages are built in memory, innermost first, since each is preceded by its
 * length.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "report/export.h"
#include "report/map.h"
#include "report/memory.h"

struct bytes {
	unsigned char *at;
	size_t count;
	size_t room;
};

static void byte_put(struct bytes *b, unsigned char byte)
{
	b->at = hp_xgrow(b->at, b->count, &b->room, 1);
	b->at[b->count++] = byte;
}

static void varint_put(struct bytes *b, uint64_t value)
{
	for (; value >= 128; value >>= 7)
		byte_put(b, (unsigned char)(value | 128));
	byte_put(b, (unsigned char)value);
}

static void number_put(struct bytes *b, unsigned field, uint64_t value)
{
	if (!value)
		return;
	varint_put(b, (uint64_t)field << 3);
	varint_put(b, value);
}

static void bytes_put(struct bytes *b, unsigned field, const void *at, size_t count)
{
	varint_put(b, (uint64_t)field << 3 | 2);
	varint_put(b, count);
	for (size_t i = 0; i < count; i++)
		byte_put(b, ((const unsigned char *)at)[i]);
}

/* Puts a message into another one, and empties it. */
static void message_put(struct bytes *b, unsigned field, struct bytes *message)
{
	bytes_put(b, field, message->at, message->count);
	message->count = 0;
}

struct profile {
	struct bytes all;
	struct bytes strings;	/* their messages */
	uint64_t string_count;
};

static uint64_t string_put(struct profile *p, const char *text)
{
	bytes_put(&p->strings, 6, text, strlen(text));
	return p->string_count++;
}

static void type_put(struct profile *p, unsigned field, const char *type, const char *unit)
{
	struct bytes m = { .at = NULL };

	number_put(&m, 1, string_put(p, type));
	number_put(&m, 2, string_put(p, unit));
	message_put(&p->all, field, &m);
	free(m.at);
}

static void functions_put(struct profile *p, struct hp_report *report)
{
	struct bytes m = { .at = NULL };

	for (size_t i = 0; i < report->cpu->function_count; i++) {
		uint64_t name = string_put(p, hp_cpu_name(report, &report->cpu->functions[i]));

		number_put(&m, 1, i + 1);
		number_put(&m, 2, name);
		number_put(&m, 3, name);
		message_put(&p->all, 5, &m);
	}
	free(m.at);
}

static void locations_put(struct profile *p, const struct hp_cpu *cpu)
{
	struct bytes m = { .at = NULL }, line = { .at = NULL };

	for (size_t i = 0; i < cpu->place_count; i++) {
		const struct hp_cpu_place *place = &cpu->places[i];

		number_put(&m, 1, i + 1);
		number_put(&m, 3, place->address);
		for (uint32_t f = 0; f < place->count; f++) {
			const struct hp_cpu_frame *frame = &cpu->frames[place->first + f];

			number_put(&line, 1, frame->function + 1u);
			number_put(&line, 2, frame->line > 0 ? (uint64_t)frame->line : 0);
			message_put(&m, 4, &line);
		}
		message_put(&p->all, 4, &m);
	}
	free(m.at);
	free(line.at);
}

static void samples_put(struct profile *p, const struct hp_report *report)
{
	const struct hp_model_sampling *sampling = &report->model.sampling;
	struct bytes m = { .at = NULL }, packed = { .at = NULL };

	for (uint32_t i = 1; i < sampling->stack_count; i++) {
		if (!sampling->stacks[i].samples)
			continue;
		for (uint32_t at = i; at; at = sampling->stacks[at].parent)
			varint_put(&packed, report->cpu->of_stack[at] + 1u);
		message_put(&m, 1, &packed);
		varint_put(&packed, sampling->stacks[i].samples);
		varint_put(&packed, sampling->stacks[i].cpu_ns);
		message_put(&m, 2, &packed);
		message_put(&p->all, 2, &m);
	}
	free(m.at);
	free(packed.at);
}

static int pack(const struct profile *p, int fd)
{
	int copy = dup(fd);
	gzFile out = copy < 0 ? NULL : gzdopen(copy, "wb6");
	const struct bytes *parts[] = { &p->all, &p->strings };
	bool is_good = out != NULL;

	if (!out)
		return -errno;
	for (int i = 0; i < 2 && is_good; i++)
		is_good = gzwrite(out, parts[i]->at, (unsigned)parts[i]->count) ==
			  (int)parts[i]->count;
	return gzclose(out) == Z_OK && is_good ? 0 : -EIO;
}

int hp_export_pprof(struct hp_report *report, int fd)
{
	const struct hp_sampling *record = &report->model.sampling.record;
	struct profile p = { .string_count = 0 };
	int error;

	hp_report_cpu(report);
	string_put(&p, "");
	type_put(&p, 1, "samples", "count");
	type_put(&p, 1, "cpu", "nanoseconds");
	samples_put(&p, report);
	locations_put(&p, report->cpu);
	functions_put(&p, report);
	number_put(&p.all, 9, (uint64_t)report->model.reader.header.created_unix_ns);
	number_put(&p.all, 10, report->model.elapsed_ns);
	type_put(&p, 11, "cpu", "nanoseconds");
	number_put(&p.all, 12, record->frequency ? 1000000000 / record->frequency : 0);
	error = pack(&p, fd);
	free(p.all.at);
	free(p.strings.at);
	return error;
}
