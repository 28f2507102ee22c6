/* SPDX-License-Identifier: MIT */
/*
 * hook_port.c - gives the program precedence for a port held by the sampler.
 *
 * The sampler listens for clients of the live figures. Without us the port
 * would be free, so bind() must not fail because of it: the sampler is asked to
 * release it, and the call is repeated. Other programs only pay for an indirect
 * call.
 *
 * Not covered: a program that makes the system call with its own instruction.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/channel/datagram.h"
#include "preload/guest/confine.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/guest/self.h"
#include "segment/clock.h"

#define WAIT_NS UINT64_C(1000000000)	/* the sampler needs some ms */
#define SLICE_NS 10000000

/* The port in an address of IPv4 or IPv6; 0 = none. */
static uint16_t port_of(const struct sockaddr *address, socklen_t size)
{
	uint16_t port = 0;

	if (!address || size < (socklen_t)sizeof(struct sockaddr_in) ||
	    (address->sa_family != AF_INET && address->sa_family != AF_INET6))
		return 0;
	/* In both it follows the family. */
	memcpy(&port, (const char *)address + sizeof(sa_family_t), sizeof(port));
	return ntohs(port);
}

/* The bits of the sampler's ports with this number. */
static uint32_t held(const struct hp_ports *ports, uint16_t port)
{
	uint32_t bits = 0;

	for (int i = 0; i < HP_PORT_KINDS; i++)
		if (atomic_load_explicit(&ports->at[i], memory_order_relaxed) == port)
			bits |= 1u << i;
	return bits;
}

/*
 * Asks the sampler and waits for the release. The wake-up may come before the
 * sampler waits, so it is repeated with each slice. Under a filter we make no
 * system calls; then the sampler sees the bit at its next check.
 */
static void ask(struct hp_ports *ports, uint32_t bits)
{
	uint32_t given = atomic_load_explicit(&ports->given, memory_order_acquire);
	uint64_t began = hp_clock_raw_ns();
	struct timespec slice = { 0, SLICE_NS };

	atomic_fetch_or_explicit(&ports->asked, bits, memory_order_release);
	while (atomic_load_explicit(&ports->given, memory_order_acquire) == given &&
	       hp_clock_raw_ns() - began < WAIT_NS) {
		if (hp_is_confined())
			continue;
		syscall(SYS_futex, &hp_segment.header->end_word, FUTEX_WAKE, INT_MAX, NULL, NULL,
			0);
		syscall(SYS_futex, &ports->given, FUTEX_WAIT, given, &slice, NULL, 0);
	}
}

/* After EADDRINUSE: true if the sampler held the port and released it. */
static bool is_ours(const struct sockaddr *address, socklen_t size)
{
	struct hp_ports *ports = hp_segment_ports(&hp_segment);
	uint16_t port = ports ? port_of(address, size) : 0;
	uint32_t bits = port ? held(ports, port) : 0;

	if (bits)
		ask(ports, bits);
	return bits != 0;
}

HP_EXPORT int bind(int fd, const struct sockaddr *address, socklen_t size)
{
	int saved = errno;
	int result = hp_real()->bind(fd, address, size);

	if (result == 0)
		hp_datagram_bound(fd, HP_CALLER);
	if (result == 0 || errno != EADDRINUSE || !is_ours(address, size))
		return result;
	errno = saved;
	return hp_real()->bind(fd, address, size);
}

/* With SO_REUSEADDR two sockets may be bound to a port, but only one can listen. */
HP_EXPORT int listen(int fd, int backlog)
{
	int saved = errno;
	int result = hp_real()->listen(fd, backlog);
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);

	if (result == 0 || errno != EADDRINUSE || hp_is_confined())
		return result;
	if (syscall(SYS_getsockname, fd, &address, &size) != 0 ||
	    !is_ours((const struct sockaddr *)&address, size)) {
		errno = EADDRINUSE;
		return result;
	}
	errno = saved;
	return hp_real()->listen(fd, backlog);
}
