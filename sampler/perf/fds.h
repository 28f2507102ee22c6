/* SPDX-License-Identifier: MIT */
/*
 * fds.h - descriptors of events.
 */
#ifndef HP_SAMPLER_PERF_FDS_H
#define HP_SAMPLER_PERF_FDS_H

#include <stdbool.h>
#include <stdint.h>

struct hp_perf_fds {
	int *list;
	uint32_t count;
	uint32_t room;
};

/* False = out of memory, and the caller keeps it. */
bool hp_perf_fds_keep(struct hp_perf_fds *fds, int fd);

/*
 * Closes those without users: neither the thread that they were opened for nor
 * one that inherited them, which would lose them with the descriptor.
 */
void hp_perf_fds_trim(struct hp_perf_fds *fds);

/* Closes all and empties it. */
void hp_perf_fds_close(struct hp_perf_fds *fds);

#endif
