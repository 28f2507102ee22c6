/* SPDX-License-Identifier: MIT */
/*
 * clock.c - choose the clock, measure its grain, pair it with nanoseconds.
 *
 * The counter is used if the processor promises a constant rate (CPUID), the
 * process may read it (PR_SET_TSC can forbid that), and the kernel did not find
 * it drifting; otherwise "tsc" is missing from the list of clock sources. If
 * that list cannot be read, CPUID is enough: hypervisors and sandboxes hide the
 * list and clear the flag when they migrate.
 */
#include "segment/clock.h"
#include "segment/seq.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define GRAIN_READINGS 256
#define MOMENT_TRIES 8

static uint32_t avoids_user_space;

void hp_clock_avoid_user_space(void)
{
	__atomic_store_n(&avoids_user_space, 1, __ATOMIC_RELAXED);
}

uint64_t hp_clock_raw_ns(void)
{
	struct timespec now;

	if (__builtin_expect(__atomic_load_n(&avoids_user_space, __ATOMIC_RELAXED), 0))
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC_RAW, &now);
	else
		clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#if defined(__x86_64__)
static bool is_invariant(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
}

/* False only if the kernel refuses it. */
static bool is_trusted(void)
{
	char names[256];
	int fd = open("/sys/devices/system/clocksource/clocksource0/available_clocksource",
		      O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	ssize_t size = read(fd, names, sizeof(names) - 1);
	close(fd);
	if (size <= 0)
		return true;
	names[size] = '\0';
	for (const char *at = names; (at = strstr(at, "tsc")) != NULL; at += 3)
		if ((at == names || at[-1] == ' ') && (at[3] == ' ' || at[3] == '\n' || !at[3]))
			return true;
	return false;
}
#endif

bool hp_clock_is_readable(void)
{
#if defined(__x86_64__)
	int saved = errno, mode = PR_TSC_ENABLE;
	bool is_good = prctl(PR_GET_TSC, &mode, 0, 0, 0) < 0 || mode == PR_TSC_ENABLE;

	errno = saved;
	return is_good;
#else
	return true;
#endif
}

uint32_t hp_clock_choose(void)
{
#if defined(__x86_64__)
	int saved = errno;
	bool is_good = is_invariant() && hp_clock_is_readable() && is_trusted();

	errno = saved;
	return is_good ? HP_CLOCK_TSC : HP_CLOCK_MONOTONIC_RAW;
#elif defined(__aarch64__)
	return HP_CLOCK_CNTVCT;
#else
	return HP_CLOCK_MONOTONIC_RAW;
#endif
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

uint64_t hp_clock_grain(uint32_t kind)
{
	uint64_t grain = 0;
	uint64_t before = hp_clock_read(kind);

	for (int i = 0; i < GRAIN_READINGS; i++) {
		uint64_t now = hp_clock_read(kind);

		grain = common_divisor(grain, now - before);
		before = now;
	}
	return grain ? grain : 1;
}

struct hp_moment hp_clock_moment(uint32_t kind)
{
	struct hp_moment best = { 0, 0 };
	uint64_t tightest = UINT64_MAX;

	for (int i = 0; i < MOMENT_TRIES; i++) {
		uint64_t before = hp_clock_read(kind);
		uint64_t ns = hp_clock_raw_ns();
		uint64_t gap = hp_clock_read(kind) - before;

		if (gap >= tightest)
			continue;
		tightest = gap;
		best = (struct hp_moment){ before + gap / 2, ns };
	}
	return best;
}

void hp_clock_note(struct hp_header *header)
{
	struct hp_moment now = hp_clock_moment(header->clock_kind);

	hp_seq_count_begin(&header->last_seq);
	hp_seq_put(&header->last, &now, sizeof(now));
	hp_seq_count_end(&header->last_seq);
}

bool hp_clock_last(const struct hp_header *header, struct hp_moment *last)
{
	return hp_seq_count_copy(last, &header->last, sizeof(*last), &header->last_seq);
}
