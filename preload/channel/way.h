/* SPDX-License-Identifier: MIT */
/*
 * way.h - the bodies of stand-ins that send and receive.
 *
 * `real` is the call, as a member of hp_real(); nothing that the caller points to is
 * read before it, since the pointers may be invalid.
 */
#ifndef HP_PRELOAD_CHANNEL_WAY_H
#define HP_PRELOAD_CHANNEL_WAY_H

#include <string.h>
#include <sys/uio.h>

#include "preload/channel/channel.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/lock/lock.h"
#include "preload/wait/offcpu_note.h"

/* --- the size of one call, in the lane's unit --- */

/* Only after the call: before it the pointer may be invalid. */
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
	else if (unit == HP_LANE_TOKENS)
		hp_send_tokens(call, value_in(buffer, (size_t)got), (uint64_t)got);
	else if (unit != HP_LANE_BYTES)
		hp_send_end(call, 1, (uint64_t)got, (uint64_t)got);
	else
		hp_send_none(call);
}

/* `size`: bytes that there was room for. */
static HP_HOT void received(const struct hp_receiving *call, int fd, const void *buffer,
			    size_t size, ssize_t got)
{
	uint32_t unit = call->lane->unit;

	if (HP_UNLIKELY(got < 0))
		hp_receive_failed(call);
	else if (HP_LIKELY(unit == HP_LANE_BYTES && got))
		hp_receive_end(call, (uint64_t)got, 1, (uint64_t)got);
	else if (unit != HP_LANE_BYTES && (got || hp_lane_depth(call->lane) > 0))
		hp_receive_end(call, unit == HP_LANE_TOKENS ? value_in(buffer, (size_t)got) : 1,
			       (uint64_t)got, (uint64_t)got);
	else if (size)
		hp_receive_none(call);
	else
		hp_receive_over(call);
	if (got > 0)
		hp_lane_received(call->lane, fd);
}

/* HP_OFFCPU_NOTED for a thread that may hold locks. */
#define HP_SLEEP(statement, on, fd) \
	do { \
		hp_lock_sleeps(); \
		HP_OFFCPU_NOTED(statement, on, fd); \
	} while (0)

#define SEND(fd, end, buffer, size, real) SEND_INTO(hp_channel_out(fd), fd, end, buffer, size, real)

/* `end`: as in hp_sending. */
#define SEND_INTO(into, fd, end, buffer, size, real) \
	struct hp_lane *lane = into; \
	struct hp_sending call; \
	ssize_t got; \
\
	if (HP_LIKELY(!lane)) { \
		HP_SLEEP(got = hp_real()->real, 0, fd); \
		return got; \
	} \
	hp_send_begin(&call, lane, lane->unit ? 1 : size, end); \
	hp_lane_sends(lane); \
	HP_SLEEP(got = hp_real_table.real, 0, fd); \
	sent(&call, buffer, got); \
	if (got > 0) \
		hp_send_kept(&call, buffer, (uint64_t)got); \
	return got

/* The amount sent is known afterwards. */
#define SEND_SOME(fd, buffer, real) \
	struct hp_lane *lane = hp_channel_out(fd); \
	struct hp_sending call; \
	ssize_t got; \
\
	if (HP_LIKELY(!lane)) { \
		HP_SLEEP(got = hp_real()->real, 0, fd); \
		return got; \
	} \
	hp_send_begin_some(&call, lane, fd); \
	hp_lane_sends(lane); \
	HP_SLEEP(got = hp_real_table.real, 0, fd); \
	sent(&call, buffer, got); \
	return got

#define RECEIVE(fd, buffer, size, real) RECEIVE_FROM(hp_channel_in(fd), fd, buffer, size, real)

#define RECEIVE_FROM(from, fd, buffer, size, real) \
	struct hp_lane *lane = from; \
	struct hp_receiving call; \
	ssize_t got; \
\
	if (HP_LIKELY(!lane)) { \
		HP_SLEEP(got = hp_real()->real, 0, fd); \
		if (HP_UNLIKELY(got > 0 && hp_channel_is_told(fd))) \
			hp_channel_told_read(fd, buffer, (size_t)got); \
		return got; \
	} \
	hp_receive_begin(&call, lane); \
	HP_SLEEP(got = hp_real_table.real, 0, fd); \
	received(&call, fd, buffer, size, got); \
	return got

/* Only a successful call shows that there are any. */
static HP_HOT const void *first_of(const struct iovec *parts, ssize_t got)
{
	return got > 0 ? parts->iov_base : NULL;
}

#endif
