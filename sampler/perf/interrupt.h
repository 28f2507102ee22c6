/* SPDX-License-Identifier: MIT */
/*
 * interrupt.h - the cost of a sampling interrupt.
 *
 * No sample can show it, since the interrupt that takes a sample is not itself interrupted. So the
 * helper samples itself for a moment while it reads the clock, and the gaps between readings are
 * the interrupts: entry and exit, including a virtual machine's share, and the copy of the stack.
 */
#ifndef HP_SAMPLER_PERF_INTERRUPT_H
#define HP_SAMPLER_PERF_INTERRUPT_H

#include <linux/perf_event.h>
#include <stdint.h>

#define HP_INTERRUPT_GAPS 64
#define HP_INTERRUPT_PIECES 6	/* short ones, since the helper must not be late */

struct hp_interrupt {
	uint32_t pieces;	/* measured so far */
	uint32_t count;
	uint32_t gaps[HP_INTERRUPT_GAPS];	/* ns */
};

/*
 * Measures a piece with events like the program's, which takes 0.3 ms. It is the last one if this
 * machine or user allows no event of our own.
 */
void hp_interrupt_measure(struct hp_interrupt *interrupt, const struct perf_event_attr *like);

/* The median so far; 0 = unknown. */
uint32_t hp_interrupt_ns(struct hp_interrupt *interrupt);

#endif
