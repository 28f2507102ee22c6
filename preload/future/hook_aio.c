/* SPDX-License-Identifier: MIT */
/*
 * hook_aio.c - stand-ins of POSIX AIO: requests as futures, by the code that starts them.
 *
 * A request begins before the real call, since another thread or a signal handler may find it done before that
 * returns; one that the C library refuses is taken back. It ends when the program learns of it: by
 * aio_error, aio_return or aio_cancel. Both names of each function have the same struct where off_t
 * has 64 bits.
 */
#include <aio.h>
#include <errno.h>

#include "preload/future/aio.h"
#include "preload/future/future.h"
#include "preload/guest/absent.h"

HP_AIO_LIST(HP_ABSENT_REAL)

/* The function that the code at `caller` would call without us; NULL = none, as in a C library without AIO. */
#define FIND(name, caller) ((name##_type)hp_absent_real(&name##_real, caller))

static int none(void)
{
	errno = ENOSYS;
	return -1;
}

static uint64_t key_of(const void *request)
{
	return (uint64_t)(uintptr_t)request << 8 | HP_FUTURE_AIO;
}

/* Before the loader has relocated us, errno is inaccessible. */
static bool is_counted(void)
{
	return !hp_is_early() && !hp_aio_is_without && hp_future_is_wanted();
}

static void begin(const void *request, uintptr_t caller)
{
	struct hp_future *future;
	int saved;

	if (!is_counted() || !request)
		return;
	saved = errno;
	future = hp_future_of_code(HP_FUTURE_AIO, caller);
	if (future)
		hp_future_begin_at(future, key_of(request));
	errno = saved;
}

static int begun(const void *request, int result)
{
	int saved;

	if (!result || !is_counted())
		return result;
	saved = errno;
	hp_future_undo_at(key_of(request));
	errno = saved;
	return result;
}

/* The program has learned the request's outcome. */
static int heard(const void *request, int error)
{
	int saved;

	if (!is_counted())
		return error;
	saved = errno;
	if (error == EINPROGRESS)
		hp_future_ask_at(key_of(request));
	else
		hp_future_end_at(key_of(request),
				 error == ECANCELED ? HP_FUTURE_CANCELLED : HP_FUTURE_READY, NULL);
	errno = saved;
	return error;
}

static int cancelled(const void *request, int result)
{
	return result == AIO_CANCELED && request ? (heard(request, ECANCELED), result) : result;
}

#define START(name, type) \
	HP_EXPORT int name(struct type *request) \
	{ \
		name##_type real = FIND(name, HP_CALLER); \
\
		if (!real) \
			return none(); \
		begin(request, HP_CALLER); \
		return begun(request, real(request)); \
	}
#define SYNC(name, type) \
	HP_EXPORT int name(int operation, struct type *request) \
	{ \
		name##_type real = FIND(name, HP_CALLER); \
\
		if (!real) \
			return none(); \
		begin(request, HP_CALLER); \
		return begun(request, real(operation, request)); \
	}
#define ERROR(name, type) \
	HP_EXPORT int name(const struct type *request) \
	{ \
		name##_type real = FIND(name, HP_CALLER); \
\
		return real ? heard(request, real(request)) : none(); \
	}
/* The request belongs to the program again once it returns. */
#define RETURN(name, type, error) \
	HP_EXPORT ssize_t name(struct type *request) \
	{ \
		name##_type real = FIND(name, HP_CALLER); \
		error##_type real_error = FIND(error, HP_CALLER); \
\
		if (!real || !real_error) \
			return none(); \
		heard(request, real_error(request)); \
		return real(request); \
	}
#define CANCEL(name, type) \
	HP_EXPORT int name(int fd, struct type *request) \
	{ \
		name##_type real = FIND(name, HP_CALLER); \
\
		return real ? cancelled(request, real(fd, request)) : none(); \
	}
/* EINVAL: none was started; after other errors the program checks each. */
#define LIST(name, type) \
	HP_EXPORT int name(int mode, struct type *const list[], int count, struct sigevent *event) \
	{ \
		name##_type real = FIND(name, HP_CALLER); \
		int result; \
\
		if (!real) \
			return none(); \
		for (int i = 0; i < count; i++) \
			if (list[i] && list[i]->aio_lio_opcode != LIO_NOP) \
				begin(list[i], HP_CALLER); \
		result = real(mode, list, count, event); \
		for (int i = 0; result && errno == EINVAL && i < count; i++) \
			if (list[i] && list[i]->aio_lio_opcode != LIO_NOP) \
				begun(list[i], result); \
		return result; \
	}

START(aio_read, aiocb)
START(aio_read64, aiocb64)
START(aio_write, aiocb)
START(aio_write64, aiocb64)
SYNC(aio_fsync, aiocb)
SYNC(aio_fsync64, aiocb64)
ERROR(aio_error, aiocb)
ERROR(aio_error64, aiocb64)
RETURN(aio_return, aiocb, aio_error)
RETURN(aio_return64, aiocb64, aio_error64)
CANCEL(aio_cancel, aiocb)
CANCEL(aio_cancel64, aiocb64)
LIST(lio_listio, aiocb)
LIST(lio_listio64, aiocb64)
