/* SPDX-License-Identifier: MIT */
/*
 * mcp_fuzz.c - a message of JSON-RPC, as a client of MCP may send it over HTTP or
 * stdio, answered from a real run.  The first byte chooses the headers.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "live/mcp/mcp.h"
#include "live/routes/routes.h"
#include "test/fuzz/base.h"
#include "test/fuzz/fuzz.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;

static struct hp_cache *cache(void *context)
{
	static struct hp_cache *one;
	struct hp_settings settings;
	struct hp_target target;

	(void)context;
	if (one)
		return one;
	hp_settings_read(&settings, (char *[]){ NULL }, NULL, NULL);
	fuzz_base();
	if (!hp_target_init(&target, getenv("FUZZ_BASE"), hp_input_say, NULL))
		exit(1);
	one = hp_cache_new(&target, &settings, hp_routes());
	return one;
}

static void done(void *context, struct hp_answer *answer)
{
	pthread_mutex_lock(&lock);
	*(struct hp_answer **)context = answer;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
}

/* One of each answer: there are no other programs. */
static bool choose(void *context, const char *name)
{
	(void)context;
	return *name == 'a';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const versions[] = { NULL, "2025-06-18", "2026-07-28", "1999-01-01" };
	static const struct hp_mcp_host host = { cache, choose, NULL, NULL };
	struct hp_answer *answer = NULL;
	struct hp_mcp_message message = { .is_http = size && (data[0] & 1) };
	char *body = fuzz_text(size ? data + 1 : data, size ? size - 1 : 0);

	message.body = body;
	message.size = size ? size - 1 : 0;
	if (message.is_http) {
		message.version = versions[data[0] >> 1 & 3];
		message.method = data[0] & 8 ? "tools/call" : NULL;
		message.name = data[0] & 16 ? "functions_timing" : NULL;
	}
	hp_mcp_take(&host, &message, done, &answer);
	pthread_mutex_lock(&lock);
	while (!answer)
		pthread_cond_wait(&wake, &lock);
	pthread_mutex_unlock(&lock);
	if (answer->size && !memchr("{[", answer->body[0], 2))
		abort();	/* whatever the input, the output is JSON */
	hp_answer_drop(answer);
	free(body);
	return 0;
}
