/* SPDX-License-Identifier: MIT */
/*
 * calm.c - see calm.h.
 */
#include "sampler/perf/calm.h"

#define MANY 2500	/* switches in a second of CPU time: more than 0.2 % of it by 249 Hz */
#define FEW (MANY / 4)
#define SWITCHES_MIN 250	/* fewer prove nothing */
#define SPAN_NS UINT64_C(1000000000)	/* of CPU time: earlier state is obsolete */
#define STILL_NS UINT64_C(2000000000)	/* at first; */
#define STILL_MAX_NS UINT64_C(64000000000)	/* doubled after each unsuccessful attempt */

static bool is_rate(uint64_t switches, uint64_t cpu_ns, uint64_t rate)
{
	return (double)switches * 1e9 >= (double)cpu_ns * (double)rate;
}

static void begin(struct hp_calm *calm, uint64_t cpu_ns, uint64_t switches)
{
	calm->cpu_ns = cpu_ns;
	calm->switches = switches;
}

static bool is_busy(struct hp_calm *calm, uint64_t cpu_ns, uint64_t switches)
{
	uint64_t span_ns = cpu_ns - calm->cpu_ns, count = switches - calm->switches;
	bool is_many = count >= SWITCHES_MIN && is_rate(count, span_ns, MANY);

	if (is_many || span_ns >= SPAN_NS)
		begin(calm, cpu_ns, switches);
	return is_many;
}

static bool is_still(struct hp_calm *calm, uint64_t cpu_ns, uint64_t switches)
{
	uint64_t span_ns = cpu_ns - calm->cpu_ns, count = switches - calm->switches;

	if (span_ns < calm->still_ns)
		return false;
	begin(calm, cpu_ns, switches);
	return !is_rate(count, span_ns, FEW);
}

void hp_calm_refuse(struct hp_calm *calm)
{
	calm->is_low = false;
	calm->still_ns = calm->still_ns > STILL_NS ? calm->still_ns / 2 : 0;
}

bool hp_calm_look(struct hp_calm *calm, uint64_t cpu_ns, uint64_t switches)
{
	if (calm->is_low ? !is_still(calm, cpu_ns, switches) : !is_busy(calm, cpu_ns, switches))
		return false;
	calm->is_low = !calm->is_low;
	if (calm->is_low)
		calm->still_ns = !calm->still_ns		 ? STILL_NS
				 : calm->still_ns < STILL_MAX_NS ? calm->still_ns * 2
								 : STILL_MAX_NS;
	return true;
}
