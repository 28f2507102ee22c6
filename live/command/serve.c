/* SPDX-License-Identifier: MIT */
/*
 * serve.c - `hotpath serve`: a program's figures over HTTP.
 *
 * Started by hand, it opens its own port. The sampler starts it when the first
 * client connects to a port that the sampler holds, and passes the segment and
 * the listening sockets as descriptors. Then it ends with the sampler, or after
 * a time without requests, and the sampler listens again.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "live/command/command.h"
#include "live/http/guard.h"
#include "live/http/http.h"
#include "live/mcp/mcp.h"
#include "live/http/site.h"
#include "live/routes/routes.h"
#include "report/base/exit.h"
#include "report/base/memory.h"
#include "report/base/option.h"
#include "segment/clock.h"
#include "segment/port.h"

/* Idle time after which a server started by the sampler ends */
#define IDLE_NS UINT64_C(120000000000)
#define LOOK_MS 250
#define MEMORY_KEPT (128 << 20)	/* bytes; freed without requests, see live/cache/cache.c */

extern char **environ;

struct serve {
	struct hp_settings settings;
	const char *name;	/* of the run; NULL = the only one */
	int fd;	/* of the segment, from the sampler; -1 = none */
	int metrics;	/* listening sockets; -1 = none */
	int prometheus;
	int mcp;
	bool has_mcp_port;	/* by hand: serve MCP, too */
	pid_t parent;	/* the sampler; 0 = started by hand */
	struct hp_cache *cache;
	struct hp_http_site mcp_site;
	struct hp_mcp_host mcp_host;
	struct hp_http_site page_sites[HP_SITE_PATHS_MAX];
	size_t page_site_count;
	struct hp_http *https[3];
};

enum { FLAG_FD = 256, FLAG_LISTEN, FLAG_PROMETHEUS, FLAG_MCP, FLAG_PARENT, FLAG_MCP_PORT };

static const struct option options[] = {
	{ "port", required_argument, NULL, 'p' },
	{ "bind", required_argument, NULL, 'b' },
	{ "mcp-port", required_argument, NULL, FLAG_MCP_PORT },
	{ "fd", required_argument, NULL, FLAG_FD },
	{ "listen", required_argument, NULL, FLAG_LISTEN },
	{ "prometheus", required_argument, NULL, FLAG_PROMETHEUS },
	{ "mcp", required_argument, NULL, FLAG_MCP },
	{ "parent", required_argument, NULL, FLAG_PARENT },
	{ NULL, 0, NULL, 0 },
};

static const char usage_text[] =
	"Usage: hotpath serve [OPTION]... [PID | SESSION | FILE]\n"
	"Serve a program's figures over HTTP: those of the program under the profiler, of the one\n"
	"with this PID or SESSION (see hotpath list), or of a FILE or finished run.\n"
	"A profiled program is served without this: see hotpath list for its port.\n\n"
	"  -p, --port=N     listen there; 0 = any free port (HOTPATH_METRICS_PORT, 6770)\n"
	"  -b, --bind=ADDR  at this address, as numbers (HOTPATH_METRICS_BIND, 127.0.0.1)\n"
	"      --mcp-port=N MCP for agents as well, there; 0 = any free port (HOTPATH_MCP_PORT)\n"
	"  -h, --help       this\n\n"
	"Clients must send HOTPATH_METRICS_AUTH_TOKEN as Authorization; other machines need one.\n"
	"GET /routes lists the routes; see doc/reference/http.md.\n";

static void say_line(void *context, const char *line)
{
	(void)context;
	fprintf(stderr, "[hotpath] %s\n", line);
}

/* A descriptor or pid from the sampler; < 0 = invalid. */
static int number_of(const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);

	return *text && !*end && number >= 0 && number < INT32_MAX ? (int)number : -1;
}

static bool option_take(void *command, int val, const char *value)
{
	struct serve *serve = command;

	switch (val) {
	case 'p':
		return hp_settings_set(&serve->settings, "HOTPATH_METRICS_PORT", value, say_line,
				       NULL);
	case 'b':
		return hp_settings_set(&serve->settings, "HOTPATH_METRICS_BIND", value, say_line,
				       NULL);
	case FLAG_MCP_PORT:
		serve->has_mcp_port = true;
		return hp_settings_set(&serve->settings, "HOTPATH_MCP_PORT", value, say_line, NULL);
	case FLAG_FD:
		return (serve->fd = number_of(value)) >= 0;
	case FLAG_LISTEN:
		return (serve->metrics = number_of(value)) >= 0;
	case FLAG_PROMETHEUS:
		return (serve->prometheus = number_of(value)) >= 0;
	case FLAG_MCP:
		return (serve->mcp = number_of(value)) >= 0;
	case FLAG_PARENT:
		return (serve->parent = number_of(value)) > 0;
	default:
		return false;
	}
}

/* Returns -1 to continue, else the exit status. */
static int options_read(struct serve *serve, int argc, char **argv)
{
	static const struct hp_option_table table = { .options = options,
						      .usage = usage_text,
						      .take = option_take };
	int status = hp_options_read(&table, serve, argc, argv);

	if (status >= 0)
		return status;
	serve->name = argv[optind];
	if (argc - optind <= 1)
		return -1;
	fprintf(stderr, "hotpath serve: more than one program; see hotpath serve --help\n");
	return HP_EXIT_USAGE;
}

/* --- by hand --- */

static bool is_bind_fine(const struct hp_settings *settings)
{
	if (settings->metrics_token && !hp_guard_is_token(settings->metrics_token)) {
		fprintf(stderr,
			"hotpath serve: HOTPATH_METRICS_AUTH_TOKEN must be printable ASCII without blanks\n");
		return false;
	}
	if (settings->metrics_token || hp_guard_is_loopback(settings->metrics_bind))
		return true;
	fprintf(stderr,
		"hotpath serve: %s is reachable from other machines; set HOTPATH_METRICS_AUTH_TOKEN\n",
		settings->metrics_bind);
	return false;
}

/* A busy port isn't an error: uses another one. Prints the address; < 0 = failed. */
static int port_open(const char *address, uint64_t wished, const char *path)
{
	uint16_t port = (uint16_t)wished;
	int fd = hp_port_listen(address, &port);

	if (fd == -EADDRINUSE && port) {
		fprintf(stderr, "hotpath serve: port %u is busy; using another one:\n",
			(unsigned)port);
		port = 0;
		fd = hp_port_listen(address, &port);
	}
	if (fd < 0) {
		fprintf(stderr, "hotpath serve: cannot listen at %s: %s%s\n", address,
			fd == -EINVAL ? "it is not an address" : strerror(-fd),
			hp_port_remedy(-fd));
		return fd;
	}
	printf("http://%s%s%s:%u/%s\n", strchr(address, ':') ? "[" : "", address,
	       strchr(address, ':') ? "]" : "", (unsigned)port, path);
	fflush(stdout);
	return fd;
}

static bool listen_by_hand(struct serve *serve)
{
	const struct hp_settings *settings = &serve->settings;

	if (!is_bind_fine(settings))
		return false;
	serve->metrics = port_open(settings->metrics_bind, settings->metrics_port, "");
	if (serve->metrics < 0)
		return false;
	/* Beyond this machine it would need its own token. */
	if (serve->has_mcp_port)
		serve->mcp = port_open("127.0.0.1", settings->mcp_port, "mcp");
	return !serve->has_mcp_port || serve->mcp >= 0;
}

/* --- servers --- */

static struct hp_http *server_start(struct serve *serve, int fd, const char *token,
				    const char *only)
{
	bool is_mcp = only && strcmp(only, serve->mcp_site.path) == 0;
	struct hp_http_wish wish = { .socket = fd,
				     .token = token,
				     .token_name = is_mcp ? "HOTPATH_MCP_AUTH_TOKEN"
						   : only ? "HOTPATH_PROMETHEUS_AUTH_TOKEN"
							  : "HOTPATH_METRICS_AUTH_TOKEN",
				     .cache = serve->cache,
				     .only = only,
				     .sites = is_mcp ? &serve->mcp_site : serve->page_sites,
				     .site_count = is_mcp ? 1
						   : only ? 0
							  : serve->page_site_count };

	if (fd < 0)
		return NULL;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return hp_http_new(&wish);
}

static struct hp_cache *own_cache(void *context)
{
	return context;
}

static bool servers_start(struct serve *serve)
{
	const struct hp_settings *settings = &serve->settings;

	serve->mcp_host = (struct hp_mcp_host){ .cache = own_cache, .context = serve->cache };
	serve->mcp_site = (struct hp_http_site){ "/mcp", hp_mcp_serve, &serve->mcp_host, false };
	serve->page_site_count = hp_site_paths(serve->page_sites);
	serve->https[0] = server_start(serve, serve->metrics, settings->metrics_token, NULL);
	serve->https[1] =
		server_start(serve, serve->prometheus, settings->prometheus_token, "/metrics");
	serve->https[2] = server_start(serve, serve->mcp, settings->mcp_token, "/mcp");
	return serve->https[0] || serve->https[1] || serve->https[2];
}

static bool is_idle(const struct serve *serve)
{
	uint64_t now = hp_clock_raw_ns();

	for (int i = 0; i < 3; i++)
		if (serve->https[i] && now - hp_http_asked_ns(serve->https[i]) < IDLE_NS)
			return false;
	return true;
}

/* Waits for a signal; if started by the sampler, also for the sampler's end or an idle timeout. */
static void wait_for_end(const struct serve *serve)
{
	struct timespec pause = { 0, LOOK_MS * 1000000 };
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	if (!serve->parent) {
		/* Stopping and continuing the process interrupts it. */
		while (sigwaitinfo(&signals, NULL) < 0 && errno == EINTR)
			;
		return;
	}
	while (sigtimedwait(&signals, NULL, &pause) < 0)
		if (getppid() != serve->parent || is_idle(serve))
			return;
}

static bool target_open(const struct serve *serve, struct hp_target *target)
{
	if (serve->fd < 0)
		return hp_target_init(target, serve->name, hp_input_say, NULL);
	fcntl(serve->fd, F_SETFD, FD_CLOEXEC);
	hp_target_init_fd(target, serve->fd);
	return true;
}

/* Later threads inherit the mask: only wait_for_end receives these signals. */
static void signals_set(const struct serve *serve)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_SETMASK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (serve->parent)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/*
 * Each refresh allocates the same amount again. Returning memory to the kernel
 * and faulting it in every second took a third of the server's time. Per-thread
 * arenas did the same, with other settings.
 */
static void memory_settle(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, MEMORY_KEPT);
	mallopt(M_MMAP_THRESHOLD, MEMORY_KEPT / 8);
	mallopt(M_TOP_PAD, MEMORY_KEPT / 32);
}

int hp_cmd_serve(int argc, char **argv)
{
	struct serve serve = { .fd = -1, .metrics = -1, .prometheus = -1, .mcp = -1 };
	struct hp_target target;
	int status;

	memory_settle();
	hp_settings_read(&serve.settings, environ, NULL, NULL);
	status = options_read(&serve, argc, argv);
	if (status >= 0)
		return status;
	signals_set(&serve);
	if (!target_open(&serve, &target))
		return HP_EXIT_FAILED;
	if (!serve.parent && !listen_by_hand(&serve))
		return HP_EXIT_FAILED;
	serve.cache = hp_cache_new(&target, &serve.settings, hp_routes());
	if (!serve.cache || !servers_start(&serve)) {
		fprintf(stderr, "hotpath serve: cannot start: %s\n", strerror(errno));
		return HP_EXIT_FAILED;
	}
	wait_for_end(&serve);
	_exit(0);	/* no need to notify waiting connections */
}
