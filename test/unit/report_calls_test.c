/* SPDX-License-Identifier: MIT */
/*
 * report_calls_test.c - callers, callees, tree and collapsed stacks of a tree
 * that is small enough to be added up by hand:
 *
 *   a 1 call, 100 own    b 2, 10    c 6, 600
 *                        d 1, 5     c 3, 150    b 3, 30
 *   e 1 call, 1 own      c 1, 40
 */
#include "test/test.h"

#include <stdio.h>

#include "report/section/timing/calls.h"
#include "report/section/sections.h"
#include "report/view/view.h"
#include "test/unit/fake_segment.h"

#define TICKS 1000	/* of one unit above: 2 µs */
#define UNIT_NS (TICKS * FAKE_NS_PER_TICK)

static char told[512];

static void listen(void *context, const char *line)
{
	(void)context;
	snprintf(told, sizeof(told), "%s", line);
}

static struct hp_row *row(struct fake *fake, struct hp_block *block, struct hp_row *parent,
			  struct hp_function *f, uint64_t calls, uint64_t own)
{
	struct hp_row *made = fake_row(fake, block, parent, f);

	made->calls = made->timed = calls;
	made->self_timed = (int64_t)(own * TICKS) << HP_FINE_BITS;
	for (struct hp_row *at = made; at->function;
	     at = (struct hp_row *)(fake->base + (uint64_t)at->parent * HP_LINE))
		at->outer_timed += (int64_t)(own * TICKS);
	return made;
}

/* Functions are called fake+0xa, fake+0xb and so on. */
static void init(struct hp_report *report, struct hp_settings *settings)
{
	static char *const environment[] = { NULL };
	struct fake fake;

	fake_init(&fake, 1 << 20);
	struct hp_object *object = fake_object(&fake, "/nowhere/fake");
	struct hp_process *process = fake_process(&fake, FAKE_PID, object);
	struct hp_module *module = fake_module(&fake, process, object);
	struct hp_block *block = fake_block(&fake, process);
	struct hp_function *f[5];

	for (int i = 0; i < 5; i++)
		f[i] = fake_function(&fake, block, module, 0xa + (uint64_t)i);
	struct hp_row *a = row(&fake, block, NULL, f[0], 1, 100);
	struct hp_row *b = row(&fake, block, a, f[1], 2, 10);
	row(&fake, block, b, f[2], 6, 600);
	struct hp_row *d = row(&fake, block, a, f[3], 1, 5);
	struct hp_row *c = row(&fake, block, d, f[2], 3, 150);
	row(&fake, block, c, f[1], 3, 30);
	row(&fake, block, row(&fake, block, NULL, f[4], 1, 1), f[2], 1, 40);

	struct hp_segment segment = fake_segment(&fake);
	hp_settings_read(settings, environment, NULL, NULL);
	told[0] = 0;
	hp_report_init(report, &segment, settings, listen, NULL);
}

/* "name depth calls total self" of each row, in units; ends in a blank. */
static void rows_text(struct hp_report *report, char *text, size_t room)
{
	const struct hp_section *section = report->answer;
	struct hp_list list;
	size_t used = 0;

	section->fill(report, &list);
	text[0] = 0;
	for (size_t i = 0; i < list.shown; i++) {
		const struct hp_calls_row *r = list.rows[i];
		const char *name =
			r->function == HP_NONE
				? "-"
				: hp_report_name(report, &report->model.functions[r->function]) + 7;

		used += (size_t)snprintf(text + used, room - used, "%s%u %.0f %.0f %.0f\n", name,
					 r->depth, r->calls, r->total_ns / UNIT_NS,
					 r->self_ns / UNIT_NS);
	}
	free(list.rows);
}

static void ask(enum hp_calls_kind kind, const char *name, double least, uint64_t limit,
		const char *want)
{
	struct hp_settings settings;
	struct hp_report report;
	char text[2048];

	init(&report, &settings);
	settings.limit = limit;
	CHECK(hp_calls_init(&report, kind, name, least, listen, NULL));
	rows_text(&report, text, sizeof(text));
	CHECK_STR(text, want);
	hp_report_release(&report);
}

TEST(calls, callers_from_every_path)
{
	ask(HP_CALLS_CALLERS, "fake+0xc", 0, HP_LIMIT_UNSET,
	    "c0 10 820 790\n"
	    "b1 6 600 600\n"
	    "a2 6 600 600\n"
	    "-3 6 600 600\n"
	    "d1 3 180 150\n"
	    "a2 3 180 150\n"
	    "-3 3 180 150\n"
	    "e1 1 40 40\n"
	    "-2 1 40 40\n");
}

TEST(calls, callees_of_every_path)
{
	ask(HP_CALLS_CALLEES, "fake+0xa", 0, HP_LIMIT_UNSET,
	    "a0 1 895 100\n"
	    "b1 2 610 10\n"
	    "c2 6 600 600\n"
	    "d1 1 185 5\n"
	    "c2 3 180 150\n"
	    "b3 3 30 30\n");
}

TEST(calls, what_takes_less_is_left_out)
{
	ask(HP_CALLS_CALLERS, "fake+0xc", 10, HP_LIMIT_UNSET,
	    "c0 10 820 790\n"
	    "b1 6 600 600\n"
	    "a2 6 600 600\n"
	    "-3 6 600 600\n"
	    "d1 3 180 150\n"
	    "a2 3 180 150\n"
	    "-3 3 180 150\n");
}

/* The heaviest rows, and never one without its parent. */
TEST(calls, fewer_rows)
{
	ask(HP_CALLS_CALLEES, "fake+0xa", 0, 3,
	    "a0 1 895 100\n"
	    "b1 2 610 10\n"
	    "c2 6 600 600\n");
	ask(HP_CALLS_CALLEES, "fake+0xa", 0, 4,
	    "a0 1 895 100\n"
	    "b1 2 610 10\n"
	    "c2 6 600 600\n"
	    "d1 1 185 5\n");
}

TEST(calls, the_tree)
{
	ask(HP_CALLS_TREE, NULL, 0, HP_LIMIT_UNSET,
	    "a0 1 895 100\n"
	    "b1 2 610 10\n"
	    "c2 6 600 600\n"
	    "d1 1 185 5\n"
	    "c2 3 180 150\n"
	    "b3 3 30 30\n"
	    "e0 1 41 1\n"
	    "c1 1 40 40\n");
}

TEST(calls, a_part_of_a_name_means_the_heaviest)
{
	struct hp_settings settings;
	struct hp_report report;

	init(&report, &settings);
	CHECK(hp_calls_init(&report, HP_CALLS_CALLERS, "fake", 0, listen, NULL));
	CHECK_STR(hp_report_name(&report, &report.model.functions[hp_calls_of(&report)->function]),
		  "fake+0xa");
	CHECK(strstr(told, "4 other functions fit: ") != NULL);
	hp_report_release(&report);
}

TEST(calls, no_such_function)
{
	struct hp_settings settings;
	struct hp_report report;

	init(&report, &settings);
	CHECK(!hp_calls_init(&report, HP_CALLS_CALLEES, "nonesuch", 0, listen, NULL));
	CHECK(strstr(told, "'nonesuch'") != NULL);
	hp_report_release(&report);
}

static char *folded(const char *focus)
{
	struct hp_settings settings;
	struct hp_report report;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	init(&report, &settings);
	if (focus)
		hp_focus_init(&report.focus, focus, NULL, NULL);
	hp_folded_write(&report, out);
	fclose(out);
	hp_report_release(&report);
	return text;
}

TEST(calls, collapsed_stacks)
{
	char *text = folded(NULL);

	CHECK_STR(text, "fake+0xa 200000\n"
			"fake+0xa;fake+0xb 20000\n"
			"fake+0xa;fake+0xb;fake+0xc 1200000\n"
			"fake+0xa;fake+0xd 10000\n"
			"fake+0xa;fake+0xd;fake+0xc 300000\n"
			"fake+0xa;fake+0xd;fake+0xc;fake+0xb 60000\n"
			"fake+0xe 2000\n"
			"fake+0xe;fake+0xc 80000\n");
	free(text);
}

TEST(calls, collapsed_stacks_in_focus)
{
	char *text = folded("0xd");

	CHECK_STR(text, "fake+0xa;fake+0xd 10000\n"
			"fake+0xa;fake+0xd;fake+0xc 300000\n"
			"fake+0xa;fake+0xd;fake+0xc;fake+0xb 60000\n");
	free(text);
}
