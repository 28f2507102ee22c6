/* SPDX-License-Identifier: MIT */
/*
 * main.c - `hotpath console`: a running program on the terminal.
 *
 * Errors before the screen opens are printed in one line. Later errors are
 * shown on the screen, which keeps trying.
 */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live/console/draw/screen.h"
#include "live/console/loop/loop.h"
#include "live/console/state/app.h"
#include "live/http/guard.h"
#include "report/base/stack.h"
#include "report/base/exit.h"
#include "report/store/live.h"
#include "report/base/memory.h"
#include "report/base/option.h"
#include "segment/guard.h"
#include "segment/setting.h"

extern char **environ;

struct wish {
	struct hp_settings settings;
	const char *name;	/* pid, session or file */
	bool is_http;
};

static const struct option options[] = {
	{ "metrics-port", required_argument, NULL, 'p' },
	{ "metrics-host", required_argument, NULL, 'H' },
	{ "metrics-auth-token", required_argument, NULL, 't' },
	{ "refresh-interval", required_argument, NULL, 'r' },
	{ "tab", required_argument, NULL, 'T' },
	{ NULL, 0, NULL, 0 },
};

static const char usage_text[] =
	"Usage: hotpath console [OPTION]... [PID | SESSION | FILE]\n"
	"Show a program's figures on the terminal while it runs: those of the program under the\n"
	"profiler, of the one with this PID or SESSION (see hotpath list), or of a FILE or\n"
	"finished run. Without one, it waits for a program. With a port or host, it shows the\n"
	"figures of that server, also of a Rust program with the crate hotpath.\n\n"
	"  -p, --metrics-port=N          ask the server at this port (HOTPATH_METRICS_PORT, 6770)\n"
	"  -H, --metrics-host=URL        and host, as http://HOST (HOTPATH_METRICS_HOST)\n"
	"  -t, --metrics-auth-token=T    with this token (HOTPATH_METRICS_AUTH_TOKEN)\n"
	"  -r, --refresh-interval=MS     100 to 60000 (HOTPATH_TUI_REFRESH_INTERVAL_MS, 1000)\n"
	"  -T, --tab=N                   begin with this tab, 0 to 8 (HOTPATH_TUI_TAB)\n"
	"  -h, --help                    this\n\n"
	"? lists the keys. NO_COLOR=1 disables colours.\n";

static void say_line(void *context, const char *line)
{
	(void)context;
	fprintf(stderr, "hotpath console: %s\n", line);
}

static bool set(struct wish *wish, const char *name, const char *value)
{
	return hp_settings_set(&wish->settings, name, value, say_line, NULL);
}

static bool option_take(void *command, int val, const char *value)
{
	struct wish *wish = command;

	switch (val) {
	case 'p':
		wish->is_http = true;
		return set(wish, "HOTPATH_METRICS_PORT", value);
	case 'H':
		wish->is_http = true;
		return set(wish, "HOTPATH_METRICS_HOST", value);
	case 't':
		return set(wish, "HOTPATH_METRICS_AUTH_TOKEN", value);
	case 'r':
		return set(wish, "HOTPATH_TUI_REFRESH_INTERVAL_MS", value);
	case 'T':
		return set(wish, "HOTPATH_TUI_TAB", value);
	default:
		return false;
	}
}

/* Returns -1 to continue, else the exit status. */
static int options_read(struct wish *wish, int argc, char **argv)
{
	static const struct hp_option_table table = { .options = options,
						      .usage = usage_text,
						      .take = option_take };
	int status = hp_options_read(&table, wish, argc, argv);

	if (status >= 0)
		return status;
	wish->name = argv[optind];
	if (argc - optind > 1) {
		fprintf(stderr,
			"hotpath console: more than one program; see hotpath console --help\n");
		return HP_EXIT_USAGE;
	}
	if (wish->name && wish->is_http) {
		fprintf(stderr, "hotpath console: %s or a port, not both\n", wish->name);
		return HP_EXIT_USAGE;
	}
	return -1;
}

/* --- the source --- */

static bool is_url_fine(const char *host)
{
	const char *name = strncmp(host, "http://", 7) == 0    ? host + 7
			   : strncmp(host, "https://", 8) == 0 ? host + 8
							       : NULL;

	if (!name) {
		fprintf(stderr,
			"hotpath console: --metrics-host %s: must begin with http:// or https://\n",
			host);
		return false;
	}
	if (*name &&
	    (*name == '[' ? strchr(name, ']') && !strstr(name, "]:") : !strchr(name, ':')) &&
	    !strpbrk(name, " ?#@"))
		return true;
	fprintf(stderr,
		"hotpath console: --metrics-host %s: takes only a host; the port goes to "
		"--metrics-port\n",
		host);
	return false;
}

static struct hp_origin *origin_http(const struct wish *wish)
{
	const struct hp_settings *settings = &wish->settings;
	const char *host = settings->metrics_host ? settings->metrics_host : "http://localhost";
	struct hp_origin *origin;
	size_t length;
	char *url;

	if (!is_url_fine(host))
		return NULL;
	if (settings->metrics_token && !hp_guard_is_token(settings->metrics_token)) {
		fprintf(stderr, "hotpath console: the token must be printable ASCII without "
				"blanks\n");
		return NULL;
	}
	length = strlen(host);
	while (length && host[length - 1] == '/')
		length--;
	url = hp_xprintf("%.*s:%u", (int)length, host, (unsigned)settings->metrics_port);
	origin = hp_origin_http(url, settings->metrics_token);
	free(url);
	if (!origin)
		fprintf(stderr, "hotpath console: libcurl cannot start\n");
	return origin;
}

static bool is_running(const char *name)
{
	int fd = hp_live_open(name);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || fd == -EEXIST;
}

/* Digits name a process. If it does not exist or is not profiled, no data will ever arrive. */
static bool is_pid_fine(const char *name)
{
	char comm[64] = "", *path = hp_xprintf("/proc/%s/comm", name);
	FILE *file = fopen(path, "re");

	free(path);
	if (!file) {
		fprintf(stderr,
			"hotpath console: no process %s; hotpath list shows "
			"profiled programs\n",
			name);
		return false;
	}
	if (!fgets(comm, sizeof(comm), file))
		comm[0] = 0;
	fclose(file);
	comm[strcspn(comm, "\n")] = 0;
	fprintf(stderr,
		"hotpath console: process %s (%s) is not profiled, or is a child of one that "
		"is; start it with hotpath run; hotpath list shows running ones\n",
		name, comm);
	return false;
}

static struct hp_origin *origin_of(const struct wish *wish)
{
	const char *name = wish->name;
	bool is_number = name && *name && strspn(name, "0123456789") == strlen(name);

	if (wish->is_http)
		return origin_http(wish);
	if (!name || is_running(name))
		return hp_origin_local(name, false, &wish->settings);
	if (is_number && strlen(name) < HP_TOKEN_SIZE && !is_pid_fine(name))
		return NULL;
	return hp_origin_local(name, true, &wish->settings);
}

/* --- */

/* Dies by the signal that ended us, as our parent expects. */
static int die_by(int number)
{
	sigset_t all;

	signal(number, SIG_DFL);
	sigemptyset(&all);
	sigaddset(&all, number);
	raise(number);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	return 128 + number;
}

/* Later threads inherit the mask. */
static void signals_block(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	for (int number = 1; number < 32; number++)
		if (number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE ||
		    number == SIGABRT)
			sigdelset(&all, number);
	sigprocmask(SIG_SETMASK, &all, before);
}

static int show(struct wish *wish, struct hp_origin *origin)
{
	static struct hp_app app;
	const struct hp_settings *settings = &wish->settings;
	uint32_t interval = (uint32_t)settings->tui_interval_ms;
	struct hp_feed *feed;
	const char *why = hp_screen_open();
	int ended;

	if (why) {
		fprintf(stderr, "hotpath console: %s\n", why);
		return HP_EXIT_FAILED;
	}
	hp_guard_start();	/* the screen has its own handlers */
	feed = hp_feed_new(origin, interval);
	if (!feed) {
		hp_screen_close();
		fprintf(stderr, "hotpath console: cannot start a thread: %s\n", strerror(errno));
		return HP_EXIT_FAILED;
	}
	hp_app_init(&app, origin->name, interval);
	app.is_local = !wish->is_http;
	app.tab = HP_TAB_OF(settings->tui_tab);
	app.logs_row = settings->tui_logs;
	if (app.logs_row != HP_LIMIT_UNSET && app.tab == HP_TAB_ANSWERS)
		app.tab = 0;	/* functions have logs */
	ended = hp_loop_run(&app, feed);
	hp_viewer_close();
	hp_screen_close();
	if (ended > 0)
		return die_by(ended);
	return ended < 0 ? HP_EXIT_FAILED : 0;
}

static int console(int argc, char **argv)
{
	struct wish wish = { .name = NULL };
	struct hp_origin *origin;
	sigset_t before;
	int status;

	hp_settings_read(&wish.settings, environ, NULL, NULL);
	wish.is_http = wish.settings.metrics_host != NULL;
	status = options_read(&wish, argc - 1, argv + 1);
	if (status >= 0)
		return status;
	signals_block(&before);
	origin = origin_of(&wish);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (!origin)
		return HP_EXIT_FAILED;
	status = show(&wish, origin);
	fflush(stdout);
	_exit(status);	/* a thread may wait for a silent server */
}

int main(int argc, char **argv)
{
	return hp_stack_run(console, argc, argv);
}
