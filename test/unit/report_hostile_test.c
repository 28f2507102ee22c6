/* SPDX-License-Identifier: MIT */
/*
 * report_hostile_test.c - no byte of a segment may crash or hang the report.
 *
 * Every byte of a small segment is changed in turn, in three ways, and the
 * whole report is made of it; the binary runs under ASan and UBSan.
 */
#include "test/test.h"

#include <stdio.h>

#include "report/view/view.h"
#include "test/unit/fake_segment.h"
#include "report/section/sections.h"

#define SIZE 16384

/* Number of damaged copies tried: a sixth of `all` in make test, all in make test-all. */
static int damages(int all)
{
	return getenv("HP_TEST_FULL") ? all : all / 6;
}

static bool has_alloc;	/* more records, and longer rounds */
static uint64_t alloc_from;	/* where they begin */

/* Allocations: by path, by call. */
static void build_alloc(struct fake *fake, struct hp_process *process, struct hp_object *object,
			struct hp_block *block, struct hp_row *outer, struct hp_row *inner)
{
	struct hp_heap *heap = fake_heap(fake, process);
	uint32_t start = fake_step(fake, heap, 0, NULL, HP_STEP_LOST);
	uint32_t middle = fake_step(fake, heap, start, object, 0x1010);
	struct hp_site *site =
		fake_site(fake, heap, fake_step(fake, heap, middle, object, 0x2010), 10, 64);
	struct hp_row *const rows[] = { outer, inner };
	struct hp_maps *maps;

	fake_site(fake, heap, middle, 1, 7);
	heap->pending = fake_at(fake, site);
	heap->pending_bytes = 64;
	process->heap_peak = 300;
	/* Two lists lead to one site, and its spread is the object there. */
	maps = fake_take(fake, sizeof(*maps));
	maps->live = 64;
	heap->maps = fake_at(fake, maps);
	heap->map_sites = fake_at(fake, site);
	site->spread = (uint32_t)(fake_at(fake, heap) / HP_LINE);
	block->base = 0;
	for (int i = 0; i < 2; i++) {
		struct hp_function *function =
			(struct hp_function *)(fake->base + (uint64_t)rows[i]->function * HP_LINE);
		struct hp_charge *charge;
		struct hp_spent *ring;

		fake_gist(fake, function)->active = 1;
		if (i)
			break;
		ring = fake_take(fake, 4 * sizeof(*ring));
		ring[1] = (struct hp_spent){ .at = FAKE_START + 3, .bytes = 900, .count = 2 };
		charge = fake_charge(fake, function, 3, 900);
		charge->logs = (uint32_t)(fake_at(fake, ring) / HP_LINE);
		/* One histogram tests as much as two, and each byte takes a second of test time. */
		charge->spreads[HP_CHARGE_ALONE_COUNT] = charge->spreads[HP_CHARGE_ALONE_BYTES];
	}
	fake_part(fake, block, rows, 2);
}

static void build(struct fake *fake)
{
	fake_init(fake, SIZE);
	struct hp_object *object = fake_object(fake, "/nowhere/fake");
	struct hp_process *process = fake_process(fake, FAKE_PID, object);
	struct hp_module *module = fake_module(fake, process, object);
	struct hp_block *block = fake_block(fake, process);
	struct hp_function *f = fake_function(fake, block, module, 0x1000);
	struct hp_function *g = fake_function(fake, block, module, 0x2000);
	struct hp_row *outer = fake_row(fake, block, NULL, f);
	struct hp_row *inner = fake_row(fake, block, outer, g);
	struct hp_call *ring = fake_take(fake, 4 * sizeof(*ring));
	struct hp_watch_row *rows = fake_watch(fake, 2);
	uint32_t *carries = fake_take(fake, HP_GROUP_SIZE * 4);

	ring[0] = (struct hp_call){ FAKE_START + 5, 17, 3, 1 };
	fake_result(fake_results(fake, f, 2), 1, "a result");
	fake_label(fake, f, HP_LABEL_NAME, "a name");
	fake_label(fake, g, HP_LABEL_BLOCK, "a block")->function = fake_text(fake, "f");
	f->logs = (uint32_t)(fake_at(fake, ring) / HP_LINE);
	f->slowest[2] = ring[0];
	fake_call(fake, f, outer, 5000, 3200);
	for (int i = 0; i < 20; i++)
		fake_sampled(fake, g, inner, i & 1 ? 50 : 150, 32);
	inner->tail_count = 1;
	inner->tail_ticks = 4000;
	g->carries = fake_at(fake, carries);
	fake_group(fake, &carries[0])[50] = 1;
	rows[0] = (struct hp_watch_row){ .tid = 1, .name = "one", .state = 'R', .seen_ns = 100 };
	rows[1] = (struct hp_watch_row){ .tid = 2, .name = "two", .state = 'x', .folded = 3 };
	alloc_from = fake_header(fake)->used;
	if (has_alloc)
		build_alloc(fake, process, object, block, outer, inner);
}

static size_t report_of(const struct fake *fake)
{
	static char percentiles[] = "HOTPATH_PERCENTILES=0,50,99.9,100";
	static char sections[] =
		"HOTPATH_REPORT=auto,leaks,alloc-callers,direct-maps,alloc-sizes,alloc-lives";
	static char *const environment[] = { percentiles, sections, NULL };
	struct hp_look look = { .width = 80 };
	struct hp_settings settings;
	struct hp_segment segment;
	struct hp_report report;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	char *copy = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(copy, fake->base, SIZE);
	segment = (struct hp_segment){ .header = (struct hp_header *)copy, .size = SIZE, .fd = -1 };
	hp_settings_read(&settings, environment, NULL, NULL);
	hp_report_init(&report, &segment, &settings, NULL, NULL);
	hp_table_write(&report, &look, out);
	hp_brief_write(&report, &look, out);
	hp_json_write(&report, false, out);
	hp_report_release(&report);
	fclose(out);
	free(text);
	return size;
}

/*
 * `from` 0 = the start of the records of allocations. In make test each byte is changed by one of the three
 * patterns that tests use, in make test-all by all.
 */
static void flip_each(unsigned char with, uint64_t from, uint64_t to)
{
	uint64_t step = getenv("HP_TEST_FULL") ? 1 : 3, first = with % step;
	struct fake fake;

	build(&fake);
	for (uint64_t i = (from ? from : alloc_from) + first;
	     i < to && i < fake_header(&fake)->used; i += step) {
		fake.base[i] ^= (char)with;
		CHECK(report_of(&fake) > 0);
		fake.base[i] ^= (char)with;
	}
	munmap(fake.base, SIZE);
}

/* Header bytes: only those after the checks of hp_segment_map_fd. */
TEST(hostile, header)
{
	flip_each(0xff, 40, sizeof(struct hp_header));
	flip_each(0x40, 40, sizeof(struct hp_header));
}

TEST(hostile, records_all_bits)
{
	flip_each(0xff, HP_PAGE, SIZE);
}

TEST(hostile, records_high_bit)
{
	flip_each(0x80, HP_PAGE, SIZE);
}

TEST(hostile, records_offset_bit)
{
	flip_each(0x40, HP_PAGE, SIZE);
}

/* Every offset may lead to every record. */
TEST(hostile, any_word_any_offset)
{
	struct fake fake;
	uint64_t used;

	build(&fake);
	used = fake_header(&fake)->used;
	srand(7);
	for (int i = 0; i < damages(3000); i++) {
		uint64_t *word = (uint64_t *)(fake.base + HP_PAGE) +
				 (uint64_t)rand() % ((used - HP_PAGE) / 8);
		uint64_t old = *word;

		*word = HP_PAGE + (uint64_t)rand() % ((used - HP_PAGE) / HP_LINE) * HP_LINE;
		CHECK(report_of(&fake) > 0);
		*word = old;
	}
}

TEST(hostile, records_of_allocations)
{
	has_alloc = true;
	flip_each(0xff, 0, SIZE);
	has_alloc = false;
}

TEST(hostile, noise)
{
	struct fake fake;

	has_alloc = true;
	build(&fake);
	has_alloc = false;
	srand(8);
	for (int round = 0; round < damages(500); round++) {
		for (int i = 0; i < 40; i++)
			fake.base[HP_PAGE + rand() % (SIZE - HP_PAGE)] = (char)rand();
		CHECK(report_of(&fake) > 0);
	}
}
