/* SPDX-License-Identifier: MIT */
/*
 * interrupt.c - see interrupt.h.
 */
#include "sampler/perf/interrupt.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sampler/perf/ring.h"
#include "segment/clock.h"

#define PIECE_NS 300000
#define PERIOD_NS 50000
#define PERIOD_CYCLES 150000	/* about as long */
#define GAP_NS 500	/* a shorter one is no interrupt */
#define STACK 8192	/* bytes, as much to copy as in most programs */
#define RING (UINT64_C(128) << 10)	/* holds a piece's samples, in most cases */
#define ENOUGH 5	/* gaps; timers of the kernel are fewer than half of them */

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Reads the clock until the piece is over. */
static __attribute__((noinline)) void gaps_find(struct hp_interrupt *interrupt)
{
	volatile char stack[STACK];
	uint64_t start = hp_clock_raw_ns(), last = start, now;

	for (size_t i = 0; i < STACK; i += 512)
		stack[i] = 1;
	while ((now = hp_clock_raw_ns()) < start + PIECE_NS) {
		if (now - last > GAP_NS && interrupt->count < HP_INTERRUPT_GAPS)
			interrupt->gaps[interrupt->count++] = (uint32_t)(now - last);
		last = now;
	}
	(void)stack[0];
}

static bool piece_measure(struct hp_interrupt *interrupt, const struct perf_event_attr *like)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE) + RING;
	struct perf_event_attr attr = *like;
	void *page;
	int fd;

	attr.freq = attr.inherit = attr.context_switch = 0;
	attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 0;
	attr.read_format = 0;
	attr.sample_type &= ~(uint64_t)PERF_SAMPLE_READ;
	attr.sample_period = attr.type == PERF_TYPE_HARDWARE ? PERIOD_CYCLES : PERIOD_NS;
	attr.disabled = 1;
	fd = hp_perf_open(&attr, 0, -1, -1);
	if (fd < 0)
		return false;
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0)
		gaps_find(interrupt);
	if (page != MAP_FAILED)
		munmap(page, size);
	close(fd);
	return page != MAP_FAILED;
}

void hp_interrupt_measure(struct hp_interrupt *interrupt, const struct perf_event_attr *like)
{
	interrupt->pieces =
		piece_measure(interrupt, like) ? interrupt->pieces + 1 : HP_INTERRUPT_PIECES;
}

uint32_t hp_interrupt_ns(struct hp_interrupt *interrupt)
{
	if (interrupt->count < ENOUGH)
		return 0;
	qsort(interrupt->gaps, interrupt->count, sizeof(interrupt->gaps[0]), compare);
	return interrupt->gaps[interrupt->count / 2];
}
