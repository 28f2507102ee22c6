/* SPDX-License-Identifier: MIT */
/*
 * run.c - `hotpath run`: start a program with the library in it, and be its parent.
 *
 * Advantages over LD_PRELOAD alone: know how the program ended (exit code or
 * signal, CPU time, peak memory), have the sampler outside a container or
 * PID namespace that dies with the program, and return after the report is
 * printed, however the program ended.
 *
 *   segment, socket, sampler (our child); then vfork, exec of the program, which
 *   finds the session by HOTPATH_SESSION.  The program's end -> hp_header gets
 *   its status -> the sampler reports -> we end as the program did.
 *
 * The program keeps our process group, terminal, descriptors, signal mask and
 * dispositions.  Meanwhile we follow its stops: see follow.h.
 */
#include "report/command/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report/base/memory.h"
#include "report/base/option.h"
#include "report/base/place.h"
#include "report/command/follow.h"
#include "report/doctor/program.h"
#include "segment/clock.h"
#include "segment/defaults.h"
#include "segment/rights.h"
#include "segment/session.h"
#include "segment/setting.h"
#include "util/tell.h"

#define SHELL "/bin/sh"
#define EXIT_OURS 125
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND 127
#define SLICE_NS 50000000

extern char **environ;

static const struct hp_option_variable variables[] = {
	{ "report", 0, "HOTPATH_REPORT", NULL },
	{ "format", 'f', "HOTPATH_OUTPUT_FORMAT", NULL },
	{ "output", 'o', "HOTPATH_OUTPUT_PATH", NULL },
	{ "focus", 0, "HOTPATH_FOCUS", NULL },
	{ "percentiles", 0, "HOTPATH_PERCENTILES", NULL },
	{ "exact", 0, "HOTPATH_TIMING", "exact" },
	{ "limit", 'n', "HOTPATH_LIMIT", NULL },
	{ "cpu", 0, "HOTPATH_CPU", NULL },
	{ "only", 0, "HOTPATH_ONLY", NULL },
	{ "no-follow", 0, "HOTPATH_NO_FOLLOW", "1" },
	{ "color", 0, "HOTPATH_COLOR", NULL },
	{ "segment", 0, "HOTPATH_SEGMENT_PATH", NULL },
	{ NULL, 0, NULL, NULL },
};

static const char usage_text[] =
	"Usage: hotpath run [OPTIONS] [--] COMMAND [ARGUMENTS]\n\n"
	"Runs COMMAND with the profiler in it and prints a report on stderr when it\n"
	"ends, however it ends.  Exits as COMMAND did.\n\n"
	"      --report LIST          sections: auto, all, or names separated by commas\n"
	"  -f, --format FORMAT        table, json, json-pretty or none\n"
	"  -o, --output FILE          write the report to FILE, not stderr\n"
	"      --focus TEXT           only functions with TEXT, or /REGEX/\n"
	"      --percentiles LIST     percentile columns, e.g. 50,95,99.9\n"
	"      --exact                time every call, without sampling\n"
	"  -n, --limit N              rows of each section; 0 = all\n"
	"      --cpu SOURCE           CPU samples: auto, perf, timer, samply or off\n"
	"      --only NAME            record only processes of this name\n"
	"      --no-follow            do not record child processes\n"
	"      --color WHEN           auto, always or never\n"
	"      --segment FILE         keep the record, for hotpath report FILE\n"
	"  -h, --help                 this text\n\n"
	"Each option sets the HOTPATH_ variable that `hotpath help` lists.  For times\n"
	"of functions compile with $(hotpath flags cc).\n";

struct run {
	struct hp_settings settings;
	char defaults[HP_DEFAULTS_MAX];	/* the words of the program's defaults */
	struct hp_program program;
	struct hp_segment segment;
	struct hp_session session;
	char *preloaded;	/* LD_PRELOAD without us; NULL = not set */
	bool has_session;
	char **arguments;	/* of the program */
	char **with_shell;	/* the same for /bin/sh */
	struct hp_follow follow;
	pid_t pid;
	uint32_t pid_namespace;	/* 0 = unknown */
	volatile int exec_error;	/* written by the vfork child */
};

static void complain(void *context, const char *line)
{
	(void)context;
	hp_tell("hotpath: %s\n", line);
}

/* ---- options ---- */

/* An invalid value of an option: `context` is the option's variable. */
static void complain_option(void *context, const char *line)
{
	char *text = hp_option_complaint(context, line);

	hp_tell("hotpath run: %s\n", text);
	free(text);
}

static bool variable_set(void *command, const struct hp_option_variable *option, const char *value)
{
	struct run *run = command;

	if (strcmp(option->name, "report") == 0 && !hp_option_sections("hotpath run", value))
		return false;
	if (!hp_settings_set(&run->settings, option->variable, value, complain_option,
			     (void *)(uintptr_t)option->variable))
		return false;
	setenv(option->variable, value, 1);
	return true;
}

/* Returns the status to exit with, or -1 to continue. */
static int parse(struct run *run, int argc, char **argv)
{
	static const struct hp_option_table table = { .usage = usage_text,
						      .variables = variables,
						      .set = variable_set,
						      .ends_at_word = true };
	int status = hp_options_read(&table, run, argc, argv);

	if (status >= 0)
		return status ? EXIT_OURS : 0;
	if (optind >= argc) {
		hp_tell("hotpath run: no command given; see hotpath run --help\n");
		return EXIT_OURS;
	}
	run->arguments = argv + optind;
	return -1;
}

/* ---- the session ---- */

static bool preload(struct run *run, const char *library)
{
	const char *others = getenv("LD_PRELOAD");
	char *value;

	run->preloaded = others ? hp_xstrdup(others) : NULL;
	if (strpbrk(library, ": ")) {
		hp_tell("hotpath: LD_PRELOAD cannot hold '%s': it has a blank or a colon; "
			"HOTPATH_LIB may name a link to it\n",
			library);
		return false;
	}
	if (asprintf(&value, "%s%s%s", library, others && *others ? ":" : "",
		     others ? others : "") < 0)
		return false;
	setenv("LD_PRELOAD", value, 1);
	free(value);
	return true;
}

/* The library tries again by itself, except where it would say the same once more. */
static bool refuse(struct run *run, const char *what, int error)
{
	bool is_there = error == -EEXIST;

	hp_tell("hotpath: not profiled: %s: %s%s\n", what, strerror(-error),
		is_there ? "; remove that file, or name another" : "");
	if (is_there && run->preloaded)
		setenv("LD_PRELOAD", run->preloaded, 1);
	else if (is_there)
		unsetenv("LD_PRELOAD");
	hp_session_release(&run->session);
	hp_segment_release(&run->segment);
	return false;
}

static bool start_session(struct run *run)
{
	char folder[HP_HELPER_PATH], path[HP_HELPER_PATH], text[HP_SESSION_TEXT];
	struct hp_segment_wish wish = {
		.size = run->settings.segment_size,
		.path = run->settings.segment_path,
		.timing = run->settings.timing,
		.logs_limit = (uint32_t)run->settings.logs_limit,
		.runner_pid = (uint32_t)getpid(),
		.token = run->session.token,
	};

	hp_session_init(&run->session);
	hp_place_folder(folder);
	if (!hp_place_library(path, folder))
		return refuse(run, path, -ENOENT);
	if (!run->program.would_end && !preload(run, path))
		return false;
	int error = hp_segment_create(&run->segment, &wish);
	if (error)
		return refuse(run, run->segment.failed, error);
	run->session.defaults = run->program.defaults;
	run->session.begin = hp_begin_of(run->segment.header);
	hp_defaults_keep(&run->segment, run->program.defaults);
	error = hp_session_listen(&run->session);
	if (error)
		return refuse(run, run->session.failed, error);
	hp_session_helper_path(path, getenv("HOTPATH_BIN"), folder, "hotpath-sampler");
	error = hp_session_spawn_child(&run->session, &run->segment, path, environ);
	if (error)
		return refuse(run, path, error);
	hp_session_text(&run->session, text);
	setenv("HOTPATH_SESSION", text, 1);
	hp_session_release(&run->session);
	return true;
}

/* ---- the program ---- */

static void futex_wake(void *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/*
 * Once the sampler has been told the root's pid, in a way that no process of the session can forge,
 * the root may join without waiting for it to start.
 */
static void tell_root(const struct run *run)
{
	struct hp_header *header = run->segment.header;
	union sigval root = { .sival_int = getpid() };

	if (run->pid_namespace &&
	    sigqueue((pid_t)run->session.sampler_pid, HP_ROOT_SIGNAL, root) == 0)
		hp_segment_room(&run->segment)->pid_namespace = run->pid_namespace;
	header->root_pid = (uint32_t)root.sival_int;
	futex_wake(&header->root_pid);
}

/* In the vfork child: only system calls, and changes that the parent expects. */
static void be_program(struct run *run)
{
	if (run->has_session)
		tell_root(run);
	hp_follow_undo(&run->follow);
	execve(run->program.path, run->arguments, environ);
	run->exec_error = errno;
	if (errno != ENOEXEC)
		_exit(EXIT_OURS);
	run->exec_error = 0;
	execve(SHELL, run->with_shell, environ);
	run->exec_error = errno;
	_exit(EXIT_OURS);
}

/* A script without #! goes to the shell, as with execvp. */
static bool prepare_shell(struct run *run)
{
	static char shell[] = SHELL;
	size_t count = 0;

	while (run->arguments[count])
		count++;
	run->with_shell = calloc(count + 2, sizeof(*run->with_shell));
	if (!run->with_shell)
		return false;
	run->with_shell[0] = shell;
	run->with_shell[1] = run->program.path;
	memcpy(run->with_shell + 2, run->arguments + 1, count * sizeof(*run->with_shell));
	return true;
}

__attribute__((noinline)) static pid_t start_program(struct run *run)
{
	if (!prepare_shell(run))
		return -1;
	pid_t pid = vfork();
	if (pid == 0)
		be_program(run);
	return pid;
}

/* The kernel does not know our child: its return value is not reported as success. */
static int status_unknown(void)
{
	hp_tell("hotpath: exit status unknown: cannot wait for the program\n");
	return W_EXITCODE(EXIT_OURS, 0);
}

/* ---- the end ---- */

static void tell_status(struct hp_header *header, int status, const struct rusage *usage)
{
	header->root_status = (uint32_t)status;
	header->peak_rss_kb = (uint32_t)usage->ru_maxrss;
	header->root_cpu_ns =
		(uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000000 +
		(uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000;
	atomic_store_explicit(&header->status_known, 1, memory_order_release);
	futex_wake(&header->status_known);
}

/* It is our child; and the kernel marks the segment if it had started. */
static bool is_sampler_dead(const struct run *run)
{
	const struct hp_header *header = run->segment.header;

	return atomic_load(&header->sampler_pid) & HP_SAMPLER_DIED ||
	       waitpid((pid_t)run->session.sampler_pid, NULL, WNOHANG) > 0;
}

/* The program has already waited, and we share one time limit with it. */
static uint64_t time_left_ms(const struct run *run)
{
	uint32_t word = run->segment.header->end_word;
	uint64_t waited = word >= HP_END_WAITED ? word - HP_END_WAITED : 0;

	return waited < run->settings.exit_wait_ms ? run->settings.exit_wait_ms - waited : 0;
}

enum waited { REPORTED, LATE, SAMPLER_DEAD };

static enum waited wait_for_report(const struct run *run, uint64_t deadline)
{
	struct hp_header *header = run->segment.header;
	struct timespec slice = { 0, SLICE_NS };

	for (;;) {
		uint32_t word = atomic_load_explicit(&header->report_word, memory_order_acquire);

		if (word >= HP_REPORT_DONE)
			return REPORTED;
		if (is_sampler_dead(run))
			return SAMPLER_DEAD;
		if (hp_clock_raw_ns() >= deadline)
			return LATE;
		syscall(SYS_futex, &header->report_word, FUTEX_WAIT, word, &slice, NULL, 0);
	}
}

/* The sampler was killed: everything is in our own mapping. */
static void report_alone(struct run *run, uint64_t deadline)
{
	char folder[HP_HELPER_PATH], path[HP_HELPER_PATH];
	uint64_t now = hp_clock_raw_ns();

	hp_clock_note(run->segment.header);
	hp_place_folder(folder);
	hp_session_helper_path(path, getenv("HOTPATH_BIN"), folder, "hotpath");
	run->session.begin.root_pid = (uint32_t)run->pid;
	int error = hp_session_report_alone(&run->session, &run->segment, path, environ,
					    deadline > now ? (deadline - now) / 1000000 : 0);
	if (error)
		hp_tell("hotpath: no report: %s: %s\n", path, strerror(-error));
}

static void say_late(const struct hp_settings *settings)
{
	hp_tell("hotpath: the report is not ready after %.0f s; not waiting any longer%s\n",
		(double)settings->exit_wait_ms / 1000,
		settings->keep ? ", `hotpath report` will show it" : "");
}

static void end_session(struct run *run, int status, const struct rusage *usage)
{
	uint64_t deadline = hp_clock_raw_ns() + time_left_ms(run) * 1000000;

	tell_status(run->segment.header, status, usage);
	switch (wait_for_report(run, deadline)) {
	case REPORTED:
		break;
	case LATE:
		say_late(&run->settings);
		break;
	case SAMPLER_DEAD:
		if (run->settings.format != HP_FORMAT_NONE)
			report_alone(run, deadline);
	}
}

/* Nothing was run, so nothing needs to be reported. */
static int give_up(struct run *run, int error)
{
	const char *missing = run->program.missing;

	/* The file exists, so the kernel means its interpreter. */
	if (error == ENOENT && missing[0])
		hp_tell("hotpath: %s: its interpreter %s does not exist\n", run->arguments[0],
			missing);
	else
		hp_tell("hotpath: %s: %s\n", run->arguments[0], strerror(error));
	if (run->has_session)
		kill((pid_t)run->session.sampler_pid, SIGKILL);
	return error == ENOENT || error == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Ends as the program did; a second core file would hide the first. */
static int end_like(int status, const sigset_t *old_mask)
{
	static const struct rlimit none = { 0, 0 };

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	fflush(NULL);
	setrlimit(RLIMIT_CORE, &none);
	signal(WTERMSIG(status), SIG_DFL);
	sigset_t mask = *old_mask;
	sigdelset(&mask, WTERMSIG(status));
	sigprocmask(SIG_SETMASK, &mask, NULL);
	kill(getpid(), WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static int run_program(struct run *run)
{
	struct rusage usage = { 0 };

	run->has_session = start_session(run);
	run->pid_namespace = (uint32_t)hp_rights_namespace(AT_FDCWD, "/proc/self/ns/pid");
	hp_follow_begin(&run->follow);
	run->follow.is_attached_to = run->settings.cpu == HP_CPU_SAMPLY;
	run->pid = start_program(run);
	if (run->pid < 0) {
		int error = errno;

		give_up(run, error);
		return EXIT_OURS;
	}
	int status = hp_follow(&run->follow, run->pid, &usage);
	if (status < 0)
		status = status_unknown();
	if (run->exec_error)
		return give_up(run, run->exec_error);
	if (run->has_session)
		end_session(run, status, &usage);
	if (run->has_session && run->segment.header->shut_down)
		return 0;	/* as requested by HOTPATH_SHUTDOWN_MS */
	return end_like(status, &run->follow.old_mask);
}

/* Missing parts of the report, before the program prints its own. */
static void tell_obstacle(const struct run *run)
{
	const struct hp_program *program = &run->program;
	bool is_script = strcmp(program->checked, program->path) != 0;

	if (program->obstacle)
		hp_tell("hotpath: %s%s%s %s: the profiler cannot be loaded into it; only threads and "
			"CPU samples are reported\n",
			run->arguments[0], is_script ? ": its interpreter " : "",
			is_script ? program->checked : "", program->obstacle->what);
}

/* The shared AddressSanitizer ends a program in which another library was loaded before it. */
static void let_asan_be_second(void)
{
	const char *others = getenv("ASAN_OPTIONS");
	char *value;

	if (asprintf(&value, "%s%sverify_asan_link_order=0", others ? others : "",
		     others && *others ? ":" : "") < 0)
		return;
	setenv("ASAN_OPTIONS", value, 1);
	free(value);
}

/* helgrind and drd report the library's accesses as races, unless they get our suppressions. */
static void let_valgrind_suppress(void)
{
	const char *others = getenv("VALGRIND_OPTS");
	char folder[HP_HELPER_PATH], *file, *value;

	hp_place_folder(folder);
	file = hp_place_suppressions(folder);
	/* It separates options at blanks. */
	if (file && !strpbrk(file, " \t\n'\"")) {
		value = hp_xprintf("%s%s--suppressions=%s", others ? others : "",
				   others && *others ? " " : "", file);
		setenv("VALGRIND_OPTS", value, 1);
		free(value);
	}
	free(file);
}

static bool is_valgrind(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strcmp(slash ? slash + 1 : path, "valgrind") == 0;
}

static void meet_library(struct hp_program *program)
{
	char folder[HP_HELPER_PATH], library[HP_HELPER_PATH];

	hp_place_folder(folder);
	if (hp_place_library(library, folder))
		hp_program_meet(program, library);
}

int hp_cmd_run(int argc, char **argv)
{
	static struct run run;

	hp_settings_read(&run.settings, environ, complain, NULL);
	int result = parse(&run, argc, argv);
	if (result >= 0)
		return result;
	int error = hp_program_find(&run.program, run.arguments[0]);
	if (error) {
		hp_tell("hotpath: %s: %s\n", run.arguments[0], strerror(-error));
		return error == -EACCES ? EXIT_NOT_EXECUTABLE : EXIT_NOT_FOUND;
	}
	hp_program_inspect(&run.program);
	hp_settings_default(&run.settings, HP_SETTINGS_OF_PROGRAM, run.program.defaults,
			    run.defaults, complain, NULL);
	meet_library(&run.program);
	tell_obstacle(&run);
	if (run.program.has_asan)
		let_asan_be_second();
	if (is_valgrind(run.program.path))
		let_valgrind_suppress();
	run.segment = (struct hp_segment)HP_SEGMENT_NONE;
	return run_program(&run);
}
