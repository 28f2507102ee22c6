/* SPDX-License-Identifier: MIT */
/*
 * acceptor.h - takes connections from a listening socket, in a thread of its own.
 *
 * libmicrohttpd does so, too, but asks without a pause while there is no descriptor
 * to take one with, which is a sixth of a core for as long as that lasts; and of ten
 * thousand connections at once each beyond its limit goes through all of it.  Here
 * one who comes when there are too many is closed at once, and where descriptors have
 * run out the listening socket is left alone for a moment: who waits there stays in
 * the kernel's queue.
 */
#ifndef HP_LIVE_HTTP_ACCEPTOR_H
#define HP_LIVE_HTTP_ACCEPTOR_H

#include <stdbool.h>
#include <sys/socket.h>

struct hp_acceptor;

struct hp_acceptor_wish {
	int socket;	/* listening, non-blocking, perhaps shared with other processes; taken over */
	unsigned most;	/* connections at once; who comes when there are as many is closed */
	/*
	 * Has a new connection, which is non-blocking and close-on-exec, and is its own
	 * from now on.  false = it has closed it: there was nothing to take it with.
	 */
	bool (*take)(void *context, int connection, const struct sockaddr *address, socklen_t size);
	void (*tick)(void *context);	/* called once a second while there are connections */
	void *context;
};

/* Takes none yet.  NULL = there is no descriptor for it; errno says why. */
struct hp_acceptor *hp_acceptor_new(const struct hp_acceptor_wish *wish);

/* From now on.  Returns 0 or -errno. */
int hp_acceptor_start(struct hp_acceptor *acceptor);

/* Takes no more; closes the socket if it was started. */
void hp_acceptor_free(struct hp_acceptor *acceptor);

/* A connection that was taken has ended; from any thread. */
void hp_acceptor_gone(struct hp_acceptor *acceptor);

#endif
