/* SPDX-License-Identifier: MIT */
/*
 * report_estimate_test.c - the printed interval contains the truth as often as it claims.
 *
 * Hundreds of functions of known durations (steady, spread, heavy-tailed, with rare
 * stalls) are sampled as the hooks do; only this test knows the unsampled part.
 */
#include "test/test.h"

#include <math.h>
#include <stdio.h>

#include "report/read/model.h"
#include "test/unit/fake_segment.h"

#define FUNCTIONS 300
#define CALLS 40000
#define WEIGHT 32
#define TIMED 4096
#define TAIL_FACTOR 32	/* as preload/call/leave.c distinguishes a stall from a call */
#define TAIL_MIN 32

static double uniform(void)
{
	return (rand() + 0.5) / ((double)RAND_MAX + 1);
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static uint64_t duration_of(int kind, double scale)
{
	switch (kind) {
	case 0:	/* steady, with the grain of a clock */
		return 26 * (uint64_t)(scale / 26 + 1 + 0.3 * normal() + 1.5);
	case 1:
		return 1 + (uint64_t)(scale * exp(0.5 * normal()));
	case 2:	/* heavy tail */
		return 1 + (uint64_t)(scale * fmin(pow(uniform(), -0.6), 2000));
	default:	/* a stall in 1 of 3000 calls */
		return (uint64_t)scale +
		       (rand() % 3000 ? 0 : 40000 + (uint64_t)(200000 * uniform()));
	}
}

struct sampled {
	double truth;	/* ticks of all calls */
	double mean;	/* running */
	double unseen;	/* ticks of untimed calls */
};

static void one_call(struct fake *fake, struct hp_function *f, struct hp_row *row, uint64_t ticks,
		     struct sampled *sampled)
{
	sampled->truth += (double)ticks;
	if (row->calls < TIMED) {
		sampled->mean += ((double)ticks - sampled->mean) / (double)(row->calls + 1);
		fake_call(fake, f, row, ticks, 0);
		return;
	}
	row->calls++;
	if (rand() % WEIGHT) {
		sampled->unseen += (double)ticks;
		return;
	}
	row->calls--;
	if ((double)ticks <= (sampled->mean + TAIL_MIN) * TAIL_FACTOR) {
		sampled->mean += ((double)ticks - sampled->mean) / 128;
		fake_sampled(fake, f, row, ticks, 1);
		return;
	}
	row->calls++;
	row->sampled++;
	row->tail_count++;
	row->tail_ticks += ticks;
	fake_duration(fake, f, ticks, WEIGHT);
}

/*
 * Below one root function whose every call was timed: its own time is what
 * the charged means leave, so it shows how much may have been missed.
 */
static void check_kind(int kind, double least_share)
{
	static double truth[FUNCTIONS];
	struct hp_model model;
	struct fake fake;
	int held = 0;
	double worst = 0;

	fake_init(&fake, 64 << 20);
	struct hp_object *object = fake_object(&fake, "/nowhere/fake");
	struct hp_process *process = fake_process(&fake, FAKE_PID, object);
	struct hp_module *module = fake_module(&fake, process, object);
	struct hp_block *block = fake_block(&fake, process);

	for (int i = 0; i < FUNCTIONS; i++) {
		struct hp_function *f =
			fake_function(&fake, block, module, 0x1000 + 16 * (uint64_t)i);
		struct hp_row *row = fake_row(&fake, block, NULL, f);
		struct sampled sampled = { .truth = 0 };

		for (int call = 0; call < CALLS; call++)
			one_call(&fake, f, row, duration_of(kind, 30 + 3 * i), &sampled);
		truth[i] = sampled.truth * FAKE_NS_PER_TICK;
	}
	struct hp_segment segment = fake_segment(&fake);
	hp_model_init(&model, &segment);
	CHECK_EQ(model.function_count, FUNCTIONS);
	for (size_t i = 0; i < model.function_count; i++) {
		const struct hp_model_function *f = &model.functions[i];
		double want = truth[(f->address - 0x1000) / 16];

		held += want >= f->total_low_ns && want <= f->total_high_ns;
		worst = fmax(worst, fabs(f->total_ns - want) / want);
	}
	printf("# kind %d: %d of %d intervals hold, worst %.1f %%\n", kind, held, FUNCTIONS,
	       100 * worst);
	CHECK(held >= least_share * FUNCTIONS);
	hp_model_release(&model);
}

TEST(estimate, steady)
{
	srand(1);
	check_kind(0, 0.92);
}

TEST(estimate, spread)
{
	srand(2);
	check_kind(1, 0.92);
}

TEST(estimate, heavy_tail)
{
	srand(3);
	check_kind(2, 0.92);
}

TEST(estimate, rare_stalls)
{
	srand(4);
	check_kind(3, 0.92);
}
