/* SPDX-License-Identifier: MIT */
/*
 * readable.c - see readable.h.
 */
#include "preload/guest/readable.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/self.h"

extern void *__libc_stack_end __attribute__((weak));

#define PAGES 64	/* checked per call */
#define FEW 4	/* that are checked one by one, which is faster */
#define HOLE_WAIT 256	/* walks */
#define HOLE_WAIT_MAX (UINT32_C(1) << 24)
#define NO_SUCH_ACTION 0x7ffffff	/* of rt_sigprocmask */

/*
 * If process_vm_readv is refused (seccomp in containers): rt_sigprocmask reads
 * the new mask before it checks the action, so an invalid action gives EFAULT
 * or EINVAL and changes nothing.
 */
static bool is_word_readable(uintptr_t address)
{
	return syscall(SYS_rt_sigprocmask, NO_SUCH_ACTION, address, NULL, sizeof(uint64_t)) < 0 &&
	       errno == EINVAL;
}

/* valgrind prints a line for each invalid action, and has preloaded libraries of its own. */
static bool is_in_valgrind;

static void valgrind_find(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	is_in_valgrind = preloaded && strstr(preloaded, "/vgpreload_");
}

static bool are_readable(const struct iovec *there, size_t count)
{
	char bytes[PAGES];
	struct iovec here = { .iov_base = bytes, .iov_len = count };

	if (count > FEW || is_in_valgrind) {
		ssize_t got =
			syscall(SYS_process_vm_readv, hp_self->pid, &here, 1, there, count, 0);

		if (got >= 0 || (errno != EPERM && errno != ENOSYS && errno != EACCES))
			return got == (ssize_t)count;
	}
	for (size_t i = 0; i < count; i++)
		if (!is_word_readable((uintptr_t)there[i].iov_base & ~(uintptr_t)7))
			return false;
	return true;
}

bool hp_readable(uintptr_t address, uintptr_t size)
{
	struct iovec there[PAGES];
	int saved = errno;
	bool is_good = !hp_is_confined();

	while (is_good && size) {
		size_t count = 0;

		for (; count < PAGES && size; count++) {
			there[count] = (struct iovec){ .iov_base = (void *)address, .iov_len = 1 };
			address += HP_PAGE;
			size -= size < HP_PAGE ? size : HP_PAGE;
		}
		is_good = are_readable(there, count);
	}
	errno = saved;
	return is_good;
}

/* This takes a fifth of the time of process_vm_readv. */
bool hp_readable_few(uintptr_t address, uintptr_t size)
{
	uintptr_t first = address & ~(uintptr_t)7, last = (address + size - 1) & ~(uintptr_t)7;
	int saved = errno;
	bool is_good = !hp_is_confined() && !is_in_valgrind && is_word_readable(first) &&
		       (first / HP_PAGE == last / HP_PAGE || is_word_readable(last));

	errno = saved;
	return is_good || hp_readable(address, size);
}

/*
 * 0 = [page, end) is readable; else a stack that ends there has no address
 * below the result. Searches downward, since the first hole is the guard page.
 */
static uintptr_t hole_below(uintptr_t end, uintptr_t page)
{
	for (uintptr_t low = end, size; low > page; low -= size) {
		size = low - page < PAGES * HP_PAGE ? low - page : PAGES * HP_PAGE;
		if (size > HP_PAGE && !hp_readable(low - size, size))
			return low - size + HP_PAGE;
	}
	return 0;
}

/* The initial thread, whose descriptor is not on its stack. 0 = not known yet. */
static uintptr_t first_thread;

void hp_readable_begin(void)
{
	first_thread = (uintptr_t)pthread_self();
	valgrind_find();
}

uintptr_t hp_readable_stack_end(uintptr_t sp)
{
	uintptr_t self = (uintptr_t)pthread_self();
	uintptr_t end = self;

	if (!first_thread || self == first_thread)
		end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
	if (sp >= end || end - sp > HP_READABLE_MAX ||
	    hole_below(end, sp & ~(uintptr_t)(HP_PAGE - 1)))
		return 0;
	return end & ~(uintptr_t)7;
}

/* The main thread's stack grows, perhaps over a hole: check again at increasing intervals. */
static bool is_hole_known(struct hp_walker *walker, uintptr_t sp)
{
	if (sp >= walker->home_hole)
		return false;
	if (++walker->hole_passed < walker->hole_wait)
		return true;
	walker->hole_passed = 0;
	return false;
}

static void hole_note(struct hp_walker *walker, uintptr_t hole)
{
	if (hole > walker->home_hole)
		walker->home_hole = hole;
	if (walker->hole_wait < HOLE_WAIT_MAX)
		walker->hole_wait = walker->hole_wait ? walker->hole_wait * 2 : HOLE_WAIT;
}

void hp_readable_home(struct hp_walker *walker, uintptr_t sp)
{
	uintptr_t page = sp & ~(uintptr_t)(HP_PAGE - 1), hole;

	if (sp >= walker->home_low || !walker->home_high ||
	    walker->home_high - sp > HP_READABLE_MAX || is_hole_known(walker, sp))
		return;
	hole = hole_below(walker->home_low, page);
	if (hole) {
		hole_note(walker, hole);
		return;
	}
	walker->home_low = page;
	walker->home_hole = 0;
}
