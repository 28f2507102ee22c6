/* SPDX-License-Identifier: MIT */
/*
 * logged.h - reads records that the program may overwrite meanwhile
 * (segment/seq.h): a call, a result, a message or a wait is copied completely
 * or not at all.  The writers are in preload/call/logged.h,
 * preload/channel/queue.c and preload/lock/hold.c.
 */
#ifndef HP_REPORT_READ_LOGGED_H
#define HP_REPORT_READ_LOGGED_H

#include "report/read/reader.h"
#include "segment/layout/call.h"
#include "segment/layout/channel.h"
#include "segment/layout/lock.h"
#include "segment/layout/loop.h"

/* How many entries of a log are shown: HOTPATH_LOGS_LIMIT, as far as it has them. */
static inline size_t hp_logged_most(const struct hp_reader *reader, size_t there)
{
	return reader->header.logs_limit < there ? reader->header.logs_limit : there;
}

/* False = the place is unused, or is being overwritten. */
bool hp_logged_call(const struct hp_call *there, struct hp_call *call);

/* The same for a call that allocated. */
bool hp_logged_spent(const struct hp_spent *there, struct hp_spent *spent);

/* A fresh copy of result `number` of the hp_results at an offset; NULL = overwritten. */
char *hp_logged_result(struct hp_reader *reader, uint64_t results, uint32_t number);

/* One of the longest busy spans of an event loop. */
bool hp_logged_span(const struct hp_loop_span *there, struct hp_loop_span *span);

/* A message of a lane's log. */
bool hp_logged_message(const struct hp_message *there, struct hp_message *message);

/*
 * A fresh copy of the kept part of message `number`, at place `i` of the ring;
 * `size` is its full size. NULL = not there.
 */
char *hp_logged_text(struct hp_reader *reader, const struct hp_lane *lane, uint64_t i,
		     uint64_t number, uint32_t size);

/* Copies the current wait of a waiter; `since` is 0 if none exists. */
void hp_logged_wait(const struct hp_waiter *there, struct hp_waiter *waiter);

#endif
