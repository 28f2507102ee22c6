/* SPDX-License-Identifier: MIT */
/*
 * loop.c - see loop.h: threads, records, busy spans.
 */
#include "preload/loop/loop.h"

#include <errno.h>
#include <string.h>

#include "preload/channel/timer.h"
#include "preload/channel/watch.h"
#include "preload/guest/begin.h"
#include "preload/guest/bulky.h"
#include "preload/guest/claim.h"
#include "preload/guest/confine.h"
#include "preload/guest/pages.h"
#include "preload/guest/self.h"
#include "preload/guest/tid.h"
#include "preload/lock/lock.h"
#include "preload/thread/end.h"
#include "preload/thread/module.h"
#include "preload/thread/process.h"
#include "segment/histogram.h"
#include "segment/layout/lock.h"
#include "segment/layout/process.h"
#include "segment/section_key.h"
#include "segment/seq.h"
#include "util/count.h"

#define LABEL_MAX 512	/* bytes of a name; longer ones are truncated */
#define RECORDS_MAX 100000	/* a damaged list must not cause an endless loop */

HP_BULKY static struct hp_looper unborn;
HP_BULKY static struct hp_looper opening;	/* of a thread that is creating the process's record */
__thread struct hp_looper *hp_looper_pointer = &unborn;

static struct hp_thread_list loopers;
static bool is_wanted;
bool hp_loop_is_off;
static int end_number = -1;	/* of preload/thread/end.h */

static void *at(uint64_t offset)
{
	return (char *)hp_segment.header + offset;
}

/* --- records --- */

static _Atomic uint64_t *records(void)
{
	const struct hp_process *process = hp_self->process;
	struct hp_account *account =
		process && process->account ? at((uint64_t)process->account * HP_LINE) : NULL;

	return account ? &account->loops : NULL;
}

static bool is_text(uint64_t offset, const char *text, size_t length)
{
	const struct hp_text *known = at(offset);

	return known->length == length && memcmp(known->bytes, text, length) == 0;
}

static bool is_called_alike(uint64_t a, uint64_t b)
{
	const struct hp_text *text = a ? at(a) : NULL;

	return a == b || (a && b && is_text(b, text->bytes, text->length));
}

static bool is_of(const struct hp_loop *loop, const struct hp_loop *wanted)
{
	return loop->site_module == wanted->site_module &&
	       loop->site_address == wanted->site_address && loop->call == wanted->call &&
	       is_called_alike(loop->label, wanted->label);
}

static struct hp_loop *record_free(const _Atomic uint64_t *list, const struct hp_loop *wanted)
{
	uint64_t offset = atomic_load_explicit(list, memory_order_acquire);

	for (int i = 0; offset && i < RECORDS_MAX; i++) {
		struct hp_loop *loop = at(offset);

		if (is_of(loop, wanted) && hp_claim(&loop->state, HP_FREE, HP_TAKEN))
			return loop;
		offset = loop->next;
	}
	return NULL;
}

static struct hp_loop *record_new(_Atomic uint64_t *list, const struct hp_loop *wanted)
{
	uint64_t offset = hp_segment_take(&hp_segment, sizeof(struct hp_loop), HP_LINE);
	struct hp_loop *loop = hp_segment_at(&hp_segment, offset, sizeof(*loop));

	if (!loop)
		return NULL;
	loop->call = wanted->call;
	loop->site_module = wanted->site_module;
	loop->site_address = wanted->site_address;
	loop->label = wanted->label;
	atomic_store_explicit(&loop->state, HP_TAKEN, memory_order_relaxed);
	hp_list_push(list, offset, &loop->next);
	return loop;
}

/* The first waits go to the record, which may have some of earlier threads. */
static void add(struct hp_loop *loop, const struct hp_loop *own)
{
	loop->pid = own->pid;
	loop->tid = own->tid;
	hp_count_up(&loop->threads);
	loop->first = own->first;
	loop->earlier_ticks += own->earlier_ticks;
	loop->tail_ticks += own->tail_ticks;
	loop->since = 0;
	loop->until = own->until;
	loop->waits += own->waits;
	loop->parks += own->parks;
	loop->wait_ticks += own->wait_ticks;
	loop->busy_ticks += own->busy_ticks;
	loop->spans += own->spans;
	loop->span_most = own->span_most > loop->span_most ? own->span_most : loop->span_most;
	loop->events += own->events;
	loop->woken += own->woken;
	loop->full += own->full;
	/* By its own count, which begins at 1 again. */
	loop->expired_at = own->expired_at == own->waits ? loop->waits : 0;
	loop->expired += own->expired;
	loop->expired_ticks += own->expired_ticks;
	loop->expired_ns += own->expired_ns;
	if (!loop->late_ticks || own->late_ticks > loop->late_ticks) {
		loop->late_ticks = own->late_ticks;
		loop->late_ns = own->late_ns;
	}
	loop->timeout_ns = own->timeout_ns;
	loop->timeouts = own->timeouts > loop->timeouts ? own->timeouts : loop->timeouts;
	loop->source = own->source;
	loop->sources = own->sources > loop->sources ? own->sources : loop->sources;
	loop->last_events = own->last_events;
	loop->watched = own->watched;
	loop->registered = own->registered;
	loop->deregistered = own->deregistered;
	loop->woken_remote += own->woken_remote;
	loop->timer_reads += own->timer_reads;
	loop->timer_missed += own->timer_missed;
	loop->timer_timed += own->timer_timed;
	loop->timer_late_ns += own->timer_late_ns;
	if (own->timer_late_most > loop->timer_late_most)
		loop->timer_late_most = own->timer_late_most;
}

/* --- busy spans --- */

static uint64_t *counters_of(struct hp_loop *loop, unsigned group)
{
	struct hp_spread *spread;

	if (!loop->spans_at)
		loop->spans_at = (uint32_t)(hp_segment_take(&hp_segment, sizeof(*spread), HP_LINE) /
					    HP_LINE);
	if (!loop->spans_at)
		return NULL;
	spread = at((uint64_t)loop->spans_at * HP_LINE);
	if (!spread->groups[group])
		spread->groups[group] =
			(uint32_t)(hp_segment_take(&hp_segment, HP_GROUP_SIZE * sizeof(uint64_t),
						   HP_LINE) /
				   HP_LINE);
	return spread->groups[group] ? at((uint64_t)spread->groups[group] * HP_LINE) : NULL;
}

static void spread_add(struct hp_loop *loop, uint64_t ticks)
{
	unsigned group = hp_bucket_group(ticks);
	uint64_t *counters = counters_of(loop, group);

	if (counters)
		counters[hp_bucket_place(ticks, group)]++;
}

/* The descriptor of the last wait's only event; -1 = not known. NULL = nothing is known. */
static int only_fd(const struct hp_looper *me)
{
	if (!me)
		return -1;
	if (me->only_call == HP_LOOP_EPOLL)
		return hp_watch_find(me->only_fd, me->only_source);
	return me->only_call ? (int)me->only_source : -1;
}

/* What follows the last wait. */
static struct hp_loop_first span_of(const struct hp_loop *loop, uint64_t end)
{
	return (struct hp_loop_first){
		.begin = loop->until,
		.ticks = hp_clock_between(loop->until, end),
		.events = loop->last_events,
		.is_expired = loop->expired_at && loop->expired_at == loop->waits,
	};
}

/* Evicts the shortest of the longest; returns the shortest that is left. */
static HP_COLD uint64_t longest_put(const struct hp_looper *me, struct hp_loop *loop,
				    const struct hp_loop_first *span, uint64_t number)
{
	struct hp_loop_longest *longest;
	struct hp_loop_span *place, *each;
	uint64_t least = UINT64_MAX;

	if (!loop->longest_at)
		loop->longest_at =
			(uint32_t)(hp_segment_take(&hp_segment, sizeof(*longest), HP_LINE) /
				   HP_LINE);
	if (!loop->longest_at)
		return UINT64_MAX - 1;
	longest = at((uint64_t)loop->longest_at * HP_LINE);
	place = longest->spans;
	for (each = longest->spans; each < longest->spans + HP_LOOP_LONGEST; each++)
		place = each->ticks < place->ticks ? each : place;
	if (span->ticks <= place->ticks)
		return place->ticks;
	hp_seq_begin(&place->number);
	hp_seq_set(&place->begin, span->begin);
	hp_seq_set(&place->ticks, span->ticks);
	hp_seq_set(&place->source, me && me->only_call ? me->only_source : 0);
	hp_seq_set_pair(&place->events, span->events,
			(uint32_t)(span->is_expired ? HP_LOOP_TIMEOUT : only_fd(me)));
	hp_seq_set_pair(&place->tid, loop->tid, 0);
	hp_seq_end(&place->number, number);
	for (each = longest->spans; each < longest->spans + HP_LOOP_LONGEST; each++)
		least = each->ticks < least ? each->ticks : least;
	return least;
}

HP_COLD void hp_loop_span_long(struct hp_looper *me, struct hp_loop *loop, uint64_t ticks)
{
	const struct hp_loop_first span = span_of(loop, loop->until + ticks);

	loop->span_most = ticks > loop->span_most ? ticks : loop->span_most;
	if (loop != me->at->own)
		me->long_least = longest_put(me, loop, &span, loop->spans + 1) + 1;
	else if (loop->spans < HP_LOOP_MIN)
		me->at->spans[loop->spans] = span;
}

HP_COLD void hp_loop_span_first(const struct hp_looper *me, struct hp_loop *loop, uint64_t ticks)
{
	if (HP_LIKELY(atomic_load_explicit(&loop->state, memory_order_relaxed) != HP_FREE &&
		      me->loop == loop))
		spread_add(loop, ticks);
}

/* By the clock's rate so far: good enough to compare two waits. */
static double lateness_ns(uint64_t ticks, uint64_t asked_ns)
{
	const struct hp_moment *start = &hp_segment.header->start;
	uint64_t ns = hp_clock_between(start->ns, hp_clock_raw_ns());
	uint64_t life = hp_clock_between(start->ticks, hp_ticks());

	return life ? (double)ticks * ((double)ns / (double)life) - (double)asked_ns : 0;
}

HP_COLD void hp_loop_expired(struct hp_loop *loop, uint64_t ticks, uint64_t asked_ns)
{
	loop->expired++;
	loop->expired_at = loop->waits + 1;
	loop->expired_ticks += ticks;
	loop->expired_ns += asked_ns;
	if (!loop->timeouts) {
		loop->timeouts = 1;
		loop->timeout_ns = asked_ns;
	} else if (asked_ns != loop->timeout_ns) {
		loop->timeouts = 2;
	}
	if (lateness_ns(ticks, asked_ns) > lateness_ns(loop->late_ticks, loop->late_ns)) {
		loop->late_ticks = ticks;
		loop->late_ns = asked_ns;
	}
}

HP_COLD void hp_loop_source(struct hp_loop *loop, uint64_t source)
{
	if (!loop->sources) {
		loop->sources = 1;
		loop->source = source;
	} else if (source != loop->source) {
		loop->sources = 2;
	}
}

HP_COLD void hp_loop_changed(struct hp_looper *me, struct hp_loop *loop, uint64_t changes)
{
	uint32_t added = (uint32_t)changes, removed = (uint32_t)(changes >> 32);

	loop->registered = added;
	loop->deregistered = removed;
	loop->watched = added > removed ? added - removed : 0;
	/* Else another call is next, which compares with 0. */
	if (loop == me->loop)
		me->at_changes = changes;
}

/* --- other causes of a wait's end --- */

/*
 * Its only event was another descriptor's: the loop reads this one whatever wakes it. With
 * EPOLLEXCLUSIVE a descriptor is in the instances of several threads.
 */
static bool is_other(const struct hp_looper *me, uint32_t remote)
{
	int fd = (int)remote - 1;

	if (!me->only_call || remote == HP_REMOTE_SEVERAL)
		return false;
	return me->only_call == HP_LOOP_EPOLL ? !hp_watch_is_any(fd, me->only_source)
					      : (uint64_t)fd != me->only_source;
}

HP_COLD void hp_loop_remote(struct hp_looper *me)
{
	uint32_t remote = hp_channel_thread()->remote;

	hp_channel_thread()->remote = 0;
	if (me->loop && me->loop->last_events && !is_other(me, remote))
		me->loop->woken_remote++;
}

/* A read by a thread without a loop also resets the timer. */
static void fd_read(int fd, const void *buffer, size_t size)
{
	struct hp_looper *me = hp_looper();
	struct hp_timer_read read;
	struct hp_loop *loop;

	if (!is_wanted || !hp_timer_took(fd, buffer, size, &read))
		return;
	loop = me->tid ? me->loop : NULL;
	if (!loop)
		return;
	loop->timer_reads++;
	loop->timer_missed += read.count - 1;
	if (!read.is_timed)
		return;
	loop->timer_timed++;
	loop->timer_late_ns += read.late_ns;
	loop->timer_late_most =
		read.late_ns > loop->timer_late_most ? read.late_ns : loop->timer_late_most;
}

/* --- threads --- */

/* Forgets everything in the previous segment, and all calls. */
static void forget(struct hp_looper *me)
{
	me->site = 0;
	me->loop = NULL;
	me->at = NULL;
	me->at_instance = NULL;
	me->frame = 0;
	me->long_least = 0;
	me->label = 0;
	me->count = me->own_count = 0;
	memset(me->sites, 0, sizeof(me->sites));
}

/* What follows counts for the next loop at this call. */
static void life_end(struct hp_loop *loop)
{
	loop->earlier_ticks += hp_clock_between(loop->first, loop->until);
	loop->first = loop->since = loop->until = 0;
}

/* The next owner continues with its contents. */
static void record_release(struct hp_loop *loop)
{
	life_end(loop);
	hp_claim_end(&loop->state);
}

/* It ends in a wait, which a cancelled thread leaves without an end. */
static void wait_end(struct hp_loop *loop, uint64_t end)
{
	if (loop->until)
		loop->busy_ticks += hp_clock_between(loop->until, loop->since);
	loop->wait_ticks += hp_clock_between(loop->since, end);
	loop->until = end;
}

/* It ends after its last wait. */
static void tail_end(const struct hp_looper *me, struct hp_loop *loop, uint64_t end, bool is_told)
{
	const struct hp_loop_first span = span_of(loop, end);

	if (!loop->until)
		return;
	loop->tail_ticks += span.ticks;
	if (is_told)
		longest_put(me, loop, &span, loop->waits | HP_LOOP_TAIL);
}

/* Its loop has ended, but the thread may go on for long, or begin another one. */
static void fd_closed(int fd)
{
	struct hp_looper *me = hp_looper();

	hp_timer_closed(fd);
	if (!me->tid || !me->at_instance || hp_watch_counts_of(fd) != me->at_instance)
		return;
	me->at_instance = NULL;
	if (!me->loop || me->frame)
		return;
	tail_end(me, me->loop, hp_ticks(), me->loop != me->at->own);
	life_end(me->loop);
}

static void thread_end(void *data)
{
	struct hp_looper *me = data;

	if (me != hp_looper())
		return;
	if (me->loop && me->loop != me->at->own && hp_segment_holds(&hp_segment, me->loop)) {
		if (me->loop->since)
			wait_end(me->loop, hp_ticks());
		else
			tail_end(me, me->loop, hp_ticks(), true);
	}
	for (uint32_t i = 0; i < me->count; i++)
		if (me->sites[i].told && hp_segment_holds(&hp_segment, me->sites[i].told))
			record_release(me->sites[i].told);
	hp_looper_set(&unborn);
	forget(me);
	hp_thread_list_give(&me->node);
}

/* A signal handler that waits while its thread creates the process's record would wait for that. */
static bool is_on(void)
{
	struct hp_looper *before = hp_looper();
	bool is;

	if (before == &opening || hp_is_confined())
		return false;
	hp_looper_set(&opening);
	atomic_signal_fence(memory_order_seq_cst);
	is = hp_start() && is_wanted && hp_self_open();
	atomic_signal_fence(memory_order_seq_cst);
	hp_looper_set(before);
	return is;
}

/* In a forked child all are wiped, so they are free, and the list ends early. */
static struct hp_looper *open_thread(void)
{
	struct hp_looper *me = hp_looper();

	if (me != &unborn && me != &opening && me->tid)
		return me;
	if (!is_on())
		return NULL;
	me = hp_thread_list_get(&loopers, sizeof(*me), offsetof(struct hp_looper, node));
	if (!me)
		return NULL;
	me->tid = hp_tid();
	hp_looper_set(me);
	hp_end_watch(end_number, me);
	return me;
}

/* --- calls that wait --- */

static struct hp_loop_site *site_of(struct hp_looper *me, uintptr_t caller)
{
	for (uint32_t i = 0; i < me->count; i++)
		if (me->sites[i].site == caller)
			return &me->sites[i];
	return NULL;
}

/* Evicts one whose waits have no record yet: the oldest. */
static struct hp_loop_site *site_place(struct hp_looper *me)
{
	if (me->count < HP_LOOP_SITES)
		return &me->sites[me->count++];
	for (uint32_t i = 0; i < HP_LOOP_SITES; i++)
		if (!me->sites[i].told)
			return &me->sites[i];
	return NULL;
}

static struct hp_loop_site *own_give(struct hp_looper *me, struct hp_loop_site *site)
{
	uint32_t own = me->own_count++ % HP_LOOP_OWN;

	for (uint32_t i = 0; i < me->count; i++)
		if (me->sites[i].own == &me->own[own])
			me->sites[i].own = NULL;
	site->own = &me->own[own];
	site->spans = me->spans[own];
	return site;
}

static struct hp_loop_site *site_new(struct hp_looper *me, uintptr_t caller, enum hp_loop_call call)
{
	struct hp_loop_site *site = site_place(me);

	if (!site)
		return NULL;
	*site = (struct hp_loop_site){ .site = caller };
	own_give(me, site);
	*site->own = (struct hp_loop){
		.call = call, .pid = hp_self->pid, .tid = me->tid, .site_address = caller
	};
	return site;
}

HP_COLD struct hp_loop *hp_loop_meet(uintptr_t caller, enum hp_loop_call call)
{
	struct hp_loop_site *site;
	struct hp_looper *me;
	int saved;

	if (hp_is_early() || hp_looper() == &opening || hp_is_confined())
		return NULL;
	saved = errno;
	me = open_thread();
	errno = saved;
	if (!me)
		return NULL;
	if (me->frame && (uintptr_t)__builtin_frame_address(0) < me->frame)
		return NULL;
	site = site_of(me, caller);
	if (!site || !(site->told || site->own))
		site = site_new(me, caller, call);
	/* With several loops in one thread, the longest spans are looked up again at each
	 * change. */
	me->long_least = 0;
	me->at = site;
	me->at_instance = NULL;
	me->at_changes = 0;
	me->loop = !site ? NULL : site->told ? site->told : site->own;
	me->site = caller;
	if (me->loop && me->label)
		me->loop->label = me->label;
	me->label = 0;
	return me->loop;
}

HP_COLD void hp_loop_label(const char *text)
{
	size_t length = text ? strnlen(text, LABEL_MAX) : 0;
	struct hp_looper *me;

	if (!length || hp_is_early() || hp_is_confined())
		return;
	me = open_thread();
	if (!me)
		return;
	/* A program may name the loop before each wait: that costs only this comparison. */
	if (me->loop && me->loop->label && is_text(me->loop->label, text, length)) {
		me->label = 0;
		return;
	}
	if (!me->label || !is_text(me->label, text, length))
		me->label = hp_text_new(text, length);
	/* The next wait is new. */
	me->site = 0;
}

/* The wakers of the first spans are unknown now. */
static void spans_tell(struct hp_looper *me, struct hp_loop *loop,
		       const struct hp_loop_first *spans, uint64_t count)
{
	me->only_call = 0;
	for (uint64_t i = 0; i < count && i < HP_LOOP_MIN; i++) {
		spread_add(loop, spans[i].ticks);
		longest_put(me, loop, &spans[i], loop->spans + 1);
	}
}

/* The waits so far go to a record, and with them the path to this one. */
HP_COLD void hp_loop_tell(struct hp_looper *me)
{
	struct hp_loop_site *site = me->at;
	_Atomic uint64_t *list = records();
	const struct hp_module *module;
	struct hp_loop wanted, *loop;
	int saved = errno;

	if (me->loop != site->own || !list || !hp_self_is_me()) {
		errno = saved;
		return;
	}
	wanted = *site->own;
	module = hp_module_of(site->site);
	if (module) {
		wanted.site_module = hp_segment_offset(&hp_segment, module);
		wanted.site_address = site->site - module->bias;
	}
	loop = record_free(list, &wanted);
	if (!loop)
		loop = record_new(list, &wanted);
	if (loop) {
		add(loop, &wanted);
		spans_tell(me, loop, site->spans, wanted.spans);
		loop->path = hp_lock_path();
		site->told = me->loop = loop;
		me->at_changes = 0;
		site->own = NULL;
	}
	errno = saved;
}

/* --- the process --- */

static void configure(const struct hp_settings *settings, bool is_first)
{
	(void)is_first;
	is_wanted = hp_settings_asks(settings, HP_KEY_LOOPS);
	hp_loop_is_off = !is_wanted;
	if (!is_wanted)
		return;
	hp_timer_is_wanted = true;
	hp_segment_recorded(&hp_segment, HP_RECORDED_LOOPS);
	end_number = hp_end_new(thread_end);
}

static void find(void)
{
	HP_EARLY_FIND(looper);
}

static void dropped(void)
{
	struct hp_thread_node *node = hp_thread_list_first(&loopers);

	for (; node; node = node->next)
		forget(HP_THREAD_OF(struct hp_looper, node));
}

static uint64_t moment_of(const struct hp_loop *loop)
{
	return loop->since > loop->until ? loop->since : loop->until;
}

static bool is_taken(const struct hp_loop *loop)
{
	return atomic_load_explicit(&loop->state, memory_order_relaxed) == HP_TAKEN;
}

/* Its thread waited in another loop later. */
static bool is_left(const struct hp_loop *loop, uint64_t list)
{
	for (int i = 0; list && i < RECORDS_MAX; i++) {
		const struct hp_loop *other = at(list);

		if (other->tid == loop->tid && is_taken(other) &&
		    moment_of(other) > moment_of(loop))
			return true;
		list = other->next;
	}
	return false;
}

/* Its thread ended then, with the process or its image. */
static void life_end_at(struct hp_loop *loop, uint64_t end, uint64_t list)
{
	if (loop->since)
		wait_end(loop, end);
	else if (!is_left(loop, list))
		tail_end(NULL, loop, end, true);
	record_release(loop);
}

/* The record belonged to an earlier process or image, whose threads have ended. */
static void free_records(struct hp_process *process)
{
	struct hp_account *account =
		process->account ? at((uint64_t)process->account * HP_LINE) : NULL;
	uint64_t list = account ? atomic_load_explicit(&account->loops, memory_order_acquire) : 0;
	uint64_t offset = list;

	for (int i = 0; offset && i < RECORDS_MAX; i++) {
		struct hp_loop *loop = at(offset);

		if (is_taken(loop))
			life_end_at(loop, process->end_ticks, list);
		offset = loop->next;
	}
}

const struct hp_recorder hp_loop_recorder = {
	.find = find,
	.configure = configure,
	.free = free_records,
	.fold = free_records,
	.read = fd_read,
	.closed = fd_closed,
	.dropped = dropped,
};
