/* SPDX-License-Identifier: MIT */
/*
 * lane_race_test.c - several threads send into a pipe and several receive from it: the lane's
 * final counts match the messages, each timed message was received once, and no sender
 * suppresses the timing of others.
 *
 * And the log's messages are read completely or not at all, while senders keep overwriting it.
 *
 * preload/channel/channel.c and queue.c themselves, read by report/read/logged.c, with stubs for
 * the rest of the library.
 */
#define key channel_key
#include "preload/channel/channel.c"
#include "preload/guest/thread_list.c"
#include "preload/channel/credit.c"
#include "preload/channel/queue.c"
#include "preload/guest/ticks.c"
#undef key
#include "preload/guest/tid.h"
#include "report/base/memory.c"
#include "report/read/logged.c"
#include "report/read/reader.c"

#include <stdlib.h>

#include "test/ends.h"
#include "test/test.h"

#define SENDERS 3
#define RECEIVERS 2
#define MESSAGES 4000	/* of each sender */
#define LONGEST 64
#define KEPT 32	/* bytes of a text */
#define ENOUGH 2000	/* texts that are read before the senders end */

static struct hp_lockset lockset;
static struct hp_self self = { .pid = 1 };
static _Atomic uint64_t sent_bytes, received_bytes, received_count;
static _Atomic uint32_t next_tid = 1, stuck;
static int ends[2];

_Atomic uint32_t hp_confined;
struct hp_segment hp_segment;
struct hp_self *hp_self = &self;
uint32_t hp_channel_fds_most;
uint8_t hp_early_at;

uint32_t hp_tid(void)
{
	return atomic_fetch_add(&next_tid, 1);
}

void *hp_part_wiped(uint64_t size)
{
	return calloc(1, size);
}

bool hp_start(void)
{
	return true;
}

bool hp_self_open(void)
{
	return true;
}

struct hp_lockset *hp_lock_set(void)
{
	return &lockset;
}

void hp_lock_place(uint64_t at, uint64_t *module, uint64_t *address)
{
	*module = 0;
	*address = at;
}

uint64_t hp_text_new(const char *bytes, size_t length)
{
	(void)bytes, (void)length;
	return 0;
}

void hp_channel_wait_begin(const void *frame, const struct hp_lane *lane, uint32_t side,
			   uintptr_t caller, uint64_t since)
{
	(void)frame, (void)lane, (void)side, (void)caller, (void)since;
}

void hp_channel_wait_end(const void *frame, const struct hp_lane *lane, uint64_t ticks)
{
	(void)frame, (void)lane, (void)ticks;
}

void hp_list_push(_Atomic uint64_t *head, uint64_t offset, uint64_t *next)
{
	*next = atomic_load(head);
	while (!atomic_compare_exchange_weak(head, next, offset))
		;
}

static void *sender(void *arg)
{
	static const char bytes[LONGEST];
	struct hp_lane *lane = arg;

	for (unsigned i = 0; i < MESSAGES; i++) {
		size_t size = 1 + i % LONGEST;
		struct hp_sending call;

		hp_send_begin(&call, lane, size, ends[1]);
		CHECK_EQ(write(ends[1], bytes, size), (ssize_t)size);
		hp_send_end(&call, size, 1, size);
		atomic_fetch_add(&sent_bytes, size);
		/* A gap is at most 63: after a lost turn it would be four thousand million. */
		if (__atomic_load_n(&lane->sends.countdown, __ATOMIC_RELAXED) > 2 * TIMED_GAP)
			atomic_store(&stuck, 1);
	}
	return NULL;
}

static void *receiver(void *arg)
{
	struct hp_lane *lane = arg;
	char bytes[LONGEST];
	ssize_t got;

	do {
		struct hp_receiving call;

		hp_receive_begin(&call, lane);
		got = read(ends[0], bytes, sizeof(bytes));
		if (got > 0) {
			hp_receive_end(&call, (uint64_t)got, 1, (uint64_t)got);
			atomic_fetch_add(&received_bytes, (uint64_t)got);
			atomic_fetch_add(&received_count, 1);
		}
	} while (got > 0);
	return NULL;
}

TEST(race, what_went_through_a_lane_is_counted_by_all_its_threads)
{
	const struct hp_channel_wish wish = { .kind = HP_CHANNEL_PIPE, .caller = 42, .safe = 4096 };
	struct hp_segment_wish whole = { .size = 16 << 20, .path = NULL };
	pthread_t senders[SENDERS], receivers[RECEIVERS];
	struct hp_lane *lane;

	CHECK_EQ(hp_segment_create(&hp_segment, &whole), 0);
	CHECK_EQ(pipe(ends), 0);
	hp_channel_base = (char *)hp_segment.header;
	hp_ticks_are_slow = 1;
	is_wanted = true;
	lane = hp_lane_new(&wish);
	CHECK(lane != NULL);
	for (int i = 0; i < RECEIVERS; i++)
		CHECK_EQ(pthread_create(&receivers[i], NULL, receiver, lane), 0);
	for (int i = 0; i < SENDERS; i++)
		CHECK_EQ(pthread_create(&senders[i], NULL, sender, lane), 0);
	for (int i = 0; i < SENDERS; i++)
		pthread_join(senders[i], NULL);
	close(ends[1]);
	for (int i = 0; i < RECEIVERS; i++)
		pthread_join(receivers[i], NULL);
	CHECK_EQ(received_bytes, sent_bytes);
	CHECK_EQ(hp_side_units(&lane->sends), sent_bytes);
	CHECK_EQ(hp_side_others(&lane->sends), SENDERS * MESSAGES);
	CHECK_EQ(hp_side_units(&lane->receives), received_bytes);
	CHECK_EQ(hp_side_others(&lane->receives), received_count);
	CHECK_EQ(hp_lane_depth(lane), 0);
	CHECK_EQ(stuck, 0);
	CHECK(lane->timed > 0);
	CHECK(lane->tail <= lane->head && lane->timed <= lane->head);
}

/* --- the log --- */

static _Atomic uint32_t is_enough, torn;

/* The size identifies the message's contents. */
static void *talker(void *arg)
{
	struct hp_lane *lane = arg;
	char bytes[LONGEST];

	for (unsigned i = 0; !atomic_load(&is_enough); i++) {
		size_t size = 1 + i % LONGEST;
		struct hp_sending call;

		memset(bytes, 'a' + (int)(size % 26), size);
		hp_send_begin(&call, lane, size, ends[1]);
		CHECK_EQ(write(ends[1], bytes, size), (ssize_t)size);
		hp_send_kept(&call, bytes, size);
		hp_send_end(&call, size, 1, size);
	}
	return NULL;
}

static bool is_of(const char *text, uint32_t size)
{
	size_t length = size < KEPT ? size : KEPT;
	const char *end = size > KEPT ? "..." : "";

	for (size_t i = 0; i < length; i++)
		if (text[i] != 'a' + (int)(size % 26))
			return false;
	return strcmp(text + length, end) == 0;
}

/* Reads the complete ring; returns the number of texts, and in *messages the number of messages. */
static uint32_t look(const struct hp_lane *lane, uint32_t *messages)
{
	/* A copy, as a reader of the complete record makes it. */
	struct hp_lane copy = { .probes = __atomic_load_n(&lane->probes, __ATOMIC_ACQUIRE),
				.texts = __atomic_load_n(&lane->texts, __ATOMIC_ACQUIRE) };
	struct hp_reader reader = { .segment = hp_segment };
	const struct hp_lane_log *log =
		hp_reader_see(&reader, (uint64_t)copy.probes * HP_LINE, sizeof(*log));
	uint32_t count = 0;

	*messages = 0;
	for (uint64_t i = 0; log && i < HP_MESSAGES; i++) {
		struct hp_message message;
		char *text;

		if (!hp_logged_message(&log->sent[i], &message))
			continue;
		++*messages;
		if (message.size < 1 || message.size > LONGEST || !message.tid)
			atomic_fetch_add(&torn, 1);
		text = hp_logged_text(&reader, &copy, i, message.number, message.size);
		if (text && !is_of(text, message.size))
			atomic_fetch_add(&torn, 1);
		count += text != NULL;
		free(text);
	}
	return count;
}

TEST(race, what_messages_say_is_read_whole_or_not_at_all)
{
	const struct hp_channel_wish wish = { .kind = HP_CHANNEL_PIPE, .caller = 43, .safe = 4096 };
	struct hp_segment_wish whole = { .size = 16 << 20, .path = NULL };
	pthread_t senders[SENDERS], receivers[RECEIVERS];
	struct hp_lane *lane;
	uint32_t count = 0, messages;

	CHECK_EQ(hp_segment_create(&hp_segment, &whole), 0);
	CHECK_EQ(pipe(ends), 0);
	hp_channel_base = (char *)hp_segment.header;
	hp_ticks_are_slow = 1;
	hp_channel_is_exact = 1;
	hp_channel_text_room = KEPT;
	is_wanted = true;
	lockset = (struct hp_lockset){ .lost = 0 };
	lane = hp_lane_new(&wish);
	CHECK(lane != NULL);
	for (int i = 0; i < RECEIVERS; i++)
		CHECK_EQ(pthread_create(&receivers[i], NULL, receiver, lane), 0);
	for (int i = 0; i < SENDERS; i++)
		CHECK_EQ(pthread_create(&senders[i], NULL, talker, lane), 0);
	while (count < ENOUGH)
		count += look(lane, &messages);
	atomic_store(&is_enough, 1);
	for (int i = 0; i < SENDERS; i++)
		pthread_join(senders[i], NULL);
	close(ends[1]);
	for (int i = 0; i < RECEIVERS; i++)
		pthread_join(receivers[i], NULL);
	CHECK_EQ(torn, 0);
	/*
	 * No entry is left in use. Texts may be missing: of two senders at one entry, one
	 * gave up.
	 */
	CHECK(look(lane, &messages) > 0);
	CHECK_EQ(messages, HP_MESSAGES);
}
