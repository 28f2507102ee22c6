/* SPDX-License-Identifier: MIT */
/*
 * hook_wait.c - stand-ins for calls that wait for several descriptors.
 *
 * All are cancellation points and may be called in signal handlers, like the real functions:
 * nothing is held across the real call.
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "preload/channel/watch.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/lock/lock.h"
#include "preload/loop/connecting.h"
#include "preload/loop/loop.h"
#include "preload/loop/share.h"

#define FOREVER (-1)

/*
 * Without descriptors it is a sleep. Where the kernel provides the stacks of waits, they only say
 * that it was a poll, so a function with this prefix marks it there. Not inlined, and not left
 * by a jump: its frame is on the stack during the call.
 */
#define NAP(name, parameters, arguments) \
	static __attribute__((noinline)) int hp_nap_##name parameters \
	{ \
		int result = hp_real()->name arguments; \
\
		__asm__ volatile("" : "+r"(result)); \
		return result; \
	}

#define TURN_OR_NAP(call, is_nap, name, arguments) \
	struct hp_turn turn; \
	int result; \
\
	hp_turn_begin(&turn, HP_CALLER, call, (is_nap) ? HP_ON_SLEEP : HP_ON_POLL); \
	hp_lock_sleeps(); \
	result = turn.on == HP_ON_SLEEP ? hp_nap_##name arguments : hp_real()->name arguments

/* ns of a timeout in ms; < 0 = none. */
static inline int64_t of_ms(int ms)
{
	return ms < 0 ? FOREVER : (int64_t)ms * 1000000;
}

static inline int64_t of_timespec(const struct timespec *time)
{
	return time ? (int64_t)time->tv_sec * 1000000000 + time->tv_nsec : FOREVER;
}

static inline int64_t of_timeval(const struct timeval *time)
{
	return time ? (int64_t)time->tv_sec * 1000000000 + (int64_t)time->tv_usec * 1000 : FOREVER;
}

/*
 * The source of the only event, or of the first of several; until several sources are
 * known, or for one event.
 */
static HP_HOT bool asks_source(const struct hp_turn *turn, int result)
{
	return turn->loop && result > 0 && (result == 1 || turn->loop->sources < 2);
}

/*
 * `is_alone`: the wait was for this descriptor only. A thread that serves one connection after
 * another polls each alone: nothing else waits for it.
 */
static inline void source_set(const struct hp_turn *turn, enum hp_loop_call call, int result,
			      int epoll_fd, uint64_t source, bool is_alone)
{
	struct hp_looper *me = hp_looper();

	me->only_call = result == 1 ? call : 0;
	me->only_fd = epoll_fd;
	me->only_source = source;
	if (!is_alone && HP_UNLIKELY(turn->loop->sources == 0 ||
				     (turn->loop->sources == 1 && turn->loop->source != source)))
		hp_loop_source(turn->loop, source);
}

/* --- poll --- */

/* The array is the program's: it was filled just now. */
static HP_HOT void polled(struct hp_turn *turn, const struct pollfd *fds, nfds_t count, int result,
			  int64_t asked_ns)
{
	nfds_t i = 0;

	hp_turn_end(turn, result, (int)count, asked_ns);
	if (HP_UNLIKELY(hp_connecting_count) && result > 0)
		hp_connecting_polled(fds, count);
	if (!turn->loop)
		return;
	turn->loop->watched = (uint32_t)count;
	hp_looper()->only_call = 0;
	if (!asks_source(turn, result))
		return;
	while (i < count && !fds[i].revents)
		i++;
	if (i < count)
		source_set(turn, HP_LOOP_POLL, result, -1, (uint64_t)fds[i].fd, count == 1);
}

NAP(poll, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout))

HP_EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	TURN_OR_NAP(HP_LOOP_POLL, count == 0 && timeout > 0, poll, (fds, count, timeout));
	polled(&turn, fds, count, result, of_ms(timeout));
	return result;
}

int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room);
NAP(__poll_chk, (struct pollfd * fds, nfds_t count, int timeout, size_t room),
    (fds, count, timeout, room))

HP_EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room)
{
	TURN_OR_NAP(HP_LOOP_POLL, count == 0 && timeout > 0, __poll_chk,
		    (fds, count, timeout, room));
	polled(&turn, fds, count, result, of_ms(timeout));
	return result;
}

NAP(ppoll,
    (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask),
    (fds, count, timeout, mask))

HP_EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		    const sigset_t *mask)
{
	int64_t asked_ns = of_timespec(timeout);

	TURN_OR_NAP(HP_LOOP_POLL, count == 0 && timeout, ppoll, (fds, count, timeout, mask));
	polled(&turn, fds, count, result, asked_ns);
	return result;
}

int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		const sigset_t *mask, size_t room);
NAP(__ppoll_chk,
    (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask,
     size_t room),
    (fds, count, timeout, mask, room))

HP_EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
			  const sigset_t *mask, size_t room)
{
	int64_t asked_ns = of_timespec(timeout);

	TURN_OR_NAP(HP_LOOP_POLL, count == 0 && timeout, __ppoll_chk,
		    (fds, count, timeout, mask, room));
	polled(&turn, fds, count, result, asked_ns);
	return result;
}

/* --- select --- */

static int first_of(const fd_set *set, int count)
{
	for (int fd = 0; set && fd < count && fd < FD_SETSIZE; fd++)
		if (FD_ISSET(fd, set))
			return fd;
	return -1;
}

/* The number of watched descriptors is unknown: `count` is one above the highest. */
static HP_HOT void selected(struct hp_turn *turn, int count, const fd_set *reads,
			    const fd_set *writes, int result, int64_t asked_ns)
{
	int fd;

	hp_turn_end(turn, result, FD_SETSIZE, asked_ns);
	if (HP_UNLIKELY(hp_connecting_count) && result > 0)
		hp_connecting_selected(writes, count);
	if (!turn->loop)
		return;
	hp_looper()->only_call = 0;
	if (!asks_source(turn, result))
		return;
	fd = first_of(reads, count);
	if (fd < 0)
		fd = first_of(writes, count);
	if (fd >= 0)
		source_set(turn, HP_LOOP_SELECT, result, -1, (uint64_t)fd, false);
}

static inline bool is_nap(int count, const fd_set *reads, const fd_set *writes,
			  const fd_set *others, const void *timeout)
{
	return (count == 0 || (!reads && !writes && !others)) && timeout;
}

NAP(select, (int count, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *timeout),
    (count, reads, writes, others, timeout))

/* The kernel writes the rest of the timeout back into it. */
HP_EXPORT int select(int count, fd_set *reads, fd_set *writes, fd_set *others,
		     struct timeval *timeout)
{
	struct hp_turn turn;
	int64_t asked_ns;
	int result;

	hp_turn_begin(&turn, HP_CALLER, HP_LOOP_SELECT,
		      is_nap(count, reads, writes, others, timeout) ? HP_ON_SLEEP : HP_ON_POLL);
	asked_ns = turn.loop ? of_timeval(timeout) : FOREVER;
	hp_lock_sleeps();
	if (turn.on == HP_ON_SLEEP)
		result = hp_nap_select(count, reads, writes, others, timeout);
	else
		result = hp_real()->select(count, reads, writes, others, timeout);
	selected(&turn, count, reads, writes, result, asked_ns);
	return result;
}

NAP(pselect,
    (int count, fd_set *reads, fd_set *writes, fd_set *others, const struct timespec *timeout,
     const sigset_t *mask),
    (count, reads, writes, others, timeout, mask))

HP_EXPORT int pselect(int count, fd_set *reads, fd_set *writes, fd_set *others,
		      const struct timespec *timeout, const sigset_t *mask)
{
	TURN_OR_NAP(HP_LOOP_SELECT, is_nap(count, reads, writes, others, timeout), pselect,
		    (count, reads, writes, others, timeout, mask));
	selected(&turn, count, reads, writes, result, of_timespec(timeout));
	return result;
}

/* --- epoll --- */

static HP_HOT void epolled(struct hp_turn *turn, int fd, const struct epoll_event *events, int most,
			   int result, int64_t asked_ns)
{
	const struct hp_watch_counts *counts;

	hp_turn_end(turn, result, most, asked_ns);
	if (HP_UNLIKELY(hp_connecting_count) && result > 0)
		hp_connecting_epolled(fd, events, result);
	if (!turn->loop)
		return;
	counts = hp_watch_counts_of(fd);
	if (counts) {
		if (HP_UNLIKELY(hp_watch_changes(counts) != hp_looper()->at_changes))
			hp_loop_changed(hp_looper(), turn->loop, hp_watch_changes(counts));
		if (HP_UNLIKELY(atomic_load_explicit(&counts->poker, memory_order_relaxed)))
			hp_watch_poked(fd, events, result);
	}
	hp_looper()->only_call = 0;
	if (asks_source(turn, result))
		source_set(turn, HP_LOOP_EPOLL, result, fd, events[0].data.u64, false);
}

/* Other threads may wait at the same instance. */
static HP_HOT void epoll_take(const struct hp_turn *turn, int fd)
{
	struct hp_watch_counts *counts = hp_watch_counts_of(fd);
	struct hp_looper *me = hp_looper();

	if (HP_UNLIKELY(!turn->loop))
		return;
	if (HP_UNLIKELY(me->at_instance != counts) ||
	    (HP_LIKELY(counts != NULL) &&
	     HP_UNLIKELY(atomic_load_explicit(&counts->taker, memory_order_relaxed) != me->tid)))
		hp_loop_taken(me, counts);
}

#define EPOLL_TURN(real) \
	struct hp_turn turn; \
	int result; \
\
	hp_turn_begin(&turn, HP_CALLER, HP_LOOP_EPOLL, HP_ON_POLL); \
	epoll_take(&turn, fd); \
	hp_lock_sleeps(); \
	result = hp_real()->real

HP_EXPORT int epoll_wait(int fd, struct epoll_event *events, int most, int timeout)
{
	EPOLL_TURN(epoll_wait(fd, events, most, timeout));
	epolled(&turn, fd, events, most, result, of_ms(timeout));
	return result;
}

HP_EXPORT int epoll_pwait(int fd, struct epoll_event *events, int most, int timeout,
			  const sigset_t *mask)
{
	EPOLL_TURN(epoll_pwait(fd, events, most, timeout, mask));
	epolled(&turn, fd, events, most, result, of_ms(timeout));
	return result;
}

HP_EXPORT int epoll_pwait2(int fd, struct epoll_event *events, int most,
			   const struct timespec *timeout, const sigset_t *mask)
{
	if (!hp_real()->epoll_pwait2) {
		errno = ENOSYS;
		return -1;
	}
	EPOLL_TURN(epoll_pwait2(fd, events, most, timeout, mask));
	epolled(&turn, fd, events, most, result, of_timespec(timeout));
	return result;
}

/* After the real call: failed calls had no effect.  `event` may be NULL with EPOLL_CTL_DEL. */
HP_EXPORT int epoll_ctl(int epoll_fd, int action, int fd, struct epoll_event *event)
{
	int result;

	if (action == EPOLL_CTL_MOD && !hp_loop_is_off && !hp_is_early())
		hp_watch_poke(epoll_fd, fd);
	result = hp_real()->epoll_ctl(epoll_fd, action, fd, event);
	if (result != 0)
		return result;
	if (action == EPOLL_CTL_ADD)
		hp_watch_add(epoll_fd, fd, event->data.u64);
	else if (action == EPOLL_CTL_MOD)
		hp_watch_change(epoll_fd, fd, event->data.u64);
	else if (action == EPOLL_CTL_DEL)
		hp_watch_remove(epoll_fd, fd);
	return result;
}
