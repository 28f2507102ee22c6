/* SPDX-License-Identifier: MIT */
/*
 * hook_datagram.c - stand-ins of socket and connect, for UNIX datagram sockets (datagram.h).
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "preload/channel/channel.h"
#include "preload/channel/datagram.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"

HP_EXPORT int socket(int domain, int type, int protocol)
{
	bool is_on = domain == AF_UNIX && (type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) == SOCK_DGRAM &&
		     hp_channel_is_on();
	int fd = hp_real()->socket(domain, type, protocol);
	int saved = errno;

	if (fd >= 0 && is_on)
		hp_datagram_made(fd, HP_CALLER);
	errno = saved;
	return fd;
}

HP_EXPORT int connect(int fd, const struct sockaddr *address, socklen_t length)
{
	bool had_peer = false, is_ours = hp_datagram_connects(fd, &had_peer);
	int result = hp_real()->connect(fd, address, length);

	if (is_ours && result == 0)
		hp_datagram_connected(fd, address, length, had_peer, HP_CALLER);
	return result;
}
