/* SPDX-License-Identifier: MIT */
/*
 * acceptor.h - accepts connections from a listening socket in its own thread.
 *
 * libmicrohttpd could do so, but polls without a pause while descriptors have
 * run out, at the cost of a sixth of a core, and fully processes each
 * connection beyond its limit. This closes connections beyond the limit at
 * once. When descriptors have run out, it pauses, and clients wait in the
 * kernel's queue.
 */
#ifndef HP_LIVE_HTTP_ACCEPTOR_H
#define HP_LIVE_HTTP_ACCEPTOR_H

#include <stdbool.h>
#include <sys/socket.h>

struct hp_acceptor;

struct hp_acceptor_wish {
	int socket;	/* listening, non-blocking, perhaps shared with other processes; taken over */
	unsigned most;	/* most connections at once; further ones are closed */
	/*
	 * Gets and owns a new connection, non-blocking and close-on-exec. false
	 * = closed it for lack of resources.
	 */
	bool (*take)(void *context, int connection, const struct sockaddr *address, socklen_t size);
	void (*tick)(void *context);	/* called once a second while there are connections */
	void *context;
};

/* Does not accept yet. NULL = no descriptor; sets errno. */
struct hp_acceptor *hp_acceptor_new(const struct hp_acceptor_wish *wish);

/* Starts accepting. Returns 0 or -errno. */
int hp_acceptor_start(struct hp_acceptor *acceptor);

/* Stops accepting; closes the socket if it was started. */
void hp_acceptor_free(struct hp_acceptor *acceptor);

/* Call when an accepted connection has ended; from any thread. */
void hp_acceptor_gone(struct hp_acceptor *acceptor);

#endif
