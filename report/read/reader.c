/* SPDX-License-Identifier: MIT */
/*
 * reader.c - checked access to the records of a segment.
 */
#include "report/read/reader.h"

#include <string.h>
#include <sys/mman.h>

#include "report/base/memory.h"
#include "segment/layout/process.h"
#include "segment/clock.h"
#include "segment/seq.h"

#define LEAVE_MIN (UINT64_C(16) << 20) /* bytes */

#define TEXT_MAX 16384

/* Lines that may hold data. */
static uint64_t lines_most(const struct hp_reader *reader)
{
	uint64_t most = reader->segment.size / HP_LINE;

	if (reader->segment.records_most && reader->segment.records_most < most)
		most = reader->segment.records_most;
	return most;
}

/* The upper limit of part `i` of the mapping; part 0 follows the session's own segment. */
static uint64_t part_end(const struct hp_reader *reader, uint32_t i)
{
	const struct hp_parts *parts = &reader->segment.parts;

	return i + 1 < parts->count ? parts->begin[i + 1] : reader->mapped;
}

static void part_init(struct hp_reader *reader, uint32_t i)
{
	uint64_t begin = reader->segment.parts.begin[i], most = part_end(reader, i);
	struct hp_reader_part *part = &reader->parts[i];
	struct hp_header header;

	memcpy(&header, (const char *)reader->segment.header + begin, sizeof(header));
	*part = (struct hp_reader_part){
		.begin = begin,
		.end = header.used < most ? header.used : most,
		.processes = header.processes,
		.objects = header.objects,
	};
	if (part->end < begin + HP_PAGE)
		part->end = begin + HP_PAGE;
	reader->header.refused += header.refused;
	reader->header.lost_calls += header.lost_calls;
	reader->header.lost_threads += header.lost_threads;
	reader->header.joined += header.joined;
	reader->header.threads_seen += header.threads_seen;
	reader->segment.size = part->end;
}

static void parts_init(struct hp_reader *reader)
{
	reader->part_count = reader->segment.parts.count;
	for (uint32_t i = 0; i < reader->part_count; i++)
		part_init(reader, i);
}

uint32_t hp_reader_part_of(const struct hp_reader *reader, uint64_t offset)
{
	uint32_t i = 0;

	while (i < reader->part_count && offset >= reader->parts[i].begin)
		i++;
	return i;
}

/* The first process of this part or a later one. */
static uint64_t first_from(const struct hp_reader *reader, uint32_t part)
{
	for (; part <= reader->part_count; part++) {
		uint64_t at = part ? reader->parts[part - 1].processes : reader->header.processes;

		if (at && hp_reader_part_of(reader, at) == part)
			return at;
	}
	return 0;
}

static uint64_t objects_of(const struct hp_reader *reader, uint64_t begin)
{
	const struct hp_header *header =
		(const void *)((const char *)reader->segment.header + begin);

	return atomic_load_explicit(&header->objects, memory_order_acquire);
}

void hp_reader_objects(struct hp_reader *reader)
{
	reader->header.objects = objects_of(reader, 0);
	for (uint32_t i = 0; i < reader->part_count; i++)
		reader->parts[i].objects = objects_of(reader, reader->parts[i].begin);
}

/* Any process may have written a tainted segment. */
static bool is_tainted(const struct hp_reader *reader, uint64_t begin)
{
	const struct hp_levels *levels =
		(const void *)((const char *)reader->segment.header + begin + HP_LEVELS_AT);

	return atomic_load_explicit(&levels->is_tainted, memory_order_relaxed) != 0;
}

/* The session's own segment names the owners of the others. */
static struct hp_user user_of_part(const struct hp_reader *reader, uint64_t begin)
{
	const struct hp_levels *levels = hp_segment_levels(&reader->segment);

	for (uint32_t i = 0; levels && i < HP_LEVELS_MAX && !is_tainted(reader, begin); i++)
		if (levels->at[i].begin == begin && (levels->at[i].flags & HP_LEVEL_OWNED))
			return (struct hp_user){ true, levels->at[i].user, levels->at[i].group };
	return hp_user_unknown();
}

struct hp_user hp_reader_user(const struct hp_reader *reader, uint32_t part,
			      const struct hp_object *object)
{
	if (reader->segment.owner.is_other)
		return reader->segment.owner;
	if (is_tainted(reader, 0))
		return hp_user_unknown();
	if (part)
		return user_of_part(reader, reader->parts[part - 1].begin);
	return object->has_user ? (struct hp_user){ true, object->user, object->group }
				: (struct hp_user){ false, 0, 0 };
}

uint64_t hp_reader_processes(const struct hp_reader *reader)
{
	return first_from(reader, 0);
}

uint64_t hp_reader_after(struct hp_reader *reader, uint64_t at, uint64_t next)
{
	uint32_t part = hp_reader_part_of(reader, at);

	if (next && hp_reader_part_of(reader, next) == part)
		return next;
	/* A list must not lead into another process's records. */
	reader->is_damaged |= next != 0;
	return first_from(reader, part + 1);
}

void hp_reader_init(struct hp_reader *reader, struct hp_segment *segment)
{
	uint64_t used;

	memset(reader, 0, sizeof(*reader));
	reader->segment = *segment;
	*segment = (struct hp_segment)HP_SEGMENT_NONE;
	memcpy(&reader->header, reader->segment.header, sizeof(reader->header));
	hp_clock_last(reader->segment.header, &reader->header.last);
	if (reader->segment.begin.root_pid) {
		reader->header.root_pid = reader->segment.begin.root_pid;
		reader->header.created_unix_ns = reader->segment.begin.created_unix_ns;
	}
	reader->mapped = reader->segment.size;
	used = reader->header.used;
	if (used < reader->segment.size)
		reader->segment.size = used > HP_PAGE ? used : HP_PAGE;
	parts_init(reader);
	hp_reader_restart(reader, 1);
	reader->groups = lines_most(reader) / (HP_GROUP_SIZE * sizeof(uint32_t) / HP_LINE) + 1;
}

void hp_reader_restart(struct hp_reader *reader, unsigned times)
{
	reader->steps = lines_most(reader) * times;
}

/* Not of an unpacked run: its pages are the only copy. */
void hp_reader_pages_leave(const struct hp_reader *reader)
{
	const struct hp_segment *segment = &reader->segment;

	if (segment->is_shared && !segment->is_lent && segment->size >= LEAVE_MIN)
		madvise(segment->header, segment->size, MADV_DONTNEED);
}

void hp_reader_release(struct hp_reader *reader)
{
	/* An unused reader is all zero, and 0 is stdin's number. */
	if (!reader->segment.header)
		return;
	reader->segment.size = reader->mapped;
	hp_segment_release(&reader->segment);
}

size_t hp_reader_places(const struct hp_reader *reader)
{
	return reader->segment.size / HP_LINE + 1;
}

const void *hp_reader_see(struct hp_reader *reader, uint64_t offset, size_t size)
{
	const void *there = hp_segment_at(&reader->segment, offset, size);

	if (!there && offset)
		reader->is_damaged = true;
	return there;
}

const void *hp_reader_take(struct hp_reader *reader, uint64_t offset, size_t size)
{
	uint64_t lines = (size + HP_LINE - 1) / HP_LINE;

	if (lines > reader->steps) {
		reader->is_damaged = true;
		return NULL;
	}
	reader->steps -= lines;
	return hp_reader_see(reader, offset, size);
}

bool hp_reader_group(struct hp_reader *reader)
{
	if (reader->groups == 0) {
		reader->is_damaged = true;
		return false;
	}
	reader->groups--;
	return true;
}

uint32_t hp_reader_word(struct hp_reader *reader, uint64_t offset, size_t size, size_t at)
{
	const volatile char *there = hp_reader_see(reader, offset, size);

	return there ? *(const volatile uint32_t *)(there + at) : 0;
}

bool hp_reader_copy(struct hp_reader *reader, uint64_t offset, void *record, size_t size)
{
	const void *there = hp_reader_see(reader, offset, size);

	if (there)
		memcpy(record, there, size);
	return there != NULL;
}

bool hp_reader_step(struct hp_reader *reader, uint64_t offset, void *record, size_t size)
{
	if (offset && reader->steps == 0)
		reader->is_damaged = true;
	if (!offset || reader->steps == 0)
		return false;
	reader->steps--;
	return hp_reader_copy(reader, offset, record, size);
}

uint32_t hp_reader_active(struct hp_reader *reader, const struct hp_function *function)
{
	return hp_reader_gist_active(reader, (uint64_t)function->gist * sizeof(struct hp_gist));
}

uint32_t hp_reader_gist_active(struct hp_reader *reader, uint64_t at)
{
	struct hp_gist line[HP_LINE / sizeof(struct hp_gist)];

	if (!hp_reader_copy(reader, at / HP_LINE * HP_LINE, line, sizeof(line)))
		return 0;
	return line[at % HP_LINE / sizeof(line[0])].active;
}

char *hp_reader_text(struct hp_reader *reader, uint64_t offset)
{
	struct hp_text text;
	const char *bytes;
	char *copy;

	if (!hp_reader_copy(reader, offset, &text, sizeof(text)) || text.length > TEXT_MAX)
		return NULL;
	bytes = hp_reader_see(reader, offset, sizeof(text) + text.length);
	if (!bytes)
		return NULL;
	copy = hp_xmalloc(text.length + 1);
	memcpy(copy, bytes + sizeof(text), text.length);
	copy[text.length] = 0;
	return copy;
}

uint64_t hp_reader_end_ticks(const struct hp_reader *reader)
{
	const struct hp_header *header = &reader->header;
	uint64_t end = header->last.ticks;

	if (header->report_word == HP_REPORT_NONE && reader->segment.now.ticks > end)
		end = reader->segment.now.ticks;
	return end > header->start.ticks ? end : header->start.ticks;
}

uint16_t hp_reader_port(const struct hp_reader *reader)
{
	const struct hp_ports *ports =
		reader->mapped < HP_PAGE ? NULL : hp_segment_ports(&reader->segment);

	return ports ? atomic_load_explicit(&ports->at[HP_PORT_METRICS], memory_order_relaxed) : 0;
}

static uint32_t recorded_at(const struct hp_reader *reader, uint64_t begin)
{
	const struct hp_recorded *recorded =
		(const void *)((const char *)reader->segment.header + begin + HP_RECORDED_AT);

	return atomic_load_explicit(&recorded->kinds, memory_order_relaxed);
}

uint32_t hp_reader_recorded(const struct hp_reader *reader)
{
	uint32_t kinds = reader->mapped < HP_PAGE ? 0 : hp_segment_recorded_kinds(&reader->segment);

	for (uint32_t i = 0; i < reader->part_count; i++)
		kinds |= recorded_at(reader, reader->parts[i].begin);
	return kinds;
}

uint32_t hp_reader_interrupt_ns(const struct hp_reader *reader)
{
	return reader->mapped < HP_PAGE ? 0 : hp_segment_interrupt_ns(&reader->segment);
}

uint32_t hp_reader_cores(const struct hp_reader *reader)
{
	return reader->mapped < HP_PAGE ? 0 : hp_segment_cores(&reader->segment);
}

uint64_t hp_reader_suspended_ns(const struct hp_reader *reader)
{
	return reader->mapped < HP_PAGE ? 0 : hp_segment_suspended_ns(&reader->segment);
}

uint32_t hp_reader_bare_fine(const struct hp_reader *reader)
{
	return reader->mapped < HP_PAGE ? 0 : hp_segment_bare_fine(&reader->segment);
}

uint64_t hp_reader_helper_cpu_ns(const struct hp_reader *reader)
{
	return reader->mapped < HP_PAGE ? 0 : hp_segment_helper_cpu_ns(&reader->segment);
}

static uint64_t refusals_at(const struct hp_reader *reader, uint64_t begin)
{
	const struct hp_room *room =
		(const void *)((const char *)reader->segment.header + begin + HP_ROOM_AT);

	return atomic_load_explicit(&room->refusals, memory_order_relaxed);
}

uint32_t hp_reader_folding(const struct hp_reader *reader)
{
	if (reader->mapped < HP_PAGE)
		return 0;
	/* Rows read earlier are not newer than this. */
	atomic_thread_fence(memory_order_acquire);
	return hp_seq_look_32(&hp_segment_recorded_at(&reader->segment)->folding);
}

uint64_t hp_reader_folded(const struct hp_reader *reader)
{
	if (reader->mapped < HP_PAGE)
		return 0;
	return atomic_load_explicit(&hp_segment_recorded_at(&reader->segment)->folded,
				    memory_order_acquire);
}

uint64_t hp_reader_refusals(const struct hp_reader *reader)
{
	uint64_t sum = reader->mapped < HP_PAGE ? 0 : refusals_at(reader, 0);

	for (uint32_t i = 0; i < reader->part_count; i++)
		sum += refusals_at(reader, reader->parts[i].begin);
	return sum;
}
