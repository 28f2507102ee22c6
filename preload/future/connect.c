/* SPDX-License-Identifier: MIT */
/*
 * connect.c - see connect.h.
 */
#include "preload/future/connect.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/channel/channel.h"
#include "preload/future/future.h"
#include "preload/guest/confine.h"
#include "preload/guest/self.h"
#include "preload/loop/connecting.h"

static uint64_t key_of(int fd)
{
	return (uint64_t)(unsigned)fd << 8 | HP_FUTURE_CONNECT;
}

static bool is_open(int fd)
{
	struct hp_object_flight found;

	return hp_objects_find(key_of(fd), &found);
}

static const char *error_text(int error)
{
	static const struct {
		int error;
		const char *text;
	} texts[] = {
		{ ECONNREFUSED, "ECONNREFUSED" }, { ETIMEDOUT, "ETIMEDOUT" },
		{ EHOSTUNREACH, "EHOSTUNREACH" }, { ENETUNREACH, "ENETUNREACH" },
		{ ECONNRESET, "ECONNRESET" },	  { ECONNABORTED, "ECONNABORTED" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].error == error)
			return texts[i].text;
	return "failed";
}

static void begin(int fd, uintptr_t caller)
{
	struct hp_future *future = hp_future_of_code(HP_FUTURE_CONNECT, caller);
	bool is_listed = is_open(fd);	/* of a socket whose close was not seen */

	if (!future)
		return;
	hp_future_begin_at(future, key_of(fd));
	if (is_listed || !is_open(fd))
		return;
	hp_connecting_add(fd);
	hp_channel_tell(fd);
}

static void end(int fd, enum hp_future_state how, const char *text)
{
	if (hp_future_end_at(key_of(fd), how, text))
		hp_connecting_remove(fd);
}

/* `error`: the errno that the program received; 0 = none. */
static void told(int fd, int error)
{
	if (error == EALREADY)
		hp_future_ask_at(key_of(fd));
	else if (error == 0 || error == EISCONN)
		end(fd, HP_FUTURE_READY, NULL);
	else if (error != EINTR)
		end(fd, HP_FUTURE_READY, error_text(error));
}

HP_COLD void hp_connect_returned(int fd, int error, uintptr_t caller)
{
	if (!hp_future_is_wanted() || hp_self_is_borrowed())
		return;
	if (error == EINPROGRESS)
		begin(fd, caller);
	else if (is_open(fd))
		told(fd, error);
}

/* 0 as SO_ERROR may also mean that it still connects. */
static bool has_peer(int fd)
{
	struct sockaddr_storage peer;
	socklen_t length = sizeof(peer);

	return !hp_is_confined() && syscall(SYS_getpeername, fd, &peer, &length) == 0;
}

HP_COLD void hp_connect_asked(int fd, const void *value, const socklen_t *length)
{
	int saved = errno, error;

	if (*length >= sizeof(error) && is_open(fd) && !hp_self_is_borrowed()) {
		memcpy(&error, value, sizeof(error));
		told(fd, error || has_peer(fd) ? error : EALREADY);
	}
	errno = saved;
}

/* --- waits, and closes --- */

/* The reason of a failure is known only when the program asks for it. */
static void waited(int fd, bool is_failed)
{
	struct hp_object_flight found;

	if (!hp_objects_find(key_of(fd), &found) || hp_self_is_borrowed())
		return;
	if (!is_failed || has_peer(fd))
		end(fd, HP_FUTURE_READY, NULL);
	else
		hp_flight_result(found.flight, error_text(0));
}

/* Nobody learned of it: when it was done is not known. */
static void closed(int fd)
{
	struct hp_object_flight found;
	bool is_done;

	if (!hp_objects_find(key_of(fd), &found))
		return;
	is_done = has_peer(fd);
	if (is_done)
		found.flight->created = 0;
	end(fd, is_done || found.flight->text_size ? HP_FUTURE_READY : HP_FUTURE_CANCELLED, NULL);
}

/* A forked child has none of them. */
const struct hp_recorder hp_connect_recorder = {
	.opened = hp_connecting_forget,
	.closed = closed,
	.connected = waited,
	.dropped = hp_connecting_forget,
};
