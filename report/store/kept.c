/* SPDX-License-Identifier: MIT */
/*
 * kept.c - see kept.h.
 *
 * A segment is mostly holes: partly filled chunks, and groups of counters with
 * few values. So only non-empty lines (HP_LINE bytes) are written, in runs,
 * each with its offset; zlib does the rest.
 *
 * Input is untrusted. Pieces must be in ascending order and below the header's
 * `used`, so no byte is written twice. Sizes are checked before memory is
 * allocated, and memory is only used where something is written.
 */
#include "report/store/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "report/base/memory.h"

#define PIECE_MAX (UINT32_C(1) << 20)
#define RUN_MAX (PIECE_MAX - HP_LINE)
#define BUFFER_SIZE (64 << 10)
#define LEVEL "wb1" /* 6 saves a fifth of the size and takes three times as long */

static_assert(sizeof(struct hp_kept_piece) == 8, "format: readers rely on it");

/* The start of the file. */
struct start {
	uint64_t magic;
	uint32_t version;
	uint32_t reserved;
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* --- writing --- */

struct hp_kept_writer {
	const struct hp_kept_source *source;
	struct hp_header header; /* copied from the source, whose owner may change it meanwhile */
	gzFile out;
	int error; /* errno of the first failure */
	uint64_t pieces;
	uint64_t bytes;
	uint64_t run_at; /* offset of the lines pending in `run` */
	size_t run_size;
	char *run; /* PIECE_MAX */
	char *copy; /* HP_THIN_RECORD_MAX */
};

static void put(struct hp_kept_writer *writer, const void *bytes, size_t size)
{
	if (writer->error || size == 0)
		return;
	errno = 0;
	if (gzwrite(writer->out, bytes, (unsigned)size) != (int)size)
		writer->error = errno ? errno : EIO;
}

static void piece_put(struct hp_kept_writer *writer, enum hp_kept_kind kind, const void *bytes,
		      size_t size)
{
	struct hp_kept_piece piece = { kind, (uint32_t)size };

	put(writer, &piece, sizeof(piece));
	put(writer, bytes, size);
	writer->pieces++;
}

static void text_put(struct hp_kept_writer *writer, enum hp_kept_kind kind, const char *text)
{
	for (size_t left = strlen(text), size; left; text += size, left -= size) {
		size = least(left, PIECE_MAX);
		piece_put(writer, kind, text, size);
	}
}

static void run_end(struct hp_kept_writer *writer)
{
	struct hp_kept_piece piece = { HP_KEPT_BYTES,
				       (uint32_t)(sizeof(writer->run_at) + writer->run_size) };

	if (writer->run_size == 0)
		return;
	put(writer, &piece, sizeof(piece));
	put(writer, &writer->run_at, sizeof(writer->run_at));
	put(writer, writer->run, writer->run_size);
	writer->pieces++;
	writer->bytes += writer->run_size;
	writer->run_size = 0;
	if (writer->bytes > HP_KEPT_BYTES_MAX)
		writer->error = EFBIG;
}

/* `size` bytes of one run. */
static void run_add(struct hp_kept_writer *writer, uint64_t offset, const char *bytes, size_t size)
{
	if (writer->run_at + writer->run_size != offset || writer->run_size + size > RUN_MAX)
		run_end(writer);
	if (writer->run_size == 0)
		writer->run_at = offset;
	memcpy(writer->run + writer->run_size, bytes, size);
	writer->run_size += size;
}

static bool is_empty(const char *line)
{
	uint64_t words[HP_LINE / 8], any = 0;

	memcpy(words, line, sizeof(words));
	for (size_t i = 0; i < HP_LINE / 8; i++)
		any |= words[i];
	return any == 0;
}

/* Non-empty lines. */
static void lines_put(struct hp_kept_writer *writer, uint64_t offset, const char *bytes,
		      size_t size)
{
	for (size_t i = 0; i < size; i += HP_LINE)
		if (!is_empty(bytes + i))
			run_add(writer, offset + i, bytes + i, HP_LINE);
}

/* The part from `offset` up to `end`, without omitted lines. Returns the offset reached. */
static uint64_t part_put(struct hp_kept_writer *writer, const struct hp_kept_source *source,
			 uint64_t offset, uint64_t end)
{
	const char *bytes = (const char *)source->segment->header;

	while (offset < end && !writer->error) {
		size_t size = source->thin ? hp_thin_copy(source->thin, offset, writer->copy) : 0;

		if (size)
			lines_put(writer, offset, writer->copy, size);
		else if (!source->thin || !hp_thin_drops(source->thin, offset))
			lines_put(writer, offset, bytes + offset, HP_LINE);
		offset += size ? size : HP_LINE;
	}
	return offset;
}

/* Finds the next part of the file after `*to` that is not a hole; false = none. */
static bool next_data(int fd, uint64_t *from, uint64_t *to, uint64_t end)
{
	off_t data = fd >= 0 ? lseek(fd, (off_t)*to, SEEK_DATA) : -1;
	off_t hole = data >= 0 ? lseek(fd, data, SEEK_HOLE) : -1;

	if (*to >= end || (data < 0 && fd >= 0 && errno == ENXIO))
		return false;
	/* If the kernel cannot tell, treat everything as data. */
	*from = data >= 0 ? (uint64_t)data & ~(uint64_t)(HP_LINE - 1) : *to;
	*to = hole >= 0 ? least((uint64_t)hole & ~(uint64_t)(HP_LINE - 1), end) : end;
	return *from < *to;
}

/* The used part of one of the segments, stored in file `fd` (-1 = none). */
static void range_put(struct hp_kept_writer *writer, const struct hp_kept_source *source, int fd,
		      uint64_t begin, uint64_t end)
{
	uint64_t from = begin, to = begin, done = begin;

	while (!writer->error && next_data(fd, &from, &to, end))
		done = part_put(writer, source, from > done ? from : done, to);
}

static uint32_t flags_of(const struct hp_segment *segment, uint64_t begin, uint32_t flags)
{
	const struct hp_header *header = (const void *)((const char *)segment->header + begin);
	bool is_lost = atomic_load(&header->refused) || atomic_load(&header->lost_calls) ||
		       atomic_load(&header->lost_threads);

	return (flags & HP_LEVEL_OWNED) | HP_LEVEL_KEPT | (is_lost ? HP_LEVEL_LOST : 0);
}

/* A whole segment has them. */
static const struct hp_levels *levels_of(const struct hp_segment *segment)
{
	return (const void *)((const char *)segment->header + HP_LEVELS_AT);
}

/* What is known of the segment that begins there. */
static struct hp_level_place place_of(const struct hp_segment *segment, uint64_t begin)
{
	const struct hp_levels *levels = levels_of(segment);
	struct hp_level_place place = { .begin = begin };

	for (uint32_t i = 0; i < HP_LEVELS_MAX; i++) {
		if (levels->at[i].begin != begin)
			continue;
		place = levels->at[i];
		place.end = 0;
		break;
	}
	place.flags = flags_of(segment, begin, place.flags);
	return place;
}

/* The offsets and owners of the segments of other levels, then each segment without its header. */
static void levels_put(struct hp_kept_writer *writer, const struct hp_segment *segment)
{
	const struct hp_parts *parts = &segment->parts;
	const struct hp_levels *own = levels_of(segment);
	struct hp_levels levels = {
		.count = parts->count,
		.refused = atomic_load(&own->refused),
		.is_tainted = atomic_load(&own->is_tainted),
		.flags = flags_of(segment, 0, own->flags),
		.user = own->user,
		.group = own->group,
		.used = atomic_load(&segment->header->used),
	};

	for (uint32_t i = 0; i < parts->count; i++)
		levels.at[i] = place_of(segment, parts->begin[i]);
	lines_put(writer, HP_LEVELS_AT, (const char *)&levels, sizeof(levels));
}

static void parts_put(struct hp_kept_writer *writer, const struct hp_kept_source *source,
		      uint64_t end)
{
	const struct hp_parts *parts = &source->segment->parts;

	range_put(writer, source, source->fd, HP_PAGE,
		  parts->count ? least(parts->begin[0], end) : end);
	for (uint32_t i = 0; i < parts->count; i++) {
		uint64_t first = parts->begin[i] + HP_PAGE;

		range_put(writer, source, -1, parts->begin[i], first);
		range_put(writer, source, parts->fd[i], first,
			  i + 1 < parts->count ? least(parts->begin[i + 1], end) : end);
	}
}

/* A report about the past needs three words of the data after the header: */
static void ticking_put(struct hp_kept_writer *writer, const struct hp_kept_source *source)
{
	struct hp_ticking ticking, kept = { .low_hz = 0 };

	memcpy(&ticking, (const char *)source->segment->header + HP_TICKING_AT, sizeof(ticking));
	kept.low_hz = ticking.low_hz;
	kept.first_hz = ticking.first_hz;
	kept.trouble = ticking.trouble;
	lines_put(writer, HP_TICKING_AT, (const char *)&kept, sizeof(kept));
}

/* the rate of the sampler's lock checks. */
static void looks_put(struct hp_kept_writer *writer, const struct hp_kept_source *source)
{
	const struct hp_looks *looks = hp_segment_looks(source->segment);
	struct hp_looks kept = { .gap = atomic_load(&looks->gap),
				 .gap_most = atomic_load(&looks->gap_most) };

	lines_put(writer, HP_LOOKS_AT, (const char *)&kept, sizeof(kept));
}

static void recorded_put(struct hp_kept_writer *writer, const struct hp_kept_source *source)
{
	struct hp_recorded recorded = {
		.kinds = hp_segment_recorded_kinds(source->segment),
		.helper_cpu_ns = hp_segment_helper_cpu_ns(source->segment),
		.interrupt_ns = hp_segment_interrupt_ns(source->segment),
		.suspended_ns = hp_segment_suspended_ns(source->segment),
		.bare_fine = hp_segment_bare_fine(source->segment),
	};

	lines_put(writer, HP_RECORDED_AT, (const char *)&recorded, sizeof(recorded));
}

static void segment_put(struct hp_kept_writer *writer, const struct hp_kept_source *source)
{
	uint64_t end = source->segment->size & ~(uint64_t)(HP_LINE - 1);
	struct hp_header header;

	memcpy(&header, &writer->header, sizeof(header));
	header.used = end + (source->thin ? source->thin->more_size : 0);
	if (header.size < header.used)
		header.size = (header.used + HP_PAGE - 1) & ~(uint64_t)(HP_PAGE - 1);
	run_add(writer, 0, (const char *)&header, sizeof(header));
	run_end(writer);
	ticking_put(writer, source);
	looks_put(writer, source);
	recorded_put(writer, source);
	levels_put(writer, source->segment);
	parts_put(writer, source, end);
	if (source->thin)
		lines_put(writer, end, source->thin->more, source->thin->more_size);
	run_end(writer);
}

struct hp_kept_writer *hp_kept_begin(int fd, const struct hp_kept_source *source)
{
	struct start start = { HP_KEPT_MAGIC, HP_KEPT_VERSION, 0 };
	struct hp_kept_writer *writer;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	gzFile out = copy < 0 ? NULL : gzdopen(copy, LEVEL);

	if (!out) {
		if (copy >= 0)
			close(copy);
		return NULL;
	}
	gzbuffer(out, BUFFER_SIZE);
	writer = hp_xcalloc(1, sizeof(*writer));
	writer->source = source;
	writer->out = out;
	memcpy(&writer->header, source->header, sizeof(writer->header));
	writer->run = hp_xmalloc(RUN_MAX);
	writer->copy = hp_xmalloc(HP_THIN_RECORD_MAX);
	put(writer, &start, sizeof(start));
	text_put(writer, HP_KEPT_FACTS, source->facts);
	return writer;
}

void hp_kept_segment(struct hp_kept_writer *writer)
{
	segment_put(writer, writer->source);
}

int hp_kept_end(struct hp_kept_writer *writer, const char *names)
{
	int error;

	text_put(writer, HP_KEPT_NAMES, names);
	piece_put(writer, HP_KEPT_END, &writer->pieces, sizeof(writer->pieces));
	errno = 0;
	if (gzclose(writer->out) != Z_OK && !writer->error)
		writer->error = errno ? errno : EIO;
	error = -writer->error;
	free(writer->run);
	free(writer->copy);
	free(writer);
	return error;
}

/* --- reading --- */

struct text {
	char *bytes; /* 0-terminated; NULL = none yet */
	size_t used;
	size_t room;
};

struct reader {
	gzFile in;
	enum hp_segment_fault fault;
	struct hp_kept *kept;
	uint64_t pieces;
	uint64_t bytes;
	uint64_t end; /* of the last run */
	struct text facts;
	struct text names;
};

static bool fail(struct reader *reader, enum hp_segment_fault fault)
{
	if (reader->fault == HP_SEGMENT_FINE)
		reader->fault = fault;
	return false;
}

/* How zlib reports a short read. */
static enum hp_segment_fault fault_of(gzFile in)
{
	int error = Z_OK;

	gzerror(in, &error);
	switch (error) {
	case Z_ERRNO:
	case Z_MEM_ERROR:
		return HP_SEGMENT_UNMAPPED;
	case Z_DATA_ERROR:
	case Z_STREAM_ERROR:
		return HP_SEGMENT_CORRUPTED;
	default:
		return HP_SEGMENT_TRUNCATED;
	}
}

static bool get(struct reader *reader, void *bytes, size_t size)
{
	if (reader->fault != HP_SEGMENT_FINE)
		return false;
	if (size && gzread(reader->in, bytes, (unsigned)size) != (int)size)
		return fail(reader, fault_of(reader->in));
	return true;
}

static bool skip(struct reader *reader, uint32_t size)
{
	char bytes[4096];

	for (; size; size -= (uint32_t)least(size, sizeof(bytes)))
		if (!get(reader, bytes, least(size, sizeof(bytes))))
			return false;
	return true;
}

static bool text_get(struct reader *reader, struct text *text, uint32_t size, uint64_t most)
{
	if (size > PIECE_MAX || text->used + size > most)
		return fail(reader, HP_SEGMENT_CORRUPTED);
	if (text->used + size >= text->room) {
		text->room = 2 * (text->used + size + 1);
		text->bytes = hp_xrealloc(text->bytes, text->room, 1);
	}
	text->bytes[text->used] = 0;
	if (!get(reader, text->bytes + text->used, size))
		return false;
	text->used += size;
	text->bytes[text->used] = 0;
	return true;
}

/* The header determines the memory size. */
static bool segment_begin(struct reader *reader, const struct hp_header *header)
{
	struct hp_segment *segment = &reader->kept->segment;
	uint64_t size = least(header->used, header->size);
	enum hp_segment_fault fault = hp_segment_check(header, size);

	if (fault != HP_SEGMENT_FINE)
		return fail(reader, fault);
	size &= ~(uint64_t)(HP_LINE - 1);
	segment->header = mmap(NULL, size, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (segment->header == MAP_FAILED) {
		segment->header = NULL;
		return fail(reader, HP_SEGMENT_UNMAPPED);
	}
	segment->size = size;
	memcpy(segment->header, header, sizeof(*header));
	reader->end = sizeof(*header);
	return true;
}

static bool run_get(struct reader *reader, uint32_t size)
{
	const struct hp_segment *segment = &reader->kept->segment;
	struct hp_header header;
	uint64_t offset;

	if (size < sizeof(offset) || size % 8 || !get(reader, &offset, sizeof(offset)))
		return fail(reader, HP_SEGMENT_CORRUPTED);
	size -= (uint32_t)sizeof(offset);
	if (!segment->header) {
		if (offset || size != sizeof(header))
			return fail(reader, HP_SEGMENT_CORRUPTED);
		return get(reader, &header, sizeof(header)) && segment_begin(reader, &header);
	}
	reader->bytes += size;
	if (size % HP_LINE || offset % HP_LINE || offset < reader->end || offset > segment->size ||
	    size > segment->size - offset || reader->bytes > HP_KEPT_BYTES_MAX)
		return fail(reader, HP_SEGMENT_CORRUPTED);
	reader->end = offset + size;
	return get(reader, (char *)segment->header + offset, size);
}

/* The last piece, and zlib's checksum after it. */
static bool end_get(struct reader *reader, uint32_t size)
{
	uint64_t pieces;
	char more;
	int got;

	if (size != sizeof(pieces) || !get(reader, &pieces, sizeof(pieces)))
		return fail(reader, HP_SEGMENT_CORRUPTED);
	if (pieces != reader->pieces || !reader->kept->segment.header)
		return fail(reader, HP_SEGMENT_CORRUPTED);
	got = gzread(reader->in, &more, 1);
	if (got > 0)
		return fail(reader, HP_SEGMENT_CORRUPTED);
	gzerror(reader->in, &got);
	return got == Z_OK || got == Z_STREAM_END ? true : fail(reader, fault_of(reader->in));
}

static bool piece_get(struct reader *reader, const struct hp_kept_piece *piece)
{
	switch (piece->kind) {
	case HP_KEPT_FACTS:
		return text_get(reader, &reader->facts, piece->size, HP_KEPT_FACTS_MAX);
	case HP_KEPT_NAMES:
		return text_get(reader, &reader->names, piece->size, HP_KEPT_NAMES_MAX);
	case HP_KEPT_BYTES:
		return run_get(reader, piece->size);
	default:
		if (piece->kind < HP_KEPT_MAY_SKIP)
			return fail(reader, HP_SEGMENT_NEWER);
		return skip(reader, piece->size);
	}
}

static bool pieces_get(struct reader *reader)
{
	struct hp_kept_piece piece;

	while (get(reader, &piece, sizeof(piece))) {
		if (piece.kind == HP_KEPT_END)
			return end_get(reader, piece.size);
		if (!piece_get(reader, &piece))
			return false;
		reader->pieces++;
	}
	return false;
}

/* A plain segment from a pipe or packed: its used part. */
static bool segment_get(struct reader *reader, const struct start *start)
{
	struct hp_segment *segment = &reader->kept->segment;
	struct hp_header header;

	memcpy(&header, start, sizeof(*start));
	if (!get(reader, (char *)&header + sizeof(*start), sizeof(header) - sizeof(*start)) ||
	    !segment_begin(reader, &header))
		return false;
	reader->bytes = segment->size;
	if (reader->bytes > HP_KEPT_BYTES_MAX)
		return fail(reader, HP_SEGMENT_UNMAPPED);
	while (reader->end < segment->size) {
		uint64_t size = least(segment->size - reader->end, PIECE_MAX);

		if (!get(reader, (char *)segment->header + reader->end, size))
			return false;
		reader->end += size;
	}
	return true;
}

static bool start_get(struct reader *reader, struct start *start)
{
	if (!get(reader, start, sizeof(*start))) {
		/* Too short to be valid, unless it begins like a packed file. */
		if (reader->fault == HP_SEGMENT_TRUNCATED && gzdirect(reader->in))
			reader->fault = HP_SEGMENT_FOREIGN;
		return false;
	}
	if (start->magic == HP_MAGIC)
		return true;
	if (start->magic != HP_KEPT_MAGIC)
		return fail(reader, HP_SEGMENT_FOREIGN);
	return start->version == HP_KEPT_VERSION || fail(reader, HP_SEGMENT_NEWER);
}

static gzFile stream_open(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	gzFile in = copy < 0 ? NULL : gzdopen(copy, "rb");

	if (!in && copy >= 0)
		close(copy);
	if (in)
		gzbuffer(in, BUFFER_SIZE);
	return in;
}

enum hp_segment_fault hp_kept_read(struct hp_kept *kept, int fd)
{
	struct hp_user owner = hp_segment_owner(fd);
	struct reader reader = { .in = stream_open(fd), .kept = kept };
	struct start start;

	*kept = (struct hp_kept){ .segment = HP_SEGMENT_NONE };
	if (!reader.in)
		return HP_SEGMENT_UNMAPPED;
	if (start_get(&reader, &start)) {
		if (start.magic == HP_MAGIC)
			segment_get(&reader, &start);
		else
			pieces_get(&reader);
	}
	gzclose(reader.in);
	kept->facts = reader.facts.bytes;
	kept->names = reader.names.bytes;
	if (reader.fault != HP_SEGMENT_FINE) {
		hp_kept_release(kept);
		return reader.fault;
	}
	/* No record in a list is all zeros. */
	kept->segment.records_most = reader.bytes / HP_LINE + 1;
	kept->segment.owner = owner;
	if (start.magic == HP_KEPT_MAGIC) {
		kept->facts = kept->facts ? kept->facts : hp_xstrdup("");
		kept->names = kept->names ? kept->names : hp_xstrdup("");
	}
	return HP_SEGMENT_FINE;
}

char *hp_kept_facts(int fd)
{
	struct hp_kept kept = { .segment = HP_SEGMENT_NONE };
	struct reader reader = { .in = stream_open(fd), .kept = &kept };
	struct hp_kept_piece piece;
	struct start start;

	if (!reader.in)
		return NULL;
	bool is_kept = start_get(&reader, &start) && start.magic == HP_KEPT_MAGIC &&
		       get(&reader, &piece, sizeof(piece)) && piece.kind == HP_KEPT_FACTS &&
		       piece_get(&reader, &piece);
	gzclose(reader.in);
	if (is_kept)
		return reader.facts.bytes;
	free(reader.facts.bytes);
	return NULL;
}

void hp_kept_release(struct hp_kept *kept)
{
	hp_segment_release(&kept->segment);
	free(kept->facts);
	free(kept->names);
	*kept = (struct hp_kept){ .segment = HP_SEGMENT_NONE };
}
