/* SPDX-License-Identifier: MIT */
/* util_test.c - hashes against published values, gaps against their mean, counters at their
 * maximum. */
#include "test/test.h"
#include "util/count.h"
#include "util/hash.h"
#include "util/random.h"

TEST(util, fnv_gives_the_published_values)
{
	CHECK_EQ(hp_fnv_text(HP_FNV_SEED, ""), HP_FNV_SEED);
	CHECK_EQ(hp_fnv_text(HP_FNV_SEED, "a"), UINT64_C(0xaf63dc4c8601ec8c));
	CHECK_EQ(hp_fnv_text(HP_FNV_SEED, "foobar"), UINT64_C(0x85944171f73967e8));
	CHECK_EQ(hp_fnv(HP_FNV_SEED, "foobar", 6), UINT64_C(0x85944171f73967e8));
}

TEST(util, neighbouring_keys_get_places_of_their_own)
{
	unsigned char taken[1 << 12] = { 0 };
	unsigned used = 0;

	/* A table of 4096 places, a quarter full with functions 48 bytes apart. */
	for (uint64_t key = 0x401000; key < 0x401000 + 48 * 1024; key += 48) {
		unsigned char *place = &taken[hp_hash_index(key, 12)];

		used += !*place;
		*place = 1;
	}
	/* Chance would leave 1024 * (1 - 1/8) of them alone or first. */
	CHECK(used >= 850);
}

TEST(util, gaps_have_their_mean_and_stay_within_bounds)
{
	enum { MEAN = 32, DRAWS = 100000 };

	for (uint64_t seed = 0; seed < 3; seed++) {
		uint64_t state = seed, sum = 0, least = UINT64_MAX, most = 0;

		for (int i = 0; i < DRAWS; i++) {
			uint64_t gap = hp_random_gap(&state, MEAN);

			sum += gap;
			least = gap < least ? gap : least;
			most = gap > most ? gap : most;
		}
		CHECK_EQ(least, 1);
		CHECK_EQ(most, 2 * MEAN - 1);
		/* Five standard errors of the mean of DRAWS uniform gaps. */
		CHECK_NEAR((double)sum / DRAWS, MEAN, 5 * 18.2 / 316);
	}
	uint64_t state = 1;

	CHECK_EQ(hp_random_gap(&state, 1), 1);
}

TEST(util, full_counters_stay_full)
{
	uint32_t counter = UINT32_MAX - 1;
	_Atomic uint32_t shared = UINT32_MAX - 1;

	hp_count_up(&counter);
	hp_count_up(&counter);
	CHECK_EQ(counter, UINT32_MAX);
	CHECK(!hp_count_is_full(&shared));
	hp_count_up_atomic(&shared);
	hp_count_up_atomic(&shared);
	CHECK(hp_count_is_full(&shared));
}
