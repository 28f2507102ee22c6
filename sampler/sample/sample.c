/* SPDX-License-Identifier: MIT */
/*
 * sample.c - see sample.h.
 *
 * A sample's stack is assembled innermost first: the kernel's part, if
 * permitted, then the user's.
 */
#include "sampler/sample/sample.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "sampler/perf/ring.h"
#include "sampler/sample/open.h"
#include "segment/clock.h"
#include "util/hash.h"

#define STACK_FRESH_NS UINT64_C(200000)	/* between a stack and its switch */
#define RECORD_MIN 24	/* tid and pid, time, identifier */
#define FETCH_MAX UINT64_C(256)	/* innermost bytes of a stack that are prefetched */
#define ASK_EVERY_NS UINT64_C(100000000)	/* whether a process that ended is still of the session */
#define EVENT_MIN_NS UINT64_C(20000)	/* shorter waits are only in the tree */

/* A record, read from its start. */
struct cursor {
	const uint8_t *at;
	const uint8_t *end;
};

static uint64_t take(struct cursor *c)
{
	uint64_t word = 0;

	if (c->end - c->at < (ptrdiff_t)sizeof(word))
		c->at = c->end;
	else
		memcpy(&word, c->at, sizeof(word));
	c->at += c->at < c->end ? sizeof(word) : 0;
	return word;
}

bool hp_samples_init(struct hp_samples *samples, const struct hp_segment *segment,
		     struct hp_sampling *record)
{
	memset(samples, 0, sizeof(*samples));
	samples->record = record;
	hp_sample_events_init(&samples->events, segment, record);
	hp_spaces_init(&samples->spaces, segment);
	return hp_sample_walker_init(&samples->walker, &samples->spaces) &&
	       hp_trails_init(&samples->trails) &&
	       hp_sample_tree_init(&samples->tree, segment, record);
}

void hp_samples_release(struct hp_samples *samples)
{
	hp_sample_tree_release(&samples->tree);
	hp_sample_walker_release(&samples->walker);
	hp_trails_release(&samples->trails);
	hp_waits_release(&samples->waits);
	hp_burst_release(&samples->burst);
	free(samples->wait_ids);
	free(samples->counts);
	samples->wait_ids = NULL;
	samples->counts = NULL;
	hp_spaces_release(&samples->spaces);
}

/* ---- a sample ---- */

struct sample {
	uint64_t id;
	uint64_t pc;
	uint32_t pid;
	uint32_t tid;
	uint64_t time;
	uint64_t period;
	bool has_counts;
	struct hp_counts counts;
	const uint8_t *chain;	/* words */
	uint64_t chain_count;
	bool has_registers;
	uint64_t registers[HP_SAMPLE_REGISTER_COUNT];
	const uint8_t *stack;
	uint64_t stack_room;	/* as much as was requested; the available size follows it */
};

static void stack_read(struct cursor *c, struct sample *s)
{
	uint64_t room = take(c), left = (uint64_t)(c->end - c->at);

	if (room && left >= sizeof(room) && room <= left - sizeof(room)) {
		s->stack = c->at;
		s->stack_room = room;
	}
}

/* Separate from the rest, since it is far behind it. */
static uint64_t stack_size(const struct sample *s)
{
	uint64_t size = 0;

	if (s->stack_room)
		memcpy(&size, s->stack + s->stack_room, sizeof(size));
	return size <= s->stack_room ? size : 0;
}

/* The group's size; fewer than all = one could not be opened for this thread. */
static void counts_read(struct cursor *c, struct sample *s)
{
	uint64_t count = take(c), words[HP_COUNTS] = { 0 };

	for (uint64_t i = 0; i < count && c->at < c->end; i++) {
		uint64_t word = take(c);

		if (i < HP_COUNTS)
			words[i] = word;
	}
	s->has_counts = count == HP_COUNTS;
	s->counts = (struct hp_counts){ words[0], words[1], words[2] };
}

static void sample_read(const struct hp_samples *samples, const struct perf_event_header *record,
			struct sample *s)
{
	struct cursor c = { (const uint8_t *)(record + 1), (const uint8_t *)record + record->size };
	uint64_t thread;

	memset(s, 0, sizeof(*s));
	s->id = take(&c);
	s->pc = take(&c);
	thread = take(&c);
	s->pid = (uint32_t)thread;
	s->tid = (uint32_t)(thread >> 32);
	s->time = take(&c);
	if (samples->sample_type & PERF_SAMPLE_PERIOD)
		s->period = take(&c);
	if (samples->sample_type & PERF_SAMPLE_READ)
		counts_read(&c, s);
	if (samples->sample_type & PERF_SAMPLE_CALLCHAIN) {
		uint64_t count = take(&c), room = (uint64_t)(c.end - c.at) / 8;

		s->chain = c.at;
		s->chain_count = count < room ? count : room;
		c.at += s->chain_count * 8;
	}
	if (samples->sample_type & PERF_SAMPLE_REGS_USER && (s->has_registers = take(&c) != 0))
		for (int i = 0; i < HP_SAMPLE_REGISTER_COUNT; i++)
			s->registers[i] = take(&c);
	if (samples->sample_type & PERF_SAMPLE_STACK_USER)
		stack_read(&c, s);
}

static void place_add(struct hp_samples *samples, struct hp_place place)
{
	if (samples->place_count < HP_PLACES_MAX)
		samples->places[samples->place_count++] = place;
}

/* `is_caller`: the address is where a call returns to. */
static void user_add(struct hp_samples *samples, struct hp_space *space, uint64_t address,
		     bool is_caller)
{
	const struct hp_map_entry *entry;

	address -= is_caller;
	entry = hp_space_find(&samples->spaces, space, address);
	place_add(samples,
		  entry ? hp_space_place(entry, address) : (struct hp_place){ .address = address });
}

/* The words between the kernel's marks: where the stack continues. */
static void chain_add(struct hp_samples *samples, struct hp_space *space, const struct sample *s)
{
	bool is_kernel = false, is_caller = false;

	for (uint64_t i = 0; i < s->chain_count; i++) {
		uint64_t word;

		memcpy(&word, s->chain + i * 8, sizeof(word));
		if (word >= (uint64_t)PERF_CONTEXT_MAX) {
			is_kernel = word == (uint64_t)PERF_CONTEXT_KERNEL;
			is_caller = false;
			continue;
		}
		if (is_kernel)
			place_add(samples, (struct hp_place){ word - is_caller,
							      hp_spaces_kernel(&samples->spaces) });
		else
			user_add(samples, space, word, is_caller);
		is_caller = true;
	}
}

/* The user's part, from registers and stack. */
static void walk_add(struct hp_samples *samples, struct hp_space *space, const struct sample *s)
{
	struct hp_sample_walker *walker = &samples->walker;

	uint64_t sp = s->registers[HP_SAMPLE_SP], size = stack_size(s);

	walker->trail = hp_trails_of(&samples->trails, s->pid, s->tid, space->mapped);
	walker->space = space;
	walker->stack = (struct hp_stack_copy){ s->stack, sp, sp + size };
	walker->places = samples->places;
	walker->count = samples->place_count;
	walker->most = HP_PLACES_MAX;
	hp_sample_walk(walker, s->registers[HP_SAMPLE_PC], sp, s->registers[HP_SAMPLE_FP]);
	samples->place_count = walker->count;
	samples->is_complete = walker->is_complete;
	samples->is_cut = !walker->is_complete && walker->is_cut && size == s->stack_room;
	samples->walked++;
	samples->cut += samples->is_cut;
}

static uint32_t node_of(struct hp_samples *samples, const struct sample *s)
{
	struct hp_space *space = hp_space_of(&samples->spaces, s->pid);
	struct hp_sample_walker *walker = &samples->walker;
	struct hp_tree_path from = { 0, 0 };
	uint32_t node, kernel;
	bool is_folded;

	samples->place_count = 0;
	walker->joint = 0;
	if (!space)
		return 0;
	chain_add(samples, space, s);
	kernel = samples->place_count;
	if (s->has_registers)
		walk_add(samples, space, s);
	if (walker->joint)
		from = walker->trail->frames[walker->joint - 1].path;
	else if (!samples->place_count)
		user_add(samples, space, s->pc, false);
	node = hp_sample_tree_below(&samples->tree, from, samples->places, samples->place_count,
				    samples->paths, &is_folded);
	samples->record->folded += is_folded;
	if (s->has_registers && !is_folded)
		hp_sample_walk_keep(walker, samples->paths + kernel);
	return node;
}

static void event_add(struct hp_samples *samples, const struct hp_event *event)
{
	struct hp_stack_node *node = hp_sample_tree_node(&samples->tree, event->node);

	node->samples++;
	node->cpu_ns += event->span_ns;
	hp_sample_tree_changed(&samples->tree, event->node);
	samples->record->cpu_ns = samples->cpu_ns += event->span_ns;
	samples->record->samples++;
	hp_sample_events_add(&samples->events, event);
}

/* A thread being sampled is not waiting: the record of its return was lost. */
static void wait_check(struct hp_samples *samples, const struct sample *s)
{
	struct hp_wait_thread *thread = hp_wait_thread_of(&samples->waits, s->tid);

	if (!thread || !thread->out_ns || s->time <= thread->out_ns + STACK_FRESH_NS)
		return;
	if (samples->burst.is_on)
		hp_burst_in(samples, thread, s->time);
	hp_open_forget(samples, thread);
}

/* The kind of time, if the processor's counters reveal it. */
static void counts_add(struct hp_samples *samples, const struct sample *s,
		       const struct hp_event *event)
{
	struct hp_stack_node *node = hp_sample_tree_node(&samples->tree, event->node);
	struct hp_counts grown;

	if (!samples->counts)
		samples->counts = calloc(HP_COUNT_SLOTS, sizeof(*samples->counts));
	if (!samples->counts || !hp_counts_grow(samples->counts, s->tid, s->id, &s->counts, &grown))
		return;
	node->counted_ns += event->span_ns;
	if (hp_counts_wait_for_memory(&grown))
		node->memory_ns += event->span_ns;
}

static void cpu_add(struct hp_samples *samples, const struct sample *s)
{
	uint64_t cpu_ns = samples->period_ns ? samples->period_ns : s->period;
	struct hp_event event = {
		s->time, cpu_ns, node_of(samples, s), s->pid, s->tid, HP_EVENT_CPU
	};

	if (samples->waits.room)
		wait_check(samples, s);
	samples->record->complete += samples->is_complete;
	samples->record->cut += samples->is_cut;
	if (s->has_counts)
		counts_add(samples, s, &event);
	event_add(samples, &event);
}

void hp_samples_add_tick(struct hp_samples *samples, struct hp_space *space,
			 const struct hp_tick *tick)
{
	struct hp_event event = { tick->ns, tick->cpu_ns, 0, tick->pid, tick->tid, HP_EVENT_CPU };
	bool is_folded;

	samples->place_count = 0;
	for (uint32_t i = 0; i < tick->count; i++)
		user_add(samples, space, tick->frames[i], true);
	event.node = hp_sample_tree_at(&samples->tree, samples->places, samples->place_count,
				       &is_folded);
	samples->record->folded += is_folded;
	samples->record->complete += tick->is_complete;
	samples->record->cut += tick->is_cut;
	event_add(samples, &event);
}

/* ---- waits ---- */

static uint64_t *wait_id_slot(const struct hp_samples *samples, uint64_t id)
{
	uint32_t at = (uint32_t)(id * HP_HASH_GOLDEN >> 32);

	for (;; at++) {
		uint64_t *slot = &samples->wait_ids[at & (samples->wait_id_room - 1)];

		if (!*slot || *slot == id)
			return slot;
	}
}

void hp_samples_note_wait_id(struct hp_samples *samples, uint64_t id)
{
	if (samples->wait_id_count * 2 >= samples->wait_id_room) {
		struct hp_samples larger = *samples;

		larger.wait_id_room = samples->wait_id_room ? samples->wait_id_room * 2 : 64;
		larger.wait_ids = calloc(larger.wait_id_room, sizeof(*larger.wait_ids));
		if (!larger.wait_ids)
			return;
		for (uint32_t i = 0; i < samples->wait_id_room; i++)
			if (samples->wait_ids[i])
				*wait_id_slot(&larger, samples->wait_ids[i]) = samples->wait_ids[i];
		free(samples->wait_ids);
		samples->wait_ids = larger.wait_ids;
		samples->wait_id_room = larger.wait_id_room;
	}
	samples->wait_id_count++;
	*wait_id_slot(samples, id) = id;
}

void hp_samples_forget_wait_ids(struct hp_samples *samples)
{
	for (uint32_t i = 0; i < samples->wait_id_room; i++)
		samples->wait_ids[i] = 0;
	samples->wait_id_count = 0;
}

/* Where the thread is, just before it leaves the CPU. */
static void wait_stack(struct hp_samples *samples, const struct sample *s)
{
	struct hp_wait_thread *thread = hp_wait_thread_of(&samples->waits, s->tid);

	samples->wait_samples++;
	if (!thread)
		return;
	thread->node = node_of(samples, s);
	samples->stack_ns = thread->node_ns = s->time;
}

static void wait_add(struct hp_samples *samples, struct hp_wait_thread *thread, uint64_t now_ns)
{
	uint64_t from_ns = thread->told_ns ? thread->told_ns : thread->out_ns;
	struct hp_event event = { now_ns,      now_ns - from_ns, thread->wait_node,
				  thread->pid, thread->tid,	 HP_EVENT_WAIT };

	hp_open_count(samples, thread, now_ns);
	struct hp_wait_open open = { thread->out_ns, now_ns, NULL, thread->wait_node };
	if (now_ns >= from_ns + EVENT_MIN_NS)
		open.event = hp_sample_events_add(&samples->events, &event);
	/* A stack seen from outside ends early where a function needs its frame pointer. */
	if (samples->has_notes && (!thread->wait_node || thread->look_ns))
		hp_wait_keep(thread, &open);
}

/* From where it was counted to `number`. */
static void wait_move(struct hp_samples *samples, const struct hp_wait_open *wait, uint32_t number)
{
	struct hp_stack_node *old = hp_sample_tree_node(&samples->tree, wait->node);
	struct hp_stack_node *node = hp_sample_tree_node(&samples->tree, number);
	uint64_t span_ns = wait->in_ns - wait->out_ns;

	old->waits--;
	old->blocked_ns -= span_ns;
	node->waits++;
	node->blocked_ns += span_ns;
	hp_sample_tree_changed(&samples->tree, wait->node);
	hp_sample_tree_changed(&samples->tree, number);
	if (wait->event)
		wait->event->node = number;
}

void hp_samples_place_waits(struct hp_samples *samples, uint32_t tid, uint64_t begin_ns,
			    uint64_t end_ns, const struct hp_wait_stack *stack, enum hp_wait_on on)
{
	struct hp_wait_thread *thread = hp_wait_thread_of(&samples->waits, tid);
	uint32_t count = 0, node = 0;

	for (uint32_t i = 0; thread && i < thread->open_count; i++) {
		struct hp_wait_open *wait = &thread->open[i];

		if (wait->out_ns >= begin_ns && wait->in_ns <= end_ns) {
			if (!node)
				node = hp_samples_wait_node(samples, stack, on);
			if (node) {
				wait_move(samples, wait, node);
				continue;
			}
		}
		thread->open[count++] = *wait;
	}
	if (thread)
		thread->open_count = count;
	if (samples->burst.is_on)
		hp_burst_note(samples,
			      &(struct hp_burst_note){
				      .begin_ns = begin_ns,
				      .end_ns = end_ns,
				      .took_ns = stack->took_ns,
				      .off_ns = stack->off_ns,
				      .switches = stack->switches,
				      .pid = stack->pid,
				      .tid = tid,
				      .node = node ? node
						   : hp_samples_wait_node(samples, stack, on),
			      });
}

/* Each process that ends has a few records after that of its end. */
static bool is_still_there(const struct hp_samples *samples, struct hp_space *space)
{
	uint64_t now_ns = hp_clock_raw_ns();

	if (now_ns < space->foreign_ns + ASK_EVERY_NS)
		return false;
	if (samples->admits(samples->members, space->pid))
		return true;
	space->foreign_ns = now_ns;
	return false;
}

/*
 * Of the session. The number of a process that has ended may be that of another one by now, of any
 * user; but a process whose first thread has ended may still run, so it is asked for.
 */
static bool is_known(const struct hp_samples *samples, uint32_t pid)
{
	struct hp_space *space = hp_space_known(&samples->spaces, pid);

	return space && (!space->is_ended || !samples->admits || is_still_there(samples, space));
}

/* A process outside the session. */
static bool is_foreign(const struct hp_samples *samples, uint32_t pid)
{
	return samples->is_wide && !is_known(samples, pid);
}

static void other_note(struct hp_samples *samples, uint32_t pid)
{
	samples->others += pid && pid != samples->helper;
}

static void switch_read(struct hp_samples *samples, const struct perf_event_header *record)
{
	/* At the end of the record: thread and time. */
	const uint8_t *end = (const uint8_t *)record + record->size;
	struct cursor c = { end - 24, end };
	uint64_t who = take(&c), now_ns = take(&c);
	bool is_ours = hp_space_is_ours(&samples->spaces, (uint32_t)who);
	bool is_other = is_ours || is_foreign(samples, (uint32_t)who);
	struct hp_wait_thread *thread =
		is_other ? NULL : hp_wait_thread_of(&samples->waits, (uint32_t)(who >> 32));

	samples->switches += !is_other || samples->counts_all;
	if (is_other && !is_ours)
		other_note(samples, (uint32_t)who);
	if (!thread)
		return;
	thread->pid = (uint32_t)who;
	if (!(record->misc & PERF_RECORD_MISC_SWITCH_OUT)) {
		thread->is_ended = false;
		/* It returned before the scan, which saw another wait. */
		if (thread->look_ns > now_ns)
			thread->wait_node = 0;
		if (samples->burst.is_on) {
			hp_burst_in(samples, thread, now_ns);
		} else if (thread->out_ns && now_ns > thread->out_ns) {
			wait_add(samples, thread, now_ns);
			thread->counted_ns = 0;
		}
		hp_open_forget(samples, thread);
		/* The stack of the ended wait is not that of the next one. */
		thread->node_ns = 0;
		return;
	}
	hp_burst_switch(&samples->burst, now_ns);
	/* It was running: an open wait ended in a record that was lost. */
	hp_open_forget(samples, thread);
	/* Its last switch, after the record of its end. */
	if (thread->is_ended)
		return;
	if (!(record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)) {
		bool is_fresh = thread->node_ns <= now_ns &&
				now_ns - thread->node_ns < STACK_FRESH_NS &&
				thread->node_ns > samples->lost_ns;

		thread->out_ns = now_ns;
		thread->wait_node = is_fresh ? thread->node : 0;
		if (samples->burst.is_on)
			hp_burst_out(samples, thread);
	}
}

uint32_t hp_samples_wait_node(struct hp_samples *samples, const struct hp_wait_stack *stack,
			      enum hp_wait_on on)
{
	struct hp_sample_walker *walker = &samples->walker;
	bool is_folded;

	walker->space = hp_space_of(&samples->spaces, stack->pid);
	if (!walker->space)
		return 0;
	samples->place_count = 0;
	place_add(samples, (struct hp_place){ on, hp_spaces_kernel(&samples->spaces) });
	walker->stack = (struct hp_stack_copy){ stack->copy, stack->sp, stack->sp + stack->size };
	walker->trail = NULL;
	walker->places = samples->places;
	walker->count = samples->place_count;
	walker->most = HP_PLACES_MAX;
	hp_sample_walk(walker, stack->pc, stack->sp, stack->fp);
	samples->place_count = walker->count;
	return hp_sample_tree_at(&samples->tree, samples->places, samples->place_count, &is_folded);
}

/*
 * A stack at a switch. The kernel passes the data of a software event to all events that record it
 * (do_perf_sw_event), and the first one's identifier remains in it. So while another program, or
 * another session, records switches, the identifier may be that of its event. Therefore the ring
 * decides, or the period: that of a clock is never 1. It was also seen to be 0 there; a sample without
 * a period would have no weight.
 */
static bool is_of_switch(const struct hp_samples *samples, const struct sample *s)
{
	if (!samples->wait_id_room)
		return false;
	return (samples->is_of_waits && *samples->is_of_waits) ||
	       (!samples->period_ns && s->period <= 1) || *wait_id_slot(samples, s->id);
}

static void sample_add(struct hp_samples *samples, const struct perf_event_header *record)
{
	struct sample s;

	sample_read(samples, record, &s);
	if (hp_space_is_ours(&samples->spaces, s.pid))
		return;
	samples->is_complete = samples->is_cut = false;
	if (is_of_switch(samples, &s)) {
		if (!is_foreign(samples, s.pid))
			wait_stack(samples, &s);
		else
			samples->wait_samples += samples->counts_all;
	} else if (samples->second_from && s.id >= samples->second_from) {
		return;
	} else if (!samples->is_whole || is_known(samples, s.pid)) {
		cpu_add(samples, &s);
	} else {
		other_note(samples, s.pid);
	}
}

/* ---- other records ---- */

static void map_read(struct hp_samples *samples, const struct perf_event_header *record)
{
	struct cursor c = { (const uint8_t *)(record + 1), (const uint8_t *)record + record->size };
	uint64_t thread = take(&c);
	struct hp_map_entry entry = { .begin = take(&c) };

	entry.end = entry.begin + take(&c);
	entry.offset = take(&c);
	uint64_t device = take(&c), inode = take(&c);
	take(&c);	/* the inode's generation */
	take(&c);	/* access and flags */
	if (is_foreign(samples, (uint32_t)thread) || c.at >= c.end ||
	    !memchr(c.at, 0, (size_t)(c.end - c.at)))
		return;
	hp_space_map(&samples->spaces, (uint32_t)thread, &entry, (const char *)c.at,
		     makedev((uint32_t)device, (uint32_t)(device >> 32)), inode);
}

/* A thread has started with the events of its creator. */
static void born_note(struct hp_samples *samples, const struct perf_event_header *record,
		      uint32_t tid)
{
	uint64_t id;

	memcpy(&id, (const uint8_t *)record + record->size - sizeof(id), sizeof(id));
	if (id >= samples->born_from)
		hp_tids_add(samples->born, tid);
}

static void task_read(struct hp_samples *samples, const struct perf_event_header *record)
{
	struct cursor c = { (const uint8_t *)(record + 1), (const uint8_t *)record + record->size };
	uint64_t processes = take(&c), threads = take(&c);
	uint32_t pid = (uint32_t)processes, parent = (uint32_t)(processes >> 32);

	/* The parent of a process that ends may be outside. */
	if (is_foreign(samples, record->type == PERF_RECORD_EXIT ? pid : parent))
		return;
	if (record->type == PERF_RECORD_EXIT) {
		samples->ended++;
		struct hp_wait_thread *thread =
			hp_wait_thread_of(&samples->waits, (uint32_t)threads);

		if (thread) {
			hp_open_forget(samples, thread);
			thread->is_ended = true;
		}
		if (pid == (uint32_t)threads)
			hp_space_end(&samples->spaces, pid);
		return;
	}
	samples->started++;
	if (samples->born)
		born_note(samples, record, (uint32_t)threads);
	if (pid != parent)
		hp_space_fork(&samples->spaces, pid, parent);
}

static void exec_read(struct hp_samples *samples, uint32_t pid)
{
	if (is_foreign(samples, pid))
		return;
	hp_space_exec(&samples->spaces, pid);
	hp_open_exec(samples, pid);
}

static void lost_read(struct hp_samples *samples, const struct perf_event_header *record)
{
	struct cursor c = { (const uint8_t *)(record + 1), (const uint8_t *)record + record->size };

	if (record->type == PERF_RECORD_LOST)
		take(&c);	/* the event */
	uint64_t lost = take(&c);

	samples->lost += lost;
	if (samples->is_of_waits && *samples->is_of_waits)
		samples->tree.chunks[0]->wait_lost = samples->wait_lost += lost;
	samples->record->lost = samples->lost - samples->wait_lost;
	samples->lost_ns = samples->stack_ns;
}

/* ---- prefetching ---- */

/* The words that decided the thread's last walk, and the next ones. */
static void stack_fetch(const struct hp_trail *trail, const struct sample *s)
{
	uint64_t sp = s->registers[HP_SAMPLE_SP];

	for (uint32_t i = trail->count; i-- > 0;) {
		uint64_t at = trail->frames[i].sp - sizeof(uint64_t) - sp;

		if (at < s->stack_room)
			__builtin_prefetch(s->stack + at);
	}
	for (uint64_t at = 0; at < FETCH_MAX && at < s->stack_room; at += HP_LINE)
		__builtin_prefetch(s->stack + at);
}

/* Rows of the innermost frame, and of apparent return addresses to the same code. */
static void rows_fetch(const struct hp_samples *samples, const struct sample *s)
{
	const struct hp_rows *rows = &samples->walker.rows;
	const struct hp_space *space = hp_space_known(&samples->spaces, s->pid);
	uint64_t pc = s->registers[HP_SAMPLE_PC];
	const struct hp_map_entry *entry = space ? hp_space_entry(space, pc) : NULL;

	if (!entry || !entry->code->cfi.header)
		return;
	uint64_t begin = entry->begin, size = entry->end - begin;
	uint64_t shift = hp_space_place(entry, pc).address + entry->code->bias - pc;
	__builtin_prefetch(hp_rows_line(rows, pc + shift));
	for (uint64_t at = 0; at < FETCH_MAX && at < s->stack_room; at += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, s->stack + at, sizeof(word));
		if (word - begin < size)
			__builtin_prefetch(hp_rows_line(rows, word - 1 + shift));
	}
}

/*
 * A walk waits for memory most of the time: for the stack, which another
 * processor has written, and for one row after the other.  So they are
 * prefetched while earlier samples are walked.
 */
void hp_samples_ahead(void *context, const struct perf_event_header *record, unsigned steps)
{
	const struct hp_samples *samples = context;
	const struct hp_trail *trail;
	struct sample s;

	if (record->type != PERF_RECORD_SAMPLE || record->size < sizeof(*record) + RECORD_MIN)
		return;
	sample_read(samples, record, &s);
	trail = s.stack_room ? hp_trails_known(&samples->trails, s.pid, s.tid) : NULL;
	if (!trail)
		return;
	if (steps == HP_PERF_AHEAD)
		stack_fetch(trail, &s);
	else
		rows_fetch(samples, &s);
}

void hp_samples_handle(void *context, const struct perf_event_header *record)
{
	struct hp_samples *samples = context;
	uint64_t thread;

	/* None is shorter than the fields that our events request; records from the kernel never
	 * are. */
	if (record->size < sizeof(*record) + RECORD_MIN)
		return;
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		sample_add(samples, record);
		break;
	case PERF_RECORD_MMAP2:
		map_read(samples, record);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		task_read(samples, record);
		break;
	case PERF_RECORD_COMM:
		memcpy(&thread, record + 1, sizeof(thread));
		if (record->misc & PERF_RECORD_MISC_COMM_EXEC)
			exec_read(samples, (uint32_t)thread);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:	/* by an event of a CPU */
		switch_read(samples, record);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		lost_read(samples, record);
		break;
	default:
		break;
	}
}
