/* SPDX-License-Identifier: MIT */
/*
 * process.c - the section of processes, by program: see process.h.
 */
#include "report/section/thread/process.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "report/base/format.h"
#include "report/base/json.h"
#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "util/hash.h"

#define LIMIT 15	/* rows, unless a variable says otherwise */

/* A process records its CPU time before its memory is torn down; only its parent learns the
 * rest. */
#define END_NS 500000
#define END_SHARE 0.05
#define ENDS_MIN_NS 1000000	/* of all, worth a note */
#define ENDS_SHARE 0.01

/* --- sums --- */

/* There may be as many programs as processes, so both are found by hashing. */
struct build {
	const struct hp_model *model;
	struct hp_programs *programs;
	struct hp_map names;	/* hash of a name, or a later number -> place in programs->rows */
	struct hp_map pids;	/* -> place in watched_ns; as far as a process needs it */
	struct hp_map again;	/* of processes with an image that dropped rights before */
	uint64_t *watched_ns;	/* NULL = not summed up yet */
	uint64_t listed_ns;	/* CPU time in rows that the root's children may have, too */
	uint64_t listed_runs;
};

static struct hp_program *program_of(struct build *b, const char *name)
{
	struct hp_programs *programs = b->programs;
	uint64_t key = hp_fnv_text(HP_FNV_SEED, name);

	for (;; key++) {
		bool is_new;
		uint32_t *place = hp_map_at(&b->names, key ? key : 1, &is_new);

		if (is_new) {
			*place = (uint32_t)programs->count;
			programs->rows[programs->count] = (struct hp_program){ .name = name };
			return &programs->rows[programs->count++];
		}
		if (strcmp(programs->rows[*place].name, name) == 0)
			return &programs->rows[*place];
	}
}

static void watched_sum(struct build *b)
{
	const struct hp_model *model = b->model;
	size_t count = 0;

	b->watched_ns = hp_xcalloc(model->thread_count + 1, sizeof(*b->watched_ns));
	for (size_t i = 0; i < model->thread_count; i++) {
		bool is_new;
		uint32_t *place = hp_map_at(&b->pids, model->threads[i].pid + UINT64_C(1), &is_new);

		if (is_new)
			*place = (uint32_t)count++;
		b->watched_ns[*place] += model->threads[i].cpu_ns;
	}
}

/* For one that is running, or ended without a record: the sampler's last values. */
static uint64_t watched_ns(struct build *b, const struct hp_model_run *run)
{
	const uint32_t *place;
	uint64_t ns;

	if (!b->watched_ns)
		watched_sum(b);
	place = hp_map_find(&b->pids, run->pid + UINT64_C(1));
	ns = place ? b->watched_ns[*place] : 0;
	return ns > run->base_cpu_ns ? ns - run->base_cpu_ns : 0;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void drops_add(struct build *b, const struct hp_model_run *run)
{
	struct hp_program *program = program_of(b, run->name);
	bool is_new;

	program->dropped += run->dropped;
	program->again += run->again;
	if (run->again && run->pid)
		hp_map_at(&b->again, run->pid, &is_new);
	else
		program->folded_again += run->again;
}

/*
 * Images that are summed up have no pid: then only the number of those whose rest is missing is
 * known, not which they are.
 */
static bool is_elsewhere(struct build *b, const struct hp_program *program,
			 const struct hp_model_run *run)
{
	return run->dropped && run->pid && program->elsewhere && !program->folded_again &&
	       !hp_map_find(&b->again, run->pid);
}

static void run_add(struct build *b, const struct hp_model_run *run)
{
	struct hp_program *program = program_of(b, run->name);
	bool lacks_cpu = run->lacks_cpu || is_elsewhere(b, program, run);
	uint64_t cpu_ns =
		lacks_cpu && run->pid ? larger(run->cpu_ns, watched_ns(b, run)) : run->cpu_ns;

	program->runs += run->count;
	program->running += run->running;
	program->failed += run->failed;
	program->unknown += run->unknown;
	program->unmeasured += run->unmeasured;
	program->wall_ns += run->wall_ns;
	if (run->is_root) {
		program->root_runs += run->count;
		program->root_wall_ns += run->wall_ns;
	}
	program->cpu_ns += cpu_ns;
	program->minor_faults += run->minor_faults;
	program->major_faults += run->major_faults;
	program->peak_rss_bytes = larger(program->peak_rss_bytes, run->peak_rss_kb * 1024);
	program->is_cpu_least |= lacks_cpu;
	program->is_peak_least |= run->lacks_peak;
	if (run->failed)
		program->status = run->status;
	if (run->is_root)
		return;
	/* Nobody has waited for a running one. */
	b->listed_ns += run->running ? run->cpu_ns : cpu_ns;
	b->listed_runs += run->count;
}

static int compare_programs(const void *left, const void *right)
{
	const struct hp_program *a = left, *b = right;

	if (a->cpu_ns != b->cpu_ns)
		return a->cpu_ns > b->cpu_ns ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* The resources of the root's children, minus those of the listed ones. */
static void missing_set(struct build *b)
{
	const struct hp_model *model = b->model;
	struct hp_programs *programs = b->programs;
	uint64_t missing_ns;

	programs->is_missing_known = model->children_cpu_ns != 0;
	if (model->children_cpu_ns <= b->listed_ns)
		return;
	missing_ns = model->children_cpu_ns - b->listed_ns;
	if (missing_ns > (b->listed_runs + 4) * END_NS &&
	    (double)missing_ns > END_SHARE * (double)model->children_cpu_ns)
		programs->missing_ns = missing_ns;
	else if (missing_ns > ENDS_MIN_NS &&
		 (double)missing_ns > ENDS_SHARE * (double)model->children_cpu_ns)
		programs->ends_ns = missing_ns;
}

static void runs_add(const struct hp_model *model, struct hp_programs *programs)
{
	struct build b = { .model = model, .programs = programs };

	programs->rows = hp_xcalloc(model->run_count, sizeof(*programs->rows));
	for (size_t i = 0; i < model->run_count; i++)
		if (model->runs[i].name[0])
			drops_add(&b, &model->runs[i]);
	for (size_t i = 0; i < programs->count; i++) {
		struct hp_program *program = &programs->rows[i];

		program->elsewhere =
			program->dropped > program->again ? program->dropped - program->again : 0;
		program->is_cpu_least = program->is_peak_least = program->elsewhere != 0;
	}
	for (size_t i = 0; i < model->run_count; i++) {
		if (model->runs[i].name[0])
			run_add(&b, &model->runs[i]);
		else
			programs->unrecorded += model->runs[i].count;
	}
	missing_set(&b);
	hp_map_release(&b.names);
	hp_map_release(&b.pids);
	hp_map_release(&b.again);
	free(b.watched_ns);
}

static void programs_free(void *held)
{
	struct hp_programs *programs = held;

	free(programs->rows);
	free(programs);
}

const struct hp_programs *hp_programs_of(struct hp_report *report)
{
	static const struct hp_view_kind kind = { .free = programs_free };
	const struct hp_model *model = &report->model;
	struct hp_programs *programs = hp_views_get(&report->views, &kind);
	double all_ns;

	if (programs)
		return programs;
	programs = hp_views_add(&report->views, &kind, hp_xcalloc(1, sizeof(*programs)));
	runs_add(model, programs);
	for (size_t i = 0; i < programs->count; i++) {
		programs->runs += programs->rows[i].runs;
		programs->cpu_ns += programs->rows[i].cpu_ns;
	}
	all_ns = (double)(programs->cpu_ns + programs->missing_ns);
	for (size_t i = 0; i < programs->count && programs->cpu_ns; i++)
		programs->rows[i].cpu_percent = 100.0 * (double)programs->rows[i].cpu_ns / all_ns;
	if (programs->count)
		qsort(programs->rows, programs->count, sizeof(*programs->rows), compare_programs);
	return programs;
}

/* --- cells --- */

static const struct hp_program *program(const struct hp_cell *cell)
{
	return cell->row;
}

static void get_name(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_set_text(cell, hp_text_clean(program(cell)->name), value);
}

static void get_cpu(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_get_member(cell, value);
	value->is_bound = program(cell)->is_cpu_least;
	value->is_unknown = value->is_bound && value->number <= 0;
}

static void get_share(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_get_member(cell, value);
	value->is_unknown = program(cell)->is_cpu_least && value->number <= 0;
}

static void get_peak(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_get_member(cell, value);
	value->is_unknown = value->number <= 0;
	value->is_bound = program(cell)->is_peak_least;
}

/* How the others ended is not known. */
static void get_failed(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_get_member(cell, value);
	value->is_bound = program(cell)->unknown != 0;
	value->is_unknown = value->is_bound && value->number <= 0;
}

/* One of the failures, else 0 once some have ended. */
static void get_status(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_program *row = program(cell);
	int status = row->status;
	const char *name;

	value->is_unknown = !row->failed && row->unknown + row->running >= row->runs;
	if (value->is_unknown)
		return;
	name = WIFSIGNALED(status) ? hp_format_signal(WTERMSIG(status)) : NULL;
	if (name)
		hp_cell_set_text(cell, hp_xprintf("SIG%s", name), value);
	else if (WIFSIGNALED(status))
		hp_cell_set_text(cell, hp_xprintf("signal %d", WTERMSIG(status)), value);
	else
		hp_cell_set_text(cell, hp_xprintf("%d", WEXITSTATUS(status)), value);
}

static const struct hp_column columns[] = {
	{ "Program", "name", "name", HP_UNIT_NAME, .get = get_name },
	{ "Runs", "runs", "runs", HP_UNIT_COUNT, .member = HP_MEMBER(hp_program, runs) },
	{ "Wall", "wall", "wall_ns", HP_UNIT_TIME, .member = HP_MEMBER(hp_program, wall_ns) },
	{ "CPU", "cpu", "cpu_ns", HP_UNIT_TIME, .get = get_cpu,
	  .member = HP_MEMBER(hp_program, cpu_ns) },
	{ "% CPU", "cpu_percent", "cpu_percent", HP_UNIT_SHARE, .get = get_share,
	  .member = HP_MEMBER(hp_program, cpu_percent) },
	{ "Peak RSS", "peak_rss", "peak_rss_bytes", HP_UNIT_BYTES, .get = get_peak,
	  .member = HP_MEMBER(hp_program, peak_rss_bytes) },
	{ "Faults", "minor_faults", "minor_faults", HP_UNIT_COUNT, .get = get_cpu,
	  .member = HP_MEMBER(hp_program, minor_faults) },
	{ "Major", "major_faults", "major_faults", HP_UNIT_COUNT, .need = HP_NEED_ROOM,
	  .member = HP_MEMBER(hp_program, major_faults) },
	{ "Failed", "failed", "failed", HP_UNIT_COUNT, .get = get_failed,
	  .member = HP_MEMBER(hp_program, failed) },
	{ "Exit", "exit_status", "exit_status", HP_UNIT_TEXT, .get = get_status },
	{ NULL, "running", "running", HP_UNIT_COUNT, .member = HP_MEMBER(hp_program, running) },
	{ NULL, "unknown", "unknown", HP_UNIT_COUNT, .member = HP_MEMBER(hp_program, unknown) },
	{ 0 },
};

/* --- the section --- */

static void fill(struct hp_report *report, struct hp_list *list)
{
	const struct hp_programs *programs = hp_programs_of(report);

	list->total = programs->count;
	list->rows = hp_xcalloc(list->total, sizeof(*list->rows));
	for (size_t i = 0; i < list->total; i++)
		list->rows[i] = &programs->rows[i];
	hp_section_cut(&hp_processes_section, report, list);
}

/* A single process has all its figures in the first lines. */
static bool has_data(const struct hp_report *report)
{
	uint64_t runs = 0;

	for (size_t i = 0; i < report->model.run_count; i++)
		runs += report->model.runs[i].count;
	return runs > 1;
}

static const char *note(struct hp_report *report)
{
	const struct hp_programs *programs = hp_programs_of(report);
	struct hp_text_cell count, time;

	free(report->text);
	report->text = hp_xprintf("%s %s, CPU %s", hp_format_count(&count, programs->runs),
				  programs->runs == 1 ? "run" : "runs",
				  hp_format_time(&time, (double)programs->cpu_ns));
	return report->text;
}

/* Adds a sentence. */
static void say(struct hp_report *report, char *sentence)
{
	char *all = report->text[0] ? hp_xprintf("%s  %s", report->text, sentence)
				    : hp_xstrdup(sentence);

	free(report->text);
	free(sentence);
	report->text = all;
}

/* The time without a row. */
static const char *after(struct hp_report *report)
{
	const struct hp_programs *programs = hp_programs_of(report);
	struct hp_text_cell cell;
	uint64_t unmeasured = 0;

	for (size_t i = 0; i < programs->count; i++)
		unmeasured += programs->rows[i].unmeasured;
	free(report->text);
	report->text = hp_xstrdup("");
	if (unmeasured)
		say(report,
		    hp_xprintf(
			    "%s %s did not record %s end (killed, without exit(), or under a seccomp "
			    "filter): CPU time and memory are the last known values.",
			    hp_format_count(&cell, unmeasured), unmeasured == 1 ? "run" : "runs",
			    unmeasured == 1 ? "its" : "their"));
	if (programs->unrecorded)
		say(report,
		    hp_xprintf("%s %s not recorded: static, with other privileges, or started "
			       "without LD_PRELOAD.",
			       hp_format_count(&cell, programs->unrecorded),
			       programs->unrecorded == 1 ? "program was" : "programs were"));
	/* Of those that were killed, only some of it is known. */
	if ((programs->missing_ns || programs->ends_ns) && unmeasured)
		say(report, hp_xprintf("About %s more of the children's CPU time is in no row.",
				       hp_format_time(&cell, (double)(programs->missing_ns +
								      programs->ends_ns))));
	else if (programs->missing_ns)
		say(report, hp_xprintf("Children that are not listed took about %s of CPU time.",
				       hp_format_time(&cell, (double)programs->missing_ns)));
	else if (programs->ends_ns)
		say(report, hp_xprintf("After recording their ends, they took about %s more of "
				       "CPU time.",
				       hp_format_time(&cell, (double)programs->ends_ns)));
	return report->text[0] ? report->text : NULL;
}

static void add_head(struct hp_report *report, cJSON *list)
{
	const struct hp_programs *programs = hp_programs_of(report);

	hp_json_whole(list, "run_count", programs->runs);
	hp_json_whole(list, "cpu_ns", programs->cpu_ns);
	hp_json_whole(list, "unrecorded_count", programs->unrecorded);
	if (programs->is_missing_known)
		hp_json_whole(list, "missing_cpu_ns", programs->missing_ns);
	else
		cJSON_AddNullToObject(list, "missing_cpu_ns");
	hp_json_whole(list, "ends_cpu_ns", programs->ends_ns);
}

const struct hp_section hp_processes_section = {
	.key = "processes",
	.json = "processes",
	.name = "processes",
	.help = "processes by program: runs, CPU, memory, exit status",
	.subject = HP_SUBJECT_THREAD,
	.columns = columns,
	.fill = fill,
	.usual = LIMIT,
	.has_data = has_data,
	.about = "Processes by program.",
	.none = "no process was recorded: a static program, other privileges, or a full segment",
	.note = note,
	.after = after,
	.extra = { .head = add_head,
		   .list_keys =
			   "run_count:i cpu_ns:i unrecorded_count:i missing_cpu_ns:i? ends_cpu_ns:i" },
	.tool = { .help = "Processes by program: runs, CPU time, memory, page faults, failures.",
		  .meaning = "Each program with all its processes: number of runs, duration, "
			     "resources, and how they ended.",
		  .next = "functions_cpu for the programs' computing; offcpu for their waits." },
};
