/* SPDX-License-Identifier: MIT */
/*
 * cpus.c - see cpus.h.
 */
#include "report/base/cpus.h"

#include <sched.h>

bool hp_has_two_processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 1;
}
