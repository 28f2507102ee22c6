/* SPDX-License-Identifier: MIT */
/*
 * sampler_look_test.c - the helper's scans of held locks: which holds they mark, and that
 * damaged lists take no longer than sound ones.
 */
#include "sampler/session/look.h"

#include "segment/clock.h"
#include "segment/layout/process.h"
#include "segment/mark.h"
#include "test/test.h"

#define BASE UINT64_C(0x7f0000000000)	/* of the segment in the process */
#define ADDRESS 0x100

/* A process with one thread that samples holds and holds a lock. */
struct scene {
	struct hp_segment segment;
	struct hp_process *process;
	struct hp_lockset *set;
	struct hp_waiter *waiter;
	struct hp_use *use;
	struct hp_look look;
};

static uint64_t place(const struct scene *scene, const void *record)
{
	return hp_segment_offset(&scene->segment, record);
}

static void *take(struct scene *scene, uint64_t size)
{
	uint64_t at = hp_segment_take(&scene->segment, size, HP_LINE);

	return hp_segment_at(&scene->segment, at, size);
}

static uint64_t now(const struct scene *scene)
{
	return hp_clock_read(scene->segment.header->clock_kind);
}

static void begin(struct scene *scene)
{
	struct hp_segment_wish wish = { .size = 4 << 20 };

	*scene = (struct scene){ .process = NULL };
	CHECK_EQ(hp_segment_create(&scene->segment, &wish), 0);
	scene->process = take(scene, sizeof(*scene->process));
	scene->set = take(scene, sizeof(*scene->set));
	scene->waiter = take(scene, sizeof(*scene->waiter));
	scene->use = take(scene, sizeof(*scene->use));
	scene->segment.header->processes = place(scene, scene->process);
	scene->process->state = HP_TAKEN;
	scene->process->lockset = place(scene, scene->set);
	scene->set->waiters = place(scene, scene->waiter);
	scene->waiter->state = HP_TAKEN;
	scene->waiter->base = BASE;
	scene->waiter->samples = 1;
	scene->waiter->uses = place(scene, scene->use);
	scene->use->count = 7;
	scene->waiter->held[0] =
		(struct hp_held){ .address = ADDRESS, .use = BASE + place(scene, scene->use) };
	scene->look = (struct hp_look){ .segment = &scene->segment, .last = now(scene) };
}

static bool is_marked(const struct scene *scene)
{
	uint64_t hash = hp_mark_hash(place(scene, scene->use), scene->use->count);

	return scene->waiter->held[0].asked == HP_ASKED_END &&
	       hp_seen_is_of(scene->waiter->marks[0].seen, hash);
}

TEST(look, a_hold_is_marked_once)
{
	struct scene scene;
	uint64_t seen_at, before;

	begin(&scene);
	before = now(&scene);
	CHECK(hp_look_once(&scene.look, before));
	CHECK(is_marked(&scene));
	seen_at = scene.waiter->marks[0].seen_at;
	CHECK(seen_at >= before && seen_at <= now(&scene));
	hp_look_once(&scene.look, now(&scene));
	CHECK_EQ(scene.waiter->marks[0].seen_at, seen_at);
	CHECK_EQ(scene.look.marked, 0);
	/* Its next hold is a different one. */
	scene.use->count++;
	CHECK(!is_marked(&scene));
	CHECK(hp_look_once(&scene.look, now(&scene)));
	CHECK(is_marked(&scene));
	hp_segment_release(&scene.segment);
}

TEST(look, timed_holds_and_threads_without_sampling_are_not_marked)
{
	struct scene scene;

	begin(&scene);
	scene.waiter->held[0].start = 1;
	hp_look_once(&scene.look, now(&scene));
	CHECK_EQ(scene.waiter->held[0].asked, 0);
	scene.waiter->held[0].start = 0;
	scene.waiter->samples = 0;
	hp_look_once(&scene.look, now(&scene));
	CHECK_EQ(scene.waiter->held[0].asked, 0);
	hp_segment_release(&scene.segment);
}

TEST(look, at_the_end_the_next_hold_of_a_sampled_lock_is_timed)
{
	struct scene scene;

	begin(&scene);
	scene.use->next_timed = 100;
	hp_look_end(&scene.look);
	CHECK_EQ(scene.use->next_timed, 100);
	scene.use->is_sampled = 1;
	hp_look_end(&scene.look);
	CHECK_EQ(scene.use->next_timed, 0);
	hp_segment_release(&scene.segment);
}

TEST(look, lists_and_places_that_lead_anywhere_are_left)
{
	struct scene scene;
	static const uint64_t bad[] = { 0, 1, 64, BASE, BASE + 1, BASE + (4 << 20), UINT64_MAX };

	begin(&scene);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		scene.waiter->held[0].use = bad[i];
		hp_look_once(&scene.look, now(&scene));
		CHECK_EQ(scene.waiter->held[0].asked, 0);
	}
	scene.waiter->held[0].address = 0;
	scene.waiter->next = place(&scene, scene.waiter);
	scene.process->next = place(&scene, scene.process);
	scene.use->next = place(&scene, scene.use);
	hp_look_once(&scene.look, now(&scene));
	hp_look_end(&scene.look);
	CHECK(scene.look.steps < 100100);
	scene.waiter->next = UINT64_MAX - 63;
	scene.set->waiters = (4 << 20) - 64;
	hp_look_once(&scene.look, now(&scene));
	hp_segment_release(&scene.segment);
}
