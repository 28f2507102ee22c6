/* SPDX-License-Identifier: MIT */
/*
 * port.c - see port.h.
 */
#include "segment/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 64

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Its size; 0 = invalid address. */
static socklen_t address_init(union address *to, const char *text, uint16_t port)
{
	memset(to, 0, sizeof(*to));
	if (inet_pton(AF_INET, text, &to->v4.sin_addr) == 1) {
		to->v4.sin_family = AF_INET;
		to->v4.sin_port = htons(port);
		return sizeof(to->v4);
	}
	if (inet_pton(AF_INET6, text, &to->v6.sin6_addr) == 1) {
		to->v6.sin6_family = AF_INET6;
		to->v6.sin6_port = htons(port);
		return sizeof(to->v6);
	}
	return 0;
}

static int listen_at(int fd, const union address *address, socklen_t size, uint16_t *port)
{
	union address got;
	int yes = 1;

	/* Connections left over from an earlier run must not keep the port busy. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, &address->any, size) < 0 || listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, &got.any, &size) < 0)
		return -errno;
	*port = ntohs(got.any.sa_family == AF_INET ? got.v4.sin_port : got.v6.sin6_port);
	return 0;
}

int hp_port_listen(const char *text, uint16_t *port)
{
	union address address;
	socklen_t size = address_init(&address, text, *port);
	int fd, error;

	if (!size)
		return -EINVAL;
	fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	error = listen_at(fd, &address, size, port);
	if (!error)
		return fd;
	close(fd);
	return error;
}

const char *hp_port_remedy(int error)
{
	switch (error) {
	case EADDRINUSE:
		return "; all ports of net.ipv4.ip_local_port_range are taken: choose another one";
	case EADDRNOTAVAIL:
		return "; this machine has no such address";
	case EACCES:
		return "; ports below net.ipv4.ip_unprivileged_port_start are reserved for root";
	case EMFILE:
		return "; raise the limit of open files (ulimit -n)";
	case ENFILE:
		return "; the machine's limit is fs.file-max";
	case EINVAL:
		return "; use a numeric address";
	default:
		return "";
	}
}
