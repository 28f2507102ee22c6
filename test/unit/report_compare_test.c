/* SPDX-License-Identifier: MIT */
/*
 * report_compare_test.c - the rank-sum test against known chances, and the rule that
 * decides which differences between runs are reported.
 */
#include "test/test.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "report/compare/judge.h"
#include "report/compare/policy.h"
#include "report/compare/rank.h"

/* Values with `inversions` pairs in which a's is larger: a = 1..n shifted into b. */
static double chance_of(size_t count, size_t inversions)
{
	double a[32], b[32];

	for (size_t i = 0; i < count; i++) {
		a[i] = (double)i / 100;
		b[i] = 1 + (double)i;
	}
	/* The largest of a exceeds as many of b as it can, then the next one does. */
	for (size_t i = count; i-- > 0 && inversions;) {
		size_t over = inversions < count ? inversions : count;

		a[i] = (double)over + 0.5 + (double)i / 100;
		inversions -= over;
	}
	return hp_rank_chance(a, count, b, count);
}

/* From enumerating all choices; the same as R's wilcox.test(exact = TRUE). */
TEST(rank, chances_are_those_of_tables)
{
	CHECK_NEAR(chance_of(3, 0), 0.1, 1e-9);
	CHECK_NEAR(chance_of(5, 0), 0.007936508, 1e-9);
	CHECK_NEAR(chance_of(5, 2), 0.031746032, 1e-9);
	CHECK_NEAR(chance_of(5, 3), 0.055555556, 1e-9);
	CHECK_NEAR(chance_of(7, 8), 0.037878788, 1e-9);
	CHECK_NEAR(chance_of(10, 0), 1.0825088e-5, 1e-12);
	CHECK_NEAR(chance_of(10, 16), 0.008930698, 1e-9);
	CHECK_NEAR(chance_of(10, 23), 0.043257053, 1e-9);
	CHECK_NEAR(chance_of(20, 127), 0.049090, 1e-6);
}

TEST(rank, sides_may_have_different_sizes)
{
	static const double a[] = { 1, 2, 3 }, b[] = { 4, 5, 6, 7, 8, 9, 10 };

	CHECK_NEAR(hp_rank_chance(a, 3, b, 7), 2.0 / 120, 1e-12);
	CHECK_NEAR(hp_rank_chance(b, 7, a, 3), 2.0 / 120, 1e-12);
	CHECK_NEAR(hp_rank_least(3, 7), 2.0 / 120, 1e-12);
	CHECK_NEAR(hp_rank_least(5, 5), 2.0 / 252, 1e-12);
	CHECK_NEAR(hp_rank_chance(a, 3, b, 0), 1, 0);
}

TEST(rank, equal_values_share_their_ranks)
{
	static const double same[] = { 5, 5, 5, 5, 5 };
	static const double a[] = { 1, 1, 2 }, b[] = { 2, 3, 3 };

	CHECK_NEAR(hp_rank_chance(same, 5, same, 5), 1, 1e-12);
	/* Of the 20 choices of 3 of the ranks 1.5 1.5 3.5 3.5 5.5 5.5, 2 have a sum of at most 6.5. */
	CHECK_NEAR(hp_rank_chance(a, 3, b, 3), 0.2, 1e-12);
}

TEST(rank, many_values_are_approximated)
{
	double a[60], b[60];

	for (int i = 0; i < 60; i++) {
		a[i] = i;
		b[i] = i + 12.25;
	}
	/* 1128 pairs of 3600 have the larger value in a: z = (672 - 0.5) / sqrt(60 * 60 * 121 / 12). */
	CHECK_NEAR(hp_rank_chance(a, 60, b, 60), erfc(671.5 / sqrt(36300) / sqrt(2)), 1e-6);
	CHECK_NEAR(hp_rank_chance(a, 60, a, 60), 1, 1e-9);
}

TEST(rank, medians)
{
	double odd[] = { 3, 1, 2 }, even[] = { 4, 1, 3, 2 };

	CHECK_NEAR(hp_rank_median(odd, 3), 2, 0);
	CHECK_NEAR(hp_rank_median(even, 4), 2.5, 0);
	CHECK_NEAR(hp_rank_median(even, 0), 0, 0);
}

/* --- the rule, on made-up reports --- */

#define RUNS_MAX 20

/* One run of a made-up program: its figure for `work`. */
struct made {
	double calls, blocks, self_ns, sampled_ns, cpu_ns, ready, threads, started;
	double covered;	/* the share of cpu_ns that was sampled */
};

static const struct made usual = { 1000, 50, 100e6, 100e6, 200e6, 0, 1, 0, 1 };

static cJSON *report_of(const struct made *made)
{
	char text[2048], *at = text;
	char *end = text + sizeof(text);
	cJSON *json;

	at += snprintf(at, (size_t)(end - at),
		       "{\"summary\":{\"wall_ns\":%.0f,\"cpu_ns\":%.0f,\"peak_rss_bytes\":1000},"
		       "\"functions_timing\":{\"caller_name\":\"prog::main\",\"raw\":["
		       "{\"name\":\"prog::main\",\"calls\":1,\"self_ns\":5},"
		       "{\"name\":\"work\",\"calls\":%.0f,\"self_ns\":%.0f},"
		       "{\"name\":\"tiny\",\"calls\":7,\"self_ns\":9}]},",
		       made->cpu_ns, made->cpu_ns, made->calls, made->self_ns);
	at += snprintf(at, (size_t)(end - at),
		       "\"functions_cpu\":{\"total_samples\":%.0f,\"profiler_ns\":%.0f,"
		       "\"raw\":[{\"name\":\"work\",\"self_ns\":%.0f}]},"
		       "\"functions_alloc\":{\"raw\":[{\"name\":\"work\",\"count\":%.0f,"
		       "\"total_bytes\":%.0f}]},",
		       made->covered * made->cpu_ns * 0.9 / 1e3, made->covered * made->cpu_ns * 0.1,
		       made->covered * made->sampled_ns, made->blocks, made->blocks * 10);
	snprintf(at, (size_t)(end - at),
		 "\"threads\":{\"thread_count\":%.0f,\"raw\":[{\"cpu_ns\":%.0f,\"wait_ns\":%.0f}]},"
		 "\"meta\":{\"created_unix_ns\":%.0f}}",
		 made->threads, made->cpu_ns, made->ready * made->cpu_ns / (1 - made->ready),
		 made->started * 1e9);
	json = cJSON_Parse(text);
	CHECK(json != NULL);
	return json;
}

static struct hp_compare compare;

/* A has made[0], made[2], ...: alternating, a second between two runs. */
static void compare_made(struct made *made, size_t runs)
{
	hp_compare_init(&compare, "a", runs, "b", runs);
	for (size_t i = 0; i < 2 * runs; i++) {
		cJSON *json;

		made[i].started = (double)i;
		json = report_of(&made[i]);
		hp_compare_add(&compare, i / 2 + (i % 2 ? runs : 0), json);
		cJSON_Delete(json);
	}
	hp_compare_judge(&compare);
}

/* Runs that differ by a few percent, as usual; the same for both sides. */
static void made_fill(struct made made[2 * RUNS_MAX], size_t runs)
{
	for (size_t i = 0; i < 2 * runs; i++) {
		double noise = 1 + 0.03 * (double)((i / 2 * 7 + i % 2 * 3) % 10) / 10;

		made[i] = usual;
		made[i].self_ns *= noise;
		made[i].sampled_ns *= noise;
		made[i].cpu_ns *= noise;
	}
}

static const struct hp_compare_row *row_of(const char *metric, const char *name)
{
	for (size_t i = 0; i < compare.row_count; i++)
		if (strcmp(compare.rows[i].measure->metric, metric) == 0 &&
		    strcmp(compare.rows[i].name, name) == 0)
			return &compare.rows[i];
	CHECK(!"the row is there");
	return NULL;
}

static enum hp_compare_verdict verdict_of(const char *metric, const char *name)
{
	return row_of(metric, name)->verdict;
}

static size_t changes(void)
{
	size_t count = 0;

	for (size_t i = 0; i < compare.row_count; i++)
		count += hp_compare_is_change(&compare.rows[i]);
	return count;
}

TEST(judge, one_run_judges_counts_but_not_times)
{
	struct made made[2] = { usual, usual };

	made[1].blocks++;
	made[1].self_ns *= 3;
	compare_made(made, 1);
	CHECK_EQ(verdict_of("blocks", "work"), HP_COMPARE_MORE);
	CHECK_EQ(verdict_of("bytes", "work"), HP_COMPARE_MORE);
	CHECK_EQ(verdict_of("calls", "work"), HP_COMPARE_SAME);
	CHECK_EQ(verdict_of("own time", "work"), HP_COMPARE_UNJUDGED);
	CHECK_EQ(verdict_of("wall", ""), HP_COMPARE_UNJUDGED);
	CHECK(compare.refused != NULL);
	CHECK_EQ(changes(), 2);
	hp_compare_release(&compare);
}

TEST(judge, the_programs_name_is_main)
{
	struct made made[2] = { usual, usual };

	compare_made(made, 1);
	CHECK_EQ(verdict_of("calls", "main"), HP_COMPARE_SAME);
	CHECK_EQ(changes(), 0);
	hp_compare_release(&compare);
}

TEST(judge, one_run_of_threads_is_unsure_of_small_differences)
{
	struct made made[2] = { usual, usual };

	made[0].threads = made[1].threads = 4;
	made[1].calls += 3;
	made[1].blocks *= 3;
	compare_made(made, 1);
	CHECK_EQ(verdict_of("calls", "work"), HP_COMPARE_UNSURE);
	CHECK_EQ(verdict_of("blocks", "work"), HP_COMPARE_MORE);
	hp_compare_release(&compare);
}

TEST(judge, counts_that_vary_need_ranges_apart)
{
	struct made made[6];

	for (size_t i = 0; i < 6; i++) {
		made[i] = usual;
		made[i].calls += (double)(i / 2);	/* 1000 to 1002 on both sides */
		made[i].blocks += (double)(i / 2) + (i % 2 ? 50 : 0);
	}
	compare_made(made, 3);
	CHECK(row_of("calls", "work")->is_varying);
	CHECK_EQ(verdict_of("calls", "work"), HP_COMPARE_SAME);
	CHECK_EQ(verdict_of("blocks", "work"), HP_COMPARE_MORE);
	hp_compare_release(&compare);
	for (size_t i = 0; i < 6; i++)
		made[i].blocks = 50 + (double)(i / 2) + (i % 2 ? 3 : 0);	/* 50 to 52, 53 to 55 */
	compare_made(made, 3);
	CHECK_EQ(verdict_of("blocks", "work"), HP_COMPARE_UNSURE);
	hp_compare_release(&compare);
	compare_made(made, 2);
	CHECK_EQ(verdict_of("blocks", "work"), HP_COMPARE_UNSURE);
	hp_compare_release(&compare);
}

TEST(judge, ten_runs_find_a_tenth)
{
	struct made made[2 * RUNS_MAX];

	made_fill(made, 10);
	compare_made(made, 10);
	CHECK_EQ(changes(), 0);
	CHECK_STR(compare.refused, NULL);
	CHECK_EQ(compare.judged, 1);	/* main and tiny are too small; work's samples only confirm */
	CHECK_EQ(verdict_of("own time", "main"), HP_COMPARE_UNJUDGED);
	CHECK(row_of("own time", "work")->unseen < 0.05);
	hp_compare_release(&compare);
	for (size_t i = 1; i < 20; i += 2)
		made[i].self_ns *= 1.1;
	compare_made(made, 10);
	CHECK_EQ(verdict_of("own time", "work"), HP_COMPARE_MORE);
	CHECK_EQ(verdict_of("CPU samples", "work"), HP_COMPARE_SAME);
	CHECK_EQ(changes(), 1);
	hp_compare_release(&compare);
}

/* A function is judged once, by its own time, unless it waits for most of that. */
TEST(judge, samples_confirm_own_times)
{
	struct made made[2 * RUNS_MAX];

	made_fill(made, 10);
	for (size_t i = 1; i < 20; i += 2)
		made[i].sampled_ns *= 1.1;
	compare_made(made, 10);
	CHECK_EQ(changes(), 0);
	hp_compare_release(&compare);
	for (size_t i = 1; i < 20; i += 2)
		made[i].self_ns *= 1.1;
	compare_made(made, 10);
	CHECK_EQ(verdict_of("own time", "work"), HP_COMPARE_MORE);
	CHECK_EQ(verdict_of("CPU samples", "work"), HP_COMPARE_MORE);
	hp_compare_release(&compare);
	for (size_t i = 0; i < 20; i++)
		made[i].self_ns = usual.self_ns * 2 + (double)i;
	compare_made(made, 10);
	CHECK_EQ(compare.judged, 2);
	CHECK_EQ(verdict_of("own time", "work"), HP_COMPARE_SAME);
	CHECK_EQ(verdict_of("CPU samples", "work"), HP_COMPARE_MORE);
	hp_compare_release(&compare);
}

/* How much of a run was sampled says nothing about the program. */
TEST(judge, samples_are_scaled_to_cpu_time)
{
	struct made made[2 * RUNS_MAX];

	made_fill(made, 10);
	for (size_t i = 0; i < 20; i++) {
		made[i].self_ns = 0;	/* not instrumented */
		made[i].covered = 0.5 + 0.025 * (double)(i * 7 % 20);
		if (i % 2)
			made[i].covered *= 0.8;
	}
	compare_made(made, 10);
	CHECK_EQ(changes(), 0);
	CHECK_NEAR(row_of("CPU samples", "work")->a, 101.5e6, 1.5e6);
	hp_compare_release(&compare);
	for (size_t i = 1; i < 20; i += 2)
		made[i].sampled_ns *= 1.1;
	compare_made(made, 10);
	CHECK_EQ(verdict_of("CPU samples", "work"), HP_COMPARE_MORE);
	CHECK_EQ(changes(), 1);
	hp_compare_release(&compare);
}

TEST(judge, below_two_percent_is_no_change)
{
	struct made made[2 * RUNS_MAX];

	for (size_t i = 0; i < 20; i++) {
		made[i] = usual;
		made[i].self_ns += (double)i + (i % 2 ? 1e6 : 0);
	}
	compare_made(made, 10);
	CHECK(row_of("own time", "work")->chance < 0.001);
	CHECK_EQ(verdict_of("own time", "work"), HP_COMPARE_SAME);
	hp_compare_release(&compare);
}

TEST(judge, times_are_refused_without_a_core)
{
	struct made made[2 * RUNS_MAX];

	made_fill(made, 10);
	for (size_t i = 1; i < 20; i += 2) {
		made[i].self_ns *= 2;
		made[i].ready = 0.3;
		made[i].calls++;
	}
	compare_made(made, 10);
	CHECK(strstr(compare.refused, "30%") != NULL);
	CHECK_EQ(verdict_of("own time", "work"), HP_COMPARE_UNJUDGED);
	CHECK_EQ(verdict_of("calls", "work"), HP_COMPARE_MORE);
	hp_compare_release(&compare);
}

TEST(judge, times_are_refused_if_not_in_turns)
{
	struct made made[2 * RUNS_MAX];

	made_fill(made, 10);
	hp_compare_init(&compare, "a", 10, "b", 10);
	for (size_t i = 0; i < 20; i++) {
		cJSON *json;

		made[i].started = (double)i;
		json = report_of(&made[i]);
		hp_compare_add(&compare, i, json);
		cJSON_Delete(json);
	}
	hp_compare_judge(&compare);
	CHECK(strstr(compare.refused, "older") != NULL);
	hp_compare_release(&compare);
}

TEST(judge, five_runs_are_weak)
{
	struct made made[2 * RUNS_MAX];

	made_fill(made, 5);
	for (size_t i = 1; i < 10; i += 2)
		made[i].self_ns *= 1.5;
	compare_made(made, 5);
	CHECK(compare.is_weak);
	CHECK_EQ(verdict_of("own time", "work"), HP_COMPARE_MORE);
	hp_compare_release(&compare);
}

/* Functions whose core is up to a third slower in some runs: all of them alike. */
static cJSON *throttled_report(size_t run, double slower)
{
	static const char *const names[] = { "score", "parse", "copy", "order", "read" };
	double clock = 1 + (double)(run * 7 % 10) / 30;
	char text[1024], *at = text;
	char *end = text + sizeof(text);

	at += snprintf(at, sizeof(text),
		       "{\"summary\":{\"cpu_ns\":3e8},\"meta\":{\"created_unix_ns\":%zu000000000},"
		       "\"functions_timing\":{\"raw\":[",
		       run + 1);
	for (size_t i = 0; i < 5; i++)
		at += snprintf(
			at, (size_t)(end - at), "%s{\"name\":\"%s\",\"calls\":1,\"self_ns\":%.0f}",
			i ? "," : "", names[i],
			5e7 * clock * (i ? 1 : slower) * (1 + (double)((run + i * 3) % 5) / 500));
	snprintf(at, (size_t)(end - at), "]}}");
	return cJSON_Parse(text);
}

static void compare_throttled(double slower)
{
	hp_compare_init(&compare, "a", 10, "b", 10);
	for (size_t i = 0; i < 20; i++) {
		cJSON *json = throttled_report(i, i % 2 ? slower : 1);

		hp_compare_add(&compare, i / 2 + (i % 2 ? 10 : 0), json);
		cJSON_Delete(json);
	}
	hp_compare_judge(&compare);
}

TEST(judge, a_function_stands_out_where_the_clock_changes)
{
	compare_throttled(1);
	CHECK_STR(compare.refused, NULL);
	CHECK_EQ(changes(), 0);
	hp_compare_release(&compare);
	compare_throttled(1.1);
	CHECK_EQ(verdict_of("own time", "score"), HP_COMPARE_MORE);
	CHECK_NEAR(row_of("own time", "score")->relative, 0.1, 0.01);
	CHECK_EQ(changes(), 1);
	hp_compare_release(&compare);
}

/* --- policies --- */

static char *policy_file(const char *text)
{
	static char path[] = "/tmp/hotpath-policy-XXXXXX";
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	return path;
}

TEST(policy, the_first_rule_that_fits_decides)
{
	struct made made[2] = { usual, usual };
	struct hp_policy policy;
	const char *path = policy_file("# section function metric limit\n"
				       "functions-timing work calls off\n"
				       "functions-alloc * blocks 5%\n"
				       "*\twor*\tbytes\t+1K\n"
				       "functions-timing * own-time 3%\n");

	made[1].calls *= 2;
	made[1].blocks *= 1.2;
	made[1].self_ns *= 2;
	compare_made(made, 1);
	CHECK(hp_policy_read(&policy, path));
	unlink(path);
	CHECK_EQ(policy.count, 4);
	CHECK(hp_policy_of(&policy, row_of("calls", "work"))->is_off);
	CHECK(!hp_policy_fails(&policy.rules[0], row_of("calls", "work")));
	CHECK(hp_policy_of(&policy, row_of("blocks", "work")) == &policy.rules[1]);
	CHECK(hp_policy_fails(&policy.rules[1], row_of("blocks", "work")));
	CHECK(hp_policy_of(&policy, row_of("bytes", "work")) == &policy.rules[2]);
	CHECK(!hp_policy_fails(&policy.rules[2], row_of("bytes", "work")));	/* 100 B more */
	/* A time that is not judged. */
	CHECK(!hp_policy_fails(hp_policy_of(&policy, row_of("own time", "work")),
			       row_of("own time", "work")));
	CHECK(hp_policy_of(&policy, row_of("wall", "")) == NULL);
	hp_policy_release(&policy);
	hp_compare_release(&compare);
}

TEST(policy, wrong_lines_are_refused)
{
	static const char *const wrong[] = {
		"functions-timing work calls",	 "nowhere * blocks 5%\n",
		"functions-timing * nothing 5%", "functions-timing * calls five",
		"functions-timing * calls 5",	 "total - wall -5%"
	};
	struct hp_policy policy;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const char *path = policy_file(wrong[i]);

		CHECK(!hp_policy_read(&policy, path));
		CHECK_EQ(policy.count, 0);
		unlink(path);
	}
	CHECK(!hp_policy_read(&policy, "/nowhere/policy"));
}
