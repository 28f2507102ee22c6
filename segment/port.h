/* SPDX-License-Identifier: MIT */
/*
 * port.h - a listening TCP socket for the live servers.
 */
#ifndef HP_SEGMENT_PORT_H
#define HP_SEGMENT_PORT_H

#include <stdint.h>

/*
 * Listens on `address`, a numeric IPv4 or IPv6 address, and *port; 0 = any free
 * port, which *port then names. Returns a descriptor (close-on-exec,
 * non-blocking), or -errno: -EINVAL = invalid address, -EADDRINUSE = port in
 * use.
 */
int hp_port_listen(const char *address, uint16_t *port);

/* The remedy for a failure with `error` (an errno): "; ..."; "" = unknown. */
const char *hp_port_remedy(int error);

#endif
