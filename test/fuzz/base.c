/* SPDX-License-Identifier: MIT */
/*
 * base.c - see base.h.
 */
#include "test/fuzz/base.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The elements of an input. */
struct change {
	uint8_t kind;	/* enum change_kind */
	uint8_t width;	/* 1, 2, 4 or 8 bytes: its two low bits */
	uint16_t low;	/* of the value, for kinds that need less than all */
	uint32_t place;	/* in units of the width, modulo the used part */
	uint64_t value;
};

enum change_kind {
	CHANGE_SET,	/* the value */
	CHANGE_FLIP,	/* these bits */
	CHANGE_ADD,
	CHANGE_OFFSET,	/* the offset of some line, in bytes */
	CHANGE_LINE,	/* the same in lines */
	CHANGE_COPY,	/* the text elsewhere */
	CHANGE_SWAP,	/* the line with another one */
	CHANGE_WORD,	/* a word that is not 0 gets this value */
	CHANGE_KINDS
};

const struct fuzz_base *fuzz_base(void)
{
	static struct fuzz_base base;
	const char *path = getenv("FUZZ_BASE");
	int fd;

	if (base.used)
		return &base;
	fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0 || hp_kept_read(&base.kept, fd) != HP_SEGMENT_FINE || !base.kept.names) {
		fprintf(stderr, "FUZZ_BASE=%s: no kept run; see test/fuzz/run\n", path ? path : "");
		exit(1);
	}
	close(fd);
	base.used = base.kept.segment.header->used;
	return &base;
}

static uint64_t word_at(const char *at, size_t width)
{
	uint64_t word = 0;

	memcpy(&word, at, width);
	return word;
}

/* The `n`th nonzero word of that width, from a place on. */
static size_t filled(const char *bytes, size_t words, size_t width, size_t from)
{
	for (size_t i = 0; i < words; i++) {
		size_t at = (from + i) % words;

		if (word_at(bytes + at * width, width))
			return at;
	}
	return from;
}

static void swap(char *a, char *b)
{
	char line[HP_LINE];

	memcpy(line, a, HP_LINE);
	memmove(a, b, HP_LINE);
	memcpy(b, line, HP_LINE);
}

/* The first page's first 64 bytes are checked before anything is read; another target tests
 * them. */
static void apply(char *segment, uint64_t used, const struct change *c)
{
	size_t width = (size_t)1 << (c->width & 3);
	char *bytes = segment + HP_LINE;
	uint64_t room = used - HP_LINE, lines = room / HP_LINE;
	size_t words = room / width, place = c->place % words;
	char *at = bytes + place * width;
	uint64_t word = word_at(at, width);

	switch (c->kind % CHANGE_KINDS) {
	case CHANGE_SET:
		word = c->value;
		break;
	case CHANGE_FLIP:
		word ^= c->value;
		break;
	case CHANGE_ADD:
		word += (uint64_t)(int64_t)(int16_t)c->low;
		break;
	case CHANGE_OFFSET:
		word = c->value % lines * HP_LINE;
		break;
	case CHANGE_LINE:
		word = c->value % lines;
		break;
	case CHANGE_COPY:
		word = word_at(bytes + c->value % words * width, width);
		break;
	case CHANGE_SWAP:
		swap(bytes + c->place % lines * HP_LINE, bytes + c->value % lines * HP_LINE);
		return;
	default:
		at = bytes + filled(bytes, words, width, place) * width;
		word = c->value;
		break;
	}
	memcpy(at, &word, width);
}

void fuzz_base_change(char *segment, uint64_t used, const uint8_t *data, size_t size)
{
	struct change change;

	for (; size >= sizeof(change); data += sizeof(change), size -= sizeof(change)) {
		memcpy(&change, data, sizeof(change));
		apply(segment, used, &change);
	}
}

struct hp_segment fuzz_base_changed(const struct fuzz_base *base, const uint8_t *data, size_t size)
{
	char *copy =
		mmap(NULL, base->used, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		abort();
	memcpy(copy, base->kept.segment.header, base->used);
	((struct hp_header *)copy)->size = base->used;
	fuzz_base_change(copy, base->used, data, size);
	return (struct hp_segment){ .header = (struct hp_header *)copy,
				    .size = base->used,
				    .fd = -1,
				    .records_most = base->kept.segment.records_most };
}
