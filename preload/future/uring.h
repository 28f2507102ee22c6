/* SPDX-License-Identifier: MIT */
/*
 * uring.h - the functions of liburing that we interpose, and the rings that they work on, as far
 * as we read them.
 *
 * liburing's headers are not needed: its inline functions compile these structs into each
 * program, so they cannot change without another soname. They are those of liburing.so.2.  The entries are the kernel's (linux/io_uring.h); headers older
 * than the flags below are in use.
 */
#ifndef HP_PRELOAD_FUTURE_URING_H
#define HP_PRELOAD_FUTURE_URING_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

/* The kernel's struct __kernel_timespec. */
struct hp_uring_time {
	int64_t seconds;
	int64_t ns;
};

struct hp_sqe {
	uint8_t code;
	uint8_t flags;
	uint8_t other[30];
	uint64_t user_data;
	uint64_t rest[3];
};

struct hp_cqe {
	uint64_t user_data;
	int32_t result;
	uint32_t flags;
};

/* The words behind the pointers are shared with the kernel. */
struct hp_submissions {
	uint32_t *head;
	uint32_t *tail;
	uint32_t *mask;
	uint32_t *size;
	uint32_t *flags;
	uint32_t *dropped;
	uint32_t *array;
	struct hp_sqe *entries;
	uint32_t own_head;	/* entries from here to own_tail are filled in but not submitted */
	uint32_t own_tail;
	size_t ring_size;
	void *ring;
	uint32_t reserved[4];
};

struct hp_completions {
	uint32_t *head;	/* the program writes it */
	uint32_t *tail;	/* the kernel does */
	uint32_t *mask;
	uint32_t *size;
	uint32_t *flags;
	uint32_t *overflow;
	struct hp_cqe *entries;
	size_t ring_size;
	void *ring;
	uint32_t reserved[4];
};

struct hp_uring {
	struct hp_submissions sq;
	struct hp_completions cq;
	uint32_t flags;
	int fd;
	uint32_t features;
};

_Static_assert(sizeof(struct hp_sqe) == 64, "the kernel's");
_Static_assert(sizeof(struct hp_cqe) == 16, "the kernel's");
_Static_assert(offsetof(struct hp_uring, flags) == 192 || sizeof(void *) != 8, "liburing's");

#define HP_URING_SQE_128 (UINT32_C(1) << 10)	/* of a ring: its entries are twice as large */
#define HP_URING_CQE_32 (UINT32_C(1) << 11)
#define HP_URING_MIXED (UINT32_C(3) << 18)	/* entries of both sizes */
#define HP_URING_TIMED_WAITS (UINT32_C(1) << 8)	/* a feature: a wait may have a timeout */
#define HP_SQE_SILENT (UINT32_C(1) << 6)	/* no completion if it succeeds */
#define HP_CQE_MORE (UINT32_C(1) << 1)	/* there will be others of the same request */

#define HP_URING_LIST(X) \
	X(void, io_uring_queue_exit, (struct hp_uring *)) \
	X(int, io_uring_submit, (struct hp_uring *)) \
	X(int, io_uring_submit_and_wait, (struct hp_uring *, unsigned)) \
	X(int, io_uring_submit_and_wait_timeout, \
	  (struct hp_uring *, struct hp_cqe **, unsigned, struct hp_uring_time *, sigset_t *)) \
	X(int, io_uring_submit_and_get_events, (struct hp_uring *)) \
	X(int, io_uring_get_events, (struct hp_uring *)) \
	X(int, io_uring_wait_cqes, \
	  (struct hp_uring *, struct hp_cqe **, unsigned, struct hp_uring_time *, sigset_t *)) \
	X(int, io_uring_wait_cqe_timeout, \
	  (struct hp_uring *, struct hp_cqe **, struct hp_uring_time *)) \
	X(unsigned, io_uring_peek_batch_cqe, (struct hp_uring *, struct hp_cqe **, unsigned)) \
	X(int, __io_uring_get_cqe, \
	  (struct hp_uring *, struct hp_cqe **, unsigned, unsigned, sigset_t *))

#endif
