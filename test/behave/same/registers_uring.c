/* SPDX-License-Identifier: MIT */
/*
 * registers_uring.c - liburing's functions, called with patterns in the registers: see registers.c.
 * The ring is not the kernel's, which may not allow any: nothing is submitted, and each wait fails.
 */
#include "registers.h"

#ifdef WITH_URING
#include <liburing.h>
#include <sys/mman.h>

static void *pages(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void uring(void)
{
	static unsigned words[16] = { [2] = 7, [3] = 8, [10] = 15, [11] = 16 };
	static struct io_uring ring = {
		.sq = { .khead = words,
			.ktail = words + 1,
			.kring_mask = words + 2,
			.kring_entries = words + 3,
			.kflags = words + 4,
			.kdropped = words + 5,
			.array = words + 6,
			.ring_sz = 4096,
			.ring_mask = 7,
			.ring_entries = 8 },
		.cq = { .khead = words + 8,
			.ktail = words + 9,
			.kring_mask = words + 10,
			.kring_entries = words + 11,
			.kflags = words + 12,
			.koverflow = words + 13,
			.ring_sz = 4096,
			.ring_mask = 15,
			.ring_entries = 16 },
		.ring_fd = -1,
		.features = IORING_FEAT_EXT_ARG,
		.enter_ring_fd = -1,
	};
	static struct __kernel_timespec time = { .tv_nsec = 1 };
	struct io_uring_cqe *cqe;

	ring.sq.ring_ptr = pages();
	ring.cq.ring_ptr = pages();
	ring.sq.sqes = pages();
	ring.cq.cqes = ring.cq.ring_ptr;
	CALL(io_uring_submit, P(&ring));
	CALL(io_uring_submit_and_wait, P(&ring), 1);
	CALL(io_uring_submit_and_wait_timeout, P(&ring), P(&cqe), 1, P(&time));
	CALL(io_uring_submit_and_get_events, P(&ring));
	CALL(io_uring_get_events, P(&ring));
	CALL(io_uring_wait_cqes, P(&ring), P(&cqe), 1, P(&time));
	CALL(io_uring_wait_cqe_timeout, P(&ring), P(&cqe), P(&time));
	CALL(io_uring_peek_batch_cqe, P(&ring), P(&cqe), 1);
	CALL(__io_uring_get_cqe, P(&ring), P(&cqe), 0, 1);
	CALL(io_uring_queue_exit, P(&ring));
}
#else
void uring(void)
{
}
#endif
