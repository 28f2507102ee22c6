/* SPDX-License-Identifier: MIT */
/*
 * live_ask.c - see live_ask.h.
 *
 * Nothing here blocks except one poll(). SO_PEERCRED identifies the listener as
 * soon as the connection is made. It is checked even if the kernel has reported
 * the socket's owner, since another process may have taken the name since.
 */
#include "report/store/live_ask.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "report/base/memory.h"
#include "segment/clock.h"
#include "segment/fd_pass.h"

#define WAIT_NS UINT64_C(2000000000)
#define RETRY_MS 20	/* a queue that is full may have room again */
#define ASKED_MAX 256	/* at the same time */

struct call {
	const struct hp_live_door *door;
	int socket;	/* -1 = its queue is full */
};

struct calls {
	struct call at[ASKED_MAX];
	size_t count;
	bool is_all;
	hp_live_answer answer;
	void *context;
};

static socklen_t address_init(struct sockaddr_un *to, const char *name, const char *token)
{
	size_t length = strlen(name);

	memset(to, 0, sizeof(*to));
	to->sun_family = AF_UNIX;	/* sun_path[0] stays 0: the abstract name space */
	memcpy(to->sun_path + 1, name, length);
	memcpy(to->sun_path + 1 + length, token, HP_TOKEN_SIZE);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length + HP_TOKEN_SIZE);
}

static bool is_wanted(const struct calls *calls, int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == geteuid() || peer.uid == getuid() || (calls->is_all && geteuid() == 0));
}

/* The client's address tells the helper that we only read. */
static int open_reader(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	struct hp_session own;

	hp_session_init(&own);	/* for an unused token */
	socklen_t size = address_init(&address, HP_READER_NAME, own.token);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) == 0)
		return fd;
	close(fd);
	return -1;
}

/* False = nothing to wait for. */
static bool call_begin(const struct calls *calls, struct call *call)
{
	struct sockaddr_un address;
	socklen_t size = address_init(&address, HP_SOCKET_NAME, call->door->token);

	call->socket = open_reader();
	if (call->socket < 0)
		return false;
	bool is_open = connect(call->socket, (struct sockaddr *)&address, size) == 0;
	bool is_full = !is_open && errno == EAGAIN;
	if (is_open && is_wanted(calls, call->socket))
		return true;
	close(call->socket);
	call->socket = -1;
	return is_full;
}

/* True = finished. */
static bool call_go_on(struct calls *calls, struct call *call, bool has_answer)
{
	if (call->socket < 0)
		return !call_begin(calls, call);
	if (!has_answer)
		return false;
	int fd = hp_fd_receive_to_read(call->socket, MSG_DONTWAIT);
	close(call->socket);
	if (fd >= 0)
		calls->answer(calls->context, call->door, fd);
	return true;
}

/* Waits for progress on any of them and removes finished ones. */
static void step(struct calls *calls, uint64_t left_ns)
{
	struct pollfd polls[ASKED_MAX];
	int wait_ms = (int)(left_ns / 1000000) + 1;
	size_t kept = 0;

	for (size_t i = 0; i < calls->count; i++) {
		polls[i] = (struct pollfd){ .fd = calls->at[i].socket, .events = POLLIN };
		if (calls->at[i].socket < 0 && wait_ms > RETRY_MS)
			wait_ms = RETRY_MS;
	}
	if (poll(polls, calls->count, wait_ms) < 0)
		return;
	for (size_t i = 0; i < calls->count; i++)
		if (!call_go_on(calls, &calls->at[i], polls[i].revents != 0))
			calls->at[kept++] = calls->at[i];
	calls->count = kept;
}

void hp_live_ask(const struct hp_live_door *doors, size_t count, bool is_all, hp_live_answer answer,
		 void *context)
{
	struct calls *calls = hp_xcalloc(1, sizeof(*calls));
	uint64_t deadline = hp_clock_raw_ns() + WAIT_NS, now;
	size_t next = 0, most = is_all ? 2 * count : count;

	*calls = (struct calls){ .is_all = is_all, .answer = answer, .context = context };
	while ((next < most || calls->count) && (now = hp_clock_raw_ns()) < deadline) {
		/* One's own first: others may never answer, and there is room for ASKED_MAX. */
		while (next < most && calls->count < ASKED_MAX) {
			bool is_second = next >= count;
			struct call call = { .door = &doors[next++ % count] };

			if (hp_live_is_own(call.door) != is_second && call_begin(calls, &call))
				calls->at[calls->count++] = call;
		}
		if (calls->count)
			step(calls, deadline - now);
	}
	for (size_t i = 0; i < calls->count; i++)
		if (calls->at[i].socket >= 0)
			close(calls->at[i].socket);
	free(calls);
}
