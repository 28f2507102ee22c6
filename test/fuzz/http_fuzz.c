/* SPDX-License-Identifier: MIT */
/*
 * http_fuzz.c - bytes on a connection to the live server, answered from a real run:
 * headers, bodies and queries, several requests one after the other. The first byte
 * chooses the server: with or without a token, with all routes or MCP.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "live/http/http.h"
#include "live/mcp/mcp.h"
#include "live/http/site.h"
#include "live/routes/routes.h"
#include "segment/port.h"
#include "test/fuzz/base.h"
#include "test/fuzz/fuzz.h"
#include "util/hash.h"

#define SERVERS 3
#define TOKEN "abcdefgh12345678"

static struct hp_cache *cache;

static struct hp_cache *own_cache(void *context)
{
	return context;
}

static void cache_make(void)
{
	struct hp_settings settings;
	struct hp_target target;

	hp_settings_read(&settings, (char *[]){ NULL }, NULL, NULL);
	fuzz_base();
	if (!hp_target_init(&target, getenv("FUZZ_BASE"), hp_input_say, NULL))
		exit(1);
	cache = hp_cache_new(&target, &settings, hp_routes());
}

static uint16_t server_make(int which)
{
	static struct hp_http_site pages[HP_SITE_PATHS_MAX], mcp;
	static struct hp_mcp_host host;
	static size_t page_count;
	uint16_t port = 0;
	struct hp_http_wish wish = { .socket = hp_port_listen("127.0.0.1", &port),
				     .token = which ? TOKEN : NULL,
				     .token_name = "HOTPATH_METRICS_AUTH_TOKEN" };

	if (!cache) {
		cache_make();
		page_count = hp_site_paths(pages);
	}
	host = (struct hp_mcp_host){ .cache = own_cache, .context = cache };
	mcp = (struct hp_http_site){ "/mcp", hp_mcp_serve, &host, false };
	wish.cache = cache;
	wish.only = which == 2 ? "/mcp" : NULL;
	wish.sites = which == 2 ? &mcp : pages;
	wish.site_count = which == 2 ? 1 : page_count;
	if (wish.socket < 0 || !hp_http_new(&wish))
		abort();
	return port;
}

static int connection_to(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct linger at_once = { 1, 0 };	/* no port remains in TIME_WAIT */
	struct timeval most = { 20, 0 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		abort();
	return fd;
}

/*
 * The result is always an HTTP answer or the end of the connection. libmicrohttpd keeps one that is
 * idle, or that was suspended when our end was closed, for its ten seconds. Only some inputs wait
 * for that, since there would be few others in that time.
 */
static void answer_take(int fd, bool is_patient)
{
	struct timeval little = { 0, 20000 };
	static char text[1 << 16];

	if (!is_patient)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &little, sizeof(little));
	ssize_t got = recv(fd, text, sizeof(text), 0);

	if (got > 0 && (got < 7 || memcmp(text, "HTTP/1.", 7) != 0))
		abort();
	if (got < 0 && is_patient && (errno == EAGAIN || errno == EWOULDBLOCK))
		abort();
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &little, sizeof(little));
	while (got > 0)
		got = recv(fd, text, sizeof(text), 0);
}

/* One input in 64. */
static bool is_patient(const uint8_t *data, size_t size)
{
	uint64_t hash = 1;

	for (size_t i = 0; i < size; i++)
		hash = hp_hash_add(hash, data[i]);
	return hash >> 58 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint16_t ports[SERVERS];
	int which = size ? data[0] % SERVERS : 0, fd;

	if (!ports[which])
		ports[which] = server_make(which);
	fd = connection_to(ports[which]);
	if (size > 1)
		(void)!send(fd, data + 1, size - 1, MSG_NOSIGNAL);
	shutdown(fd, SHUT_WR);
	answer_take(fd, is_patient(data, size));
	close(fd);
	return 0;
}
