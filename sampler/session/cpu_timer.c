/* SPDX-License-Identifier: MIT */
/*
 * cpu_timer.c - see cpu_timer.h.
 *
 * A ring is written by the program's own process, so nothing in it is trusted:
 * sizes and offsets are checked before use.
 */
#include "sampler/session/cpu_timer.h"

#include <string.h>

#include "sampler/sample/orphan.h"
#include "segment/clock.h"
#include "segment/ring.h"

#define TICKERS_MAX 100000	/* a damaged list must not cause an endless loop */
#define PROCESSES_MAX 100000
#define FREE_EVERY_NS UINT64_C(1000000000)

void hp_ticks_init(struct hp_ticks *ticks, struct hp_perf *perf)
{
	ticks->perf = perf;
}

static bool begin(struct hp_ticks *ticks)
{
	struct hp_sampling *record = ticks->perf->record;
	const struct hp_ticking *ticking = hp_segment_ticking(ticks->perf->segment);
	uint32_t root = ticks->perf->members->root_pid, interval_ns;

	if (!record || ticks->perf->is_open ||
	    !atomic_load_explicit(&ticking->is_on, memory_order_acquire))
		return false;
	/* Once: members may write it. */
	interval_ns = __atomic_load_n(&ticking->interval_ns, __ATOMIC_RELAXED);
	if (!interval_ns)
		return false;
	if (!hp_samples_init(&ticks->samples, ticks->perf->segment, record))
		return false;
	record->source = HP_SAMPLING_TIMER;
	record->fault = HP_SAMPLING_FINE;
	record->error = 0;
	record->has_kernel = 0;
	record->frequency = 1000000000 / interval_ns;
	record->ring_size = HP_TICKER_WORDS * sizeof(uint64_t);
	ticks->is_on = true;
	/* It may be gone when its samples are read. */
	struct hp_space *space = hp_space_of(&ticks->samples.spaces, root);
	if (space)
		hp_space_find(&ticks->samples.spaces, space, 0);
	return true;
}

/* ---- a sample ---- */

/* True if the process runs the executable now. */
static bool runs(const struct hp_segment *segment, uint32_t pid, uint64_t object)
{
	uint64_t at = atomic_load_explicit(&segment->header->processes, memory_order_acquire);
	const struct hp_process *process;

	for (int i = 0; at && i < PROCESSES_MAX; i++, at = process->next) {
		process = hp_segment_at(segment, at, sizeof(*process));
		if (!process)
			return false;
		if (process->pid == pid && atomic_load(&process->state) == HP_TAKEN)
			return process->object == object;
	}
	return false;
}

/*
 * The address space of the sampled process; a child that is gone had the code of its
 * parent, if there was no exec in between.
 */
static struct hp_space *space_of(struct hp_ticks *ticks, const struct hp_segment *segment,
				 const uint64_t *words)
{
	struct hp_spaces *spaces = &ticks->samples.spaces;
	uint32_t pid = (uint32_t)words[HP_TICK_THREAD], parent = (uint32_t)words[HP_TICK_PARENT];
	bool is_new = !hp_space_known(spaces, pid);
	struct hp_space *space = hp_space_of(spaces, pid);

	if (!space)
		return NULL;
	if (space->image && space->image != words[HP_TICK_IMAGE]) {
		hp_space_exec(spaces, pid);
		is_new = true;
	}
	space->image = words[HP_TICK_IMAGE];
	if (!is_new)
		return space;
	space->is_shut = !hp_members_admit(ticks->perf->members, pid);
	hp_space_find(spaces, space, 0);
	if (!space->count && runs(segment, parent, (words[HP_TICK_PARENT] >> 32) * HP_LINE))
		hp_space_fork(spaces, pid, parent);
	return space;
}

static void sample_add(struct hp_ticks *ticks, const struct hp_segment *segment,
		       const uint64_t *words, uint32_t size)
{
	struct hp_space *space = space_of(ticks, segment, words);
	struct hp_tick tick = {
		.ns = words[HP_TICK_TIME],
		.cpu_ns = words[HP_TICK_SPAN],
		.pid = (uint32_t)words[HP_TICK_THREAD],
		.tid = (uint32_t)(words[HP_TICK_THREAD] >> 32),
		.frames = words + HP_TICK_WORDS,
		.count = size - HP_TICK_WORDS,
		.is_complete = (words[HP_TICK_SIZE] & HP_TICK_COMPLETE) != 0,
		.is_cut = (words[HP_TICK_SIZE] & HP_TICK_CUT) != 0,
	};

	if (space)
		hp_samples_add_tick(&ticks->samples, space, &tick);
}

/* ---- rings ---- */

static void ticker_read(struct hp_ticks *ticks, const struct hp_segment *segment,
			struct hp_ticker *ticker)
{
	static uint64_t words[HP_TICKER_WORDS];
	const struct hp_ring ring = HP_RING(ticker);
	uint64_t tail, head = hp_ring_look(&ring, &tail);

	while (tail != head) {
		uint32_t size = hp_ring_take(&ring, tail, head, HP_TICK_WORDS, words);

		if (!size) {
			tail = head;
			break;
		}
		sample_add(ticks, segment, words, size);
		tail += size;
	}
	hp_ring_done(&ring, tail);
}

/* Returns how many samples were lost. */
static uint64_t tickers_read(struct hp_ticks *ticks, const struct hp_segment *segment, bool frees)
{
	uint64_t at =
		atomic_load_explicit(&hp_segment_ticking(segment)->tickers, memory_order_acquire);
	struct hp_ticker *ticker;
	uint64_t lost = 0;

	for (int i = 0; at && i < TICKERS_MAX; i++, at = ticker->next) {
		ticker = hp_segment_at(segment, at, sizeof(*ticker));
		if (!ticker)
			break;
		ticker_read(ticks, segment, ticker);
		lost += atomic_load_explicit(&ticker->lost, memory_order_relaxed);
		if (frees)
			hp_ring_free_orphan(segment, &ticker->state, &ticker->process,
					    &ticker->image);
	}
	return lost;
}

static void all_read(struct hp_ticks *ticks)
{
	const struct hp_segments *segments = &ticks->perf->members->segments;
	uint64_t now = hp_clock_raw_ns(), lost = 0;
	bool frees = now >= ticks->free_ns + FREE_EVERY_NS;

	for (uint32_t i = 0; i < segments->count; i++)
		lost += tickers_read(ticks, segments->at[i], frees);
	ticks->perf->record->lost = lost;
	if (frees)
		ticks->free_ns = now;
}

void hp_ticks_read(struct hp_ticks *ticks)
{
	if (ticks->is_on || begin(ticks))
		all_read(ticks);
}

void hp_ticks_finish(struct hp_ticks *ticks)
{
	struct hp_sampling *record = ticks->perf->record;

	hp_ticks_read(ticks);
	if (record && !ticks->is_on && ticks->perf->settings->cpu == HP_CPU_TIMER)
		record->fault = HP_SAMPLING_NO_TIMER;
}
