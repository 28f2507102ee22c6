/* SPDX-License-Identifier: MIT */
/*
 * leak_map.c - see leak_map.h.
 *
 * glibc's heap (malloc/malloc.c, malloc/arena.c): memory from brk; heaps of further arenas, at
 * multiples of HEAP_MAX_SIZE, which begin with their arena's address; and single mappings for
 * large blocks. A block's header is the word before it: its size, and three bits.
 */
#include "preload/heap/leak_map.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/memlock.h"
#include "preload/guest/readable.h"
#include "preload/guest/real.h"
#include "preload/guest/self.h"
#include "preload/heap/allocator.h"
#include "preload/heap/heap.h"
#include "preload/thread/module.h"
#include "util/assert.h"

#define HEAP_MAX (UINT64_C(1) << 26)	/* of x86-64 and arm64 */
#define WORD sizeof(uintptr_t)
#define IS_MMAPPED 2
#define NON_MAIN_ARENA 4
#define DESCRIPTOR_MAX 4096	/* bytes of one */
#define DESCRIPTOR_FAR (UINT64_C(1) << 16)	/* bytes from the end of a stack */

/* --- /proc --- */

struct reader {
	int fd;
	size_t at, size;
	char *room;
};

static struct reader file_open(const struct hp_leak_map *map, const char *path)
{
	return (struct reader){
		.fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC),
		.room = map->room,
	};
}

static int next(struct reader *reader)
{
	long got;

	if (reader->at == reader->size) {
		got = syscall(SYS_read, reader->fd, reader->room, HP_LEAK_ROOM);
		if (got <= 0)
			return -1;
		reader->at = 0;
		reader->size = (size_t)got;
	}
	return (unsigned char)reader->room[reader->at++];
}

/* A hexadecimal number and the character after it. */
static uintptr_t number(struct reader *reader, int *end)
{
	uintptr_t value = 0;
	int c;

	while ((c = next(reader)) >= 0) {
		if (c >= '0' && c <= '9')
			value = value * 16 + (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			value = value * 16 + (uintptr_t)(c - 'a') + 10;
		else
			break;
	}
	*end = c;
	return value;
}

/* BEGIN-END PERMISSIONS OFFSET DEVICE INODE PATH. False = the end. */
static bool read_line(struct reader *reader, struct hp_leak_range *range, bool *is_root)
{
	char rights[4] = "", path[8] = "";
	uint32_t inode = 0, length = 0;
	int c;

	*range = (struct hp_leak_range){ .begin = number(reader, &c) };
	if (c != '-')
		return false;
	range->end = number(reader, &c);
	for (int i = 0; i < 4; i++)
		rights[i] = (char)next(reader);
	next(reader);
	number(reader, &c);
	number(reader, &c);
	number(reader, &c);
	while ((c = next(reader)) >= '0' && c <= '9')
		inode |= (uint32_t)c - '0';
	for (; c >= 0 && c != '\n'; c = next(reader))
		if (c != ' ' && length < sizeof(path))
			path[length++] = (char)c;
	range->is_heap = memcmp(path, "[heap]", 6) == 0;
	range->is_shared = rights[3] == 's' || inode;
	*is_root = rights[0] == 'r' && rights[1] == 'w' &&
		   (memcmp(path, "/dev/", 5) != 0 || memcmp(path, "/dev/zer", 8) == 0);
	return c >= 0;
}

bool hp_leak_map_read(struct hp_leak_map *map)
{
	struct reader reader = file_open(map, "/proc/self/maps");
	struct hp_leak_range range;
	bool is_root = false;

	if (reader.fd < 0)
		return false;
	map->count = 0;
	while (map->count < HP_LEAK_RANGES && read_line(&reader, &range, &is_root))
		if (is_root)
			map->ranges[map->count++] = range;
	syscall(SYS_close, reader.fd);
	return map->count && map->count < HP_LEAK_RANGES;
}

uint32_t hp_leak_map_threads(const struct hp_leak_map *map)
{
	struct reader reader = file_open(map, "/proc/self/stat");
	uint32_t field = 0, threads = 0;
	int c;

	if (reader.fd < 0)
		return 0;
	/* The name, in brackets, may contain anything; field 20 is 18 after it. */
	while ((c = next(&reader)) >= 0)
		if (c == ')')
			field = 2;
		else if (c == ' ' && field)
			field++;
		else if (field == 20)
			threads = threads * 10 + (uint32_t)c - '0';
	syscall(SYS_close, reader.fd);
	return threads;
}

/* --- memory excluded from the roots --- */

static bool cut(struct hp_leak_map *map, uintptr_t begin, uintptr_t end)
{
	if (begin >= end)
		return true;
	for (uint32_t i = 0; i < map->hole_count; i++)
		if (begin >= map->holes[i].begin && end <= map->holes[i].end)
			return true;
	if (map->hole_count == HP_LEAK_HOLES)
		return false;
	HP_ASSERT(map->hole_count < HP_LEAK_HOLES);
	map->holes[map->hole_count++] = (struct hp_leak_hole){ begin, end };
	return true;
}

const struct hp_leak_range *hp_leak_map_find(const struct hp_leak_map *map, uintptr_t address)
{
	uint32_t low = 0, high = map->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (map->ranges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < map->count && map->ranges[low].begin <= address ? &map->ranges[low] : NULL;
}

/* An arena's heap without a used block is recognised by its first word: the arena, in its first
 * heap. */
static bool is_arena(const struct hp_leak_range *range)
{
	uintptr_t arena;

	if (range->begin % HEAP_MAX || range->is_shared || !hp_readable(range->begin, WORD))
		return false;
	arena = *(const uintptr_t *)range->begin;
	return arena % 16 == 0 && arena > HEAP_MAX && arena % HEAP_MAX &&
	       arena % HEAP_MAX < HP_PAGE;
}

/*
 * Where the thread's descriptor is, at the upper end of its stack: glibc still has a pointer to it.
 * It begins with its own address, and repeats it two words on (nptl/descr.h, tcbhead_t).  0 = not
 * found.
 */
static uintptr_t descriptor(uintptr_t begin, uintptr_t end)
{
	uintptr_t least = end - begin > DESCRIPTOR_FAR ? end - DESCRIPTOR_FAR : begin;

	/* A guard page may be in it. */
	if (!hp_readable(least, end - least))
		return 0;
	for (uintptr_t at = (end - 3 * sizeof(at)) & ~(uintptr_t)15; at >= least; at -= 16) {
		const uintptr_t *words = (const uintptr_t *)at;

		if (words[0] == at && words[2] == at)
			return at;
	}
	return 0;
}

/*
 * The start of the stack whose descriptor is at `at`: it has block, size and size of the guard one
 * after the other (nptl/descr.h, struct pthread). 0 = not found.
 */
static uintptr_t stack_begin(uintptr_t at, uintptr_t end)
{
	const uintptr_t *words = (const uintptr_t *)at;

	end = end - at < DESCRIPTOR_MAX ? end : at + DESCRIPTOR_MAX;
	for (; (uintptr_t)(words + 3) <= end; words++)
		if (words[0] && words[0] < at && words[0] % HP_PAGE == 0 &&
		    words[1] % HP_PAGE == 0 && words[1] > at - words[0] &&
		    words[1] - (at - words[0]) <= DESCRIPTOR_FAR && words[2] < words[1])
			return words[0] + words[2];
	return 0;
}

/*
 * The complete stacks that glibc keeps for later threads: leftovers on stacks deeper than the last
 * allocation, and of threads whose records another thread has reused.
 */
static bool cut_kept_stacks(struct hp_leak_map *map, uintptr_t sp)
{
	for (uint32_t i = 0; i < map->count; i++) {
		const struct hp_leak_range *range = &map->ranges[i];
		uintptr_t at, begin;

		if (range->is_shared || range->is_heap || (sp >= range->begin && sp < range->end))
			continue;
		at = descriptor(range->begin, range->end);
		begin = at ? stack_begin(at, range->end) : 0;
		if (begin >= range->begin && begin < at && !cut(map, begin, at))
			return false;
	}
	return true;
}

/* Stacks of ended threads that have allocated, even if other mappings follow them. */
static bool cut_stacks(struct hp_leak_map *map, uintptr_t sp)
{
	struct hp_heap_local *of = atomic_load_explicit(&hp_self->heaps, memory_order_acquire);

	if (!cut_kept_stacks(map, sp))
		return false;
	for (; of; of = of->next) {
		const struct hp_leak_range *range = hp_leak_map_find(map, of->walker.home_high - 1);
		uintptr_t begin = of->walker.home_low;

		if (!range || (sp >= range->begin && sp < range->end))
			continue;
		/* Neighbours may be one mapping. */
		if (begin < range->begin)
			begin = range->begin;
		if (!cut(map, begin, descriptor(begin, of->walker.home_high)))
			return false;
	}
	return true;
}

bool hp_leak_map_cut(struct hp_leak_map *map, uintptr_t sp)
{
	uintptr_t segment = (uintptr_t)hp_segment.header;
	uintptr_t pool = (uintptr_t)hp_allocator_memory;
	uintptr_t libc_address = (uintptr_t)hp_real()->_exit;
	struct hp_module own, libc = { .begin = 0 };
	uintptr_t begin, end;

	hp_memlock_span(&begin, &end);
	if (!hp_module_span((uintptr_t)hp_leak_map_cut, &own) ||
	    !hp_module_span(libc_address, &libc))
		return false;
	map->hole_count = 0;
	for (uint32_t i = 0; i < map->count; i++) {
		struct hp_leak_range *range = &map->ranges[i];

		range->is_libc = range->begin >= libc.begin && range->begin < libc.end;
		if (range->is_heap && !cut(map, range->begin, range->end))
			return false;
		if (is_arena(range) && !cut(map, range->begin, range->end))
			return false;
		if (sp >= range->begin && sp < range->end && !cut(map, range->begin, sp))
			return false;
	}
	/* Memory allocated before we could find the allocator belongs to the program. */
	return cut(map, own.begin, pool) && cut(map, pool + HP_ALLOCATOR_POOL, own.end) &&
	       cut(map, segment, segment + hp_segment.size) && cut(map, begin, end) &&
	       cut_stacks(map, sp);
}

bool hp_leak_map_cut_block(struct hp_leak_map *map, uintptr_t at)
{
	const struct hp_leak_range *range = hp_leak_map_find(map, at);
	uintptr_t header = ((const uintptr_t *)at)[-1], begin = at - 16;

	if (!range || range->is_heap)
		return true;
	if (header & IS_MMAPPED) {
		/* Aligned ones begin further up, by the amount in the word before. */
		begin -= ((const uintptr_t *)at)[-2];
		return cut(map, begin, at - 16 + (header & ~(uintptr_t)7));
	}
	if (header & NON_MAIN_ARENA) {
		begin = at & ~(HEAP_MAX - 1);
		return cut(map, begin, begin + HEAP_MAX);
	}
	/* The main arena after brk could not grow: its own mapping, by mmap. */
	return cut(map, range->begin, range->end);
}
