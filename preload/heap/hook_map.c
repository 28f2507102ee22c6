/* SPDX-License-Identifier: MIT */
/*
 * hook_map.c - stand-ins of mmap and similar functions.
 *
 * The real call is first, and direct.c is notified if it had an effect; calls that unmap
 * take a number beforehand (range.h).  Calls of our own objects are passed on.
 *
 * These may be the first of our functions that are ever called, inside a lock of the loader or of
 * an allocator: so each resolves only its own real function.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/heap/direct.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4	/* Linux 5.7 */
#endif
#define HUGE_USUAL 21	/* log2: of MAP_HUGETLB without a size, x86-64 and arm64 */

/* Through a variable, as in preload/guest/real.c. It exists everywhere, so the loader has no
 * error message. */
static void find(void *place, const char *name)
{
	void *address = hp_is_early() ? hp_early_find(name, false) : dlsym(RTLD_NEXT, name);

	memcpy(place, &address, sizeof(address));
}

#define REAL(name) \
	(__extension__({ \
		__typeof__(hp_real_table.name) real_ = hp_real_table.name; \
		if (HP_UNLIKELY(!real_)) \
			find(&real_, #name); \
		real_; \
	}))

static bool is_recorded(uintptr_t pc)
{
	return hp_direct_is_wanted && (pc < hp_direct_own.begin || pc >= hp_direct_own.end);
}

static uint32_t kinds_of(int protection, int flags)
{
	uint32_t kinds = flags & MAP_ANONYMOUS ? 0 : HP_MAP_FILE;

	if ((flags & MAP_TYPE) != MAP_PRIVATE)
		kinds |= HP_MAP_SHARED;
	if (protection == PROT_NONE)
		kinds |= HP_MAP_RESERVED;
	return kinds ? kinds : HP_MAP_MEMORY;
}

/* The kernel maps whole pages. */
static uintptr_t end_of(const void *at, size_t length, int flags)
{
	uintptr_t page = HP_PAGE;
	int huge = flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;

	if (flags & MAP_HUGETLB)
		page = (uintptr_t)1 << (huge ? huge : HUGE_USUAL);
	return (uintptr_t)at + ((length + page - 1) & ~(page - 1));
}

static void note_mmap(const void *at, size_t length, int protection, int flags,
		      const struct hp_path_frame *frame)
{
	if (at != MAP_FAILED && is_recorded(frame->pc))
		hp_direct_made((uintptr_t)at, end_of(at, length, flags),
			       kinds_of(protection, flags), frame);
}

HP_EXPORT void *mmap(void *wanted, size_t length, int protection, int flags, int fd, off_t offset)
{
	struct hp_path_frame frame = HP_PATH_FRAME;
	void *at = REAL(mmap)(wanted, length, protection, flags, fd, offset);

	note_mmap(at, length, protection, flags, &frame);
	return at;
}

HP_EXPORT void *mmap64(void *wanted, size_t length, int protection, int flags, int fd,
		       off64_t offset)
{
	struct hp_path_frame frame = HP_PATH_FRAME;
	void *at = REAL(mmap64)(wanted, length, protection, flags, fd, offset);

	note_mmap(at, length, protection, flags, &frame);
	return at;
}

static uint64_t number_of(uintptr_t pc)
{
	return is_recorded(pc) ? hp_direct_number() : 0;
}

HP_EXPORT int munmap(void *at, size_t length)
{
	uint64_t number = number_of((uintptr_t)__builtin_return_address(0));
	int result = REAL(munmap)(at, length);

	if (result == 0 && number)
		hp_direct_gone((uintptr_t)at, end_of(at, length, 0), number);
	return result;
}

HP_EXPORT void *mremap(void *old, size_t old_length, size_t length, int flags, ...)
{
	struct hp_path_frame frame = HP_PATH_FRAME;
	uint64_t number = number_of(frame.pc);
	void *wanted = NULL, *at;
	va_list list;

	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
		va_start(list, flags);
		wanted = va_arg(list, void *);
		va_end(list);
	}
	at = REAL(mremap)(old, old_length, length, flags, wanted);
	if (at == MAP_FAILED || !is_recorded(frame.pc))
		return at;
	/* A length of 0 makes a second one of a shared map. */
	if (number && old_length && !(flags & MREMAP_DONTUNMAP))
		hp_direct_gone((uintptr_t)old, end_of(old, old_length, 0), number);
	hp_direct_made((uintptr_t)at, end_of(at, length, 0), HP_MAP_MOVED, &frame);
	return at;
}

static void note_break(uintptr_t from, uintptr_t to, uint64_t number,
		       const struct hp_path_frame *frame)
{
	if (to > from)
		hp_direct_made(from, to, HP_MAP_BREAK, frame);
	else if (to < from && number)
		hp_direct_gone(to, from, number);
}

HP_EXPORT int brk(void *to)
{
	struct hp_path_frame frame = HP_PATH_FRAME;
	bool is_known = is_recorded(frame.pc);
	uintptr_t from = is_known ? (uintptr_t)REAL(sbrk)(0) : 0;
	uint64_t number = number_of(frame.pc);
	int result = REAL(brk)(to);

	if (result == 0 && is_known)
		note_break(from, (uintptr_t)to, number, &frame);
	return result;
}

HP_EXPORT void *sbrk(intptr_t more)
{
	struct hp_path_frame frame = HP_PATH_FRAME;
	uint64_t number = more < 0 ? number_of(frame.pc) : 0;
	void *from = REAL(sbrk)(more);

	if (from != (void *)-1 && more && is_recorded(frame.pc))
		note_break((uintptr_t)from, (uintptr_t)from + (uintptr_t)more, number, &frame);
	return from;
}
