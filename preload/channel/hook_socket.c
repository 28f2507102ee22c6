/* SPDX-License-Identifier: MIT */
/*
 * hook_socket.c - socket pairs, and the calls that sockets have besides read
 * and write.
 *
 * A socket of another kind is not a channel; but descriptors may be passed over
 * it, and we must notice that.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "preload/channel/datagram.h"
#include "preload/channel/way.h"
#include "preload/guest/guest.h"

/* The C library's names for calls with checked buffers. */
ssize_t __recv_chk(int fd, void *buffer, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buffer, size_t size, size_t room, int flags,
		       struct sockaddr *from, socklen_t *length);

static uint64_t room_of(int fd)
{
	int size = 0;
	socklen_t length = sizeof(size);

	return getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, &length) == 0 && size > 0
		       ? (uint64_t)size
		       : 0;
}

/*
 * The kernel adds less than a kilobyte to a message, plus its blocks' slack: less than its
 * size (net/unix, SKB_TRUESIZE).
 */
#define HP_LANE_EXTRA 1024

static void pair_made(const int fds[2], int type, uintptr_t caller)
{
	struct hp_channel_wish wish = { .caller = caller };

	switch (type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)) {
	case SOCK_STREAM:
		wish.kind = HP_CHANNEL_STREAM;
		wish.capacity = room_of(fds[0]);
		wish.safe = wish.capacity / (2 * HP_LANE_EXTRA);
		wish.extra = HP_LANE_EXTRA;
		break;
	case SOCK_SEQPACKET:
		wish.kind = HP_CHANNEL_PACKET;
		wish.unit = HP_LANE_MESSAGES;
		break;
	default:
		wish.kind = HP_CHANNEL_DATAGRAM;
		wish.unit = HP_LANE_MESSAGES;
		break;
	}
	hp_channel_pair(fds, &wish);
}

HP_EXPORT int socketpair(int domain, int type, int protocol, int fds[2])
{
	bool is_on = hp_channel_is_on();
	int result = hp_real()->socketpair(domain, type, protocol, fds);
	int saved = errno;

	if (result == 0 && is_on)
		pair_made(fds, type, HP_CALLER);
	errno = saved;
	return result;
}

HP_EXPORT int shutdown(int fd, int how)
{
	int result = hp_real()->shutdown(fd, how);
	struct hp_lane *out = hp_channel_out(fd), *in = hp_channel_in(fd);

	if (result == 0 && out && how != SHUT_RD)
		hp_lane_close(out);
	if (result == 0 && in && how != SHUT_WR)
		hp_lane_close(in);
	return result;
}

/* --- one message --- */

static HP_HOT int end_of(int fd, int flags)
{
	return flags & MSG_DONTWAIT ? HP_END_HASTY : fd;
}

HP_EXPORT ssize_t send(int fd, const void *buffer, size_t size, int flags)
{
	SEND(fd, end_of(fd, flags), buffer, size, send(fd, buffer, size, flags));
}

HP_EXPORT ssize_t sendto(int fd, const void *buffer, size_t size, int flags,
			 const struct sockaddr *to, socklen_t length)
{
	struct hp_lane *out = hp_channel_out(fd);

	if (HP_UNLIKELY(to != NULL) && out)
		out = hp_datagram_to(out, fd, to, length);
	SEND_INTO(out, fd, end_of(fd, flags), buffer, size,
		  sendto(fd, buffer, size, flags, to, length));
}

/* Peeked messages are still there. */
#define RECEIVE_UNLESS_PEEK(real) \
	if (HP_UNLIKELY(flags & MSG_PEEK)) \
		return hp_real()->real; \
	RECEIVE(fd, buffer, size, real)

HP_EXPORT ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
	RECEIVE_UNLESS_PEEK(recv(fd, buffer, size, flags));
}

HP_EXPORT ssize_t __recv_chk(int fd, void *buffer, size_t size, size_t room, int flags)
{
	RECEIVE_UNLESS_PEEK(__recv_chk(fd, buffer, size, room, flags));
}

HP_EXPORT ssize_t recvfrom(int fd, void *buffer, size_t size, int flags, struct sockaddr *from,
			   socklen_t *length)
{
	RECEIVE_UNLESS_PEEK(recvfrom(fd, buffer, size, flags, from, length));
}

HP_EXPORT ssize_t __recvfrom_chk(int fd, void *buffer, size_t size, size_t room, int flags,
				 struct sockaddr *from, socklen_t *length)
{
	RECEIVE_UNLESS_PEEK(__recvfrom_chk(fd, buffer, size, room, flags, from, length));
}

/* --- messages with descriptors --- */

/* As CMSG_NXTHDR, which without optimisation is a function that only glibc has. */
static struct cmsghdr *part_after(const struct msghdr *message, struct cmsghdr *part)
{
	size_t left =
		(size_t)((char *)message->msg_control + message->msg_controllen - (char *)part);
	size_t size = CMSG_ALIGN(part->cmsg_len);

	/* The next header fits, and the part itself has one. */
	if (part->cmsg_len < sizeof(*part) || size < part->cmsg_len || size > left ||
	    left - size < sizeof(*part))
		return NULL;
	return (struct cmsghdr *)(void *)((char *)part + size);
}

/* After a successful call: there is memory. */
static void each_descriptor(const struct msghdr *message, void (*what)(int fd))
{
	struct cmsghdr *part = message->msg_control ? CMSG_FIRSTHDR(message) : NULL;

	for (; part; part = part_after(message, part)) {
		size_t size = part->cmsg_len - CMSG_LEN(0);
		int fd;

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i + sizeof(fd) <= size; i += sizeof(fd)) {
			memcpy(&fd, CMSG_DATA(part) + i, sizeof(fd));
			what(fd);
		}
	}
}

static void sent_late(struct hp_lane *lane, size_t bytes)
{
	int saved = errno;

	if (lane)
		hp_send_late(lane, bytes);
	errno = saved;
}

/* They are marked before anybody can receive them, so the receiver finds them still in use. */
HP_EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	struct hp_lane *lane = hp_channel_out(fd);
	bool is_open = lane && hp_datagram_is_open(lane);
	struct hp_lane *out = is_open ? hp_datagram_to_message(lane, fd, message) : lane;
	struct hp_sending call;
	ssize_t got;

	lane = out;
	if (lane) {
		hp_send_begin_some(&call, lane, end_of(fd, flags));
		hp_lane_sends(lane);
	}
	got = hp_real()->sendmsg(fd, message, flags);
	if (got >= 0 && message->msg_controllen)
		each_descriptor(message, hp_channel_share);
	if (lane && !is_open && got >= 0 && HP_UNLIKELY(message->msg_name != NULL))
		out = hp_datagram_to(lane, fd, message->msg_name, message->msg_namelen);
	if (HP_UNLIKELY(lane != out)) {
		hp_send_void(&call);
		sent_late(out, (size_t)got);
	} else if (lane) {
		sent(&call, NULL, got);
	}
	return got;
}

HP_EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	struct hp_lane *lane = flags & MSG_PEEK ? NULL : hp_channel_in(fd);
	struct hp_receiving call;
	ssize_t got;

	if (lane)
		hp_receive_begin(&call, lane);
	got = hp_real()->recvmsg(fd, message, flags);
	if (got >= 0 && message->msg_controllen)
		each_descriptor(message, hp_channel_came);
	if (lane)
		received(&call, fd, NULL, 1, got);
	return got;
}

/* --- several messages --- */

static uint64_t bytes_of(const struct mmsghdr *messages, int count)
{
	uint64_t bytes = 0;

	for (int i = 0; i < count; i++)
		bytes += messages[i].msg_len;
	return bytes;
}

static void each_message(const struct mmsghdr *messages, int count, void (*what)(int fd))
{
	for (int i = 0; i < count; i++)
		if (messages[i].msg_hdr.msg_controllen)
			each_descriptor(&messages[i].msg_hdr, what);
}

/* In the lane's unit, and in the other one. */
static void amounts(const struct hp_lane *lane, uint64_t count, uint64_t bytes, uint64_t *units,
		    uint64_t *others)
{
	*units = lane->unit == HP_LANE_BYTES ? bytes : count;
	*others = lane->unit == HP_LANE_BYTES ? count : bytes;
}

static bool have_names(const struct mmsghdr *messages, int count)
{
	for (int i = 0; i < count; i++)
		if (messages[i].msg_hdr.msg_name)
			return true;
	return false;
}

/* Each may go elsewhere: none is timed. */
static void sent_each(struct hp_lane *lane, int fd, const struct mmsghdr *messages, int count)
{
	for (int i = 0; i < count; i++) {
		const struct msghdr *message = &messages[i].msg_hdr;

		sent_late(hp_datagram_to(lane, fd, message->msg_name, message->msg_namelen),
			  messages[i].msg_len);
	}
}

HP_EXPORT int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags)
{
	struct hp_lane *lane = hp_channel_out(fd);
	uint64_t bytes, units, others;
	struct hp_sending call;
	int got;

	if (lane)
		hp_send_begin_some(&call, lane, end_of(fd, flags));
	got = hp_real()->sendmmsg(fd, messages, count, flags);
	if (got > 0)
		each_message(messages, got, hp_channel_share);
	if (!lane)
		return got;
	if (got <= 0) {
		hp_send_failed(&call);
		return got;
	}
	if (HP_UNLIKELY(lane->unit == HP_LANE_MESSAGES && have_names(messages, got))) {
		hp_send_void(&call);
		sent_each(lane, fd, messages, got);
		return got;
	}
	bytes = bytes_of(messages, got);
	amounts(lane, (uint64_t)got, bytes, &units, &others);
	hp_send_end(&call, units, others, bytes);
	return got;
}

HP_EXPORT int recvmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags,
		       struct timespec *timeout)
{
	struct hp_lane *lane = flags & MSG_PEEK ? NULL : hp_channel_in(fd);
	uint64_t bytes, units, others;
	struct hp_receiving call;
	int got;

	if (lane)
		hp_receive_begin(&call, lane);
	got = hp_real()->recvmmsg(fd, messages, count, flags, timeout);
	if (got > 0)
		each_message(messages, got, hp_channel_came);
	if (!lane)
		return got;
	if (got <= 0) {
		hp_receive_failed(&call);
		return got;
	}
	bytes = bytes_of(messages, got);
	amounts(lane, (uint64_t)got, bytes, &units, &others);
	/* At the end of a stream, each of them is empty. */
	if (bytes || lane->unit)
		hp_receive_end(&call, units, others, bytes);
	else
		hp_receive_none(&call);
	return got;
}
