/* SPDX-License-Identifier: MIT */
/*
 * door.c - see door.h.
 */
#include "sampler/session/door.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "segment/clock.h"
#include "segment/fd_pass.h"
#include "segment/session.h"

#define FILES_FEW 64	/* then other things need a descriptor more */
#define LOBBY_MAX 1024	/* processes there; the kernel cuts it to net.core.somaxconn */
#define TRIES_MAX 100	/* that report an interruption */
#define PAUSE_NS UINT64_C(20000000)	/* in which descriptors or memory may become available */
#define ROUND_NS UINT64_C(2000000)	/* of answers, until everything else has its turn */
/*
 * Other users' part of our time, so all of them together take no more than half of it, and how much
 * they may take in advance: enough for a thousand workers of a server that start at once.
 */
#define GUEST_PART (2 * HP_DOOR_GUESTS)
#define GUEST_ADVANCE_NS UINT64_C(3000000000)

static bool is_our_user(const struct ucred *peer)
{
	return peer->uid == geteuid() || peer->uid == getuid();
}

/*
 * The segment for the connecting process, by its current rights; NULL = it gets none.
 * Other users' processes are accepted only if the session started them.
 */
static const struct hp_segment *segment_of(const struct ucred *peer, struct hp_members *members)
{
	uint32_t pid = (uint32_t)peer->pid;
	struct hp_level level;

	/* In a pid namespace that we cannot see, or without /proc: then root trusts nobody. */
	if (!members->has_level || !pid)
		return is_our_user(peer) && (!pid || geteuid()) ? members->segment : NULL;
	/* Another user: a different process had this pid when it connected. */
	if (!hp_level_read(&level, pid, NULL) || level.user != peer->uid)
		return NULL;
	if (!is_our_user(peer) && !hp_members_descends(members, pid))
		return NULL;
	return hp_members_segment(members, &level);
}

/* A reader identifies itself by its address: it gets a descriptor that it cannot write to. */
static bool is_reader(const struct sockaddr_un *address, socklen_t size)
{
	static const char name[] = HP_READER_NAME;
	size_t least = offsetof(struct sockaddr_un, sun_path) + 1 + sizeof(name) - 1;

	return size >= least && address->sun_path[0] == 0 &&
	       memcmp(address->sun_path + 1, name, sizeof(name) - 1) == 0;
}

static void send_readable(int socket, int segment)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", segment);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	hp_fd_send(socket, fd);
	close(fd);
}

/* One message for each, the session's own first. */
static void send_all(int socket, const struct hp_segments *segments)
{
	for (uint32_t i = 0; i < segments->count; i++)
		send_readable(socket, segments->at[i]->fd);
}

static void watch(const struct hp_door *door, int operation, uint32_t events)
{
	struct epoll_event event = { .events = events, .data = { .u64 = door->data } };

	epoll_ctl(door->epoll, operation, door->socket, &event);
}

static void spares_keep(struct hp_door *door)
{
	for (int i = 0; i < HP_DOOR_SPARES; i++)
		if (door->spares[i] < 0)
			door->spares[i] = fcntl(door->socket, F_DUPFD_CLOEXEC, 0);
}

/* False if none is left. */
static bool spare_give_up(struct hp_door *door)
{
	for (int i = 0; i < HP_DOOR_SPARES; i++) {
		if (door->spares[i] < 0)
			continue;
		close(door->spares[i]);
		door->spares[i] = -1;
		return true;
	}
	return false;
}

void hp_door_init(struct hp_door *door, int epoll, uint64_t data)
{
	*door = (struct hp_door){
		.socket = HP_SAMPLER_SOCKET_FD, .lobby = -1, .epoll = epoll, .data = data
	};
	for (int i = 0; i < HP_DOOR_SPARES; i++)
		door->spares[i] = -1;
	fcntl(door->socket, F_SETFD, FD_CLOEXEC);
	spares_keep(door);
	watch(door, EPOLL_CTL_ADD, EPOLLIN);
}

/* The kernel chooses an unused name, so nobody else can have it. */
static uint32_t bind_lobby(int fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(address);
	uint32_t number;

	if (bind(fd, (struct sockaddr *)&address, sizeof(address.sun_family)) < 0 ||
	    listen(fd, LOBBY_MAX) < 0 || getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return 0;
	return sscanf(address.sun_path + 1, "%5" SCNx32, &number) == 1 ? number | HP_LOBBY : 0;
}

void hp_door_open_lobby(struct hp_door *door, const struct hp_segment *segment)
{
	uint32_t number;

	if (sysconf(_SC_OPEN_MAX) < FILES_FEW)
		return;
	door->lobby = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	number = door->lobby < 0 ? 0 : bind_lobby(door->lobby);
	/* Relaxed: one that does not see it connects to the other socket. */
	atomic_store_explicit(&hp_segment_ports(segment)->lobby, number, memory_order_relaxed);
}

/* A number may be that of another process by now, so it must belong to the session. */
static void lobby_admit(struct hp_members *members, int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && is_our_user(&peer) &&
	    !hp_member_is_gone((uint32_t)peer.pid) && hp_members_admit(members, (uint32_t)peer.pid))
		hp_members_add(members, (uint32_t)peer.pid);
}

void hp_door_look(struct hp_door *door, struct hp_members *members)
{
	for (int i = 0; door->lobby >= 0 && i < LOBBY_MAX; i++) {
		int fd = accept4(door->lobby, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			return;
		lobby_admit(members, fd);
		close(fd);
	}
}

/* The next process in the queue; -1 with errno EAGAIN = none. */
static int next(struct hp_door *door, struct sockaddr_un *address, socklen_t *length)
{
	for (int tries = 0; tries < TRIES_MAX; tries++) {
		*length = sizeof(*address);
		int fd = accept4(door->socket, (struct sockaddr *)address, length,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			return fd;
		if (errno == ECONNABORTED || errno == EINTR)
			continue;
		if (errno != EMFILE || !spare_give_up(door))
			return -1;
	}
	return -1;
}

static void answer_writer(int fd, struct hp_members *members, const struct ucred *peer)
{
	const struct hp_segment *segment = segment_of(peer, members);
	/* Answer first: it may wait. */
	if (segment)
		hp_fd_send(fd, segment->fd);
	/* One that only tells us may have changed its rights since. */
	if (segment || (is_our_user(peer) && hp_members_admit(members, (uint32_t)peer->pid)))
		hp_members_add(members, (uint32_t)peer->pid);
}

static void answer_guest(struct hp_door *door, int fd, struct hp_members *members,
			 const struct ucred *peer)
{
	uint64_t *paid_ns = &door->guests_ns[peer->uid % HP_DOOR_GUESTS];
	uint64_t now_ns = hp_clock_raw_ns();

	if (*paid_ns > now_ns + GUEST_ADVANCE_NS)
		return;
	answer_writer(fd, members, peer);
	*paid_ns =
		(*paid_ns > now_ns ? *paid_ns : now_ns) + (hp_clock_raw_ns() - now_ns) * GUEST_PART;
}

static void answer(struct hp_door *door, int fd, struct hp_members *members,
		   const struct sockaddr_un *address, socklen_t length)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return;
	if (!is_reader(address, length)) {
		if (is_our_user(&peer))
			answer_writer(fd, members, &peer);
		else
			answer_guest(door, fd, members, &peer);
	} else if (peer.uid == 0 || is_our_user(&peer)) {
		send_all(fd, &members->segments);
	}
}

void hp_door_answer(struct hp_door *door, struct hp_members *members)
{
	uint64_t until_ns = hp_clock_raw_ns() + ROUND_NS;
	struct sockaddr_un address;
	socklen_t length;
	int fd;

	while ((fd = next(door, &address, &length)) >= 0) {
		spare_give_up(door);	/* to open files and learn the peer */
		answer(door, fd, members, &address, length);
		close(fd);
		spares_keep(door);
		if (hp_clock_raw_ns() >= until_ns)
			return;
	}
	if (errno == EAGAIN)
		return;
	watch(door, EPOLL_CTL_MOD, 0);
	door->due_ns = hp_clock_raw_ns() + PAUSE_NS;
}

void hp_door_do(struct hp_door *door, uint64_t now_ns)
{
	if (!door->due_ns || now_ns < door->due_ns)
		return;
	door->due_ns = 0;
	spares_keep(door);
	watch(door, EPOLL_CTL_MOD, EPOLLIN);
}
