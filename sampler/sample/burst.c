/* SPDX-License-Identifier: MIT */
/*
 * burst.c - see burst.h.
 */
#include "sampler/sample/burst.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/proc.h"
#include "sampler/sample/open.h"
#include "sampler/sample/sample.h"

#define WAITS_MAX 8192u	/* of a burst */
#define CHUNK_GUESSES 254u

/* ---- memory ---- */

static struct hp_bursts *record_new(struct hp_samples *samples)
{
	uint64_t offset = hp_segment_take(samples->tree.segment, sizeof(struct hp_bursts), HP_LINE);
	struct hp_bursts *record = hp_segment_at(samples->tree.segment, offset, sizeof(*record));

	if (!record)
		return NULL;
	record->long_ns = (uint32_t)HP_BURST_LONG_NS;
	/* Release: a reader that finds it finds its contents. */
	__atomic_store_n(&samples->tree.chunks[0]->bursts, offset, __ATOMIC_RELEASE);
	return record;
}

static void period_begin(struct hp_bursting *burst, uint64_t now_ns)
{
	burst->on_ns = now_ns;
	burst->before = *burst->record;
	for (uint32_t i = 0; i < burst->node_room; i++)
		if (burst->nodes[i].guess)
			burst->nodes[i].before = *burst->nodes[i].guess;
}

bool hp_burst_on(struct hp_samples *samples, uint64_t now_ns)
{
	struct hp_bursting *burst = &samples->burst;

	if (!burst->waits)
		burst->waits = calloc(WAITS_MAX, sizeof(*burst->waits));
	if (!burst->touched)
		burst->touched = calloc(WAITS_MAX, sizeof(*burst->touched));
	if (!burst->record)
		burst->record = record_new(samples);
	if (!burst->waits || !burst->touched || !burst->record)
		return false;
	burst->is_on = true;
	burst->is_running = false;
	burst->from_ns = 0;
	burst->wait_count = 0;
	period_begin(burst, now_ns);
	/* Threads that already wait are tracked from here on. */
	hp_burst_follow(samples, now_ns);
	return true;
}

void hp_burst_release(struct hp_bursting *burst)
{
	free(burst->waits);
	free(burst->touched);
	free(burst->nodes);
	memset(burst, 0, sizeof(*burst));
}

static struct hp_guess *guess_new(struct hp_samples *samples)
{
	struct hp_bursting *burst = &samples->burst;

	if (!burst->newest || burst->newest->count == CHUNK_GUESSES) {
		uint64_t size = sizeof(*burst->newest) + CHUNK_GUESSES * sizeof(struct hp_guess);
		uint64_t offset = hp_segment_take(samples->tree.segment, size, HP_LINE);
		struct hp_guess_chunk *chunk = hp_segment_at(samples->tree.segment, offset, size);

		if (!chunk)
			return NULL;
		chunk->capacity = CHUNK_GUESSES;
		if (burst->newest)
			burst->newest->next = offset;
		else
			burst->record->guesses = offset;
		burst->newest = chunk;
	}
	return &burst->newest->guesses[burst->newest->count];
}

/* NULL = no memory: its waits are only in the totals. */
static struct hp_burst_node *node_of(struct hp_samples *samples, uint32_t number)
{
	struct hp_bursting *burst = &samples->burst;
	struct hp_burst_node *node;

	if (number >= burst->node_room) {
		uint32_t room = samples->tree.count + samples->tree.count / 2 + 64;
		struct hp_burst_node *larger = realloc(burst->nodes, room * sizeof(*larger));

		if (!larger)
			return NULL;
		memset(larger + burst->node_room, 0, (room - burst->node_room) * sizeof(*larger));
		burst->nodes = larger;
		burst->node_room = room;
	}
	node = &burst->nodes[number];
	if (!node->guess && (node->guess = guess_new(samples))) {
		node->guess->node = number;
		__atomic_store_n(&burst->newest->count, burst->newest->count + 1, __ATOMIC_RELEASE);
	}
	return node->guess ? node : NULL;
}

/* ---- tracking waits ---- */

/* How often the thread was given a CPU. False = it is gone, or unknown. */
static bool slices_of(uint32_t pid, uint32_t tid, uint64_t *slices)
{
	char path[64], text[128], *at = text;

	hp_proc_task_path(path, pid, tid, "schedstat");
	if (hp_proc_read(path, text, sizeof(text)) <= 0)
		return false;
	strtoull(at, &at, 10);
	strtoull(at, &at, 10);
	*slices = strtoull(at, &at, 10);
	return *at == '\n' || *at == '\0';
}

static struct hp_burst_wait *wait_new(struct hp_bursting *burst)
{
	if (burst->wait_count == WAITS_MAX) {
		burst->has_dropped = true;
		return NULL;
	}
	struct hp_burst_wait *wait = &burst->waits[burst->wait_count++];

	memset(wait, 0, sizeof(*wait));
	return wait;
}

/*
 * A tracked wait has ended at that time; it is kept for a note that may have more details. If the
 * end is a guess, it is later than `seen_ns`.
 */
static void followed_end(struct hp_samples *samples, struct hp_wait_thread *thread, uint64_t in_ns,
			 uint64_t seen_ns)
{
	struct hp_burst_wait *wait = wait_new(&samples->burst);

	if (wait) {
		wait->out_ns = thread->out_ns;
		wait->in_ns = in_ns;
		wait->seen_ns = seen_ns;
		wait->tid = thread->tid;
		wait->pid = thread->pid;
		/* It returned before the scan, which saw another wait. */
		wait->node = thread->look_ns > in_ns ? 0 : thread->wait_node;
		wait->is_once = true;
	}
	hp_open_forget(samples, thread);
	thread->slices_ns = 0;
}

static void thread_follow(struct hp_samples *samples, struct hp_wait_thread *thread,
			  uint64_t now_ns)
{
	uint64_t slices;
	bool is_there = slices_of(thread->pid, thread->tid, &slices);

	if (is_there && (!thread->slices_ns || slices == thread->slices)) {
		thread->slices = slices;
		thread->slices_ns = now_ns;
		return;
	}
	followed_end(samples, thread,
		     thread->slices_ns ? thread->slices_ns + (now_ns - thread->slices_ns) / 2
				       : now_ns,
		     thread->slices_ns);
}

static void wait_follow(struct hp_burst_wait *wait, uint64_t now_ns)
{
	uint64_t slices;

	if (wait->in_ns)
		return;
	if (slices_of(wait->pid, wait->tid, &slices) &&
	    (!wait->seen_ns || slices == wait->slices)) {
		wait->slices = slices;
		wait->seen_ns = now_ns;
		return;
	}
	wait->in_ns = wait->seen_ns ? wait->seen_ns + (now_ns - wait->seen_ns) / 2 : now_ns;
}

void hp_burst_follow(struct hp_samples *samples, uint64_t now_ns)
{
	struct hp_bursting *burst = &samples->burst;

	for (uint32_t i = 0; i < burst->wait_count; i++)
		wait_follow(&burst->waits[i], now_ns);
	for (uint32_t i = 0; i < samples->waits.room; i++)
		if (samples->waits.threads[i].out_ns)
			thread_follow(samples, &samples->waits.threads[i], now_ns);
}

/* ---- a burst ---- */

void hp_burst_begin(struct hp_samples *samples, uint64_t now_ns, uint32_t parts, uint32_t slots)
{
	struct hp_bursting *burst = &samples->burst;

	hp_burst_settle(samples);
	burst->is_running = true;
	burst->from_ns = now_ns;
	burst->take_ns = now_ns + HP_BURST_SLOT_NS / parts;
	burst->slots = slots + burst->missed;
	burst->weight = parts * burst->slots;
	burst->lost = samples->lost;
	burst->has_dropped = false;
	burst->outs = burst->all_outs = 0;
}

void hp_burst_switch(struct hp_bursting *burst, uint64_t now_ns)
{
	burst->all_outs += burst->is_running && now_ns >= burst->from_ns && now_ns < burst->take_ns;
}

void hp_burst_out(struct hp_samples *samples, struct hp_wait_thread *thread)
{
	struct hp_bursting *burst = &samples->burst;

	thread->slices_ns = 0;
	burst->outs += burst->is_running && thread->out_ns < burst->take_ns;
}

void hp_burst_in(struct hp_samples *samples, struct hp_wait_thread *thread, uint64_t now_ns)
{
	struct hp_bursting *burst = &samples->burst;
	struct hp_burst_wait *wait;

	if (!thread->out_ns || now_ns <= thread->out_ns)
		return;
	if (!burst->is_running || thread->slices_ns) {
		followed_end(samples, thread, now_ns, 0);
		return;
	}
	/* The events of some threads are enabled before those of all. */
	if (thread->out_ns < burst->from_ns || thread->out_ns >= burst->take_ns ||
	    !(wait = wait_new(burst)))
		return;
	wait->out_ns = thread->out_ns;
	wait->in_ns = now_ns;
	wait->tid = thread->tid;
	wait->pid = thread->pid;
	wait->node = thread->wait_node;
}

bool hp_burst_end(struct hp_samples *samples)
{
	struct hp_bursting *burst = &samples->burst;

	burst->is_running = false;
	for (uint32_t i = 0; i < samples->waits.room; i++) {
		struct hp_wait_thread *thread = &samples->waits.threads[i];
		struct hp_burst_wait *wait;

		/* Waits followed from before continue. */
		if (!thread->out_ns || thread->slices_ns)
			continue;
		if (thread->out_ns >= burst->from_ns && thread->out_ns < burst->take_ns &&
		    (wait = wait_new(burst))) {
			wait->out_ns = thread->out_ns;
			wait->tid = thread->tid;
			wait->pid = thread->pid;
			wait->node = thread->wait_node;
		}
		hp_open_forget(samples, thread);
	}
	bool is_whole = samples->lost == burst->lost && !burst->has_dropped;
	burst->missed = is_whole ? 0 : burst->slots;
	if (!is_whole)
		burst->from_ns = 0;
	return is_whole;
}

/* ---- notes ---- */

/* The end of a wait that was tracked is a guess, and may be later than that of its call. */
static bool is_in(const struct hp_burst_wait *wait, const struct hp_burst_note *note)
{
	uint64_t end_ns = wait->seen_ns ? wait->seen_ns : wait->in_ns;

	return wait->tid == note->tid && wait->out_ns >= note->begin_ns &&
	       (!wait->in_ns || end_ns <= note->end_ns + HP_BURST_LONG_NS / 8) &&
	       wait->out_ns < note->end_ns;
}

/* Waits that bursts saw in the call: they get its place, or are replaced by it. */
static uint64_t waits_take(struct hp_bursting *burst, const struct hp_burst_note *note,
			   bool is_long)
{
	uint32_t count = 0;
	uint64_t first_ns = 0;

	for (uint32_t i = 0; i < burst->wait_count; i++) {
		struct hp_burst_wait *wait = &burst->waits[i];

		if (is_in(wait, note)) {
			if (is_long) {
				if (wait->is_once)
					first_ns = wait->out_ns;
				continue;
			}
			if (!wait->node)
				wait->node = note->node;
		}
		burst->waits[count++] = *wait;
	}
	burst->wait_count = count;
	return first_ns;
}

static void blocked_add(struct hp_samples *samples, uint32_t number, uint64_t waits, uint64_t ns)
{
	struct hp_stack_node *node = hp_sample_tree_node(&samples->tree, number);

	node->waits += waits;
	node->blocked_ns += ns;
	samples->record->blocked_ns += ns;
	hp_sample_tree_changed(&samples->tree, number);
}

void hp_burst_note(struct hp_samples *samples, const struct hp_burst_note *note)
{
	struct hp_bursting *burst = &samples->burst;
	struct hp_wait_thread *thread = hp_wait_thread_of(&samples->waits, note->tid);
	/* Without a voluntary switch it was preempted, or ran all the time. */
	bool is_long = note->took_ns >= HP_BURST_LONG_NS && note->switches;
	uint64_t first_ns = waits_take(burst, note, is_long);
	uint64_t ns = note->took_ns;

	if (!is_long || !thread)
		return;
	if (thread->out_ns >= note->begin_ns && thread->out_ns < note->end_ns) {
		first_ns = thread->out_ns;
		hp_open_forget(samples, thread);
		thread->slices_ns = 0;
	}
	/* All switches before bursts started were recorded. */
	if (!first_ns && note->begin_ns < burst->on_ns)
		first_ns = burst->on_ns < note->end_ns ? burst->on_ns : note->end_ns;
	if (first_ns)
		ns = note->end_ns - first_ns;
	if (ns > note->off_ns)
		ns = note->off_ns;
	if (ns < HP_BURST_LONG_NS)
		return;
	blocked_add(samples, note->node, 1, ns);
	hp_sample_events_add(&samples->events,
			     &(struct hp_event){ note->end_ns, ns, note->node, note->pid, note->tid,
						 HP_EVENT_WAIT });
}

/* ---- sums ---- */

static void draw_add(struct hp_samples *samples, const struct hp_burst_wait *wait,
		     uint32_t *touched)
{
	struct hp_bursting *burst = &samples->burst;
	uint64_t ns = (wait->in_ns - wait->out_ns) * burst->weight;
	struct hp_burst_node *node = node_of(samples, wait->node);

	blocked_add(samples, wait->node, burst->weight, ns);
	burst->record->waits++;
	burst->record->blocked_ns += ns;
	if (!node)
		return;
	if (!node->added_ns)
		burst->touched[(*touched)++] = wait->node;
	node->added_ns += ns;
	node->guess->waits += burst->weight;
	node->guess->blocked_ns += ns;
}

/* One that outlasts a slot is tracked, and counts once. */
static bool go_on(struct hp_samples *samples, const struct hp_burst_wait *wait)
{
	struct hp_wait_thread *thread = hp_wait_thread_of(&samples->waits, wait->tid);

	if (!thread || thread->out_ns)
		return false;
	thread->pid = wait->pid;
	thread->out_ns = wait->out_ns;
	thread->wait_node = wait->node;
	thread->slices = wait->slices;
	thread->slices_ns = wait->seen_ns;
	return true;
}

void hp_burst_settle(struct hp_samples *samples)
{
	struct hp_bursting *burst = &samples->burst;
	uint64_t before_ns = burst->record ? burst->record->blocked_ns : 0, all_us;
	uint32_t touched = 0;

	if (!burst->is_on)
		return;
	/* A burst that was cut short does not count. */
	bool has_draws = burst->from_ns && !burst->is_running;
	for (uint32_t i = 0; i < burst->wait_count; i++) {
		const struct hp_burst_wait *wait = &burst->waits[i];

		if (!wait->in_ns)
			go_on(samples, wait);
		else if (wait->is_once)
			blocked_add(samples, wait->node, 1, wait->in_ns - wait->out_ns);
		else if (has_draws)
			draw_add(samples, wait, &touched);
	}
	burst->wait_count = 0;
	for (uint32_t i = 0; i < touched; i++) {
		struct hp_burst_node *node = &burst->nodes[burst->touched[i]];
		uint64_t us = node->added_ns / 1000;

		node->guess->squares += us * us;
		node->added_ns = 0;
	}
	if (!has_draws)
		return;
	all_us = (burst->record->blocked_ns - before_ns) / 1000;
	burst->record->squares += all_us * all_us;
	burst->record->count++;
	burst->record->covered_ns += burst->slots * HP_BURST_SLOT_NS;
	burst->record->taken_ns += burst->take_ns - burst->from_ns;
	burst->record->outs += (uint64_t)burst->all_outs * burst->weight;
	burst->from_ns = 0;
}

/* ---- the end of a period ---- */

struct growth {
	double more;	/* of what the period's bursts added */
	double unsure;	/* the part of it that is as wrong as it may be */
};

/* What one of the period's sums grows by. */
static uint64_t grown(uint64_t now, uint64_t before, double more)
{
	return (uint64_t)(int64_t)((double)(now - before) * more);
}

/*
 * Squares of what grows by a factor grow by its square. Half of a 95 % interval is about two
 * standard deviations.
 */
static uint64_t squares_grown(const struct growth *by, uint64_t squares, uint64_t ns)
{
	double unsure_us = (double)ns / 1000 * by->unsure / 2;

	return (uint64_t)(int64_t)((double)squares * ((1 + by->more) * (1 + by->more) - 1) +
				   unsure_us * unsure_us);
}

static void guess_grow(struct hp_samples *samples, const struct hp_burst_node *node,
		       const struct growth *by)
{
	struct hp_guess *guess = node->guess;
	const struct hp_guess *before = &node->before;
	uint64_t waits = grown(guess->waits, before->waits, by->more);
	uint64_t ns = grown(guess->blocked_ns, before->blocked_ns, by->more);

	guess->squares += squares_grown(by, guess->squares - before->squares,
					guess->blocked_ns - before->blocked_ns);
	guess->waits += waits;
	guess->blocked_ns += ns;
	blocked_add(samples, guess->node, waits, ns);
	samples->burst.record->blocked_ns += ns;
}

static void stretch(struct hp_samples *samples, uint64_t now_ns)
{
	struct hp_bursting *burst = &samples->burst;
	struct hp_bursts *record = burst->record;
	const struct hp_bursts *before = &burst->before;
	int64_t covered_ns, owed_ns;
	struct growth by;

	covered_ns = (int64_t)(record->covered_ns - before->covered_ns);
	if (covered_ns <= 0 || now_ns <= burst->on_ns)
		return;
	owed_ns = (int64_t)(now_ns - burst->on_ns) - covered_ns;
	record->covered_ns += (uint64_t)owed_ns;
	by.more = (double)owed_ns / (double)covered_ns;
	by.unsure = owed_ns > (int64_t)HP_BURST_SLOT_NS
			    ? (double)(owed_ns - (int64_t)HP_BURST_SLOT_NS) / (double)covered_ns
			    : 0;
	record->squares += squares_grown(&by, record->squares - before->squares,
					 record->blocked_ns - before->blocked_ns);
	record->outs += grown(record->outs, before->outs, by.more);
	for (uint32_t i = 0; i < burst->node_room; i++)
		if (burst->nodes[i].guess)
			guess_grow(samples, &burst->nodes[i], &by);
}

void hp_burst_finish(struct hp_samples *samples, uint64_t now_ns)
{
	struct hp_bursting *burst = &samples->burst;

	hp_burst_settle(samples);
	stretch(samples, now_ns);
	burst->record->on_ns =
		burst->earlier_ns + (now_ns > burst->on_ns ? now_ns - burst->on_ns : 0);
}

void hp_burst_off(struct hp_samples *samples, uint64_t now_ns)
{
	hp_burst_finish(samples, now_ns);
	samples->burst.earlier_ns = samples->burst.record->on_ns;
	samples->burst.is_on = false;
}
