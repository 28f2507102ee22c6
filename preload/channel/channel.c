/* SPDX-License-Identifier: MIT */
/*
 * channel.c - channels, their lanes, and the threads that use them.
 *
 * A channel belongs to one place in the program, so a hundred thousand pipes
 * from one line are one channel. A lane is one of them, and free for the next
 * one when all its descriptors are closed; if another process may still have it
 * (fork), it is kept while there are few such lanes.
 */
#include "preload/channel/channel.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/begin.h"
#include "preload/guest/bulky.h"
#include "preload/guest/confine.h"
#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/guest/pages.h"
#include "preload/guest/self.h"
#include "preload/guest/tid.h"
#include "preload/lock/lock.h"
#include "preload/thread/end.h"
#include "preload/thread/process.h"
#include "util/count.h"
#include "util/hash.h"
#include "segment/section_key.h"

#define HP_LANES_SHARED 64	/* of a channel, before the oldest one is used again */
#define HP_SITES_OF_ITER 256	/* channels of one place, with HOTPATH_CHANNELS_ITER */

static struct hp_channel_thread unborn;
static struct hp_channel_thread opening;	/* of a thread that creates the process's record */
static struct hp_thread_list channel_threads;
static bool is_wanted;
static bool is_each;	/* HOTPATH_CHANNELS_ITER */
static int end_number = -1;	/* of preload/thread/end.h */

__thread struct hp_channel_thread *hp_channel_thread_pointer = &unborn;
HP_BULKY _Atomic uint64_t hp_channel_fds[HP_FDS];
uint32_t hp_channel_fds_most;
char *hp_channel_base;
uint32_t hp_channel_text_room;
bool hp_channel_is_exact;

static_assert(sizeof(struct hp_channel_thread) <= HP_PAGE, "one wiped page each");

static void thread_end(void *data)
{
	struct hp_channel_thread *me = data;

	if (me != hp_channel_thread())
		return;
	hp_channel_thread_set(&unborn);
	hp_thread_list_give(&me->node);
}

void hp_channel_configure(const struct hp_settings *settings, bool is_first)
{
	(void)is_first;
	is_wanted = hp_settings_asks(settings, HP_KEY_CHANNELS) ||
		    hp_settings_asks(settings, HP_KEY_WAITS) ||
		    hp_settings_asks(settings, HP_KEY_WAITING) ||
		    hp_settings_asks(settings, HP_KEY_LOOPS);
	is_each = settings->channels_iter;
	if (!is_wanted)
		return;
	hp_segment_recorded(&hp_segment, HP_RECORDED_CHANNELS);
	end_number = hp_end_new(thread_end);
	hp_channel_base = (char *)hp_segment.header;
	hp_channel_is_exact = hp_segment.header->timing == HP_TIMING_EXACT;
	if (settings->log_payload)
		hp_channel_text_room = (uint32_t)settings->log_length;
	hp_channel_fds_most = HP_FDS;
}

/*
 * A signal handler that interrupts this thread while it creates the process's
 * record would wait for it. And once a filter forbids system calls, nothing new
 * is looked up.
 */
/* `is_asked`: unconditionally; otherwise only if channels are recorded, which is known once the
 * library has started. */
static bool process_open(bool is_asked)
{
	struct hp_channel_thread *before;
	bool has;

	if (hp_is_early())
		return false;
	before = hp_channel_thread();
	if (before == &opening || hp_is_confined())
		return false;
	hp_channel_thread_set(&opening);
	atomic_signal_fence(memory_order_seq_cst);
	has = hp_start() && (is_asked || is_wanted) && hp_self_open();
	atomic_signal_fence(memory_order_seq_cst);
	hp_channel_thread_set(before);
	return has;
}

bool hp_channel_thread_has_process(void)
{
	return process_open(true);
}

bool hp_channel_is_on(void)
{
	return process_open(false);
}

/* --- threads --- */

/* A struct that an ended thread left has its key. */
struct hp_channel_thread *hp_channel_thread_open(void)
{
	struct hp_channel_thread *me = hp_channel_thread();
	int saved = errno;

	if (me->key)
		return me;
	if (!hp_channel_is_on())
		return NULL;
	me = hp_thread_list_get(&channel_threads, sizeof(*me),
				offsetof(struct hp_channel_thread, node));
	errno = saved;
	if (!me)
		return NULL;
	me->tid = hp_tid();
	me->idle_since = me->idle_until = 0;
	me->switches = 0;
	me->remote = 0;
	if (!me->key) {
		me->random = hp_channel_clock() ^ (uint64_t)me->tid << 40;
		me->key = (me->random * HP_HASH_GOLDEN) | 2;
	}
	hp_channel_thread_set(me);
	hp_end_watch(end_number, me);
	return me;
}

/* --- channels --- */

static void *at(uint64_t offset)
{
	return hp_channel_base + offset;
}

static uint64_t object_of(uint64_t module)
{
	return module ? ((const struct hp_module *)at(module))->object : 0;
}

static bool is_same(const struct hp_channel *a, const struct hp_channel *b)
{
	return a->kind == b->kind && a->way == b->way && a->number == b->number &&
	       a->origin == b->origin && a->site_address == b->site_address &&
	       object_of(a->site_module) == object_of(b->site_module);
}

static struct hp_channel *channel_find(struct hp_lockset *set, const struct hp_channel *wanted)
{
	uint64_t offset = atomic_load_explicit(&set->channels, memory_order_acquire);

	for (; offset; offset = ((struct hp_channel *)at(offset))->next)
		if (is_same(at(offset), wanted))
			return at(offset);
	return NULL;
}

static struct hp_channel *channel_new(struct hp_lockset *set, const struct hp_channel *wanted)
{
	uint64_t offset = hp_segment_take(&hp_segment, sizeof(*wanted), HP_LINE);
	struct hp_channel *channel = hp_segment_at(&hp_segment, offset, sizeof(*channel));

	if (!channel) {
		atomic_fetch_add_explicit(&set->lost_channels, 1, memory_order_relaxed);
		return NULL;
	}
	channel->kind = wanted->kind;
	channel->way = wanted->way;
	channel->site_module = wanted->site_module;
	channel->site_address = wanted->site_address;
	channel->number = wanted->number;
	channel->origin = wanted->origin;
	hp_list_push(&set->channels, offset, &channel->next);
	return channel;
}

/* Two threads may create one each: the report adds them up. */
static struct hp_channel *channel_of(const struct hp_channel_wish *wish)
{
	struct hp_lockset *set = hp_lock_set();
	struct hp_channel wanted = { .kind = wish->kind, .way = wish->way };
	struct hp_channel *channel;

	if (!set)
		return NULL;
	if (wish->is_found) {
		wanted.origin = HP_CHANNEL_FOUND;
		wanted.number = wish->descriptor;
	} else {
		wanted.origin = wish->is_first ? HP_CHANNEL_FIRST : HP_CHANNEL_MADE;
		hp_lock_place(wish->caller, &wanted.site_module, &wanted.site_address);
	}
	for (;;) {
		channel = channel_find(set, &wanted);
		if (!channel)
			return channel_new(set, &wanted);
		if (!is_each || wish->is_found || wanted.number >= HP_SITES_OF_ITER)
			return channel;
		wanted.number++;
	}
}

/* --- lanes --- */

void hp_lane_empty(struct hp_lane *lane)
{
	int64_t depth = hp_lane_depth(lane);
	struct hp_lane_log *log = lane->probes ? at((uint64_t)lane->probes * HP_LINE) : NULL;

	atomic_fetch_add_explicit(&lane->abandoned, (uint64_t)depth, memory_order_relaxed);
	/* Without entries in use, nothing is written: a log is two pages. */
	if (lane->tail == atomic_load_explicit(&lane->head, memory_order_relaxed))
		log = NULL;
	for (int i = 0; log && i < HP_PROBES_MAX; i++)
		atomic_store_explicit(&log->probes[i].end, 0, memory_order_relaxed);
	lane->tail = atomic_load_explicit(&lane->head, memory_order_relaxed);
}

/* One of several threads gets it. */
static bool take(struct hp_lane *lane, uint32_t from)
{
	return atomic_load_explicit(&lane->state, memory_order_relaxed) == from &&
	       atomic_compare_exchange_strong_explicit(&lane->state, &from, HP_LANE_MADE,
						       memory_order_acq_rel, memory_order_relaxed);
}

static bool seems_left(const struct hp_lane *lane)
{
	return atomic_load_explicit(&lane->ends, memory_order_relaxed) == 0 &&
	       atomic_load_explicit(&lane->state, memory_order_relaxed) == HP_LANE_TAKEN;
}

static bool is_dead(uint32_t pid)
{
	return !hp_is_confined() && pid && pid != hp_self->pid && syscall(SYS_kill, pid, 0) != 0 &&
	       errno == ESRCH;
}

/*
 * The oldest lane that another process may have and that seems unused; or a killed
 * process's.
 */
static struct hp_lane *lane_oldest(struct hp_channel *channel)
{
	uint64_t offset = atomic_load_explicit(&channel->lanes, memory_order_acquire);
	struct hp_lane *lane, *oldest = NULL;
	int count = 0;

	for (; offset; offset = lane->next, count++) {
		lane = at(offset);
		if (seems_left(lane) ||
		    (count >= HP_LANES_SHARED && !oldest && is_dead(lane->maker)))
			oldest = lane;
	}
	return count >= HP_LANES_SHARED && oldest && take(oldest, HP_LANE_TAKEN) ? oldest : NULL;
}

/*
 * A program may have ten thousand sockets from one place, all open.  So a fruitless search of many
 * is not repeated until there are a quarter more: the cost of searching stays in proportion to
 * their number.  Two threads at once search once too often.
 */
HP_BULKY static struct put_off {
	const struct hp_channel *_Atomic channel;
	_Atomic uint32_t left;	/* lanes to create without a search */
} put_offs[64];

static struct put_off *put_off_of(const struct hp_channel *channel)
{
	return &put_offs[(uintptr_t)channel / HP_LINE % 64];
}

static bool is_put_off(const struct hp_channel *channel)
{
	struct put_off *put_off = put_off_of(channel);
	uint32_t left = atomic_load_explicit(&put_off->left, memory_order_relaxed);

	if (left == 0 || atomic_load_explicit(&put_off->channel, memory_order_relaxed) != channel)
		return false;
	atomic_store_explicit(&put_off->left, left - 1, memory_order_relaxed);
	return true;
}

void hp_channel_forget_lanes(void)
{
	for (size_t i = 0; i < sizeof(put_offs) / sizeof(put_offs[0]); i++)
		atomic_store_explicit(&put_offs[i].left, 0, memory_order_relaxed);
}

static struct hp_lane *lane_free(struct hp_channel *channel)
{
	uint64_t offset = atomic_load_explicit(&channel->lanes, memory_order_acquire);
	struct hp_lane *lane;
	uint32_t count = 0;

	if (is_put_off(channel))
		return NULL;
	for (; offset; offset = lane->next, count++) {
		lane = at(offset);
		if (take(lane, HP_LANE_FREE))
			return lane;
	}
	lane = lane_oldest(channel);
	if (!lane && count >= 4 * HP_LANES_SHARED) {
		struct put_off *put_off = put_off_of(channel);

		atomic_store_explicit(&put_off->left, count / 4, memory_order_relaxed);
		atomic_store_explicit(&put_off->channel, channel, memory_order_relaxed);
	}
	return lane;
}

static struct hp_lane *lane_make(struct hp_channel *channel)
{
	uint64_t offset = hp_segment_take(&hp_segment, sizeof(struct hp_lane), HP_LINE);
	struct hp_lane *lane = hp_segment_at(&hp_segment, offset, sizeof(*lane));

	if (!lane) {
		atomic_fetch_add_explicit(&hp_lock_set()->lost_channels, 1, memory_order_relaxed);
		return NULL;
	}
	lane->channel = hp_segment_offset(&hp_segment, channel);
	atomic_store_explicit(&lane->state, HP_LANE_MADE, memory_order_relaxed);
	hp_list_push(&channel->lanes, offset, &lane->next);
	return lane;
}

struct hp_lane *hp_lane_new(const struct hp_channel_wish *wish)
{
	struct hp_channel *channel = channel_of(wish);
	struct hp_lane *lane = channel ? lane_free(channel) : NULL;

	if (!channel)
		return NULL;
	if (lane)
		hp_lane_empty(lane);	/* of one that was still in use */
	else
		lane = lane_make(channel);
	if (!lane)
		return NULL;
	lane->unit = wish->unit;
	lane->maker = hp_self->pid;
	lane->priority = 0;
	atomic_store_explicit(&lane->veiled, 0, memory_order_relaxed);
	lane->capacity = wish->capacity;
	lane->safe = wish->safe;
	lane->extra = wish->extra;
	atomic_store_explicit(&lane->crowd, 0, memory_order_relaxed);
	lane->device = wish->device;
	lane->out_inode = wish->out_inode;
	lane->in_inode = wish->in_inode;
	lane->sends.credit = INT64_MAX;
	atomic_store_explicit(&lane->calm, 0, memory_order_relaxed);
	atomic_store_explicit(&lane->sends.owner, HP_OWNER_NONE, memory_order_relaxed);
	atomic_store_explicit(&lane->receives.owner, HP_OWNER_NONE, memory_order_relaxed);
	atomic_store_explicit(&lane->ends, 0, memory_order_relaxed);
	atomic_store_explicit(&lane->shared, wish->is_found, memory_order_relaxed);
	atomic_store_explicit(&lane->closed, 0, memory_order_relaxed);
	hp_count_up_atomic(&channel->instances);
	return lane;
}

bool hp_lane_is_remote(const struct hp_lane *lane, uint32_t sender)
{
	return sender && lane->maker == hp_self->pid &&
	       !atomic_load_explicit(&lane->shared, memory_order_relaxed);
}

void hp_channel_label(const struct hp_lane *lane, const char *text, size_t length)
{
	struct hp_channel *channel = at(lane->channel);

	if (!atomic_load_explicit(&channel->label, memory_order_relaxed))
		atomic_store_explicit(&channel->label, hp_text_new(text, length),
				      memory_order_release);
}

static struct hp_lane *lane_in(const struct hp_channel *channel, uint64_t device, uint64_t inode,
			       bool is_out)
{
	uint64_t offset = atomic_load_explicit(&channel->lanes, memory_order_acquire);
	struct hp_lane *lane;

	for (; offset; offset = lane->next) {
		lane = at(offset);
		if (lane->device == device &&
		    (is_out ? lane->out_inode : lane->in_inode) == inode &&
		    atomic_load_explicit(&lane->state, memory_order_relaxed) == HP_LANE_TAKEN)
			return lane;
	}
	return NULL;
}

struct hp_lane *hp_lane_of_inode(uint64_t device, uint64_t inode, bool is_out)
{
	const struct hp_process *process;
	const struct hp_lockset *set;
	uint64_t offset = atomic_load_explicit(&hp_segment.header->processes, memory_order_acquire);

	for (; offset; offset = process->next) {
		const struct hp_channel *channel;
		uint64_t of_set, in;

		process = at(offset);
		of_set = atomic_load_explicit(&process->lockset, memory_order_acquire);
		set = at(of_set);
		in = of_set ? atomic_load_explicit(&set->channels, memory_order_acquire) : 0;
		for (; in; in = channel->next) {
			struct hp_lane *lane;

			channel = at(in);
			lane = lane_in(channel, device, inode, is_out);
			if (lane)
				return lane;
		}
	}
	return NULL;
}

/* --- one that two processes use first at the same time --- */

#define HP_MEETING_TRIES 16	/* attempts in which another one was faster */

/*
 * Both search, find none and create one. So a word of the segment changes with each lane
 * created for an existing object: a thread that finds it changed since its search searches
 * again. Every thread can find the named lane before the word changes again: the next writer
 * ensures that, since the writer that stored it may be stopped or killed.
 */
static _Atomic uint64_t *meeting(void)
{
	return &((struct hp_meeting *)at(HP_MEETING_AT))->word;
}

/* Call before the search: lanes created from then on are not missed. */
static uint64_t meeting_look(void)
{
	uint64_t word = atomic_load_explicit(meeting(), memory_order_acquire);

	if (word & UINT32_MAX)
		hp_lane_ready(hp_channel_lane(word & UINT32_MAX));
	return word;
}

/* False if one was created since `before`: it may be for the same object. */
static bool meeting_take(uint64_t before, struct hp_lane *lane)
{
	uint64_t done = ((before >> 32) + 1) << 32, word = done | hp_lane_id(lane);

	if (!atomic_compare_exchange_strong_explicit(meeting(), &before, word, memory_order_acq_rel,
						     memory_order_relaxed))
		return false;
	hp_lane_ready(lane);
	atomic_compare_exchange_strong_explicit(meeting(), &word, done, memory_order_acq_rel,
						memory_order_relaxed);
	return true;
}

static void lane_give_up(struct hp_lane *lane)
{
	struct hp_channel *channel = at(lane->channel);

	if (!hp_count_is_full(&channel->instances))
		atomic_fetch_sub_explicit(&channel->instances, 1, memory_order_relaxed);
	hp_lane_unmake(lane);
}

struct hp_lane *hp_lane_meet(const struct hp_channel_wish *wish)
{
	struct hp_lane *lane = NULL, *found;

	for (int i = 0; i < HP_MEETING_TRIES; i++) {
		uint64_t before = meeting_look();

		found = hp_lane_of_inode(wish->device, wish->out_inode, true);
		if (found && lane)
			lane_give_up(lane);
		if (found)
			return found;
		lane = lane ? lane : hp_lane_new(wish);
		if (!lane || meeting_take(before, lane))
			return lane;
	}
	return lane;
}

/* --- ends --- */

/* Descriptors of one kind, in hp_lane.ends. */
static uint64_t one_end(bool is_out)
{
	return is_out ? 1 : UINT64_C(1) << 32;
}

static uint32_t ends_of(uint64_t ends, bool is_out)
{
	return (uint32_t)(is_out ? ends : ends >> 32);
}

void hp_lane_hold(struct hp_lane *lane, bool is_out)
{
	atomic_fetch_add_explicit(&lane->ends, one_end(is_out), memory_order_relaxed);
	hp_lane_ready(lane);
}

void hp_lane_ready(struct hp_lane *lane)
{
	uint32_t made = HP_LANE_MADE;

	if (HP_UNLIKELY(atomic_load_explicit(&lane->state, memory_order_relaxed) == made))
		atomic_compare_exchange_strong_explicit(&lane->state, &made, HP_LANE_TAKEN,
							memory_order_acq_rel, memory_order_relaxed);
}

void hp_lane_unmake(struct hp_lane *lane)
{
	uint32_t made = HP_LANE_MADE;

	atomic_compare_exchange_strong_explicit(&lane->state, &made, HP_LANE_FREE,
						memory_order_acq_rel, memory_order_relaxed);
}

void hp_lane_close(struct hp_lane *lane)
{
	struct hp_channel *channel = at(lane->channel);

	if (atomic_exchange_explicit(&lane->closed, 1, memory_order_relaxed) == 0 &&
	    !hp_count_is_full(&channel->instances))
		hp_count_up_atomic(&channel->closed);
}

/*
 * One end less. Both counts are in one word, so that if two threads close the
 * last sender and the last receiver at once, only one finds that nobody is left:
 * it may use the lane further, and for the other one the lane no longer exists.
 * Hence the last of its kind publishes its state first (`last`; NULL = nothing).
 */
static bool leave(struct hp_lane *lane, bool is_out, void (*last)(struct hp_lane *, bool))
{
	uint64_t ends = atomic_load_explicit(&lane->ends, memory_order_relaxed);

	do {
		if (ends_of(ends, is_out) == 0)
			return false;
		if (ends_of(ends, is_out) == 1 && last)
			last(lane, is_out);
		/* Release and acquire: the remaining one finds the others' work. */
	} while (!atomic_compare_exchange_weak_explicit(&lane->ends, &ends, ends - one_end(is_out),
							memory_order_acq_rel,
							memory_order_relaxed));
	return ends == one_end(is_out);
}

void hp_lane_leave(struct hp_lane *lane, bool is_out, bool is_exec)
{
	bool is_shared = atomic_load_explicit(&lane->shared, memory_order_relaxed);

	if (leave(lane, is_out, NULL) && !is_exec && !is_shared)
		atomic_store_explicit(&lane->state, HP_LANE_FREE, memory_order_release);
}

static bool is_named(const struct hp_lane *lane)
{
	return lane->out_inode & HP_LANE_NAMED;
}

/*
 * New senders to a name may appear while there is a receiver, but not
 * afterwards. If another process may have it, too, its end is unknown.
 */
static void last_drops(struct hp_lane *lane, bool is_out)
{
	if (is_named(lane) ? !is_out : !atomic_load_explicit(&lane->shared, memory_order_relaxed))
		hp_lane_close(lane);
	if (is_named(lane) && !is_out)
		lane->out_inode = HP_LANE_NAMED;
}

void hp_lane_drop(struct hp_lane *lane, bool is_out)
{
	bool is_freed =
		is_named(lane) || !atomic_load_explicit(&lane->shared, memory_order_relaxed);

	if (!leave(lane, is_out, last_drops) || !is_freed)
		return;
	hp_lane_empty(lane);
	atomic_store_explicit(&lane->state, HP_LANE_FREE, memory_order_release);
}
