/* SPDX-License-Identifier: MIT */
/*
 * hook_accept.c - stand-ins for accept: a listening socket is a stream of
 * connections. It starts with the first accept.
 *
 * Both are cancellation points: everything is counted after the real call.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "preload/channel/channel.h"
#include "preload/guest/confine.h"
#include "preload/guest/real.h"
#include "preload/stream/stream.h"

#define NAME_ROOM 128

static char *number_put(char *to, unsigned number)
{
	char digits[12];
	int n = 0;

	do
		digits[n++] = (char)('0' + number % 10);
	while (number /= 10);
	while (n)
		*to++ = digits[--n];
	*to = 0;
	return to;
}

/* "port 8080", or the path of a local socket; "" = not known. */
static void name_put(int fd, char name[NAME_ROOM])
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	} address;
	socklen_t size = sizeof(address);

	name[0] = 0;
	memset(&address, 0, sizeof(address));
	if (hp_is_confined() || syscall(SYS_getsockname, fd, &address, &size) != 0)
		return;
	if (address.any.sa_family == AF_INET)
		number_put(stpcpy(name, "port "), ntohs(address.in.sin_port));
	else if (address.any.sa_family == AF_INET6)
		number_put(stpcpy(name, "port "), ntohs(address.in6.sin6_port));
	else if (address.any.sa_family == AF_UNIX)
		memcpy(name, address.un.sun_path, sizeof(address.un.sun_path));
}

static struct hp_stream_open *first_use(int fd, uintptr_t caller)
{
	char name[NAME_ROOM];
	const struct hp_stream_wish wish = {
		.kind = HP_STREAM_ACCEPT, .origin = HP_STREAM_FIRST, .caller = caller, .name = name
	};

	if (!hp_stream_is_on())
		return NULL;
	name_put(fd, name);
	return hp_stream_opens(hp_stream_fd_key(fd), &wish);
}

/* An accepted socket is no channel, so its first use need not ask the kernel what it is. */
static int accepted(int fd, int result, uintptr_t caller)
{
	struct hp_stream_open *open;
	struct hp_stream_part *part;
	int saved;

	if (result < 0 || fd < 0 || hp_is_early())
		return result;
	saved = errno;
	hp_channel_put(result, NULL, NULL);
	errno = saved;
	if (!hp_stream_is_wanted)
		return result;
	open = hp_stream_of(hp_stream_fd_key(fd));
	if (!open) {
		open = first_use(fd, caller);
		hp_channel_tell(fd);
	}
	part = open ? atomic_load_explicit(&open->part, memory_order_acquire) : NULL;
	if (part)
		hp_stream_items(part, 1, UINT64_MAX, NULL);
	errno = saved;
	return result;
}

HP_EXPORT int accept(int fd, struct sockaddr *address, socklen_t *size)
{
	return accepted(fd, hp_real()->accept(fd, address, size), HP_CALLER);
}

HP_EXPORT int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
	return accepted(fd, hp_real()->accept4(fd, address, size, flags), HP_CALLER);
}
