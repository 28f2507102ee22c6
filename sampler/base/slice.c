/* SPDX-License-Identifier: MIT */
/*
 * slice.c - see slice.h.
 */
#include "sampler/base/slice.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_NS 100000

void hp_slice_shorten(bool is_short)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attributes = { .size = sizeof(attributes) };

	if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) < 0 ||
	    attributes.policy != 0)
		return;
	attributes.runtime = is_short ? SLICE_NS : 0;	/* 0: the usual one */
	syscall(SYS_sched_setattr, 0, &attributes, 0);
}
