/* SPDX-License-Identifier: MIT */
/*
 * seq_race_test.c - a thread keeps writing calls, their results and their
 * allocations, while others read: none of them ever accepts a record mixed from two
 * calls, or a torn text, and all of them make progress.
 *
 * The writers are those of preload/call/logged.h, the readers those of
 * report/read/logged.c.
 */
#include "preload/call/logged.h"
#include "report/base/memory.c"
#include "report/read/logged.c"
#include "report/read/reader.c"

#include <pthread.h>
#include <sched.h>

#include "test/test.h"

#define PLACES 4	/* few, so that the writer comes back soon */
#define READERS 2
#define ENOUGH 3000	/* records that each reader accepts before the writer ends */

/* As much of a segment as results need. */
static struct {
	_Alignas(HP_LINE) char header[HP_PAGE];
	struct hp_results head;
	struct hp_result ring[PLACES];
} whole = { .head = { .capacity = PLACES } };
static struct hp_call calls[PLACES];
static struct hp_spent spents[PLACES];
static uint32_t count;
static struct hp_moment moment;
static _Atomic uint32_t newest, left = READERS, torn;

/* The expected words of a record of the call with this number. */
static uint64_t sign(uint64_t number)
{
	return number * UINT64_C(0x9E3779B97F4A7C15) | 1;
}

/* A text of one repeated letter, also identified by its length. */
static uint32_t text_of(uint32_t number, char text[HP_RESULT_MAX])
{
	uint32_t length = 1 + number % HP_RESULT_MAX;

	memset(text, 'a' + (int)(number % 26), length);
	return length;
}

static void write_one(uint32_t n)
{
	char text[HP_RESULT_MAX];
	uint32_t length = text_of(n, text);

	hp_call_put(&calls[n % PLACES],
		    &(struct hp_call){
			    .start = n, .ticks = sign(n), .tid = (uint32_t)sign(n), .result = n });
	/* The clock does not advance now and then. */
	hp_spent_put(&spents[n % PLACES], &(struct hp_spent){ .at = n & ~31u,
							      .bytes = sign(n),
							      .whole_bytes = sign(n) + 1,
							      .count = (uint32_t)sign(n),
							      .whole_count = (uint32_t)sign(n),
							      .tid = (uint32_t)sign(n) });
	hp_result_put(&whole.ring[n % PLACES], n, text, length);
	hp_seq_count_begin(&count);
	hp_seq_put(&moment, &(struct hp_moment){ .ticks = n, .ns = sign(n) }, sizeof(moment));
	hp_seq_count_end(&count);
}

static void *writer(void *unused)
{
	for (uint32_t n = 1; atomic_load(&left); n++) {
		write_one(n);
		atomic_store(&newest, n);
		/* On one processor a reader must get it, too. */
		if (n % 1024 == 0)
			sched_yield();
	}
	return unused;
}

static bool check_call(uint32_t n)
{
	struct hp_call call;

	if (!hp_logged_call(&calls[n % PLACES], &call))
		return false;
	if (call.ticks != sign(call.start) || call.tid != (uint32_t)call.ticks ||
	    call.result != call.start)
		atomic_fetch_add(&torn, 1);
	return true;
}

static bool check_spent(uint32_t n)
{
	struct hp_spent spent;

	if (!hp_logged_spent(&spents[n % PLACES], &spent))
		return false;
	if (spent.whole_bytes != spent.bytes + 1 || spent.count != (uint32_t)spent.bytes ||
	    spent.whole_count != spent.count || spent.tid != spent.count)
		atomic_fetch_add(&torn, 1);
	return true;
}

static bool check_result(struct hp_reader *reader, uint32_t n)
{
	char expected[HP_RESULT_MAX];
	uint32_t length = text_of(n, expected);
	char *text = hp_logged_result(reader, sizeof(whole.header), n);

	if (!text)
		return false;
	if (strlen(text) != length || memcmp(text, expected, length) != 0)
		atomic_fetch_add(&torn, 1);
	free(text);
	return true;
}

static bool check_moment(void)
{
	struct hp_moment copy;

	if (!hp_seq_count_copy(&copy, &moment, sizeof(copy), &count))
		return false;
	if (copy.ns != sign(copy.ticks))
		atomic_fetch_add(&torn, 1);
	return true;
}

/* Each kind of record occurs. */
static void *reader(void *given)
{
	struct hp_reader own = *(struct hp_reader *)given;
	uint32_t got[4] = { 0, 0, 0, 0 }, before = 0;

	while (got[0] < ENOUGH || got[1] < ENOUGH || got[2] < ENOUGH || got[3] < ENOUGH) {
		uint32_t n = atomic_load(&newest);

		if (n == before) {
			sched_yield();
			continue;
		}
		before = n;
		got[0] += check_call(n);
		got[1] += check_spent(n);
		got[2] += check_result(&own, n);
		got[3] += check_moment();
	}
	atomic_fetch_sub(&left, 1);
	return NULL;
}

TEST(race, what_is_written_over_is_read_whole_or_not_at_all)
{
	struct hp_reader shared = { .segment = { .header = (struct hp_header *)whole.header,
						 .size = sizeof(whole) } };
	pthread_t readers[READERS], one;

	CHECK_EQ(pthread_create(&one, NULL, writer, NULL), 0);
	for (int i = 0; i < READERS; i++)
		CHECK_EQ(pthread_create(&readers[i], NULL, reader, &shared), 0);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	pthread_join(one, NULL);
	CHECK_EQ(torn, 0);
	CHECK(newest >= ENOUGH);
}

/* --- several writers --- */

static uint64_t version, both[2];
static _Atomic uint32_t claimed, refused;

static void *claimer(void *unused)
{
	while (atomic_load(&claimed) < ENOUGH) {
		uint64_t number = atomic_fetch_add(&newest, 1) + 1;

		if (!hp_seq_claim(&version)) {
			atomic_fetch_add(&refused, 1);
			continue;
		}
		/* Nobody else writes here. */
		hp_seq_set(&both[0], number);
		hp_seq_set(&both[1], sign(number));
		hp_seq_end(&version, number);
		atomic_fetch_add(&claimed, 1);
	}
	return unused;
}

TEST(race, of_several_writers_one_has_the_place)
{
	pthread_t writers[3];
	uint64_t words[2], number;
	uint32_t got = 0;

	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&writers[i], NULL, claimer, NULL), 0);
	do {
		number = hp_seq_look(&version);
		hp_seq_get(words, both, sizeof(words));
		if (!number || number == HP_SEQ_BUSY || !hp_seq_is_same(&version, number))
			continue;
		got++;
		if (words[0] != number || words[1] != sign(number))
			atomic_fetch_add(&torn, 1);
	} while (atomic_load(&claimed) < ENOUGH);
	for (int i = 0; i < 3; i++)
		pthread_join(writers[i], NULL);
	CHECK_EQ(torn, 0);
	CHECK(got > 0 || refused > 0);
	CHECK_EQ(hp_seq_look(&version) == HP_SEQ_BUSY, 0);
}
