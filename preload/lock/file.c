/* SPDX-License-Identifier: MIT */
/*
 * file.c - see file.h.
 */
#include "preload/lock/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/bulky.h"
#include "preload/guest/confine.h"
#include "preload/guest/guest.h"
#include "preload/guest/self.h"

#define HP_NO_ADDRESS (UINT64_C(1) << 63)	/* no object has an address with it */

void hp_lock_file_name(int fd, char *name, size_t room)
{
	char link[40];
	ssize_t length;
	int saved = errno;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = hp_is_confined() ? -1 : syscall(SYS_readlinkat, AT_FDCWD, link, name, room - 1);
	name[length > 0 ? length : 0] = 0;
	errno = saved;
}

static uintptr_t address_now(int fd)
{
	struct stat stat;
	int saved = errno;
	bool is_known = !hp_is_confined() && fstat(fd, &stat) == 0;

	if (!is_known && !hp_is_confined() && errno != EBADF)
		hp_refused();
	errno = saved;
	return is_known ? hp_lock_hash(stat.st_ino ^ (uint64_t)stat.st_dev << 40) | HP_NO_ADDRESS
			: 0;
}

/* --- the files of descriptors --- */

#define HP_FILE_TRUST 16	/* after this many calls the kernel is asked again */

struct known {
	_Atomic uintptr_t address;	/* 0 = none; below HP_NO_ADDRESS: a thread is asking */
	_Atomic uint32_t calls;	/* since the kernel was asked; concurrent ones may be missing */
};

HP_BULKY static struct known known[HP_FILE_FDS];
static _Atomic bool is_never_kept;
_Atomic int hp_file_kept_end;

/* The program closes files without our knowledge, or its threads have files of their own. */
void hp_file_keep_none(void)
{
	atomic_store_explicit(&is_never_kept, true, memory_order_relaxed);
}

static void note_end(int fd)
{
	int before = atomic_load_explicit(&hp_file_kept_end, memory_order_relaxed);

	while (before <= fd &&
	       !atomic_compare_exchange_weak_explicit(&hp_file_kept_end, &before, fd + 1,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

/* Each call has one of its own, also that of a signal handler that interrupts another. */
static uintptr_t new_claim(void)
{
	static _Atomic uintptr_t claims;

	return atomic_fetch_add_explicit(&claims, 1, memory_order_relaxed) + 1;
}

/*
 * A close while we ask takes the claim away, and nothing is kept: the answer may be about another
 * file than the number's next one.
 */
static uintptr_t ask(int fd, uintptr_t before)
{
	struct known *of = &known[fd];
	uintptr_t claim = new_claim(), address;

	/* Before the claim: a close looks at it. */
	note_end(fd);
	if (!atomic_compare_exchange_strong(&of->address, &before, claim))
		return address_now(fd);
	address = address_now(fd);
	/* Its files are not those of the process whose memory it has. */
	if (hp_self_is_borrowed())
		return address;
	atomic_store_explicit(&of->calls, 0, memory_order_relaxed);
	if (atomic_compare_exchange_strong(&of->address, &claim, address) &&
	    before >= HP_NO_ADDRESS && address != before)
		hp_file_keep_none();
	return address;
}

uintptr_t hp_file_address(int fd)
{
	uintptr_t address;
	uint32_t calls;

	if ((unsigned)fd >= HP_FILE_FDS || hp_is_confined() ||
	    atomic_load_explicit(&is_never_kept, memory_order_relaxed))
		return address_now(fd);
	address = atomic_load_explicit(&known[fd].address, memory_order_relaxed);
	calls = atomic_load_explicit(&known[fd].calls, memory_order_relaxed) + 1;
	if (address < HP_NO_ADDRESS || calls >= HP_FILE_TRUST)
		return ask(fd, address);
	atomic_store_explicit(&known[fd].calls, calls, memory_order_relaxed);
	return address;
}

void hp_file_forget_known(int fd)
{
	atomic_store(&known[fd].address, 0);
}
