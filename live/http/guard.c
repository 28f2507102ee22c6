/* SPDX-License-Identifier: MIT */
/*
 * guard.c - see guard.h.
 *
 * /proc/net/tcp lists the owner of every socket. With many sockets,
 * sock_diag(7) finds one faster, so it is tried first.
 */
#include "live/http/guard.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/time.h>
#include <unistd.h>

#include "segment/setting.h"

#define DIAG_WAIT_US 100000

/* --- owners --- */

/* An endpoint as in the kernel's tables: four words in memory order, and a port. */
struct end {
	int family;
	uint32_t words[4];
	uint16_t port;
};

static bool end_init(struct end *end, const struct sockaddr *address)
{
	*end = (struct end){ .family = address->sa_family };
	if (address->sa_family == AF_INET) {
		const struct sockaddr_in *v4 = (const void *)address;

		end->words[0] = v4->sin_addr.s_addr;
		end->port = ntohs(v4->sin_port);
		return true;
	}
	if (address->sa_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (const void *)address;

		memcpy(end->words, &v6->sin6_addr, sizeof(end->words));
		end->port = ntohs(v6->sin6_port);
		return true;
	}
	return false;
}

/* An IPv4 endpoint of an IPv6 socket: ::ffff:127.0.0.1. */
static struct end end_mapped(struct end end)
{
	if (end.family == AF_INET) {
		end.words[3] = end.words[0];
		end.words[2] = htonl(0xffff);
		end.words[0] = 0;
		end.family = AF_INET6;
	}
	return end;
}

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 ask;
};

struct reply {
	struct nlmsghdr head;
	struct inet_diag_msg said;
	char rest[512];
};

/* The kernel's answer about one connection. */
static bool ask_diag(const struct end *own, const struct end *other, uid_t *user)
{
	struct timeval wait = { 0, DIAG_WAIT_US };
	struct question question = {
		.head = { .nlmsg_len = sizeof(question),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.ask = { .sdiag_family = (uint8_t)own->family,
			 .sdiag_protocol = IPPROTO_TCP,
			 .idiag_states = 1 << TCP_ESTABLISHED,
			 .id = { .idiag_sport = htons(own->port),
				 .idiag_dport = htons(other->port),
				 .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};
	struct reply reply;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	ssize_t size = -1;

	memcpy(question.ask.id.idiag_src, own->words, sizeof(own->words));
	memcpy(question.ask.id.idiag_dst, other->words, sizeof(other->words));
	if (fd < 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (send(fd, &question, sizeof(question), 0) == sizeof(question))
		size = recv(fd, &reply, sizeof(reply), 0);
	close(fd);
	if (size < (ssize_t)(sizeof(reply.head) + sizeof(reply.said)) ||
	    reply.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    reply.said.id.idiag_sport != htons(own->port) ||
	    reply.said.id.idiag_dport != htons(other->port))
		return false;
	*user = reply.said.idiag_uid;
	return true;
}

/* ADDRESS:PORT, the address as hexadecimal words. */
static bool end_is(const char *text, const struct end *end)
{
	char wanted[48];

	if (end->family == AF_INET)
		snprintf(wanted, sizeof(wanted), "%08X:%04X", end->words[0], end->port);
	else
		snprintf(wanted, sizeof(wanted), "%08X%08X%08X%08X:%04X", end->words[0],
			 end->words[1], end->words[2], end->words[3], end->port);
	return strcmp(text, wanted) == 0;
}

static bool ask_proc(const struct end *own, const struct end *other, uid_t *user)
{
	FILE *list = fopen(own->family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6", "re");
	char line[512], from[48], to[48];
	bool is_found = false;
	unsigned id;

	while (list && !is_found && fgets(line, sizeof(line), list)) {
		if (sscanf(line, " %*u: %47s %47s %*x %*s %*s %*s %u", from, to, &id) != 3)
			continue;
		is_found = end_is(from, own) && end_is(to, other);
		if (is_found)
			*user = id;
	}
	if (list)
		fclose(list);
	return is_found;
}

static bool user_of(const struct end *own, const struct end *other, uid_t *user)
{
	return ask_diag(own, other, user) || ask_proc(own, other, user);
}

bool hp_guard_user_of(const struct sockaddr *peer, const struct sockaddr *local, uid_t *user)
{
	struct end own, other;

	if (!end_init(&own, peer) || !end_init(&other, local))
		return false;
	if (user_of(&own, &other, user))
		return true;
	/* A client that reached an IPv4 address through an IPv6 socket. */
	own = end_mapped(own);
	other = end_mapped(other);
	return user_of(&own, &other, user);
}

int hp_guard_is_own_peer(int socket)
{
	struct sockaddr_storage peer, local;
	socklen_t peer_size = sizeof(peer), local_size = sizeof(local);
	uid_t user;

	errno = 0;
	if (getpeername(socket, (struct sockaddr *)&peer, &peer_size) < 0 ||
	    getsockname(socket, (struct sockaddr *)&local, &local_size) < 0 ||
	    !hp_guard_user_of((struct sockaddr *)&peer, (struct sockaddr *)&local, &user))
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
	return user == 0 || user == geteuid() || user == getuid();
}

/* --- tokens --- */

static bool is_same(const char *given, const char *token)
{
	size_t size = strlen(token), given_size = strlen(given);
	volatile unsigned char differs = given_size != size;

	/* Compares every byte, so that the time does not depend on the input. */
	for (size_t i = 0; i < size; i++)
		differs |= (unsigned char)(token[i] ^ given[given_size ? i % given_size : 0]);
	return !differs;
}

bool hp_guard_knows_token(const char *given, const char *token)
{
	bool is_bearer = given && strncasecmp(given, "Bearer ", 7) == 0;

	if (!given)
		return false;
	if (is_bearer)
		given += 7 + strspn(given + 7, " ");
	return is_same(given, token);
}

bool hp_guard_is_token(const char *token)
{
	return hp_setting_is_token(token);
}

/* --- names --- */

/* Strips the port and an IPv6 address's brackets; false = invalid. */
static bool host_only(const char *host, char *room, size_t size)
{
	const char *end = host[0] == '[' ? strchr(host, ']') : strchr(host, ':');
	const char *port = end;
	size_t length;

	if (host[0] == '[') {
		if (!end)
			return false;
		host++;
		port = end[1] ? end + 1 : NULL;
	}
	if (port && (*port != ':' || port[1 + strspn(port + 1, "0123456789")]))
		return false;
	length = end ? (size_t)(end - host) : strlen(host);
	if (length == 0 || length >= size)
		return false;
	memcpy(room, host, length);
	room[length] = 0;
	return true;
}

bool hp_guard_is_local_host(const char *host)
{
	char name[64];
	unsigned char address[16];

	if (!host_only(host, name, sizeof(name)))
		return false;
	return strcasecmp(name, "localhost") == 0 || strcasecmp(name, "localhost.") == 0 ||
	       inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
}

bool hp_guard_is_own_origin(const char *origin, const char *host)
{
	static const char scheme[] = "http://";

	return host && strncasecmp(origin, scheme, sizeof(scheme) - 1) == 0 &&
	       strcasecmp(origin + sizeof(scheme) - 1, host) == 0;
}

bool hp_guard_is_loopback(const char *address)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (inet_pton(AF_INET, address, &v4) == 1)
		return (ntohl(v4.s_addr) >> 24) == 127;
	return inet_pton(AF_INET6, address, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}
