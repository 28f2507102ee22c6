/* SPDX-License-Identifier: MIT */
/*
 * parts.c - see parts.h.
 *
 * The table of levels is in the segment of the helper's own level and is
 * trusted as much as the rest of that. The header of a further segment is
 * checked against it.
 */
#include "report/store/parts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "segment/guard.h"
#include "segment/session.h"

static bool is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_SHRINK);
}

/* Is that the segment whose offsets begin after `least`? Stores its size in `end`. */
static bool fits(const struct hp_segment *session, const struct hp_level_place *place, int fd,
		 uint64_t least, uint64_t *end)
{
	struct hp_segment level;
	bool is_fit = is_sealed(fd) && hp_segment_map_fd(&level, fd) == HP_SEGMENT_FINE;

	if (!is_fit)
		return false;
	const struct hp_levels *own = hp_segment_levels(&level);
	*end = level.size;
	is_fit = own && own->begin == place->begin && place->begin % HP_PAGE == 0 &&
		 place->begin >= least && place->begin + HP_PAGE < level.size &&
		 level.size == place->end && level.size % HP_PAGE == 0 &&
		 memcmp(level.header->token, session->header->token, HP_TOKEN_SIZE) == 0;
	hp_segment_release(&level);
	return is_fit;
}

static bool map_at(char *base, uint64_t at, uint64_t size, int fd, uint64_t from)
{
	return mmap(base + at, size, PROT_READ, MAP_SHARED | MAP_FIXED, fd, (off_t)from) !=
	       MAP_FAILED;
}

static bool map_all(char *base, const struct hp_segment *session, int fd,
		    const struct hp_parts *parts, const uint64_t *ends)
{
	bool is_mapped = map_at(
		base, 0, session->parts.count ? session->header->size : session->size, fd, 0);

	for (uint32_t i = 0; is_mapped && i < parts->count; i++) {
		uint64_t first = parts->begin[i] + HP_PAGE;

		is_mapped = map_at(base, parts->begin[i], HP_PAGE, parts->fd[i], 0) &&
			    map_at(base, first, ends[i] - first, parts->fd[i], first);
	}
	return is_mapped;
}

uint64_t hp_parts_records_most(const struct hp_segment *segment, int fd)
{
	uint64_t most = hp_segment_records_most(fd, segment->size);

	for (uint32_t i = 0; i < segment->parts.count; i++)
		most += hp_segment_records_most(segment->parts.fd[i], segment->size);
	return most;
}

bool hp_parts_join(struct hp_segment *segment, int fd, const int *fds, unsigned count)
{
	const struct hp_levels *levels = hp_segment_levels(segment);
	/* That of the session itself, if some are mapped already. */
	uint64_t ends[HP_LEVELS_MAX], end = segment->header->size;
	struct hp_parts parts = { .count = 0 };

	for (unsigned i = 0; levels && i < count && i < HP_LEVELS_MAX && i < levels->count; i++) {
		const struct hp_level_place place = levels->at[i];

		if (!fits(segment, &place, fds[i], end, &ends[parts.count]))
			continue;
		end = ends[parts.count];
		parts.begin[parts.count] = place.begin;
		parts.fd[parts.count++] = fds[i];
	}
	if (!parts.count)
		return true;
	/* The gaps between them read as zeros. */
	char *base = mmap(NULL, end, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return false;
	if (!map_all(base, segment, fd, &parts, ends)) {
		munmap(base, end);
		return false;
	}
	hp_guard_remove(segment);
	munmap(segment->header, segment->size);
	segment->header = (struct hp_header *)(void *)base;
	hp_guard_add(segment, fd);
	segment->size = end;
	segment->parts = parts;
	segment->records_most = hp_parts_records_most(segment, fd);
	return true;
}

void hp_parts_adopt(struct hp_segment *segment)
{
	const struct hp_levels *levels = hp_segment_levels(segment);
	uint64_t least = HP_PAGE;

	for (uint32_t i = 0; levels && i < HP_LEVELS_MAX && i < levels->count; i++) {
		struct hp_header *header;
		uint64_t begin = levels->at[i].begin;

		header = begin < least || begin % HP_PAGE ? NULL
							  : hp_segment_at(segment, begin, HP_PAGE);
		if (!header || header->magic != HP_MAGIC)
			return;
		/* The first header has their sums. */
		header->refused = header->lost_calls = header->lost_threads = 0;
		header->joined = header->threads_seen = 0;
		least = begin + HP_PAGE;
		segment->parts.fd[segment->parts.count] = -1;
		segment->parts.begin[segment->parts.count++] = begin;
	}
}

void hp_parts_close(struct hp_segment *segment)
{
	for (uint32_t i = 0; i < segment->parts.count; i++) {
		if (segment->parts.fd[i] >= 0)
			close(segment->parts.fd[i]);
		segment->parts.fd[i] = -1;
	}
}

static bool is_joined(const struct hp_segment *segment, int fd)
{
	for (uint32_t i = 0; i < segment->parts.count; i++)
		if (segment->parts.fd[i] == fd)
			return true;
	return false;
}

void hp_parts_ask(struct hp_segment *segment, int fd)
{
	const struct hp_levels *levels = hp_segment_levels(segment);
	struct hp_segment before = *segment;
	char token[HP_TOKEN_SIZE + 1] = "";
	int fds[1 + HP_LEVELS_MAX], count;

	if (!levels || levels->count <= segment->parts.count)
		return;
	memcpy(token, segment->header->token, HP_TOKEN_SIZE);
	count = hp_session_look_all(token, fds);
	if (count > 1 && hp_parts_join(segment, fd, fds + 1, (unsigned)count - 1))
		hp_parts_close(&before);
	for (int i = 0; i < count; i++)
		if (!is_joined(segment, fds[i]))
			close(fds[i]);
}

unsigned hp_parts_given(int fds[HP_LEVELS_MAX])
{
	const char *text = getenv(HP_LEVELS_VARIABLE);
	unsigned long count = text ? strtoul(text, NULL, 10) : 0;

	if (count > HP_LEVELS_MAX)
		return 0;
	for (unsigned i = 0; i < count; i++)
		fds[i] = HP_LEVEL_FD + (int)i;
	return (unsigned)count;
}
