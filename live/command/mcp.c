/* SPDX-License-Identifier: MIT */
/*
 * mcp.c - `hotpath mcp`: MCP over stdin and stdout, one message per line.
 *
 * An agent may start it before any program runs, so each call searches for one
 * until it is found.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live/command/command.h"
#include "live/http/http.h"
#include "live/mcp/mcp.h"
#include "live/routes/routes.h"
#include "report/base/exit.h"
#include "report/base/memory.h"

extern char **environ;

struct stdio {
	struct hp_settings settings;
	const char *name;	/* of the program; NULL = the only one */
	struct hp_mcp_host host;
	struct hp_cache *cache;	/* NULL = none yet */
	FILE *out;	/* the original stdout */
	char *line;
	size_t size;
	bool is_too_long;
	char *wrong;	/* last reported reason for missing data; NULL = none */
	sem_t said;
};

static const char usage_text[] =
	"Usage: hotpath mcp [PID | SESSION | FILE]\n"
	"Serve agents by the Model Context Protocol over stdin and stdout: the figures of the\n"
	"program under the profiler, of the one with this PID or SESSION (see hotpath list), or\n"
	"of a FILE or finished run.  Without one, the newest.\n\n"
	"  -h, --help       this\n\n"
	"  claude mcp add hotpath -- hotpath mcp\n"
	"  {\"mcpServers\": {\"hotpath\": {\"command\": \"hotpath\", \"args\": [\"mcp\"]}}}\n\n"
	"A running program also serves it at http://127.0.0.1:6771/mcp (HOTPATH_MCP_PORT,\n"
	"HOTPATH_MCP_AUTH_TOKEN); see doc/reference/mcp.md.\n";

/* Reads a line. False = end of input. */
static bool line_read(struct stdio *stdio)
{
	int c;

	stdio->size = 0;
	stdio->is_too_long = false;
	while ((c = getc_unlocked(stdin)) != EOF && c != '\n') {
		if (stdio->size < HP_BODY_MAX)
			stdio->line[stdio->size++] = (char)c;
		else
			stdio->is_too_long = true;
	}
	stdio->line[stdio->size] = 0;
	return c != EOF || stdio->size;
}

static bool is_blank(const struct stdio *stdio)
{
	return stdio->line[strspn(stdio->line, " \t\r")] == 0 && strlen(stdio->line) == stdio->size;
}

/* In the cache's thread or ours: only one message is in progress. */
static void say(void *context, struct hp_answer *answer)
{
	struct stdio *stdio = context;

	if (answer->size) {
		fwrite(answer->body, 1, answer->size, stdio->out);
		putc('\n', stdio->out);
		fflush(stdio->out);
	}
	hp_answer_drop(answer);
	sem_post(&stdio->said);
}

/* Each call may search again, but stderr, a log, gets the reason only once. */
static void wrong_tell(void *context, const char *line)
{
	struct stdio *stdio = context;

	if (stdio->wrong && strcmp(stdio->wrong, line) == 0)
		return;
	free(stdio->wrong);
	stdio->host.wrong = stdio->wrong = hp_xstrdup(line);
	hp_input_say(NULL, line);
}

/* False = not found; the current target stays. */
static bool target_take(struct stdio *stdio, const char *name)
{
	struct hp_target target;
	struct hp_cache *cache;

	if (!hp_target_init(&target, name, wrong_tell, stdio))
		return false;
	cache = hp_cache_new(&target, &stdio->settings, hp_routes());
	if (!cache)
		return false;
	hp_cache_free(stdio->cache);	/* only one message is in progress: nobody waits */
	stdio->cache = cache;
	free(stdio->wrong);
	stdio->host.wrong = stdio->wrong = NULL;
	return true;
}

static struct hp_cache *cache_of(void *context)
{
	struct stdio *stdio = context;

	if (!stdio->cache)
		target_take(stdio, stdio->name);
	return stdio->cache;
}

static bool choose(void *context, const char *name)
{
	return target_take(context, name);
}

static void take(struct stdio *stdio)
{
	struct hp_mcp_message message = { .body = stdio->line, .size = stdio->size };

	if (stdio->is_too_long)
		say(stdio, hp_mcp_too_long());
	else
		hp_mcp_take(&stdio->host, &message, say, stdio);
	while (sem_wait(&stdio->said) < 0 && errno == EINTR)
		;
}

/* Only messages may reach stdout, even if other code prints there. */
static bool stdout_take(struct stdio *stdio)
{
	int fd = fcntl(1, F_DUPFD_CLOEXEC, 3);

	stdio->out = fd < 0 ? NULL : fdopen(fd, "w");
	return stdio->out && dup2(2, 1) == 1;
}

int hp_cmd_mcp(int argc, char **argv)
{
	struct stdio stdio = { .line = NULL };

	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		fputs(usage_text, stdout);
		return 0;
	}
	if (argc > 1 && argv[1][0] == '-') {
		fprintf(stderr, "hotpath mcp: unknown option %s; see hotpath mcp --help\n",
			argv[1]);
		return HP_EXIT_USAGE;
	}
	if (argc > 2) {
		fprintf(stderr, "hotpath mcp: more than one program; see hotpath mcp --help\n");
		return HP_EXIT_USAGE;
	}
	stdio.name = argc > 1 ? argv[1] : NULL;
	stdio.host = (struct hp_mcp_host){ .cache = cache_of, .choose = choose, .context = &stdio };
	hp_settings_read(&stdio.settings, environ, NULL, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (!stdout_take(&stdio)) {
		fprintf(stderr, "hotpath mcp: cannot write to stdout: %s\n", strerror(errno));
		return HP_EXIT_FAILED;
	}
	stdio.line = hp_xcalloc(1, HP_BODY_MAX + 1);
	sem_init(&stdio.said, 0, 0);
	while (!ferror(stdio.out) && line_read(&stdio))
		if (!is_blank(&stdio))
			take(&stdio);
	_exit(0);	/* no need to stop the worker */
}
