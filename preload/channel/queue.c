/* SPDX-License-Identifier: MIT */
/*
 * queue.c - messages that are timed, waited for, or not sent: the slow
 * paths of channel.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/channel/channel.h"
#include "preload/guest/confine.h"
#include "preload/guest/kernel_call.h"
#include "preload/guest/self.h"
#include "segment/histogram.h"
#include "segment/layout/lock.h"
#include "segment/seq.h"

/* A call without a wait takes fewer ticks than this, plus one for each copied byte. */
#define HP_WAIT_MIN 4000
#define HP_WAIT_UNSEEN 20000	/* if an unrecorded sender may have been there before */

/* --- counters --- */

void hp_side_add_more(struct hp_lane_side *side, uint64_t units, uint64_t others)
{
	struct hp_channel_thread *me = hp_channel_thread_open();
	uint64_t owner = HP_OWNER_NONE;

	if (me &&
	    (atomic_load_explicit(&side->owner, memory_order_relaxed) == me->key ||
	     atomic_compare_exchange_strong_explicit(&side->owner, &owner, me->key,
						     memory_order_relaxed, memory_order_relaxed))) {
		side->units += units;
		side->others += others;
		return;
	}
	atomic_fetch_add_explicit(&side->more_units, units, memory_order_relaxed);
	atomic_fetch_add_explicit(&side->more_others, others, memory_order_relaxed);
}

static void most(_Atomic uint64_t *place, uint64_t value)
{
	uint64_t before = atomic_load_explicit(place, memory_order_relaxed);

	while (value > before &&
	       !atomic_compare_exchange_weak_explicit(place, &before, value, memory_order_relaxed,
						      memory_order_relaxed))
		;
}

static void wait_add(struct hp_lane_wait *wait, uint64_t ticks)
{
	atomic_fetch_add_explicit(&wait->count, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&wait->ticks, ticks, memory_order_relaxed);
	most(&wait->most, ticks);
}

/* --- sending --- */

static struct hp_lane_log *log_of(const struct hp_lane *lane)
{
	return (struct hp_lane_log *)(hp_channel_base + (uint64_t)lane->probes * HP_LINE);
}

#define LOGGED 256	/* results of threads that all have a log */
#define SKIPPED 16

static bool log_make(struct hp_lane *lane)
{
	uint64_t offset = hp_segment_take(&hp_segment, sizeof(struct hp_lane_log), HP_LINE);
	uint32_t none = 0;

	if (offset)
		__atomic_compare_exchange_n(&lane->probes, &none, (uint32_t)(offset / HP_LINE), 0,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	return lane->probes != 0;
}

/*
 * A thread sends one message, its result. Where many threads are alive, a log for each would be
 * most of the memory that a thread takes: the first ones get one, and then one in SKIPPED.
 */
static bool is_skipped(const struct hp_lane *lane)
{
	static _Atomic uint32_t results;
	const struct hp_channel *channel = (const void *)(hp_channel_base + lane->channel);
	uint32_t number;

	if (channel->kind != HP_CHANNEL_THREAD || hp_channel_is_exact)
		return false;
	number = atomic_fetch_add_explicit(&results, 1, memory_order_relaxed);
	return number >= LOGGED && number % SKIPPED;
}

static uint64_t log_sent(struct hp_lane_log *log, const struct hp_channel_thread *me, uint64_t now,
			 uint64_t number, uint64_t size)
{
	uint64_t entry = atomic_fetch_add_explicit(&log->sent_count, 1, memory_order_relaxed);
	struct hp_message *message = &log->sent[entry % HP_MESSAGES];

	/* A sender stopped in this entry was overtaken by 64 others: skip this message. */
	if (!hp_seq_claim(&message->number))
		return entry;
	hp_seq_set(&message->ticks, now);
	hp_seq_set(&message->delay, 0);
	hp_seq_set_pair(&message->size, (uint32_t)size, me->tid);
	hp_seq_end(&message->number, number);
	return entry;
}

/* Stores the message's size, unless its entry has been overwritten. */
static void log_size(const struct hp_sending *call, uint64_t size)
{
	struct hp_message *message = &log_of(call->lane)->sent[call->entry % HP_MESSAGES];
	uint32_t told, tid;

	hp_seq_get_pair(&message->size, &told, &tid);
	if (told == (uint32_t)size || !hp_seq_claim_if(&message->number, call->number))
		return;
	/* Owned by the caller's thread only. */
	hp_seq_set_pair(&message->size, (uint32_t)size, hp_channel_thread()->tid);
	hp_seq_end(&message->number, call->number);
}

/* An entry in the ring; NULL = all are in use. */
static struct hp_probe *probe_take(struct hp_lane *lane, struct hp_lane_log *log)
{
	uint64_t head = atomic_load_explicit(&lane->head, memory_order_relaxed);
	struct hp_probe *probe;

	do {
		probe = &log->probes[head % HP_PROBES_MAX];
		/*
		 * Its end is not enough: a sender that took this entry and is stopped before it
		 * stores the end would share it with the next one to take it.
		 */
		if (head - __atomic_load_n(&lane->tail, __ATOMIC_RELAXED) >= HP_PROBES_MAX ||
		    atomic_load_explicit(&probe->end, memory_order_acquire))
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		&lane->head, &head, head + 1, memory_order_relaxed, memory_order_relaxed));
	return probe;
}

/* Number of the message that is about to be sent; for tokens and messages, the unit tells. */
static uint64_t number_of(const struct hp_lane *lane)
{
	return 1 + (lane->unit == HP_LANE_BYTES ? hp_side_others(&lane->sends)
						: hp_side_units(&lane->sends));
}

void hp_send_time(struct hp_sending *call)
{
	struct hp_channel_thread *me = hp_channel_thread_open();
	struct hp_lane *lane = call->lane;
	struct hp_lane_log *log;

	call->probe = NULL;
	call->depth = 0;
	if (!me || atomic_load_explicit(&lane->veiled, memory_order_relaxed) & HP_LANE_MIXED ||
	    (!lane->probes && (is_skipped(lane) || !log_make(lane))))
		return;
	log = log_of(lane);
	call->since = hp_channel_clock();
	if (!call->since)
		return;
	__atomic_store_n(&lane->sends.countdown,
			 hp_channel_gap(&lane->sends, &me->random, call->since), __ATOMIC_RELAXED);
	if (!__atomic_load_n(&lane->first_ticks, __ATOMIC_RELAXED))
		__atomic_store_n(&lane->first_ticks, call->since, __ATOMIC_RELAXED);
	call->probe = probe_take(lane, log);
	if (!call->probe)
		return;
	call->end = hp_side_units(&lane->sends) + call->size;
	call->probe->since = call->since;
	call->probe->number = call->number = number_of(lane);
	call->probe->entry = call->entry = log_sent(log, me, call->since, call->number, call->size);
	atomic_store_explicit(&call->probe->end, call->end, memory_order_release);
}

void hp_send_deep(struct hp_sending *call, int64_t depth, uintptr_t caller)
{
	if (!call->since) {
		call->since = hp_channel_clock();
		call->probe = NULL;
	}
	call->depth = depth;
	if (depth > 0 && (uint64_t)depth > call->lane->safe)
		hp_channel_wait_begin(call, call->lane, HP_SIDE_WRITE, caller, call->since);
}

/* The probe is not for the message that it was meant for: it is dropped when it is found. */
static void probe_void(const struct hp_sending *call)
{
	if (call->since && call->probe)
		__atomic_store_n(&call->probe->since, 0, __ATOMIC_RELAXED);
}

/*
 * For a socket the kernel counts memory, not bytes: the upper bound of its messages must be below
 * the available room. Up to `safe` bytes may be as many messages; later ones were counted.
 */
static bool has_room(struct hp_lane *lane, uint64_t depth, uint64_t sent)
{
	uint32_t crowd = atomic_load_explicit(&lane->crowd, memory_order_relaxed);

	if (!lane->extra)
		return false;
	if (depth <= lane->safe + sent)
		crowd = 0;
	if (crowd < UINT16_MAX)
		atomic_store_explicit(&lane->crowd, (uint16_t)++crowd, memory_order_relaxed);
	return 2 * depth + (lane->safe + crowd) * lane->extra <= lane->capacity;
}

/*
 * A call took long: did it wait? It may have been interrupted, or the receiver that it woke may
 * have preempted it. If the thread kept the processor since the last check, it did not wait; if
 * not, the wait may have been elsewhere, but the call is assumed to have waited.
 */
static bool has_waited(int fd)
{
	struct hp_channel_thread *me = hp_channel_thread_open();
	struct rusage usage;
	uint64_t was;
	long flags;
	bool is_known;

	if (fd == HP_END_HASTY)
		return false;
	if (!me || hp_is_confined())
		return true;
	flags = fd >= 0 ? hp_kernel_call(SYS_fcntl, fd, F_GETFL, 0) : 0;
	if (flags > 0 && flags & O_NONBLOCK)
		return false;
	is_known = hp_kernel_call(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0) == 0;
	if (!is_known)
		return true;
	was = me->switches;
	me->switches = 1 + (uint64_t)usage.ru_nvcsw;
	return me->switches != was;
}

/* Messages received but not yet recorded make it seem deeper than it can be. */
static void deep(const struct hp_sending *call, uint64_t sent, uint64_t bytes)
{
	struct hp_lane *lane = call->lane;
	uint64_t depth = (uint64_t)(call->depth - (int64_t)call->size + (int64_t)sent);
	uint64_t ticks = 0, calm;

	if ((int64_t)depth > 0 && depth > lane->safe && !has_room(lane, depth, sent)) {
		ticks = hp_clock_between(call->since, hp_channel_clock());
		if (ticks >= HP_WAIT_MIN + bytes && has_waited(call->fd))
			wait_add(&lane->blocked, ticks);
		else
			ticks = 0;
	}
	hp_channel_wait_end(call, lane, ticks);
	if ((int64_t)depth <= 0)
		return;
	most(&lane->most, lane->capacity && depth > lane->capacity ? lane->capacity : depth);
	calm = atomic_load_explicit(&lane->most, memory_order_relaxed);
	atomic_store_explicit(&lane->calm, calm < lane->safe ? calm : lane->safe,
			      memory_order_relaxed);
}

void hp_send_more(const struct hp_sending *call, uint64_t sent, uint64_t bytes)
{
	if (call->probe && sent != call->size) {
		uint64_t was = call->end;

		/* Unless it was found already. */
		atomic_compare_exchange_strong_explicit(&call->probe->end, &was,
							was - call->size + sent,
							memory_order_release, memory_order_relaxed);
	}
	if (call->probe)
		log_size(call, bytes);
	if (call->depth)
		deep(call, sent, bytes);
}

static struct hp_lane_texts *texts_of(struct hp_lane *lane, uint64_t slot)
{
	struct hp_lane_texts *texts;
	uint32_t none = 0;
	uint64_t offset;

	if (!__atomic_load_n(&lane->texts, __ATOMIC_ACQUIRE)) {
		offset = hp_segment_take(&hp_segment, sizeof(*texts) + HP_MESSAGES * slot, HP_LINE);
		if (!offset)
			return NULL;
		texts = (struct hp_lane_texts *)(hp_channel_base + offset);
		texts->room = hp_channel_text_room;
		__atomic_compare_exchange_n(&lane->texts, &none, (uint32_t)(offset / HP_LINE), 0,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	}
	return (struct hp_lane_texts *)(hp_channel_base + (uint64_t)lane->texts * HP_LINE);
}

void hp_send_text(const struct hp_sending *call, const void *buffer, uint64_t size)
{
	uint64_t slot = (sizeof(struct hp_lane_text) + hp_channel_text_room + 7) & ~UINT64_C(7);
	struct hp_lane_texts *texts = texts_of(call->lane, slot);
	struct hp_lane_text *text;

	if (!texts || texts->room != hp_channel_text_room)
		return;
	text = (struct hp_lane_text *)((char *)(texts + 1) + call->entry % HP_MESSAGES * slot);
	if (!hp_seq_claim(&text->number))
		return;
	if (size > texts->room)
		size = texts->room;
	hp_seq_set(&text->length, (uint32_t)size);
	hp_seq_put(text + 1, buffer, size);
	hp_seq_end(&text->number, call->number);
}

void hp_send_tokens(const struct hp_sending *call, uint64_t tokens, uint64_t bytes)
{
	struct hp_lane *lane = call->lane;
	int64_t depth;

	hp_send_end(call, tokens, bytes, bytes);
	if (tokens == 1)
		return;	/* as determined before the call */
	depth = hp_lane_depth(lane);
	if (depth > 0)
		most(&lane->most, (uint64_t)depth);
}

void hp_send_late(struct hp_lane *lane, uint64_t bytes)
{
	int64_t depth;

	hp_side_add(&lane->sends, 1, bytes);
	depth = hp_lane_depth(lane);
	if (depth > 0)
		most(&lane->most, (uint64_t)depth);
}

void hp_send_none(const struct hp_sending *call)
{
	if (call->since)
		hp_channel_wait_end(call, call->lane, 0);
}

void hp_send_void(const struct hp_sending *call)
{
	hp_send_none(call);
	probe_void(call);
}

void hp_send_failed(const struct hp_sending *call)
{
	struct hp_lane *lane = call->lane;

	hp_send_void(call);
	if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ETIMEDOUT)
		atomic_fetch_add_explicit(&lane->refused, 1, memory_order_relaxed);
	if (errno == EPIPE)
		hp_lane_close(lane);
}

/* --- receiving --- */

void hp_receive_dry(struct hp_receiving *call, uintptr_t caller)
{
	call->since = hp_channel_clock();
	hp_channel_wait_begin(call, call->lane, HP_SIDE_READ, caller, call->since);
}

void hp_receive_over(const struct hp_receiving *call)
{
	if (call->since)
		hp_channel_wait_end(call, call->lane, 0);
}

void hp_receive_failed(const struct hp_receiving *call)
{
	hp_receive_over(call);
	if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOMSG || errno == ETIMEDOUT)
		atomic_fetch_add_explicit(&call->lane->empty, 1, memory_order_relaxed);
}

/* Nothing, although there was room: all possible senders are gone. */
void hp_receive_none(const struct hp_receiving *call)
{
	struct hp_lane *lane = call->lane;
	const struct hp_channel *channel = (const void *)(hp_channel_base + lane->channel);

	hp_receive_over(call);
	if (lane->unit != HP_LANE_BYTES && channel->kind != HP_CHANNEL_PACKET)
		return;
	/* Messages not received here were received elsewhere. */
	if (hp_lane_depth(lane) > 0)
		atomic_fetch_or_explicit(&lane->veiled, HP_VEILED_RECEIVES, memory_order_relaxed);
	hp_lane_close(lane);
}

void hp_receive_waited(const struct hp_receiving *call, uint64_t bytes)
{
	uint64_t ticks = hp_clock_between(call->since, hp_channel_clock());
	const struct hp_lane *lane = call->lane;
	bool is_seen = hp_side_units(&lane->sends) && hp_lane_depth(lane) >= 0;

	if (ticks >= (is_seen ? HP_WAIT_MIN : HP_WAIT_UNSEEN) + bytes)
		wait_add(&call->lane->starved, ticks);
	else
		ticks = 0;
	hp_channel_wait_end(call, lane, ticks);
}

static void spread_add(struct hp_lane *lane, uint64_t ticks)
{
	unsigned group = hp_bucket_group(ticks);
	struct hp_spread *spread;
	uint64_t *counters;
	uint64_t offset;

	if (!lane->delays) {
		offset = hp_segment_take(&hp_segment, sizeof(*spread), HP_LINE);
		lane->delays = (uint32_t)(offset / HP_LINE);
	}
	if (!lane->delays)
		return;
	spread = (struct hp_spread *)(hp_channel_base + (uint64_t)lane->delays * HP_LINE);
	if (!spread->groups[group]) {
		offset = hp_segment_take(&hp_segment, HP_GROUP_SIZE * sizeof(*counters), HP_LINE);
		spread->groups[group] = (uint32_t)(offset / HP_LINE);
	}
	if (!spread->groups[group])
		return;
	counters = (uint64_t *)(hp_channel_base + (uint64_t)spread->groups[group] * HP_LINE);
	counters[hp_bucket_place(ticks, group)]++;
}

/* Unless it has been overwritten. */
static void log_delay(struct hp_lane_log *log, const struct hp_probe *probe, uint64_t ticks)
{
	struct hp_message *message = &log->sent[probe->entry % HP_MESSAGES];

	if (!hp_seq_claim_if(&message->number, probe->number))
		return;
	hp_seq_set(&message->delay, ticks ? ticks : 1);
	hp_seq_end(&message->number, probe->number);
}

/* Its sender is `probe`, and now it is received. */
static void delay_add(struct hp_lane *lane, struct hp_lane_log *log, const struct hp_probe *probe,
		      uint64_t now)
{
	uint64_t ticks = now > probe->since ? now - probe->since : 0;
	const struct hp_channel_thread *me = hp_channel_thread();

	lane->timed++;
	lane->delay_ticks += ticks;
	if (ticks > lane->delay_most)
		lane->delay_most = ticks;
	spread_add(lane, ticks);
	log_delay(log, probe, ticks);
	/* It waited for this with poll or similar, and there was nothing before. */
	if (me->idle_since && probe->since >= me->idle_since && probe->since <= me->idle_until &&
	    lane->idle != me->idle_until) {
		lane->idle = me->idle_until;
		wait_add(&lane->starved, me->idle_until - me->idle_since);
	}
}

static void log_received(struct hp_lane_log *log, uint64_t now, uint64_t number, uint64_t size)
{
	struct hp_message *message = &log->received[log->received_count % HP_MESSAGES];

	hp_seq_begin(&message->number);
	hp_seq_set(&message->ticks, now);
	hp_seq_set_pair(&message->size, (uint32_t)size, hp_channel_thread()->tid);
	hp_seq_end(&message->number, number);
	log->received_count++;
}

static void pop(struct hp_lane *lane, struct hp_lane_log *log, uint64_t place, uint64_t bytes)
{
	uint64_t now = hp_channel_clock(), number = 0;
	uint64_t passed = atomic_load_explicit(&log->passed, memory_order_relaxed);

	for (;;) {
		struct hp_probe *probe = &log->probes[lane->tail % HP_PROBES_MAX];
		uint64_t end = atomic_load_explicit(&probe->end, memory_order_acquire);

		if (end == 0 &&
		    lane->tail != atomic_load_explicit(&lane->head, memory_order_relaxed))
			most(&log->passed, place);
		if (end == 0 || end > place)
			break;
		if (now && end > passed && probe->since && !(lane->veiled & HP_LANE_MIXED)) {
			delay_add(lane, log, probe, now);
			number = probe->number;
		}
		/* Others check whether it is worth trying. */
		__atomic_store_n(&lane->tail, lane->tail + 1, __ATOMIC_RELAXED);
		atomic_store_explicit(&probe->end, 0, memory_order_release);
	}
	if (number)
		log_received(log, now, number, bytes);
}

/*
 * There are probes; those passed have been received. One receiver at a time
 * checks; another one, or a signal handler that interrupts it, leaves them to the
 * next. So does one that finds an incomplete probe, whose sender may be preempted
 * for milliseconds: those behind it wait, too. `passed` tells the next receiver
 * that it is too late to time them.
 */
void hp_receive_pop(struct hp_lane *lane, uint64_t bytes)
{
	struct hp_lane_log *log = log_of(lane);
	uint64_t place = hp_lane_place(lane), end, tail;

	/* A forked child that has not started may have less of the segment than its creator. */
	if (!lane->probes ||
	    !hp_segment_at(&hp_segment, (uint64_t)lane->probes * HP_LINE, sizeof(*log)))
		return;
	tail = __atomic_load_n(&lane->tail, __ATOMIC_RELAXED);
	end = atomic_load_explicit(&log->probes[tail % HP_PROBES_MAX].end, memory_order_acquire);
	if (end > place || !hp_channel_thread_open())
		return;
	if (end == 0 || atomic_exchange_explicit(&lane->popping, 1, memory_order_acquire) != 0) {
		most(&log->passed, place);
		return;
	}
	pop(lane, log, place, bytes);
	atomic_store_explicit(&lane->popping, 0, memory_order_release);
}
