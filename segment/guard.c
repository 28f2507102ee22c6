/* SPDX-License-Identifier: MIT */
/*
 * guard.c - see guard.h.
 *
 * The handler may run in any thread while another adds or removes a range. A
 * range is two words; its end is stored last and cleared first.
 */
#include "segment/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define RANGES 64

struct range {
	_Atomic uintptr_t begin; /* 0 = unused */
	_Atomic uintptr_t end; /* 0 = not (yet) guarded */
	_Atomic bool is_segment;
};

static struct range ranges[RANGES];
static struct sigaction before;
static _Atomic bool is_started;
static _Atomic bool has_met;

static const struct range *range_of(uintptr_t address)
{
	for (int i = 0; i < RANGES; i++)
		if (address < atomic_load(&ranges[i].end) &&
		    address >= atomic_load(&ranges[i].begin))
			return &ranges[i];
	return NULL;
}

/* Act as if we were not there: the instruction is retried and faults again. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	if (before.sa_flags & SA_SIGINFO)
		before.sa_sigaction(number, info, context);
	else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
		before.sa_handler(number);
	else
		signal(number, SIG_DFL);
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(HP_PAGE - 1);
	const struct range *range = range_of((uintptr_t)info->si_addr);
	int saved = errno;

	if (!range || mmap((void *)page, HP_PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		pass_on(number, info, context);
	else if (range->is_segment)
		atomic_store(&has_met, true);
	errno = saved;
}

void hp_guard_start(void)
{
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };

	sigemptyset(&action.sa_mask);
	if (sigaction(SIGBUS, &action, &before) == 0)
		atomic_store(&is_started, true);
}

static bool is_sealed(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & F_SEAL_SHRINK);
}

static bool range_add(uintptr_t begin, size_t size, bool is_segment)
{
	uintptr_t none;

	if (!atomic_load(&is_started) || !begin)
		return false;
	for (int i = 0; i < RANGES; i++) {
		none = 0;
		if (!atomic_compare_exchange_strong(&ranges[i].begin, &none, begin))
			continue;
		atomic_store(&ranges[i].is_segment, is_segment);
		atomic_store(&ranges[i].end, begin + size);
		return true;
	}
	return false;
}

static void range_remove(uintptr_t begin)
{
	for (int i = 0; begin && i < RANGES; i++) {
		if (atomic_load(&ranges[i].begin) != begin)
			continue;
		atomic_store(&ranges[i].end, 0);
		atomic_store(&ranges[i].begin, 0);
	}
}

void hp_guard_add(const struct hp_segment *segment, int fd)
{
	if (!is_sealed(fd))
		range_add((uintptr_t)segment->header, segment->size, true);
}

void hp_guard_remove(const struct hp_segment *segment)
{
	range_remove((uintptr_t)segment->header);
}

bool hp_guard_range_add(void *begin, size_t size)
{
	return range_add((uintptr_t)begin, size, false);
}

void hp_guard_range_remove(void *begin)
{
	range_remove((uintptr_t)begin);
}

bool hp_guard_has_met(void)
{
	return atomic_load(&has_met);
}
