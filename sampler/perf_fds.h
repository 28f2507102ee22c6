/* SPDX-License-Identifier: MIT */
/*
 * perf_fds.h - descriptors of events whose threads have ended.
 */
#ifndef HP_SAMPLER_PERF_FDS_H
#define HP_SAMPLER_PERF_FDS_H

#include <stdint.h>

/*
 * Closes those of `count` events that nobody has any more: neither the thread that they
 * were opened for nor one that inherited them, which would lose them with the descriptor. Returns how many are left,
 * in the same order.
 */
uint32_t hp_perf_fds_trim(int *fds, uint32_t count);

#endif
