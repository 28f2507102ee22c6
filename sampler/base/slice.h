/* SPDX-License-Identifier: MIT */
/*
 * slice.h - how soon the scheduler runs one of the helper's threads.
 */
#ifndef HP_SAMPLER_BASE_SLICE_H
#define HP_SAMPLER_BASE_SLICE_H

#include <stdbool.h>

/*
 * Asks for short time slices for the calling thread, or for the usual ones again: the shorter, the
 * sooner it runs after it woke up (Linux 6.12). Otherwise a program's threads that compute, or wake
 * each other all the time, may keep it from running for hundreds of milliseconds. Its share of the
 * CPU stays the same.
 */
void hp_slice_shorten(bool is_short);

#endif
