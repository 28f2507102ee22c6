/* SPDX-License-Identifier: MIT */
/*
 * report_view_test.c - tables and JSON of a made-up session: main is not
 * instrumented, `0x1000` was always timed and calls `0x2000`, which was sampled.
 */
#include "test/test.h"

#include <cjson/cJSON.h>
#include <stdio.h>

#include "report/base/format.h"
#include "report/section/sections.h"
#include "report/view/view.h"
#include "test/unit/fake_segment.h"

static char told[512];

static void listen(void *context, const char *line)
{
	(void)context;
	snprintf(told, sizeof(told), "%s", line);
}

static void build(struct fake *fake)
{
	fake_init(fake, 1 << 20);
	struct hp_object *object = fake_object(fake, "/nowhere/fake");
	struct hp_process *process = fake_process(fake, FAKE_PID, object);
	struct hp_module *module = fake_module(fake, process, object);
	struct hp_block *block = fake_block(fake, process);
	struct hp_function *f = fake_function(fake, block, module, 0x1000);
	struct hp_function *g = fake_function(fake, block, module, 0x2000);
	struct hp_row *outer = fake_row(fake, block, NULL, f);
	struct hp_row *inner = fake_row(fake, block, outer, g);
	struct hp_watch_row *rows = fake_watch(fake, 2);

	for (int i = 0; i < 10; i++)
		fake_call(fake, f, outer, 25000000, 16000000);
	for (int i = 0; i < 50000; i++)
		fake_sampled(fake, g, inner, i & 1 ? 90 : 110, 32);
	rows[0] = (struct hp_watch_row){ .tid = 7,
					 .name = "worker",
					 .state = 'S',
					 .first_ns = 100,
					 .seen_ns = 1000100,
					 .cpu_ns = 250000,
					 .percent_max = 505,
					 .percent_last = 11 };
	rows[1] = (struct hp_watch_row){ .tid = 8,
					 .state = 'x',
					 .percent_max = UINT32_MAX,
					 .percent_last = UINT32_MAX,
					 .folded = 3 };
	memcpy(rows[1].name, "bad\033[2J", 8);
}

/* A report with the variables in `assignments`, as a fresh text. */
static char *report_with(char *const *assignments, size_t width)
{
	struct hp_look look = { .width = width };
	struct hp_settings settings;
	struct hp_segment segment;
	struct hp_report report;
	struct fake fake;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	build(&fake);
	segment = fake_segment(&fake);
	told[0] = 0;
	hp_settings_read(&settings, assignments, listen, NULL);
	hp_report_init(&report, &segment, &settings, listen, NULL);
	if (settings.format == HP_FORMAT_TABLE)
		hp_table_write(&report, &look, out);
	else
		hp_json_write(&report, false, out);
	hp_report_release(&report);
	fclose(out);
	return text;
}

#define REPORT(width, ...) report_with((char *[]){ __VA_ARGS__, NULL }, width)
#define SET(text) ((char[]){ text })

TEST(table, shows_the_measured_values)
{
	char *text = REPORT(80, SET("HOTPATH_REPORT_LABEL=a\nb"));

	CHECK_STR(text,
		  "[hotpath] 1.00s | findings, timing, calltree, threads | a?b\n"
		  "\n"
		  "wall      1.00 s\n"
		  "CPU       600.25 ms, 60.0% of one core\n"
		  "blocked   750.00 \302\265s of 1.00 ms in 2 threads\n"
		  "peak RSS  2.1 MB\n"
		  "top       timing: fake+0x2000 ~32.0% self, wall\n"
		  "note      /nowhere/fake cannot be read: names are missing\n"
		  "\n"
		  "findings - Patterns of waste, and the most that a fix can gain.\n"
		  "There are too few CPU samples to judge.\n"
		  "\n"
		  "timing - Function execution time metrics.\n"
		  "Function         Calls       Avg       P95       Total  \302\26195%  % Total\n"
		  "─────────────────────────────────────────────────────────────────────\n"
		  "fake::main           1    1.00 s    1.00 s      1.00 s     -  100.00%\n"
		  "fake+0x1000         10  50.00 ms  50.00 ms   500.00 ms     -   50.00%\n"
		  "fake+0x2000  1,600,000   ~200 ns   ~220 ns  ~320.00 ms  0.1%  ~32.00%\n"
		  "\n"
		  "calltree - Hot path, the heaviest chain of calls.\n"
		  "Function          Calls   Inclusive        Self  % Total\n"
		  "────────────────────────────────────────────────────────\n"
		  "fake+0x1000          10   500.00 ms   180.00 ms   50.00%\n"
		  " fake+0x2000  1,600,000  ~320.00 ms  ~320.00 ms  ~32.00%\n"
		  "\n"
		  "threads - Thread CPU and memory statistics. (Max RSS: 2.1 MB)\n"
		  "Thread        State      Max%   Avg%        CPU\n"
		  "───────────────────────────────────────────────\n"
		  "worker        Sleeping  50.5%  25.0%  250.00 \302\265s\n"
		  "bad?[2J (\303\2274)  Exited        -      -       0 ns\n"
		  "600.00 ms more of CPU time: threads not listed, or after their last scan.\n"
		  "\n"
		  "~ estimated: hot, short functions: every call counted, durations sampled.\n"
		  "  \302\26195% is half of the total's 95 % interval. HOTPATH_TIMING=exact times "
		  "all;\n"
		  "  even then, the hooks' cost is known only to some ns per call.\n");
	free(text);
}

TEST(table, a_limit_is_mentioned)
{
	char *text = REPORT(80, SET("HOTPATH_LIMIT=1"), SET("HOTPATH_THREADS_LIMIT=0"));

	CHECK(strstr(text, "metrics. (1/3)\n") != NULL);
	CHECK(strstr(text, "bad?[2J") != NULL);
	CHECK(strstr(text, "\nfake+0x2000") == NULL);
	free(text);
}

TEST(table, the_longest_of_sampled_calls_is_a_bound)
{
	char *text = REPORT(200, SET("HOTPATH_PERCENTILES=0,99.9,100"));

	CHECK(strstr(text, " P0 ") && strstr(text, " P99.9 ") && strstr(text, " P100 "));
	CHECK(strstr(text, "\342\211\245 ~220 ns") != NULL);
	CHECK(strstr(text, "\342\211\245 50") == NULL);
	free(text);
}

TEST(table, focus_sort_and_wrapper)
{
	char *text = REPORT(80, SET("HOTPATH_FOCUS=/0x2/"), SET("HOTPATH_REPORT=functions-timing"));

	CHECK(strstr(text, "fake+0x2000") && !strstr(text, "fake+0x1000"));
	free(text);
	text = REPORT(80, SET("HOTPATH_FOCUS=/[/"), SET("HOTPATH_REPORT=functions-timing"));
	CHECK(strstr(told, "HOTPATH_FOCUS: '/[/'") != NULL);
	CHECK(strstr(text, "fake+0x2000") && strstr(text, "fake+0x1000"));
	free(text);
	text = REPORT(80, SET("HOTPATH_EXCLUDE_WRAPPER=1"), SET("HOTPATH_SORT=calls"));
	CHECK(!strstr(text, "fake::main"));
	CHECK(strstr(text, "fake+0x2000") < strstr(text, "fake+0x1000  "));
	CHECK(strstr(text, "60.98%") != NULL);
	free(text);
	text = REPORT(80, SET("HOTPATH_TIME_EXCLUSIVE=1"), SET("HOTPATH_REPORT=functions-timing"));
	CHECK(strstr(text, "180.00 ms") != NULL);
	free(text);
}

TEST(table, sections_are_chosen_by_name)
{
	char *text = REPORT(80, SET("HOTPATH_REPORT=-threads"));

	CHECK(strstr(text, "| findings, timing, calltree\n") != NULL);
	free(text);
	text = REPORT(80, SET("HOTPATH_REPORT=bogus, threads"));
	CHECK(strstr(told, "HOTPATH_REPORT: no section 'bogus'; the nearest is ") == told);
	CHECK(strstr(text, "| threads\n") != NULL);
	free(text);
	text = REPORT(80, SET("HOTPATH_REPORT=auto,-calltree,sql"));
	CHECK_STR(told, "this version does not record report section 'sql'");
	CHECK(strstr(text, "| findings, timing, threads\n") != NULL);
	free(text);
}

/* For every width: no line is longer, unless the numbers alone are. */
TEST(table, lines_fit)
{
	for (size_t width = 40; width < 130; width++) {
		char *text = REPORT(width, SET("HOTPATH_REPORT=functions-timing,calltree"));
		char *rest = strstr(text, "Function "), *line;

		while ((line = strsep(&rest, "\n"))) {
			if (strncmp(line, "fake", 4) == 0 || strncmp(line, " fak", 4) == 0)
				CHECK(hp_text_width(line) <= (width > 70 ? width : 70));
			CHECK(strncmp(line, "fake", 4) != 0 || strchr(line, '%'));
		}
		free(text);
	}
}

/* In entries of functions, clients refuse any other key that is not a string. */
TEST(json, has_the_shape_that_clients_read)
{
	char *text =
		REPORT(80, SET("HOTPATH_OUTPUT_FORMAT=json"), SET("HOTPATH_PERCENTILES=50,99.9"));
	cJSON *root = cJSON_Parse(text);
	cJSON *list = cJSON_GetObjectItem(root, "functions_timing");
	static const char *const needed[] = {
		"caller_name",	  "data",	  "description", "included_count",   "percentiles",
		"profiling_mode", "time_elapsed", "total_count", "total_elapsed_ns", "raw"
	};
	static const char *const numbers[] = { "id", "calls", "sampled_calls" };
	cJSON *entry, *field;

	CHECK_STR(cJSON_GetObjectItem(root, "type")->valuestring, "hotpath_report");
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		CHECK(cJSON_HasObjectItem(list, needed[i]));
	CHECK_EQ(cJSON_GetArraySize(cJSON_GetObjectItem(list, "data")), 3);
	cJSON_ArrayForEach(entry, cJSON_GetObjectItem(list, "data"))
	{
		cJSON_ArrayForEach(field, entry)
		{
			bool is_number = false;

			for (int i = 0; i < 3; i++)
				is_number |= strcmp(field->string, numbers[i]) == 0;
			CHECK(is_number ? cJSON_IsNumber(field) : cJSON_IsString(field));
		}
		CHECK(cJSON_HasObjectItem(entry, "p50") && cJSON_HasObjectItem(entry, "p99.9"));
	}
	entry = cJSON_GetArrayItem(cJSON_GetObjectItem(list, "raw"), 2);
	CHECK_STR(cJSON_GetObjectItem(entry, "name")->valuestring, "fake+0x2000");
	CHECK_NEAR(cJSON_GetObjectItem(entry, "total_ns")->valuedouble, 320000000, 0);
	CHECK_NEAR(cJSON_GetObjectItem(entry, "sampled_calls")->valuedouble, 50000, 0);
	CHECK(cJSON_GetObjectItem(entry, "inclusive_low_ns")->valuedouble < 320000000);
	CHECK(strstr(text, "\"percentiles\":[50.0,99.9]") != NULL);
	cJSON_Delete(root);
	free(text);
}

TEST(json, threads_and_tree)
{
	char *text = REPORT(80, SET("HOTPATH_OUTPUT_FORMAT=json"));
	cJSON *root = cJSON_Parse(text);
	cJSON *threads = cJSON_GetObjectItem(root, "threads");
	cJSON *tree = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "calltree"), "tree");
	cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(threads, "data"), 0);
	cJSON *second = cJSON_GetArrayItem(cJSON_GetObjectItem(threads, "data"), 1);

	CHECK_STR(cJSON_GetObjectItem(first, "cpu_percent_max")->valuestring, "50.5%");
	CHECK_STR(cJSON_GetObjectItem(first, "status_code")->valuestring, "S");
	CHECK(cJSON_IsNull(cJSON_GetObjectItem(second, "cpu_percent_max")));
	CHECK_EQ(cJSON_GetArraySize(tree), 2);
	CHECK_NEAR(cJSON_GetObjectItem(cJSON_GetArrayItem(tree, 1), "parent")->valuedouble, 1, 0);
	CHECK_NEAR(cJSON_GetObjectItem(cJSON_GetArrayItem(tree, 1), "calls")->valuedouble, 1600000,
		   0);
	cJSON_Delete(root);
	free(text);
}
