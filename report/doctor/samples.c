/* SPDX-License-Identifier: MIT */
/*
 * samples.c - sources of CPU samples besides perf events: timers in the
 * program, and samply.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "report/base/capture.h"
#include "report/doctor/check.h"
#include "report/base/memory.h"
#include "segment/session.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define SIGNAL_SETXID 33	/* the signal of preload/wait/cpu_timer.c, reserved by glibc */
#define SAMPLY_PARANOID_MAX 1	/* highest kernel.perf_event_paranoid with which samply works */

/* --- timers --- */

enum { TIMERS_FINE, TIMERS_REFUSED, TIMERS_NO_SIGNAL };

/* Creates a timer on this thread's user time, as the library does; it is never armed. */
static bool can_make_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	clockid_t user_time = (clockid_t)(~(unsigned)gettid() << 3 | 4 | 1);
	int id;

	if (syscall(SYS_timer_create, user_time, &event, &id) < 0)
		return false;
	syscall(SYS_timer_delete, id);
	return true;
}

static size_t look_timers(struct hp_patient *patient, struct hp_finding *finding)
{
	struct timespec tick = { 0, 0 };

	(void)patient;
	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	if (SIGRTMIN != SIGNAL_SETXID + 1) {
		finding->found = hp_xprintf(
			"SIGRTMIN is %d: the C library does not reserve signal 33", SIGRTMIN);
		return TIMERS_NO_SIGNAL;
	}
	bool can = can_make_timer();
	finding->found = can ? hp_xprintf("CPU timers can be made; the kernel ticks every %.3g ms",
					  (double)tick.tv_nsec / 1e6)
			     : hp_xstrdup("timer_create on a thread's user time is refused");
	return can ? TIMERS_FINE : TIMERS_REFUSED;
}

/* --- samply --- */

enum { SAMPLY_FINE, SAMPLY_PARANOID, SAMPLY_NO_WRAPPER, SAMPLY_LOST };

/* Its version text; NULL = it does not start. */
static char *samply_version(void)
{
	static char name[] = "samply", version[] = "--version";
	const char *wish = getenv("HOTPATH_SAMPLY_BIN"), *home = getenv("HOME");
	char *usual = hp_xprintf("%s/.cargo/bin/samply", home ? home : "");
	char *places[] = { wish && *wish ? (char *)(uintptr_t)wish : name, usual };
	char *text = NULL;

	for (size_t i = 0; !text && i < (wish && *wish ? 1 : COUNT(places)); i++) {
		char *argv[] = { places[i], version, NULL };
		struct hp_capture capture;

		hp_capture_init(&capture, argv, NULL);
		if (capture.status == 0)
			text = hp_xprintf("%.*s", (int)strcspn(capture.out, "\n"), capture.out);
		hp_capture_release(&capture);
	}
	free(usual);
	return text;
}

static bool has_wrapper(const struct hp_patient *patient)
{
	const char *wish = getenv("HOTPATH_SAMPLY_WRAPPER_BIN");
	char path[HP_HELPER_PATH];

	return wish && *wish ? access(wish, X_OK) == 0
			     : hp_session_helper_path(path, getenv("HOTPATH_BIN"), patient->folder,
						      "hotpath-samply");
}

static size_t look_samply(struct hp_patient *patient, struct hp_finding *finding)
{
	char *level = hp_first_line("/proc/sys/kernel/perf_event_paranoid");
	bool is_paranoid = level && strtol(level, NULL, 10) > SAMPLY_PARANOID_MAX;
	char *version = samply_version();

	finding->found = version ? hp_xprintf("%s%s%s", version,
					      is_paranoid ? "; perf_event_paranoid = " : "",
					      is_paranoid ? level : "")
				 : hp_xstrdup("samply is in neither PATH nor ~/.cargo/bin");
	bool is_there = version != NULL;
	free(version);
	free(level);
	if (!is_there)
		return SAMPLY_LOST;
	if (!has_wrapper(patient))
		return SAMPLY_NO_WRAPPER;
	return is_paranoid ? SAMPLY_PARANOID : SAMPLY_FINE;
}

#define OWN "our own samples: they do not need it"

static const struct hp_check checks[] = {
	{ "timers",
	  look_timers,
	  { [TIMERS_FINE] = { HP_LEVEL_OK,
			      "HOTPATH_CPU=timer: samples without any permission, one per tick",
			      NULL, NULL },
	    [TIMERS_REFUSED] = { HP_LEVEL_OK, "samples by the kernel's counters",
				 "HOTPATH_CPU=timer", "a filter that lets timer_create through" },
	    [TIMERS_NO_SIGNAL] = { HP_LEVEL_OK, "samples by the kernel's counters",
				   "HOTPATH_CPU=timer", "a program linked with glibc" } } },
	{ "samply",
	  look_samply,
	  { [SAMPLY_FINE] = { HP_LEVEL_OK, "HOTPATH_CPU=samply", NULL, NULL },
	    [SAMPLY_PARANOID] = { HP_LEVEL_OK, OWN, "HOTPATH_CPU=samply: samply refuses",
				  "sysctl kernel.perf_event_paranoid=1" },
	    [SAMPLY_NO_WRAPPER] = { HP_LEVEL_OK, OWN,
				    "HOTPATH_CPU=samply: hotpath-samply is missing",
				    "make install, or "
				    "HOTPATH_SAMPLY_WRAPPER_BIN=/path/of/hotpath-samply" },
	    [SAMPLY_LOST] = { HP_LEVEL_OK, OWN, "HOTPATH_CPU=samply",
			      "cargo install --locked samply@0.13.1" } } },
};

const struct hp_check_group hp_check_samples = { "other ways to samples", checks, COUNT(checks) };
