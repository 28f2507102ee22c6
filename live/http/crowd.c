/* SPDX-License-Identifier: MIT */
/* crowd.c - see crowd.h. */
#include "live/http/crowd.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "live/http/guard.h"
#include "report/base/memory.h"
#include "segment/clock.h"

#define FDS_MAX 65536	/* connections with a higher descriptor are refused */
#define HASTE_S 1	/* places for clients that only get 503 */
#define SECOND_NS UINT64_C(1000000000)

enum place { NONE = 0, FIRST, OWN, OWN_LATE, OTHER_LATE, PLACES };

struct connection {
	uint8_t place;	/* enum place; NONE = unused */
	bool is_known;	/* the peer's user is known */
	int own;	/* result of hp_guard_is_own_peer */
	uint64_t due_ns;	/* 0 = no limit */
};

struct hp_crowd {
	pthread_mutex_t lock;	/* guards everything below */
	bool has_token;
	unsigned most[PLACES];
	unsigned count[PLACES];
	int fds_most;
	int fds_end;	/* highest used descriptor + 1 */
	struct connection *connections;	/* by descriptor */
};

struct hp_crowd *hp_crowd_new(unsigned most, bool has_token)
{
	struct hp_crowd *crowd = hp_xcalloc(1, sizeof(*crowd));
	struct rlimit limit = { .rlim_cur = FDS_MAX };

	getrlimit(RLIMIT_NOFILE, &limit);
	crowd->fds_most = limit.rlim_cur < FDS_MAX ? (int)limit.rlim_cur : FDS_MAX;
	crowd->connections = hp_xcalloc((size_t)crowd->fds_most, sizeof(*crowd->connections));
	crowd->has_token = has_token;
	crowd->most[FIRST] = crowd->most[OWN] = most / 3 + !(most / 3);
	crowd->most[OWN_LATE] = crowd->most[OTHER_LATE] = most / 6 + !(most / 6);
	pthread_mutex_init(&crowd->lock, NULL);
	return crowd;
}

void hp_crowd_free(struct hp_crowd *crowd)
{
	if (!crowd)
		return;
	pthread_mutex_destroy(&crowd->lock);
	free(crowd->connections);
	free(crowd);
}

static struct connection *connection_of(struct hp_crowd *crowd, int fd)
{
	return fd >= 0 && fd < crowd->fds_most ? &crowd->connections[fd] : NULL;
}

static bool has_room(const struct hp_crowd *crowd, enum place place)
{
	return crowd->count[place] < crowd->most[place];
}

static enum place place_for(const struct hp_crowd *crowd, int own)
{
	if (own <= 0)
		return has_room(crowd, OTHER_LATE) ? OTHER_LATE : NONE;
	if (has_room(crowd, OWN))
		return OWN;
	return has_room(crowd, OWN_LATE) ? OWN_LATE : NONE;
}

static void enter(struct hp_crowd *crowd, int fd, enum place place, struct connection as)
{
	as.place = (uint8_t)place;
	if (place == OWN_LATE || place == OTHER_LATE)
		as.due_ns = hp_clock_raw_ns() + HASTE_S * SECOND_NS;
	crowd->connections[fd] = as;
	crowd->count[place] += place != NONE;
	if (fd >= crowd->fds_end)
		crowd->fds_end = fd + 1;
}

bool hp_crowd_enter(struct hp_crowd *crowd, int fd)
{
	struct connection as = { .own = 0 };
	enum place place;

	if (!connection_of(crowd, fd))
		return false;
	pthread_mutex_lock(&crowd->lock);
	place = has_room(crowd, FIRST) ? FIRST : NONE;
	/* Others can only leave meanwhile, so the owner is looked up without the lock. */
	pthread_mutex_unlock(&crowd->lock);
	if (place == NONE && !crowd->has_token) {
		as.own = hp_guard_is_own_peer(fd);
		as.is_known = as.own >= 0;
	}
	pthread_mutex_lock(&crowd->lock);
	if (place == NONE)
		place = place_for(crowd, crowd->has_token || as.own > 0);
	enter(crowd, fd, place, as);
	pthread_mutex_unlock(&crowd->lock);
	return place != NONE;
}

void hp_crowd_leave(struct hp_crowd *crowd, int fd)
{
	struct connection *connection = connection_of(crowd, fd);

	if (!connection)
		return;
	pthread_mutex_lock(&crowd->lock);
	crowd->count[connection->place] -= connection->place != NONE;
	*connection = (struct connection){ .place = NONE };
	pthread_mutex_unlock(&crowd->lock);
}

bool hp_crowd_is_late(struct hp_crowd *crowd, int fd)
{
	const struct connection *connection = connection_of(crowd, fd);
	bool is_late;

	pthread_mutex_lock(&crowd->lock);
	is_late = connection && (connection->place == OWN_LATE || connection->place == OTHER_LATE);
	pthread_mutex_unlock(&crowd->lock);
	return is_late;
}

/* Only its own thread uses these two fields meanwhile. */
int hp_crowd_is_own(struct hp_crowd *crowd, int fd)
{
	struct connection *connection = connection_of(crowd, fd);

	if (!connection)
		return 0;
	if (!connection->is_known) {
		connection->own = hp_guard_is_own_peer(fd);
		connection->is_known = connection->own >= 0;
	}
	return connection->own;
}

void hp_crowd_give(struct hp_crowd *crowd, int fd, unsigned seconds)
{
	struct connection *connection = connection_of(crowd, fd);

	if (!connection)
		return;
	pthread_mutex_lock(&crowd->lock);
	if (connection->place == FIRST || connection->place == OWN)
		connection->due_ns = seconds ? hp_clock_raw_ns() + seconds * SECOND_NS : 0;
	pthread_mutex_unlock(&crowd->lock);
}

void hp_crowd_sweep(struct hp_crowd *crowd)
{
	uint64_t now = hp_clock_raw_ns();

	pthread_mutex_lock(&crowd->lock);
	for (int fd = 0; fd < crowd->fds_end; fd++) {
		struct connection *connection = &crowd->connections[fd];

		if (connection->place == NONE || !connection->due_ns || now < connection->due_ns)
			continue;
		/* Its thread then closes it. */
		shutdown(fd, SHUT_RDWR);
		connection->due_ns = 0;
	}
	pthread_mutex_unlock(&crowd->lock);
}
