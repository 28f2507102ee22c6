/* SPDX-License-Identifier: MIT */
/*
 * section.c - the section functions-cpu: its rows, its columns, and reasons for their
 * absence.
 *
 * In JSON `samples` is microseconds of CPU, as in the crate hotpath: the
 * samples' meaning.  The table shows how many there were.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/section/cpu/cpu.h"
#include "report/section/cpu/legend.h"
#include "report/base/format.h"
#include "report/base/json.h"
#include "report/section/core/extra.h"
#include "report/base/memory.h"
#include "report/base/place.h"
#include "report/name/name.h"
#include "report/base/top.h"
#include "report/section/core/list.h"
#include "segment/layout/process.h"

#define FAINT 3	/* samples of a function below which a table leaves it out */
#define FEW 10	/* samples that prove nothing: not worth a table that nobody requested */
#define LONG_NS UINT64_C(100000000)	/* of CPU: the absence of samples is worth showing */

static const struct hp_sampling *record_of(const struct hp_report *report)
{
	return &report->model.sampling.record;
}

/* Only waits were requested. */
static bool is_waits_only(const struct hp_sampling *record)
{
	return record->fault == HP_SAMPLING_FINE && record->source == HP_SAMPLING_NONE;
}

bool hp_cpu_has_data(const struct hp_report *report)
{
	const struct hp_sampling *record = record_of(report);

	if (!report->model.sampling.is_there || record->fault == HP_SAMPLING_OFF)
		return false;
	if (record->fault)
		return report->model.cpu_ns >= LONG_NS;
	return record->samples >= FEW || hp_cpu_missed_ns(report) >= LONG_NS;
}

static const char *describe(const struct hp_report *report)
{
	return report->settings->cpu_is_inclusive
		       ? "CPU sampling attribution per function (inclusive)."
		       : "CPU sampling attribution per function (exclusive).";
}

/* Another way, or rate, than usual. */
static void note_mode(const struct hp_model_sampling *sampling, char *text, size_t room)
{
	if (sampling->crowd)
		snprintf(text, room, ", by CPU while there were many threads");
	else if (sampling->bursts.is_whole || sampling->by_cpu == HP_BY_CPU_SWITCHES)
		snprintf(text, room, ", by CPU while threads switched often");
	else if (sampling->by_cpu == HP_BY_CPU_SHORT)
		snprintf(text, room, ", by CPU while threads ran briefly");
	else if (sampling->by_cpu == HP_BY_CPU_STARTS)
		snprintf(text, room, ", by CPU while many threads or processes started");
	else if (sampling->low_hz)
		snprintf(text, room, ", at %u Hz while threads switched often", sampling->low_hz);
}

static const char *note(struct hp_report *report)
{
	const struct hp_sampling *record = record_of(report);
	struct hp_text_cell total, lost, missed;
	char low[64] = "";
	const struct hp_cpu *cpu = record->samples ? hp_report_cpu(report) : NULL;
	uint64_t missed_ns = hp_cpu_missed_ns(report);

	if (!record->samples && !missed_ns)
		return NULL;
	note_mode(&report->model.sampling, low, sizeof(low));
	free(report->text);
	report->text = hp_xprintf("%s sample%s%s%s%s%s%s%s%s%s%s",
				  hp_format_count(&total, cpu ? cpu->total_samples : 0),
				  cpu && cpu->total_samples == 1 ? "" : "s",
				  record->has_kernel || record->source == HP_SAMPLING_SAMPLY
					  ? ""
					  : ", user code only",
				  record->source == HP_SAMPLING_TIMER	 ? ", by timers"
				  : record->source == HP_SAMPLING_SAMPLY ? ", by samply"
									 : "",
				  low, record->lost ? ", " : "",
				  record->lost ? hp_format_count(&lost, record->lost) : "",
				  record->lost ? " lost" : "", missed_ns ? ", " : "",
				  missed_ns ? hp_format_time(&missed, (double)missed_ns) : "",
				  missed_ns ? " of CPU time without" : "");
	return report->text;
}

/* --- reasons for the absence of samples --- */

static char *refused_text(const struct hp_sampling *record)
{
	if (record->error == ENOSYS)
		return hp_xstrdup("this kernel has no perf_event_open, or a seccomp filter hides "
				  "it: docker run --security-opt seccomp=unconfined, or "
				  "HOTPATH_CPU=timer for samples by timers in the program");
	if (record->error == EMFILE)
		return hp_xstrdup("an event for each thread and CPU takes more files than "
				  "`ulimit -n` allows");
	if (record->error != EACCES && record->error != EPERM)
		return hp_xprintf("perf_event_open failed: %s", strerror((int)record->error));
	if (record->paranoid > 2)
		return hp_xprintf("perf_event_open is not permitted: kernel.perf_event_paranoid "
				  "is %d; sysctl kernel.perf_event_paranoid=2 allows samples of "
				  "user code, 1 of the kernel too; HOTPATH_CPU=timer takes some "
				  "with timers in the program",
				  (int)record->paranoid);
	return hp_xstrdup("perf_event_open is not permitted by a seccomp filter, as containers "
			  "have: docker run --security-opt seccomp=unconfined, or "
			  "--cap-add=PERFMON; HOTPATH_CPU=timer takes samples with timers in the "
			  "program");
}

/* There is one for each period that a thread runs, and most threads may be shorter. */
static char *none_text(const struct hp_report *report)
{
	const struct hp_sampling *record = record_of(report);
	uint64_t missed_ns = hp_cpu_missed_ns(report);
	struct hp_text_cell period, missed;
	double period_ns = record->frequency ? 1e9 / (double)record->frequency : 1e6;

	hp_format_time(&period, period_ns);
	if (!missed_ns)
		return hp_xprintf("no sample was taken: there is one per %s of CPU time",
				  period.text);
	return hp_xprintf(
		"no sample was taken in %s of CPU time: there is one for each %s that a thread "
		"runs, and these threads ended sooner or ran before sampling began",
		hp_format_time(&missed, (double)missed_ns), period.text);
}

static char *reason_text(const struct hp_report *report)
{
	const struct hp_sampling *record = record_of(report);

	if (!report->model.sampling.is_there || is_waits_only(record))
		return hp_xstrdup(report->model.reader.header.sampler_area
					  ? "the CPU was not sampled: HOTPATH_REPORT had no "
					    "functions-cpu when the program ran"
					  : "the CPU was not sampled: the helper process did not "
					    "start before the end");
	switch (record->fault) {
	case HP_SAMPLING_OFF:
		return hp_xstrdup("HOTPATH_CPU=off: no samples were taken");
	case HP_SAMPLING_REFUSED:
		return refused_text(record);
	case HP_SAMPLING_NO_RING:
		return hp_xprintf(
			"no memory for samples (%s): raise the limit of locked memory with "
			"sysctl kernel.perf_event_mlock_kb or ulimit -l",
			strerror((int)record->error));
	case HP_SAMPLING_GONE:
		return hp_xstrdup("the session's first process had ended before it could be "
				  "sampled");
	case HP_SAMPLING_NO_TIMER:
		return hp_xstrdup(
			"HOTPATH_CPU=timer: no program with the library made timers; hotpath "
			"doctor PROGRAM says why");
	case HP_SAMPLING_SAMPLY_FAILED:
		return hp_xprintf("HOTPATH_CPU=samply: %s",
				  report->model.sampling.trouble ? report->model.sampling.trouble
								 : "no room for an error message");
	default:
		break;
	}
	if (record->samples)
		return hp_xstrdup("no sample was attributed to an instrumented function");
	return none_text(report);
}

const char *hp_cpu_empty(struct hp_report *report)
{
	char *text = reason_text(report);

	free(report->text);
	report->text = text;
	return text;
}

const char *hp_cpu_profile(const struct hp_report *report)
{
	const char *theirs = report->model.sampling.profile;

	if (report->profile_path)
		return report->profile_path;
	return theirs && access(theirs, R_OK) == 0 ? theirs : NULL;
}

/* The command that opens this run's profile. */
static const char *after(struct hp_report *report)
{
	const char *profile = hp_cpu_profile(report);

	if (!profile || report->settings->disable_samply_load)
		return NULL;
	free(report->text);
	report->text = hp_xprintf("%s load %s",
				  hp_place_has_program("samply") ? "samply" : "hotpath", profile);
	return report->text;
}

static bool is_failed(const struct hp_report *report)
{
	return !report->model.sampling.is_there || record_of(report)->fault ||
	       is_waits_only(record_of(report));
}

/* --- rows --- */

static uint64_t weight_of(const struct hp_report *report, const struct hp_cpu_function *f)
{
	return report->settings->cpu_is_inclusive ? f->total_ns : f->self_ns;
}

static uint64_t samples_of(const struct hp_report *report, const struct hp_cpu_function *f)
{
	return report->settings->cpu_is_inclusive ? f->total_samples : f->self_samples;
}

static bool is_wrapper(const struct hp_report *report, const struct hp_cpu_function *f)
{
	return report->wrapper && f->instrumented != HP_NONE &&
	       &report->model.functions[f->instrumented] == report->wrapper;
}

const char *hp_cpu_name(struct hp_report *report, const struct hp_cpu_function *f)
{
	return f->instrumented == HP_NONE
		       ? f->name
		       : hp_report_name(report, &report->model.functions[f->instrumented]);
}

/* The wrapper first, then by weight, then by name. */
static int compare_rows(const void *left, const void *right, void *context)
{
	const struct hp_cpu_function *a = *(const struct hp_cpu_function *const *)left;
	const struct hp_cpu_function *b = *(const struct hp_cpu_function *const *)right;
	struct hp_report *report = context;
	uint64_t x = weight_of(report, a), y = weight_of(report, b);

	if (is_wrapper(report, a) != is_wrapper(report, b))
		return is_wrapper(report, a) ? -1 : 1;
	if (x != y)
		return x < y ? 1 : -1;
	return strcmp(hp_cpu_name(report, a), hp_cpu_name(report, b));
}

static bool is_profiler(const struct hp_cpu *cpu, const struct hp_cpu_function *f)
{
	return cpu->profiler != HP_NONE && f == &cpu->functions[cpu->profiler];
}

static bool is_shown(struct hp_report *report, const struct hp_cpu_function *f)
{
	if (is_profiler(hp_report_cpu(report), f))
		return false;
	if (is_wrapper(report, f))
		return !report->settings->exclude_wrapper;
	return weight_of(report, f) && (!report->has_functions || f->instrumented != HP_NONE) &&
	       hp_focus_allows(&report->focus, hp_cpu_name(report, f));
}

static void fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_cpu *cpu = hp_report_cpu(report);

	list->rows = hp_xcalloc(cpu->function_count, sizeof(*list->rows));
	list->total = 0;
	for (size_t i = 0; i < cpu->function_count; i++)
		if (is_shown(report, &cpu->functions[i]))
			list->rows[list->total++] = &cpu->functions[i];
	hp_section_cut(&hp_cpu_section, report, list);
	hp_top_sort(list->rows, list->total, list->shown, compare_rows, report);
	/* Last, and not subject to the limit: the cost of profiling is not a function of the
	 * program. */
	if (cpu->profiler_ns && !report->focus.part && !report->focus.is_regex) {
		list->rows[list->shown++] = &cpu->functions[cpu->profiler];
		list->total++;
	}
}

/* Too few samples to tell more than that it ran. */
static bool is_faint(struct hp_report *report, const void *row)
{
	const struct hp_cpu_function *f = row;

	return samples_of(report, f) < FAINT && !is_wrapper(report, f) &&
	       !is_profiler(hp_report_cpu(report), f);
}

/* --- columns --- */

static void row_id(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = (double)((const struct hp_cpu_function *)cell->row -
				 hp_report_cpu(cell->report)->functions) +
			1;
}

static bool is_kernel(const struct hp_report *report, const struct hp_cpu_function *f)
{
	return f->object != HP_NONE && report->model.objects[f->object].kind == HP_OBJECT_KERNEL;
}

static void row_name(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = hp_cpu_name(cell->report, cell->row);
	value->mark = is_kernel(cell->report, cell->row) ? "[k]" : NULL;
}

static void row_count(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = (double)samples_of(cell->report, cell->row);
}

static void row_samples(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = (double)(weight_of(cell->report, cell->row) / 1000);
}

static void row_share(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_cpu *cpu = hp_report_cpu(cell->report);

	value->is_unknown = is_profiler(cpu, cell->row);
	value->number =
		cpu->total_ns && !value->is_unknown
			? 100 * (double)weight_of(cell->report, cell->row) / (double)cpu->total_ns
			: 0;
}

/* Half of the 95 % interval of a share of the CPU time, in points. */
static void row_error(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_cpu *cpu = hp_report_cpu(cell->report);
	double n = hp_sampling_effective(&cell->report->model.sampling, cpu->total_samples,
					 cpu->total_ns);
	double p = cpu->total_ns
			   ? (double)weight_of(cell->report, cell->row) / (double)cpu->total_ns
			   : 0;

	value->is_unknown = is_profiler(cpu, cell->row) || n == 0;
	if (!value->is_unknown)
		value->number = 100 * hp_cpu_share_error(p, n, hp_cpu_missed_part(cell->report));
}

/* The weight of the function's own samples: fewer than there are, if their weights differ. */
static void row_effective(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_cpu_function *f = cell->row;

	value->number =
		hp_sampling_effective(&cell->report->model.sampling, f->self_samples, f->self_ns);
}

static const struct hp_column columns[] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = row_id },
	{ "Function", "name", "name", HP_UNIT_NAME, .get = row_name },
	{ .title = "Samples", .unit = HP_UNIT_COUNT, .get = row_count },
	{ .key = "samples", .raw = "samples_us", .unit = HP_UNIT_COUNT, .get = row_samples },
	{ "% Total", "percent", "percent", HP_UNIT_SHARE, .get = row_share },
	{ "\302\261 points", NULL, "percent_error", HP_UNIT_LOAD, .get = row_error },
	{ "Self", NULL, "self_ns", HP_UNIT_TIME, .member = HP_MEMBER(hp_cpu_function, self_ns) },
	{ "Inclusive", NULL, "inclusive_ns", HP_UNIT_TIME,
	  .member = HP_MEMBER(hp_cpu_function, total_ns) },
	{ .raw = "self_samples",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_cpu_function, self_samples) },
	{ .raw = "inclusive_samples",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_cpu_function, total_samples) },
	{ .raw = "self_effective", .unit = HP_UNIT_NUMBER, .get = row_effective },
	{ 0 },
};

/* --- JSON --- */

static void add_head(struct hp_report *report, cJSON *list)
{
	const struct hp_cpu *cpu = hp_report_cpu(report);

	hp_extra_add_elapsed(report, list);
	hp_json_whole(list, "total_samples", cpu->total_ns / 1000);
	hp_json_whole(list, "attributed_samples", cpu->attributed_ns / 1000);
}

static const char *source_name(uint32_t source)
{
	static const char *const names[] = { "none", "cycles", "cpu-clock", "timer", "samply" };

	return source < sizeof(names) / sizeof(names[0]) ? names[source] : "unknown";
}

/* Not only in the session's first moments. */
static bool is_by_cpu(const struct hp_model_sampling *sampling)
{
	return sampling->bursts.is_whole || sampling->crowd ||
	       (sampling->by_cpu && sampling->by_cpu != HP_BY_CPU_FIRST);
}

static void add_middle(struct hp_report *report, cJSON *list)
{
	const struct hp_sampling *record = &report->model.sampling.record;

	cJSON_AddStringToObject(list, "caller_name", report->caller);
	cJSON_AddStringToObject(list, "source", source_name(record->source));
	hp_json_whole(list, "frequency_hz", record->frequency);
	if (is_by_cpu(&report->model.sampling))
		cJSON_AddTrueToObject(list, "is_by_cpu");
	else if (report->model.sampling.by_cpu)
		cJSON_AddTrueToObject(list, "is_by_cpu_first");
	if (report->model.sampling.crowd)
		hp_json_whole(list, "crowd_thread_count", report->model.sampling.crowd);
	if (report->model.sampling.low_hz)
		hp_json_whole(list, "frequency_low_hz", report->model.sampling.low_hz);
	if (report->model.sampling.first_hz)
		hp_json_whole(list, "frequency_first_hz", report->model.sampling.first_hz);
	cJSON_AddBoolToObject(list, "has_kernel", record->has_kernel != 0);
	hp_json_whole(list, "sample_count", record->samples);
	hp_json_whole(list, "lost_count", record->lost);
	if (hp_report_cpu(report)->profiler_ns) {
		hp_json_whole(list, "profiler_ns", hp_report_cpu(report)->profiler_ns);
		hp_json_whole(list, "profiler_sample_count",
			      hp_report_cpu(report)->profiler_samples);
	}
	if (hp_cpu_missed_ns(report))
		hp_json_whole(list, "unsampled_ns", hp_cpu_missed_ns(report));
	hp_json_whole(list, "complete_count", record->complete);
	hp_json_whole(list, "folded_count", record->folded);
	/* Clients of the crate need the key. */
	cJSON_AddStringToObject(list, "profile_path",
				hp_cpu_profile(report) ? hp_cpu_profile(report) : "");
}

/* A few samples say little, and resolving them takes long; it is done on request. */
static void legend_write(struct hp_report *report, FILE *out)
{
	if (hp_cpu_is_made(report) || hp_cpu_has_data(report))
		hp_cpu_legend_write(report, out);
}

/* --- the section --- */

const struct hp_section hp_cpu_section = {
	.key = "functions-cpu",
	.json = "functions_cpu",
	.name = "cpu",
	.help = "CPU samples by function",
	.subject = HP_SUBJECT_CPU,
	.columns = columns,
	.fill = fill,
	.is_faint = is_faint,
	.faint = "with fewer than 3 samples",
	.limit = HP_MEMBER(hp_settings, functions_limit),
	.usual = HP_FUNCTIONS_LIMIT,
	.has_data = hp_cpu_has_data,
	.is_failed = is_failed,
	.describe = describe,
	.empty = hp_cpu_empty,
	.note = note,
	.after = after,
	.is_command_after = true,
	.is_on_top = true,
	.extra = { .head = add_head,
		   .middle = add_middle,
		   .list_keys =
			   "time_elapsed:s total_elapsed_ns:i total_samples:i attributed_samples:i caller_name:s "
			   "source:s frequency_hz:i frequency_low_hz:i is_by_cpu:b is_by_cpu_first:b crowd_thread_count:i "
			   "frequency_first_hz:i has_kernel:b sample_count:i lost_count:i "
			   "profiler_ns:i profiler_sample_count:i unsampled_ns:i complete_count:i "
			   "folded_count:i profile_path:s" },
	.legend_write = legend_write,
	.tool = { .help = "CPU samples by function: `now` since the start, `report` of the last snapshot. "
			  "Works without recompiling.",
		  .answer = "status:s! captured_at_ms:i capture_duration_ms:i error:s "
			    "current_session_id:s current_session_path:s",
		  .meaning =
			  "Samples taken while a thread ran on a CPU. Shares are estimates: with n "
			  "samples the error is about the square root of n. Functions need not be recompiled.",
		  .next = "hot_path or functions_timing for callers; offcpu if the program runs less "
			  "than it lasts." },
};
