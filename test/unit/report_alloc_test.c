/* SPDX-License-Identifier: MIT */
/* report_alloc_test.c - reading heaps and charges, with known figures in a fake segment. */
#include "test/test.h"

#include <stdio.h>

#include "report/section/memory/alloc.h"
#include "report/read/charge.h"
#include "test/unit/fake_segment.h"

#define SIZE 65536

TEST(alloc, calls_that_go_on_are_charged_once)
{
	struct fake fake;

	fake_init(&fake, SIZE);
	struct hp_object *object = fake_object(&fake, "/nowhere/fake");
	struct hp_process *process = fake_process(&fake, FAKE_PID, object);
	struct hp_module *module = fake_module(&fake, process, object);
	struct hp_block *block = fake_block(&fake, process);
	struct hp_function *f = fake_function(&fake, block, module, 0x1000);
	struct hp_function *g = fake_function(&fake, block, module, 0x2000);
	struct hp_row *outer = fake_row(&fake, block, NULL, f);
	struct hp_row *inner = fake_row(&fake, block, outer, g);
	/* f calls g calls f. */
	struct hp_row *const rows[] = { outer, inner, outer };
	struct hp_segment segment = fake_segment(&fake);
	struct hp_charges charges;
	struct hp_model model;

	fake_gist(&fake, f)->active = 2;
	fake_gist(&fake, g)->active = 1;
	fake_charge(&fake, g, 5, 1000);
	fake_part(&fake, block, rows, 3);
	hp_model_init(&model, &segment);
	hp_charges_init(&charges, &model);
	for (size_t i = 0; i < charges.count; i++) {
		const struct hp_charge_sum *sum = &charges.functions[i];
		bool is_f = model.functions[i].address == 0x1000;

		/* 100 bytes each; g's five ended calls had 1000. */
		CHECK_EQ(hp_charge_bytes(sum), is_f ? 200u : 5100u);
		CHECK_EQ(hp_charge_count(sum), is_f ? 2u : 11u);
		CHECK_EQ(sum->whole_bytes, is_f ? 300u : 5200u);
		if (!is_f) {
			CHECK_EQ((uint64_t)hp_charge_percentile(sum, HP_CHARGE_BYTES, 50), 1000u);
			CHECK_EQ((uint64_t)hp_charge_percentile(sum, HP_CHARGE_WHOLE_BYTES, 99),
				 1000u);
		}
	}
	hp_charges_release(&charges);
	hp_model_release(&model);
}

TEST(alloc, sites_sum_up_by_path_and_the_pending_block_counts)
{
	struct fake fake;

	fake_init(&fake, SIZE);
	struct hp_object *object = fake_object(&fake, "/nowhere/fake");
	struct hp_process *process = fake_process(&fake, FAKE_PID, object);
	struct hp_segment segment = fake_segment(&fake);
	struct hp_alloc alloc;
	struct hp_model model;

	/* The same path in two heaps. */
	for (int i = 0; i < 2; i++) {
		struct hp_heap *heap = fake_heap(&fake, process);
		uint32_t step = fake_step(&fake, heap, 0, object, 0x1010);
		struct hp_site *site = fake_site(&fake, heap, step, 10, 64);

		heap->pending = i ? fake_at(&fake, site) : 0;
		heap->pending_bytes = i ? 6 : 0;
	}
	hp_model_init(&model, &segment);
	hp_alloc_init(&alloc, &model);
	CHECK_EQ(alloc.count, 2u);
	CHECK_EQ(alloc.all.count, 21u);
	CHECK_EQ(alloc.all.bytes, 1286u);
	CHECK_EQ((uint64_t)alloc.all.live_bytes, 646u);
	CHECK_EQ((uint64_t)alloc.all.peak_bytes, 646u);
	CHECK_EQ(hp_alloc_own(&alloc, 1)->count, 21u);
	hp_alloc_release(&alloc);
	hp_model_release(&model);
}

TEST(alloc, one_refresh_does_not_add_to_the_next_ones_peak)
{
	struct fake fake;

	fake_init(&fake, SIZE);
	struct hp_object *object = fake_object(&fake, "/nowhere/fake");
	struct hp_process *process = fake_process(&fake, FAKE_PID, object);
	struct hp_segment segment = fake_segment(&fake);
	struct hp_heap *heap = fake_heap(&fake, process);
	struct hp_site *site =
		fake_site(&fake, heap, fake_step(&fake, heap, 0, object, 0x1010), 10, 64);
	struct hp_alloc alloc;
	struct hp_model model;

	process->heap_peak = 1000;
	site->epoch = process->heap_epoch;
	site->at_peak = 300;
	hp_model_init(&model, &segment);
	hp_alloc_init(&alloc, &model);
	CHECK_EQ((uint64_t)alloc.all.live_bytes, 320u);
	CHECK_EQ((uint64_t)alloc.all.peak_bytes, 320u);
	site->frees = 10;
	site->freed = 640;
	hp_alloc_look(&alloc, &model);
	CHECK_EQ((uint64_t)alloc.all.live_bytes, 0u);
	CHECK_EQ((uint64_t)alloc.all.peak_bytes, 300u);
	hp_alloc_release(&alloc);
	hp_model_release(&model);
}
