/* SPDX-License-Identifier: MIT */
/*
 * hook_uv.c - stand-ins of libuv's requests, if the program has it (preload/guest/absent.h): a
 * request as a future of the code that starts it.
 *
 * Nothing that can be interposed runs or ends a request, so it gets our callbacks in place of the
 * program's, which they call.  A program that reads its request's callback sees that: hence only
 * with HOTPATH_LOOP_CALLBACKS=1.  The program's callbacks are in a table by the request's address.
 * It belongs to the process's memory and is never dropped: also without a recorded session, and in
 * a forked child that continues the loop, each request must find its callback.  Without a free
 * place the request keeps the program's, and is counted as lost.
 *
 * Polls are the work in a thread of the pool, and the callback in the loop's thread; libuv's own
 * lock is between them.  Cancelled is what uv_cancel removed.  A request without a callback is
 * synchronous, and no future.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "preload/future/future.h"
#include "preload/future/uv.h"
#include "preload/guest/absent.h"
#include "preload/guest/bulky.h"
#include "util/hash.h"

#define UNPACK(...) __VA_ARGS__
#define FS_TYPED(ret, name, parameters, arguments) \
	HP_ABSENT_REAL(ret, name, \
		       (struct hp_uv_loop *, struct hp_uv_request *, UNPACK parameters, \
			hp_uv_fs_done))

HP_UV_LIST(HP_ABSENT_REAL)
HP_UV_FS_LIST(FS_TYPED)

#define FIND HP_ABSENT_FIND

#define BITS 12
#define PLACES (1 << BITS)	/* requests at a time */
#define PROBES 64

/* Written by the thread that starts the request, before libuv knows it. */
struct request {
	void (*work)(void);	/* the program's; NULL = has none */
	void (*done)(void);	/* may be NULL with work */
	struct hp_future *future;
	struct hp_flight *flight;	/* NULL = none */
	const void *owner;	/* the process of the flight: a forked child has none of them */
};

/* Keys are apart, so that a search reads few lines. */
HP_BULKY static _Atomic uintptr_t keys[PLACES];	/* address of the request; 0 = free */
HP_BULKY static struct request requests[PLACES];

static bool is_counted(void)
{
	return !hp_is_early() && hp_future_exchanges && !hp_uv_is_without && hp_future_is_wanted();
}

/* --- the table --- */

static uint32_t place_first(uintptr_t key)
{
	return (uint32_t)((uint64_t)key * HP_HASH_GOLDEN >> (64 - BITS));
}

/* PLACES = not there.  Places are freed in any order, so no free one ends the search. */
static uint32_t place_of(uintptr_t key)
{
	uint32_t at = place_first(key);

	for (int n = 0; n < PROBES; n++, at = (at + 1) % PLACES)
		if (atomic_load_explicit(&keys[at], memory_order_acquire) == key)
			return at;
	return PLACES;
}

static uint32_t place_claim(uintptr_t key)
{
	uint32_t at = place_first(key);

	for (int n = 0; n < PROBES; n++, at = (at + 1) % PLACES) {
		uintptr_t none = 0;

		if (atomic_compare_exchange_strong_explicit(
			    &keys[at], &none, key, memory_order_acq_rel, memory_order_relaxed))
			return at;
	}
	return PLACES;
}

/* --- requests --- */

static bool is_ours(const struct request *request)
{
	return request->flight && request->owner && request->owner == hp_self->process &&
	       hp_self_is_me() && hp_segment_holds(&hp_segment, request->flight);
}

static void end(const struct request *request, enum hp_future_state how)
{
	if (is_ours(request))
		hp_flight_end(request->future, request->flight, how, NULL);
}

/* False = the request keeps its callbacks. */
static bool put(const void *key, struct request *request, uintptr_t caller)
{
	uint32_t at;

	request->future = hp_future_of_code(HP_FUTURE_UV, caller);
	if (!request->future)
		return false;
	at = place_of((uintptr_t)key);
	if (at != PLACES)
		end(&requests[at], HP_FUTURE_CANCELLED);	/* its loop was abandoned */
	else
		at = place_claim((uintptr_t)key);
	if (at == PLACES) {
		atomic_fetch_add_explicit(&request->future->calls, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&request->future->lost, 1, memory_order_relaxed);
		return false;
	}
	request->flight = hp_flight_begin(request->future);
	request->owner = hp_self->process;
	requests[at] = *request;
	return true;
}

static bool begin(const void *key, struct request request, uintptr_t caller)
{
	int saved = errno;
	bool is_put = key && is_counted() && put(key, &request, caller);

	errno = saved;
	return is_put;
}

/* The callback may free the request, or start it again: its place is free by then. */
static struct request take(const void *key)
{
	struct request request = { 0 };
	uint32_t at = place_of((uintptr_t)key);

	if (at == PLACES)
		return request;
	request = requests[at];
	atomic_store_explicit(&keys[at], 0, memory_order_release);
	return request;
}

/* libuv refused to start it. */
static int undo(const void *key, int result)
{
	struct request request;
	int saved = errno;

	if (result == 0)
		return result;
	request = take(key);
	if (is_ours(&request))
		hp_flight_undo(request.future, request.flight);
	errno = saved;
	return result;
}

static void poll_begin(const struct request *request)
{
	int saved = errno;

	if (is_ours(request))
		hp_flight_poll(request->flight);
	errno = saved;
}

/* In a child that the callback forked this is not the child's. */
static void poll_end(const struct request *request)
{
	int saved = errno;

	if (is_ours(request))
		hp_flight_pause(request->flight);
	errno = saved;
}

/* The request is over, and its callback is about to run.  False = it was cancelled. */
static void done_begin(struct request *request, const void *key, int status)
{
	int saved = errno;

	*request = take(key);
	if (status != HP_UV_ECANCELED) {
		poll_begin(request);
	} else {
		end(request, HP_FUTURE_CANCELLED);
		request->flight = NULL;
	}
	errno = saved;
}

static void done_end(const struct request *request)
{
	int saved = errno;

	end(request, HP_FUTURE_READY);
	errno = saved;
}

/* --- our callbacks --- */

static void work(struct hp_uv_request *key)
{
	uint32_t at = place_of((uintptr_t)key);
	struct request request = { 0 };

	if (at != PLACES)
		request = requests[at];
	poll_begin(&request);
	if (request.work)
		((hp_uv_work)request.work)(key);
	poll_end(&request);
}

#define CALL_BACK(type, status, ...) \
	do { \
		struct request request; \
\
		done_begin(&request, key, status); \
		if (request.done) \
			((type)request.done)(__VA_ARGS__); \
		done_end(&request); \
	} while (0)

static void after_work(struct hp_uv_request *key, int status)
{
	CALL_BACK(hp_uv_after_work, status, key, status);
}

static void address_done(struct hp_uv_request *key, int status, void *found)
{
	CALL_BACK(hp_uv_address_done, status, key, status, found);
}

static void name_done(struct hp_uv_request *key, int status, const char *host, const char *service)
{
	CALL_BACK(hp_uv_name_done, status, key, status, host, service);
}

static void random_done(struct hp_uv_request *key, int status, void *bytes, size_t size)
{
	CALL_BACK(hp_uv_random_done, status, key, status, bytes, size);
}

static struct hp_absent result_of = HP_ABSENT("uv_fs_get_result");

/* Where libuv ran it: beside the function that started it. */
static void fs_done(struct hp_uv_request *key)
{
	ssize_t (*get)(const struct hp_uv_request *) = (ssize_t(*)(const struct hp_uv_request *))(
		uintptr_t)hp_absent_real(&result_of, HP_CALLER);

	CALL_BACK(hp_uv_fs_done, get ? (int)get(key) : 0, key);
}

/* --- stand-ins --- */

#define CODE(function) ((void (*)(void))(function))
#define DONE(function) ((struct request){ .done = CODE(function) })

HP_EXPORT int uv_queue_work(struct hp_uv_loop *loop, struct hp_uv_request *request,
			    hp_uv_work program, hp_uv_after_work after)
{
	uv_queue_work_type real = FIND(uv_queue_work);
	struct request ours = { .work = CODE(program), .done = CODE(after) };

	if (!real)
		return HP_UV_ENOSYS;
	if (!program || !begin(request, ours, HP_CALLER))
		return real(loop, request, program, after);
	return undo(request, real(loop, request, work, after_work));
}

HP_EXPORT int uv_getaddrinfo(struct hp_uv_loop *loop, struct hp_uv_request *request,
			     hp_uv_address_done done, const char *node, const char *service,
			     const void *hints)
{
	uv_getaddrinfo_type real = FIND(uv_getaddrinfo);

	if (!real)
		return HP_UV_ENOSYS;
	if (!done || !begin(request, DONE(done), HP_CALLER))
		return real(loop, request, done, node, service, hints);
	return undo(request, real(loop, request, address_done, node, service, hints));
}

HP_EXPORT int uv_getnameinfo(struct hp_uv_loop *loop, struct hp_uv_request *request,
			     hp_uv_name_done done, const void *address, int flags)
{
	uv_getnameinfo_type real = FIND(uv_getnameinfo);

	if (!real)
		return HP_UV_ENOSYS;
	if (!done || !begin(request, DONE(done), HP_CALLER))
		return real(loop, request, done, address, flags);
	return undo(request, real(loop, request, name_done, address, flags));
}

HP_EXPORT int uv_random(struct hp_uv_loop *loop, struct hp_uv_request *request, void *bytes,
			size_t size, unsigned flags, hp_uv_random_done done)
{
	uv_random_type real = FIND(uv_random);

	if (!real)
		return HP_UV_ENOSYS;
	if (!done || !begin(request, DONE(done), HP_CALLER))
		return real(loop, request, bytes, size, flags, done);
	return undo(request, real(loop, request, bytes, size, flags, random_done));
}

#define FS(ret, name, parameters, arguments) \
	HP_EXPORT ret name(struct hp_uv_loop *loop, struct hp_uv_request *request, \
			   UNPACK parameters, hp_uv_fs_done done) \
	{ \
		name##_type real = FIND(name); \
\
		if (!real) \
			return HP_UV_ENOSYS; \
		if (!done || !begin(request, DONE(done), HP_CALLER)) \
			return real(loop, request, UNPACK arguments, done); \
		return undo(request, real(loop, request, UNPACK arguments, fs_done)); \
	}

HP_UV_FS_LIST(FS)
