/* SPDX-License-Identifier: MIT */
/*
 * runs.c - see runs.h.
 */
#include "live/mcp/runs.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live/answer/answer.h"
#include "live/mcp/tool.h"
#include "report/section/core/facts.h"
#include "report/base/field.h"
#include "report/base/json.h"
#include "report/store/kept.h"
#include "report/base/memory.h"
#include "report/base/place.h"
#include "report/store/store.h"
#include "segment/clock.h"

#define COMPARE_MAX_NS (UINT64_C(60) * 1000000000)
#define TEXT_MAX (4 << 20)	/* bytes of output; a response must be far shorter */

extern char **environ;

/* --- listing --- */

static void started_add(cJSON *row, const struct hp_facts *facts)
{
	const char *value = hp_facts_get(facts, "started_unix_ns");
	time_t seconds = value ? (time_t)(hp_field_number(value) / 1000000000) : 0;
	struct tm parts;
	char text[40];

	if (value && gmtime_r(&seconds, &parts) &&
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts))
		cJSON_AddStringToObject(row, "started", text);
}

static cJSON *run_new(const struct hp_store *store, const struct hp_store_file *file)
{
	int fd = hp_store_read(store, file);
	char *text = fd >= 0 ? hp_kept_facts(fd) : NULL;
	cJSON *row = cJSON_CreateObject();
	struct hp_facts facts;

	hp_facts_init(&facts, text ? text : hp_xstrdup(""));
	cJSON_AddStringToObject(row, "run", file->name);
	hp_json_whole(row, "pid", hp_store_pid(file->name));
	hp_json_text(row, "comm", hp_facts_get(&facts, "comm"));
	started_add(row, &facts);
	if (hp_facts_get(&facts, "elapsed_ns"))
		hp_json_whole(row, "elapsed_ns",
			      hp_field_number(hp_facts_get(&facts, "elapsed_ns")));
	hp_json_whole(row, "size_bytes", file->size);
	hp_json_text(row, "label", hp_facts_get(&facts, "label"));
	hp_facts_release(&facts);
	if (fd >= 0)
		close(fd);
	return row;
}

struct hp_answer *hp_mcp_runs(uint32_t limit)
{
	cJSON *list = cJSON_CreateObject(), *rows = cJSON_AddArrayToObject(list, "data");
	struct hp_store store;
	int error = hp_store_open(&store);
	size_t count = 0, shown;
	struct hp_store_file *files = error ? NULL : hp_store_list(&store, &count);

	shown = count < limit ? count : limit;
	for (size_t i = 0; i < shown; i++)
		cJSON_AddItemToArray(rows, run_new(&store, &files[i]));
	hp_json_whole(list, "total_count", count);
	hp_json_whole(list, "included_count", shown);
	cJSON_AddStringToObject(list, "folder", store.path);
	if (!count)
		cJSON_AddStringToObject(list, "message",
					store.failed[0] ? store.failed
							: "No run is kept: hotpath run ./app "
							  "keeps one, unless HOTPATH_KEEP=0");
	free(files);
	hp_store_release(&store);
	return hp_answer_json(200, list);
}

/* --- comparing --- */

struct compare {
	char *names[2];
	char limit[16];
	hp_cache_done done;
	void *context;
};

/* A child's output on one descriptor, up to the limit. */
struct captured {
	int fd;	/* -1 = closed */
	char *text;	/* terminated */
	size_t size;
	size_t most;
};

static atomic_bool is_busy;

static void compare_free(struct compare *compare)
{
	free(compare->names[0]);
	free(compare->names[1]);
	free(compare);
}

static void captured_read(struct captured *captured)
{
	char bytes[16384];
	ssize_t got = read(captured->fd, bytes, sizeof(bytes));
	size_t room = captured->most - captured->size;

	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got <= 0) {
		close(captured->fd);
		captured->fd = -1;
		return;
	}
	if ((size_t)got < room)
		room = (size_t)got;
	memcpy(captured->text + captured->size, bytes, room);
	captured->size += room;
	captured->text[captured->size] = 0;
}

/* Reads until both are closed. False = timeout. */
static bool both_read(struct captured both[2])
{
	uint64_t deadline = hp_clock_raw_ns() + COMPARE_MAX_NS;

	while (both[0].fd >= 0 || both[1].fd >= 0) {
		struct pollfd polls[2] = { { both[0].fd, POLLIN, 0 }, { both[1].fd, POLLIN, 0 } };
		uint64_t now = hp_clock_raw_ns();

		if (now >= deadline)
			return false;
		if (poll(polls, 2, (int)((deadline - now) / 1000000) + 1) < 0 && errno != EINTR)
			return false;
		for (int i = 0; i < 2; i++)
			if (both[i].fd >= 0 && polls[i].revents)
				captured_read(&both[i]);
	}
	return true;
}

/* Starts the child. Returns its pid, or -errno. */
static pid_t child_start(const struct compare *compare, int out, int err)
{
	static char program[] = "hotpath", command[] = "compare", format[] = "--format=json",
		    end[] = "--";
	char folder[HP_HELPER_PATH], path[HP_HELPER_PATH];
	char *argv[] = { program,	    command,	       format, (char *)compare->limit, end,
			 compare->names[0], compare->names[1], NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int error;

	hp_place_folder(folder);
	hp_session_helper_path(path, NULL, folder, "hotpath");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, 1);
	posix_spawn_file_actions_adddup2(&actions, err, 2);
	error = posix_spawn(&pid, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error ? -error : pid;
}

/* The last line, without the commands' prefix. */
static const char *reason_of(struct captured *captured)
{
	char *line;

	while (captured->size && captured->text[captured->size - 1] == '\n')
		captured->text[--captured->size] = 0;
	line = strrchr(captured->text, '\n');
	line = line ? line + 1 : captured->text;
	if (strncmp(line, "hotpath compare: ", 17) == 0)
		return line + 17;
	return strncmp(line, "hotpath: ", 9) == 0 ? line + 9 : line;
}

static struct hp_answer *outcome(struct captured both[2], bool is_in_time, int status)
{
	if (!is_in_time)
		return hp_answer_error(504, "compare smaller runs, or use hotpath compare itself",
				       "The comparison took longer than a minute");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && both[0].size < both[0].most)
		return hp_answer_new(200, HP_TYPE_JSON, hp_xstrdup(both[0].text), both[0].size);
	return hp_answer_error(422, "runs lists comparable runs", "%.400s",
			       both[1].size ? reason_of(&both[1])
					    : "hotpath compare ended without output");
}

static struct hp_answer *compare_run(const struct compare *compare)
{
	struct captured both[2] = { { -1, hp_xmalloc(TEXT_MAX + 1), 0, TEXT_MAX },
				    { -1, hp_xmalloc(4096 + 1), 0, 4096 } };
	int out[2] = { -1, -1 }, err[2] = { -1, -1 }, status = 0;
	struct hp_answer *answer;
	bool is_in_time;
	pid_t pid;

	both[0].text[0] = both[1].text[0] = 0;
	pid = pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0
		      ? -errno
		      : child_start(compare, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	both[0].fd = out[0];
	both[1].fd = err[0];
	is_in_time = pid > 0 && both_read(both);
	for (int i = 0; i < 2; i++)
		if (both[i].fd >= 0)
			close(both[i].fd);
	if (pid > 0 && !is_in_time)
		kill(pid, SIGKILL);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	answer = pid > 0 ? outcome(both, is_in_time, status)
			 : hp_answer_error(500, NULL, "cannot start hotpath compare: %s",
					   strerror(-pid));
	free(both[0].text);
	free(both[1].text);
	return answer;
}

static void *compare_work(void *context)
{
	struct compare *compare = context;
	struct hp_answer *answer = compare_run(compare);
	hp_cache_done done = compare->done;
	void *to = compare->context;

	compare_free(compare);
	atomic_store(&is_busy, false);
	done(to, answer);
	return NULL;
}

/* "-" means stdin, which is not available here. */
static bool is_name(const char *name, bool is_kept_only)
{
	return strcmp(name, "-") != 0 && !(is_kept_only && strchr(name, '/'));
}

void hp_mcp_compare(const struct hp_mcp_arguments *arguments, bool is_kept_only, hp_cache_done done,
		    void *context)
{
	struct compare *compare;
	pthread_t thread;
	pthread_attr_t attributes;
	int error;

	if (!is_name(arguments->before, is_kept_only) || !is_name(arguments->after, is_kept_only)) {
		done(context,
		     hp_answer_error(422, "runs lists them", "before and after must be kept runs"));
		return;
	}
	if (atomic_exchange(&is_busy, true)) {
		done(context, hp_answer_error(409, "retry when it is done",
					      "Another comparison is in progress"));
		return;
	}
	compare = hp_xcalloc(1, sizeof(*compare));
	*compare = (struct compare){ .names = { hp_xstrdup(arguments->before),
						hp_xstrdup(arguments->after) },
				     .done = done,
				     .context = context };
	snprintf(compare->limit, sizeof(compare->limit), "--limit=%u", (unsigned)arguments->limit);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	error = pthread_create(&thread, &attributes, compare_work, compare);
	pthread_attr_destroy(&attributes);
	if (!error)
		return;
	compare_free(compare);
	atomic_store(&is_busy, false);
	done(context, hp_answer_error(500, NULL, "Cannot start a thread"));
}
