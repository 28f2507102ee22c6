/* SPDX-License-Identifier: MIT */
/*
 * hook_mq.c - stand-ins of message queues, POSIX and System V.
 *
 * A POSIX queue is a descriptor on Linux, and its inode identifies it in other
 * processes; a System V one has a number for all of them.  If messages overtake
 * each other (priorities, types), they are not received in the order of sending:
 * from then on none of that queue is timed.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdarg.h>
#include <sys/msg.h>
#include <sys/stat.h>

#include "preload/channel/key.h"
#include "preload/channel/way.h"
#include "preload/guest/guest.h"

mqd_t __mq_open_2(const char *name, int flags);

/* --- POSIX --- */

static void opened(mqd_t queue, const char *name, uintptr_t caller)
{
	struct hp_channel_wish wish = { .kind = HP_CHANNEL_MQ,
					.caller = caller,
					.unit = HP_LANE_MESSAGES };
	struct mq_attr attributes;
	struct stat stat;
	struct hp_lane *lane;

	if (!hp_channel_stat(queue, &stat) || hp_real()->mq_getattr(queue, &attributes) != 0)
		return;
	lane = hp_lane_of_inode(stat.st_dev, stat.st_ino, true);
	if (lane) {
		hp_channel_again(queue, lane);
		return;
	}
	wish.device = stat.st_dev;
	wish.out_inode = wish.in_inode = stat.st_ino;
	wish.capacity = wish.safe = (uint64_t)attributes.mq_maxmsg;
	hp_channel_single(queue, &wish);
	lane = hp_channel_out(queue);
	if (!lane)
		return;
	/* Messages that nobody in this session has sent. */
	atomic_fetch_sub_explicit(&lane->abandoned, (uint64_t)attributes.mq_curmsgs,
				  memory_order_relaxed);
	hp_channel_label(lane, name, strlen(name));
	/* By another program, perhaps. */
	atomic_store_explicit(&lane->shared, 1, memory_order_relaxed);
}

#define OPEN(real, name) \
	bool is_on = hp_channel_is_on(); \
	mqd_t queue = hp_real()->real; \
	int saved = errno; \
\
	if (queue >= 0 && is_on) \
		opened(queue, name, HP_CALLER); \
	errno = saved; \
	return queue

HP_EXPORT mqd_t mq_open(const char *name, int flags, ...)
{
	struct mq_attr *attributes = NULL;
	unsigned mode = 0;
	va_list list;

	va_start(list, flags);
	if (flags & O_CREAT) {
		mode = va_arg(list, unsigned);
		attributes = va_arg(list, struct mq_attr *);
	}
	va_end(list);
	OPEN(mq_open(name, flags, mode, attributes), name);
}

HP_EXPORT mqd_t __mq_open_2(const char *name, int flags)
{
	OPEN(__mq_open_2(name, flags), name);
}

HP_EXPORT int mq_close(mqd_t queue)
{
	hp_channel_forget(queue);
	return hp_real()->mq_close(queue);
}

static void ranked(struct hp_lane *lane, unsigned priority)
{
	if (!lane->priority)
		lane->priority = priority + 1;
	else if (lane->priority != priority + 1)
		hp_lane_mix(lane);
}

#define MQ_SEND(real) \
	struct hp_lane *lane = hp_channel_out(queue); \
	struct hp_sending call; \
	int result; \
\
	if (!lane) \
		return hp_real()->real; \
	ranked(lane, priority); \
	hp_send_begin(&call, lane, 1, HP_END_NONE); \
	result = hp_real()->real; \
	if (result == 0) { \
		hp_send_end(&call, 1, size, size); \
		hp_send_kept(&call, message, size); \
	} else \
		hp_send_failed(&call); \
	return result

HP_EXPORT int mq_send(mqd_t queue, const char *message, size_t size, unsigned priority)
{
	MQ_SEND(mq_send(queue, message, size, priority));
}

HP_EXPORT int mq_timedsend(mqd_t queue, const char *message, size_t size, unsigned priority,
			   const struct timespec *until)
{
	MQ_SEND(mq_timedsend(queue, message, size, priority, until));
}

#define MESSAGE(lane, real) \
	struct hp_receiving call; \
	ssize_t got; \
\
	if (!lane) \
		return hp_real()->real; \
	hp_receive_begin(&call, lane); \
	got = hp_real()->real; \
	if (got >= 0) \
		hp_receive_end(&call, 1, (uint64_t)got, (uint64_t)got); \
	else \
		hp_receive_failed(&call); \
	return got

HP_EXPORT ssize_t mq_receive(mqd_t queue, char *message, size_t size, unsigned *priority)
{
	struct hp_lane *lane = hp_channel_in(queue);

	MESSAGE(lane, mq_receive(queue, message, size, priority));
}

HP_EXPORT ssize_t mq_timedreceive(mqd_t queue, char *message, size_t size, unsigned *priority,
				  const struct timespec *until)
{
	struct hp_lane *lane = hp_channel_in(queue);

	MESSAGE(lane, mq_timedreceive(queue, message, size, priority, until));
}

/* --- System V --- */

#define SYSV_DEVICE UINT64_MAX	/* of no inode */

static struct hp_lane *queue_met(int queue, bool is_made, uintptr_t caller)
{
	struct hp_channel_wish wish = { .kind = HP_CHANNEL_SYSV,
					.caller = caller,
					.is_first = !is_made,
					.unit = HP_LANE_MESSAGES,
					.device = SYSV_DEVICE,
					.out_inode = (uint64_t)queue,
					.in_inode = (uint64_t)queue };
	struct hp_lane *lane = hp_lane_of_inode(SYSV_DEVICE, (uint64_t)queue, true);
	struct msqid_ds state;
	bool is_new = !lane;

	if (is_new && hp_real()->msgctl(queue, IPC_STAT, &state) != 0)
		return NULL;
	lane = hp_channel_key_take(HP_KEY_SYSV | (uint64_t)queue, lane, &wish);
	if (lane && is_new) {
		atomic_fetch_sub_explicit(&lane->abandoned, state.msg_qnum, memory_order_relaxed);
		atomic_store_explicit(&lane->shared, 1, memory_order_relaxed);
	}
	return lane;
}

static struct hp_lane *lane_of(int queue, uintptr_t caller)
{
	struct hp_lane *lane;
	int saved = errno;

	if (queue < 0 || !hp_channel_fds_most)
		return NULL;
	lane = hp_channel_key_lane(HP_KEY_SYSV | (uint64_t)queue);
	if (lane)
		return lane;
	lane = hp_channel_is_on() ? queue_met(queue, false, caller) : NULL;
	errno = saved;
	return lane;
}

HP_EXPORT int msgget(key_t key, int flags)
{
	bool is_on = hp_channel_is_on();
	int queue = hp_real()->msgget(key, flags);
	int saved = errno;

	if (queue >= 0 && is_on && !hp_channel_key_lane(HP_KEY_SYSV | (uint64_t)queue))
		queue_met(queue, true, HP_CALLER);
	errno = saved;
	return queue;
}

HP_EXPORT int msgctl(int queue, int command, struct msqid_ds *state)
{
	int result = hp_real()->msgctl(queue, command, state);
	int saved = errno;
	struct hp_lane *lane;

	if (result == 0 && command == IPC_RMID && queue >= 0) {
		lane = hp_channel_key_lane(HP_KEY_SYSV | (uint64_t)queue);
		if (lane)
			hp_lane_close(lane);
		hp_channel_key_gone(HP_KEY_SYSV | (uint64_t)queue);
	}
	errno = saved;
	return result;
}

HP_EXPORT int msgsnd(int queue, const void *message, size_t size, int flags)
{
	struct hp_lane *lane = lane_of(queue, HP_CALLER);
	struct hp_sending call;
	int result;

	if (!lane)
		return hp_real()->msgsnd(queue, message, size, flags);
	hp_send_begin_some(&call, lane, HP_END_NONE);
	result = hp_real()->msgsnd(queue, message, size, flags);
	if (result == 0)
		hp_send_end(&call, 1, size, size);
	else
		hp_send_failed(&call);
	return result;
}

HP_EXPORT ssize_t msgrcv(int queue, void *message, size_t size, long type, int flags)
{
	struct hp_lane *lane = lane_of(queue, HP_CALLER);

	if (lane && type)
		hp_lane_mix(lane);
	MESSAGE(lane, msgrcv(queue, message, size, type, flags));
}
