/* SPDX-License-Identifier: MIT */
/* report_brief_fit_test.c - narrow terminals lose ends of lists and scopes, but no figures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/view/brief_part.h"
#include "test/test.h"

typedef char *fit_fn(const char *text, size_t width);

static bool fits_as(fit_fn *fit, const char *text, size_t width, const char *expected)
{
	char *fitted = fit(text, width);
	bool is_same = strcmp(fitted, expected) == 0;

	if (!is_same)
		printf("# %s\n", fitted);
	free(fitted);
	return is_same;
}

TEST(brief_fit, a_remark_keeps_each_figure_that_it_begins)
{
	const char *text = "a.cc:30  std::map::operator[] 86%, kernel:futex 4.3%";

	CHECK(fits_as(hp_part_remark_fit, text, 52, text));
	CHECK(fits_as(hp_part_remark_fit, text, 40,
		      "a.cc:30  std::map::operator[] 86%, \342\200\246"));
	CHECK(fits_as(hp_part_remark_fit, text, 28,
		      "a.cc:30  \342\200\246operator[] 86%, \342\200\246"));
	CHECK(fits_as(hp_part_remark_fit, text, 20, "a.cc:30, \342\200\246"));
}

TEST(brief_fit, the_last_figure_needs_no_room_for_more)
{
	CHECK(fits_as(hp_part_remark_fit, "to_string 4.5%, std::operator+ 3.7%", 32,
		      "to_string 4.5%, \342\200\246operator+ 3.7%"));
}

TEST(brief_fit, a_lock_loses_its_owners_and_then_the_holder_its_place)
{
	CHECK(fits_as(hp_part_remark_fit, "mutex gate, held by hold (a.c:12)", 26,
		      "mutex gate, held by hold"));
	CHECK(fits_as(hp_part_remark_fit, "mutex gate, held by hold (a.c:12)", 20,
		      "mutex gate, \342\200\246"));
	CHECK(fits_as(hp_part_remark_fit, "condition _PyRuntime.ceval.gil.cond", 28,
		      "condition \342\200\246ceval.gil.cond"));
}

TEST(brief_fit, a_path_ends_after_a_whole_function)
{
	const char *path =
		"add a.cc:3 (std::vector::push_back) \342\206\220 work \342\206\220 main";

	CHECK(fits_as(hp_part_path_fit, path, 60, path));
	CHECK(fits_as(hp_part_path_fit, path, 44,
		      "add a.cc:3 (std::vector::push_back) \342\206\220 \342\200\246"));
	CHECK(fits_as(hp_part_path_fit, path, 30,
		      "add a.cc:3 (\342\200\246push_back) \342\206\220 \342\200\246"));
	CHECK(fits_as(hp_part_path_fit, path, 18, "add a.cc:3 \342\206\220 \342\200\246"));
}

TEST(brief_fit, nothing_is_wider_than_its_room)
{
	const char *texts[] = {
		"a.cc:30  std::map::operator[] 86%, kernel:futex 4.3%",
		"add a.cc:3 (std::vector::push_back) \342\206\220 work \342\206\220 main",
		"mutex a.b.c, held by hold (a.c:12)", "averylongnamewithoutanyparts"
	};
	fit_fn *fits[] = { hp_part_text_fit, hp_part_remark_fit, hp_part_path_fit };

	for (size_t i = 0; i < 4; i++)
		for (size_t k = 0; k < 3; k++)
			for (size_t width = 8; width < 60; width++) {
				char *fitted = fits[k](texts[i], width);

				CHECK(hp_text_width(fitted) <= width);
				free(fitted);
			}
}
