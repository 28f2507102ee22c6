/* SPDX-License-Identifier: MIT */
/*
 * origin_local.c - answers about a local program, directly from its segment
 * with the HTTP routes: no port is needed.
 *
 * It searches for the program until it appears. The segment stays readable
 * after the program ends; the figures are then final.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live/console/loop/origin.h"
#include "live/cache/cache.h"
#include "live/routes/routes.h"
#include "report/store/live.h"
#include "report/base/memory.h"

struct local {
	struct hp_origin base;
	const struct hp_settings *settings;
	char *name;	/* NULL = any */
	char token[HP_TOKEN_SIZE + 1];	/* of the session; "" = of a file, or none yet */
	uint32_t pid;
	uint64_t started;	/* start time of the first process, from process_find */
	struct hp_cache *cache;	/* NULL = none yet */
	bool is_over;
};

/* --- its first process --- */

#define STARTED_FIELD 22	/* of /proc/PID/stat, proc(5): clock ticks since boot */

/*
 * False = no such process; a zombie counts as ended. *started distinguishes it
 * from a later process with the same pid; 0 = unknown.
 */
static bool process_find(uint32_t pid, uint64_t *started)
{
	char path[32], text[1024] = "", *at;
	FILE *file;

	*started = 0;
	if (kill((pid_t)pid, 0) < 0 && errno == ESRCH)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return true;
	if (!fgets(text, sizeof(text), file))
		text[0] = 0;
	fclose(file);
	at = strrchr(text, ')');	/* ends the second field, which may have blanks */
	if (at && at[1] == ' ' && at[2] == 'Z')
		return false;
	for (int field = 2; at && field < STARTED_FIELD; field++)
		at = strchr(at + 1, ' ');
	if (at)
		*started = strtoull(at + 1, NULL, 10);
	return true;
}

static bool is_running(const struct local *local)
{
	uint64_t started;

	return process_find(local->pid, &started) && started == local->started;
}

/* --- finding --- */

static void attach(struct local *local, const struct hp_live *live, int fd)
{
	struct hp_target target;

	hp_cache_free(local->cache);
	hp_target_init_fd(&target, fd);
	local->cache = hp_cache_new(&target, local->settings, hp_routes());
	local->is_over = false;
	local->pid = live->pid;
	process_find(local->pid, &local->started);
	memcpy(local->token, live->token, sizeof(local->token));
	snprintf(local->base.name, sizeof(local->base.name), "%s %u", live->comm, live->pid);
}

static int compare_live(const void *left, const void *right)
{
	const struct hp_live *a = left, *b = right;

	return (a->started_unix_ns < b->started_unix_ns) -
	       (a->started_unix_ns > b->started_unix_ns);
}

/* The programs to choose from, newest first, as a list for the screen. */
static void choice_tell(struct hp_heard *heard, struct hp_live *live, size_t count)
{
	cJSON *list = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(list, "data");

	qsort(live, count, sizeof(*live), compare_live);
	for (size_t i = 0; i < count; i++) {
		cJSON *one = cJSON_CreateObject();

		cJSON_AddStringToObject(one, "name", live[i].comm);
		cJSON_AddNumberToObject(one, "pid", live[i].pid);
		cJSON_AddNumberToObject(one, "elapsed_ns", (double)live[i].elapsed_ns);
		cJSON_AddNumberToObject(one, "port", live[i].port);
		cJSON_AddStringToObject(one, "session", live[i].token);
		cJSON_AddItemToArray(array, one);
	}
	heard->body = cJSON_PrintUnformatted(list);
	heard->size = heard->body ? strlen(heard->body) : 0;
	cJSON_Delete(list);
	hp_heard_say(heard, HP_PHASE_CHOOSE, "choose one with the arrows and Enter",
		     "%zu profiled programs run", count);
}

static void missing_tell(const struct local *local, struct hp_heard *heard)
{
	if (!local->name)
		hp_heard_say(heard, HP_PHASE_WAITS, "start one: hotpath-run ./app",
			     "Waiting for a profiled program of yours");
	else
		hp_heard_say(heard, HP_PHASE_WAITS,
			     "hotpath list shows those that run; a program is profiled from its "
			     "start: hotpath-run ./app",
			     "Waiting for %s: no profiled program has this pid or session",
			     local->name);
}

/* Searches for the program. False = `heard` has the reason. */
static bool find(struct local *local, struct hp_heard *heard)
{
	size_t count;
	struct hp_live *live = hp_live_list(&count);
	size_t meant = local->name ? hp_live_choose(live, count, local->name) : count;

	if (meant == 1) {
		int fd = hp_session_look(live[0].token);

		if (fd >= 0)
			attach(local, &live[0], fd);
	}
	if (!local->cache && meant > 1)
		choice_tell(heard, live, meant);
	else if (!local->cache)
		missing_tell(local, heard);
	free(live);
	return local->cache != NULL;
}

static void programs_tell(struct hp_heard *heard)
{
	size_t count;
	struct hp_live *live = hp_live_list(&count);

	if (count)
		choice_tell(heard, live, count);
	else
		hp_heard_say(heard, HP_PHASE_WAITS, "", "No profiled program runs");
	free(live);
}

static void choose(struct local *local, const char *token, struct hp_heard *heard)
{
	size_t count;
	struct hp_live *live = hp_live_list(&count);
	int fd = hp_session_look(token);

	for (size_t i = 0; fd >= 0 && i < count; i++) {
		if (strcmp(live[i].token, token) != 0)
			continue;
		attach(local, &live[i], fd);
		fd = -1;
	}
	if (fd >= 0)
		close(fd);
	free(live);
	heard->status = local->cache && strcmp(local->token, token) == 0 ? 200 : 404;
}

/* --- asking --- */

/*
 * The session may continue in children after its first process has gone; it
 * ends with its helper. The socket is only checked then.
 */
static bool is_session_over(const struct local *local)
{
	int fd;

	if (!local->token[0] || is_running(local))
		return false;
	fd = hp_session_look(local->token);
	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static void ask(struct hp_origin *origin, const char *method, const char *path,
		struct hp_heard *heard)
{
	struct local *local = (struct local *)origin;
	struct hp_answer *answer;

	if (strncmp(path, HP_ATTACH_PATH, strlen(HP_ATTACH_PATH)) == 0) {
		choose(local, path + strlen(HP_ATTACH_PATH), heard);
		return;
	}
	if (strcmp(path, HP_PROGRAMS_PATH) == 0) {
		programs_tell(heard);
		return;
	}
	if (!local->cache && !find(local, heard))
		return;
	if (!local->is_over && is_session_over(local)) {
		local->is_over = true;
		hp_cache_stop(local->cache);
	}
	answer = hp_cache_get(local->cache, method, path);
	heard->status = answer->status;
	heard->size = answer->size;
	heard->body = hp_xmalloc(answer->size + 1);
	memcpy(heard->body, answer->body, answer->size);
	heard->body[answer->size] = 0;
	hp_answer_drop(answer);
	if (local->is_over)
		hp_heard_say(heard, HP_PHASE_OVER, "a chooses another; hotpath report prints it",
			     "The program has ended: these are its last figures");
}

struct hp_origin *hp_origin_local(const char *name, bool is_file,
				  const struct hp_settings *settings)
{
	struct local *local = hp_xcalloc(1, sizeof(*local));
	struct hp_target target;

	local->base.ask = ask;
	local->settings = settings;
	local->name = name ? hp_xstrdup(name) : NULL;
	snprintf(local->base.name, sizeof(local->base.name), "%s", name ? name : "");
	if (!is_file)
		return &local->base;
	if (hp_target_init(&target, name, hp_input_say, NULL))
		local->cache = hp_cache_new(&target, settings, hp_routes());
	if (local->cache)
		return &local->base;
	free(local->name);
	free(local);
	return NULL;
}
