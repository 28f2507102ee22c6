/* SPDX-License-Identifier: MIT */
/*
 * report.c - `hotpath report`: reads a run, prints the report.
 *
 * A user names a run, or gets the newest, and reads stdout. The helper process
 * passes an open segment (--fd) whose program has just ended; that report goes
 * to stderr, since stdout belongs to the program, and invalid settings were
 * already reported. Then the run is kept. (--again: the processes that outlived
 * the program have ended, too. --ready: the program still runs, so wait.)
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/section/cpu/annotate.h"
#include "report/section/timing/calls.h"
#include "report/command/command.h"
#include "report/command/output.h"
#include "report/command/trial.h"
#include "report/export/export.h"
#include "report/store/input.h"
#include "report/store/keep.h"
#include "report/store/parts.h"
#include "report/store/live.h"
#include "report/base/memory.h"
#include "report/base/option.h"
#include "report/view/page.h"
#include "report/export/profile_place.h"
#include "report/elf/dwarf.h"
#include "report/elf/symbol_file.h"
#include "report/view/view.h"
#include "segment/clock.h"
#include "segment/guard.h"
#include "segment/defaults.h"
#include "report/section/order.h"
#include "report/section/sections.h"
#include "segment/session.h"
#include "util/tell.h"

extern char **environ;

static const struct hp_option_variable variables[] = {
	{ "format", 'f', "HOTPATH_OUTPUT_FORMAT", NULL },
	{ "output", 'o', "HOTPATH_OUTPUT_PATH", NULL },
	{ "report", 'r', "HOTPATH_REPORT", NULL },
	{ "percentiles", 'p', "HOTPATH_PERCENTILES", NULL },
	{ "focus", 'F', "HOTPATH_FOCUS", NULL },
	{ "sort", 's', "HOTPATH_SORT", NULL },
	{ "limit", 'n', "HOTPATH_LIMIT", NULL },
	{ "depth", 'd', "HOTPATH_FUNCTIONS_NAME_DEPTH", NULL },
	{ "exclusive", 'e', "HOTPATH_TIME_EXCLUSIVE", "1" },
	{ "internals", 'i', "HOTPATH_INTERNALS", "1" },
	{ "inclusive", 'I', "HOTPATH_CPU_INCLUSIVE", "1" },
	{ "color", 'c', "HOTPATH_COLOR", NULL },
	{ "label", 'l', "HOTPATH_REPORT_LABEL", NULL },
	{ "all", 'a', "HOTPATH_REPORT", "auto" },
	{ "waits", 'w', "HOTPATH_REPORT", "waits,lock_order,waiting" },
	{ NULL, 0, NULL, NULL },
};

enum {
	FLAG_FD = 256,
	FLAG_AGAIN,
	FLAG_READY,
	FLAG_HEARD,
	FLAG_LATE,
	FLAG_PRINTED,
	FLAG_CALLERS,
	FLAG_CALLEES,
	FLAG_TREE,
	FLAG_ANNOTATE,
	FLAG_FOLDED,
	FLAG_EXPORT,
	FLAG_HTML,
	FLAG_MIN,
	FLAG_SESSION
};

#define LEAST_PERCENT 0.5

/* Options that are not variables. */
static const struct option others[] = {
	{ "fd", required_argument, NULL, FLAG_FD },
	{ "again", no_argument, NULL, FLAG_AGAIN },
	{ "ready", no_argument, NULL, FLAG_READY },
	{ "heard", no_argument, NULL, FLAG_HEARD },
	{ "late", no_argument, NULL, FLAG_LATE },
	{ "printed", no_argument, NULL, FLAG_PRINTED },
	{ "callers", required_argument, NULL, FLAG_CALLERS },
	{ "callees", required_argument, NULL, FLAG_CALLEES },
	{ "annotate", required_argument, NULL, FLAG_ANNOTATE },
	{ "tree", no_argument, NULL, FLAG_TREE },
	{ "folded", no_argument, NULL, FLAG_FOLDED },
	{ "export", required_argument, NULL, FLAG_EXPORT },
	{ "html", no_argument, NULL, FLAG_HTML },
	{ "least", required_argument, NULL, FLAG_MIN },
	{ "session", required_argument, NULL, FLAG_SESSION },
	{ NULL, 0, NULL, 0 },
};

struct ask {
	struct hp_settings settings;
	const char *path;	/* NULL = the newest kept run */
	int fd;	/* of a session that just ended; -1 = `path` */
	const char *session;	/* that continues */
	bool is_again;	/* and was reported when its root ended */
	bool is_ready;	/* the session has not ended: wait for a byte from the helper */
	bool is_heard;	/* the helper limits the time */
	enum hp_calls_kind calls;	/* requested instead of the sections */
	const char *function;	/* about this one */
	const char *
		annotate;	/* lines of this function instead of the sections; NULL = not requested */
	double least;	/* minimum percentage of the time for a row of these */
	const struct hp_export
		*export;	/* for another tool, instead of a report; NULL = not requested */
	bool is_html;	/* the web page instead of a report */
	bool is_folded;	/* collapsed stacks instead of a report */
	char defaults[HP_DEFAULTS_MAX];	/* of the program, and */
	char default_values[HP_DEFAULTS_MAX];	/* their words */
	bool is_limited;	/* set by a flag: it overrides the limits of the sections */
	bool is_sorted;	/* set by a flag: a word that is not a column is an error */
	struct hp_trial trial;	/* of the report of a session that ended */
};

static const char usage_text[] =
	"Usage: hotpath report [OPTION]... [FILE]\n"
	"Print the report of a run again: of the newest one, or of FILE, which is a file, -\n"
	"(stdin), or what `hotpath list` shows: a pid or a program's name.\n\n"
	"  -f, --format=WORD      table, json, json-pretty, none\n"
	"  -o, --output=FILE      write there instead of stdout; - is stdout\n"
	"  -a, --all              tables of all sections that have something to show\n"
	"  -r, --report=LIST      tables of these: functions-timing,calltree,threads; auto,-threads;\n"
	"                         short is the report of one screen, auto is --all\n"
	"  -p, --percentiles=LIST as in 50,95,99.9 (95); 0 = shortest, 100 = longest\n"
	"  -F, --focus=TEXT       only functions with this in their name, or /regex/\n"
	"  -s, --sort=WORD        total, self, calls, name\n"
	"                         or another column of a table, as in wait-avg, peak, p95\n"
	"  -n, --limit=N          rows of each section; 0 = all (15 functions, 5 threads)\n"
	"  -d, --depth=N          last parts of a::b::c to show; 0 = all (2)\n"
	"  -e, --exclusive        times without instrumented callees\n"
	"  -l, --label=TEXT       printed in the first line\n"
	"  -c, --color=WORD       auto, always, never\n"
	"  -I, --inclusive        CPU time of functions including callees\n"
	"  -i, --internals        the profiler's own functions one by one, not as [hotpath]\n"
	"  -w, --waits            waits so far and now, and for whom\n"
	"      --session=ID       of a running program: its pid, or as hotpath list shows\n"
	"      --callers=NAME     who calls this function, and from where, up to the top\n"
	"      --callees=NAME     its callees\n"
	"      --tree             the whole call tree\n"
	"      --annotate=NAME    the source lines of this function, with the CPU time of each\n"
	"      --least=PERCENT    of the time, for rows of these three (0.5)\n"
	"      --folded           collapsed stacks with own time in ns, for flame graphs\n"
	"      --html             a page for a browser, with the data inside (-o)\n"
	"      --export=FORMAT    for other tools: firefox, flamegraph (a page), folded, pprof;\n"
	"                         of memory: folded-bytes, -count, -live, -peak, -temporary,\n"
	"                         pprof-heap; of locks: pprof-mutex\n"
	"  -h, --help             this\n\n"
	"Each option above --session has a HOTPATH_ variable; the option wins.\n";

static void say_line(void *context, const char *line)
{
	(void)context;
	hp_tell("[hotpath] %s\n", line);
}

/* --- options --- */

/* The command's --limit overrides any variable. */
static void limit_settle(struct hp_settings *settings)
{
	settings->functions_limit = settings->threads_limit = HP_LIMIT_UNSET;
	settings->alloc_limit = HP_LIMIT_UNSET;
}

/* An invalid value of an option: `context` is the option's variable. */
static void say_option(void *context, const char *line)
{
	char *text = hp_option_complaint(context, line);

	fprintf(stderr, "hotpath report: %s\n", text);
	free(text);
}

static bool variable_set(void *command, const struct hp_option_variable *option, const char *value)
{
	struct ask *ask = command;

	ask->is_limited |= option->letter == 'n';
	ask->is_sorted |= option->letter == 's';
	if (option->letter == 'r' && !hp_option_sections("hotpath report", value))
		return false;
	return hp_settings_set(&ask->settings, option->variable, value, say_option,
			       (void *)(uintptr_t)option->variable);
}

/* The available columns depend on the sections that other options select. */
static bool sort_check(const struct ask *ask)
{
	char *fault = ask->is_sorted ? hp_sort_fault(&ask->settings) : NULL;

	if (fault)
		fprintf(stderr, "hotpath report: --sort: %s\n", fault);
	free(fault);
	return !fault;
}

static bool fd_read(const char *text, int *fd)
{
	char *end;
	long number = strtol(text, &end, 10);

	*fd = (int)number;
	return *text && !*end && number >= 0 && number < INT32_MAX;
}

static bool least_read(const char *text, double *percent)
{
	char *end;

	*percent = strtod(text, &end);
	if (*text && (!*end || strcmp(end, "%") == 0) && *percent >= 0 && *percent <= 100)
		return true;
	fprintf(stderr, "hotpath report: --least: '%s' is not a percentage; use 0 to 100\n", text);
	return false;
}

static bool calls_ask(struct ask *ask, enum hp_calls_kind kind, const char *function)
{
	if (ask->calls) {
		fprintf(stderr,
			"hotpath report: --callers, --callees and --tree exclude each other; use one\n");
		return false;
	}
	ask->calls = kind;
	ask->function = function;
	return true;
}

static bool export_ask(struct ask *ask, const char *format)
{
	ask->export = hp_export_find(format);
	if (!ask->export)
		fprintf(stderr, "hotpath report: --export: unknown format '%s'; use %s\n", format,
			hp_export_formats);
	return ask->export != NULL;
}

static bool option_take(void *command, int val, const char *value)
{
	struct ask *ask = command;

	switch (val) {
	case FLAG_FD:
		return fd_read(value, &ask->fd);
	case FLAG_AGAIN:
		return ask->is_again = true;
	case FLAG_READY:
		return ask->is_ready = ask->is_heard = true;
	case FLAG_HEARD:
		return ask->is_heard = true;
	case FLAG_LATE:
		return ask->trial.is_late = true;
	case FLAG_PRINTED:
		return ask->trial.has_printed = true;
	case FLAG_CALLERS:
		return calls_ask(ask, HP_CALLS_CALLERS, value);
	case FLAG_CALLEES:
		return calls_ask(ask, HP_CALLS_CALLEES, value);
	case FLAG_TREE:
		return calls_ask(ask, HP_CALLS_TREE, NULL);
	case FLAG_ANNOTATE:
		ask->annotate = value;
		return true;
	case FLAG_FOLDED:
		return ask->is_folded = true;
	case FLAG_HTML:
		return ask->is_html = true;
	case FLAG_EXPORT:
		return export_ask(ask, value);
	case FLAG_SESSION:
		ask->session = value;
		return true;
	default:	/* FLAG_MIN */
		return least_read(value, &ask->least);
	}
}

/* Returns -1 to continue, else the exit status. */
static int options_read(struct ask *ask, int argc, char **argv)
{
	static const struct hp_option_table table = { .options = others,
						      .usage = usage_text,
						      .take = option_take,
						      .variables = variables,
						      .set = variable_set };
	int status = hp_options_read(&table, ask, argc, argv);

	if (status >= 0)
		return status;
	if (!sort_check(ask))
		return HP_EXIT_USAGE;
	ask->path = argv[optind];
	if (argc - optind + (ask->fd >= 0) + !!ask->session <= 1)
		return -1;
	fprintf(stderr, "hotpath report: more than one FILE; see hotpath report --help\n");
	return HP_EXIT_USAGE;
}

/* --- input --- */

/* Another process truncated the file while it was read. */
static int say_cut(int status)
{
	if (!hp_guard_has_met())
		return status;
	fprintf(stderr, "hotpath: the segment was truncated while being read\n");
	return HP_EXIT_FAILED;
}

/* The segment of a session that just ended. */
static bool open_ended(const struct ask *ask, struct hp_input *input)
{
	enum hp_segment_fault fault;
	int levels[HP_LEVELS_MAX];

	*input = (struct hp_input){ .segment = HP_SEGMENT_NONE };
	fault = hp_segment_map_fd(&input->segment, ask->fd);
	if (fault == HP_SEGMENT_FINE) {
		hp_parts_join(&input->segment, ask->fd, levels, hp_parts_given(levels));
		return true;
	}
	fprintf(stderr, "hotpath: the segment %s\n", hp_segment_fault_text(fault));
	return false;
}

/* A running session: the current contents of its segment. */
static bool open_session(const struct ask *ask, struct hp_input *input)
{
	int fd = hp_live_open(ask->session);
	enum hp_segment_fault fault;

	*input = (struct hp_input){ .segment = HP_SEGMENT_NONE };
	if (fd < 0) {
		fprintf(stderr, "hotpath: session %s: %s; hotpath list shows running ones\n",
			ask->session,
			fd == -ENOENT	? "there is none"
			: fd == -EEXIST ? "there are several"
					: strerror(-fd));
		return false;
	}
	input->record.is_live = true;
	fault = hp_segment_map_fd(&input->segment, fd);
	if (fault == HP_SEGMENT_FINE)
		hp_parts_ask(&input->segment, fd);
	close(fd);
	if (fault != HP_SEGMENT_FINE)
		fprintf(stderr, "hotpath: session %s %s\n", ask->session,
			hp_segment_fault_text(fault));
	else
		input->segment.now = hp_clock_moment(input->segment.header->clock_kind);
	return fault == HP_SEGMENT_FINE;
}

static bool open_input(const struct ask *ask, struct hp_input *input)
{
	if (ask->fd >= 0)
		return open_ended(ask, input);
	return ask->session ? open_session(ask, input)
			    : hp_input_open(input, ask->path, hp_input_say, NULL);
}

/* --- output --- */

static void output_open(struct hp_output *output, const struct ask *ask)
{
	bool is_end = ask->fd >= 0;

	hp_output_open(output, ask->settings.output_path, is_end ? 2 : 1,
		       is_end ? hp_report_most_ms() : 0);
}

/* False = out of memory. */
static bool render(struct hp_report *report, const struct ask *ask, struct hp_output *output)
{
	struct hp_look look = hp_look_of(output->fd, &ask->settings);
	FILE *out = hp_output_stream(output);
	bool is_whole;

	if (!out)
		return false;
	if (ask->is_folded)
		hp_folded_write(report, out);
	else if (ask->settings.format == HP_FORMAT_TABLE)
		hp_text_write(report, &look, out);
	else
		hp_json_write(report, ask->settings.format == HP_FORMAT_JSON_PRETTY, out);
	is_whole = !ferror(out);
	return fclose(out) == 0 && is_whole;
}

/* The part that fits without waiting. */
static int print(struct hp_report *report, const struct ask *ask, struct hp_output *output)
{
	if (render(report, ask, output))
		return hp_output_begin(output);
	say_line(NULL, "cannot write the report: out of memory");
	return HP_EXIT_FAILED;
}

/* The last line: further questions about this run. It is kept, so the program need not run
 * again. */
static void hint(struct hp_report *report, const struct ask *ask, struct hp_output *output)
{
	struct hp_look look = hp_look_of(output->fd, &ask->settings);
	char *text = ask->settings.format == HP_FORMAT_TABLE ? hp_text_hint(report, &look) : NULL;

	if (text)
		hp_output_add(output, text);
}

/* Flags were applied already: this is only for the lines. */
static void settings_tell(void)
{
	struct hp_settings told;

	hp_settings_read(&told, environ, say_line, NULL);
}

#define LATE "reading the program's debug information took longer than 5 minutes: "
#define LATE_PRINTED LATE "the report above has no names from there"
#define LATE_KEPT LATE "this run is kept without names from there"
#define LATE_SHOWN LATE "names from there are left out"

/* The part that fits without waiting; returns the status. */
static int end_print(struct hp_report *report, const struct ask *ask, struct hp_output *output)
{
	output_open(output, ask);
	int status = print(report, ask, output);
	if (hp_output_is_done(output))
		hp_trial_printed(&ask->trial);
	return status;
}

/*
 * A session has ended: its report, and the kept file, which is written first if nobody
 * reads the report. `kept`: what remains to be cleaned up.
 */
static int end(struct hp_report *report, const struct ask *ask, struct hp_keeping **kept)
{
	const struct hp_settings *settings = &ask->settings;
	bool is_printed = settings->format != HP_FORMAT_NONE &&
			  (!ask->is_again || settings->output_path) && !ask->trial.has_printed;
	char *text = hp_facts_gather(&report->model, settings);
	struct hp_keep keep = { ask->fd, text, ask->is_again };
	struct hp_keeping *keeping = *kept = settings->keep ? hp_keep_begin(report, &keep) : NULL;
	struct hp_output output = { .fd = -1 };
	struct hp_facts facts;

	signal(SIGPIPE, SIG_IGN);	/* a vanished reader does not prevent keeping the run */
	hp_facts_init(&facts, hp_xstrdup(text));
	hp_keep_share(settings->keep != 0);
	report->record.facts = &facts;
	hp_report_init_rest(report, say_line, NULL);
	hp_profile_place(report, say_line, NULL);
	int status = is_printed ? end_print(report, ask, &output) : 0;
	if (ask->trial.is_late)
		say_line(NULL, is_printed ? LATE_PRINTED : LATE_KEPT);
	hp_profile_keep(report, say_line, NULL);
	bool is_kept = keeping && hp_keep_end(keeping, say_line, NULL);
	hp_trial_done(&ask->trial);
	if (is_printed && !status)
		status = hp_output_end(&output);
	if (is_printed && is_kept && !status)
		hint(report, ask, &output);
	status |= hp_output_close(&output);
	hp_facts_release(&facts);
	free(text);
	return status;
}

static int export(struct hp_report *report, const struct ask *ask)
{
	const char *missing = ask->export->missing(report);
	struct hp_output output;
	int error;

	if (missing) {
		fprintf(stderr, "hotpath report: nothing to export: %s\n", missing);
		return HP_EXIT_FAILED;
	}
	output_open(&output, ask);
	hp_output_begin(&output);	/* a file is empty then, */
	hp_output_end(&output);	/* and a pipe has a reader */
	error = ask->export->write(report, output.fd);
	if (hp_output_close(&output) && !error)
		error = -EIO;
	if (error)
		fprintf(stderr, "hotpath report: cannot write the profile: %s\n", strerror(-error));
	return error ? HP_EXIT_FAILED : 0;
}

/* A page of some 100 KB does not belong on a terminal. */
static int page_print(struct hp_report *report, const struct ask *ask)
{
	const char *path = ask->settings.output_path;
	int fd, error;

	if (!path && isatty(1)) {
		fprintf(stderr, "hotpath report: --html writes a page for a browser; say where: "
				"-o FILE.html\n");
		return HP_EXIT_USAGE;
	}
	fd = !path || strcmp(path, "-") == 0 ? 1 : hp_output_file(path);
	if (fd < 0) {
		fprintf(stderr, "hotpath report: %s: %s; name another file with -o\n", path,
			strerror(errno));
		return HP_EXIT_FAILED;
	}
	error = hp_page_write(report, fd);
	if (fd > 2 && close(fd) != 0 && !error)
		error = -errno;
	if (error)
		fprintf(stderr, "hotpath report: cannot write the page: %s\n", strerror(-error));
	return error ? HP_EXIT_FAILED : 0;
}

/* A user requests a run's report. */
static int show(struct hp_report *report, const struct ask *ask)
{
	struct hp_output output;
	int status;

	if (ask->trial.is_late)
		say_line(NULL, LATE_SHOWN);
	if (ask->export)
		return export(report, ask);
	if (ask->is_html)
		return page_print(report, ask);
	if (ask->settings.format == HP_FORMAT_NONE)
		return 0;
	if (ask->calls &&
	    !hp_calls_init(report, ask->calls, ask->function, ask->least, say_line, NULL))
		return HP_EXIT_FAILED;
	if (ask->annotate && !hp_annotation_init(report, ask->annotate, say_line, NULL))
		return HP_EXIT_FAILED;
	output_open(&output, ask);
	status = print(report, ask, &output);
	hp_trial_done(&ask->trial);
	if (!status)
		status = hp_output_end(&output);
	return hp_output_close(&output) | status;
}

/*
 * The program's own defaults.  At its end they are in the environment, as its first process had
 * them; a segment or a kept file may contain another user's claims by then.
 */
static void defaults_apply(struct ask *ask, const struct hp_segment *segment)
{
	const char *given = getenv(HP_DEFAULTS_VARIABLE);
	bool is_end = ask->fd >= 0;

	if (is_end)
		snprintf(ask->defaults, sizeof(ask->defaults), "%s", given ? given : "");
	else
		hp_defaults_read(segment, ask->defaults);
	hp_settings_default(&ask->settings, is_end ? HP_SETTINGS_OF_PROGRAM : HP_SETTING_OF_RECORD,
			    ask->defaults, ask->default_values, NULL, NULL);
}

/* Exports and pages are written as they are made: a reader of a pipe may be slow. */
static bool has_deadline(const struct ask *ask)
{
	struct stat status;

	if (ask->fd >= 0 || !(ask->export || ask->is_html))
		return true;
	return ask->settings.output_path || (fstat(1, &status) == 0 && S_ISREG(status.st_mode));
}

/*
 * 0 = the helper needs no report, or has ended; -1 = unknown, and the reason is printed.
 */
static int wait_for_end(void)
{
	ssize_t size;
	char byte;

	while ((size = read(0, &byte, 1)) < 0 && errno == EINTR)
		;
	if (size < 0)
		hp_tell("hotpath: no report: what the helper asks for cannot be read: %s; "
			"HOTPATH_SEGMENT_PATH=FILE keeps the data for `hotpath report FILE`\n",
			strerror(errno));
	return (int)size;
}

int hp_cmd_report(int argc, char **argv)
{
	struct ask ask = { .fd = -1, .least = LEAST_PERCENT, .trial = HP_TRIAL_NONE };
	struct hp_input input;
	struct hp_report report;
	struct hp_keeping *kept = NULL;
	int status;

	hp_settings_read(&ask.settings, environ, NULL, NULL);
	status = options_read(&ask, argc, argv);
	if (status >= 0)
		return status;
	if (ask.is_ready && (status = wait_for_end()) <= 0)
		return status < 0 ? HP_EXIT_FAILED : 0;
	if (ask.fd < 0) {
		settings_tell();
		hp_dwarf_allow_servers();
	}
	hp_guard_start();
	if (!open_input(&ask, &input))
		return HP_EXIT_FAILED;
	if (ask.is_heard)
		hp_trial_heard(&ask.trial);
	else if (has_deadline(&ask))
		hp_trial_begin(&ask.trial);
	if (ask.fd >= 0)
		hp_begin_read(&input.segment.begin, getenv(HP_BEGIN_VARIABLE));
	if (ask.trial.is_late)
		hp_symbol_files_leave("was not read in time");
	defaults_apply(&ask, &input.segment);
	if (ask.is_html && !ask.is_limited)
		ask.settings.limit = ask.settings.entries_limit;
	if (ask.is_limited || ask.is_html)
		limit_settle(&ask.settings);
	hp_report_begin(&report, &input.segment, &input.record, &ask.settings);
	if (ask.fd >= 0)
		hp_symbols_expect(report.symbols);
	if (ask.fd < 0) {
		hp_keep_share(ask.settings.keep != 0);
		hp_report_init_rest(&report, say_line, NULL);
	}
	status = ask.fd >= 0 ? end(&report, &ask, &kept) : show(&report, &ask);
	status = say_cut(status);
	hp_trial_end(&ask.trial, status);
	hp_trial_make_way(&ask.trial);
	if (kept)
		hp_keep_clean(kept);
	hp_trial_stand_back(&ask.trial);
	hp_report_release(&report);
	hp_input_release(&input);
	return status;
}
