/* SPDX-License-Identifier: MIT */
/*
 * channel_io.c - stand-ins for what sends and receives by descriptors.
 *
 * All are cancellation points, as what they stand in for: nothing is held across
 * the real call, and a call that does not come back is none.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload/channel.h"
#include "preload/real.h"

/* The C library's names for calls with checked buffers. */
ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room);

/* --- what one call is, in the lane's unit --- */

/* After the call only: before it nobody has said that there is memory. */
static uint64_t value_in(const void *buffer, size_t size)
{
	uint64_t value = 0;

	if (size >= sizeof(value))
		memcpy(&value, buffer, sizeof(value));
	return value;
}

static HP_HOT void sent(const struct hp_sending *call, const void *buffer, ssize_t got)
{
	uint32_t unit = call->lane->unit;

	if (HP_UNLIKELY(got < 0))
		hp_send_failed(call);
	else if (HP_LIKELY(unit == HP_LANE_BYTES && got))
		hp_send_end(call, (uint64_t)got, 1, (uint64_t)got);
	else if (unit != HP_LANE_BYTES)
		hp_send_end(call, unit == HP_LANE_TOKENS ? value_in(buffer, (size_t)got) : 1,
			    (uint64_t)got, (uint64_t)got);
}

/* `size`: bytes that there was room for. */
static HP_HOT void received(const struct hp_receiving *call, const void *buffer, size_t size,
			    ssize_t got)
{
	uint32_t unit = call->lane->unit;

	if (HP_UNLIKELY(got < 0))
		hp_receive_failed(call);
	else if (HP_LIKELY(unit == HP_LANE_BYTES && got))
		hp_receive_end(call, (uint64_t)got, 1, (uint64_t)got);
	else if (unit != HP_LANE_BYTES)
		hp_receive_end(call, unit == HP_LANE_TOKENS ? value_in(buffer, (size_t)got) : 1,
			       (uint64_t)got, (uint64_t)got);
	else if (size)
		hp_receive_none(call);
}

#define SEND(fd, buffer, size, real) \
	struct hp_lane *lane = hp_channel_out(fd); \
	struct hp_sending call; \
	ssize_t got; \
\
	if (HP_LIKELY(!lane)) \
		return hp_real()->real; \
	hp_send_begin(&call, lane, lane->unit ? 1 : size); \
	got = hp_real_table.real; \
	sent(&call, buffer, got); \
	return got

/* How much is sent is known afterwards. */
#define SEND_SOME(fd, buffer, real) \
	struct hp_lane *lane = hp_channel_out(fd); \
	struct hp_sending call; \
	ssize_t got; \
\
	if (HP_LIKELY(!lane)) \
		return hp_real()->real; \
	hp_send_begin_some(&call, lane); \
	got = hp_real_table.real; \
	sent(&call, buffer, got); \
	return got

#define RECEIVE(fd, buffer, size, real) \
	struct hp_lane *lane = hp_channel_in(fd); \
	struct hp_receiving call; \
	ssize_t got; \
\
	if (HP_LIKELY(!lane)) \
		return hp_real()->real; \
	hp_receive_begin(&call, lane); \
	got = hp_real_table.real; \
	received(&call, buffer, size, got); \
	return got

HP_EXPORT ssize_t write(int fd, const void *buffer, size_t size)
{
	SEND(fd, buffer, size, write(fd, buffer, size));
}

HP_EXPORT ssize_t read(int fd, void *buffer, size_t size)
{
	RECEIVE(fd, buffer, size, read(fd, buffer, size));
}

HP_EXPORT ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room)
{
	RECEIVE(fd, buffer, size, __read_chk(fd, buffer, size, room));
}

/* Only a call that went well says that there are any. */
static HP_HOT const void *first_of(const struct iovec *parts, ssize_t got)
{
	return got > 0 ? parts->iov_base : NULL;
}

HP_EXPORT ssize_t writev(int fd, const struct iovec *parts, int count)
{
	SEND_SOME(fd, first_of(parts, got), writev(fd, parts, count));
}

HP_EXPORT ssize_t readv(int fd, const struct iovec *parts, int count)
{
	RECEIVE(fd, first_of(parts, got), count > 0, readv(fd, parts, count));
}
