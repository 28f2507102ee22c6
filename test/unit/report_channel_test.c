/* SPDX-License-Identifier: MIT */
/*
 * report_channel_test.c - reading channels of a segment: sums, queues, unrecorded sides; and no
 * byte of it may crash or hang the report.
 */
#include "test/test.h"

#include <stdio.h>

#include "report/section/channel/section.h"
#include "report/view/view.h"
#include "test/unit/fake_segment.h"
#include "report/section/sections.h"

#define SIZE 131072

static struct hp_channel *channel_of(struct fake *fake, struct hp_lockset *set,
				     const struct hp_module *module, uint64_t address)
{
	struct hp_channel *channel = fake_take(fake, sizeof(*channel));

	channel->kind = HP_CHANNEL_PIPE;
	channel->site_module = fake_at(fake, module);
	channel->site_address = address;
	channel->instances = 1;
	channel->next = set->channels;
	set->channels = fake_at(fake, channel);
	return channel;
}

static struct hp_lane *lane_of(struct fake *fake, struct hp_channel *channel)
{
	struct hp_lane *lane = fake_take(fake, sizeof(*lane));

	lane->state = HP_LANE_TAKEN;
	lane->channel = fake_at(fake, channel);
	lane->capacity = 4096;
	lane->first_ticks = FAKE_START;
	lane->next = channel->lanes;
	channel->lanes = fake_at(fake, lane);
	return lane;
}

static void timed(struct fake *fake, struct hp_lane *lane)
{
	struct hp_lane_log *log = fake_take(fake, sizeof(*log));

	lane->probes = (uint32_t)(fake_at(fake, log) / HP_LINE);
	lane->delays = fake_times(fake, 500, 10);
	lane->timed = 10;
	lane->delay_ticks = 5000;
	lane->delay_most = 500;
	for (uint64_t i = 0; i < HP_MESSAGES; i++)
		log->sent[i] = (struct hp_message){ FAKE_START + i + 1, 500, i + 1, 16, 7 };
}

static void texts(struct fake *fake, struct hp_lane *lane)
{
	struct hp_lane_texts *record = fake_take(fake, sizeof(*record) + HP_MESSAGES * 32);
	struct hp_lane_text *text = (struct hp_lane_text *)((char *)(record + 1) + 63 * 32);

	lane->texts = (uint32_t)(fake_at(fake, record) / HP_LINE);
	record->room = 16;
	text->number = 64;
	text->length = 5;
	memcpy(text + 1, "hello", 5);
}

/* One place created two pipes; another a pipe with only one visible end. */
static void build(struct fake *fake)
{
	struct hp_object *object;
	struct hp_process *process;
	struct hp_module *module;
	struct hp_lockset *set;
	struct hp_channel *channel;
	struct hp_lane *lane;

	fake_init(fake, SIZE);
	object = fake_object(fake, "/nowhere/fake");
	process = fake_process(fake, FAKE_PID, object);
	module = fake_module(fake, process, object);
	set = fake_take(fake, sizeof(*set));
	process->lockset = fake_at(fake, set);
	channel = channel_of(fake, set, module, 0x100);
	channel->instances = 2;
	lane = lane_of(fake, channel);
	lane->sends = (struct hp_lane_side){
		.units = 600, .others = 30, .more_units = 400, .more_others = 20
	};
	lane->receives = (struct hp_lane_side){ .units = 900, .others = 9 };
	lane->abandoned = 20;
	lane->most = 300;
	lane->blocked.ticks = 1000;
	timed(fake, lane);
	texts(fake, lane);
	lane = lane_of(fake, channel);
	lane->sends = (struct hp_lane_side){ .units = 50, .others = 5 };
	lane->receives = (struct hp_lane_side){ .units = 50, .others = 1 };
	lane->most = 50;
	channel = channel_of(fake, set, module, 0x200);
	lane = lane_of(fake, channel);
	lane->shared = 1;
	lane->sends = (struct hp_lane_side){ .units = 9000, .others = 3 };
	channel->label = fake_text(fake, "half");
}

static char *table_of(const struct fake *fake)
{
	char sections[] = "HOTPATH_REPORT=channels";
	char *const environment[] = { sections, NULL };
	struct hp_look look = { .width = 120 };
	struct hp_settings settings;
	struct hp_segment segment = HP_SEGMENT_NONE;
	struct hp_report report;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	char *copy = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(copy, fake->base, SIZE);
	segment.header = (struct hp_header *)copy;
	segment.size = SIZE;
	hp_settings_read(&settings, environment, NULL, NULL);
	hp_report_init(&report, &segment, &settings, NULL, NULL);
	hp_table_write(&report, &look, out);
	hp_json_write(&report, false, out);
	hp_report_release(&report);
	fclose(out);
	return text;
}

TEST(channels, sums_of_threads_and_of_pipes)
{
	struct hp_segment segment;
	struct hp_channels channels;
	struct hp_model model;
	struct fake fake;

	build(&fake);
	fake_header(&fake)->logs_limit = 4096;
	segment = fake_segment(&fake);
	hp_model_init(&model, &segment);
	hp_channels_init(&channels, &model);
	CHECK_EQ(channels.count, 2);
	for (size_t i = 0; i < channels.count; i++) {
		const struct hp_channel_row *row = &channels.rows[i];

		if (row->site.address != 0x100)
			continue;
		CHECK_EQ(row->instances, 2);
		CHECK_EQ(row->sent_count, 55);
		CHECK_EQ(row->sent_bytes, 1050);
		CHECK_EQ(row->received_count, 10);
		CHECK_EQ(row->received_bytes, 950);
		CHECK_EQ(row->queue, 80);
		CHECK_EQ(row->most, 300);
		CHECK_EQ(row->sent_shown, HP_CHANNEL_LAST);
		/* Its numbers are in the order of time, and none is above the count. */
		CHECK_EQ(row->sent[0].record.number, row->sent_count);
		for (size_t n = 1; n < row->sent_shown; n++)
			CHECK(row->sent[n].record.number < row->sent[n - 1].record.number);
		CHECK(strcmp(row->sent[0].text, "hello...") == 0);
		CHECK_NEAR(hp_lock_hold_percentile(&row->delay, 50), 500, 5);
	}
	hp_channels_release(&channels);
	hp_model_release(&model);
}

TEST(channels, unknown_counts_are_not_shown_as_zero)
{
	char type[16] = "", sent[16] = "", received[16] = "";
	struct fake fake;
	char *text, *row;

	build(&fake);
	text = table_of(&fake);
	row = strstr(text, "\nhalf ");
	CHECK(row && sscanf(row, " half %15s %15s %15s", type, sent, received) == 3);
	/* Three were sent, more than there is room for, and nobody here received any. */
	CHECK(strcmp(type, "pipe") == 0 && strcmp(sent, "3") == 0 && strcmp(received, "-") == 0);
	CHECK(strstr(text, "\"label\":\"half\""));
	/* In `raw`; in `data`, whose rows come before, the lower bound. */
	row = strstr(text, "\"raw\":");
	row = row ? strstr(row, "\"label\":\"half\"") : NULL;
	CHECK(row && strstr(row, "\"queue_size\":null,\"max_queue_size\":null"));
	CHECK(strstr(text, "\"queue_size\":0,\"max_queue_size\":0"));
	free(text);
}

TEST(channels, no_byte_crashes_or_hangs_the_report)
{
	uint64_t random = 1, first, end;
	struct fake fake;

	build(&fake);
	first = fake_at(&fake, fake.base + HP_PAGE);
	end = fake_header(&fake)->used;
	for (int i = 0; i < 3000; i++) {
		uint64_t at;
		char value;

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		at = first + (random >> 33) % (end - first);
		value = fake.base[at];
		fake.base[at] = (char)(random >> 20);
		free(table_of(&fake));
		/* One in four stays. */
		if (i & 3)
			fake.base[at] = value;
		if (i % 40 == 39)
			build(&fake);
	}
	CHECK(end > first);
}
