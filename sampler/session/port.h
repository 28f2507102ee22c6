/* SPDX-License-Identifier: MIT */
/*
 * port.h - the ports of the live views.
 *
 * The sampler listens and serves nothing.  At a connection it starts
 * `hotpath-live serve` with the segment and the listening sockets, and listens
 * again when that has ended.  So a run without viewers pays for two sockets, and
 * a fault in the server costs no sample.
 *
 * A port that a process of the session wants for itself is released for it;
 * see struct hp_ports. The server moves to a free one.
 */
#ifndef HP_SAMPLER_SESSION_PORT_H
#define HP_SAMPLER_SESSION_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "segment/segment.h"
#include "segment/setting.h"

struct hp_server {
	const struct hp_segment *segment;
	const struct hp_settings *settings;
	struct hp_ports *ports;
	int sockets[HP_PORT_KINDS];	/* listening; -1 = none */
	bool is_settled[HP_PORT_KINDS];	/* it has its socket, or never gets one */
	bool is_paused;
	uint64_t patience_ns;	/* how long a port named by the user may be busy */
	int epoll;
	uint64_t knock;	/* data of the epoll: a client connects */
	uint64_t ended;	/* and: the server has ended */
	uint64_t due_ns;	/* when the ports are opened, or retried after failures; 0 = they are open, or never */
	pid_t pid;	/* 0 = no server runs */
	int pidfd;
	unsigned failures;	/* consecutive servers that could not be started or ended at once */
	uint64_t started_ns;
};

/* Opens nothing yet: see due_ns. */
void hp_server_init(struct hp_server *server, const struct hp_segment *segment,
		    const struct hp_settings *settings, int epoll, uint64_t knock, uint64_t ended);

/* Opens the ports if it is time. */
void hp_server_do(struct hp_server *server, uint64_t now);

/*
 * No process is left to serve: frees the ports at once, since the next run of the program may need
 * them. If a client remains anyway, they are opened again.
 */
void hp_server_pause(struct hp_server *server);
void hp_server_resume(struct hp_server *server);

/* A client connects: starts the server. */
void hp_server_knock(struct hp_server *server);

/* The server's pidfd shows that it has ended. */
void hp_server_ended(struct hp_server *server);

/* Releases the ports that a process of the session requests, if any. */
void hp_server_give_way(struct hp_server *server);

/* True if a process requests some. */
bool hp_server_is_asked(const struct hp_segment *segment);

/* The session has ended; the segment may now be sealed against writing. */
void hp_server_close(struct hp_server *server);

#endif
