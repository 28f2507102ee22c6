/* SPDX-License-Identifier: MIT */
/*
 * start.c - start and end of the library in a process.
 *
 * The start runs in our constructor (load.c), or before it in the first hook: other
 * libraries' constructors may be instrumented and run earlier.  If anything fails,
 * the program runs as without us, and one line says why.
 */
#include "preload/hook/start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/call/block.h"
#include "preload/call/leave.h"
#include "preload/channel/channel.h"
#include "preload/guest/above.h"
#include "preload/guest/begin.h"
#include "preload/guest/bulky.h"
#include "preload/guest/confine.h"
#include "preload/guest/dynamic.h"
#include "preload/guest/pages.h"
#include "preload/guest/readable.h"
#include "preload/guest/real.h"
#include "preload/guest/say.h"
#include "preload/guest/self.h"
#include "preload/guest/ticks.h"
#include "preload/guest/verbose.h"
#include "preload/heap/heap.h"
#include "preload/heap/leak.h"
#include "preload/heap/operator.h"
#include "preload/hook/helper.h"
#include "preload/lock/lock.h"
#include "preload/thread/account.h"
#include "preload/thread/level.h"
#include "preload/thread/process.h"
#include "preload/thread/room.h"
#include "preload/thread/state.h"
#include "preload/wait/cpu_timer.h"
#include "preload/wait/offcpu_note.h"
#include "segment/clock.h"
#include "segment/defaults.h"
#include "segment/session.h"
#include "segment/setting.h"

#define HP_SESSION_VARIABLE "HOTPATH_SESSION"
#define LINKS_MAX 8	/* chained links; the kernel follows 40 */
#define HP_SESSION_OFF "off"	/* its value for excluded processes */

extern char **environ;
/*
 * Functions that only glibc has; strerrordesc_np since 2.32. Under another C
 * library we do nothing.
 */
extern int on_exit(void (*)(int, void *), void *) __attribute__((weak));
extern int __cxa_at_quick_exit(void (*)(void *), void *) __attribute__((weak));
extern const char *strerrordesc_np(int) __attribute__((weak));
extern const char *gnu_get_libc_version(void) __attribute__((weak));

static _Atomic uintptr_t finisher;	/* the thread in exit() that waits for the report */
static bool is_told;	/* `finish` runs as a handler of on_exit */
static bool is_told_quick;	/* `finish_quick` runs as a handler of at_quick_exit */
static _Atomic int64_t quick_code = -1;	/* code of the last quick_exit, as unsigned */
static uint64_t exit_wait_ms = HP_EXIT_WAIT_MS;
static uint64_t start_since_ns;	/* CPU time of the process when we began */
static bool is_loading;	/* our constructor runs */
static struct hp_session session;
HP_SCRATCH static char directory[PATH_MAX];	/* of this library, in the session's first process */
static const char *library_file = "";
static char library[64];	/* its file's name */
HP_SCRATCH static char defaults[HP_DEFAULTS_MAX];	/* this program's own settings, and */
HP_SCRATCH static char default_values[HP_DEFAULTS_MAX];	/* its words */
HP_SCRATCH static char shared_defaults[HP_DEFAULTS_MAX];	/* those of the session's first program */
HP_SCRATCH static char shared_values[HP_DEFAULTS_MAX];
static char session_entry[sizeof(HP_SESSION_VARIABLE) + HP_SESSION_TEXT];

static void complain(void *context, const char *line)
{
	(void)context;
	hp_say(line, NULL);
}

/* A text for -errno; strerror would allocate and translate. */
static const char *reason(int error)
{
	const char *text = strerrordesc_np ? strerrordesc_np(-error) : NULL;
	static char number[] = "error 000";
	char *end = number + sizeof(number) - 1;

	for (int i = 0, value = -error; i < 3; i++, value /= 10)
		*--end = (char)('0' + value % 10);
	return text ? text : number;
}

/*
 * The environment that configures library, helper and report. After clearenv()
 * it is the initial one: the texts are still where the kernel put them.
 */
static char **first_environment;

static char **environment(void)
{
	return environ && *environ ? environ : first_environment;
}

/* getenv without the C library's lock. */
static const char *variable(const char *name)
{
	size_t length = strlen(name);

	for (char **e = environment(); e && *e; e++)
		if (strncmp(*e, name, length) == 0 && (*e)[length] == '=')
			return *e + length + 1;
	return NULL;
}

static bool is_entry(const char *text)
{
	return strncmp(text, HP_SESSION_VARIABLE "=", sizeof(HP_SESSION_VARIABLE)) == 0;
}

static void note_entry(const char *value)
{
	strcpy(session_entry, HP_SESSION_VARIABLE "=");
	strncat(session_entry, value, HP_SESSION_TEXT - 1);
}

/*
 * Children find the session by this variable. setenv would allocate with the
 * program's malloc, so the array is copied into our pages, without the entry of
 * an ended session. main's third argument is this copy: glibc reads environ
 * when it calls main.
 */
static void publish(const char *value)
{
	size_t count = 0;
	char **copy;

	note_entry(value);
	for (char **e = environment(); e && *e; e++)
		count++;
	copy = hp_pages((count + 2) * sizeof(*copy));
	if (!copy)
		return;
	count = 0;
	for (char **e = environment(); e && *e; e++)
		if (!is_entry(*e))
			copy[count++] = *e;
	copy[count] = session_entry;
	environ = first_environment = copy;
}

/* A confined process's child inherits the filter, which may forbid our start. */
static const char *entry_for_child(void)
{
	return hp_is_confined() ? HP_SESSION_VARIABLE "=" HP_SESSION_OFF : session_entry;
}

/* `known` is the last page that was found readable. */
static bool is_readable(const void *at, uintptr_t *known)
{
	uintptr_t page = (uintptr_t)at / HP_PAGE;

	if (page != *known && !hp_readable_few((uintptr_t)at, 1))
		return false;
	*known = page;
	return true;
}

static bool is_text(const char *text, uintptr_t *known)
{
	while (is_readable(text, known))
		if (!*text++)
			return true;
	return false;
}

/* The program's array may be invalid: then the kernel refuses it, as without us. */
static bool is_array(char *const *environment)
{
	uintptr_t array = 0, text = 0;

	if (environment == environ || hp_is_confined())
		return true;
	for (; is_readable(environment, &array); environment++) {
		if (!*environment)
			return true;
		if (!is_text(*environment, &text))
			return false;
	}
	return false;
}

size_t hp_start_environment_size(char *const *environment)
{
	bool loads_us = false;
	size_t count = 0;

	if (!session_entry[0] || !library[0] || !environment || !is_array(environment))
		return 0;
	for (; environment[count]; count++) {
		const char *e = environment[count];

		if (is_entry(e) && !hp_is_confined())
			return 0;
		loads_us |= strncmp(e, "LD_PRELOAD=", 11) == 0 && strstr(e, library);
	}
	return loads_us ? count + 2 : 0;
}

char *const *hp_start_environment(char **copy, char *const *environment, size_t size)
{
	size_t count = 0;

	if (size == 0)
		return environment;
	for (; *environment; environment++)
		if (!is_entry(*environment))
			copy[count++] = *environment;
	copy[count++] = (char *)(uintptr_t)entry_for_child();
	copy[count] = NULL;
	return copy;
}

/* Replaces `path` with its link target; false = not a link. */
static bool follow_link(char path[PATH_MAX])
{
	char target[PATH_MAX];
	char *slash = strrchr(path, '/');
	ssize_t size = readlink(path, target, sizeof(target) - 1);
	size_t start = size > 0 && target[0] != '/' && slash ? (size_t)(slash + 1 - path) : 0;

	if (size <= 0 || start + (size_t)size >= PATH_MAX)
		return false;
	memcpy(path + start, target, (size_t)size);
	path[start + (size_t)size] = 0;
	return true;
}

/* The path and name of this library's file. */
static void find_library(void)
{
	const char *file = hp_dynamic_at((uintptr_t)hp_start).file;
	const char *slash;

	if (!file || strlen(file) >= sizeof(directory))
		return;
	library_file = file;
	slash = strrchr(file, '/');
	const char *name = slash ? slash + 1 : file;
	memcpy(library, name, strnlen(name, sizeof(library) - 1));
}

/* The helpers are beside the real file, not beside links to it. */
static void find_directory(void)
{
	char *slash;

	strcpy(directory, library_file);
	for (int i = 0; i < LINKS_MAX && follow_link(directory); i++)
		;
	slash = strrchr(directory, '/');
	if (slash)
		*slash = 0;
	else
		strcpy(directory, ".");
}

static void start_sampler(void)
{
	char path[HP_HELPER_PATH];
	char text[HP_SESSION_TEXT];
	int error = hp_session_listen(&session);

	if (!hp_session_helper_path(path, variable("HOTPATH_BIN"), directory, "hotpath-sampler")) {
		hp_say("no helper program ", path,
		       ", so there will be no report; HOTPATH_BIN names the folder of hotpath-sampler",
		       NULL);
		publish(HP_SESSION_OFF);	/* each program that it starts would say the same */
		return;
	}
	if (error == 0)
		error = hp_session_spawn(&session, &hp_segment, path, environment());
	if (error)
		hp_say("cannot start the helper process: ", session.failed ? session.failed : path,
		       ": ", reason(error), "; the report is made when the program exits", NULL);
	hp_session_text(&session, text);
	publish(text);
	hp_helper_hide(session.sampler_pid);
	if (getpid() == 1)
		hp_say("process 1 of this container is profiled: start it with hotpath-run to get a "
		       "report even if the container is killed",
		       NULL);
}

/* Many places hold addresses in the segment, so it only moves while nobody else can use them. */
static bool is_single(void)
{
	char text[1024];
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC);
	long size = fd < 0 ? -1 : syscall(SYS_read, fd, text, sizeof(text) - 1);
	const char *at;

	if (fd >= 0)
		syscall(SYS_close, fd);
	text[size > 0 ? size : 0] = 0;
	at = strrchr(text, ')');
	for (int field = 2; at && field < 20; field++)	/* num_threads */
		at = strchr(at + 1, ' ');
	return at && strncmp(at, " 1 ", 3) == 0;
}

int hp_start_enter(void)
{
	int fd = hp_session_ask(&session, &hp_segment), error = fd;

	if (fd < 0)
		return error;
	error = hp_segment_enter(&hp_segment, fd, is_single());
	syscall(SYS_close, fd);
	return error;
}

/* The program's code runs after our constructor, or it runs now: it called the first hook. */
static void level_begin(void)
{
	hp_level_begin(session.user_namespace);
	hp_level_is_fresh = is_loading;
}

static bool make_session(const struct hp_settings *settings)
{
	struct hp_segment_wish wish = {
		.size = settings->segment_size,
		.path = settings->segment_path,
		.timing = settings->timing,
		.logs_limit = (uint32_t)settings->logs_limit,
		.root_pid = (uint32_t)getpid(),
	};
	int error;

	hp_session_init(&session);
	wish.token = session.token;
	error = hp_segment_create(&hp_segment, &wish);
	if (error) {
		hp_say("not profiled: ", hp_segment.failed ? hp_segment.failed : "no shared memory",
		       ": ", reason(error),
		       error == -EEXIST ? "; remove that file, or name another"
					: "; HOTPATH_SEGMENT_SIZE or HOTPATH_SEGMENT_PATH may help",
		       NULL);
		publish(HP_SESSION_OFF);
		hp_segment.header = NULL;
		return false;
	}
	level_begin();
	session.defaults = defaults;
	session.begin = hp_begin_of(hp_segment.header);
	hp_defaults_keep(&hp_segment, defaults);
	start_sampler();
	hp_session_release(&session);
	hp_segment_close_fd(&hp_segment);
	return true;
}

static bool join_session(const char *text)
{
	if (!text || hp_session_join(&session, &hp_segment, text) != 0)
		return false;
	level_begin();
	hp_segment_close_fd(&hp_segment);
	return true;
}

/*
 * HOTPATH_ONLY: excludes other programs of the session. The kernel's process
 * name has 15 characters; the full name is the file's.
 */
static bool is_wanted(const struct hp_settings *settings)
{
	const char *file = (const char *)getauxval(AT_EXECFN);
	const char *slash = file ? strrchr(file, '/') : NULL;
	char name[16] = "";

	if (!settings->only || (file && strcmp(slash ? slash + 1 : file, settings->only) == 0))
		return true;
	syscall(SYS_prctl, PR_GET_NAME, name);
	return strcmp(name, settings->only) == 0;
}

/*
 * Environment, then defaults. Those of the session's first program apply to
 * all, but any member may have changed them: a joining process only takes
 * settings that control recording. The root under `hotpath run` also joins, and
 * has the others itself.
 */
static void settings_read(struct hp_settings *settings, bool joined)
{
	bool is_root = !joined || hp_segment.header->root_pid == (uint32_t)getpid();

	hp_settings_read(settings, environment(), joined ? NULL : complain, NULL);
	if (is_root) {
		hp_block_defaults(defaults);
		hp_settings_default(settings, joined ? HP_SETTING_OF_START : HP_SETTINGS_OF_PROGRAM,
				    defaults, default_values, joined ? NULL : complain, NULL);
	}
	/* Without any, the pages of these texts are not touched. */
	if (!joined || !hp_segment.header->defaults)
		return;
	hp_defaults_read(&hp_segment, shared_defaults);
	hp_settings_default(settings, HP_SETTING_OF_RECORD, shared_defaults, shared_values, NULL,
			    NULL);
}

bool hp_start_session(void)
{
	const char *text = variable(HP_SESSION_VARIABLE);
	struct hp_settings settings;
	bool joined;

	if (!gnu_get_libc_version)
		return false;
	hp_real();
	hp_operator_configure();
	find_library();
	if (text)
		note_entry(text);
	/* No system call up to here: the parent's filter may forbid any. */
	if (text && strcmp(text, HP_SESSION_OFF) == 0)
		return false;
	start_since_ns = hp_account_cpu_ns();
	joined = join_session(text);
	if (joined)
		hp_helper_hide(session.sampler_pid);
	/* Others start no processes of ours. */
	if (!joined || hp_segment.header->root_pid == (uint32_t)getpid())
		find_directory();
	settings_read(&settings, joined);
	exit_wait_ms = settings.exit_wait_ms;
	if (!joined && !make_session(&settings))
		return false;
	if (settings.no_follow)
		publish(HP_SESSION_OFF);
	if (!hp_ticks_begin())
		return false;
	hp_verbose_begin(&hp_segment, &settings);
	hp_room_init();
	if (!hp_self_init()) {
		hp_say("not profiled: no memory, or a kernel before 4.14", NULL);
		return false;
	}
	hp_self->spent = session.spent;
	if (!is_wanted(&settings))
		return false;
	HP_ABOVE(configure, &settings, !joined);
	HP_ABOVE(started);
	hp_account_started(start_since_ns);
	return true;
}

/* Not the thread's id: an excluded program may forbid that system call. */
static uintptr_t self(void)
{
	return (uintptr_t)pthread_self();
}

/* The helper process is gone, so nobody else prints the report. */
static void report_alone(uint64_t wait_ms)
{
	char path[HP_HELPER_PATH];
	int error = -ENOENT;

	if (!hp_ticks_are_forbidden())
		hp_clock_note(hp_segment.header);	/* nobody else will do it */
	if (hp_session_helper_path(path, variable("HOTPATH_BIN"), directory, "hotpath"))
		error = hp_session_report_alone(&session, &hp_segment, path, environment(),
						wait_ms);
	if (error)
		hp_say("no report: the helper process has ended, and ", path,
		       " did not run: ", reason(error), NULL);
}

/* Its later location: the helper has our initial environment. */
static void tell_late(void)
{
	const char *keep = variable("HOTPATH_KEEP");
	const char *place = variable("XDG_STATE_HOME"), *home = variable("HOME");
	const char *longer = exit_wait_ms == HP_EXIT_WAIT_MS
				     ? "the report takes longer than 5 s"
				     : "the report takes longer than HOTPATH_EXIT_WAIT_MS";
	bool has_place = place && *place == '/';

	if (keep && strcmp(keep, "0") == 0)
		hp_say(longer, " and is not ready", NULL);
	else if (!has_place && (!home || *home != '/'))
		hp_say(longer, "; `hotpath report` will show it", NULL);
	else
		hp_say(longer, "; it will be in ", has_place ? place : home,
		       has_place ? "/hotpath" : "/.local/state/hotpath", ", for `hotpath report`",
		       NULL);
}

/* Then `hotpath run` does the rest in the remaining time. */
static bool leave_to_runner(uint64_t waited_ms)
{
	uint32_t runner = hp_segment.header->runner_pid;

	if (!runner || runner != (uint32_t)syscall(SYS_getppid))
		return false;
	atomic_store_explicit(&hp_segment.header->end_word, HP_END_WAITED + (uint32_t)waited_ms,
			      memory_order_relaxed);
	return true;
}

static void finish_session(void)
{
	uint64_t began = hp_clock_raw_ns();

	if (hp_local()->state == HP_THREAD_OPEN)
		hp_leave_late(hp_local());
	hp_verbose_end(&hp_segment);
	/* Not in a shared segment: the helper detects the end by itself. */
	if (hp_level_is_out())
		return;
	enum hp_session_outcome outcome = hp_session_end(hp_segment.header, exit_wait_ms);
	uint64_t waited_ms = (hp_clock_raw_ns() - began) / 1000000;

	if (leave_to_runner(waited_ms) || outcome < HP_SESSION_SAMPLER_DEAD)
		return;
	if (outcome == HP_SESSION_LATE)
		tell_late();
	else
		report_alone(waited_ms < exit_wait_ms ? exit_wait_ms - waited_ms : 0);
}

/* exit() runs this last: after the handlers of atexit and the destructors of all libraries. */
static void finish(int code, void *argument)
{
	int saved = errno;

	(void)argument;
	if (!hp_segment.header)
		return;
	if (hp_is_confined()) {
		hp_self_end(HP_ENDING_EXIT, code);
		if (hp_local()->state == HP_THREAD_OPEN)
			hp_leave_late(hp_local());
		return;
	}
	atomic_store_explicit(&finisher, self(), memory_order_relaxed);
	hp_leak_scan();
	hp_self_end(HP_ENDING_EXIT, code);
	if (hp_segment.header->root_pid != (uint32_t)getpid())
		hp_self_leave();
	else
		finish_session();
	errno = saved;
}

/*
 * Shells end with _exit, and the report should appear before the next prompt.
 * The kernel ends a container with its process 1, so the helper must finish
 * before that.
 */
void hp_start_finish_quick(void)
{
	if (!hp_self_is_me() || hp_is_confined() ||
	    hp_segment.header->root_pid != (uint32_t)getpid() ||
	    atomic_load_explicit(&finisher, memory_order_relaxed))
		return;
	atomic_store_explicit(&finisher, self(), memory_order_relaxed);
	finish_session();
}

static void end_quick(int code)
{
	hp_self_end(HP_ENDING_QUICK, code);
	hp_start_finish_quick();
}

/*
 * Handlers of at_quick_exit run from the last to the first, and this is the
 * first. It gets no exit code; if the program bypassed our quick_exit, the code
 * is unknown and the helper detects the end.
 */
static void finish_quick(void *argument)
{
	int64_t code = atomic_load_explicit(&quick_code, memory_order_relaxed);

	(void)argument;
	if (hp_segment.header && code >= 0)
		end_quick((int)(uint32_t)code);
}

void hp_start_quick_exit(int code)
{
	hp_start_wait_for_finish();
	atomic_store_explicit(&quick_code, (uint32_t)code, memory_order_relaxed);
	if (!is_told_quick)
		end_quick(code);
}

/*
 * Without us the process would be gone already: another thread must not get the
 * time to end it differently.
 */
void hp_start_wait_for_finish(void)
{
	uintptr_t thread = atomic_load_explicit(&finisher, memory_order_relaxed);

	if (thread == 0 || !hp_self_is_me() || thread == self())
		return;
	for (;;)
		syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
}

void hp_start_load(char **from_loader)
{
	int saved = errno;

	/*
	 * If a resolver opened a library, the C library started without one.
	 * Musl's loader passes none.
	 */
	if (!environ)
		first_environment = from_loader;
	is_loading = true;
	bool is_recorded = hp_start();

	if (is_recorded) {
		uint64_t since_ns = hp_account_cpu_ns();

		hp_self_open();
		hp_account_started(since_ns);
	}
	is_loading = hp_level_is_fresh = false;
	if (!is_recorded || !hp_heap_is_wanted)
		hp_operator_pass();
	hp_block_offer(is_recorded);
	/*
	 * Handlers of on_exit run from the last to the first, and this is the
	 * first. It gets the exit code.
	 */
	is_told = on_exit && on_exit(finish, NULL) == 0;
	is_told_quick = __cxa_at_quick_exit && __cxa_at_quick_exit(finish_quick, NULL) == 0;
	errno = saved;
}

void hp_start_unload(void)
{
	if (!is_told)
		finish(0, NULL);
}
