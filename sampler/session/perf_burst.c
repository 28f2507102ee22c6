/* SPDX-License-Identifier: MIT */
/*
 * perf_burst.c - see perf_burst.h.
 */
#include "sampler/session/perf_burst.h"

#include <sys/ioctl.h>

#include "sampler/base/slice.h"
#include "sampler/sample/open.h"
#include "sampler/sample/outside.h"
#include "sampler/session/perf_crowd.h"
#include "sampler/session/perf_open.h"
#include "segment/clock.h"
#include "util/random.h"

#define COUNT_NS UINT64_C(100000000)	/* in which switches are counted before bursts start */
#define FEW (HP_BURST_MANY / 2)
#define CALM_FIRST 10	/* bursts with few switches, until all are recorded again; */
#define CALM_MAX 160	/* doubled each time */
#define PARTS_MIN 4u	/* of a slot: the longest take, */
#define PARTS_MAX 64u	/* the shortest one, */
#define PARTS_LOST 512u	/* and if records of longer ones were lost */
#define OUTS_WANTED 250	/* waits in a take, */
#define SWITCHES_ENOUGH 500	/* or so many switches: most may be yields, and each costs */
#define SWITCHES_A_PART 5000	/* in a second of CPU time: then a burst may take one part of a slot */
#define COST_RATIO 50	/* the share of time that switching events and scanning threads may take */
#define NOTES_NS UINT64_C(4000000)	/* a ring of notes holds some ms of a thread */
#define LONG_NS UINT64_C(20000000)	/* a wait that justifies a scan from outside */

/* Records of switches, two for each, on the CPU that has most of them, and on all. */
static uint64_t switches_most(const struct hp_perf *perf, uint64_t *all)
{
	uint64_t most = 0;

	*all = 0;
	for (uint32_t i = 0; i < perf->rings.count; i++) {
		uint64_t switches = hp_perf_rings_switches(&perf->rings, i);

		most = switches > most ? switches : most;
		*all += switches;
	}
	return most;
}

static uint64_t rate(uint64_t records, uint64_t span_ns)
{
	return span_ns ? records * 500000000 / span_ns : 0;
}

/* A program that switches all the time keeps us from running, and loses records until bursts begin. */
void hp_perf_burst_hurry(struct hp_perf *perf, bool is_in_hurry)
{
	if (perf->burst.is_in_hurry != is_in_hurry)
		hp_slice_shorten(is_in_hurry);
	perf->burst.is_in_hurry = is_in_hurry;
}

/* ---- on and off ---- */

/* In a burst a switch takes some 5 us longer, so the more there are the shorter it is. */
static uint32_t parts_for(const struct hp_perf *perf, uint64_t outs_a_slot,
			  uint64_t switches_a_slot)
{
	uint32_t parts = PARTS_MAX;

	while (parts > PARTS_MIN && outs_a_slot / parts < OUTS_WANTED &&
	       switches_a_slot / parts < SWITCHES_ENOUGH &&
	       perf->pace.by_cpu / parts < SWITCHES_A_PART)
		parts /= 2;
	return parts;
}

/* The next slot begins where the last one ended, or now if that is long ago. */
static void slot_begin(struct hp_perf *perf, uint64_t now_ns)
{
	struct hp_perf_burst *b = &perf->burst;
	uint64_t busy_ns = HP_BURST_SLOT_NS / b->parts + HP_BURST_LONG_NS;

	b->slots = (uint32_t)(1 + b->toggle_ns * COST_RATIO / HP_BURST_SLOT_NS);
	b->slot_ns = b->slot_end_ns ? b->slot_end_ns : now_ns;
	/* After the helper had no CPU for long, one burst stands for everything that it missed. */
	if (now_ns > b->slot_ns)
		b->slots += (uint32_t)((now_ns - b->slot_ns) / HP_BURST_SLOT_NS);
	b->slot_end_ns = b->slot_ns + b->slots * HP_BURST_SLOT_NS;
	uint64_t room_ns = b->slots * HP_BURST_SLOT_NS - busy_ns;
	b->random ^= now_ns;
	b->start_ns = b->slot_ns + ((hp_random_next(&b->random) >> 32) * (room_ns >> 10) >> 22);
}

static void open_threads(struct hp_perf *perf)
{
	perf->attr.context_switch = !perf->burst.is_on;
	if (!hp_perf_crowd_again(perf))
		hp_perf_open_again(perf);
	hp_perf_starts_leave(perf);
	if (perf->samples.is_wide)
		hp_whole_report(&perf->whole, &perf->rings, false);
	hp_perf_rings_read(&perf->rings, UINT64_MAX - 1, hp_samples_handle, &perf->samples);
	perf->samples.is_wide = perf->is_wide;
}

static void notes_ask(struct hp_perf *perf, bool asks)
{
	perf->are_notes_asked = asks && perf->has_kernel;
	if (asks)
		hp_offcpu_notes_ask(&perf->notes, &perf->members->segments, &perf->samples);
	else
		hp_offcpu_notes_leave(&perf->notes);
}

static void on(struct hp_perf *perf, uint64_t switches_ns)
{
	struct hp_perf_burst *b = &perf->burst;

	hp_perf_rings_read(&perf->rings, UINT64_MAX - 1, hp_samples_handle, &perf->samples);
	b->is_on = true;
	if (!hp_perf_wide(perf))
		open_threads(perf);
	else
		hp_perf_rings_read(&perf->rings, UINT64_MAX - 1, hp_samples_handle, &perf->samples);
	if (!hp_burst_on(&perf->samples, hp_clock_raw_ns())) {
		b->is_on = false;
		b->is_refused = true;
		open_threads(perf);
		return;
	}
	if (perf->has_samples && perf->whole.fds)
		perf->samples.burst.record->is_whole = 1;
	notes_ask(perf, true);
	hp_offcpu_notes_long(&perf->notes, HP_BURST_LONG_NS);
	b->parts = parts_for(perf, switches_ns, switches_ns);
	b->counted_ns = 0;
	b->calm = 0;
	b->calm_wanted = b->calm_wanted ? b->calm_wanted * 2 : CALM_FIRST;
	if (b->calm_wanted > CALM_MAX)
		b->calm_wanted = CALM_MAX;
	b->slot_end_ns = 0;
	slot_begin(perf, hp_clock_raw_ns());
}

static void off(struct hp_perf *perf)
{
	hp_offcpu_notes_read(&perf->notes, UINT64_MAX);
	hp_burst_off(&perf->samples, hp_clock_raw_ns());
	perf->burst.is_on = false;
	open_threads(perf);
	notes_ask(perf, !perf->has_kernel);
	perf->look_ns = hp_clock_raw_ns();
	perf->burst.count_ns = 0;
}

void hp_perf_burst_look(struct hp_perf *perf, uint64_t now_ns)
{
	struct hp_perf_burst *b = &perf->burst;
	uint64_t span_ns = now_ns - b->count_ns, all;
	bool is_first = !b->count_ns;

	if (!perf->has_waits || b->is_refused)
		return;
	/* A part of the span may have as many as the whole needs. */
	uint64_t most = switches_most(perf, &all);
	bool are_many = rate(most, span_ns < COUNT_NS ? COUNT_NS : span_ns) >= HP_BURST_MANY;
	if (!is_first && !are_many && span_ns < COUNT_NS)
		return;
	hp_perf_rings_recount(&perf->rings);
	b->count_ns = now_ns;
	hp_perf_burst_hurry(perf, perf->early_ns || rate(most, span_ns) >= FEW / 2);
	if (is_first || !are_many || hp_settings_wants_waits(perf->settings) ||
	    hp_perf_is_crowd(perf) || (perf->crowd.is_on && !perf->has_samples))
		return;
	on(perf, rate(all, span_ns) / (1000000000 / HP_BURST_SLOT_NS));
}

/* ---- bursts ---- */

/*
 * An event that reports switches costs something at each of them while it exists, even if it is
 * disabled. Those of CPUs are few, so they exist only in bursts. False = some are missing.
 */
static bool toggle(struct hp_perf *perf, unsigned long request)
{
	uint64_t since_ns = hp_clock_raw_ns();
	bool is_whole = true;

	if (!perf->is_wide)
		for (uint32_t i = 0; i < perf->wait_fds.count; i++)
			ioctl(perf->wait_fds.list[i], request, 0);
	else if (request == PERF_EVENT_IOC_ENABLE)
		is_whole = hp_perf_open_waits(perf);
	else
		hp_perf_fds_close(&perf->wait_fds);
	perf->burst.toggle_ns = hp_clock_raw_ns() - since_ns;
	return is_whole;
}

static void begin(struct hp_perf *perf)
{
	struct hp_perf_burst *b = &perf->burst;

	hp_perf_rings_recount(&perf->rings);
	if (!perf->has_kernel)
		hp_offcpu_notes_all(&perf->notes);
	bool is_whole = toggle(perf, PERF_EVENT_IOC_ENABLE);
	b->began_ns = hp_clock_raw_ns();
	hp_burst_begin(&perf->samples, b->began_ns, b->parts, b->slots);
	perf->samples.burst.has_dropped = !is_whole;
	b->end_ns = b->began_ns + HP_BURST_SLOT_NS / b->parts + HP_BURST_LONG_NS;
}

/* True if there were too few switches for some time. */
static bool is_calm(struct hp_perf *perf, uint64_t span_ns)
{
	struct hp_perf_burst *b = &perf->burst;
	uint64_t all;

	b->calm = rate(switches_most(perf, &all), span_ns) < FEW ? b->calm + 1 : 0;
	return b->calm >= b->calm_wanted;
}

/* True if bursts continue. */
static bool end(struct hp_perf *perf)
{
	struct hp_perf_burst *b = &perf->burst;
	uint64_t span_ns;

	toggle(perf, PERF_EVENT_IOC_DISABLE);
	if (!perf->has_kernel)
		hp_offcpu_notes_long(&perf->notes, HP_BURST_LONG_NS);
	span_ns = hp_clock_raw_ns() - b->began_ns;
	hp_perf_rings_read(&perf->rings, UINT64_MAX - 1, hp_samples_handle, &perf->samples);
	/* After a loss, takes grow again step by step. */
	if (perf->is_wide)
		hp_samples_forget_wait_ids(&perf->samples);
	uint32_t wish = parts_for(perf, (uint64_t)perf->samples.burst.outs * b->parts,
				  (uint64_t)perf->samples.burst.all_outs * b->parts);
	b->parts = wish < b->parts / 2 ? b->parts / 2 : wish;
	if (!hp_burst_end(&perf->samples))
		b->parts = b->parts < PARTS_LOST ? b->parts * 2 : PARTS_LOST;
	b->end_ns = b->follow_ns = 0;
	return !is_calm(perf, span_ns);
}

/* Waiting threads: as often as the notes are read, if that does not take too long. */
static void follow(struct hp_perf *perf, uint64_t now_ns)
{
	struct hp_perf_burst *b = &perf->burst;

	if (now_ns < b->follow_ns)
		return;
	hp_burst_follow(&perf->samples, now_ns);
	b->follow_ns = hp_clock_raw_ns();
	b->follow_ns += (b->follow_ns - now_ns) * COST_RATIO;
}

void hp_perf_burst_do(struct hp_perf *perf, uint64_t now_ns)
{
	struct hp_perf_burst *b = &perf->burst;

	if (b->end_ns && now_ns >= b->end_ns) {
		if (!end(perf)) {
			off(perf);
			return;
		}
		now_ns = hp_clock_raw_ns();
		slot_begin(perf, now_ns);
	}
	if (!b->end_ns) {
		follow(perf, now_ns);
		hp_open_round(&perf->samples, now_ns);
		if (now_ns >= b->start_ns) {
			hp_outside_look(&perf->samples, LONG_NS);
			begin(perf);
		}
	}
	uint64_t due_ns = b->end_ns ? b->end_ns : b->start_ns;
	perf->look_ns = due_ns < now_ns + NOTES_NS ? due_ns : now_ns + NOTES_NS;
}

void hp_perf_burst_count(struct hp_perf *perf, uint64_t switches)
{
	struct hp_perf_burst *b = &perf->burst;
	struct hp_bursts *record = perf->samples.burst.record;
	uint64_t now_ns = hp_clock_raw_ns();

	if (b->counted_ns) {
		record->switches += switches - b->counted;
		record->counted_ns += now_ns - b->counted_ns;
	}
	b->counted = switches;
	b->counted_ns = now_ns;
}

void hp_perf_burst_finish(struct hp_perf *perf, uint64_t now_ns)
{
	struct hp_perf_burst *b = &perf->burst;

	if (!b->is_on)
		return;
	if (b->end_ns && now_ns >= b->end_ns)
		hp_burst_end(&perf->samples);
	hp_offcpu_notes_read(&perf->notes, UINT64_MAX);
	hp_burst_follow(&perf->samples, now_ns);
	hp_burst_finish(&perf->samples, now_ns);
}
