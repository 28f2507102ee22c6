/* SPDX-License-Identifier: MIT */
/*
 * sample.c - see sample.h.
 *
 * A sample's stack is put together from the inside out: the kernel's part, if
 * it may be seen, then the user's.
 */
#include "sampler/sample.h"

#include <string.h>
#include <sys/sysmacros.h>

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
	hp_spaces_init(&samples->spaces, segment);
	return hp_sample_walker_init(&samples->walker, &samples->spaces) &&
	       hp_sample_tree_init(&samples->tree, segment, record);
}

void hp_samples_release(struct hp_samples *samples)
{
	hp_sample_tree_release(&samples->tree);
	hp_sample_walker_release(&samples->walker);
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
	const uint8_t *chain;	/* words */
	uint64_t chain_count;
	bool has_registers;
	uint64_t registers[HP_SAMPLE_REGISTER_COUNT];
	const uint8_t *stack;
	uint64_t stack_size;	/* as much as there was */
	uint64_t stack_room;	/* as much as was asked for */
};

static void stack_read(struct cursor *c, struct sample *s)
{
	uint64_t room = take(c);

	if (!room || room > (uint64_t)(c->end - c->at))
		return;
	s->stack = c->at;
	s->stack_room = room;
	c->at += room;
	s->stack_size = take(c);
	if (s->stack_size > room)
		s->stack_size = 0;
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
	if (samples->place_count < HP_STACK_MOST)
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

/* The words between the marks of the kernel: where the stack goes on. */
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

	walker->space = space;
	walker->copy = s->stack;
	walker->begin = s->registers[HP_SAMPLE_SP];
	walker->end = walker->begin + s->stack_size;
	walker->places = samples->places;
	walker->count = samples->place_count;
	walker->most = HP_STACK_MOST;
	hp_sample_walk(walker, s->registers[HP_SAMPLE_PC], walker->begin,
		       s->registers[HP_SAMPLE_FP]);
	samples->place_count = walker->count;
	samples->record->complete += walker->is_complete;
	samples->record->cut +=
		!walker->is_complete && walker->is_cut && s->stack_size == s->stack_room;
}

static void sample_add(struct hp_samples *samples, const struct perf_event_header *record)
{
	struct hp_sampling *sampling = samples->record;
	struct hp_space *space;
	struct sample s;
	bool is_folded;

	sample_read(samples, record, &s);
	space = hp_space_of(&samples->spaces, s.pid);
	if (!space)
		return;
	samples->place_count = 0;
	chain_add(samples, space, &s);
	if (s.has_registers)
		walk_add(samples, space, &s);
	if (!samples->place_count)
		user_add(samples, space, s.pc, false);
	struct hp_stack_node *node = hp_sample_tree_at(&samples->tree, samples->places,
						       samples->place_count, &is_folded);
	uint64_t cpu_ns = samples->period_ns ? samples->period_ns : s.period;
	node->samples++;
	node->cpu_ns += cpu_ns;
	sampling->folded += is_folded;
	sampling->cpu_ns += cpu_ns;
	sampling->samples++;
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
	if (c.at >= c.end || !memchr(c.at, 0, (size_t)(c.end - c.at)))
		return;
	hp_space_map(&samples->spaces, (uint32_t)thread, &entry, (const char *)c.at,
		     makedev((uint32_t)device, (uint32_t)(device >> 32)), inode);
}

static void task_read(struct hp_samples *samples, const struct perf_event_header *record)
{
	struct cursor c = { (const uint8_t *)(record + 1), (const uint8_t *)record + record->size };
	uint64_t processes = take(&c), threads = take(&c);
	uint32_t pid = (uint32_t)processes, parent = (uint32_t)(processes >> 32);

	if (record->type == PERF_RECORD_EXIT) {
		if (pid == (uint32_t)threads)
			hp_space_end(&samples->spaces, pid);
	} else if (pid != parent) {
		hp_space_fork(&samples->spaces, pid, parent);
	}
}

static void lost_read(struct hp_samples *samples, const struct perf_event_header *record)
{
	struct cursor c = { (const uint8_t *)(record + 1), (const uint8_t *)record + record->size };

	if (record->type == PERF_RECORD_LOST)
		take(&c);	/* the event */
	samples->record->lost += take(&c);
}

void hp_samples_handle(void *context, const struct perf_event_header *record)
{
	struct hp_samples *samples = context;
	uint64_t thread;

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
			hp_space_exec(&samples->spaces, (uint32_t)thread);
		break;
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		lost_read(samples, record);
		break;
	default:
		break;
	}
}
