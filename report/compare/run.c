/* SPDX-License-Identifier: MIT */
/*
 * run.c - see run.h.
 *
 * Each run is a separate `hotpath run` that leaves its segment in a file of a fresh folder.
 * The program's environment is the same as under `hotpath run`: only variables of our own
 * are set.  Before them, each command is run once as a warm-up: the first run of a
 * program reads its files from disk. Its duration also determines the sampling rate.
 *
 * The rate differs from pair to pair.  The kernel's clock samples at a fixed interval of CPU time.
 * If that is in a simple ratio to the period of a program's loop, all samples of a run meet the
 * same few places, and which ones is chance.  At one rate that is true of all runs of a program or
 * of none; at ten different rates it is true of one or two, and a rank test does not mind those.
 */
#include "report/compare/run.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/base/memory.h"
#include "report/base/place.h"

/*
 * Means of all pairs.  The fewer samples a run has, the larger a change must be to stand out: with
 * 60 of a function, 12 % from run to run.  Short runs get a higher rate.  A sample costs some 20 us,
 * but it pays: for runs of 0.12 s, a function's share varied by 3.4 to 4.7 % at 4400 a second, and by
 * 1.2 to 1.7 % at 8800, where runs took 9 % more CPU time.
 */
#define SAMPLES_HZ_MIN 999
#define SAMPLES_HZ_MAX 8800
#define SAMPLES_A_RUN 1000
#define RATES_APART 0.4	/* the highest less the lowest rate, as a part of their mean */
#define GOLDEN 0.6180339887	/* multiples, without whole parts, are spread evenly over 0 to 1 */
#define EXIT_NOT_RUN 125	/* and 126, 127: see report/command/run.h */
#define EXIT_NOT_RUN_LAST 127

extern char **environ;

/* Settings that must be the same for all runs. */
struct runner {
	const struct hp_compare_ask *ask;
	char folder[64];
	char *segment;
	char program[HP_HELPER_PATH];	/* hotpath-run */
	sigset_t interrupts;	/* which the terminal sends to all: they end the program, then us */
};

static bool folder_make(struct runner *runner)
{
	const char *place = getenv("TMPDIR");

	if (!place || *place != '/' || strlen(place) > 40)
		place = "/tmp";
	snprintf(runner->folder, sizeof(runner->folder), "%s/hotpath-XXXXXX", place);
	if (!mkdtemp(runner->folder)) {
		fprintf(stderr, "hotpath compare: no folder for the runs: %s: %s\n", place,
			strerror(errno));
		return false;
	}
	runner->segment = hp_xprintf("%s/run.hp", runner->folder);
	return true;
}

static void folder_remove(struct runner *runner)
{
	unlink(runner->segment);
	rmdir(runner->folder);
	free(runner->segment);
}

/* The report is made from the segment, by us; and only requested runs are kept. */
static void environment_set(const struct runner *runner)
{
	setenv("HOTPATH_OUTPUT_FORMAT", "none", 1);
	setenv("HOTPATH_KEEP", "0", 1);
	setenv("HOTPATH_METRICS_SERVER_OFF", "1", 1);
	setenv("HOTPATH_SEGMENT_PATH", runner->segment, 1);
}

static void rate_set(unsigned int hz)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", hz);
	setenv("HOTPATH_CPU_HZ", text, 1);
}

/* The rate that gives runs with this CPU time SAMPLES_A_RUN samples on average, within the limits. */
static double rate_for(double cpu_s)
{
	if (cpu_s * SAMPLES_HZ_MAX <= SAMPLES_A_RUN)
		return SAMPLES_HZ_MAX;
	return fmax(SAMPLES_HZ_MIN, SAMPLES_A_RUN / cpu_s);
}

/* Both runs of a pair have the same rate, so that they have the same cost. */
static unsigned int rate_of_pair(double mean, size_t pair)
{
	double place = fmod((double)pair * GOLDEN, 1) - 0.5;

	return (unsigned int)lrint(mean * (1 + RATES_APART * place));
}

static double cpu_seconds(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1e-6;
}

static void interrupts_ignore(struct runner *runner)
{
	sigemptyset(&runner->interrupts);
	for (size_t i = 0; i < 2; i++) {
		int number = i ? SIGQUIT : SIGINT;

		if (signal(number, SIG_IGN) != SIG_IGN)
			sigaddset(&runner->interrupts, number);
	}
}

/*
 * Returns the status as from wait(2), or -1: it could not be started. `usage` has the
 * resources of it and its children.
 */
static int run_once(struct runner *runner, char **command, size_t count, struct rusage *usage)
{
	static char name[] = "hotpath-run", end[] = "--";
	char **argv = hp_xcalloc(count + 3, sizeof(*argv));
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int status = -1, error;
	pid_t pid;

	argv[0] = name;
	argv[1] = end;
	memcpy(&argv[2], command, count * sizeof(*argv));
	unlink(runner->segment);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, runner->ask->input, O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &runner->interrupts);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	error = posix_spawn(&pid, runner->program, &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	free(argv);
	if (error) {
		fprintf(stderr, "hotpath compare: %s: %s\n", runner->program, strerror(error));
		return -1;
	}
	while (wait4(pid, &status, 0, usage) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

/* hotpath-run has reported a program that could not start; a crash is reported here. */
static bool is_good(int status, const char *command)
{
	if (status == -1)
		return false;
	if (WIFSIGNALED(status)) {
		fprintf(stderr,
			"hotpath compare: %s was ended by signal %d (%s), so it is not compared\n",
			command, WTERMSIG(status), strsignal(WTERMSIG(status)));
		return false;
	}
	return WEXITSTATUS(status) < EXIT_NOT_RUN || WEXITSTATUS(status) > EXIT_NOT_RUN_LAST;
}

static bool run_add(struct hp_compare *compare, const struct runner *runner, size_t place,
		    hp_compare_seen *seen, void *context)
{
	cJSON *report = hp_compare_load(runner->segment, seen, context);

	if (!report)
		return false;
	hp_compare_add(compare, place, report);
	/* Alternating, whatever the clock says. */
	compare->runs[place].started =
		(double)(place < compare->a.count ? 2 * place : 2 * (place - compare->a.count) + 1);
	cJSON_Delete(report);
	return true;
}

static void progress_show(size_t done, size_t all)
{
	if (!isatty(2))
		return;
	if (done < all)
		fprintf(stderr, "\rrun %zu of %zu", done + 1, all);
	else
		fputs("\r\033[K", stderr);
}

bool hp_compare_run_all(struct hp_compare *compare, const struct hp_compare_ask *ask,
			hp_compare_seen *seen, void *const contexts[2])
{
	struct runner runner = { .ask = ask };
	char folder[HP_HELPER_PATH];
	bool is_fine = true, is_rate_ours = !getenv("HOTPATH_CPU_HZ");
	double least_s = INFINITY, rate = SAMPLES_HZ_MIN;

	hp_place_folder(folder);
	hp_session_helper_path(runner.program, getenv("HOTPATH_BIN"), folder, "hotpath-run");
	if (!folder_make(&runner))
		return false;
	environment_set(&runner);
	interrupts_ignore(&runner);
	if (is_rate_ours)
		rate_set(SAMPLES_HZ_MIN);
	/* Counts need no warm files. */
	size_t first = ask->runs < HP_COMPARE_RUNS_MIN ? 2 : 0;
	for (size_t i = first; is_fine && i < 2 * (ask->runs + 1); i++) {
		char **command = i % 2 ? ask->b : ask->a;
		struct rusage usage = { 0 };

		progress_show(i - first, 2 * (ask->runs + 1) - first);
		if (i >= 2 && i % 2 == 0 && is_rate_ours)
			rate_set(rate_of_pair(rate, i / 2));
		is_fine = is_good(run_once(&runner, command, i % 2 ? ask->b_count : ask->a_count,
					   &usage),
				  command[0]);
		least_s = fmin(least_s, cpu_seconds(&usage));
		if (i == 1)
			rate = rate_for(least_s);
		if (is_fine && i >= 2)
			is_fine = run_add(compare, &runner,
					  i / 2 - 1 + (i % 2 ? compare->a.count : 0), seen,
					  contexts[i % 2]);
	}
	progress_show(1, 1);
	folder_remove(&runner);
	return is_fine;
}
