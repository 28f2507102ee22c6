/* SPDX-License-Identifier: MIT */
/*
 * aio.h - the functions of POSIX AIO that we interpose.  Before glibc 2.34 they are in librt, which may be absent.
 */
#ifndef HP_PRELOAD_FUTURE_AIO_H
#define HP_PRELOAD_FUTURE_AIO_H

#define HP_AIO_LIST(X) \
	X(int, aio_read, (struct aiocb *)) \
	X(int, aio_read64, (struct aiocb64 *)) \
	X(int, aio_write, (struct aiocb *)) \
	X(int, aio_write64, (struct aiocb64 *)) \
	X(int, aio_fsync, (int, struct aiocb *)) \
	X(int, aio_fsync64, (int, struct aiocb64 *)) \
	X(int, aio_error, (const struct aiocb *)) \
	X(int, aio_error64, (const struct aiocb64 *)) \
	X(ssize_t, aio_return, (struct aiocb *)) \
	X(ssize_t, aio_return64, (struct aiocb64 *)) \
	X(int, aio_cancel, (int, struct aiocb *)) \
	X(int, aio_cancel64, (int, struct aiocb64 *)) \
	X(int, lio_listio, (int, struct aiocb *const[], int, struct sigevent *)) \
	X(int, lio_listio64, (int, struct aiocb64 *const[], int, struct sigevent *))

#endif
