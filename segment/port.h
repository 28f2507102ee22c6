/* SPDX-License-Identifier: MIT */
/*
 * port.h - a listening TCP socket, for the servers of a running program's figures.
 */
#ifndef HP_SEGMENT_PORT_H
#define HP_SEGMENT_PORT_H

#include <stdint.h>

/*
 * Listens at `address`, as numbers of IPv4 or IPv6, and *port; 0 = any free one,
 * and *port is it then.  Returns a descriptor (close-on-exec, non-blocking), or
 * -errno: -EINVAL = it is no address, -EADDRINUSE = somebody has the port.
 */
int hp_port_listen(const char *address, uint16_t *port);

/* What helps where that failed with `error` (an errno): "; ..."; "" = nothing is known. */
const char *hp_port_remedy(int error);

#endif
