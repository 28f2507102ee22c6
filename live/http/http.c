/* SPDX-License-Identifier: MIT */
/*
 * http.c - see http.h.
 *
 * libmicrohttpd calls us for each request: once with its head, with each part
 * of its body, and once at its end. The connection is suspended while the
 * worker makes the response, so a slow response delays no other.
 *
 *   head    access (guard.c) and route: a request is refused before its body is read
 *   body    stored, up to HP_BODY_MAX
 *   end     a cached response is sent; otherwise suspend and ask; the worker resumes
 *   again   the response is sent
 */
#include "live/http/http.h"

#include <stdio.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "live/http/acceptor.h"
#include "live/http/crowd.h"
#include "live/http/guard.h"
#include "report/base/memory.h"
#include "segment/clock.h"

/* crowd.c divides these places into thirds; two are for clients with access. */
#define CONNECTIONS_TOLD 300
#define CONNECTIONS_MAX 200
#define FILES_OTHER 64	/* descriptors that are not connections */
#define HEAD_MAX (32 << 10)	/* bytes of memory for a connection, including its request's head */
#define RETRY_S "1"	/* Retry-After, seconds */
#define QUIET_S 10	/* without a byte of a request */
#define REQUEST_S 20	/* limit for receiving a complete request */
#define ANSWER_S 60	/* limit for sending a complete response */
#define HEADERS_MAX 6	/* of an answer, by sites */

struct hp_http {
	struct MHD_Daemon *daemon;
	struct hp_acceptor *acceptor;
	const char *token;
	const char *token_name;	/* of the variable */
	const char *only;
	struct hp_cache *cache;
	const struct hp_http_site *sites;
	size_t site_count;
	_Atomic uint64_t asked_ns;
	struct hp_crowd *crowd;
};

struct header {
	char *name;
	char *value;
};

struct hp_exchange {
	struct hp_http *http;
	struct MHD_Connection *connection;
	const char *method;	/* libmicrohttpd's; valid during the request */
	struct hp_request request;
	const struct hp_http_site *site;	/* NULL = a route */
	char *path;
	const char *query;	/* raw query string; NULL = none */
	char *body;
	size_t size;
	size_t room;
	bool is_too_long;
	struct header headers[HEADERS_MAX];
	size_t header_count;
	const char *allowed;
	struct hp_answer *_Atomic answer;	/* NULL = not yet; stored by the answering thread */
};

static const char *header_of(const struct hp_exchange *exchange, const char *name)
{
	return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

/* --- access --- */

static int fd_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

/* In the acceptor's thread; libmicrohttpd closes rejected connections. */
static bool on_accept(void *context, int connection, const struct sockaddr *address, socklen_t size)
{
	struct hp_http *http = context;

	if (!hp_crowd_enter(http->crowd, connection)) {
		close(connection);
		return false;
	}
	hp_crowd_give(http->crowd, connection, REQUEST_S);
	if (MHD_add_connection(http->daemon, connection, address, size) == MHD_YES)
		return true;
	hp_crowd_leave(http->crowd, connection);
	return false;
}

static void on_tick(void *context)
{
	struct hp_http *http = context;

	hp_crowd_sweep(http->crowd);
}

/* libmicrohttpd calls this before it closes the descriptor. */
static void on_connection(void *context, struct MHD_Connection *connection, void **socket_context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct hp_http *http = context;

	(void)socket_context;
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		return;
	hp_crowd_leave(http->crowd, fd_of(connection));
	hp_acceptor_gone(http->acceptor);
}

/* As hp_guard_is_own_peer. */
static int is_own_peer(const struct hp_exchange *exchange)
{
	return hp_crowd_is_own(exchange->http->crowd, fd_of(exchange->connection));
}

static bool is_late(const struct hp_exchange *exchange)
{
	return hp_crowd_is_late(exchange->http->crowd, fd_of(exchange->connection));
}

/* Starts the deadline for the client's next step. */
static void give(const struct hp_exchange *exchange, unsigned seconds)
{
	hp_crowd_give(exchange->http->crowd, fd_of(exchange->connection), seconds);
}

/* A browser's value for foreign pages. */
static struct hp_answer *refuse_page(const struct hp_exchange *exchange)
{
	const char *host = header_of(exchange, "Host");
	const char *origin = header_of(exchange, "Origin");
	const char *site = header_of(exchange, "Sec-Fetch-Site");
	bool is_foreign =
		site && strcasecmp(site, "same-origin") != 0 && strcasecmp(site, "none") != 0;

	if (host && !exchange->http->token && !hp_guard_is_local_host(host))
		return hp_answer_error(403, "ask as localhost or by the address",
				       "Host does not name this machine");
	if ((origin && !hp_guard_is_own_origin(origin, host)) || is_foreign)
		return hp_answer_error(403, NULL, "Pages of another origin have no access");
	return NULL;
}

static const struct hp_http_site *site_of(const struct hp_http *http, const char *path)
{
	for (size_t i = 0; i < http->site_count; i++)
		if (strcmp(http->sites[i].path, path) == 0)
			return &http->sites[i];
	return NULL;
}

/* Each server has its own token. */
static struct hp_answer *no_token(const struct hp_http *http)
{
	char hint[96];

	snprintf(hint, sizeof(hint), "start the program with %s, and send it", http->token_name);
	return hp_answer_error(403, hint, "Another user's program; access needs a token");
}

static struct hp_answer *needs_token(const struct hp_http *http)
{
	char hint[96];

	snprintf(hint, sizeof(hint), "start the program with %s; or use hotpath stacks PID",
		 http->token_name);
	return hp_answer_error(403, hint, "This stops threads for a moment, and needs a token");
}

/* NULL = our user or root. */
static struct hp_answer *refuse_user(const struct hp_exchange *exchange)
{
	int own = is_own_peer(exchange);

	if (own < 0)
		return hp_answer_error(503,
				       "raise the limit of open files (ulimit -n), or use a token",
				       "Cannot find the connection's owner: %s", strerror(-own));
	return own ? NULL : no_token(exchange->http);
}

/* NULL = allowed. */
static struct hp_answer *refuse(const struct hp_exchange *exchange)
{
	const struct hp_http_site *site = site_of(exchange->http, exchange->path);
	const char *token = exchange->http->token;
	struct hp_answer *answer = refuse_page(exchange);

	if (answer)
		return answer;
	if (is_late(exchange))
		return hp_answer_error(503, "retry in a second", "Too many connections: %d",
				       CONNECTIONS_MAX);
	if (token && site && site->is_public)
		return NULL;
	if (token && !hp_guard_knows_token(header_of(exchange, "Authorization"), token))
		return hp_answer_error(401, "Authorization must be the token, bare or after Bearer",
				       "Unauthorized");
	return token ? NULL : refuse_user(exchange);
}

/* --- the answer --- */

static struct MHD_Response *response_of(const struct hp_exchange *exchange,
					const struct hp_answer *answer)
{
	/* The response may be freed before the last byte is sent. */
	struct MHD_Response *response =
		MHD_create_response_from_buffer(answer->size, answer->body, MHD_RESPMEM_MUST_COPY);

	if (!response)
		return NULL;
	if (answer->type)
		MHD_add_response_header(response, "Content-Type", answer->type);
	MHD_add_response_header(response, "Cache-Control", "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (exchange->allowed)
		MHD_add_response_header(response, "Allow", exchange->allowed);
	if (answer->status == 503) {
		MHD_add_response_header(response, "Retry-After", RETRY_S);
		MHD_add_response_header(response, "Connection", "close");
	}
	if (answer->status == 401)
		MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
	for (size_t i = 0; i < exchange->header_count; i++)
		MHD_add_response_header(response, exchange->headers[i].name,
					exchange->headers[i].value);
	return response;
}

static enum MHD_Result reply(const struct hp_exchange *exchange, const struct hp_answer *answer)
{
	struct MHD_Response *response = response_of(exchange, answer);
	enum MHD_Result result = MHD_NO;

	give(exchange, ANSWER_S);
	if (response) {
		result = MHD_queue_response(exchange->connection, (unsigned)answer->status,
					    response);
		MHD_destroy_response(response);
	}
	return result;
}

void hp_exchange_answer(struct hp_exchange *exchange, struct hp_answer *answer)
{
	struct MHD_Connection *connection = exchange->connection;

	/* Release: the connection's thread reads the response made here. */
	atomic_store_explicit(&exchange->answer, answer, memory_order_release);
	MHD_resume_connection(connection);
}

static void on_answer(void *context, struct hp_answer *answer)
{
	hp_exchange_answer(context, answer);
}

/* The request is complete. */
static enum MHD_Result serve(struct hp_exchange *exchange)
{
	struct hp_cache *cache = exchange->http->cache;
	struct hp_answer *answer;

	give(exchange, 0);
	if (exchange->site) {
		MHD_suspend_connection(exchange->connection);
		exchange->site->serve(exchange->site->context, exchange);
		return MHD_YES;
	}
	answer = hp_cache_peek(cache, &exchange->request);
	if (answer) {
		atomic_store_explicit(&exchange->answer, answer, memory_order_relaxed);
		return reply(exchange, answer);
	}
	/* Before asking: the answer may come at once. */
	MHD_suspend_connection(exchange->connection);
	hp_cache_ask(cache, &exchange->request, on_answer, exchange);
	return MHD_YES;
}

/* --- requests --- */

static bool is_openmetrics(const struct hp_exchange *exchange)
{
	const char *accept = header_of(exchange, "Accept");

	return accept && strstr(accept, "application/openmetrics-text");
}

/* Called first, with the raw path and query string. */
static void *on_uri(void *context, const char *uri, struct MHD_Connection *connection)
{
	struct hp_http *http = context;
	struct hp_exchange *exchange = hp_xcalloc(1, sizeof(*exchange));

	exchange->http = http;
	exchange->connection = connection;
	exchange->path = hp_xstrdup(uri);
	return exchange;
}

/* NULL = a route or site handles it. */
static struct hp_answer *find(struct hp_exchange *exchange, const char *path, const char *query)
{
	const struct hp_http *http = exchange->http;
	const struct hp_question question = { exchange->method, path, query };
	struct hp_answer *error;

	exchange->site = site_of(http, path);
	if (exchange->site)
		return NULL;
	if (http->only && strcmp(http->only, path) != 0)
		return hp_answer_error(404, NULL, "Not found - only %s is here", http->only);
	error = hp_route_find(hp_cache_routes(http->cache), &question, &exchange->request,
			      &exchange->allowed);
	if (!error && exchange->request.route->needs_token && !http->token)
		return needs_token(http);
	if (!error)
		exchange->request.is_openmetrics = is_openmetrics(exchange);
	return error;
}

static bool is_without_body(const char *method)
{
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}

/* The head is there. */
static enum MHD_Result begin(struct hp_exchange *exchange, const char *method)
{
	char *query = strchr(exchange->path, '?');
	struct hp_answer *error;

	exchange->method = method;
	atomic_store_explicit(&exchange->http->asked_ns, hp_clock_raw_ns(), memory_order_relaxed);
	if (query)
		*query++ = 0;
	exchange->query = query;
	error = refuse(exchange);
	if (!error)
		error = find(exchange, exchange->path, query);
	exchange->answer = error;
	/*
	 * Refusing before the body is read closes the connection; without a
	 * body it may stay open.
	 */
	return error && !is_without_body(method) ? reply(exchange, error) : MHD_YES;
}

static void body_add(struct hp_exchange *exchange, const char *data, size_t size)
{
	if (exchange->size + size > HP_BODY_MAX) {
		exchange->is_too_long = true;
		return;
	}
	if (exchange->size + size + 1 > exchange->room) {
		exchange->room = 2 * (exchange->size + size + 1);
		exchange->body = hp_xrealloc(exchange->body, exchange->room, 1);
	}
	memcpy(exchange->body + exchange->size, data, size);
	exchange->size += size;
	exchange->body[exchange->size] = 0;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **request)
{
	struct hp_exchange *exchange = *request;

	(void)context, (void)connection, (void)url, (void)version;
	if (!exchange)
		return MHD_NO;
	if (!exchange->method)
		return begin(exchange, method);
	if (*size) {
		body_add(exchange, data, *size);
		*size = 0;
		return MHD_YES;
	}
	if (exchange->is_too_long && !exchange->answer)
		exchange->answer =
			hp_answer_error(413, NULL, "The body is longer than %d bytes", HP_BODY_MAX);
	/* Acquire: see hp_exchange_answer. */
	const struct hp_answer *answer =
		atomic_load_explicit(&exchange->answer, memory_order_acquire);
	return answer ? reply(exchange, answer) : serve(exchange);
}

static void on_end(void *context, struct MHD_Connection *connection, void **request,
		   enum MHD_RequestTerminationCode code)
{
	struct hp_exchange *exchange = *request;

	(void)context, (void)connection, (void)code;
	if (!exchange)
		return;
	/* The next request may come late, but must then be sent within the limit. */
	give(exchange, QUIET_S + REQUEST_S);
	for (size_t i = 0; i < exchange->header_count; i++) {
		free(exchange->headers[i].name);
		free(exchange->headers[i].value);
	}
	hp_answer_drop(exchange->answer);
	free(exchange->path);
	free(exchange->body);
	free(exchange);
	*request = NULL;
}

/* Paths are not decoded: none of ours has an escape. */
static size_t unescape_nothing(void *context, struct MHD_Connection *connection, char *text)
{
	(void)context, (void)connection;
	return strlen(text);
}

/* --- its life --- */

/* Connections limited by the available descriptors. */
static unsigned connections_most(void)
{
	struct rlimit limit;
	unsigned most = CONNECTIONS_TOLD;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return most;
	if (limit.rlim_cur < most + FILES_OTHER && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur =
			limit.rlim_max < most + FILES_OTHER ? limit.rlim_max : most + FILES_OTHER;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur >= most + FILES_OTHER)
		return most;
	return limit.rlim_cur > 2 * FILES_OTHER ? (unsigned)limit.rlim_cur - FILES_OTHER
						: FILES_OTHER / 2;
}

/* Its own connection limit is never reached: the acceptor's is lower. */
static struct MHD_Daemon *daemon_start(struct hp_http *http, unsigned most)
{
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC |
			 MHD_USE_NO_LISTEN_SOCKET;

	return MHD_start_daemon(
		flags, 0, NULL, NULL, on_request, http, MHD_OPTION_CONNECTION_LIMIT, 2 * most,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEAD_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)QUIET_S, MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
		MHD_OPTION_NOTIFY_COMPLETED, on_end, http, MHD_OPTION_URI_LOG_CALLBACK, on_uri,
		http, MHD_OPTION_UNESCAPE_CALLBACK, unescape_nothing, NULL, MHD_OPTION_END);
}

struct hp_http *hp_http_new(const struct hp_http_wish *wish)
{
	struct hp_http *http = hp_xcalloc(1, sizeof(*http));
	struct hp_acceptor_wish accepting = { .socket = wish->socket,
					      .most = connections_most(),
					      .take = on_accept,
					      .tick = on_tick,
					      .context = http };
	int error;

	http->token = wish->token;
	http->token_name = wish->token_name;
	http->only = wish->only;
	http->cache = wish->cache;
	http->sites = wish->sites;
	http->site_count = wish->site_count;
	http->asked_ns = hp_clock_raw_ns();
	http->crowd = hp_crowd_new(accepting.most, http->token);
	errno = ENOMEM;	/* libmicrohttpd may not set errno */
	http->acceptor = hp_acceptor_new(&accepting);
	if (http->acceptor)
		http->daemon = daemon_start(http, accepting.most);
	error = !http->daemon ? -errno : hp_acceptor_start(http->acceptor);
	if (!error)
		return http;
	if (http->daemon)
		MHD_stop_daemon(http->daemon);
	hp_acceptor_free(http->acceptor);
	hp_crowd_free(http->crowd);
	free(http);
	errno = -error;
	return NULL;
}

uint64_t hp_http_asked_ns(const struct hp_http *http)
{
	return atomic_load_explicit(&http->asked_ns, memory_order_relaxed);
}

/* --- for sites --- */

const char *hp_exchange_method(const struct hp_exchange *exchange)
{
	return exchange->method;
}

const char *hp_exchange_header(const struct hp_exchange *exchange, const char *name)
{
	return header_of(exchange, name);
}

const char *hp_exchange_body(const struct hp_exchange *exchange, size_t *size)
{
	*size = exchange->size;
	return exchange->body ? exchange->body : "";
}

void hp_exchange_add(struct hp_exchange *exchange, const char *name, const char *value)
{
	if (exchange->header_count == HEADERS_MAX)
		return;
	exchange->headers[exchange->header_count++] =
		(struct header){ hp_xstrdup(name), hp_xstrdup(value) };
}
