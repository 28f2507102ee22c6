/* SPDX-License-Identifier: MIT */
/*
 * setting_test.c - a bad value is reported in one line, and the default is
 * used.
 */
#include "test/test.h"

#include <stdio.h>
#include <string.h>

#include "segment/setting.h"

static char told[512];
static int lines;

static void listen(void *context, const char *line)
{
	(void)context;
	lines++;
	snprintf(told, sizeof(told), "%s", line);
}

static struct hp_settings read_one(const char *assignment)
{
	static char copy[512];
	char *environment[] = { copy, NULL };
	struct hp_settings settings;

	snprintf(copy, sizeof(copy), "%s", assignment);
	lines = 0;
	told[0] = 0;
	hp_settings_read(&settings, environment, listen, NULL);
	return settings;
}

TEST(setting, defaults)
{
	struct hp_settings s = read_one("PATH=/bin");

	CHECK_EQ(lines, 0);
	CHECK_EQ(s.timing, 0);
	CHECK_EQ(s.format, HP_FORMAT_TABLE);
	CHECK_EQ(s.percentiles.count, 1);
	CHECK_NEAR(s.percentiles.at[0], 95, 0);
	CHECK(s.limit == HP_LIMIT_UNSET && s.functions_limit == HP_LIMIT_UNSET);
	CHECK_EQ(s.name_depth, 2);
	CHECK_EQ(s.logs_limit, 50);
	CHECK_EQ(s.segment_size, 1 << 30);
	CHECK_EQ(s.threads_interval_ms, 250);
	CHECK_STR(s.report, "short");
	CHECK_STR(s.focus, NULL);
}

TEST(setting, words_for_no_section)
{
	CHECK_STR(read_one("HOTPATH_REPORT=threds").report, "short");
	CHECK_EQ(lines, 1);
	CHECK(strstr(told, "'threds'; the nearest is 'threads'") && strstr(told, "default: short"));
	CHECK_STR(read_one("HOTPATH_REPORT=cpu,mutexs").report, "cpu,mutexs");
	CHECK_EQ(lines, 1);
	CHECK(strstr(told, "'mutexs'; the nearest is 'mutexes'") && strstr(told, "using the rest"));
	CHECK_STR(read_one("HOTPATH_REPORT=auto,-functions_alloc,timing, streams").report,
		  "auto,-functions_alloc,timing, streams");
	CHECK_EQ(lines, 0);
	struct hp_settings s = read_one("HOTPATH_REPORT=nonsense,-threads");
	CHECK(hp_settings_asks(&s, "functions-alloc") && !hp_settings_asks(&s, "threads"));
	CHECK_EQ(lines, 1);
}

TEST(setting, variables_that_there_are_not)
{
	read_one("HOTPATH_REPROT=all");
	CHECK_EQ(lines, 1);
	CHECK(strstr(told, "HOTPATH_REPROT: unknown variable"));
	CHECK(strstr(told, "the nearest is HOTPATH_REPORT "));
	read_one("HOTPATH_CPUHZ=10");
	CHECK(strstr(told, "the nearest is HOTPATH_CPU_HZ "));
	read_one("HOTPATH_SESSION=off");
	CHECK_EQ(lines, 0);
	read_one("HOTPATHS=off");
	CHECK_EQ(lines, 0);
}

TEST(setting, variables_of_the_crate_that_mean_nothing_here)
{
	read_one("HOTPATH_UPLOAD_STRICT=1");
	CHECK_EQ(lines, 1);
	CHECK(strstr(told, "HOTPATH_UPLOAD_STRICT: ignored; nothing is uploaded"));
	read_one("HOTPATH_MUTEXES_TIME_SAMPLING_RATE=0.1");
	CHECK(strstr(told, "ignored; hotpath chooses the rate"));
	read_one("HOTPATH_JSON=1");
	CHECK(strstr(told, "ignored; use HOTPATH_OUTPUT_FORMAT=json"));
	read_one("HOTPATH_JSONS=1");
	CHECK(strstr(told, "HOTPATH_JSONS: unknown variable"));
}

TEST(setting, limits_of_single_sections)
{
	CHECK_EQ(read_one("HOTPATH_STREAMS_LIMIT=3").streams_limit, 3);
	CHECK_EQ(read_one("HOTPATH_FUTURES_LIMIT=3").futures_limit, 3);
	CHECK_EQ(read_one("HOTPATH_MUTEXES_LIMIT=3").mutexes_limit, 3);
	CHECK_EQ(read_one("HOTPATH_RW_LOCKS_LIMIT=3").rw_locks_limit, 3);
	CHECK_EQ(lines, 0);
	CHECK(read_one("HOTPATH_RW_LOCKS_LIMIT=many").rw_locks_limit == HP_LIMIT_UNSET);
	CHECK_EQ(lines, 1);
}

TEST(setting, addresses)
{
	CHECK_STR(read_one("HOTPATH_METRICS_BIND=localhost").metrics_bind, "127.0.0.1");
	CHECK_STR(read_one("HOTPATH_METRICS_BIND=::1").metrics_bind, "::1");
	CHECK_STR(read_one("HOTPATH_PROMETHEUS_HOST=0.0.0.0").prometheus_bind, "0.0.0.0");
	CHECK_EQ(lines, 0);
	CHECK_STR(read_one("HOTPATH_METRICS_BIND=here").metrics_bind, "127.0.0.1");
	CHECK_EQ(lines, 1);
	CHECK(strstr(told, "HOTPATH_METRICS_BIND: 'here' is not allowed"));
}

TEST(setting, a_bad_token_is_kept_and_not_printed)
{
	CHECK_STR(read_one("HOTPATH_METRICS_AUTH_TOKEN=secret").metrics_token, "secret");
	CHECK_EQ(lines, 0);
	CHECK_STR(read_one("HOTPATH_METRICS_AUTH_TOKEN=my secret").metrics_token, "my secret");
	CHECK_EQ(lines, 1);
	CHECK(strstr(told, "its port stays closed") && !strstr(told, "secret"));
}

TEST(setting, buckets)
{
	static const char *const bad[] = { "0.1,0.01", "0.1,x", "0,1", "0.1 0.2", "-1" };
	char text[64];

	CHECK_STR(read_one("HOTPATH_PROMETHEUS_FAST_BUCKETS=.001,0.5,10").fast_buckets,
		  ".001,0.5,10");
	CHECK_EQ(lines, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "HOTPATH_PROMETHEUS_FAST_BUCKETS=%s", bad[i]);
		CHECK_STR(read_one(text).fast_buckets, NULL);
		CHECK_EQ(lines, 1);
	}
}

TEST(setting, libraries)
{
	struct hp_settings s = read_one("HOTPATH_WITHOUT=glib,uv");

	CHECK_EQ(lines, 0);
	CHECK(hp_settings_without(&s, "glib") && hp_settings_without(&s, "uv"));
	s = read_one("HOTPATH_WITHOUT=gilb,glib");
	CHECK_EQ(lines, 1);
	CHECK(strstr(told, "'gilb' is not allowed; the nearest is 'glib'; ") &&
	      strstr(told, "using the rest"));
	CHECK(hp_settings_without(&s, "glib"));
}

TEST(setting, what_is_kept)
{
	CHECK_EQ(read_one("HOTPATH_KEEP=0").keep, 0);
	CHECK_EQ(read_one("HOTPATH_KEEP=all").keep, 20);
	CHECK_EQ(lines, 1);
	CHECK_EQ(read_one("PATH=/bin").exit_wait_ms, HP_EXIT_WAIT_MS);
	CHECK_EQ(read_one("HOTPATH_EXIT_WAIT_MS=60000").exit_wait_ms, 60000);
	CHECK_EQ(read_one("HOTPATH_SHUTDOWN_MS=2500").shutdown_ms, 2500);
	CHECK_EQ(read_one("HOTPATH_SHUTDOWN_MS=2.5").shutdown_ms, 0);
	CHECK_EQ(lines, 1);
}

TEST(setting, pairs)
{
	CHECK_STR(read_one("HOTPATH_USER_METADATA=a=1,b=,c=x=y").user_metadata, "a=1,b=,c=x=y");
	CHECK_EQ(lines, 0);
	CHECK_STR(read_one("HOTPATH_USER_METADATA=a=1,b").user_metadata, "a=1,b");
	CHECK_EQ(lines, 1);
	CHECK(strstr(told, "HOTPATH_USER_METADATA: 'a=1,b'") != NULL);
	CHECK_STR(read_one("HOTPATH_USER_METADATA==1").user_metadata, "=1");
	CHECK_EQ(lines, 1);
	CHECK_STR(read_one("HOTPATH_USER_METADATA=").user_metadata, NULL);
	CHECK_EQ(lines, 0);
}

TEST(setting, sizes)
{
	CHECK_EQ(read_one("HOTPATH_SEGMENT_SIZE=64M").segment_size, 64 << 20);
	CHECK_EQ(read_one("HOTPATH_SEGMENT_SIZE=2g").segment_size, UINT64_C(2) << 30);
	CHECK_EQ(read_one("HOTPATH_SEGMENT_SIZE=1048576").segment_size, 1 << 20);
	CHECK_EQ(read_one("HOTPATH_SEGMENT_SIZE=1K").segment_size, 1 << 30);
	CHECK_EQ(lines, 1);
	CHECK_EQ(read_one("HOTPATH_SEGMENT_SIZE=99999999999999999999G").segment_size, 1 << 30);
	CHECK_EQ(read_one("HOTPATH_SEGMENT_SIZE=17179869185G").segment_size, 1 << 30);
	CHECK_EQ(read_one("HOTPATH_SEGMENT_SIZE=M").segment_size, 1 << 30);
	CHECK_EQ(lines, 1);
}

TEST(setting, an_invalid_word_is_reported_with_the_valid_ones)
{
	CHECK_EQ(read_one("HOTPATH_TIMING=exactly").timing, 0);
	CHECK_EQ(lines, 1);
	CHECK_STR(told,
		  "HOTPATH_TIMING: 'exactly' is not allowed; adaptive|exact; default: adaptive");
	CHECK_EQ(read_one("HOTPATH_TIMING=exact").timing, 1);
	CHECK_EQ(read_one("HOTPATH_OUTPUT_FORMAT=json-pretty").format, HP_FORMAT_JSON_PRETTY);
	read_one("HOTPATH_OUTPUT_FORMAT=ya\nml\033");
	CHECK(strstr(told, "'ya?ml?'") != NULL);
}

TEST(setting, booleans)
{
	CHECK_EQ(read_one("HOTPATH_TIME_EXCLUSIVE=TRUE").is_exclusive, 1);
	CHECK_EQ(read_one("HOTPATH_TIME_EXCLUSIVE=1").is_exclusive, 1);
	CHECK_EQ(read_one("HOTPATH_TIME_EXCLUSIVE=0").is_exclusive, 0);
	CHECK_EQ(read_one("HOTPATH_TIME_EXCLUSIVE=False").is_exclusive, 0);
	CHECK_EQ(lines, 0);
	CHECK_EQ(read_one("HOTPATH_TIME_EXCLUSIVE=yes").is_exclusive, 0);
	CHECK_EQ(lines, 1);
}

TEST(setting, good_percentiles_are_used_beside_bad_ones)
{
	struct hp_settings s = read_one("HOTPATH_PERCENTILES= 50 ,p95,101,abc,99.99,.5,95,0,100,");

	CHECK_EQ(lines, 1);
	CHECK(strstr(told, "'101'") != NULL);
	CHECK_EQ(s.percentiles.count, 6);
	CHECK_NEAR(s.percentiles.at[0], 50, 0);
	CHECK_NEAR(s.percentiles.at[1], 95, 0);
	CHECK_NEAR(s.percentiles.at[2], 99.99, 1e-12);
	CHECK_NEAR(s.percentiles.at[3], 0.5, 1e-12);
	CHECK_NEAR(s.percentiles.at[4], 0, 0);
	CHECK_NEAR(s.percentiles.at[5], 100, 0);
	s = read_one("HOTPATH_PERCENTILES=-1");
	CHECK_EQ(s.percentiles.count, 1);
	CHECK_EQ(lines, 1);
	s = read_one("HOTPATH_PERCENTILES=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17");
	CHECK_EQ(s.percentiles.count, 16);
	CHECK_EQ(lines, 1);
}

TEST(setting, a_flag_is_a_variable)
{
	struct hp_settings s = read_one("HOTPATH_LIMIT=3");

	CHECK_EQ(s.limit, 3);
	CHECK(hp_settings_set(&s, "HOTPATH_LIMIT", "7", listen, NULL));
	CHECK_EQ(s.limit, 7);
	CHECK(!hp_settings_set(&s, "HOTPATH_LIMIT", "x", listen, NULL));
	CHECK_EQ(s.limit, 7);
	CHECK(!hp_settings_set(&s, "HOTPATH_NOSUCH", "x", listen, NULL));
}

TEST(setting, long_values_are_cut)
{
	char long_one[400] = "HOTPATH_TIMING=";

	memset(long_one + 15, 'x', 380);
	read_one(long_one);
	CHECK_EQ(lines, 1);
	CHECK(strlen(told) < 200);
}

/* --- a program's defaults --- */

static struct hp_settings read_both(const char *assignment, const char *defaults)
{
	static char room[HP_DEFAULTS_MAX];
	struct hp_settings settings = read_one(assignment);

	hp_settings_default(&settings, HP_SETTINGS_OF_PROGRAM, defaults, room, listen, NULL);
	return settings;
}

TEST(setting, a_programs_defaults_come_after_the_environment)
{
	struct hp_settings s =
		read_both("HOTPATH_SORT=calls", " percentiles=50,99\treport=threads  sort=self\n"
						"functions-limit=3 HOTPATH_TIMING=exact focus=a=b");

	CHECK_EQ(lines, 0);
	CHECK_EQ(s.percentiles.count, 2);
	CHECK_STR(s.report, "threads");
	CHECK_STR(s.sort, "calls");
	CHECK_EQ(s.functions_limit, 3);
	CHECK_EQ(s.timing, 1);
	CHECK_STR(s.focus, "a=b");
	CHECK_STR(s.output_path, NULL);
}

TEST(setting, a_flag_wins_over_a_programs_defaults)
{
	char room[HP_DEFAULTS_MAX];
	struct hp_settings s = read_one("A=b");

	CHECK(hp_settings_set(&s, "HOTPATH_SORT", "name", listen, NULL));
	CHECK(!hp_settings_set(&s, "HOTPATH_TIMING", "no such", listen, NULL));
	hp_settings_default(&s, HP_SETTINGS_OF_PROGRAM, "sort=calls timing=exact", room, listen,
			    NULL);
	CHECK_STR(s.sort, "name");
	CHECK_EQ(s.timing, 1);
}

TEST(setting, a_limit_of_all_wins_over_a_programs_limit_of_one)
{
	CHECK_EQ(read_both("HOTPATH_LIMIT=2", "functions_limit=9").functions_limit, HP_LIMIT_UNSET);
	CHECK_EQ(read_both("HOTPATH_THREADS_LIMIT=2", "functions_limit=9").functions_limit, 9);
	CHECK_EQ(read_both("A=b", "limit=7 limit=9").limit, 9);
}

TEST(setting, a_programs_defaults_that_are_wrong)
{
	CHECK_EQ(read_both("A=b", "alloc-metric=weight timing=exact").timing, 1);
	CHECK_EQ(lines, 1);
	CHECK(strstr(told, "HOTPATH_ALLOC_METRIC: 'weight' is not allowed") != NULL);
	CHECK_EQ(read_both("A=b", "sort timing=exact").timing, 1);
	CHECK_EQ(lines, 1);
	CHECK(strstr(told, "HOTPATH_DEFAULTS: 'sort' is not a setting; use NAME=VALUE") != NULL);
	CHECK_EQ(read_both("A=b", "=").timing, 0);
	CHECK_EQ(lines, 1);
	read_both("A=b", "SORT=name hotpath_sort=name sor=name sorted=name");
	CHECK_EQ(lines, 2);
	CHECK_EQ(read_both("HOTPATH_ALLOC_METRIC=weight", "alloc_metric=count").alloc_metric,
		 HP_ALLOC_COUNT);
}

TEST(setting, what_is_found_in_a_record_sets_nothing_but_how_it_is_shown)
{
	static const char text[] =
		"percentiles=50 output_path=/p segment_path=/p profile_dir=/p keep=0 shutdown_ms=1 "
		"metrics_port=1 metrics_bind=0.0.0.0 cpu=samply log_payload=1 exit_wait_ms=1";
	char room[HP_DEFAULTS_MAX];
	struct hp_settings s = read_one("A=b"), usual = s;

	hp_settings_default(&s, HP_SETTING_OF_RECORD, text, room, listen, NULL);
	CHECK_EQ(lines, 0);
	CHECK_EQ(s.percentiles.at[0], 50);
	s.percentiles = usual.percentiles;
	memcpy(s.is_defaulted, usual.is_defaulted, sizeof(s.is_defaulted));
	CHECK(!memcmp(&s, &usual, sizeof(s)));
	CHECK_STR(read_both("A=b", text).output_path, "/p");
	CHECK_EQ(read_both("A=b", text).shutdown_ms, 1);
}

TEST(setting, what_only_the_user_may_set)
{
	CHECK_STR(read_both("A=b", "metrics_auth_token=secret").metrics_token, NULL);
	CHECK_EQ(lines, 1);
	CHECK(strstr(told, "use HOTPATH_METRICS_AUTH_TOKEN=..."));
	CHECK(!strstr(told, "secret"));
	CHECK_STR(read_both("HOTPATH_BIN=/a", "bin=/b").helpers, "/a");
	CHECK_EQ(lines, 0);
}

TEST(setting, each_names_its_allowed_sources)
{
	for (size_t i = 0; i < hp_setting_count; i++)
		CHECK(hp_setting_table[i].trust != 0);
}

/* --- as one would write it --- */

static const char *written(const struct hp_settings *settings, const char *name, char *room)
{
	for (size_t i = 0; i < hp_setting_count; i++)
		if (strcmp(hp_setting_table[i].name, name) == 0)
			return hp_setting_text(settings, &hp_setting_table[i], room);
	return "no such setting";
}

TEST(setting, each_default_is_written_as_it_stands_in_the_table)
{
	struct hp_settings s = read_one("A=b");
	char room[HP_SETTING_TEXT_MAX];

	for (size_t i = 0; i < hp_setting_count; i++) {
		CHECK_STR(hp_setting_text(&s, &hp_setting_table[i], room),
			  hp_setting_table[i].usual);
		CHECK_EQ(hp_setting_origin(&s, &hp_setting_table[i]), HP_ORIGIN_BUILT_IN);
	}
}

static void check_written(const char *name, const char *value, const char *expected)
{
	char assignment[512], room[HP_SETTING_TEXT_MAX];
	struct hp_settings s;

	snprintf(assignment, sizeof(assignment), "%s=%s", name, value);
	s = read_one(assignment);
	CHECK_STR(written(&s, name, room), expected);
}

TEST(setting, a_value_is_written_so_that_it_is_read_as_the_same)
{
	check_written("HOTPATH_PERCENTILES", "0,p50, 99.9,.5,33.333333333,100",
		      "0,50,99.9,0.5,33.333333333,100");
	check_written("HOTPATH_SEGMENT_SIZE", "1536K", "1536K");
	check_written("HOTPATH_SEGMENT_SIZE", "2097152", "2M");
	check_written("HOTPATH_SORT", "name", "name");
	check_written("HOTPATH_TIME_EXCLUSIVE", "True", "1");
	check_written("HOTPATH_LIMIT", "0", "0");
	check_written("HOTPATH_FOCUS", "a\033[2J", "a?[2J");
}

TEST(setting, a_programs_default_is_marked)
{
	struct hp_settings s = read_both("HOTPATH_SORT=calls", "sort=self limit=3 timing=wrong");
	char room[HP_SETTING_TEXT_MAX];
	enum hp_setting_origin origins[HP_SETTINGS_MAX];

	for (size_t i = 0; i < hp_setting_count; i++)
		origins[i] = hp_setting_origin(&s, &hp_setting_table[i]);
	for (size_t i = 0; i < hp_setting_count; i++) {
		if (strcmp(hp_setting_table[i].name, "HOTPATH_SORT") == 0)
			CHECK_EQ(origins[i], HP_ORIGIN_GIVEN);
		else if (strcmp(hp_setting_table[i].name, "HOTPATH_LIMIT") == 0)
			CHECK_EQ(origins[i], HP_ORIGIN_PROGRAM);
		else
			CHECK_EQ(origins[i], HP_ORIGIN_BUILT_IN);
	}
	CHECK_STR(written(&s, "HOTPATH_LIMIT", room), "3");
}
