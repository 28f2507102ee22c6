/* SPDX-License-Identifier: MIT */
/*
 * origin_http.c - answers over HTTP, using libcurl: from our server or the Rust
 * crate's, local or remote.
 *
 * No proxy: the data is private, and the server was named explicitly.
 */
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/console/loop/origin.h"
#include "report/store/live.h"
#include "report/base/memory.h"

#define TIMEOUT_MS 5000L
#define CONNECT_MS 3000L
#define BODY_MAX (64u << 20)

struct http {
	struct hp_origin base;
	CURL *curl;
	struct curl_slist *headers;
	char *url;	/* without a slash at its end */
	bool has_token;
	bool was_heard;	/* it has answered before */
	uint32_t turn;	/* time of the request */
	struct hp_heard *heard;
};

static size_t body_take(char *bytes, size_t one, size_t count, void *context)
{
	struct hp_heard *heard = context;
	size_t size = one * count;

	if (size > BODY_MAX - heard->size)
		return 0;
	heard->body = hp_xrealloc(heard->body, heard->size + size + 1, 1);
	memcpy(heard->body + heard->size, bytes, size);
	heard->size += size;
	heard->body[heard->size] = 0;
	return size;
}

/* Not zero ends the transfer. */
static int is_unwanted(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct http *http = context;

	(void)a, (void)b, (void)c, (void)d;
	return atomic_load_explicit(&http->base.turn, memory_order_relaxed) != http->turn;
}

/* Profiled local programs with their ports. */
static void running_tell(char *text, size_t size)
{
	size_t count, done = 0;
	struct hp_live *live = hp_live_list(&count);

	text[0] = 0;
	for (size_t i = 0; i < count && done + 64 < size; i++)
		if (live[i].port)
			done += (size_t)snprintf(text + done, size - done, "%s%s has port %u",
						 done ? ", " : "", live[i].comm, live[i].port);
	free(live);
}

static const char *connect_remedy(long error)
{
	switch (error) {
	case EADDRNOTAVAIL:
		return "all ports of net.ipv4.ip_local_port_range are taken; without "
		       "--metrics-port none is needed";
	case EMFILE:
	case ENFILE:
		return "raise the limit of open files (ulimit -n)";
	default:
		return "does the program run on that machine?";
	}
}

static void failure_tell(struct http *http, CURLcode code)
{
	struct hp_heard *heard = http->heard;
	char running[160];
	long error = 0;

	running_tell(running, sizeof(running));
	switch (code) {
	case CURLE_COULDNT_CONNECT:
		curl_easy_getinfo(http->curl, CURLINFO_OS_ERRNO, &error);
		if (error && error != ECONNREFUSED) {
			hp_heard_say(heard, HP_PHASE_FAILS, connect_remedy(error),
				     "%s cannot be reached: %s", http->url, strerror((int)error));
			break;
		}
		hp_heard_say(heard, HP_PHASE_FAILS,
			     *running ? running
				      : "start the program, or give its port: --metrics-port",
			     "Nothing listens at %s", http->url);
		break;
	case CURLE_COULDNT_RESOLVE_HOST:
		hp_heard_say(heard, HP_PHASE_FAILS, "--metrics-host takes http://HOST",
			     "%s: unknown host", http->url);
		break;
	case CURLE_OPERATION_TIMEDOUT:
		hp_heard_say(heard, HP_PHASE_FAILS, "retrying; does another program use this port?",
			     "%s did not answer within %ld s", http->url, TIMEOUT_MS / 1000);
		break;
	default:
		hp_heard_say(heard, HP_PHASE_FAILS,
			     "is this the port of a profiled program? hotpath list shows them",
			     "%s: %s", http->url, curl_easy_strerror(code));
	}
}

/* Statuses without an answer about the program. */
static void status_tell(struct http *http, const char *path)
{
	struct hp_heard *heard = http->heard;

	if (heard->status == 401 || heard->status == 403)
		hp_heard_say(
			heard, HP_PHASE_FAILS,
			http->has_token
				? "the token is wrong: --metrics-auth-token, "
				  "HOTPATH_METRICS_AUTH_TOKEN"
				: "--metrics-auth-token T or HOTPATH_METRICS_AUTH_TOKEN=T sends one",
			heard->status == 401 ? "%s wants a token (401)" : "%s refuses us (403)",
			http->url);
	else if (strcmp(path, "/profiler_status") == 0 && heard->status != 200)
		hp_heard_say(heard, HP_PHASE_FAILS,
			     "is this the port of a profiled program? hotpath list shows them",
			     "%s answers %d to %s: not hotpath, or older than 0.10", http->url,
			     heard->status, path);
}

static void ask(struct hp_origin *origin, const char *method, const char *path,
		struct hp_heard *heard)
{
	struct http *http = (struct http *)origin;
	char *url = hp_xprintf("%s%s", http->url, path);
	long status = 0;
	CURLcode code;

	http->heard = heard;
	http->turn = atomic_load_explicit(&origin->turn, memory_order_relaxed);
	curl_easy_setopt(http->curl, CURLOPT_URL, url);
	curl_easy_setopt(http->curl, CURLOPT_WRITEDATA, heard);
	if (strcmp(method, "POST") == 0)
		curl_easy_setopt(http->curl, CURLOPT_COPYPOSTFIELDS, "");
	else
		curl_easy_setopt(http->curl, CURLOPT_HTTPGET, 1L);
	code = curl_easy_perform(http->curl);
	curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &status);
	heard->status = (int)status;
	http->was_heard = http->was_heard || status == 200;
	if (code == CURLE_OK)
		status_tell(http, path);
	else if (code == CURLE_ABORTED_BY_CALLBACK)
		heard->phase = HP_PHASE_WAITS;
	else
		failure_tell(http, code);
	if (code != CURLE_OK)
		heard->status = 0;
	free(url);
}

struct hp_origin *hp_origin_http(const char *base, const char *token)
{
	struct http *http = hp_xcalloc(1, sizeof(*http));
	size_t length = strlen(base);

	curl_global_init(CURL_GLOBAL_DEFAULT);
	http->curl = curl_easy_init();
	if (!http->curl) {
		free(http);
		return NULL;
	}
	http->base.ask = ask;
	http->url = hp_xstrdup(base);
	while (length && http->url[length - 1] == '/')
		http->url[--length] = 0;
	snprintf(http->base.name, sizeof(http->base.name), "%s", http->url);
	if (token) {
		char *line = hp_xprintf("Authorization: %s", token);

		http->headers = curl_slist_append(NULL, line);
		http->has_token = true;
		free(line);
	}
	curl_easy_setopt(http->curl, CURLOPT_HTTPHEADER, http->headers);
	curl_easy_setopt(http->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(http->curl, CURLOPT_PROXY, "");
	curl_easy_setopt(http->curl, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
	curl_easy_setopt(http->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	curl_easy_setopt(http->curl, CURLOPT_WRITEFUNCTION, body_take);
	curl_easy_setopt(http->curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(http->curl, CURLOPT_XFERINFOFUNCTION, is_unwanted);
	curl_easy_setopt(http->curl, CURLOPT_XFERINFODATA, http);
#if LIBCURL_VERSION_NUM >= 0x075500
	curl_easy_setopt(http->curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
	curl_easy_setopt(http->curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
	curl_easy_setopt(http->curl, CURLOPT_USERAGENT, "hotpath-console/" HP_VERSION);
	return &http->base;
}
