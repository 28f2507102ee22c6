/* SPDX-License-Identifier: MIT */
/*
 * logged.h - a thread's last calls, which others read meanwhile: each entry is
 * overwritten when its ring wraps around (segment/seq.h).  Readers are in
 * report/read/logged.h.
 */
#ifndef HP_PRELOAD_CALL_LOGGED_H
#define HP_PRELOAD_CALL_LOGGED_H

#include "segment/layout/call.h"
#include "segment/seq.h"

static inline void hp_call_put(struct hp_call *place, const struct hp_call *call)
{
	hp_seq_begin(&place->start);
	hp_seq_set(&place->ticks, call->ticks);
	hp_seq_set_pair(&place->tid, call->tid, call->result);
	hp_seq_end(&place->start, call->start);
}

/*
 * The clock is not read for each call, but this entry's number must differ from the
 * last one: a tick later is just as good.
 */
static inline void hp_spent_put(struct hp_spent *place, const struct hp_spent *spent)
{
	uint64_t at = spent->at > place->at ? spent->at : place->at + 1;

	hp_seq_begin(&place->at);
	hp_seq_set(&place->bytes, spent->bytes);
	hp_seq_set(&place->whole_bytes, spent->whole_bytes);
	hp_seq_set_pair(&place->count, spent->count, spent->whole_count);
	hp_seq_set(&place->tid, spent->tid);
	hp_seq_end(&place->at, at);
}

static inline void hp_result_put(struct hp_result *place, uint32_t number, const char *text,
				 uint32_t length)
{
	hp_seq_begin_32(&place->number);
	hp_seq_set(&place->length, length);
	hp_seq_put(place->bytes, text, length);
	hp_seq_end_32(&place->number, number);
}

#endif
