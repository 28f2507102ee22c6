/* SPDX-License-Identifier: MIT */
/*
 * preload_budget_test.c - many owners of a credit, which take turns on one core, together spend
 * what the limit permits; a modest one is not affected.
 */
#include "preload/guest/budget.h"
#include "test/test.h"

#define OWNERS 400
#define TURN 50	/* things that an owner does in a turn, */
#define STEP 100	/* ticks of each, */
#define COST 200	/* and of each that is timed */
#define SHARE 128
#define MOST (UINT64_C(1024) * COST)
#define LEAST (UINT64_C(4) * COST)

struct owner {
	uint64_t credit;
	uint64_t last;
};

static struct hp_budget budget;
static uint64_t now = UINT64_C(1) << 50;

static bool is_timed(struct owner *owner)
{
	uint64_t most = hp_budget_part(&budget, MOST, now);
	uint64_t gain = hp_budget_part(&budget, (now - owner->last) / SHARE, now);

	if (most < LEAST)
		most = LEAST;
	if (gain) {
		owner->credit += gain;
		owner->last = now;
	}
	if (owner->credit > most)
		owner->credit = most;
	if (owner->credit < COST)
		return false;
	owner->credit -= COST;
	now += COST;
	hp_budget_spend(&budget, COST, now, SHARE, 1);
	return true;
}

/* Returns which part of the elapsed time was spent, in 1/1000 of the limit. */
static uint64_t turns(struct owner *owners, int rounds)
{
	uint64_t since = now, timed = 0;

	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < OWNERS; i++)
			for (int n = 0; n < TURN; n++) {
				now += STEP;
				timed += is_timed(&owners[i]);
			}
	return timed * COST * 1000 / ((now - since) / SHARE);
}

TEST(budget, many_share_the_limit)
{
	static struct owner owners[OWNERS];
	uint64_t spent;

	turns(owners, 50);
	spent = turns(owners, 200);
	CHECK(spent > 300);
	CHECK(spent < 2000);
}

TEST(budget, a_modest_one_has_all)
{
	static struct owner owners[OWNERS], modest;
	int timed = 0;

	turns(owners, 50);
	for (int i = 0; i < 40; i++) {
		turns(owners, 8);
		timed += is_timed(&modest);
	}
	CHECK(timed > 35);
}

TEST(budget, alone_again_it_has_all)
{
	static struct owner owners[OWNERS];

	turns(owners, 50);
	CHECK(hp_budget_part(&budget, MOST, now) < MOST / 10);
	for (int i = 0; i < 100; i++) {
		now += UINT64_C(1) << 24;
		is_timed(&owners[0]);
	}
	CHECK_EQ(hp_budget_part(&budget, MOST, now), MOST);
}

TEST(budget, any_contents_do_no_harm)
{
	static const uint64_t odd[] = { 0, 1, HP_BUDGET_ALL + 1, INT64_MAX, UINT64_MAX };

	for (int i = 0; i < 125; i++) {
		budget = (struct hp_budget){ odd[i % 5], odd[i / 5 % 5], odd[i / 25] };
		hp_budget_spend(&budget, COST, now, SHARE, UINT32_MAX);
		CHECK(hp_budget_part(&budget, MOST, now) <= MOST);
	}
}
