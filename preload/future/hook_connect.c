/* SPDX-License-Identifier: MIT */
/*
 * hook_connect.c - stand-ins of connect and getsockopt, for connect.h.
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "preload/channel/datagram.h"
#include "preload/future/connect.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/loop/connecting.h"

HP_EXPORT int connect(int fd, const struct sockaddr *address, socklen_t length)
{
	bool had_peer = false, is_ours = hp_datagram_connects(fd, &had_peer);
	int result = hp_real()->connect(fd, address, length);
	int saved;

	if (is_ours && result == 0)
		hp_datagram_connected(fd, address, length, had_peer, HP_CALLER);
	if (HP_LIKELY(result == 0 && !hp_connecting_count) || hp_is_early())
		return result;
	saved = errno;
	hp_connect_returned(fd, result == 0 ? 0 : saved, HP_CALLER);
	errno = saved;
	return result;
}

HP_EXPORT int getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
	int result = hp_real()->getsockopt(fd, level, name, value, length);

	if (HP_UNLIKELY(hp_connecting_count) && result == 0 && level == SOL_SOCKET &&
	    name == SO_ERROR)
		hp_connect_asked(fd, value, length);
	return result;
}
