/* SPDX-License-Identifier: MIT */
/*
 * hook_datagram.c - the stand-in of socket, for UNIX datagram sockets (datagram.h); that of connect is in
 * preload/future/hook_connect.c.
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
