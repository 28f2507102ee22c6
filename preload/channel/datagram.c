/* SPDX-License-Identifier: MIT */
/*
 * datagram.c - see datagram.h.
 *
 * A socket file is identified by its inode, which stays unique while the socket
 * is open, whatever happens to its path; an abstract name by its bytes. Either
 * is stored as a 63-bit hash instead of the sending end's inode.
 */
#include "preload/channel/datagram.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "preload/guest/bulky.h"
#include "preload/guest/confine.h"
#include "preload/guest/guest.h"
#include "preload/guest/readable.h"
#include "preload/guest/self.h"
#include "util/hash.h"

#define NAME_AT offsetof(struct sockaddr_un, sun_path)
#define RECENT 64	/* names that are found without a search */

HP_BULKY static _Atomic uint64_t recent[RECENT];	/* lanes, by their names */

struct name {
	struct sockaddr_un address;
	socklen_t length;
};

void hp_datagram_forget(void)
{
	for (int i = 0; i < RECENT; i++)
		atomic_store_explicit(&recent[i], 0, memory_order_relaxed);
}

static const struct hp_channel *channel_of(const struct hp_lane *lane)
{
	return (const struct hp_channel *)(hp_channel_base + lane->channel);
}

static bool is_datagram(const struct hp_lane *lane)
{
	return channel_of(lane)->kind == HP_CHANNEL_DATAGRAM;
}

bool hp_datagram_is_open(const struct hp_lane *lane)
{
	return !(lane->out_inode & HP_LANE_NAMED) && is_datagram(lane) &&
	       channel_of(lane)->way == HP_WAY_NAMED;
}

static uint64_t hash(const void *bytes, size_t size, uint64_t seed)
{
	seed = hp_fnv(seed, bytes, size);
	return (seed ^ seed >> 29) | HP_LANE_NAMED;
}

/* 0 = it names no socket. */
static uint64_t key_of(const struct name *name)
{
	const uint64_t seed = HP_FNV_SEED;
	char path[sizeof(name->address.sun_path) + 1] = "";
	uint64_t file[2];
	struct stat stat;
	size_t size;

	if (name->length <= NAME_AT || name->length > sizeof(name->address) ||
	    name->address.sun_family != AF_UNIX)
		return 0;
	size = name->length - NAME_AT;
	if (!name->address.sun_path[0])
		return hash(name->address.sun_path, size, seed);
	memcpy(path, name->address.sun_path, size);
	if (fstatat(AT_FDCWD, path, &stat, 0) != 0 || !S_ISSOCK(stat.st_mode))
		return 0;
	file[0] = stat.st_dev;
	file[1] = stat.st_ino;
	return hash(file, sizeof(file), ~seed);
}

static bool is_found_anywhere(const struct name *name)
{
	return name->length > NAME_AT &&
	       (!name->address.sun_path[0] || name->address.sun_path[0] == '/');
}

static struct hp_lane *lane_of(uint64_t device, uint64_t key)
{
	_Atomic uint64_t *place = &recent[key % RECENT];
	uint64_t id = atomic_load_explicit(place, memory_order_relaxed);
	struct hp_lane *lane = id ? hp_channel_lane(id) : NULL;

	if (!key)
		return NULL;
	if (lane && lane->out_inode == key && lane->device == device &&
	    atomic_load_explicit(&lane->state, memory_order_relaxed) == HP_LANE_TAKEN)
		return lane;
	lane = hp_lane_of_inode(device, key, true);
	if (lane)
		atomic_store_explicit(place, hp_lane_id(lane), memory_order_relaxed);
	return lane;
}

static struct hp_lane *lane_made(struct hp_channel_wish *wish)
{
	struct hp_lane *lane;

	wish->kind = HP_CHANNEL_DATAGRAM;
	wish->way = HP_WAY_NAMED;
	wish->unit = HP_LANE_MESSAGES;
	wish->safe = 1;	/* The first one in an empty queue finds room, whatever its size. */
	lane = hp_lane_new(wish);
	if (lane)
		atomic_store_explicit(&lane->shared, 1, memory_order_relaxed);
	return lane;
}

/* Datagrams to unrecorded receivers. */
static struct hp_lane *open_lane(const struct stat *stat, struct hp_channel_wish wish)
{
	struct hp_lane *lane = hp_lane_of_inode(stat->st_dev, stat->st_ino, true);

	if (lane && hp_datagram_is_open(lane))
		return lane;
	wish.device = stat->st_dev;
	wish.out_inode = stat->st_ino;
	wish.in_inode = 0;
	return lane_made(&wish);
}

/* An abstract name begins with '@', as is customary; a name chosen by the kernel has no meaning. */
static void label(const struct hp_lane *lane, const struct name *name)
{
	size_t size = name->length - NAME_AT;
	char text[sizeof(name->address.sun_path)];

	memcpy(text, name->address.sun_path, size);
	if (!text[0] && size == 6)
		return;
	if (!text[0])
		text[0] = '@';
	else
		size = strnlen(text, size);
	hp_channel_label(lane, text, size);
}

/* A new name belongs to its current owner. */
static struct hp_lane *named_lane(const struct stat *stat, const struct name *name,
				  struct hp_channel_wish wish)
{
	uint64_t key = wish.is_found && !is_found_anywhere(name) ? 0 : key_of(name);
	struct hp_lane *lane = key ? hp_lane_of_inode(stat->st_dev, key, true) : NULL;

	if (lane && wish.is_found)
		key = 0;
	else if (lane)
		lane->out_inode = HP_LANE_NAMED;
	wish.device = stat->st_dev;
	wish.out_inode = key | HP_LANE_NAMED;
	wish.in_inode = stat->st_ino;
	lane = lane_made(&wish);
	if (lane)
		label(lane, name);
	return lane;
}

static bool is_unix_datagram(int fd)
{
	int domain = 0, type = 0;
	socklen_t size = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_DGRAM;
}

typedef int (*hp_ask_name)(int fd, struct sockaddr *address, socklen_t *size);

static bool has_name(hp_ask_name ask, int fd, struct name *name)
{
	name->length = sizeof(name->address);
	if (ask(fd, (struct sockaddr *)&name->address, &name->length) == 0)
		return name->length <= sizeof(name->address);
	/* Without a peer, or after shutdown, that is the result. */
	if (errno != ENOTCONN && errno != EINVAL && errno != EBADF)
		hp_refused();
	return false;
}

void hp_datagram_meet(int fd, const struct stat *stat, struct hp_lane **out, struct hp_lane **in)
{
	struct hp_channel_wish wish = { .is_found = true, .descriptor = (uint32_t)fd };
	struct name name;

	if (!is_unix_datagram(fd))
		return;
	if (!*in && has_name(getsockname, fd, &name) && name.length > NAME_AT)
		*in = named_lane(stat, &name, wish);
	if (has_name(getpeername, fd, &name)) {
		/* A pair's peer has no name. */
		if (name.length <= NAME_AT)
			return;
		*out = is_found_anywhere(&name) ? lane_of(stat->st_dev, key_of(&name)) : NULL;
	}
	if (!*out)
		*out = open_lane(stat, wish);
}

void hp_datagram_made(int fd, uintptr_t caller)
{
	struct hp_channel_wish wish = { .caller = caller };
	struct stat stat;

	if (hp_channel_stat(fd, &stat))
		hp_channel_put(fd, open_lane(&stat, wish), NULL);
}

static struct hp_lane *out_of(int fd)
{
	struct hp_lane *lane = hp_channel_out(fd);

	return lane && !hp_is_confined() && is_datagram(lane) ? lane : NULL;
}

void hp_datagram_bound(int fd, uintptr_t caller)
{
	struct hp_channel_wish wish = { .caller = caller };
	struct hp_lane *out = out_of(fd), *in = NULL;
	int saved = errno;
	struct name name;
	struct stat stat;

	if (out && hp_channel_stat(fd, &stat) && has_name(getsockname, fd, &name) &&
	    name.length > NAME_AT)
		in = named_lane(&stat, &name, wish);
	if (in)
		hp_channel_put(fd, out, in);
	errno = saved;
}

static bool copy_name(struct name *name, const void *address, socklen_t length)
{
	uintptr_t at = (uintptr_t)address;

	*name = (struct name){ .length = length };
	if (length < sizeof(name->address.sun_family) || length > sizeof(name->address) ||
	    !hp_readable_few(at, length))
		return false;
	memcpy(&name->address, address, length);
	return true;
}

bool hp_datagram_connects(int fd, bool *had_peer)
{
	struct name name;
	int saved;

	if (!out_of(fd))
		return false;
	saved = errno;
	*had_peer = has_name(getpeername, fd, &name);
	errno = saved;
	return true;
}

/* The kernel drops a socket's pending messages when it gets another peer. */
static void connected(int fd, const struct name *name, bool had_peer, uintptr_t caller)
{
	struct hp_lane *before = hp_channel_out(fd), *in = hp_channel_in(fd);
	struct hp_channel_wish wish = { .caller = caller };
	struct hp_lane *out;
	struct stat stat;

	if (!hp_channel_stat(fd, &stat))
		return;
	out = lane_of(stat.st_dev, key_of(name));
	if (in && had_peer && (!out || out != before))
		hp_lane_empty(in);
	hp_channel_put(fd, out ? out : open_lane(&stat, wish), in);
}

void hp_datagram_connected(int fd, const struct sockaddr *address, socklen_t length, bool had_peer,
			   uintptr_t caller)
{
	int saved = errno;
	struct name name;

	if (copy_name(&name, address, length))
		connected(fd, &name, had_peer, caller);
	errno = saved;
}

struct hp_lane *hp_datagram_to(struct hp_lane *lane, int fd, const void *to, socklen_t length)
{
	int saved = errno;
	struct hp_lane *found;
	struct name name;
	struct stat stat;

	if (!to || !length || !is_datagram(lane))
		return lane;
	if (hp_is_confined())
		return NULL;
	found = copy_name(&name, to, length) ? lane_of(lane->device, key_of(&name)) : NULL;
	if (!found && hp_datagram_is_open(lane))
		found = lane;
	else if (!found && fstat(fd, &stat) == 0) {
		found = open_lane(&stat, (struct hp_channel_wish){ .is_found = true,
								   .descriptor = (uint32_t)fd });
		if (found)
			hp_lane_ready(found);
	}
	errno = saved;
	return found;
}

struct hp_lane *hp_datagram_to_message(struct hp_lane *lane, int fd, const struct msghdr *message)
{
	if (hp_is_confined() || !hp_readable((uintptr_t)message, 1) ||
	    !hp_readable((uintptr_t)(message + 1) - 1, 1))
		return lane;
	return hp_datagram_to(lane, fd, message->msg_name, message->msg_namelen);
}
