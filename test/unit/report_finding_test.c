/* SPDX-License-Identifier: MIT */
/*
 * report_finding_test.c - names of functions show the kind of work, and others do not; shares have the
 * error of the table; how long a lock is held.
 */
#include <stdlib.h>
#include <string.h>

#include "report/section/cpu/cpu.h"
#include "report/section/finding/lock_group.h"
#include "report/section/finding/rule.h"
#include "report/section/finding/sign.h"
#include "test/test.h"

static bool has(uint32_t signs, enum hp_sign sign)
{
	return signs & HP_SIGN_BIT(sign);
}

TEST(findings, a_search_through_a_container_is_known_by_its_name)
{
	CHECK(has(hp_signs_of_library("std::find"), HP_SIGN_FIND));
	CHECK(has(hp_signs_of_library("std::__find_if"), HP_SIGN_FIND));
	CHECK(has(hp_signs_of_library("lfind"), HP_SIGN_FIND));
	CHECK(!has(hp_signs_of_library("std::map::find"), HP_SIGN_FIND));
	CHECK(!has(hp_signs_of_library("std::count"), HP_SIGN_FIND));
	CHECK(!has(hp_signs_of_library("find"), HP_SIGN_FIND));
	CHECK(!has(hp_signs_of_library("Catalog::find"), HP_SIGN_FIND));
}

TEST(findings, only_containers_in_one_piece_move_their_elements)
{
	CHECK(has(hp_signs_of_library("std::vector\342\200\271Job\342\200\272::erase"),
		  HP_SIGN_MOVE));
	CHECK(has(hp_signs_of_library("std::string::insert"), HP_SIGN_MOVE));
	CHECK(!has(hp_signs_of_library("std::map\342\200\271int\342\200\272::erase"),
		   HP_SIGN_MOVE));
	CHECK(!has(hp_signs_of_library("std::list\342\200\271int\342\200\272::insert"),
		   HP_SIGN_MOVE));
}

TEST(findings, a_constructor_and_a_destructor_are_of_a_value)
{
	CHECK(hp_sign_is_value("Zone::Zone"));
	CHECK(hp_sign_is_value("Zone::~Zone"));
	CHECK(hp_sign_is_value("shop::Zone::Zone"));
	CHECK(hp_sign_is_value("Box\342\200\271int\342\200\272::Box"));
	CHECK(!hp_sign_is_value("Zone::find"));
	CHECK(!hp_sign_is_value("Zone::Zones"));
	CHECK(!hp_sign_is_value("Zones::Zone"));
	CHECK(!hp_sign_is_value("Zone"));
	CHECK(!hp_sign_is_value(""));
}

TEST(findings, sorts_and_keyed_containers_are_known)
{
	CHECK(has(hp_signs_of_library("std::sort"), HP_SIGN_SORT));
	CHECK(has(hp_signs_of_library("qsort_r"), HP_SIGN_SORT));
	CHECK(!has(hp_signs_of_library("sort_rows"), HP_SIGN_SORT));
	CHECK(has(hp_signs_of_library("std::map::operator[]"), HP_SIGN_KEY));
	CHECK(!has(hp_signs_of_library("std::vector::operator[]"), HP_SIGN_KEY));
}

TEST(findings, strings_and_copies_are_known_in_all_variants)
{
	CHECK(has(hp_signs_of_library("__strlen_avx2"), HP_SIGN_LENGTH));
	CHECK(has(hp_signs_of_library("__strcat_sse2_unaligned"), HP_SIGN_LENGTH));
	CHECK(has(hp_signs_of_library("__memmove_avx_unaligned_erms"), HP_SIGN_COPY));
	CHECK(!has(hp_signs_of_library("__memset_avx2_unaligned"), HP_SIGN_COPY));
	CHECK(!has(hp_signs_of_library("strcmp"), HP_SIGN_LENGTH));
	CHECK(has(hp_signs_of_library("__strcmp_avx2"), HP_SIGN_COMPARE));
	CHECK(has(hp_signs_of_library("strdup"), HP_SIGN_BUILD));
}

TEST(findings, the_allocator_is_known)
{
	CHECK(has(hp_signs_of_library("malloc"), HP_SIGN_ALLOC));
	CHECK(has(hp_signs_of_library("_int_free"), HP_SIGN_ALLOC));
	CHECK(!has(hp_signs_of_library("my_malloc_count"), HP_SIGN_ALLOC));
	CHECK(!has(hp_signs_of_library("free_list_walk"), HP_SIGN_ALLOC));
}

TEST(findings, the_kernel_copies_data_or_begins_a_call)
{
	CHECK(has(hp_signs_of_kernel("__x64_sys_read"), HP_SIGN_FILE));
	CHECK(has(hp_signs_of_kernel("ksys_write"), HP_SIGN_FILE));
	CHECK(!has(hp_signs_of_kernel("__x64_sys_recvfrom"), HP_SIGN_FILE));
	CHECK(has(hp_signs_of_kernel("__x64_sys_recvfrom"), HP_SIGN_SOCKET));
	CHECK(has(hp_signs_of_library("__libc_recv"), HP_SIGN_SOCKET));
	CHECK(!has(hp_signs_of_library("send_all"), HP_SIGN_SOCKET));
	CHECK(has(hp_signs_of_kernel("_copy_to_iter"), HP_SIGN_DATA));
	CHECK(has(hp_signs_of_kernel("copy_folio_from_iter_atomic"), HP_SIGN_DATA));
	CHECK(!has(hp_signs_of_kernel("filemap_read"), HP_SIGN_DATA));
	CHECK(has(hp_signs_of_kernel("asm_exc_page_fault"), HP_SIGN_FAULT));
	CHECK(has(hp_signs_of_call("do_syscall_64"), HP_SIGN_CALL));
	CHECK(!has(hp_signs_of_call("_copy_to_iter"), HP_SIGN_CALL));
}

/* --- the error of a share --- */

static struct hp_survey sampled(double samples, double missed)
{
	return (struct hp_survey){ .cpu_ns = 1e9, .effective = samples, .missed = missed };
}

static bool is_held(const struct hp_lock_group *group, const char *expected)
{
	const struct hp_survey survey = { .wall_ns = 200e6 };
	char *text = hp_lock_group_held(&survey, group);
	bool is_it = strcmp(text, expected) == 0;

	free(text);
	return is_it;
}

TEST(findings, a_lock_is_held_for_at_most_the_whole_time)
{
	struct hp_lock_group one = { .locks = 1, .hold_ns = 50e6 };
	struct hp_lock_group two = { .locks = 2, .hold_ns = 210e6, .is_hold_estimated = true };
	struct hp_lock_group readers = { .locks = 1, .hold_ns = 300e6, .is_rwlock = true };

	CHECK(is_held(&one, "held for 25% of the time"));
	one.is_hold_estimated = true;
	CHECK(is_held(&one, "held for ~25% of the time"));
	one.hold_ns = 210e6;
	CHECK(is_held(&one, "held for ~100% of the time"));
	CHECK(is_held(&two, "held for ~210.00 ms in all"));
	CHECK(is_held(&readers, "held for 300.00 ms in all"));
}

TEST(findings, a_threshold_holds_with_the_error_of_the_samples)
{
	struct hp_survey many = sampled(10000, 0), few = sampled(50, 0);

	CHECK(hp_survey_is_part(&many, 1.2e8, 0.1));
	CHECK(!hp_survey_is_part(&few, 1.2e8, 0.1));
	CHECK(hp_survey_is_part(&few, 2.5e8, 0.1));
	CHECK(!hp_survey_is_part(&many, 1e8, 0.1));
}

/* 73 % of the samples were 63 % of the CPU time: see section/cpu/share.c. */
TEST(findings, a_share_has_the_error_of_the_table)
{
	struct hp_survey half = sampled(1000, 0.46), all = sampled(1000, 0.004);
	double error = hp_cpu_share_error(0.73, 1000, 0.46);
	struct hp_text_cell cell;

	CHECK_EQ((uint64_t)hp_survey_error(&half, 7.3e8), (uint64_t)(error * 1e9));
	CHECK(!hp_survey_is_part(&half, 7.3e8, 0.4));
	CHECK(hp_survey_is_part(&half, 7.3e8, 0.35));
	CHECK(hp_survey_is_part(&all, 7.3e8, 0.7));
	CHECK_STR(hp_survey_share(&half, 7.3e8, &cell), "73%, accurate to 36 points");
	CHECK_STR(hp_survey_share(&all, 7.3e8, &cell), "73%");
	CHECK_STR(hp_survey_accuracy(&all, 7.3e8, &cell), "");
}

TEST(findings, without_samples_no_share_is_known)
{
	struct hp_survey none = sampled(0, 0);
	struct hp_text_cell cell;

	CHECK(hp_survey_error(&none, 1e8) <= 0);
	CHECK_STR(hp_survey_share(&none, 1e8, &cell), "0%");
}
