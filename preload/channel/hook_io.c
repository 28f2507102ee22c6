/* SPDX-License-Identifier: MIT */
/*
 * hook_io.c - stand-ins for functions that send and receive by descriptors.
 *
 * All are cancellation points, like the real functions: nothing is held across
 * the real call, and a call that does not return is not recorded.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "preload/channel/way.h"
#include "preload/guest/guest.h"
#include "segment/newer.h"

/* The C library's names for calls with checked buffers. */
ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room);

HP_EXPORT ssize_t write(int fd, const void *buffer, size_t size)
{
	SEND_INTO(hp_channel_lane(hp_channel_word_at_position(fd) >> 32), fd, fd, buffer, size,
		  write(fd, buffer, size));
}

HP_EXPORT ssize_t read(int fd, void *buffer, size_t size)
{
	RECEIVE_FROM(hp_channel_lane(hp_channel_word_at_position(fd) & UINT32_MAX), fd, buffer,
		     size, read(fd, buffer, size));
}

HP_EXPORT ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room)
{
	RECEIVE_FROM(hp_channel_lane(hp_channel_word_at_position(fd) & UINT32_MAX), fd, buffer,
		     size, __read_chk(fd, buffer, size, room));
}

HP_EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
	SEND_SOME(fd, first_of(parts, got), writev(fd, parts, count));
}

HP_EXPORT ssize_t readv(int fd, const struct iovec *parts, int count)
{
	RECEIVE(fd, first_of(parts, got), count > 0, readv(fd, parts, count));
}

HP_EXPORT ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t at, int flags)
{
	SEND_SOME(fd, first_of(parts, got), pwritev2(fd, parts, count, at, flags));
}

HP_EXPORT ssize_t pwritev64v2(int fd, const struct iovec *parts, int count, off64_t at, int flags);
HP_EXPORT ssize_t pwritev64v2(int fd, const struct iovec *parts, int count, off64_t at, int flags)
{
	SEND_SOME(fd, first_of(parts, got), pwritev64v2(fd, parts, count, at, flags));
}

HP_EXPORT ssize_t preadv2(int fd, const struct iovec *parts, int count, off_t at, int flags)
{
	RECEIVE(fd, first_of(parts, got), count > 0, preadv2(fd, parts, count, at, flags));
}

HP_EXPORT ssize_t preadv64v2(int fd, const struct iovec *parts, int count, off64_t at, int flags);
HP_EXPORT ssize_t preadv64v2(int fd, const struct iovec *parts, int count, off64_t at, int flags)
{
	RECEIVE(fd, first_of(parts, got), count > 0, preadv64v2(fd, parts, count, at, flags));
}

/* --- from one descriptor to another --- */

static HP_HOT bool begin_out(struct hp_sending *call, int fd)
{
	struct hp_lane *lane = hp_channel_out(fd);

	if (lane) {
		hp_send_begin_some(call, lane, fd);
		hp_lane_sends(lane);
	}
	return lane != NULL;
}

static HP_HOT bool begin_in(struct hp_receiving *call, int fd)
{
	struct hp_lane *lane = hp_channel_in(fd);

	if (lane)
		hp_receive_begin(call, lane);
	return lane != NULL;
}

HP_EXPORT ssize_t splice(int in, off64_t *in_at, int out, off64_t *out_at, size_t size,
			 unsigned flags)
{
	struct hp_receiving receiving;
	struct hp_sending sending;
	bool is_in = begin_in(&receiving, in), is_out = begin_out(&sending, out);
	ssize_t got = hp_real()->splice(in, in_at, out, out_at, size, flags);

	/* A failure may concern either end. */
	if (is_in && got >= 0)
		received(&receiving, in, NULL, size, got);
	else if (is_in)
		hp_receive_over(&receiving);
	if (is_out)
		sent(&sending, NULL, got);
	return got;
}

HP_EXPORT ssize_t tee(int in, int out, size_t size, unsigned flags)
{
	struct hp_sending sending;
	bool is_out = begin_out(&sending, out);
	ssize_t got = hp_real()->tee(in, out, size, flags);

	if (is_out)
		sent(&sending, NULL, got);
	return got;
}

HP_EXPORT ssize_t vmsplice(int fd, const struct iovec *parts, size_t count, unsigned flags)
{
	struct hp_receiving receiving;
	struct hp_sending sending;
	bool is_in = begin_in(&receiving, fd), is_out = begin_out(&sending, fd);
	ssize_t got = hp_real()->vmsplice(fd, parts, count, flags);

	if (is_out)
		sent(&sending, NULL, got);
	if (is_in && !is_out)
		received(&receiving, fd, NULL, count, got);
	else if (is_in)
		hp_receive_over(&receiving);
	return got;
}

HP_EXPORT ssize_t sendfile(int out, int in, off_t *at, size_t size)
{
	SEND_SOME(out, NULL, sendfile(out, in, at, size));
}

HP_EXPORT ssize_t sendfile64(int out, int in, off64_t *at, size_t size)
{
	SEND_SOME(out, NULL, sendfile64(out, in, at, size));
}

/* --- events --- */

HP_EXPORT int eventfd(unsigned value, int flags)
{
	bool is_on = hp_channel_is_on();
	int fd = hp_real()->eventfd(value, flags);
	struct hp_channel_wish wish = { .kind = HP_CHANNEL_EVENT,
					.caller = HP_CALLER,
					.unit = HP_LANE_TOKENS,
					.safe = UINT32_MAX };
	int saved = errno;
	struct hp_lane *lane;

	if (fd < 0 || !is_on)
		return fd;
	hp_channel_single(fd, &wish);
	lane = hp_channel_out(fd);
	if (lane && value) {
		/* It holds this many that nobody sent. */
		atomic_fetch_sub_explicit(&lane->abandoned, value, memory_order_relaxed);
	}
	errno = saved;
	return fd;
}

HP_EXPORT int eventfd_read(int fd, eventfd_t *value)
{
	return read(fd, value, sizeof(*value)) == sizeof(*value) ? 0 : -1;
}

HP_EXPORT int eventfd_write(int fd, eventfd_t value)
{
	return write(fd, &value, sizeof(value)) == sizeof(value) ? 0 : -1;
}
