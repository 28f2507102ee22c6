/* SPDX-License-Identifier: MIT */
/*
 * load.c - hotpath load: shows a profile or a kept run in profiler.firefox.com, without samply.
 *
 * The page is Mozilla's, but the profile stays local: the page fetches it from
 * a loopback port with an unguessable path. CORS keeps other pages from reading
 * it, and other host names are refused (DNS rebinding).
 */
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "live/command/command.h"
#include "live/http/guard.h"
#include "live/answer/target.h"
#include "report/base/exit.h"
#include "report/export/export.h"
#include "report/section/sections.h"

#define PAGE "https://profiler.firefox.com"
#define QUIET_S 10
#define CONNECTIONS_MAX 16

static const char help_text[] =
	"Usage: hotpath load [--no-open] [PROFILE | RUN]\n"
	"\n"
	"Serves a profile (hp.json.gz, of hotpath or samply) to profiler.firefox.com in a browser of\n"
	"this machine, and opens it there.  Ends with Ctrl-C.  RUN is a kept run: a file,\n"
	"or what `hotpath list` shows, a pid or a program's name; without one it is the newest.\n"
	"A running program is shown as it is so far.\n"
	"\n"
	"  --no-open   print the address only\n";

struct load {
	int fd;
	uint64_t size;
	char path[64];	/* of the profile; unguessable */
};

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
	enum MHD_Result result = MHD_queue_response(connection, status, response);

	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **state)
{
	const struct load *load = context;
	const char *origin = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin");
	const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
	struct MHD_Response *response;

	(void)version, (void)data, (void)size, (void)state;
	if (!host || !hp_guard_is_local_host(host) || (origin && strcmp(origin, PAGE) != 0))
		return refuse(connection, MHD_HTTP_FORBIDDEN);
	if (strcmp(url, load->path) != 0)
		return refuse(connection, MHD_HTTP_NOT_FOUND);
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0 &&
	    strcmp(method, "OPTIONS") != 0)
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED);
	int fd = fcntl(load->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE);
	response = MHD_create_response_from_fd_at_offset64(load->size, fd, 0);
	MHD_add_response_header(response, "Access-Control-Allow-Origin", PAGE);
	MHD_add_response_header(response, "Access-Control-Allow-Private-Network", "true");
	MHD_add_response_header(response, "Content-Type", "application/gzip");
	MHD_add_response_header(response, "Cache-Control", "no-store");
	enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
	MHD_destroy_response(response);
	return result;
}

/* JSON, packed or not: a kept run never begins like it. */
static bool is_profile(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	gzFile file = copy < 0 ? NULL : gzdopen(copy, "r");
	bool is;

	if (!file) {
		if (copy >= 0)
			close(copy);
		return false;
	}
	is = gzgetc(file) == '{';
	gzclose(file);
	lseek(fd, 0, SEEK_SET);
	return is;
}

/* False = `path` is not a profile file; it may be a run. */
static bool profile_open(struct load *load, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat status;

	if (fd < 0)
		return false;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && is_profile(fd)) {
		load->fd = fd;
		load->size = (uint64_t)status.st_size;
		return true;
	}
	close(fd);
	return false;
}

static void say_line(void *to, const char *line)
{
	(void)to;
	fprintf(stderr, "hotpath: %s\n", line);
}

/* Writes a report's profile to memory. Returns an exit status. */
static int profile_make(struct load *load, struct hp_report *report)
{
	const struct hp_export *export = hp_export_find("firefox");
	const char *missing = export->missing(report);
	off_t size;
	int error;

	if (missing) {
		fprintf(stderr, "hotpath load: nothing to show: %s\n", missing);
		return HP_EXIT_FAILED;
	}
	load->fd = memfd_create("hotpath-profile", MFD_CLOEXEC);
	error = load->fd < 0 ? -errno : export->write(report, load->fd);
	size = error ? -1 : lseek(load->fd, 0, SEEK_END);
	if (size < 0) {
		fprintf(stderr, "hotpath load: cannot make the profile: %s\n",
			strerror(error ? -error : errno));
		return HP_EXIT_FAILED;
	}
	load->size = (uint64_t)size;
	return 0;
}

/* Returns an exit status; NULL = the newest run. */
static int run_open(struct load *load, const char *path)
{
	struct hp_settings settings;
	struct hp_segment segment;
	struct hp_target target;
	struct hp_report report;
	int status;

	hp_settings_read(&settings, environ, NULL, NULL);
	if (path ? !hp_target_init(&target, path, hp_input_say, NULL)
		 : !hp_target_init_run(&target, NULL, hp_input_say, NULL))
		return HP_EXIT_FAILED;
	if (!hp_target_look(&target, &segment)) {
		fprintf(stderr, "hotpath load: %s can no longer be read\n", path);
		hp_target_release(&target);
		return HP_EXIT_FAILED;
	}
	hp_report_init_record(&report, &segment, &target.input.record, &settings, say_line, NULL);
	status = profile_make(load, &report);
	hp_report_release(&report);
	hp_target_release(&target);
	return status;
}

static bool token_make(struct load *load)
{
	unsigned char bytes[16];
	int at = 1;

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	load->path[0] = '/';
	for (size_t i = 0; i < sizeof(bytes); i++)
		at += snprintf(load->path + at, 3, "%02x", bytes[i]);
	snprintf(load->path + at, sizeof(load->path) - (size_t)at, "/hp.json.gz");
	return true;
}

static void browser_open(char *address)
{
	static char name[] = "xdg-open";
	char *argv[] = { name, address, NULL };
	pid_t child = fork();

	if (child == 0) {
		execvp(name, argv);
		_exit(1);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

static int serve(struct load *load, bool is_opened)
{
	struct sockaddr_in loopback = { .sin_family = AF_INET,
					.sin_addr = { htonl(INADDR_LOOPBACK) } };
	char address[256];
	sigset_t ends;
	int number;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	struct MHD_Daemon *daemon =
		MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, answer, load,
				 MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&loopback,
				 MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
				 MHD_OPTION_CONNECTION_TIMEOUT, QUIET_S, MHD_OPTION_END);
	const union MHD_DaemonInfo *info =
		daemon ? MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
	if (!info) {
		fprintf(stderr, "hotpath load: cannot listen on any port of 127.0.0.1\n");
		return HP_EXIT_FAILED;
	}
	/* The page expects the profile's address as one separate component. */
	snprintf(address, sizeof(address),
		 PAGE "/from-url/http%%3A%%2F%%2F127.0.0.1%%3A%u%%2F%.32s%%2Fhp.json.gz",
		 (unsigned)info->port, load->path + 1);
	printf("http://127.0.0.1:%u%s\n%s\n", (unsigned)info->port, load->path, address);
	fflush(stdout);
	if (is_opened)
		browser_open(address);
	sigwait(&ends, &number);
	MHD_stop_daemon(daemon);
	return 0;
}

int hp_cmd_load(int argc, char **argv)
{
	struct load load = { .fd = -1 };
	bool is_opened = true;
	const char *path = NULL;
	int status = 0;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			fputs(help_text, stdout);
			return 0;
		}
		if (strcmp(argv[i], "--no-open") == 0) {
			is_opened = false;
		} else if (strcmp(argv[i], "--") == 0 && i + 2 == argc) {
			path = argv[++i];
		} else if ((argv[i][0] == '-' && argv[i][1]) || path) {
			fputs(help_text, stderr);
			return HP_EXIT_USAGE;
		} else {
			path = argv[i];
		}
	}
	if (!path || !profile_open(&load, path))
		status = run_open(&load, path);
	if (!status && !token_make(&load)) {
		fprintf(stderr, "hotpath load: cannot get random numbers: %s\n", strerror(errno));
		status = HP_EXIT_FAILED;
	}
	return status ? status : serve(&load, is_opened);
}
